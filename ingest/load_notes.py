"""What is told after a load: files that name the same case, and numbers that nobody can judge."""

from collections.abc import Iterable, Iterator, Mapping

from ..warehouse.console.numbers import counted
from .format import Tally, formats
from .plan import NewPart

ALIKE = 0.05  # set-ups whose facts differ by no larger share are the same
SHOWN_NAMES = 5  # metrics that a note names


def notes_on_setups(parts: Iterable[NewPart], tallies: Mapping[tuple[str, int], Tally]) -> Iterator[str]:
    """Notes about files that name the same case of a run, but were measured with another set-up: the first pair of each run."""
    first: dict[tuple[str, str], tuple[NewPart, Mapping[str, float]]] = {}
    told: set[str] = set()
    for part in parts:
        for place, facts in tallies[part.key].setups.items():
            other, before = first.setdefault(place, (part, facts))
            for fact in facts.keys() & before.keys() if place[0] not in told else ():
                low, high = sorted((facts[fact], before[fact]))
                if high > low * (1 + ALIKE):
                    told.add(place[0])
                    yield (
                        f"{other.name} and {part.name} name the same case, but differ in {fact.replace('_', ' ')}:"
                        f" {before[fact]:,.1f} and {facts[fact]:,.1f}. Give them configs of their own with NAME:PATH"
                    )


def notes_on_units(parts: Iterable[NewPart], tallies: Mapping[tuple[str, int], Tally]) -> Iterator[str]:
    """One note about all metrics that nobody can judge."""
    known = (part for part in parts if part.format.name in formats())  # a mapping has notes of its own
    names = sorted(set().union(*(tallies[part.key].unitless for part in known)))
    if names:
        shown = ", ".join(names[:SHOWN_NAMES]) + (
            f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else ""
        )
        have = counted(len(names), "metric", "has", "have")
        yield f"{have} no unit and no direction, and {'is' if len(names) == 1 else 'are'} never judged: {shown}"
