"""Runs that hold the logs of several servers, which count as one session each: how to load them as runs of their own."""

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .compare import Comparison
from .sides import Side

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_BEGUN_ANEW = """
    WITH files AS (
        SELECT run_id, source_id, any_value(path) AS path, min(batch_id) AS first
        FROM sources JOIN schedule_chunks USING (run_id, source_id)
        WHERE list_contains(?::VARCHAR[], run_id)
        GROUP BY run_id, source_id
    )
    SELECT path
    FROM files
    QUALIFY first = min(first) OVER (PARTITION BY run_id) AND count(*) OVER (PARTITION BY run_id, first) > 1
    ORDER BY path
"""


def describe_restarts(warehouse: "Warehouse", found: Comparison) -> Iterator[str]:
    """For scheduler steps that nothing is certain of: a sentence for a side of one run whose logs count their steps anew."""
    doubtful = [row for row in found.rows if row["suite"] == "scheduler" and "assumes" in (row["reason"] or "")]
    for side in (found.base, found.candidate) if doubtful else ():
        if len(side.runs) == 1 and (paths := [path for (path,) in warehouse.rows(_BEGUN_ANEW, [[*side.runs]])]):
            yield (
                f"{side.name}: {len(paths)} logs begin to count their steps anew, but are one run: if each is of a server of its"
                f" own, load them as runs and compare these: {_command(side, paths)}"
            )


def _command(side: Side, paths: list[str]) -> str:
    """The command that loads each file as a run."""
    folders = sorted({(os.path.dirname(path), os.path.splitext(path)[1]) for path in paths})
    words = [os.path.join(shlex.quote(folder), f"*{ending}") if folder else f"*{ending}" for folder, ending in folders]
    return " ".join(["bench ingest --config", shlex.quote(f"{side.name}-runs"), *words])
