"""The bisect command for a change that was found: its commits, its metric, and the command that measured it."""

from typing import TYPE_CHECKING, Any

from ...warehouse.console.options import spell_option
from ..recorded_options import options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...warehouse.database import Warehouse


def bisect_command(warehouse: "Warehouse", run_id: str, commits: str, row: "Mapping[str, Any]") -> list[str] | None:
    """The command that finds the commit of a change.

    Args:
        warehouse: Where the runs are.
        run_id: A run that shows the change, by whose options revisions are measured.
        commits: The range, GOOD..BAD.
        row: name, backend, metric and phase of what changed.

    Returns:
        The command, word by word; None where `bench measure` did not measure the run, or its options were not kept whole.
    """
    options = options_of(warehouse, run_id)
    if isinstance(options, str) or options.command[0] != "measure" or row["metric"] is None:
        return None
    found = ["bench", "bisect", commits]
    found += ["--metric", row["metric"]] if row["metric"] != "latency" else []
    found += ["--phase", row["phase"]] if row["phase"] not in ("steady", None) else []
    found += spell_option("--models", [row["name"]])
    found += spell_option("--backends", [row["backend"]])
    return [*found, "--", *options.command, *options.words("what", "how")]
