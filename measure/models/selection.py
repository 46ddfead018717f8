"""Selection: which workloads of a plan are measured, by their models' names and by parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from ..engine.workload import Workload


@dataclass(frozen=True, slots=True)
class Partition:
    """One of `count` parts of a plan, from 1.

    Workloads are dealt out in turn: neighbours are sizes and modes of one model, so parts take about the same time, and
    as each workload has processes of its own, parting them costs nothing. Of the same plan, each is in one part.
    """

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, plan: Sequence[Workload]) -> list[Workload]:
        """Its workloads."""
        return list(plan[self.number - 1 :: self.count])


def part_of(text: str) -> Partition:
    """Read `i/n`.

    Raises:
        BenchError: It is not of this form, or i is not from 1 to n.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise BenchError(f"{text!r} is not a part of a plan. Write it as 1/4 … 4/4.")
    return Partition(int(found[1]), int(found[2]))


def fleet_name(text: str) -> str:
    """A name that is part of a path.

    Raises:
        BenchError: It is not fit for one.
    """
    if not re.fullmatch(r"[0-9A-Za-z][\w.-]{0,99}", text, re.ASCII):
        raise BenchError(f"{text!r} cannot name a fleet. Use letters, digits, dots, dashes: nightly-2026-11-22.")
    return text


def pattern(text: str) -> "re.Pattern[str]":
    """Read a regular expression, to be found anywhere in a name, in either case.

    Raises:
        BenchError: It is none.
    """
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise BenchError(f"{text!r} is not a valid regular expression: {error}.") from None


def select(
    plan: Sequence[Workload],
    *,
    only: Sequence[str] = (),
    keep: Sequence["re.Pattern[str]"] = (),
    leave: Sequence["re.Pattern[str]"] = (),
    leave_exactly: Sequence[str] = (),
) -> list[Workload]:
    """The workloads whose models are chosen.

    Args:
        plan: All of them.
        only: Names; all if empty.
        keep: Patterns of which one must be found in the name, if there are any.
        leave: Patterns of which none may be.
        leave_exactly: Names left out.

    Raises:
        UnknownName: `only` or `leave_exactly` has a name that is not in the plan.
        NothingToShow: Nothing is left.
    """
    names = list(dict.fromkeys(workload.name for workload in plan))
    for name in (*only, *leave_exactly):
        if name not in names:
            raise UnknownName("model", name, names, where="the plan", cure="See it with: --print")
    chosen = {
        name
        for name in names
        if (not only or name in only)
        and (not keep or any(found.search(name) for found in keep))
        and not any(found.search(name) for found in leave)
        and name not in leave_exactly
    }
    if not chosen:
        raise NothingToShow(f"of the plan's {counted(len(names), 'model')} none is left. They are: {', '.join(names)}.")
    return [workload for workload in plan if workload.name in chosen]
