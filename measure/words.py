"""Numbers as a person reads them: three digits, a unit, and how sure they are."""

import math
from collections.abc import Sequence

UNTELLING = 100  # an interval that spans more than this factor is not written out
SMALLEST_P = 0.001  # a smaller one is not written out


def speedup(value: float | None, low: float | None, high: float | None, n: int | None, p: float | None = None) -> str:
    """`1.18x (95 % 1.12–1.24, n=30, p<0.001)`, with as many decimals as the interval deserves; p where it is known."""
    if value is None:
        return "–"
    if low is None or high is None or not math.isfinite(high):
        return f"{value:.2f}x (no interval, n={n or 0})"
    if low * UNTELLING < high:
        return f"{value:.2f}x (95 % interval wider than {UNTELLING}x, n={n})"
    places = 3 if high - low < 0.02 else 2
    said = "" if p is None else ", p<0.001" if p < SMALLEST_P else f", p={p:.3f}"
    return f"{value:.{places}f}x (95 % {low:.{places}f}–{high:.{places}f}, n={n}{said})"


def duration(nanoseconds: float | None) -> str:
    """Three digits and a unit."""
    return _scaled(nanoseconds, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")))


def size(bytes_: float | None) -> str:
    """Three digits and a binary unit."""
    return _scaled(bytes_, ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")))


def _scaled(value: float | None, units: Sequence[tuple[float, str]]) -> str:
    if value is None:
        return "–"
    for scale, unit in units:
        if abs(value) >= scale:
            scaled = value / scale
            return f"{scaled:.{max(0, 2 - math.floor(math.log10(abs(scaled))))}f} {unit}"
    return f"{value:g} {units[-1][1]}"
