"""Measure workloads with every revision in turn, each in its own worktree.

In every round each revision has its own run. Every workload is measured by all revisions, in random order, before the next
workload, so that drift affects all revisions alike. Runs of one revision are repeats, which tell `bench compare` the noise
between runs.
"""

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..engine.progress import ProgressListener
from ..engine.workload import Workload

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner
    from .options import MeasuredSide


def measure(
    plan: Sequence[Workload], trees: "Mapping[str, MeasuredSide]", rounds: int, *,
    seed: int, begin: "Callable[[str], Run]", runner: "Callable[[Run], Runner]", watch: ProgressListener,
    after: "Callable[[Run, Runner], None] | None" = None,
) -> int:  # fmt: skip
    """Measure a plan with every revision.

    The seed orders the revisions. `begin` begins the run of a revision, in its worktree; `runner` gives what measures into it.
    `after` is called in the worktree of each, once all workloads of a round are measured.

    Returns:
        How many cases failed, in all runs together.

    Raises:
        KeyboardInterrupt: Ctrl-C; the runs of its round are closed as interrupted.
    """
    order, failed = random.Random(seed), 0
    watch.plan(rounds * len(trees) * len(plan))
    for _ in range(rounds):
        with contextlib.ExitStack() as runs:
            turns, begun = {}, {}
            for revision, tree in trees.items():
                with tree.entered():
                    run = runs.enter_context(begin(revision))
                begun[revision] = run, runner(run)
                turns[revision] = begun[revision][1].turns([tree.here(workload) for workload in plan])
            for _ in plan:
                for revision in order.sample(list(trees), len(trees)):
                    watch.revision = revision
                    with trees[revision].entered():
                        failed += next(turns[revision], 0)
            if after is not None:
                for revision in order.sample(list(trees), len(trees)):
                    with trees[revision].entered():
                        after(*begun[revision])
            for turn in turns.values():
                next(turn, None)  # to its end, where it says what it cost
    return failed
