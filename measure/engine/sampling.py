"""Sampling: when to time which side, how often, and when to stop. Knows nothing of models.

A *side* is one of the things compared; a *block* times every side once, in random order, with every side equally often
in every place. All samples are handed on with their phase; nothing is thrown away here. Where sides take turns, each finds
caches and allocator as another left them, so calls that are not timed lead into each sample: what is timed are calls as
in a program that has only this side.

Warm-up: a side is warm once the medians of its last quarter (five samples at least) and of the quarter before differ by
less than 1 %, or by less than those samples scatter (half their interquartile range). Quarters, since what settles slowly
looks level to a short window. Blocks go on until every side is warm, within a fifth of the budget.

Stopping: after 14 blocks, and then at counts half as large again (14, 21, 32, 48 …, so that looking often does not
make the interval lie), sampling stops if the 95 % interval of every side's ratio to the baseline is as narrow as asked.
"""

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...sql.rules import SLICE_NS
from ...warehouse.console.numbers import BUSY, percent
from .estimate import Estimate, ProcessEstimate, combined, process_estimate

FIRST_CHECK = 14
CHECK_GROWTH = 1.5
CLOCK_NS = 100  # two readings of perf_counter_ns, generously
MIN_SAMPLE_NS = CLOCK_NS * 10_000  # the clock is then at most 0.01 % of a sample
WARM_WINDOW = 5
WARM_TOLERANCE = 0.01
WARM_SHARE = 0.2  # of the budget
WIDEST_PRINTED_PRECISION = 10.0  # a precision beyond it, ±1000 %, is not written out
MAX_LOOPS = 1_000_000
LEAD_NS = 10_000_000  # that the lead-in lasts at most, in whole calls: to fill 32 MiB of cache takes about 3 ms
LEAD_CALLS = 3  # a cnn of 1 ms was 3 % slower than in a plain loop after one call, 1 % after three
LONG_NS = 100_000_000  # a call for which caches hardly matter
ENOUGH_CALM = 6  # samples that kept their processor; fewer settle no change, and take more time on a busy machine


@dataclass(frozen=True, slots=True)
class Reading:
    """The time of `loops` calls together, with disturbance counters; `gauges` are metrics read right after, with units."""

    duration_ns: int
    loops: int = 1
    device_ns: int | None = None
    disturbance: Mapping[str, int] = field(default_factory=dict)  # columns of `timings`
    gauges: Mapping[str, tuple[float, str]] = field(default_factory=dict)

    @property
    def each_ns(self) -> float:
        """Time of one call."""
        return max(self.duration_ns, 1) / self.loops

    @property
    def throttled(self) -> bool:
        """True if power or heat slowed the GPU meanwhile."""
        return bool(self.disturbance.get("throttled"))

    @property
    def preempted(self) -> bool:
        """True if the process lost its processor meanwhile."""
        return bool(self.disturbance.get("involuntary_switches"))

    @property
    def disturbed(self) -> bool:
        """True if the process lost its processor, or the GPU was slowed: estimates leave it out where enough others are left."""
        return self.preempted or self.throttled


# (loops, lead): runs one side `lead + loops` times and says how long the loops took
Clock = Callable[[int, int], Reading]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading with the index of its side, its phase, its block, and its position in the block, each from 0."""

    side: int
    phase: str  # warmup or steady
    block: int
    position: int
    reading: Reading


class SideFailed(Exception):
    """A side raised while it was sampled; the error is its cause."""

    def __init__(self, side: int) -> None:
        super().__init__(f"side {side} failed")
        self.side = side


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reason for which sampling stopped, and the estimates at that point.

    `stopped` is precision, budget or repeat; `estimates` holds, for every side but the baseline, the ratio of the
    baseline's time to its time (for a lone side, its time in ns); `parts` the same as they are combined over processes;
    `preempted` is the share of samples that lost their processor, `throttled` of those that power or heat slowed, `seconds` its
    time.
    """

    stopped: str
    warm: bool
    blocks: int
    estimates: tuple[Estimate, ...]
    parts: tuple[ProcessEstimate, ...] = ()
    preempted: float = 0.0
    seconds: float = 0.0
    throttled: float = 0.0

    @property
    def precision(self) -> float:
        """Half-width of the widest interval, as a fraction."""
        return max((estimate.precision for estimate in self.estimates), default=math.inf)

    def __str__(self) -> str:
        reached = (
            f"±{percent(self.precision, 2)}"
            if self.precision < WIDEST_PRINTED_PRECISION
            else "the interval is still too wide"
        )
        why = {"precision": "precision reached", "budget": "budget spent", "repeat": "as many as asked"}[self.stopped]
        settled = "" if self.warm else ", never settled"
        stretch = f"{why}: {reached} after {self.blocks} blocks{settled}"
        slowed = f"power or heat slowed the GPU in {percent(self.throttled, 0)} of samples" if self.throttled else ""
        return "; ".join(filter(None, (stretch, busy(self.preempted), slowed)))


