"""A mapping proposed for a table that nobody has described, by the names and types of its columns."""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..format import Part
from ..readers.document import BadRecord
from ..readers.folders import file_stem, undated
from ..readers.tables import lists_within, open_table, spare
from ..readers.units import unit_of
from .columns import CLOCK, COUNTER, DATE, NO_VALUE, NUMBER_TEXT, WORD, OtherColumns, measure_of, sort_columns
from .mapped import STATUS_WORDS
from .mapping import Term, measured_value

DIGITS_OF_COMMIT = re.compile(r"[\de]{7,40}")  # of a checksum whose letters happen to be none, or an exponent's
SEPARATED = re.compile(r"[+-]?\d+([.,' ]\d{3})*[.,]\d+")  # a number with a decimal comma, or with thousands kept apart
LOOKED_AT = 1000  # rows that tell what a column holds
MOST_COLUMNS = 60  # of a table that a line of words can describe
NAMES: dict[str, tuple[str, ...]] = {  # fields -> columns that are usually called so, the likeliest first
    "name": (
        "name", "benchmark", "benchmark_name", "test", "test_name", "case", "model", "model_name", "kernel", "kernel_name", "op",
        "operator", "function", "task", "workload", "scenario", "command", "query", "method", "algorithm",
        "program", "script", "bench",
    ),
    "suite": ("suite", "benchmark_suite"),
    "mode": ("mode",),
    "device": ("device",),
    "dtype": ("dtype", "precision", "data_type"),
    "backend": ("backend", "engine", "provider", "compiler", "runtime", "framework", "impl", "implementation"),
    "batch_size": ("batch_size", "batch", "bs", "batchsize"),
    "sequence_length": ("sequence_length", "seq_len", "seqlen", "seq_length"),
    "commit": ("commit", "sha", "git_commit", "commit_id", "commit_sha", "git_sha", "revision"),
    "branch": ("branch", "git_branch"),
    "host": ("host", "hostname", "machine", "runner"),
    "status": ("status", "outcome", "passed", "success"),
    "reason": ("reason", "error", "message", "error_message"),
}  # fmt: skip
PASSES = {"pass", "passed", "fail", "failed"}  # of a column that says it by no usual name
REMARKS = ("note", "notes", "comment", "comments", "url", "log", "path")  # columns that say nothing of a case
VALUES = ("value", "result", "measurement", "measured", "score")  # columns of numbers whose name says nothing else
STEPS: dict[
    str, tuple[set[str], set[str]]
] = {  # columns of scheduler steps -> a word of each set is in the names that mean it
    "prefill_tokens": ({"tok", "toks", "token", "tokens"}, {"prefill", "prompt", "context", "ctx"}),
    "decode_tokens": ({"tok", "toks", "token", "tokens"}, {"decode", "decoding", "generation", "gen"}),
    "waiting": ({"waiting", "queued", "queue"}, {"num", "n", "reqs", "requests", "len", "size", "waiting"}),
    "running": ({"running", "batch"}, {"num", "n", "reqs", "requests", "size", "running"}),
    "kv_cache_usage": ({"kv"}, {"usage", "util", "utilization", "utilisation"}),
    "schedule_ms": ({"sched", "schedule", "scheduler", "scheduling"}, {"ms", "us", "ns", "s", "sec", "seconds"}),
}
OF_THE_MODEL = {"model", "forward", "execute", "exec", "run"}  # words of the likeliest of several times of a step
LONG = {
    "metric": ("metric", "metric_name", "measure"),
    "unit": ("unit", "units"),
}  # beside a value, what says what it is


def propose(path: Path) -> str | None:
    """The words of `--map` that read a table, or the first list of rows within a JSON document; None for no table of numbers."""
    return next(filter(None, (_propose(path, records) for records in (*lists_within(Part.alone(path)), None))), None)


def _propose(path: Path, records: str | None) -> str | None:
    """The words for the rows in a file, or for those at a path in it."""
    try:
        table = open_table(Part.alone(path), records)
        rows = [record.cells for record in itertools.islice(table.rows(), LOOKED_AT) if record.problem is None]
    except BadRecord:
        return None
    columns: dict[str, list[str]] = {}
    for cells in rows:
        for column, value in spare(cells, ()):
            texts = columns.setdefault(column, [])
            if (
                value is not None
                and not isinstance(value, list | dict)
                and str(value).strip().lower() not in {"", *NO_VALUE}
            ):
                texts.append(str(value).strip())
    if len(columns) > MOST_COLUMNS or any("@" in column for column in columns):
        return None
    if table.kind == "json lines" and (words := _words_of_steps(columns)):
        return ",".join(words)
    others = sort_columns(rows, ())
    words = [*_words(columns, others, undated(file_stem(path.name)) or path.absolute().parent.name)]
    return ",".join([f"records{Term(records)}", *words] if records and words else words) or None


