"""The chart that fits what a store holds: the one that `bench viz` draws unless one is named, and what else there is."""

from typing import TYPE_CHECKING

from .. import sql
from ..query.axes import AXES, HEADINGS

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_HOLDS = "SELECT count(*) > 0 FROM "
# What a store may hold, the most telling first -> the words of the chart that shows it.
FITTING: tuple[tuple[str, tuple[str, ...]], ...] = (
    (f"{_HOLDS}schedule_chunks", ("runtime-vs-tokens",)),
    (f"{_HOLDS}case_summaries WHERE speedup IS NOT NULL", ("speedups",)),
    (  # of a case, not of other cases by turns
        f"{_HOLDS}(SELECT 1 FROM cells GROUP BY config, case_id, metric, phase HAVING count(*) > 2 LIMIT 1)",
        ("history",),
    ),
    (f"{_HOLDS}requests", ("slo-curve", "--ttft", "200")),
    (f"{_HOLDS}memory_lines", ("memory-lines",)),
    (
        f"{_HOLDS}case_results WHERE unit = 'ns'",
        ("query", "SELECT {name}, value AS value_ns, config FROM case_results WHERE unit = 'ns' ORDER BY value_ns DESC LIMIT 40",
         "--x", "name", "--y", "value_ns", "--color", "config"),
    ),
    (
        f"{_HOLDS}case_results WHERE value IS NOT NULL",
        ("query", "SELECT {name}, value, config, unit FROM case_results WHERE value IS NOT NULL ORDER BY value DESC LIMIT 40",
         "--x", "name", "--y", "value", "--color", "config"),
    ),
)  # fmt: skip


def fitting_charts(warehouse: "Warehouse") -> list[tuple[str, ...]]:
    """The words of the charts that the store has data for, the most telling first; a chart once."""
    found: dict[str, tuple[str, ...]] = {}
    for holds, words in FITTING:
        if words[0] not in found and warehouse.rows(holds)[0][0]:
            found[words[0]] = tuple(
                word.replace("{name}", _name(warehouse)) if "{name}" in word else word for word in words
            )
    return [*found.values()]


def _name(warehouse: "Warehouse") -> str:
    """Column that tells the cases apart, as SQL: their name, with the axes in which any of one name differ."""
    others = [axis for axis in AXES if axis != "name"]
    most, counts = (
        ", ".join(form.format(axis) for axis in others) for form in ("max({0}) > 1", "count(DISTINCT {0}) AS {0}")
    )
    each = f"SELECT {counts} FROM case_results WHERE value IS NOT NULL GROUP BY config, name"
    (differ,) = warehouse.rows(f"SELECT {most} FROM ({each})")
    telling = [_words(axis) for axis, differs in zip(others, differ, strict=True) if differs]
    return f"concat_ws(' ', name, {', '.join(telling)}) AS name" if telling else "name"


def _words(axis: str) -> str:
    """An axis as words beside a name, as SQL: a number alone would say little."""
    if axis == "parameters":
        return "translate(parameters, '{}\"', '')"
    return f"'{HEADINGS[axis]} ' || {axis}" if sql.axes()["case"][axis].type == "BIGINT" else axis
