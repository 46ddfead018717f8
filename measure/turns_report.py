"""The answer of sides that were measured in turns: each compared with the first over its runs of now."""

import shlex
from collections.abc import Mapping, Sequence

from ..warehouse.store import Store
from .options import talk


def compare_sides(runs: Mapping[str, Sequence[str]], store: Store, fmt: str) -> None:
    """Write how each side compares with the first.

    Args:
        runs: The runs of each side, by its config.
        store: Where they are.
        fmt: How to write it.
    """
    from ..query.comparison.command import reply_of
    from ..query.comparison.compare import compare
    from ..query.comparison.sides import Side
    from ..warehouse.database import Warehouse

    first, *others = (Side(config, tuple(reversed(ids))) for config, ids in runs.items())
    for other in others:
        with Warehouse.open(store) as warehouse:
            found = compare(warehouse, first, other)
        command = shlex.join(["bench", "compare", first.name, other.name, "--all-runs"])
        if found.rows + found.unusual:
            reply_of(found).write(fmt, None, command)
        else:
            talk(f"{first.name} and {other.name} have no result in common")
        talk(f"once more, with all runs of both: {command}")
