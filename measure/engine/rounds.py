"""Rounds: how many processes a workload is measured in, one after the other.

Processes differ, so the estimate is the mean over several: LEAST_ROUNDS of them, and further ones up to MOST_ROUNDS while
its interval is wider than asked and the budget lasts. The interval is looked at twice only, after the one and after the other,
because a rule that looks often stops at intervals that are narrow by luck. What has nothing to be compared with is measured in
MOST_ROUNDS processes: the address space of each is laid out at random, which makes some 12 % slower, and five are alike by luck.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .workload import Workload

if TYPE_CHECKING:
    from .runner import Runner

LEAST_ROUNDS, MOST_ROUNDS = 5, 10


def further(plan: Sequence[Workload], runner: "Runner", *, precision: float, budget_s: float) -> Iterator[Workload]:
    """The workloads to measure again, after LEAST_ROUNDS processes of each; asked for one by one while the runner measures.

    `precision` is as of `StoppingRule`; `budget_s` is for each workload, all processes together.
    """
    going = [each for each in plan if runner.found(each).precision > precision or len(each.backends) == 1]
    for _ in range(MOST_ROUNDS - LEAST_ROUNDS):
        going = [workload for workload in going if runner.found(workload).sampled_s < budget_s]
        yield from going
