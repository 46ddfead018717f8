"""Estimates: the ratio of two sides with a 95 % interval.

A block times every side once, in random order: the machine's slow drift hits both sides alike, so the log of their ratio
is free of it. The unit of evidence is the process, since processes differ (hash seeds, memory layout) however many blocks
each of them times.

Within a process the estimate is the 20 % trimmed mean of the logs with its winsorised standard error (Yuen 1974,
Biometrika 61:165), of the blocks in which no side lost its processor. Where these are less than a quarter, or than five,
it is the 40 % trimmed mean of all blocks, nearly their median, since then most samples have been disturbed.

The estimate is the mean over the processes, without those too disturbed for the first where three others were not. Its
interval is the wider of two: Student's t on the scatter of the processes, with one degree of freedom less than there are
processes, and Student's t on the errors within them. For a single process, whose differences to others nothing tells,
neighbouring blocks that resemble each other count for fewer (effective sample size of a first-order autoregression).
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...query.students_t import summed_variance, t_quantile
from ...warehouse.console.numbers import percent, speed_of

TRIM = 0.2
DISTURBED_TRIM = 0.4
LEAST_UNDISTURBED = 1 / 4  # of the blocks of a process; where fewer are undisturbed all are taken, with DISTURBED_TRIM
LEAST_CALM = 3  # processes with enough undisturbed blocks, beside which others do not count
LEAST_BLOCKS = 5  # fewer have no error of their own
MOST_CORRELATION = 0.97  # of neighbouring blocks
POWER_80 = 0.8416  # normal quantile of 80 % power
NORMAL_95, NORMAL_975 = 1.6449, 1.9600
WIDEST_PRINTED_EFFECT = 9.0  # an effect beyond it, more than tenfold, is not written out
BEYOND_DOUBT = 1.6  # half-widths of the 95 % interval


@dataclass(frozen=True, slots=True)
class ProcessEstimate:
    """The estimate of a log ratio from the blocks of one process: its centre, standard error and degrees of freedom.

    `inflation` is how many times fewer independent blocks they are worth, which `error` and `degrees` leave out; `n`
    counts the blocks, which are undisturbed ones where `calm`. With fewer than LEAST_BLOCKS blocks `error` is NaN.
    """

    centre: float
    error: float
    degrees: float
    inflation: float
    n: int
    calm: bool = True


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio and its 95 % interval.

    `ratio`, `low` and `high` are plain ratios; `precision` is the interval's half-width as a fraction of the ratio
    (0.01 is 1 %; infinite while nothing is known); `n` counts the blocks it rests on, in `processes` processes;
    `scattered` says that the interval is as wide as it is since processes differ. Of a level all are in its unit.
    """

    ratio: float
    low: float
    high: float
    n: int
    processes: int = 1
    scattered: bool = False

    @property
    def precision(self) -> float:
        """Half-width of the interval, as a fraction."""
        return math.sqrt(self.high / self.low) - 1 if math.isfinite(self.high) else math.inf

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The ends of the interval; None while nothing is known."""
        return (self.low, self.high) if math.isfinite(self.high) else (None, None)

    @property
    def doubt(self) -> str | None:
        """The reason for which it does not prove a difference, as `doubt` says; None also while nothing is known."""
        return doubt(self.ratio, self.low, self.high) if math.isfinite(self.high) else None

    @property
    def differs(self) -> bool:
        """True if the sides differ by more than BEYOND_DOUBT half-widths."""
        return math.isfinite(self.high) and self.doubt is None


def process_estimate(logs: Sequence[float], disturbed: Sequence[bool] = ()) -> ProcessEstimate:
    """Estimate a log ratio from the blocks of one process.

    Args:
        logs: Log ratios of its blocks, at least one, in the order measured.
        disturbed: Which of them were disturbed, block by block; none if left out.
    """
    kept = [log for log, was in itertools.zip_longest(logs, disturbed) if not was]
    calm = len(kept) >= max(LEAST_UNDISTURBED * len(logs), LEAST_BLOCKS if len(logs) >= LEAST_BLOCKS else 1)
    kept = kept if calm else list(logs)
    n = len(kept)
    if n < LEAST_BLOCKS:
        return ProcessEstimate(
            (statistics.fmean if calm else statistics.median)(kept), math.nan, math.nan, 1.0, n, calm
        )
    cut = int(TRIM * n) if calm else int(DISTURBED_TRIM * (n - 1))  # of few blocks three at least remain
    ordered = sorted(kept)
    low, high = ordered[cut], ordered[n - cut - 1]
    winsorised = [min(max(value, low), high) for value in kept]
    mean = sum(winsorised) / n
    squares = sum((value - mean) ** 2 for value in winsorised)
    left = n - 2 * cut
    error = math.sqrt(squares / (left * (left - 1)))
    inflation = _autocorrelation_inflation(winsorised, mean, squares)
    return ProcessEstimate(statistics.fmean(ordered[cut : n - cut]), error, left - 1, inflation, n, calm)


def combined(processes: Sequence[ProcessEstimate]) -> Estimate:
    """Estimate a ratio from what several processes say of it; each counts alike.

    Those that were too disturbed are left out where LEAST_CALM others were not.

    With fewer than LEAST_BLOCKS blocks in all, the interval is from 0 to infinity.
    """
    calm = [one for one in processes if one.calm]
    processes = calm if len(calm) >= LEAST_CALM else processes
    count, n = len(processes), sum(one.n for one in processes)
    if not count:
        return Estimate(math.nan, 0.0, math.inf, 0, 0)
    centre = statistics.fmean(one.centre for one in processes)
    if n < LEAST_BLOCKS:
        return Estimate(math.exp(centre), 0.0, math.inf, n, count)
    if count == 1:
        (one,) = processes
        degrees = max(2.0, (one.degrees + 1) / one.inflation - 1)
        between, within = 0.0, t_quantile(0.025, degrees) * one.error * math.sqrt(one.inflation)
    else:
        between = t_quantile(0.025, count - 1) * math.sqrt(statistics.variance(one.centre for one in processes) / count)
        within = _within(processes)
    half = max(between, within)
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), n, count, between > within)


def _within(processes: Sequence[ProcessEstimate]) -> float:
    """Half the interval of the mean by the errors within processes alone, in logs; 0 where none has an error."""
    known = [one for one in processes if one.error > 0]
    if not known:
        return 0.0
    variance, degrees = summed_variance([(one.error**2, one.degrees) for one in known])
    return t_quantile(0.025, max(degrees, 2.0)) * math.sqrt(variance / len(known) / len(processes))


def ratio_of(logs: Sequence[float], disturbed: Sequence[bool] = ()) -> Estimate:
    """Estimate a ratio from the log ratios of the blocks of one process; see `process_estimate`."""
    return combined([process_estimate(logs, disturbed)] if logs else [])


def paired(times: Iterable[tuple[float, float]]) -> Estimate:
    """The ratio of a reference's time to another's, from the blocks of one process, in the order measured."""
    return ratio_of([math.log(reference) - math.log(other) for reference, other in times])


def level_of(times: Iterable[float]) -> Estimate:
    """A side's own time, in the unit given, from the blocks of one process in the order measured."""
    return ratio_of([math.log(time) for time in times])


