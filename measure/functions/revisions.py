"""Functions of several git revisions or versions of packages in turn, and how each compares with the first."""

from collections.abc import Sequence

from ...warehouse.errors import Exit
from ..engine.workload import Settings, Workload
from ..revisions.options import RevisionsRequest
from ..system.machine_lock import alone


def measure_revisions(plan: Sequence[Workload], settings: Settings, program: str, wanted: RevisionsRequest) -> int:
    """Measure a plan, a workload once for each process, with every revision; write the comparison.

    Returns:
        The exit code: 1 if a function failed.

    Raises:
        BenchError: There is no such revision or package, or one cannot be built or installed.
        KeyboardInterrupt: Ctrl-C; what was measured is compared.
    """
    from ..engine.progress import ProgressLines
    from ..engine.runner import Runner
    from ..revisions.rounds import measure
    from ..turns_report import compare_sides

    failed, interrupted, watch = 0, False, ProgressLines()
    with alone(wanted.lock), wanted.sides.opened(wanted.prepare) as trees:
        try:
            failed = measure(
                plan, trees, wanted.rounds, seed=settings.seed, begin=wanted.begin, watch=watch,
                runner=lambda run: Runner(run, settings, program=program, watch=watch),
            )  # fmt: skip
        except KeyboardInterrupt:
            interrupted = True
        finally:
            watch.close()
    if wanted.runs:
        compare_sides([wanted.runs], wanted.store, wanted.fmt)
    if interrupted:
        raise KeyboardInterrupt
    return Exit.FAILED if failed else Exit.OK
