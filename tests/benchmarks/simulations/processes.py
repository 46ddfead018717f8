"""Intervals of functions measured in several processes, simulated: how often they miss, what they claim, how wide they are.

Every world gives the log ratios of two sides that are equal, process by process and block by block. The rule is that of
`bench measure function`, with its stopping; beside it the one before: three processes whose blocks count as one series.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from bench.measure.engine.estimate import Estimate, ProcessEstimate, combined, process_estimate
from bench.measure.engine.rounds import LEAST_ROUNDS, MOST_ROUNDS
from bench.measure.engine.sampling import check_counts

from ..figures import Figures

TRIALS = 1000
BUDGET = 600  # blocks that it has time for, all processes together
PRECISION = 0.01
MISSED, CLAIMED, WIDER = 7.0, 5.0, 1.25  # bars: percent, percent, times the width of the earlier rule

Array = np.ndarray[Any, np.dtype[Any]]
Rule = Callable[..., Estimate]
# blocks -> log ratios of one process, which are disturbed
World = Callable[[np.random.Generator, int], tuple[Array, Array]]


def normal(own: float, within: float) -> World:
    """Processes that differ by a standard deviation `own`, blocks by `within`."""
    return lambda rng, blocks: (rng.normal(0, own) + rng.normal(0, within, blocks), np.zeros(blocks, bool))


def autocorrelated(rng: np.random.Generator, blocks: int) -> tuple[Array, Array]:
    """Neighbours correlate by 0.9."""
    draws = rng.normal(0, 0.01, blocks)
    draws[1:] *= math.sqrt(1 - 0.81)
    found = np.array(list(itertools.accumulate(draws, lambda before, draw: 0.9 * before + draw)))
    return found, np.zeros(blocks, bool)


def two_speeds(leaving: float) -> World:
    """Each side is at times 10 % slower; a side leaves its speed after a block with this probability."""

    def draw(rng: np.random.Generator, blocks: int) -> tuple[Array, Array]:
        slow = (np.cumsum(rng.random((2, blocks)) < leaving, axis=1) + rng.integers(2, size=(2, 1))) % 2
        return 0.1 * (slow[0] - slow[1]) + rng.normal(0, 0.005, blocks), np.zeros(blocks, bool)

    return draw


def preempted(share: float) -> World:
    """This share of samples takes twice and a half as long on average, in bursts of five blocks."""

    def draw(rng: np.random.Generator, blocks: int) -> tuple[Array, Array]:
        hit = np.repeat(rng.random((2, blocks // 5 + 1)) < share, 5, axis=1)[:, :blocks]
        slower = hit * np.log1p(rng.exponential(1.5, (2, blocks)))
        return rng.normal(0, 0.007, blocks) + slower[0] - slower[1], np.asarray(hit.any(axis=0))

    return draw


class Simulated(NamedTuple):
    """Percent of intervals that miss and that claim a difference, the median half-width in percent, the mean of blocks."""

    missed: float
    claimed: float
    width: float
    blocks: float


WORLDS: dict[str, tuple[World, int | None]] = {  # and blocks of a process, None where precision or budget end it
    "processes differ, 14 blocks": (normal(0.005, 0.002), 14),
    "processes differ, 50 blocks": (normal(0.005, 0.002), 50),
    "processes differ, 300 blocks": (normal(0.005, 0.002), 300),
    "processes differ, as measured": (normal(0.01, 0.01), None),
    "processes are alike, 14 blocks": (normal(0, 0.01), 14),
    "processes are alike, 50 blocks": (normal(0, 0.01), 50),
    "processes are alike, as measured": (normal(0, 0.03), None),
    "neighbours correlate by 0.9": (autocorrelated, None),
    "two speeds for 20 blocks": (two_speeds(0.05), None),
    "two speeds for 200 blocks": (two_speeds(0.005), None),
    "two speeds, each process at one": (two_speeds(0), None),
    "a tenth preempted": (preempted(0.1), None),
    "a third preempted": (preempted(0.33), None),
    "two thirds preempted": (preempted(0.67), None),
}


def measure(figures: Figures) -> None:
    """Of each world what is missed and claimed, beside the earlier rule, and how wide the intervals are."""
    for name, (world, blocks) in WORLDS.items():
        now, before = (simulate(rule, world, blocks, TRIALS) for rule in (measured, pooled))
        figures.add(f"missed: {name}", now.missed, "%", reference=before.missed, against="pooled", most=MISSED)
        figures.add(f"claimed: {name}", now.claimed, "%", reference=before.claimed, against="pooled", most=CLAIMED)
        if "alike" in name and blocks:
            same = simulate(pooled_again, world, blocks, TRIALS)
            figures.add(f"half-width: {name}", now.width, "%", reference=same.width, against="pooled", ratio_most=WIDER)
        else:
            figures.add(f"half-width: {name}", now.width, "%", reference=before.width, against="pooled")


def simulate(rule: Rule, world: World, blocks: int | None, trials: int) -> Simulated:
    """Measure so many pairs in a world."""
    rng = np.random.default_rng(1)
    found = [rule(world, rng, blocks) for _ in range(trials)]
    return Simulated(
        100 * float(np.mean([not one.low <= 1 <= one.high for one in found])),
        100 * float(np.mean([one.differs for one in found])),
        100 * float(np.median([math.log(one.high / one.low) / 2 if one.low else math.inf for one in found])),
        float(np.mean([one.n for one in found])),
    )


def measured(world: World, rng: np.random.Generator, blocks: int | None = None) -> Estimate:
    """One pair in LEAST to MOST processes, or in MOST of so many blocks each."""
    found: list[ProcessEstimate] = []
    while len(found) < MOST_ROUNDS:
        logs, disturbed = world(rng, blocks or BUDGET // MOST_ROUNDS)
        found.append(process_estimate(*stopped(logs, disturbed, PRECISION if blocks is None else 0)))
        if blocks is None and len(found) == LEAST_ROUNDS and combined(found).precision <= PRECISION:
            break
    return combined(found)


def pooled_again(world: World, rng: np.random.Generator, blocks: int | None = None) -> Estimate:
    """As many blocks as `measured` takes, all as one series: what their width is beside."""
    return combined([process_estimate(world(rng, (blocks or BUDGET // MOST_ROUNDS) * MOST_ROUNDS)[0].tolist())])


def pooled(world: World, rng: np.random.Generator, blocks: int | None = None) -> Estimate:
    """One pair as before: in three processes, all blocks as one series, disturbed or not."""
    logs: list[float] = []
    for _ in range(3):
        drawn = world(rng, blocks or BUDGET // 3)
        logs += stopped(*drawn, PRECISION * math.sqrt(3) if blocks is None else 0)[0]
    return combined([process_estimate(logs)])


def stopped(logs: Array, disturbed: Array, precision: float) -> tuple[list[float], list[bool]]:
    """The blocks of a process until its own interval is as narrow as asked; all of them where it never is."""
    for count in itertools.takewhile(lambda count: count < len(logs), check_counts()):
        taken = logs[:count].tolist(), disturbed[:count].tolist()
        if combined([process_estimate(*taken)]).precision <= precision:
            return taken
    return logs.tolist(), disturbed.tolist()