def _autocorrelation_inflation(values: Sequence[float], mean: float, squares: float) -> float:
    """The factor by which fewer independent blocks these are worth: (1 + r) / (1 - r), r the lag-one correlation.

    r is the upper end of its one-sided 95 % interval, after its bias of (1 + 3 r) / n (Kendall 1954, Biometrika 41:403):
    too few blocks cannot show that they are independent.
    """
    n = len(values)
    if squares <= 0:
        return 1.0
    lagged = sum((a - mean) * (b - mean) for a, b in itertools.pairwise(values)) / squares
    r = min(max(lagged + (1 + 3 * max(lagged, 0.0)) / n + NORMAL_95 / math.sqrt(n), 0.0), MOST_CORRELATION)
    return (1 + r) / (1 - r)


def doubt(ratio: float, low: float, high: float) -> str | None:
    """The reason for which a ratio does not prove a difference, in words; None if it does.

    A 95 % interval misses the truth one time in twenty, which is too often to claim a difference. A difference is claimed
    if the ratio is further from 1 than BEYOND_DOUBT half-widths: in simulations less than 1 % of identical sides are.
    """
    if abs(math.log(ratio)) > BEYOND_DOUBT * _half(low, high):
        return None
    what = "no difference found" if low <= 1 <= high else "a difference is likely, not beyond doubt"
    smallest = smallest_detectable(low, high)
    return f"{what} (smallest detectable: {percent(smallest, 1) if smallest < WIDEST_PRINTED_EFFECT else 'over 10x'})"


def contradiction(found: Estimate, reference: Estimate, other: Estimate) -> str | None:
    """The contradiction, in words, between a ratio and the two times printed beside it, its reference's and the other's.

    They do where they differ by more than the wider of both intervals, but by 1 % at least, since times are printed to
    three digits, and by 10 % in any case.
    """
    if not (math.isfinite(found.high) and reference.n and other.n):
        return None
    gap = abs(math.log(found.ratio * other.ratio / reference.ratio))
    spans = [_half(time.low, time.high) if time.low else math.inf for time in (reference, other)]
    if gap <= min(max(_half(found.low, found.high), math.hypot(*spans), 0.01), 0.1):
        return None
    blocks, whole = speed_of(found.ratio, found.low, found.high), reference.ratio / other.ratio
    told = f"{max(whole, 1 / whole):.2f}x {'faster' if whole > 1 else 'slower'}"
    return f"block by block it is {blocks}, by the times as a whole {told}: slow calls weigh on one of them only"


def smallest_detectable(low: float, high: float) -> float:
    """Smallest effect, as a fraction, that an interval of this width would prove with a power of 80 %."""
    return math.expm1(_half(low, high) * (BEYOND_DOUBT + POWER_80 / NORMAL_975))


def _half(low: float, high: float) -> float:
    """Half the width of an interval, in logs."""
    return (math.log(high) - math.log(low)) / 2
