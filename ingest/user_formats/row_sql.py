"""The expressions of SQL that a mapping becomes: what a row says, from columns of text.

Every expression agrees with the exact reader of rows (`mapped.py`, `row_runs.py`) or says that it cannot tell: such a row is
`odd`, and the exact reader reads it. An odd row costs time, never a value.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ...warehouse.schema import literal
from ..readers.document import CLOCKS, LAST
from .columns import NO_VALUE
from .mapping import OF_RUN, Mapping, Term, Value

CONTEXT_AXES = ("suite", "mode", "device", "dtype")
COUNTS = ("batch_size", "sequence_length")
NO_TEXT = "NULL::VARCHAR"
ABSENT, APART = "chr(30)", "chr(31)"  # no plain row holds these characters
# Texts that Python's `float` reads, but for white space; `1_000` and words are none.
NUMBER = r"[-+]?[.0-9][-+.0-9eE]*"
WITH_UNIT = r"^([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%|[A-Za-zµμ]+)$"
LONGEST_NUMBER = 400
# Numbers that JSON writes as they stand: of at most 15 digits that count, and from 0.0001 on.
AS_WRITTEN = r"0|-?[1-9][0-9]{0,299}|-?(0|[1-9][0-9]{0,8})\.(0|[0-9]{0,5}[1-9])"
TINY = r"-?0\.0000.*"
MAYBE_AS_WRITTEN = r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?(e[-+][0-9]+)?|-?[0-9]+\.0"
OF_JSON = r"-?[0-9]{1,300}|-?[0-9]{1,15}\.[0-9]{1,17}|true|false"
ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,6})?)?)?(Z|UTC|[-+][01][0-9]:?[0-5][0-9])?"
)
ZONE = r"(Z|UTC|[-+][01][0-9]:?[0-5][0-9])$"
UNIX = r"[0-9]{9,19}(\.[0-9]+)?"


@dataclass(frozen=True, slots=True)
class TextColumns:
    """The columns of a block: `c0`, `c1` … of text, and of JSON `n0`, `n1` …, whether it stood there without quotes."""

    names: Sequence[str]
    is_json: bool

    def cell(self, name: str) -> str:
        """The text of a row in a column; NULL if it is empty."""
        return f"c{self.names.index(name)}" if name in self.names else NO_TEXT

    def bare(self, name: str) -> str:
        """Return whether that is JSON's number, true or false."""
        return f"coalesce(n{self.names.index(name)}, false)" if self.is_json and name in self.names else "false"

    def said(self, term: Term | None) -> str:
        """SQL for the text of a row by a term of the mapping; an empty text stays one."""
        if term is None:
            return NO_TEXT
        return literal(term.text) if term.fixed else self.cell(term.text)

    def text(self, term: Term | None) -> str:
        """SQL for the text of a row by a term of the mapping; an empty text is NULL."""
        if term is None:
            return NO_TEXT
        return literal(term.text) if term.fixed else f"nullif({self.cell(term.text)}, '')"


def both(conditions: Iterable[str], word: str) -> str:
    """Conditions joined by AND or OR, each false where it is NULL."""
    parts = [f"coalesce({condition}, false)" for condition in conditions]
    return f"({f' {word} '.join(parts)})" if parts else ("false" if word == "OR" else "true")


def quoted(text: str) -> str:
    """A text as JSON writes it, unless it has control characters."""
    return f"""'"' || replace(replace({text}, '\\', '\\\\'), '"', '\\"') || '"'"""


def or_null(text: str) -> str:
    """JSON's text, and null for none."""
    return f"coalesce({quoted(text)}, 'null')"


def case_key(columns: TextColumns, names: Iterable[str]) -> str:
    """A text that two rows share only if they say the same in all these columns."""
    parts = []
    for name in names:
        kind = f"CASE WHEN {columns.bare(name)} THEN 'n' ELSE 't' END || " if columns.is_json else ""
        parts.append(f"coalesce({kind}{columns.cell(name)}, {ABSENT})")
    return f"concat_ws({APART}, {', '.join(parts)})" if parts else "''"


def case_names(mapping: Mapping, parameters: Iterable[str]) -> list[str]:
    """The columns that tell cases apart."""
    terms = [mapping.fields.get(name) for name in ("name", *CONTEXT_AXES, *COUNTS, "backend")]
    return [*dict.fromkeys([*(term.text for term in terms if term is not None and not term.fixed), *parameters])]


