"""Gungraun, before iai-callgrind: summary.json of one benchmark, or one a line; of callgrind's events, heap and errors."""

from collections.abc import Iterable, Iterator
from typing import Any

from ..readers.document import BadRecord, Object
from ..readers.json_format import JsonFormat, records_of
from ..readers.results import Results

NAMES = {"Ir": "instructions", "EstimatedCycles": "estimated_cycles", "TotalRW": "total_read_write"}
UNITS = {
    "TotalBytes": "bytes",
    "AtTGmaxBytes": "bytes",
    "AtTEndBytes": "bytes",
    "ReadsBytes": "bytes",
    "WritesBytes": "bytes",
}
NO_BETTER = {"L1hits", "L1HitRate", "LLHitRate", "RamHitRate"}


class Gungraun(JsonFormat):
    """Summaries of Gungraun."""

    name = "gungraun"
    doc = "Gungraun (iai-callgrind) summary.json, versions 2 to 6"
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
        for event, value in found:
            better = None if event in NO_BETTER else "lower"
            case.metric(NAMES.get(event, event), value, UNITS.get(event, "count"), better=better)
        case.text("details", record.take("details"))


def _totals(value: Any, tool: str = "") -> Iterator[tuple[str, Any]]:
    """Events and their new values, wherever a total stands."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key == "total" and isinstance(inner, dict) and isinstance(inner.get("summary"), dict):
            yield from _events(inner["summary"])
        elif key in ("callgrind_summary", "callgrind_run", "profiles", "summaries"):
            for one in inner if isinstance(inner, list) else [inner]:
                yield from _totals(one, key)


def _events(summary: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for event, found in summary.items():
        metrics = found.get("metrics") if isinstance(found, dict) else None
        if isinstance(metrics, dict):
            new = metrics.get("Left", metrics.get("Both"))
            new = new[0] if isinstance(new, list) and new else new
            new = next(iter(new.values()), None) if isinstance(new, dict) else new  # {"Int": 5}
            if new is not None:
                yield event, new
        elif isinstance(found, dict):  # events of a tool, under its name
            yield from _events(found)
