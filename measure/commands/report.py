"""The report of `bench measure command`: a row per case, with notes and next steps.

It is computed from the runs in memory, not from the views, because opening the warehouse takes longer than many commands.
"""

import math
import statistics
from collections.abc import Iterator, Sequence

from ...warehouse.console.numbers import counted, is_too_wide, scale, size, speed_of
from ...warehouse.console.tables import escape
from ..engine.estimate import LEAST_BLOCKS, NORMAL_975, Estimate, contradiction
from ..system.instructions import counts_in_words
from .measurement import CommandResult

COMMAND_HEADINGS = ("command", "mean ± sd", "range", "user", "system", "memory", "runs", "speed", "difference")
COMMAND_SPARE = ("system", "user", "range", "difference")  # headings that may go where there is no room
COMMAND_COLUMNS = (
    "name", "parameters", "status", "reason", "runs", "failed", "mean_ns", "stdev_ns", "median_ns", "min_ns", "max_ns",
    "user_ns", "system_ns", "peak_bytes", "error_bound_bytes", "ratio", "low", "high", "blocks", "difference_ns",
    "difference_low_ns", "difference_high_ns",
)  # fmt: skip
OUTLIER = 14.826  # median absolute deviations: ten standard deviations of a normal distribution
FAR = 0.1  # of the median; nearer ones are no outliers, however steady the others
SLOW_FIRST = 1.1  # times the slowest of the others
ROUNDING = 0.005  # of a mean: it is printed to so many
START_SHARE = 0.1  # of a run, from which on the start of its process is worth a word


def values(result: CommandResult, reference: CommandResult) -> tuple[object, ...]:
    """The row of COMMAND_COLUMNS: times in ns, sizes in bytes; None where nothing is known.

    The difference is the reference's mean times (1 / ratio - 1), and so are the ends of its interval. The true peak may be
    higher by the error bound, which is None for a peak that the kernel reports.
    """
    head = (
        result.side.name,
        dict(result.side.parameters) or None,
        result.status,
        result.reason,
        len(result.runs),
        result.failures,
    )
    runs, times = list(result.runs.values()), _times(result)
    if not runs:
        return (*head, *[None] * (len(COMMAND_COLUMNS) - len(head)))
    spread = statistics.stdev(times) if len(times) > 1 else None
    own = (statistics.fmean(times), spread, statistics.median(times), min(times), max(times))
    least, most = peak_bytes(result)
    used = (
        statistics.fmean(ran.user_ns for ran in runs),
        statistics.fmean(ran.system_ns for ran in runs),
        least,
        most - least or None,
    )
    return (*head, *own, *used, *_against(result, reference))


def _against(result: CommandResult, reference: CommandResult) -> tuple[float | None, ...]:
    """Ratio, its interval and blocks, difference and its interval; Nones for the reference, or without one."""
    if result is reference or not reference.runs:
        return (None,) * 7
    found = result.against(reference)
    base = statistics.fmean(_times(reference))
    low, high = found.interval
    differences = (base * (1 / ratio - 1) if ratio else None for ratio in (found.ratio, high, low))
    return (found.ratio, low, high, found.n, *differences)


def cells(result: CommandResult, reference: CommandResult, *, alone: bool) -> tuple[str, ...]:
    """The row of COMMAND_HEADINGS; of a lone side without the last two."""
    count = f"{len(result.runs)}" + (f" + {result.failures} failed" if result.failures else "")
    if not result.runs:
        nothing = (str(result.side), "–", "–", "–", "–", "–", count, "–", "–")
        return nothing[:-2] if alone else nothing
    known: dict[str, float | None] = dict(zip(COMMAND_COLUMNS[6:], values(result, reference)[6:], strict=True))  # type: ignore[arg-type]
    shown = (
        str(result.side), together(known["mean_ns"], known["stdev_ns"], by=" ± "),
        together(known["min_ns"], known["max_ns"], by=" … "), together(known["user_ns"]), together(known["system_ns"]),
        _peak(*peak_bytes(result)), count,
    )  # fmt: skip
    if alone:
        return shown
    if result is reference:
        return (*shown, "reference", "")
    faster, low, high, blocks = (known[name] for name in ("ratio", "low", "high", "blocks"))
    is_bounded = high is not None and low is not None and not is_too_wide(low, high)
    interval = (
        together(known["difference_low_ns"], known["difference_high_ns"], by=" … ", sign="+") if is_bounded else ""
    )
    return (
        *shown,
        speed_of(faster, low, high, int(blocks or 0)) or "–",
        together(known["difference_ns"], sign="+") + (f" ({interval})" if interval else ""),
    )


