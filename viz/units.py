"""Numbers on axes: the unit that suits them, and ticks a person would choose."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_UNITS = {
    "ns": (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)),
    "ms": (("ms", 1.0), ("s", 1e3)),
    "bytes": (("B", 1.0), ("KiB", 2.0**10), ("MiB", 2.0**20), ("GiB", 2.0**30)),
}
_LADDERS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7),
    (1, 2, 5), (1,),
)  # fmt: skip
_MOST = 9  # ticks


@dataclass(frozen=True, slots=True)
class Unit:
    """What values are shown in: `value / size` of `name`."""

    name: str | None
    size: float = 1.0

    def of(self, value: float | None) -> float | None:
        """A value in this unit."""
        return None if value is None else value / self.size

    def title(self, what: str) -> str:
        """An axis title: `latency [ms]`."""
        return f"{what} [{self.name}]" if self.name else what


def suiting(values: Iterable[float | None], unit: str | None) -> Unit:
    """The largest unit in which the largest value is 1 or more."""
    most = max((abs(value) for value in values if value is not None), default=0)
    scales = _UNITS.get(unit or "", ((unit, 1.0),))
    return Unit(*next((scale for scale in reversed(scales) if most >= scale[1]), scales[0]))


def ratio_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis around 1, the 1 among them; at most nine where the axis spans less than nine decades."""
    if high / low <= 1.6:
        step = next(step for step in (0.01, 0.02, 0.05, 0.1) if (high - low) / step <= _MOST - 1)
        return [round(step * i, 2) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for ladder in _LADDERS:
        ticks = [float(f"{m}e{decade}") for decade in decades for m in ladder]
        ticks = [tick for tick in ticks if low * 0.9999 <= tick <= high * 1.0001]
        if len(ticks) <= _MOST:
            return ticks
    return ticks[:: -(-len(ticks) // _MOST)]


def short(value: float) -> str:
    """A number in few characters: 2,048 or 0.25."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        return f"{value:.3g}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
