"""The statements and functions that a query may use: an allowlist, so that new DuckDB features are refused until reviewed.

A query is judged by its tokens before DuckDB parses it, since parsing may read files (`IMPORT DATABASE`), and its statements by
DuckDB's own types after that; both must agree. Three things are judged: how a statement begins, how each WITH within it begins
(DuckDB 2 runs a COPY there), and each table function that it calls.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import sql
from ..warehouse.errors import BenchError

if TYPE_CHECKING:
    import duckdb

# How a question begins; a statement, what EXPLAIN explains, and a WITH do so.
QUESTIONS = {
    "SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "SUMMARIZE", "DESCRIBE", "DESC", "SHOW", "(",
}  # fmt: skip
# DuckDB's types of statements that begin so, by their first word; a PIVOT creates the type of its columns first.
TYPES = {
    "EXPLAIN": {"EXPLAIN"}, "CREATE": {"CREATE", "CREATE_FUNC"}, "SET": {"SET", "VARIABLE_SET"}, "RESET": {"SET", "VARIABLE_SET"},
    "USE": {"SET", "VARIABLE_SET"}, "PRAGMA": {"PRAGMA", "SET", "VARIABLE_SET", "SELECT"},
} | {word: {"SELECT", "MULTI", "CREATE"} for word in QUESTIONS}  # fmt: skip
# Settings that shape an answer or say what it may cost; all others are locked, since many write, load or log.
SANDBOX_SETTINGS = (
    "Calendar", "TimeZone", "default_collation", "default_null_order", "default_order", "disabled_optimizers",
    "enable_optimizer", "enable_progress_bar", "errors_as_json", "explain_output", "ieee_floating_point_ops",
    "integer_division", "max_expression_depth", "max_memory", "memory_limit", "null_order",
    "order_by_non_integer_literal", "pivot_limit", "preserve_identifier_case", "preserve_insertion_order",
    "progress_bar_time", "scalar_subquery_error_on_multiple_rows", "schema", "search_path", "threads", "worker_threads",
)  # fmt: skip
PRAGMAS = {
    "collations", "database_list", "database_size", "disable_progress_bar", "enable_progress_bar", "extension_versions",
    "functions", "metadata_info", "platform", "show", "show_databases", "show_tables", "show_tables_expanded", "storage_info",
    "table_info", "user_agent", "version",
}  # fmt: skip
TEMPORARY = {"TABLE", "VIEW", "MACRO", "FUNCTION"}  # what may be created as TEMP, for the statements after it
# Table functions that only read: DuckDB's own, and readers of its extensions.
READERS = re.compile(
    r"read_\w+|(?:parquet|sqlite|postgres|mysql|iceberg|delta|seq)_scan|st_read|parquet_\w+|sniff_csv|glob|duckdb_(?!logs)\w+"
    r"|pragma_\w+|json_(?:each|tree)|range|generate_series|generate_subscripts|unnest|repeat|repeat_row|query_table|summary"
    r"|histogram|histogram_values|icu_calendar_names|pg_timezone_names|which_secret|test_all_types|test_vector_types"
)
# Functions of values that are in every second query, so that DuckDB's list, which takes 50 ms, need not be asked for them.
VALUE_FUNCTIONS = frozenset({
    "abs", "any_value", "arg_max", "arg_min", "array_agg", "array_to_string", "avg", "bool_and", "bool_or", "cast", "ceil",
    "coalesce", "concat", "count", "date_diff", "date_trunc", "dense_rank", "exp", "extract", "first", "floor", "geomean",
    "greatest", "if", "ifnull", "in", "isfinite", "json_extract", "json_extract_string", "lag", "last", "lead", "least",
    "left", "length", "len", "list", "list_contains", "ln", "log", "lower", "ltrim", "max", "mean", "median", "min", "mode",
    "natural_order", "now", "nullif", "over", "percentile_cont", "quantile", "quantile_cont", "quantile_disc", "rank",
    "regexp_extract", "regexp_matches", "replace", "right", "round", "row_number", "row_to_json", "rtrim", "sqrt",
    "starts_with", "stddev", "stddev_samp", "strftime", "string_agg", "string_split", "struct_pack", "substring", "sum",
    "to_json", "trim", "try_cast", "upper", "values", "variance", "from", "select", "where", "and", "or", "not", "as", "on",
    "using", "by", "exists", "any", "all", "case", "when", "then", "else", "filter", "join", "group", "order", "partition",
    "columns", "exclude", "with", "materialized", "row", "struct", "map", "decimal", "varchar", "numeric", "sample",
    "distinct",
})  # fmt: skip
_SPACE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"]|"")*"|\w+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a query: a word as written in capitals, a sign, or a literal; `name` is an identifier's own text."""

    text: str
    name: str = ""
    known: bool = True  # to DuckDB's grammar: no name that somebody gave


def check_query(connection: "duckdb.DuckDBPyConnection", query: str) -> None:
    """Check each statement of a query by its tokens.

    Raises:
        BenchError: One is not allowed.
    """
    for statement in _statements(query):
        _check_statement(statement)
        _check_functions(connection, statement)


def check_types(statements: "Sequence[duckdb.Statement]") -> None:
    """Check that each statement is, for DuckDB, of the type that its beginning says.

    Raises:
        BenchError: One is not.
    """
    for statement in statements:
        tokens = next(_statements(statement.query), [])
        if tokens and type_of(statement) not in TYPES.get(tokens[0].text, ()):
            raise _refused(type_of(statement))


