"""The bisect command for a change that was found: its commits, its metric, and the command that measured it."""

import shlex
from typing import TYPE_CHECKING, Any

from ..command_words import without_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...warehouse.database import Warehouse

MEASURES = ("models", "function", "command", "memory")
# Options of a measuring command that say where its rows go: not part of what is measured; and how many values they have.
DROPPED = {
    "--config": 1, "--tag": 1, "--store": 1, "--lock": 1, "--format": 1, "--resume": 0, "--retry": 0,
    "--baseline": 1,
}  # fmt: skip


def bisect_command(warehouse: "Warehouse", run_id: str, commits: str, row: "Mapping[str, Any]") -> list[str] | None:
    """The command that finds the commit of a change.

    Args:
        warehouse: Where the runs are.
        run_id: A run that shows the change, by whose command revisions are measured.
        commits: The range, GOOD..BAD.
        row: name, backend, metric and phase of what changed.

    Returns:
        The command, word by word; None where `bench measure` did not measure the run, or its command was not kept whole.
    """
    rows = warehouse.rows(
        "SELECT command FROM runs WHERE run_id = ? AND source = 'measure' AND command IS NOT NULL", [run_id]
    )
    words = measuring_words(shlex.split(rows[0][0])) if rows else None
    if words is None or row["metric"] is None:
        return None
    found = ["bench", "bisect", commits]
    found += ["--metric", row["metric"]] if row["metric"] != "latency" else []
    found += ["--phase", row["phase"]] if row["phase"] not in ("steady", None) else []
    found += ["--models", row["name"].replace(",", "\\,")] if row["name"] else []
    found += ["--backends", row["backend"].replace(",", "\\,")] if row["backend"] else []
    return [*found, "--", *words]


def measuring_words(words: "Sequence[str]") -> list[str] | None:
    """The words of a command line from `measure` on, without options that say where its rows go; None if it has none."""
    if "measure" not in words or any("***" in word for word in words):
        return None
    own = list(words[words.index("measure") :])
    if len(own) < 3 or own[1] not in MEASURES:
        return None
    return [*own[:2], *without_options(own[2:], DROPPED)]
