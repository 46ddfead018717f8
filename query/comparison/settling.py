"""Commands that settle a likely or unsure verdict: further runs of both sides, and the command that judges with them."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted
from ..regression.remeasure import command_for
from ..run_paths import GatheredStore, store_to_ask
from .compare import Comparison

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = Mapping[str, Any]
MOST_CASES = 8  # that a command with options for cases measures again: those that matter most
_SIDE = """
SELECT min(config), CASE WHEN count(DISTINCT git_commit) = 1 AND NOT coalesce(bool_or(git_dirty), true)
    THEN left(min(git_commit), 9) END
FROM runs WHERE list_contains(?::VARCHAR[], run_id)
"""


def is_open(row: Row) -> bool:
    """Return whether more runs could settle the verdict: it is likely or unsure, and has an interval."""
    return row["low"] is not None and (row["verdict"] or "").startswith(("LIKELY", "UNSURE"))


def settled_rows(rows: Iterable[Row], settle: Callable[[Row], str]) -> Iterator[Row]:
    """The rows; the reason of each ends with what `settle` says of it, if anything."""
    for row in rows:
        told = settle(row)
        yield {**row, "reason": "; ".join(filter(None, (row["reason"], told)))} if told else row


def with_settling(warehouse: "Warehouse", found: Comparison, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a comparison, with the command that settles each that is open."""
    sentence, settled = find_settling(warehouse, found)
    chosen = {id(row) for row in settled}
    return settled_rows(rows, lambda row: sentence if id(row) in chosen else "")


def describe_settling(warehouse: "Warehouse", found: Comparison) -> list[str]:
    """A sentence with the command, where an interval leaves a verdict open."""
    return [*filter(None, find_settling(warehouse, found)[:1])]


def find_settling(warehouse: "Warehouse", found: Comparison) -> tuple[str, Sequence[Row]]:
    """A sentence with the command, and the rows that it settles; empty where no interval leaves a verdict open."""
    doubtful = list(filter(is_open, found.rows))
    if not doubtful:
        return "", []
    if found.machines and not found.across:
        return "to settle it, measure both sides on one machine", doubtful
    sides = found.base, found.candidate
    others = sum(side.others for side in sides)
    runs = counted(sum(len(side.runs) for side in sides) + others, "run")
    if isinstance(warehouse.store, GatheredStore):
        if others:
            judged = shlex.join(["bench", "compare", *(side.word for side in sides), "--all-runs"])
            return f"to settle it, judge all {runs} of both sides: {judged}", doubtful
        told = "to settle it, put more results of each side into a folder: bench compare BASE/ CANDIDATE/"
        return told, doubtful
    (base, base_commit), (candidate, commit) = (warehouse.rows(_SIDE, [[*side.runs]])[0] for side in sides)
    if base == candidate:
        base, candidate = base_commit, commit
    if base is None or candidate is None or base == candidate:
        told = "to settle it, record more runs of each side and join their ids: bench compare BASE+ID CANDIDATE+ID"
        return told, doubtful
    judged = f"bench compare {shlex.quote(base)} {shlex.quote(candidate)} --all-runs{store_to_ask(warehouse)}"
    if others:
        return f"to settle it, judge all {runs} of both sides: {judged}", doubtful
    commands: list[list[str]] = []
    for side in sides:
        words = command_for(warehouse, side.runs[0], [row["case_id"] for row in doubtful[:MOST_CASES]])
        if isinstance(words, str):
            return f"to settle it, load another result of each side, then: {judged}", doubtful
        commands.append(words)
    where = ", each side at its commit" if base_commit != commit else ""
    alike = len({tuple(word for word in words if word not in (base, candidate)) for words in commands}) == 1
    if alike and None in (
        base_commit,
        commit,
    ):  # nothing but the code tells the sides apart, and it may have changed since
        where = ", each side with the code that it had"
    lines = [*dict.fromkeys(map(shlex.join, commands)), judged]
    chosen = doubtful[:MOST_CASES] if commands[0][:3] == ["bench", "measure", "models"] else doubtful
    return f"to settle it, measure again{where}: {' && '.join(lines)}", chosen
