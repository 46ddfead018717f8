"""Numbers as a person reads them: three digits, a unit."""

import math
from collections.abc import Sequence


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
