"""Functions of the present folder, measured in processes one after the other."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..engine.rounds import LEAST_ROUNDS, further
from ..engine.workload import Settings, Workload

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner


def measure_here(
    run: "Run", plan: Sequence[Workload], settings: Settings, program: str, *, processes: int | None, budget_s: float,
    after: "Callable[[Runner], Iterable[str]]",
) -> tuple[int, list[str]]:  # fmt: skip
    """Measure a plan, then what `after` looks at, which gives sentences for people. Ctrl-C closes the run as interrupted.

    Args:
        run: Run to record into.
        plan: The functions with their arguments.
        settings: How each process measures.
        program: What a process measures, as `module:class`.
        processes: How many for each workload; if left out, as many as the interval demands.
        budget_s: Most time to sample a workload, all processes together.
        after: Is called last, with what ran the processes.

    Returns:
        How many functions failed, and the sentences.
    """
    from ..engine.progress import ProgressLines
    from ..engine.runner import Runner

    failed, said, watch = 0, list[str](), ProgressLines()
    try:
        runner = Runner(run, settings, program=program, watch=watch)
        is_fixed = processes or settings.repeat
        more = () if is_fixed else further(plan, runner, precision=settings.precision, budget_s=budget_s)
        failed = runner.measure([*plan] * (processes or LEAST_ROUNDS), more)
        said.extend(after(runner))
    except KeyboardInterrupt:
        run.close("interrupted", "Ctrl-C")
    watch.close()
    return failed, said
