"""Filters: keep the rows of a view whose columns hold one of the values that a user names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.errors import BenchError, UnknownName
from ..warehouse.schema import quote
from ..warehouse.settings import setting
from .pasteable_sql import list_literal
from .resolve import check_values, resolve_run

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class Filter:
    """Values to keep, by column; without any column it keeps all rows."""

    values: Mapping[str, list[str]]

    @property
    def condition(self) -> str:
        """The filter as SQL with a `?` for each column."""
        return " AND ".join(f"list_contains(?::VARCHAR[], {quote(name)}::VARCHAR)" for name in self.values) or "true"

    @property
    def parameters(self) -> list[list[str]]:
        """The values that `condition` takes."""
        return list(self.values.values())

    @property
    def pasteable(self) -> str:
        """The filter as SQL with its values as literals."""
        each = (f"list_contains({list_literal(kept)}, {quote(name)}::VARCHAR)" for name, kept in self.values.items())
        return " AND ".join(each) or "true"


def where_pairs(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Column -> values of `--where COLUMN=VALUE…`.

    Raises:
        BenchError: One is no such pair.
    """
    where: dict[str, list[str]] = {}
    for pair in pairs:
        column, equals, value = pair.partition("=")
        if not equals:
            raise BenchError(f"--where {pair!r} is not COLUMN=VALUE, such as 'mode=training'")
        value = re.sub(r'("tokens":"\d+)-', r"\1–", value)  # a bin of scheduler steps, typed without its dash
        where.setdefault(column.strip(), []).append(value)
    return where


def asked_metrics(warehouse: "Warehouse", named: Sequence[str]) -> list[str]:
    """The metrics of `--metrics`, else those of the project's settings that the store holds."""
    if named:
        return [*named]
    known = {metric for (metric,) in warehouse.rows("SELECT DISTINCT metric FROM cells")} if setting("metrics") else ()
    return [metric for metric in setting("metrics") if metric in known]


def build_filter(
    warehouse: "Warehouse", view: str, where: Mapping[str, Sequence[str]] | None, *, place: str = ""
) -> Filter:
    """Build a filter from what a user names.

    Args:
        warehouse: Where names are looked up.
        view: The view, table or macro that is filtered.
        where: column -> values to keep; an empty list keeps all. `run_id` takes what `resolve_run` takes.
        place: How an error calls the view, if a user does not know its name.

    Raises:
        UnknownName: There is no such column, or it does not hold a value; the message suggests the nearest one.
    """
    values = {column: list(kept) for column, kept in (where or {}).items() if kept}
    known = warehouse.connection.execute(f"FROM {view} LIMIT 0").description if values else ()
    columns = [name for name, *_ in known or ()]
    for column, kept in values.items():
        if column not in columns:
            raise UnknownName("column", column, columns, where=place or view)
        if column == "run_id":
            values[column] = [resolve_run(warehouse, name) for name in kept]
        else:
            check_values(warehouse, view, column, kept, place=place)
    return Filter(values)
