"""Events with any values their columns can hold, and how such values compare."""

import datetime
import itertools
import math
from typing import Any

from bench.warehouse.events import EVENTS, Event, Instant, Json
from bench.warehouse.journals.reader import Contents, FieldValues, is_absent
from hypothesis import strategies as st

I64 = st.integers(-(1 << 63), (1 << 63) - 1)
EPOCH = datetime.datetime(1970, 1, 1)

TEXT = st.one_of(
    st.text(st.characters(), max_size=20),  # surrogates and NUL among them
    st.sampled_from(["", "\udc80", "名前", "</script>", "'; DROP TABLE runs; --", "a\nb\0c", "x" * 300]),
)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    Json: st.sampled_from(["{}", '{"名": "\\u0000 \'%\'", "b": [1.5, null]}']),
    int: st.one_of(st.sampled_from([-(1 << 63), -1, 0, 1, (1 << 63) - 1]), I64),
    float: st.floats(),
    bool: st.booleans(),
    Instant: st.integers(-(10**15), 4 * 10**15),  # years 1938 to 2096
    list[int]: st.one_of(st.lists(I64, max_size=5), st.just(list(range(600)))),  # the last is longer than a page
    list[str]: st.lists(TEXT, max_size=4),
}


def events_of(kind: type[Event], **fixed: Any) -> st.SearchStrategy[Event]:
    """Any event of one table; `fixed` fields have these values."""
    fields = {
        f.name: st.just(fixed[f.name])
        if f.name in fixed
        else (st.none() | VALUES[f.type] if f.nullable else VALUES[f.type])
        for f in kind.fields()
    }
    return st.builds(kind, **fields)


def any_events(**fixed: Any) -> st.SearchStrategy[Event]:
    """Any event of any table."""
    names = {kind: {f.name for f in kind.fields()} for kind in EVENTS}
    return st.one_of(*(events_of(kind, **{k: v for k, v in fixed.items() if k in names[kind]}) for kind in EVENTS))


def rows_of(contents: Contents) -> dict[str, list[dict[str, Any]]]:
    """What a journal holds, as one dict per row, in the order written."""
    found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    for number, part in enumerate(contents.parts()):
        for rows in part:
            columns = {name: _values(column, contents.strings) for name, column in rows.columns.items()}
            for index, place in enumerate(rows.places.tolist()):
                row = {name: columns[name][index] if name in columns else None for name, _, _ in rows.layout.fields}
                found.setdefault(rows.layout.table, []).append((number, place, row))
    ordered = {table: sorted(entries, key=lambda entry: entry[:2]) for table, entries in found.items()}
    return {
        table: [row for *_, row in entries]
        for table, entries in sorted(ordered.items(), key=lambda item: item[1][0][:2])
    }


def _values(column: FieldValues, strings: dict[int, str]) -> list[Any]:
    values: list[Any] = (column.values // 1000 if column.code == "n" else column.values).tolist()
    if column.code[-1] == "I":
        values = [strings[number] for number in values]
    if column.code in "QD":
        absent = is_absent(column.values, column.code)
        values = [None if gone else value for value, gone in zip(values, absent, strict=True)]
    if column.counts is None:
        return values
    rest = iter(values)
    return [list(itertools.islice(rest, count)) for count in column.counts.tolist()]


def plain(value: Any) -> Any:
    """The form in which a value is the same before and after: Unicode, microseconds, a NaN equal to itself."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    return [plain(item) for item in value] if isinstance(value, list) else value


def as_dict(event: Event) -> dict[str, Any]:
    """The event's fields, plain."""
    return {f.name: plain(getattr(event, f.name)) for f in event.fields()}