def disagreement(result: CommandResult, reference: CommandResult) -> str | None:
    """Describe how ratio and difference disagree with the printed means."""
    if result is reference or min(len(result.runs), len(reference.runs)) < LEAST_BLOCKS:
        return None
    found, (base, own) = result.against(reference), map(_mean, (reference, result))
    if reason := contradiction(found, base, own):
        return reason
    gap, ends = own.ratio - base.ratio, [base.ratio * (1 / ratio - 1) for ratio in (found.high, found.low) if ratio]
    if len(ends) < 2 or ends[0] - ROUNDING * base.ratio <= gap <= ends[1] + ROUNDING * base.ratio:
        return None
    blocks = together(*ends, by=" … ", sign="+")
    differ = together(gap, sign="+")
    return f"block by block the difference is {blocks}, the means differ by {differ}: slow calls weigh on the means"


def _mean(result: CommandResult) -> Estimate:
    """The mean of the runs in ns, with the 95 % interval of a normal distribution."""
    times = _times(result)
    mean, half = statistics.fmean(times), NORMAL_975 * statistics.stdev(times) / math.sqrt(len(times))
    return Estimate(mean, max(mean - half, 1.0), mean + half, len(times))


def together(*nanoseconds: float | None, by: str = "", sign: str = "") -> str:
    """Times in one unit, that of the largest: `102.3 ± 0.4 ms`."""
    found = [value for value in nanoseconds if value is not None]
    if not found:
        return "–"
    largest = max(map(abs, found)) or 1e6
    divisor, unit = scale(largest, "ns")
    places = 2 if largest < 10 * divisor else 1
    return f"{by.join(f'{value / divisor:{sign}.{places}f}' for value in found)} {unit}"


def notes(result: CommandResult, reference: CommandResult, *, warmup: int, empty_ns: float | None) -> Iterator[str]:
    """Notes below the row, each with the next step."""
    title, times = escape(str(result.side)), _times(result)
    if result.status != "ok":
        yield f"{title}: {result.status}: {escape(result.reason)}"
    else:
        doubted = disagreement(result, reference)
        if not doubted and result is not reference and reference.runs:
            doubted = result.against(reference).doubt
        yield "; ".join(filter(None, (f"{title}: {result.reason}", doubted)))
    if result.left:
        yield (
            f"{title}: processes that {counted(result.left, 'run')} started are still running: they take time from later runs. "
            "Let the command wait for them, or end them with --conclude"
        )
    if result.instructions:
        first = [] if result is reference else reference.instructions
        yield f"{title}: {counts_in_words(result.instructions, first)}"
    if not times:
        return
    median = statistics.median(times)
    if len(times) < 5:
        yield f"{title}: fewer than five runs give no interval. Take more with --repeat 10, or a longer --budget"
    elif times[0] > SLOW_FIRST * max(times[1:]) and warmup == 0:
        yield (
            f"{title}: the first run took {times[0] / median:.2g} times the median: caches were cold. Leave it out with "
            "--warmup 3, or make every run cold with --prepare"
        )
    strange = _outliers(times[1:])
    if strange:
        yield (
            f"{title}: {strange} of {len(times)} runs {'is' if strange == 1 else 'are'} far from the rest, up to "
            f"{together(max(times))}: something else ran. Try again when the machine is quiet, or take more with --budget"
        )
    if empty_ns is not None and empty_ns > START_SHARE * median:
        yield (
            f"{title}: a process that does nothing takes {together(empty_ns)} here, this one {together(median)}. To see what "
            "it does beyond that, let it do it many times, or use: bench measure function"
        )


def _peak(least: int, most: int) -> str:
    """The peak as a text: a range, or an upper bound for a command that ended before it was sampled."""
    if least == most:
        return size(most)
    if not least:
        return f"≤ {size(most)}"
    low, high = size(least), size(most)
    return f"{low.removesuffix(high[-4:])} … {high}"


def peak_bytes(result: CommandResult) -> tuple[int, int]:
    """The range of the largest memory in any run: of one process, or of all together if that was more."""
    together = max(ran.tree_bytes or 0 for ran in result.runs.values())
    least, most = (max(getattr(ran, name) for ran in result.runs.values()) for name in ("seen_bytes", "peak_bytes"))
    return max(least, together), max(most, together)


def _times(result: CommandResult) -> list[int]:
    return [ran.duration_ns for ran in result.runs.values()]


def _outliers(times: Sequence[int]) -> int:
    """The number of outliers (Iglewicz and Hoaglin 1993: by the median absolute deviation)."""
    if len(times) < 5:
        return 0
    median = statistics.median(times)
    deviation = statistics.median(abs(time - median) for time in times)
    return sum(abs(time - median) > max(OUTLIER * deviation, FAR * median) for time in times)
