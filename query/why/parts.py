"""A difference and its parts: what they are, and that they add up."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..students_t import t_quantile

MOST_ROWS = 50  # of parts without an interval
LONGEST_NAME = 90  # that a table shows
_NAMESPACES = re.compile(r"^void |\bat::native::|\(anonymous namespace\)::")
_ARGUMENTS = re.compile(r"(?<=>)\(.*")  # of a template
NOTHING_DIFFERS = "nothing differs beyond noise"  # a note
ROUNDING = 1e-12  # of floats that are added up, relative to these
CHANCE = 0.01  # that the whole of equal sides differs, and that any of their parts does
OTHER = "other"  # how a row of folded parts begins
LEAST_LINE_SHARE = 0.001  # of the time of a call: a profile takes lines that are shorter in every process together,
OTHER_LINES = "other lines"  # under this name


@dataclass(frozen=True, slots=True)
class DifferencePart:
    """One part of a difference, all in the unit of the case; `base` and `candidate` are None where the part has no such value.

    `low` and `high` are the ends of the 95 % interval of `difference`; None where it is not known. `degrees` are those of freedom
    of the Student's t that it is of. Of an `exclusive` part one side is known to have nothing: its difference has that sign.
    `changed` is whether its line differs between both sides; None where that is not known. `also` are further
    lines, of a kernel that computes several. A case that only one side has is `one_sided`: it adds nothing to a mean, and is a
    row of its own. Of a `decided` whole `bench compare` says that it changed. Parts that are `off_alike` may all have the same
    error, as where a whole run was disturbed.
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
    degrees: float = math.inf
    exclusive: bool = False
    decided: bool = False
    off_alike: bool = False

    @property
    def is_beyond_noise(self) -> bool:
        """True if its interval lies on one side of 0, which may be its end."""
        return (
            self.low is not None
            and self.high is not None
            and self.difference != 0
            and (self.low >= 0 or self.high <= 0)
        )

    @property
    def is_certain(self) -> bool:
        """True if it is exact, or known to be of one side alone."""
        return self.exclusive or self.low == self.high is not None

    def excludes_0(self, chance: float) -> bool:
        """True if an interval that misses the truth with that chance, not with 5 %, lies on one side of 0."""
        if self.low is None or self.high is None or self.is_certain:
            return self.is_beyond_noise
        wider = t_quantile(chance / 2, self.degrees) / t_quantile(0.025, self.degrees)
        towards_0 = self.difference - self.low if self.difference > 0 else self.high - self.difference
        return abs(self.difference) > wider * towards_0


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
    name: str,
    base: float,
    candidate: float,
    error: float | None,
    *,
    file: str = "",
    line: int = 0,
    degrees: float = math.inf,
) -> DifferencePart:
    """A part with a value on both sides; `error` is the half-width of the 95 % interval of its difference."""
    difference = candidate - base
    return DifferencePart(name, base, candidate, difference, *ends(difference, error), file, line, degrees=degrees)


def ends(value: float, error: float | None) -> tuple[float | None, float | None]:
    """The ends of an interval; None where the error is not known."""
    return (None, None) if error is None or math.isnan(error) else (value - error, value + error)


def decomposed(
    unit: str,
    whole: DifferencePart,
    parts: Iterable[DifferencePart],
    *,
    error: float | None,
    degrees: float = math.inf,
    notes: Sequence[str] = (),
    new_first: bool = False,
    of_profile: bool = False,
) -> Decomposition:
    """A difference with its parts in order, and what they leave.

    `error` is the half-width of the 95 % interval of what is left, `degrees` its degrees of freedom. With `new_first` the parts
    that the base lacks come before all others. `of_profile` are parts that processes sampled, not parts of recorded times.
    """
    parts = [*parts]
    left = whole.difference - math.fsum(part.difference for part in parts)
    if abs(left) <= ROUNDING * math.fsum(abs(part.difference) for part in parts):
        left = 0.0
    unattributed = DifferencePart("unattributed", None, None, left, *ends(left, error), degrees=degrees)
    ordered = sorted(parts, key=lambda part: (new_first and part.base != 0, -abs(part.difference), part.name))
    said = [] if _differs(whole, [*ordered, unattributed], of_profile=of_profile) else [NOTHING_DIFFERS]
    return Decomposition(unit, whole, ordered, unattributed, [*said, *notes])


def _differs(whole: DifferencePart, parts: Sequence[DifferencePart], *, of_profile: bool) -> bool:
    """True if the whole or a part differs beyond noise; where no interval is known if anything does.

    The whole does where `bench compare` says that it changed, or where only 1 of 100 pairs of equal sides is as far from 0.
    What neighbours on the machine, or another session, slow is mostly a few parts, and all processes of a side alike: the
    scatter of a profile does not show it. So a part of a profile differs only by more than the whole may be off by. Once
    anything differs each part is judged by its own 95 % interval (Fisher's protected test).
    """
    if all(part.low is None for part in (whole, *parts[:-1])):
        return any(part.difference for part in (whole, *parts))
    if whole.decided or whole.excludes_0(CHANCE):
        return True
    noise = (whole.high - whole.low) / 2 if of_profile and whole.low is not None and whole.high is not None else 0.0
    return any(part.is_certain or abs(part.difference) > noise for part in beyond_chance(parts))


def beyond_chance(parts: Sequence[DifferencePart]) -> Iterator[DifferencePart]:
    """The parts further from 0 than any of so many of equal sides is in 1 of 100 pairs (Bonferroni, by Student's t)."""
    known = [part for part in parts if part.low is not None]
    return (part for part in known if part.excludes_0(CHANCE / len(known)))


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
    alike = all(part.off_alike for part in others)
    reach = math.fsum(widths) if alike else math.sqrt(math.fsum(width * width for width in widths))
    error = reach if len(widths) == len(others) else None
    return DifferencePart(f"{len(others)} {OTHER} parts", None, None, total, *ends(total, error))
