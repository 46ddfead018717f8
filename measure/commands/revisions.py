"""Commands of several git revisions or versions of packages in turns, and how each compares with the first."""

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...warehouse.console.tables import escape
from ...warehouse.errors import Exit
from ..options import progress, talk
from ..revisions.options import RevisionsRequest
from ..system.machine_lock import alone
from ..turns_report import compare_sides
from .measurement import CommandMeasurement, CommandResult, CommandSettings, CommandSite
from .plan import PlannedCommand
from .process import launcher
from .results import CallResults


def measure_revisions(
    comparisons: Sequence[Sequence[PlannedCommand]], settings: CommandSettings, wanted: RevisionsRequest, *,
    stdin: str, shown: bool, written: CallResults | None, notify: Callable[[str], None],
) -> int:  # fmt: skip
    """Measure commands in every revision's folder, block by block; each round is a run of each. Write the comparison.

    Returns:
        The exit code: 1 if a run of a command failed.

    Raises:
        BenchError: There is no such revision or package, or one cannot be built or installed.
        KeyboardInterrupt: Ctrl-C; what was measured is compared.
    """
    measured: list[CommandResult] = []
    interrupted, uncounted = False, ""
    with alone(wanted.lock), wanted.sides.opened(wanted.prepare) as trees:
        for number in range(wanted.rounds):
            with contextlib.ExitStack() as stack:
                sites = []
                for revision, tree in trees.items():
                    with tree.entered():
                        starter = stack.enter_context(launcher(stdin=os.path.abspath(stdin), shown=shown))
                        sites.append(CommandSite(stack.enter_context(wanted.begin(revision)), starter, revision, tree))
                seeded = replace(settings, seed=settings.seed + number)
                measurement = CommandMeasurement(sites, seeded, written=written, notify=notify)
                measured += [result for results in measurement.measure(comparisons) for result in results]
                interrupted, uncounted = measurement.interrupted, measurement.uncounted
                if interrupted:
                    for site in sites:
                        site.run.close("interrupted", "Ctrl-C")
                    break
    progress("")
    failed = [result for result in measured if result.status not in ("ok", "interrupted")]
    for sentence in dict.fromkeys(f"{result}: {result.status}: {result.reason}" for result in failed):
        talk(escape(sentence))
    if uncounted:
        talk(f"instructions were not counted: {uncounted}")
    compare_sides([wanted.runs, *(written.by_side(measured) if written else [])], wanted.store, wanted.fmt)
    if interrupted:
        raise KeyboardInterrupt
    return Exit.FAILED if failed else Exit.OK
