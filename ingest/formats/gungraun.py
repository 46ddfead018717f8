"""Gungraun, before iai-callgrind: summary.json of one benchmark, or one a line; of callgrind's events, heap and errors."""

from collections.abc import Iterable, Iterator
from typing import Any

from ..readers.document import BadRecord, Object
from ..readers.json_format import JsonFormat, records_of
from ..readers.results import Results

NAMES = {"Ir": "instructions", "EstimatedCycles": "estimated_cycles", "TotalRW": "total_read_write"}
UNITS = {"Bytes": "bytes", "Rate": "%"}  # of events that end so; others are counts
NO_BETTER = {"L1hits", "L1HitRate", "LLHitRate", "RamHitRate"}


class Gungraun(JsonFormat):
    """Summaries of Gungraun."""

    name = "gungraun"
    doc = "Gungraun (iai-callgrind) summary.json, versions 2 to 7"
    becomes = (
        "module, function and id → case; Ir → instructions, other events by their names; the run before is not loaded"
    )
    lost = "the run before, parts and threads"
    holds = (Object, list)
    places = ("**/summary.json",)
    shapes = (
        frozenset({"module_path", "function_name", "callgrind_summary"}), frozenset({"module_path", "function_name", "profiles"}),
    )  # fmt: skip

    def parse(self, text: str) -> Any:
        """One summary, or one a line."""
        return records_of(text)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """A record a benchmark."""
        return document if isinstance(document, list) else [document]

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        module, function, case_id = record.name("module_path"), record.text("function_name"), record.text("id")
        name = module if not function or module.endswith(f"::{function}") else f"{module}::{function}"
        found = list(_totals(record))
        if not found:
            raise BadRecord("no totals of events")
        case = results.case(f"{name} {case_id}" if case_id else name, suite=record.text("kind"))
        for event, value, unit in found:
            better = None if event in NO_BETTER else "lower"
            case.metric(NAMES.get(event, event), value, unit or _unit(event), better=better)
        case.text("details", record.take("details") or record.take("description"))


def _unit(event: str) -> str:
    return next((unit for end, unit in UNITS.items() if event.endswith(end)), "count")


def _totals(value: Any) -> Iterator[tuple[str, Any, str | None]]:
    """Events, new values and the unit that the file gives, wherever a total stands; of perf, which has none, its only part."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key == "total" and isinstance(inner, dict):
            yield from _events(inner.get("summary") or inner.get("metrics") or _only(value.get("parts")).get("metrics"))
        elif key in ("callgrind_summary", "callgrind_run", "profiles", "summaries", "data"):
            for one in inner if isinstance(inner, list) else [inner]:
                yield from _totals(one)


def _only(parts: Any) -> dict[str, Any]:
    return parts[0] if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict) else {}


def _events(events: Any) -> Iterator[tuple[str, Any, str | None]]:
    for event, found in events.items() if isinstance(events, dict) else ():
        sides = found.get("metrics", found.get("values")) if isinstance(found, dict) else None
        if isinstance(sides, dict):
            new = sides.get("Left", sides.get("Both", sides.get("new")))
            new = new[0] if isinstance(new, list) and new else new
            unit = new.get("unit") if isinstance(new, dict) else None  # {"value": 5, "unit": "ms"}
            new = next(iter(new.values()), None) if isinstance(new, dict) and "value" not in new else new  # {"Int": 5}
            new = new.get("value", new) if isinstance(new, dict) else new
            if new is not None:
                yield event, new, unit if isinstance(unit, str) else None
        elif isinstance(found, dict):  # events of a tool, under its name
            yield from _events(found)