def cases(mapping: Mapping, columns: TextColumns, parameters: Sequence[str], hints: Collection[str]) -> str:
    """The query of the cases of a block, one row a key: `is_plain` where SQL can make the hashes, `odd` where it cannot tell."""
    used = case_names(mapping, parameters)
    cells = [f"any_value({column}) AS {column}" for name in used for column in _both_columns(columns, name)]
    texts = {name: columns.text(mapping.fields.get(name)) for name in ("name", *CONTEXT_AXES, "backend")}
    texts |= {name: columns.said(mapping.fields.get(name)) for name in COUNTS}
    values, odd = zip(*(_parameter(columns, name) for name in parameters), strict=True) if parameters else ((), ())
    pairs = [
        f"{literal(json.dumps(name, ensure_ascii=False) + ': ')} || {value}"
        for name, value in sorted(zip(parameters, values, strict=True))
    ]
    counts = {name: whole(texts[name]) for name in COUNTS}
    listed = " || ', ' || ".join(
        [or_null(name) for name in ("suite", "name", "mode", "device", "dtype")]
        + [f"coalesce({name}::VARCHAR, 'null')" for name in COUNTS]
    )
    bad = [f"{texts['name']} IS NULL", *(not_whole(texts[name]) for name in COUNTS), *odd]
    hinted = f"regexp_matches(lower(work || backend_json), {literal(alternatives(hints))})" if hints else "false"
    return f"""
        WITH keys AS (SELECT {", ".join([f"{case_key(columns, used)} AS key", *cells])} FROM cells WHERE NOT is_odd GROUP BY 1),
        texts AS (
            SELECT key, {", ".join(f"{texts[name]} AS {name}" for name in ("name", *CONTEXT_AXES, "backend"))},
                {", ".join(f"{counts[name]} AS {name}" for name in COUNTS)},
                {f"concat_ws(', ', {', '.join(pairs)})" if pairs else "''"} AS pairs, {both(bad, "OR")} AS odd
            FROM keys
        ),
        works AS (
            SELECT * EXCLUDE (pairs), nullif('{{' || pairs || '}}', '{{}}') AS parameters,
                '[' || {listed} || ', ' || CASE WHEN pairs = '' THEN 'null' ELSE '{{' || pairs || '}}' END AS work,
                {or_null("backend")} AS backend_json
            FROM texts
        )
        SELECT *, regexp_full_match(work || backend_json, '[ -~]*') AND NOT contains(work, '0x') AND NOT {hinted} AS is_plain,
            left(sha256(work || ', ' || backend_json || ']'), 16) AS case_id, left(sha256(work || ']'), 16) AS work_hash
        FROM works
    """


def _both_columns(columns: TextColumns, name: str) -> list[str]:
    if name not in columns.names:
        return []
    index = columns.names.index(name)
    return [f"c{index}", f"n{index}"] if columns.is_json else [f"c{index}"]


def _parameter(columns: TextColumns, name: str) -> tuple[str, str]:
    """A cell as an axis in JSON, and whether that cannot be told: as `mapped._typed` does."""
    cell, bare = columns.cell(name), columns.bare(name)
    written = f"(regexp_full_match({cell}, '{AS_WRITTEN}') AND NOT regexp_full_match({cell}, '{TINY}'))"
    is_number = f"(CASE WHEN {bare} THEN true ELSE {written} END)" if columns.is_json else written
    unsure = f"(starts_with({cell}, '{{') OR (regexp_full_match({cell}, '{MAYBE_AS_WRITTEN}') AND NOT {written}))"
    odd = f"(CASE WHEN {bare} THEN {not_as_python(cell)} ELSE {unsure} END)" if columns.is_json else unsure
    return f"CASE WHEN {is_number} THEN {cell} ELSE {quoted(cell)} END", odd


def not_as_python(cell: str) -> str:
    """Return whether DuckDB may write a number of JSON otherwise than Python."""
    return f"(NOT regexp_full_match({cell}, '{OF_JSON}') OR regexp_full_match({cell}, '{TINY}'))"


def whole(text: str) -> str:
    """A whole number of at most 15 digits."""
    return (
        f"CASE WHEN regexp_full_match({text}, '[0-9]{{1,15}}(\\.0*)?') THEN CAST(CAST({text} AS DOUBLE) AS BIGINT) END"
    )


def not_whole(text: str) -> str:
    """Return whether a text is there and is none of them."""
    return f"{text} IS NOT NULL AND NOT regexp_full_match({text}, '[0-9]{{1,15}}(\\.0*)?')"


def alternatives(texts: Iterable[str]) -> str:
    """An expression that matches any of some texts."""
    return "|".join(map(_escape, sorted(texts)))


def _escape(text: str) -> str:
    return "".join(character if character.isalnum() else f"\\{character}" for character in text)


