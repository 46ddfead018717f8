"""Environments: which machines, software, code and settings differ between two sets of runs, field by field."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

ENVIRONMENT_COLUMNS = ("kind", "field", "base_values", "candidate_values", "same")
FACT_KINDS = ("machine", "software", "flags", "variables", "extra", "code", "call", "tags", "doctor")
NOBODY = "–"  # a run that did not record the field
WIDEST, LINES = 48, 8  # characters of a value in a line, and lines below a table


@dataclass(frozen=True, slots=True)
class EnvironmentField:
    """One field and its values in the runs of each side; None stands for a run that did not record it."""

    kind: str  # one of KINDS
    field: str
    base: tuple[str | None, ...]
    candidate: tuple[str | None, ...]
    same: bool

    def texts(self) -> tuple[str, str]:
        """Both sides' values for a person."""
        return self._text(self.base), self._text(self.candidate)

    def _text(self, values: tuple[str | None, ...]) -> str:
        return "; ".join(NOBODY if value is None else _value(self.field, value) for value in values)

    def __str__(self) -> str:
        base, candidate = self.texts()
        return f"{self.field}: {base} → {candidate}"


def facts(warehouse: "Warehouse", base_runs: Sequence[str], candidate_runs: Sequence[str]) -> list[EnvironmentField]:
    """All recorded facts of the environments of these runs, from `environment_differences`.

    Returns:
        The facts, by kind and name.
    """
    query = f"""
        SELECT {", ".join(ENVIRONMENT_COLUMNS)} FROM environment_differences(?::VARCHAR[], ?::VARCHAR[])
        ORDER BY list_position(?::VARCHAR[], kind), field
    """
    rows = warehouse.rows(query, [list(base_runs), list(candidate_runs), list(FACT_KINDS)])
    return [
        EnvironmentField(kind, field, tuple(base), tuple(candidate), same)
        for kind, field, base, candidate, same in rows
    ]


def differences(
    warehouse: "Warehouse", base_runs: Sequence[str], candidate_runs: Sequence[str]
) -> list[EnvironmentField]:
    """The facts in which two sets of runs differ, by kind and name."""
    return [fact for fact in facts(warehouse, base_runs, candidate_runs) if not fact.same]


def lines(found: Sequence[EnvironmentField], command: str) -> Iterator[str]:
    """A line for each difference of machine, software and settings, shortened; `command` shows all of them whole.

    The commit, and what an import says of it, are no differences of machines; what doctors found stands above a table.
    """
    told = [fact for fact in found if fact.kind not in ("code", "tags", "doctor") and fact.field != "commit_info"]
    for fact in told[:LINES]:
        yield f"{fact.field} differs: {' → '.join(map(_shortened, fact.texts()))}"
    if len(told) > LINES or any(len(text) > WIDEST for fact in told for text in fact.texts()):
        more = f"{len(told) - LINES} more differences" if len(told) > LINES else "whole values"
        yield f"{more}: {command}"


def _shortened(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def render(found: Sequence[EnvironmentField], base: str, candidate: str) -> tuple[list[str], list[list[Any]]]:
    """A table of what differs, under the names of the sides."""
    return ["kind", "field", base, candidate], [
        [fact.kind, fact.field, *fact.texts()] for fact in found if not fact.same
    ]


def sentence(found: Sequence[EnvironmentField]) -> str:
    """Count the fields that differ and that are the same: `2 of 15 fields differ; the same: cpu, os …`."""
    same = [fact.field for fact in found if fact.same]
    differ = len(found) - len(same)
    counted = f"{differ or 'none'} of {len(found)} fields differ{'s' if differ == 1 else ''}"
    return f"{counted}; the same: {', '.join(same) or 'none'}"


def _value(field: str, text: str) -> str:
    return amount(int(text), "bytes") if field == "ram_bytes" else text
