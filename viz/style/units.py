"""Numbers on axes: the unit that suits them, and ticks a person would choose."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...warehouse.console.numbers import SCALES

_UNITS = {unit: tuple((name, size) for size, name in reversed(scales)) for unit, scales in SCALES.items()} | {
    "µs": (("µs", 1.0), ("ms", 1e3), ("s", 1e6)),
    "ms": (("ms", 1.0), ("s", 1e3)),
    "s": (("s", 1.0), ("min", 60.0), ("h", 3600.0)),
}
_ENDINGS = {  # what a column's name ends in -> the unit of its values
    "_ns": "ns", "_us": "µs", "_ms": "ms", "_s": "s", "_seconds": "s", "_bytes": "bytes", "_kib": "KiB", "_mib": "MiB",
    "_gib": "GiB", "_mb": "MB", "_gb": "GB", "_percent": "%", "_pct": "%", "_hz": "Hz", "_mhz": "MHz", "_watts": "W",
    "_celsius": "°C",
}  # fmt: skip
_LADDERS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7),
    (1, 2, 5), (1,),
)  # fmt: skip
_INTERVALS = 200
_SAME = 1e-6  # relative difference that no axis shows
_MOST, _NARROW = 9, 1.6  # ticks, where there is room; end / beginning of an axis
_ROOM = 2.0  # intervals may make an axis longer by so many times the range of the values, and are cut off beyond


@dataclass(frozen=True, slots=True)
class DisplayUnit:
    """The display unit of values: `value / size` of `name`."""

    name: str | None
    size: float = 1.0

    def of(self, value: float | None) -> float | None:
        """A value in this unit."""
        return None if value is None else value / self.size

    def title(self, what: str) -> str:
        """An axis title: `latency [ms]`."""
        return f"{what} [{self.name}]".lstrip() if self.name else what


def name_and_unit(column: str) -> tuple[str, str | None]:
    """The axis title and unit of a column, by the ending of its name: `compile_ns` is `compile`, in `ns`."""
    ending = next((end for end in _ENDINGS if column.lower().endswith(end) and len(column) > len(end)), "")
    stem = column[: len(column) - len(ending)]
    return stem.replace("_", " ").strip() or column, _ENDINGS.get(ending)


def choose_unit(values: Iterable[float | None], unit: str | None) -> DisplayUnit:
    """The largest unit in which the largest value is 1 or more."""
    most = max((abs(value) for value in values if value is not None), default=0)
    scales = _UNITS.get(unit or "", ((unit, 1.0),))
    return DisplayUnit(*next((scale for scale in reversed(scales) if most >= scale[1]), scales[0]))


def extent(
    values: Sequence[float], ends: Sequence[float], *, zero: bool = False, log: bool = False
) -> tuple[float, float]:
    """The beginning and the end of an axis.

    Args:
        values: What must be seen.
        ends: Of their intervals: as much of them as leaves the values to be seen.
        zero: Whether a linear axis begins at 0.
        log: Whether it is logarithmic; values and ends that are not above 0 have no place on it.
    """
    place, back = (math.log, math.exp) if log else (float, float)
    inside = [place(value) for value in values if value > 0 or not log]
    if zero and not log:
        inside.append(0.0)
    low, high = min(inside), max(inside)
    if high - low <= _SAME * abs(high) and not log:
        low = high  # what differs is rounding
    beyond = [place(end) for end in ends if end > 0 or not log]
    sizes = [abs(end) for end in beyond if math.isfinite(end)]  # where all values are 0, only intervals have a size
    room = _ROOM * ((high - low) or 0.05 * (1 if log else abs(high))) or max(sizes, default=0.0) or 1
    start, end = max(min([low, *beyond]), low - room), min(max([high, *beyond]), high + room)
    pad = 0.04 * (end - start) or (0.1 if log else 0.05 * abs(high) or 1)
    return back(0.0 if zero and not log and start >= 0 else start - pad), back(end + pad)


def log_ticks(low: float, high: float, most: int = _MOST) -> list[float]:
    """Ticks of a logarithmic axis, so many or fewer: of a narrow one at even distances, of a wide one 1, 2, 5, 10 …"""
    if high / low <= _NARROW:
        return even_ticks(low, high, most)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    more: list[float] = []
    ticks: list[float] = []
    for ladder in _LADDERS:
        all_ticks = (float(f"{m}e{decade}") for decade in decades for m in ladder)
        ticks = [tick for tick in all_ticks if low * 0.9999 <= tick <= high * 1.0001]
        if len(ticks) <= most:
            break
        more = ticks
    if len(ticks) < 2 <= min(most, len(more)):  # one alone tells no distance
        ticks = more
    return ticks[:: -(-len(ticks) // most)]


def even_ticks(low: float, high: float, most: int) -> list[float]:
    """Ticks, so many or fewer, at even distances that a person would choose."""
    first = math.floor(math.log10((high - low) / most)) - 1
    decade = first
    while True:
        for factor in (1, 2, 5):
            step = float(f"{factor}e{decade}")
            places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
            if len(places) <= most:
                return [round(step * place, max(0, -decade)) for place in places]
        decade += 1


def format_number(value: float) -> str:
    """A number in few characters: 2,048 or 0.25."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        return f"{value:.3g}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def interval_of(span: float, count: int) -> float:
    """An interval that a span of time is divided into, in its unit.

    1, 2 or 5 times a power of ten, so that there are 200 of them or fewer, and no fewer than four of `count` things in each.
    """
    wanted = max(span / min(_INTERVALS, max(1, count / 4)), 1e-3)
    decade = math.floor(math.log10(wanted))
    return next(
        float(f"{m}e{d}") for d in (decade, decade + 1) for m in (1, 2, 5) if float(f"{m}e{d}") >= wanted * 0.999
    )