def moment(columns: TextColumns, mapping: Mapping) -> tuple[str, str]:
    """The time of a row in µs since 1970, and whether it cannot be told: as `document.instant` does."""
    term = mapping.fields.get("time")
    text = columns.said(term)
    if term is None:
        return "NULL::BIGINT", "false"
    day = f"left(replace(replace({text}, 'T', ' '), ',', '.'), 10)"
    clock = f"nullif(regexp_extract(replace({text}, ',', '.'), '^.{{10}}[T ]([0-9:.]+)', 1), '')"
    full = f"{day} || ' ' || coalesce({clock} || CASE WHEN length({clock}) = 5 THEN ':00' ELSE '' END, '00:00:00')"
    zone = f"regexp_extract({text}, '{ZONE}', 1)"
    minutes = (
        f"CASE WHEN length({zone}) >= 5 THEN (CASE WHEN {zone}[1] = '-' THEN -1 ELSE 1 END) * "
        f"(CAST({zone}[2:3] AS BIGINT) * 60 + CAST(right({zone}, 2) AS BIGINT)) ELSE 0 END"
    )
    iso = f"epoch_us(TRY_CAST({full} AS TIMESTAMP)) - 60000000 * ({minutes})"
    clocks = " ".join(
        f"WHEN CAST({text} AS DOUBLE) >= {low!r} AND CAST({text} AS DOUBLE) < {high!r} "
        f"THEN CAST(floor(CAST({text} AS DOUBLE) * CAST({scale!r} AS DOUBLE)) AS BIGINT)"
        for low, high, scale in CLOCKS
    )
    found = (
        f"CASE WHEN regexp_full_match({text}, '{UNIX}') THEN CASE {clocks} END "
        f"WHEN regexp_full_match({text}, '{ISO}') THEN {iso} END"
    )
    return found, f"{text} IS NOT NULL AND coalesce(moment NOT BETWEEN 0 AND {LAST - 1}, true)"


def run_facts(columns: TextColumns, mapping: Mapping) -> str:
    """Columns of what a row says of its run."""
    return ", ".join(f"{columns.text(mapping.fields.get(name))} AS run_{name}" for name in OF_RUN)


def row_json(columns: TextColumns) -> tuple[str, str]:
    """The cells of a row as `as_json` writes them, and whether that cannot be told."""
    pairs, odd = [], []
    for index, name in sorted(enumerate(columns.names), key=lambda pair: pair[1]):
        if not name:
            continue
        value = (
            f"CASE WHEN n{index} THEN c{index} ELSE {quoted(f'c{index}')} END"
            if columns.is_json
            else quoted(f"c{index}")
        )
        pairs.append(f"{literal(json.dumps(name, ensure_ascii=False) + ': ')} || {value}")
        if columns.is_json:
            odd.append(f"n{index} AND {not_as_python(f'c{index}')}")
    text = f"'{{' || concat_ws(', ', {', '.join(pairs)}) || '}}'" if pairs else "'{}'"
    return text, both(odd, "OR")


def fields_json(columns: TextColumns, names: Sequence[str]) -> tuple[str, str]:
    """Cells that are kept as one JSON text, NULL if there are none, and whether that cannot be told."""
    if not names:
        return NO_TEXT, "false"
    pairs, odd = [], []
    for name in sorted(names):
        cell, bare = columns.cell(name), columns.bare(name)
        value = f"CASE WHEN {bare} THEN {cell} ELSE {quoted(cell)} END" if columns.is_json else quoted(cell)
        pairs.append(f"{literal(json.dumps(name, ensure_ascii=False) + ': ')} || {value}")
        odd += [f"{bare} AND {not_as_python(cell)}"] if columns.is_json else []
    return f"nullif('{{' || concat_ws(', ', {', '.join(pairs)}) || '}}', '{{}}')", both(odd, "OR")


@dataclass(frozen=True, slots=True)
class ValueSteps:
    """Three SELECT lists, each over the one before, that read a value; and whether that cannot be told."""

    number: str
    own_unit: str
    found: list[str]  # x, the number; t, its text, NULL for Python's own; own, its unit; and what describes it
    odd: str


def value_steps(columns: TextColumns, index: int, value: Value, *, asked: bool) -> ValueSteps:
    """The SQL that reads a value; of an unmapped column, texts are left out."""
    cell, x, own = columns.cell(value.column), f"x{index}", f"own{index}"
    number = f"CASE WHEN regexp_full_match({cell}, '{NUMBER}') THEN TRY_CAST({cell} AS DOUBLE) END AS {x}"
    own_unit = f"CASE WHEN {x} IS NULL THEN nullif(regexp_extract({cell}, '{WITH_UNIT}', 2), '') END AS {own}"
    before_unit = f"CASE WHEN {own} IS NOT NULL THEN regexp_extract({cell}, '{WITH_UNIT}', 1) END"
    text = f"coalesce({before_unit}, {cell})"
    if columns.is_json:
        text = f"CASE WHEN {columns.bare(value.column)} AND {not_as_python(cell)} THEN NULL ELSE {text} END"
    found = [f"coalesce({x}, TRY_CAST({before_unit} AS DOUBLE)) AS {x}", f"{text} AS t{index}", own]
    found += [
        f"{columns.said(term) if name == 'loops' else columns.text(term)} AS {name}{index}"
        for name, term in value.about.items()
    ]
    words = ", ".join(map(literal, sorted(NO_VALUE)))
    doubt = f"{own} IS NULL" if asked else f"({own} IS NOT NULL OR lower({cell}) IN ({words}))"
    odd = [
        f"{cell} IS NOT NULL AND {x} IS NULL AND {doubt}",
        f"NOT isfinite({x})",
        f"length({cell}) > {LONGEST_NUMBER}",
    ]
    return ValueSteps(number, own_unit, found, both(odd, "OR"))
