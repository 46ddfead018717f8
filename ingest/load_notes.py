"""Notes after a load: files that name the same case, and numbers that cannot be judged."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..warehouse.console.numbers import counted
from .format import Tally
from .plan import NewPart
from .registry import formats

Fact = bool | float | str
ALIKE = 0.05  # setups whose means differ by no larger share are the same
SHOWN_FACTS = 3  # differences that a note names
_PATH = re.compile(r"\S*[/.]\S*?(?=:? )")  # a note begins with the file that it is about
SHOWN_NAMES = 5  # metrics that a note names


def notes_on_setups(parts: Iterable[NewPart], tallies: Mapping[tuple[str, int], Tally]) -> Iterator[str]:
    """Notes about files that name the same case, but were measured with another setup: the first pair of each config."""
    first: dict[tuple[str, str], tuple[NewPart, Mapping[str, Fact]]] = {}
    told: set[str] = set()
    for part in parts:
        for (_, case_id), facts in tallies[part.key].setups.items() if part.config not in told else ():
            other, before = first.setdefault((part.config, case_id), (part, facts))
            differing = [fact for fact in before if fact in facts and _differ(before[fact], facts[fact])]
            if differing:
                told.add(part.config)
                said = "; ".join(
                    f"{fact}: {_shown(before[fact])} and {_shown(facts[fact])}" for fact in differing[:SHOWN_FACTS]
                )
                yield (
                    f"{other.name} and {part.name} name the same case, but differ in {said}. Give them configs of their own with"
                    " NAME:PATH"
                )
                break


def _differ(one: Fact, other: Fact) -> bool:
    """Return whether two facts are of two setups; means that differ a little are not."""
    if isinstance(one, float) and isinstance(other, float):
        low, high = sorted((abs(one), abs(other)))
        return high > low * (1 + ALIKE) or one * other < 0
    return one != other


def _shown(fact: Fact) -> str:
    return f"{fact:,.1f}" if isinstance(fact, float) and abs(fact) >= 10 else str(fact)


def notes_on_units(parts: Iterable[NewPart], tallies: Mapping[tuple[str, int], Tally]) -> Iterator[str]:
    """One note about all metrics that nobody can judge."""
    said = [(part.format.name, named) for part in parts if (named := tallies[part.key].unitless)]
    # a mapping has notes of its own; to know all formats takes as long as to read a small table
    names = sorted(set().union(*(named for name, named in said if name in formats())))
    if names:
        shown = ", ".join(names[:SHOWN_NAMES]) + (
            f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else ""
        )
        have = counted(len(names), "metric", "has", "have")
        yield f"{have} no unit and no direction, and {'is' if len(names) == 1 else 'are'} never judged: {shown}"


def folded(notes: Iterable[str]) -> list[str]:
    """Notes that say the same of several files, once, of the first, with the number of the others."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        path = _PATH.match(note)
        alike.setdefault(note.replace(path[0], "\0") if path else note, []).append(note)
    return [_with_count(same) for same in alike.values()]


def _with_count(same: Sequence[str]) -> str:
    path = _PATH.match(same[0])
    if path is None or len(same) == 1:
        return same[0]
    return f"{path[0]} (and {len(same) - 1:,} more){same[0][path.end() :]}"
