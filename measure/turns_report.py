"""The answer of sides that were measured in turns: each compared with the first over its runs of now."""

import shlex
from collections.abc import Mapping, Sequence

from ..warehouse.store import Store
from .options import talk


def compare_sides(groups: Sequence[Mapping[str, Sequence[str]]], store: Store, fmt: str) -> None:
    """Write how each side of a group compares with the first.

    Args:
        groups: The runs of each side by its config; those of a config that two groups have are one side.
        store: Where they are.
        fmt: How to write it.
    """
    from ..query.comparison.command import reply_of
    from ..query.comparison.compare import compare
    from ..query.comparison.sides import Side
    from ..warehouse.console.tables import write_dicts
    from ..warehouse.database import Warehouse

    is_table = fmt in ("table", "markdown")
    rows = []
    for sides in _merged(groups):
        first, *others = (Side(config, tuple(reversed(ids))) for config, ids in sides.items())
        for other in others:
            with Warehouse.open(store).plan_briefly() as warehouse:
                found = compare(warehouse, first, other)
            command = shlex.join(["bench", "compare", first.name, other.name, "--all-runs"])
            rows += found.rows + found.unusual
            if is_table and found.rows + found.unusual:
                reply_of(found).write(fmt, None, command)
            elif is_table:
                talk(f"{first.name} and {other.name} have no result in common")
            talk(f"once more, with all runs of both: {command}")
    if not is_table:
        write_dicts(rows, fmt)


def _merged(groups: Sequence[Mapping[str, Sequence[str]]]) -> list[dict[str, list[str]]]:
    merged: list[dict[str, list[str]]] = []
    for sides in groups:
        known = next((each for each in merged if sides.keys() <= each.keys()), None)
        if known is None:
            merged.append({config: [*ids] for config, ids in sides.items()})
        else:
            for config, ids in sides.items():
                known[config] += ids
    return merged
