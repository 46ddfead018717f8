"""Writes tests/data/v1: one tiny Parquet file of every table as version 1 declared it, and what is in them as JSON.

Run once, when version 1 was released; the files are kept for ever. The first row has a value in every column, the
second only in those that must have one.
"""

import json
from pathlib import Path
from typing import Any

from bench.warehouse.events import EVENTS, Event, Field, Instant, Json
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

FOLDER = Path(__file__).parent / "v1"


def value(field: Field, row: int) -> Any:
    """What a column holds in one row."""
    number = sum(field.name.encode()) + row
    values: dict[Any, Any] = {
        str: f"{field.name} 名 {row}", Json: f'{{"{field.name}":[{row},null]}}', int: number, float: number / 7,
        bool: True, Instant: 1_750_000_000_000_000 + number, list[int]: [number, -1], list[str]: [field.name, ""],
    }  # fmt: skip
    return values[field.type] if row == 1 or not field.nullable else None


def rows(kind: type[Event]) -> list[dict[str, Any]]:
    """Both rows of one table."""
    return [{field.name: value(field, row) for field in kind.fields()} for row in (1, 2)]


if __name__ == "__main__":
    for kind in EVENTS:
        EventLog(Store(FOLDER)).write(kind, [kind(**row) for row in rows(kind)], "v1")
    said = {kind.TABLE: rows(kind) for kind in EVENTS}
    (FOLDER / "rows.json").write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n")
