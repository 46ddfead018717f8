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


def share_text(fraction: float) -> str:
    """A share as `share` reads it: `3%`, `0.5%`."""
    return f"{100 * fraction:g}%"


def exact_percent(fraction: float) -> str:
    """A percentage that somebody chose, with all its digits: `3 %`, `12.5 %`."""
    return f"{100 * fraction:g} %"


def duration(nanoseconds: float | None) -> str:
    """Three digits and the unit that suits: `1.50 ms`; a dash where nothing is known."""
    return "–" if nanoseconds is None else _scaled(nanoseconds, "ns", 3)


def span(seconds: float) -> str:
    """A duration for people: 41 s, 12 min, 3 h 20 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def clock(seconds: float) -> str:
    """A duration to the second: `42 s`, `3:07 min` or `2:03 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"


def time_with_doubt(
    nanoseconds: float | None, low: float | None, high: float | None, n: int, disturbed: float | None = None
) -> str:
    """A time with half its 95 % interval, that of its logarithm, and how many samples it rests on: `1.50 ms ±0.4 % (n=83)`.

    `n=1` and the like stand alone where too few samples give an interval; a dash where nothing is known. Where
    `disturbed`, the share of samples that were, is BUSY or more, it is said: `1.50 ms ±4.2 % (n=83, disturbed 40 %)`.
    """
    if nanoseconds is None:
        return "–"
    known = f"n={n}" if disturbed is None or disturbed < BUSY else f"n={n}, disturbed {percent(disturbed, 0)}"
    if low is None or high is None:
        return f"{duration(nanoseconds)} ({known})"
    half = math.sqrt(high / low) - 1 if low > 0 else math.inf
    return (
        f"{duration(nanoseconds)} ±{percent(half, 1)} ({known})"
        if half < 10
        else f"{duration(nanoseconds)} ±over 10x ({known})"
    )


def size(bytes_: float | None) -> str:
    """Three digits and a binary unit: `1.50 KiB`; a dash where nothing is known."""
    return "–" if bytes_ is None else _scaled(bytes_, "bytes", 3)


def file_size(bytes_: int) -> str:
    """The size of files, in decimal units, as file managers and buckets count: `12.3 MB`, `0.4 kB`."""
    return f"{bytes_ / 1e6:,.1f} MB" if bytes_ >= 1e6 else f"{bytes_ / 1e3:,.1f} kB"


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
    """A difference with its sign: `+1.5 ms`, `−3 tokens/s`; three digits of per cent: `+8.12 %`."""
    size = float(f"{abs(value):.3g}") if unit == "%" else abs(value)
    return f"{'−' if value < 0 else '+'}{amount(size, unit)}"


def signed_interval(low: float | None, high: float | None, unit: str | None) -> str:
    """The ends of a difference, with no more digits than tell them apart: `+62 to +98`; – without one."""
    if low is None or high is None:
        return "–"
    places = 1 - _magnitude(high - low) if unit not in SCALES and 0 < high - low < math.inf else None
    return " to ".join(signed(end if places is None else round(end, places), unit) for end in (low, high))


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


def percent(fraction: float, places: int | None = None, *, sign: bool = False) -> str:
    """A fraction as a percentage, of two digits at least or with so many decimals: `0.42 %`, `12 %`, `3.0 %`, `+3.1 %`."""
    if places is None:
        return f"{_trimmed(_rounded(100 * fraction, 2))} %"
    return f"{_fixed(100 * fraction, places, sign=sign)} %"


def percent_change(fraction: float | None, low: float | None = None, high: float | None = None) -> str | None:
    """A change with its sign and 95 % interval: `+3.1 % (95 % +2.8 to +3.4)`; None without one."""
    if fraction is None:
        return None
    bounds = "" if low is None or high is None else f" (95 % {percent_range(low, high).removesuffix(' %')})"
    return percent(fraction, 1, sign=True) + bounds


def percent_range(low: float, high: float) -> str:
    """The ends of a range of changes: `+2.8 to +3.4 %`."""
    return f"{_fixed(100 * low, 1, sign=True)} to {_fixed(100 * high, 1, sign=True)} %"


def _fixed(value: float, places: int, *, sign: bool) -> str:
    """A number of so many decimals; what rounds to 0 has no minus."""
    return f"{round(value, places) + 0.0:{'+' if sign else ''}.{places}f}"


def probability(value: float, places: int = 1) -> str:
    """A probability, never rounded to certainty: `97.3 %`, `> 99.9 %`, `< 0.1 %`."""
    smallest = 10.0 ** -(places + 2)
    if value < smallest / 2:
        return f"< {percent(smallest, places)}"
    return f"> {percent(1 - smallest, places)}" if value > 1 - smallest / 2 else percent(value, places)


def share_of(count: int, total: int) -> str:
    """A share in whole percent; only all are `100 %`, and only none is `0 %`."""
    return probability(count / total, 0) if 0 < count < total else percent(count / total, 0)


def signed_share(fraction: float) -> str:
    """A share in whole percent, which may be against the whole: `92 %`, `−4 %`."""
    return percent(fraction, 0).replace("-", "−")


def scale(value: float, unit: str, digits: int = 3) -> tuple[float, str]:
    """The divisor of a value in ns or bytes and the resulting unit: 999.96 µs are 1.00 ms in three digits."""
    value = abs(value)
    return next((one for one in SCALES[unit] if float(f"{value / one[0]:.{digits}g}") >= 1), SCALES[unit][-1])


def _scaled(value: float, unit: str, digits: int) -> str:
    divisor, name = scale(value, unit, digits)
    return f"{_rounded(value / divisor, digits)} {name}"


def _rounded(value: float, digits: int) -> str:
    """A number to so many digits at least, all of them before the point: `1.50`, `1234`."""
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
    """A ratio with its interval in words, `1.30x slower (95 % 1.27–1.33)`; `1.00x (95 % 0.99–1.01)` where it rounds to 1.

    Args:
        row: One of `comparisons`, or with its columns ratio, low, high, unit and better.
        n: How many samples it rests on, if that is to be said.
    """
    value, low, high = row["ratio"], row["low"], row["high"]
    factor, doubt = _factor_and_doubt(row, n)
    if not value or float(factor.rstrip("x")) == 1:
        return ratio(value, low, high, n)
    is_exact = low is not None and low == high and not n
    return f"{factor} {direction(row)}" + ("" if is_exact else f" {doubt}")


def factor_of(row: Mapping[str, Any]) -> str:
    """The change of `change_of` without its interval: `1.30x slower`; `1.00x` where it rounds to 1."""
    factor = times(max(row["ratio"], 1 / row["ratio"]))
    return f"{factor} {direction(row)}" if float(factor.rstrip("x")) != 1 else times(row["ratio"])


def mean_of(row: Mapping[str, Any]) -> str | None:
    """A mean of ratios, beside which no verdict stands, in the words of `change_of`.

    Where its interval holds 1 it says so: `1.14x faster or no change (95 % 0.95–1.36)`.
    """
    text, low, high = change_of(row), row["low"], row["high"]
    if text is None or low is None or high is None or not low <= 1 <= high:
        return text
    return text.replace(f" {direction(row)} (", f" {direction(row)} or no change (")


def _factor_and_doubt(row: Mapping[str, Any], n: int | None = None) -> tuple[str, str]:
    """The factor, above 1 in either direction, and its interval."""
    value, low, high = row["ratio"], row["low"], row["high"]
    if value and value < 1:
        ends = [end if end is None else 1 / end if end else math.inf for end in (high, low)]
        value, (low, high) = 1 / value, ends
    factor, _, doubt = (ratio(value, low, high, n) or "").partition(" ")
    return factor, doubt


def speed_of(value: float | None, low: float | None, high: float | None, n: int | None = None) -> str | None:
    """The change of a time, faster or slower, in the words of `change_of`."""
    return change_of({"ratio": value, "low": low, "high": high, "unit": "ns", "better": "lower"}, n)


def is_time_or_rate(unit: str | None) -> bool:
    """True of units whose values are faster or slower where others are better or worse; in SQL `_is_time_or_rate`."""
    return unit == "ns" or (unit or "").endswith("/s")


def direction(row: Mapping[str, Any]) -> str:
    """The direction in which a number changed, by its ratio, unit and better: slower, larger, fewer …"""
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
