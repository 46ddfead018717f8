"""Numbers as a person reads them: with the unit, the doubt or the noun that belongs to them."""

import math
from collections.abc import Mapping
from typing import Any

from ..errors import BenchError

WIDEST_PRINTED_INTERVAL = 100  # an interval that spans more than this factor is not written out
BUSY = 0.2  # of samples disturbed, from which on it is worth a word
SMALLEST_P = 0.001  # a smaller p is not, either
JSON_MARKS = str.maketrans("", "", '{}"')  # what of further axes is not for people
SCALES = {  # the unit of stored values -> sizes and names of those that people read; rates are decimal, as the field writes them
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "bytes": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "bytes/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
}


def share(text: str, most: float = 1) -> float:
    """Read a share above 0 and below `most`, written as 3% or 0.03.

    Raises:
        BenchError: It is none.
    """
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < most:
        raise BenchError(f"{text!r} is not a share between 0 and {most:g}. Write it as 3% or 0.03.")
    return value


def duration(nanoseconds: float | None) -> str:
    """Three digits and the unit that suits: `1.50 ms`; a dash where nothing is known."""
    return "–" if nanoseconds is None else _scaled(nanoseconds, "ns", 3)


def span(seconds: float) -> str:
    """A duration for people: 41 s, 12 min, 3 h 20 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def time_with_doubt(
    nanoseconds: float | None, low: float | None, high: float | None, n: int, disturbed: float | None = None
) -> str:
    """A time with half its 95 % interval and how many samples it rests on: `1.50 ms ±0.4% (n=83)`.

    `n=1` and the like stand alone where too few samples give an interval; a dash where nothing is known. Where
    `disturbed`, the share of samples that were, is BUSY or more, it is said: `1.50 ms ±4.2% (n=83, disturbed 40 %)`.
    """
    if nanoseconds is None:
        return "–"
    known = (
        f"n={n}" if disturbed is None or disturbed < BUSY else f"n={n}, disturbed {disturbed:.0%}".replace("%", " %")
    )
    if low is None or high is None:
        return f"{duration(nanoseconds)} ({known})"
    half = (high - low) / 2 / nanoseconds
    return (
        f"{duration(nanoseconds)} ±{half:.1%} ({known})"
        if half < 10
        else f"{duration(nanoseconds)} ±over 10x ({known})"
    )


def size(bytes_: float | None) -> str:
    """Three digits and a binary unit: `1.50 KiB`; a dash where nothing is known."""
    return "–" if bytes_ is None else _scaled(bytes_, "bytes", 3)


def memory(process_bytes: float | None, step_bytes: float | None) -> str:
    """The peak of a process, and what a step adds: `243 MiB (+288 KiB)`; without the first the second alone."""
    return size(step_bytes) if process_bytes is None else f"{size(process_bytes)} (+{size(step_bytes)})"


def amount(value: float | None, unit: str | None) -> str:
    """A compared value, with more than three digits: `1.5 ms`, `45000 tokens/s`; nothing for None.

    Four digits at most of times and sizes, and all before the point.
    """
    if value is None:
        return ""
    if unit not in SCALES:
        rounded = round(value) if 1000 <= abs(value) < 2**53 else value
        return number(rounded) + (f" {unit}" if unit not in (None, "count", "ratio") else "")
    text, name = _scaled(value, unit, 4).split()
    return f"{_trimmed(text)} {name}"


def signed(value: float, unit: str | None) -> str:
    """A difference with its sign: `+1.5 ms`, `−3 tokens/s`."""
    return f"{'−' if value < 0 else '+'}{amount(abs(value), unit)}"


def interval(low: float | None, high: float | None, unit: str | None) -> str | None:
    """The ends of an interval in one unit, with as many digits as tell them apart: `1.49–1.51 ms`; None without one."""
    if low is None or high is None:
        return None
    divisor, name = scale(max(abs(low), abs(high)), unit) if unit in SCALES else (1.0, unit or "")
    low, high = low / divisor, high / divisor
    width = high - low
    places = max(0, 1 - _magnitude(width)) if 0 < width < math.inf else 2
    name = "" if name in ("count", "ratio") else name
    return f"{low:.{min(places, 6)}f}–{high:.{min(places, 6)}f} {name}".rstrip()


def percent(fraction: float) -> str:
    """A fraction as a percentage of two digits at least: `0.42 %`, `12 %`."""
    return f"{_trimmed(_rounded(100 * fraction, 2))} %"


def scale(value: float, unit: str, digits: int = 3) -> tuple[float, str]:
    """The divisor of a value in ns or bytes and the resulting unit: 999.96 µs are 1.00 ms in three digits."""
    value = abs(value)
    return next((one for one in SCALES[unit] if float(f"{value / one[0]:.{digits}g}") >= 1), SCALES[unit][-1])


def _scaled(value: float, unit: str, digits: int) -> str:
    divisor, name = scale(value, unit, digits)
    return f"{_rounded(value / divisor, digits)} {name}"


def _rounded(value: float, digits: int) -> str:
    """So many digits at least, all of them before the point: `1.50`, `1234`."""
    rounded = float(f"{value:.{digits}g}")
    if not 1 <= abs(rounded) < math.inf:
        return f"{value:.{digits}g}"
    return f"{value:.{max(0, digits - 1 - _magnitude(rounded))}f}"


def _magnitude(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value)))


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def number(value: float) -> str:
    """A number to six significant digits, all digits before the point kept."""
    if not math.isfinite(value) or value == 0 or not 1e-5 <= abs(value) < 1e15:
        return f"{value:.6g}"
    return _trimmed(f"{value:.{max(0, 5 - _magnitude(value))}f}")


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """A count with its noun, and the verb of one and of many where it follows: `1 case`, `2,048 cases`, `1 run was`."""
    verb = one if count == 1 else many
    return f"{count:,} {noun}{'' if count == 1 else 's'}{verb and ' '}{verb}"


def ratio(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    n: int | None = None,
    p: float | None = None,
) -> str | None:
    """A ratio with its doubt, `1.18x (95 % 1.12–1.24, n=30, p<0.001)`: as many decimals as the interval deserves.

    None without a value; samples and p are said where they are given.
    """
    if value is None:
        return None
    known = "" if n is None else f", n={n}"
    if p is not None:
        known += f", p<{SMALLEST_P}" if p < SMALLEST_P else f", p={p:.3f}"
    if low is None or high is None:
        return f"{times(value)} (no interval{known})"
    if is_too_wide(low, high):
        return f"{times(value)} (95 % interval wider than {WIDEST_PRINTED_INTERVAL}x{known})"
    if low * 10 < high:
        value, low, high = (float(f"{one:.2g}") for one in (value, low, high))
        return f"{number(value)}x (95 % {number(low)}–{number(high)}{known})"
    places = _places(value) + (high - low < 0.02 * value)
    return f"{value:.{places}f}x (95 % {low:.{places}f}–{high:.{places}f}{known})"


def change_of(row: Mapping[str, Any], n: int | None = None) -> str | None:
    """A ratio with its interval in words, `1.30x slower (95 % 1.27–1.33)`; as it stands where the interval holds 1.

    Args:
        row: One of `comparisons`, or with its columns ratio, low, high, unit and better.
        n: How many samples it rests on, if that is to be said.
    """
    value, low, high = row["ratio"], row["low"], row["high"]
    if not value or low is None or high is None or low <= 1 <= high:
        return ratio(value, low, high, n)
    factor, doubt = _factor_and_doubt(row, n)
    return f"{factor} {direction(row)}" + (f" {doubt}" if low != high or n else "")


def mean_of(row: Mapping[str, Any]) -> str | None:
    """A mean of ratios in the words of `change_of`; where its interval holds 1, `1.14x faster or no change (95 % 0.95–1.36)`."""
    value, low, high = row["ratio"], row["low"], row["high"]
    factor, doubt = _factor_and_doubt(row)
    if (
        not value
        or low is None
        or high is None
        or not low <= 1 <= high
        or float(factor.rstrip("x").replace(",", "") or 1) == 1
    ):
        return change_of(row)
    return f"{factor} {direction(row)} or no change {doubt}"


def _factor_and_doubt(row: Mapping[str, Any], n: int | None = None) -> tuple[str, str]:
    """How many times, above 1 whichever way, and the interval of that."""
    value, low, high = row["ratio"], row["low"], row["high"]
    if value and low is not None and high is not None and value < 1:
        value, low, high = 1 / value, 1 / high if high else math.inf, 1 / low if low else math.inf
    factor, _, doubt = (ratio(value, low, high, n) or "").partition(" ")
    return factor, doubt


def speed_of(value: float | None, low: float | None, high: float | None, n: int | None = None) -> str | None:
    """How much faster or slower a time is, in the words of `change_of`."""
    return change_of({"ratio": value, "low": low, "high": high, "unit": "ns", "better": "lower"}, n)


def is_time_or_rate(unit: str | None) -> bool:
    """True of units whose values are faster or slower where others are better or worse; in SQL `_is_time_or_rate`."""
    return unit == "ns" or (unit or "").endswith("/s")


def direction(row: Mapping[str, Any]) -> str:
    """In which direction a number changed, by its ratio, unit and better: slower, larger, fewer …"""
    is_better, is_more = row["ratio"] > 1, (row["ratio"] > 1) == (row["better"] != "lower")
    if row["better"] and is_time_or_rate(row["unit"]):
        return "faster" if is_better else "slower"
    if row["unit"] == "bytes":
        return "larger" if is_more else "smaller"
    if row["unit"] == "count":
        return "more" if is_more else "fewer"
    return ("better" if is_better else "worse") if row["better"] else ("more" if is_more else "less")


def is_too_wide(low: float, high: float) -> bool:
    """Return whether the interval of a ratio is too wide to be written out."""
    return low * WIDEST_PRINTED_INTERVAL < high


def times(value: float) -> str:
    """A ratio alone: `1.18x`, `0.0042x`, `12345x`."""
    return f"{value:.{_places(value)}f}x"


def _places(value: float) -> int:
    """Decimals of a ratio: two, of a small one as many as show two digits, of a large one no more than show four."""
    if not 0 < value < math.inf:
        return 2
    return max(0, min(2, 3 - _magnitude(value)), 1 - _magnitude(value))