def balanced_orders(sides: int, rng: random.Random) -> Iterator[tuple[int, ...]]:
    """An endless sequence of orders of the sides; in every `sides` blocks each side takes each position once.

    Each group is a random permutation, all its rotations, shuffled: a Latin square.
    """
    while True:
        row = rng.sample(range(sides), sides)
        square = [tuple(row[shift:] + row[:shift]) for shift in range(sides)]
        rng.shuffle(square)
        yield from square


def loops_for(each_ns: float, sample_ns: int = MIN_SAMPLE_NS) -> int:
    """Calls that one sample needs to last so long; by default for the clock to be negligible."""
    return min(max(1, math.ceil(sample_ns / max(each_ns, 1.0))), MAX_LOOPS)


def lead_for(each_ns: float) -> int:
    """Calls that go before a sample, untimed, where another side's calls went before."""
    return 0 if each_ns >= LONG_NS else min(LEAD_CALLS, math.ceil(LEAD_NS / max(each_ns, 1.0)))


def is_warm(times: Sequence[float]) -> bool:
    """Return whether the last quarter of the times equals the quarter before, by the rule above."""
    window = max(WARM_WINDOW, len(times) // 4)
    if len(times) < 2 * window:
        return False
    recent = times[-2 * window :]
    before, after = statistics.median(recent[:window]), statistics.median(recent[window:])
    q1, _, q3 = statistics.quantiles(recent, n=4)
    return abs(after - before) <= max(WARM_TOLERANCE * before, (q3 - q1) / 2)


def check_counts() -> Iterator[int]:
    """Numbers of blocks at which to check the precision."""
    count = FIRST_CHECK
    while True:
        yield count
        count = math.floor(count * CHECK_GROWTH)


class StoppingRule:
    """Decides when to stop; its clock starts when it is created."""

    def __init__(
        self, *, precision: float, budget_s: float, repeat: int | None = None, least: int = 1,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """Set the limits.

        Args:
            precision: Half-width of the 95 % interval of every ratio at which to stop, as a fraction.
            budget_s: Seconds for warm-up and samples together.
            repeat: Take exactly so many blocks instead.
            least: Minimum number of blocks, even beyond the budget.
            now: Seconds.
        """
        self._precision, self._repeat, self._least, self._now = precision, repeat, least, now
        self._deadline = now() + budget_s
        self._checks = check_counts()
        self._check = next(self._checks)

    def stopped(self, blocks: int, known: Callable[[], Sequence[Estimate]]) -> str | None:
        """The reason to stop after so many blocks: precision, budget or repeat; None to go on.

        `known` is asked for what is to become precise, and only when it is time to look.
        """
        if self._repeat is not None:
            return "repeat" if blocks >= self._repeat else None
        if blocks == self._check:
            self._check = next(self._checks)
            if all(estimate.precision <= self._precision for estimate in known()):
                return "precision"
        return "budget" if blocks >= self._least and self._now() >= self._deadline else None


class Sampler:
    """Samples sides against the first of them, the baseline."""

    def __init__(
        self,
        clocks: Sequence[Clock],
        emit: Callable[[Sample], None],
        *,
        seed: int,
        first_block: int = 0,
        now: Callable[[], float] = time.monotonic,
        sample_ns: int = MIN_SAMPLE_NS,
        even_loops: bool = False,
    ) -> None:
        """Prepare to sample.

        Args:
            clocks: One for each side, baseline first.
            emit: Called with every sample at once.
            seed: Seed of the order within blocks.
            first_block: Number of the first block.
            now: Seconds, for the budget.
            sample_ns: How long a sample is to last at least.
            even_loops: Whether the samples of all sides are to have equally many calls, those that the shortest needs.
        """
        self._sample_ns, self._even_loops = sample_ns, even_loops
        self._clocks = clocks
        self._emit = emit
        self._now = now
        self._orders = balanced_orders(len(clocks), random.Random(seed))
        self._blocks = itertools.count(first_block)
        self._loops = [1] * len(clocks)
        self._lead = [0] * len(clocks)  # calls that are not timed before each sample

    def run(self, *, precision: float, budget_s: float, repeat: int | None = None, patience: float = 1.0) -> Verdict:
        """Warm up, then sample until it is precise enough or the budget is spent.

        Args:
            precision: Half-width of the 95 % interval of every ratio at which to stop, as a fraction.
            budget_s: Seconds for warm-up and samples together.
            repeat: Take exactly so many blocks instead.
            patience: Most budgets to spend while too few samples kept their processor.

        Raises:
            SideFailed: A side raised.
        """
        began = self._now()
        rule = StoppingRule(precision=precision, budget_s=budget_s, repeat=repeat, now=self._now)
        warm = self._warm_up(self._now() + WARM_SHARE * budget_s)
        readings: list[list[Reading]] = [[] for _ in self._clocks]
        blocks, stopped = 0, None
        while stopped is None:
            self._block("steady", readings)
            blocks += 1
            stopped = rule.stopped(blocks, lambda: [combined([part]) for part in process_estimates(readings)])
            is_patient = patience > 1 and repeat is None and self._now() < began + patience * budget_s
            if stopped and is_patient and any(map(may_be_calmer, readings)):
                stopped = None  # nor are times precise that agree since all lost their processor
        parts = process_estimates(readings)
        taken = [reading for side in readings for reading in side]
        preempted = statistics.fmean(reading.preempted for reading in taken)
        throttled = statistics.fmean(reading.throttled for reading in taken)
        estimates = tuple(combined([part]) for part in parts)
        return Verdict(stopped, warm, blocks, estimates, parts, preempted, self._now() - began, throttled)

    def _warm_up(self, deadline: float) -> bool:
        """Run blocks until every side is warm; returns whether all were warm in time."""
        readings: list[list[Reading]] = [[] for _ in self._clocks]
        while True:
            self._block("warmup", readings)
            times = [[reading.each_ns for reading in side] for side in readings]
            each_ns = [statistics.median(side[-WARM_WINDOW:]) for side in times]
            self._loops = [loops_for(one, self._sample_ns) for one in each_ns]
            if len(each_ns) > 1:
                self._lead = list(map(lead_for, each_ns))
            if self._even_loops:
                self._loops = [max(self._loops)] * len(self._loops)
            if all(map(is_warm, times)):
                return True
            if self._now() >= deadline:
                return False

    def _block(self, phase: str, readings: list[list[Reading]]) -> None:
        block = next(self._blocks)
        for position, side in enumerate(next(self._orders)):
            try:
                reading = self._clocks[side](self._loops[side], self._lead[side])
            except Exception as error:
                raise SideFailed(side) from error
            self._emit(Sample(side, phase, block, position, reading))
            readings[side].append(reading)


def may_be_calmer(readings: Sequence[Reading]) -> bool:
    """Return whether too few samples kept their processor, and are short enough for some to do so."""
    calm = sum(not reading.preempted for reading in readings)
    return calm < ENOUGH_CALM and min(reading.duration_ns for reading in readings) <= SLICE_NS


def busy(disturbed: float) -> str:
    """A sentence about the share of samples that were disturbed; empty if it is small."""
    return f"the machine is busy: {percent(disturbed, 0)} of samples were disturbed" if disturbed >= BUSY else ""


def process_estimates(readings: Sequence[Sequence[Reading]]) -> tuple[ProcessEstimate, ...]:
    """The log ratio of the first side's times to each other side's, block by block; of a lone side the log of its own."""
    baseline, *others = readings
    if not others:
        return (process_estimate([math.log(one.each_ns) for one in baseline], [one.disturbed for one in baseline]),)
    return tuple(
        process_estimate(
            [math.log(one.each_ns / other.each_ns) for one, other in zip(baseline, side, strict=True)],
            [one.disturbed or other.disturbed for one, other in zip(baseline, side, strict=True)],
        )
        for side in others
    )
