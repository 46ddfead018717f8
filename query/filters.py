"""Filters: keep the rows of a view whose columns hold one of the values that a user names."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.errors import BenchError, UnknownName
from ..warehouse.schema import literal, quote
from ..warehouse.settings import setting
from .pasteable_sql import list_literal
from .resolve import check_values, resolve_run

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class Filter:
    """Values to keep, by column; without any column it keeps all rows."""

    values: Mapping[str, list[str]]
    of_parameters: Container[str] = ()  # those that are no columns, but keys of the column `parameters`

    @property
    def condition(self) -> str:
        """The filter as SQL with a `?` for each column."""
        return " AND ".join(f"list_contains(?::VARCHAR[], {self._text(name)})" for name in self.values) or "true"

    @property
    def parameters(self) -> list[list[str]]:
        """The values that `condition` takes."""
        return list(self.values.values())

    @property
    def pasteable(self) -> str:
        """The filter as SQL with its values as literals."""
        each = (f"list_contains({list_literal(kept)}, {self._text(name)})" for name, kept in self.values.items())
        return " AND ".join(each) or "true"

    def _text(self, name: str) -> str:
        return parameter_text(name) if name in self.of_parameters else f"{quote(name)}::VARCHAR"


def parameter_text(key: str) -> str:
    """A key of `parameters` as SQL, a text."""
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    return f"json_extract_string(parameters, {literal(pointer)})"


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
        where: column, or key of `parameters` -> values to keep; an empty list keeps all. `run_id` takes what `resolve_run` takes.
        place: How an error calls the view, if a user does not know its name.

    Raises:
        UnknownName: There is no such column, or it does not hold a value; the message suggests the nearest one.
    """
    values = {column: list(kept) for column, kept in (where or {}).items() if kept}
    known = warehouse.connection.execute(f"FROM {view} LIMIT 0").description if values else ()
    columns = [name for name, *_ in known or ()]
    keys: list[str] = []
    if "parameters" in columns and not values.keys() <= {*columns}:
        found = warehouse.rows(f"SELECT DISTINCT unnest(json_keys(parameters)) FROM {view} ORDER BY 1")
        keys = [key for (key,) in found if key not in columns]
    for column, kept in values.items():
        if column == "run_id" and column in columns:
            values[column] = [resolve_run(warehouse, name) for name in kept]
        elif column in columns:
            check_values(warehouse, view, column, kept, place=place)
        elif column in keys:
            texts = f"(SELECT {parameter_text(column)} AS {quote(column)} FROM {view})"
            check_values(warehouse, texts, column, kept, place=place or view)
        else:
            raise UnknownName("column", column, [*columns, *keys], where=place or view)
    return Filter(values, frozenset(keys))
