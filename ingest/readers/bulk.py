"""Many samples at once: the rows that they would become one by one, made of arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.events import Event, Metric, Timing
from .units import Unit

LONGEST_NAME = 200  # characters of a metric or unit, which stands in many rows
MANY = 256  # fewer samples are made one by one as fast
LONGEST_NS = float(2**63)
ROUNDING = 1e-3  # a timing is whole ns: samples that would lose more than this share of themselves stay as they are


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one table: each column an array or list, or one value for all of them."""

    event: type[Event]
    columns: dict[str, Any]
    count: int


def is_whole(total: float) -> bool:
    """Return whether whole ns say a duration well enough."""
    return 0 <= total < LONGEST_NS and abs(round(total) - total) <= ROUNDING * total


def rows_of(values: Sequence[Any], unit: str | None, kind: Unit, better: str | None, *, calls: int, together: bool,
            first: int, place: dict[str, Any], columns: dict[str, Any], apart: bool) -> Rows | None:  # fmt: skip
    """Rows of samples, by the rules of `Subject.samples`; None if they are few, or not all of them plain numbers."""
    if len(values) < MANY or not set(map(type, values)) <= {int, float}:
        return None
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            read = np.array(values, dtype=np.float64) * kind.factor
    except OverflowError:
        return None
    if not np.isfinite(read).all():
        return None
    numbers = np.arange(first, first + len(values))
    if apart:
        place = place | {"block": numbers}
    totals = read * (1 if together else calls)
    rounded = np.rint(totals)
    if (
        kind.name == "ns"
        and calls > 0
        and ((totals >= 0) & (totals < LONGEST_NS) & (abs(rounded - totals) <= ROUNDING * totals)).all()
    ):
        durations = {"duration_ns": rounded.astype(np.int64), "sample": numbers}
        return Rows(Timing, {**durations, "loops": calls, **columns, **place}, len(values))
    in_rows: dict[str, Any] = {
        "value": read / calls if together and calls else read,
        "unit": kind.name,
        "better": better,
        "sample": numbers,
    }
    if kind.factor != 1 or kind.name != unit:
        in_rows |= {"original_value": list(map(repr, values)), "original_unit": unit and unit[:LONGEST_NAME]}
    return Rows(Metric, {**in_rows, **place}, len(values))
