"""Functions of several git revisions or versions of packages in turn, and how each compares with the first."""

from typing import TYPE_CHECKING

from ...warehouse.errors import Exit
from ..engine.workload import Settings, Workload
from ..options import talk
from ..revisions.options import RevisionsRequest
from ..system.machine_lock import alone
from .line_times import record_lines

if TYPE_CHECKING:
    from ...warehouse.recorder import Run


def measure_revisions(
    plan: list[Workload],
    processes: int,
    settings: Settings,
    program: str,
    wanted: RevisionsRequest,
    *,
    lines: bool = False,
) -> int:
    """Measure a plan with every revision, each workload in so many processes; write the comparison.

    With `lines` their lines are sampled, too, after the samples of each round.

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

    def sample(run: "Run", runner: Runner) -> None:
        for sentence in record_lines(run, runner, plan, settings.timeout_s):
            talk(sentence)

    with alone(wanted.lock), wanted.sides.opened(wanted.prepare) as trees:
        try:
            failed = measure(
                plan * processes, trees, wanted.rounds, seed=settings.seed, begin=wanted.begin, watch=watch,
                runner=lambda run: Runner(run, settings, program=program, watch=watch), after=sample if lines else None,
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