def type_of(statement: "duckdb.Statement") -> str:
    """The kind of a statement; DuckDB's Python package has no name for one, which fetches extensions."""
    try:
        return str(statement.type.name).replace("???", "UPDATE EXTENSIONS")
    except ValueError:
        return "UPDATE EXTENSIONS"


def _statements(query: str) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in _tokens(query):
        if token.text != ";":
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _tokens(query: str) -> Iterator[Token]:
    """The tokens of a query, as DuckDB tells them; comments are none."""
    import duckdb

    data = query.encode()  # places are those of bytes
    if not (found := duckdb.tokenize(query)):
        return
    ends = [*(start for start, _ in found[1:]), len(data)]
    for (start, kind), end in zip(found, ends, strict=True):
        part, kind_name = data[start:end].decode(errors="replace"), kind.name
        if kind_name == "comment":
            continue
        if kind_name in ("string_const", "numeric_const"):
            yield Token("literal")
            continue
        word = _TOKEN.match(part)
        while word:  # one, unless DuckDB could not tell more of them
            text = word[0]
            quoted = text.startswith('"')
            name = text[1:-1].replace('""', '"') if quoted else text
            yield Token("name" if quoted else text.upper(), name.lower(), kind_name == "keyword")
            word = _TOKEN.match(part, _SPACE.match(part, word.end()).end())  # type: ignore[union-attr]
        if not _TOKEN.match(part):
            yield Token(part[:1])


def _check_statement(tokens: list[Token]) -> None:
    words = [token.text for token in tokens]
    body = 0
    match words:
        case ["EXPLAIN", *_]:
            body = _after_options(words)
            if words[body : body + 1] == [] or words[body] not in QUESTIONS:
                raise _refused(f"EXPLAIN {' '.join(words[body : body + 1])}".strip())
        case ["CREATE", "OR", "REPLACE", "TEMP" | "TEMPORARY", kind, *_] | [
            "CREATE",
            "TEMP" | "TEMPORARY",
            kind,
            *_,
        ] if kind in TEMPORARY:
            body = words.index("AS") + 1 if "AS" in words else len(words)
        case ["SET" | "RESET" | "PRAGMA" | "USE", *_]:
            _check_setting(tokens)
            return
        case [first, *_] if first in QUESTIONS:
            pass
        case _ if tokens[0].known:
            raise _refused(words[0])
        case _:  # a word that is mistyped: DuckDB says so, and if it knows it after all, `check_types` does not
            pass
    _check_withs(words[body:])


def _check_functions(connection: "duckdb.DuckDBPyConnection", tokens: Sequence[Token]) -> None:
    """Check that each table function that is called is one that only reads; macros were checked when they were made."""
    called = {token.name for token, after in itertools.pairwise(tokens) if token.name and after.text == "("}
    unknown = [n for n in called - VALUE_FUNCTIONS - sql.view_names() if not READERS.fullmatch(n)]
    if not unknown:
        return
    query = (
        "SELECT function_name FROM duckdb_functions() WHERE function_type = 'table'"
        " AND list_contains(?::VARCHAR[], lower(function_name))"
    )
    for (name,) in connection.execute(query, [unknown]).fetchall():
        raise BenchError(
            f"bench sql only reads: the table function {name} is refused, since it is not known to only read."
        )


def _after_options(words: Sequence[str]) -> int:
    """The place where what EXPLAIN explains begins."""
    place = 1
    if words[place : place + 1] == ["ANALYZE"]:
        place += 1
    if words[place : place + 1] == ["("] and not QUESTIONS.intersection(words[place + 1 : place + 2]):
        place = words.index(")") + 1 if ")" in words else len(words)
    return place


def _check_setting(tokens: list[Token]) -> None:
    command, *rest = tokens
    if command.text == "USE":
        return
    if command.text != "PRAGMA" and rest and rest[0].text in ("SESSION", "LOCAL", "GLOBAL", "VARIABLE"):
        if rest[0].text == "VARIABLE":
            _check_withs([token.text for token in rest])
            return
        rest = rest[1:]
    name = rest[0].name if rest else ""
    if command.text == "PRAGMA" and name in PRAGMAS:
        return
    if name == "time" or name in {setting.lower() for setting in SANDBOX_SETTINGS}:  # SET TIME ZONE
        return
    raise BenchError(
        f"bench sql only reads: {command.text} {name} is refused. Threads, memory, order and time zone can be set."
    )


def _check_withs(words: Sequence[str]) -> None:
    """Check what each `AS (` of a WITH begins with; a window begins so, too."""
    for place, word in enumerate(words):
        if word != "AS":
            continue
        after = place + 1
        while words[after : after + 1] in (["NOT"], ["MATERIALIZED"]):
            after += 1
        if words[after : after + 1] != ["("] or after + 1 >= len(words):
            continue
        begins = words[after + 1]
        if begins not in QUESTIONS | {"PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS", ")"}:
            raise _refused(f"WITH … AS ({begins}")


def _refused(what: str) -> BenchError:
    return BenchError(f"bench sql only reads: {what} is refused. Write a result with: bench sql … -o FILE")