def _words_of_steps(columns: Mapping[str, list[str]]) -> list[str]:
    """The words for a log of scheduler steps, which have tokens of prefill or decode, and a time; none for another table."""
    numbers = {column for column, texts in columns.items() if _are_numbers(column, texts)}
    said = {column: {word.lower() for word in WORD.findall(column)} for column in numbers}
    found: dict[str, str] = {}
    for field, kinds in STEPS.items():
        for column, words in said.items():
            if field not in found and column not in found.values() and all(map(words.__and__, kinds)):
                found[field] = column
    free = [column for column in columns if column in numbers and column not in found.values()]
    times = [column for column in free if unit_of((measure_of(column) or {}).get("unit")).name == "ns"]
    times.sort(key=lambda column: not said[column] & OF_THE_MODEL)
    if not times or found.keys().isdisjoint(("prefill_tokens", "decode_tokens")):
        return []
    counters = [column for column in numbers if COUNTER.fullmatch(column) or column == "batch_id"]
    clocks = [column for column in numbers if CLOCK.fullmatch(column)]
    first = {"batch_id": counters[:1], "clock_s": clocks[:1]}
    named = {field: each[0] for field, each in first.items() if each} | found | {"model_run_ms": times[0]}
    return [f"{field}{Term(column)}" for field, column in named.items()]


def _words(columns: Mapping[str, list[str]], others: OtherColumns, stem: str) -> Iterator[str]:
    """The words, in the order in which one thinks of them: what, when, how, and what came out."""
    numbers = {column for column, texts in columns.items() if _are_numbers(column, texts)}
    fields = _fields(columns, numbers, others)
    free = [column for column in columns if column not in {*fields.values(), *others.labels} and columns[column]]
    values = [column for column in free if column in numbers and measure_of(column) is not None]
    values += [column for column in free if column in numbers and column.lower() in VALUES and column not in values]
    values = values or [column for column in free if column in numbers and not _is_whole(columns[column])]
    values = values or [column for column in free if column in numbers][-1:]
    if not values:
        return
    if "name" not in fields:
        texts = [column for column in free if column not in numbers and not all(map(DATE.match, columns[column]))]
        if texts:
            fields["name"] = texts[0]
        else:
            yield f"name{Term(stem, fixed=True)}"
    yield from (f"{field}{Term(column)}" for field, column in fields.items())
    when = others.times[:1] if len(others.times) == 1 else []
    yield from (f"time{Term(column)}" for column in when)
    said = {*fields.values(), *others.times, *values}
    long = _long(free, said, values)
    said |= set(long.values())
    remarks = [column for column in free if column.lower() in REMARKS and column not in said]
    yield from (f"parameters{Term(column)}" for column in free if column not in {*said, *remarks})
    kept = {*when, *fields.values()}
    yield from (f"ignore{Term(column)}" for column in (*others.labels, *others.times, *remarks) if column not in kept)
    yield from (str(measured_value(column)) for column in values)
    yield from (f"{field}{Term(column)}" for field, column in long.items())


def _are_numbers(column: str, texts: list[str]) -> bool:
    """Return whether a column holds numbers; where its name says that it does, most of them written somehow are enough."""
    if measure_of(column) is None:
        return bool(texts) and all(map(NUMBER_TEXT.fullmatch, texts))
    written = sum(bool(NUMBER_TEXT.fullmatch(text) or SEPARATED.fullmatch(text)) for text in texts)
    return 2 * written > len(texts)


def _fields(columns: Mapping[str, list[str]], numbers: set[str], others: OtherColumns) -> dict[str, str]:
    """The columns that have the usual name of a field, and hold what the field takes."""
    found: dict[str, str] = {}
    free = {
        word.lower().replace(" ", "_").replace("-", "_"): column
        for name_of in (
            lambda column: column.rpartition(".")[2],
            str,
        )  # the whole name counts before that of a field within
        for column in reversed([*columns])
        for word in [name_of(column)]
        if column not in others.times
    }
    for field, names in NAMES.items():
        for name in names:
            column = free.get(name)
            if column is not None and columns[column] and _holds(field, columns[column], column in numbers):
                found[field] = column
                break
    ended = [column for column in columns if column not in found.values() and _says_the_end(columns[column])]
    return found if "status" in found or len(ended) != 1 else {**found, "status": ended[0]}


def _says_the_end(texts: list[str]) -> bool:
    return bool(texts) and {text.lower() for text in texts} <= PASSES


def _holds(field: str, texts: list[str], is_number: bool) -> bool:
    if field in ("batch_size", "sequence_length"):
        return _is_whole(texts)
    if field == "status":
        return all(text.lower() in STATUS_WORDS for text in texts)
    return not is_number or (field == "commit" and all(map(DIGITS_OF_COMMIT.fullmatch, texts)))


def _is_whole(texts: list[str]) -> bool:
    return all(text.isascii() and text.isdigit() and len(text) < 19 for text in texts)


def _long(free: list[str], said: set[str], values: list[str]) -> dict[str, str]:
    """The columns that say what a lone value is, row by row."""
    lone = measured_value(values[0]).about if len(values) == 1 else None
    left = {column.lower(): column for column in free if column not in said}
    found = {
        field: next((left[name] for name in names if name in left), None)
        for field, names in LONG.items()
        if lone is not None and field not in lone
    }
    return {field: column for field, column in found.items() if column is not None}
