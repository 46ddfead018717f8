"""Runs that hold the logs of several servers, which count as one session each: how to load them as runs of their own."""

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .compare import Comparison
from .settling import is_open
from .sides import Side

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_LOGS = "SELECT source_id, lowest FROM _step_ranges WHERE run_id = ? AND lowest IS NOT NULL AND source_id IS NOT NULL"
_PATHS = "SELECT DISTINCT path FROM sources WHERE run_id = ? AND list_contains(?::VARCHAR[], source_id) ORDER BY path"


def describe_restarts(warehouse: "Warehouse", found: Comparison) -> Iterator[str]:
    """A sentence, for scheduler steps whose verdict is open, on a side of one run whose logs count their steps anew."""
    doubtful = any(row["suite"] == "scheduler" for row in filter(is_open, found.rows))
    for side in (found.base, found.candidate) if doubtful else ():
        if len(side.runs) == 1 and len(paths := _begun_anew(warehouse, side.runs[0])) > 1:
            yield (
                f"{side.name}: {len(paths)} logs begin to count their steps anew, but are one run: if each is of a server of its"
                f" own, load them as runs and compare these: {_command(side, paths)}"
            )


def _begun_anew(warehouse: "Warehouse", run_id: str) -> list[str]:
    """The files of a run whose first step has the lowest number of all."""
    lowest = dict(warehouse.rows(_LOGS, [run_id]))
    first = [source for source, number in lowest.items() if number == min(lowest.values())]
    return [path for (path,) in warehouse.rows(_PATHS, [run_id, first])]


def _command(side: Side, paths: list[str]) -> str:
    """The command that loads each file as a run."""
    folders = sorted({(os.path.dirname(path), os.path.splitext(path)[1]) for path in paths})
    words = [os.path.join(shlex.quote(folder), f"*{ending}") if folder else f"*{ending}" for folder, ending in folders]
    return " ".join(["bench ingest --config", shlex.quote(f"{side.name}-runs"), *words])
