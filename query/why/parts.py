"""A difference and its parts: what they are, and that they add up."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

MOST_ROWS = 50  # of parts without an interval
LONGEST_NAME = 90  # that a table shows
_NAMESPACES = re.compile(r"^void |\bat::native::|\(anonymous namespace\)::")
_ARGUMENTS = re.compile(r"(?<=>)\(.*")  # of a template
NOTHING_DIFFERS = "nothing differs beyond noise"  # a note
_NORMAL = NormalDist()
ROUNDING = 1e-12  # of floats that are added up, relative to these
# Chance that a part of equal sides differs; the whole does in about 4 %: nothing differs in 19 of 20 (study `same_sides`).
PARTS_CHANCE = 0.01
OTHER = "other"  # how a row of folded parts begins
LEAST_LINE_SHARE = 0.001  # of the time of a call: a profile takes lines that are shorter in every process together,
OTHER_LINES = "other lines"  # under this name


@dataclass(frozen=True, slots=True)
class DifferencePart:
    """One part of a difference, all in the unit of the case; `base` and `candidate` are None where the part has no such value.

    `low` and `high` are the ends of the 95 % interval of `difference`; None where it is not known. `changed` is whether its line
    differs between the commits of both sides; None where that is not known. `also` are further lines, of a kernel that computes
    several. A case that only one side has is `one_sided`: it adds nothing to a mean, and is a row of its own.
    """

    name: str
    base: float | None
    candidate: float | None
    difference: float
    low: float | None
    high: float | None
    file: str = ""
    line: int = 0
    changed: bool | None = None
    one_sided: bool = False
    also: tuple[str, ...] = ()

    @property
    def is_beyond_noise(self) -> bool:
        """True if its interval lies on one side of 0, which may be its end."""
        return (
            self.low is not None
            and self.high is not None
            and self.difference != 0
            and (self.low >= 0 or self.high <= 0)
        )


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The difference of a case between two sides, and its parts, the largest first.

    The parts and `unattributed` add up to `whole.difference`. `notes` are sentences on how the parts were taken.
    """

    unit: str
    whole: DifferencePart
    parts: Sequence[DifferencePart]
    unattributed: DifferencePart
    notes: Sequence[str] = field(default_factory=tuple)

    def document(self) -> dict[str, Any]:
        """The decomposition as plain values, for programs."""
        return {
            "case": self.whole.name, "unit": self.unit, "base": self.whole.base, "candidate": self.whole.candidate,
            "difference": self.whole.difference, "low": self.whole.low, "high": self.whole.high,
            "parts": [
                {"name": part.name, "file": part.file or None, "line": part.line or None, "base": part.base,
                 "candidate": part.candidate, "difference": part.difference, "low": part.low, "high": part.high,
                 "changed": part.changed, "also": [*part.also]}
                for part in self.parts
            ],
            "unattributed": {name: getattr(self.unattributed, name) for name in ("difference", "low", "high")},
            "notes": [*self.notes],
        }  # fmt: skip


def readable(name: str) -> str:
    """A name of code for people: of a C++ kernel without its usual namespaces and arguments, no longer than a table takes."""
    short = _NAMESPACES.sub("", name)
    if name.startswith("void "):
        short = _ARGUMENTS.sub("", short)
    return short if len(short) <= LONGEST_NAME else f"{short[: LONGEST_NAME - 1]}…"


def part_of(
    name: str, base: float, candidate: float, error: float | None, *, file: str = "", line: int = 0
) -> DifferencePart:
    """A part with a value on both sides; `error` is the half-width of the 95 % interval of its difference."""
    difference = candidate - base
    return DifferencePart(name, base, candidate, difference, *ends(difference, error), file, line)


def ends(value: float, error: float | None) -> tuple[float | None, float | None]:
    """The ends of an interval; None where the error is not known."""
    return (None, None) if error is None or math.isnan(error) else (value - error, value + error)


def decomposed(
    unit: str,
    whole: DifferencePart,
    parts: Iterable[DifferencePart],
    *,
    error: float | None,
    notes: Sequence[str] = (),
    new_first: bool = False,
) -> Decomposition:
    """A difference with its parts in order, and what they leave; `error` is the half-width of the interval of what is left.

    With `new_first` the parts that the base lacks come before all others.
    """
    ordered = sorted(parts, key=lambda part: (new_first and part.base != 0, -abs(part.difference), part.name))
    left = whole.difference - math.fsum(part.difference for part in ordered)
    if abs(left) <= ROUNDING * math.fsum(abs(part.difference) for part in ordered):
        left = 0.0
    unattributed = DifferencePart("unattributed", None, None, left, *ends(left, error))
    said = [] if _differs(whole, [*ordered, unattributed]) else [NOTHING_DIFFERS]
    return Decomposition(unit, whole, ordered, unattributed, [*said, *notes])


def _differs(whole: DifferencePart, parts: Sequence[DifferencePart]) -> bool:
    """True if the whole is beyond noise, or a part is beyond what the largest of so many parts shows by chance (Bonferroni)."""
    if all(part.low is None for part in (whole, *parts[:-1])):
        return any(part.difference for part in (whole, *parts))
    chance = _NORMAL.inv_cdf(1 - PARTS_CHANCE / 2 / len(parts)) / _NORMAL.inv_cdf(0.975)
    return whole.is_beyond_noise or any(part.is_beyond_noise and _is_far(part, chance) for part in parts)


def _is_far(part: DifferencePart, factor: float) -> bool:
    """True if it is beyond its interval made so much wider; what only one side runs is, however little it takes."""
    if part.low is None or part.high is None or 0 in (part.low, part.high):
        return True
    towards_0 = part.difference - part.low if part.difference > 0 else part.high - part.difference
    return abs(part.difference) > factor * towards_0


def folded(parts: Sequence[DifferencePart], *, nothing: bool = False) -> list[DifferencePart]:
    """The parts beyond noise, and one row for all others; where no interval is known, the largest instead.

    With `nothing`, where nothing differs, all are one row. What only one side has is a row of its own.
    """
    if nothing:
        shown, others = [], [*parts]
    elif all(part.low is None for part in parts):
        shown = [part for part in parts[:MOST_ROWS] if part.difference]
        others = [*parts[len(shown) :]]
    else:
        shown = [part for part in parts if part.is_beyond_noise]
        others = [part for part in parts if not part.is_beyond_noise]
    alone = [part for part in others if part.one_sided]
    others = [part for part in others if not part.one_sided]
    return [*shown, *([together(others)] if len(others) > 1 else others), *alone]


def together(others: Sequence[DifferencePart]) -> DifferencePart:
    """The sum of parts, as one."""
    widths = [part.high - part.difference for part in others if part.high is not None]
    total = math.fsum(part.difference for part in others)
    error = math.sqrt(math.fsum(width * width for width in widths)) if len(widths) == len(others) else None
    return DifferencePart(f"{len(others)} {OTHER} parts", None, None, total, *ends(total, error))
