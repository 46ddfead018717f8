"""Structured logs of torch.compile, which `TORCH_TRACE=FOLDER` writes and tlparse reads: the time of compiling, in phases.

An entry is a line with a JSON object; what belongs to it follows in lines that begin with a tab.
"""

import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...query.why.compiling import COMPILE_LATENCY, COUNTED
from ...query.why.guards import failed_guard
from ...query.why.traces import TRACES
from ...warehouse.console.numbers import counted
from ...warehouse.events import Environment, Metric
from ..format import FILE, Head
from ..readers.bulk import LONGEST_NAME
from ..readers.document import BadRecord, lines_of
from ..readers.results import Results
from ..readers.text_format import TextFormat
from ._kernel_sources import LOWERED, WRITTEN, KernelSources

ENTRY = re.compile(r"[VIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\] (\{.*\})")
EVENT, COMPILATION, ARTIFACT, PAYLOAD = "chromium_event", "compilation_metrics", "artifact", "has_payload"
KEYS = (
    EVENT,
    COMPILATION,
    ARTIFACT,
    WRITTEN,
    LOWERED,
    "dynamo_start",
    "str",
    "describe_tensor",
    "inductor_output_code",
)
WHOLE = "entire_frame_compile"
# Phases by the names that torch's own counters have for them.
SAME = {WHOLE: "_compile.compile_inner", "backend_compile": "OutputGraph.call_user_compiler"}
VERSION, BREAK = "torch_version", "dynamo_graph_break_reason"
CACHE = re.compile(r"(fx_graph|aotautograd)_cache_(hit|miss|bypass)")
BROKEN = re.compile(r"Graph break in user code at (.+:\d+)\nGraph Break Reason: (.+)")
EXPLAINED = re.compile(r"^(\S.*)\n\s+Explanation: (.*)", re.MULTILINE)
CALLED = re.compile(r'^ *File ".*", line \d+, in (\S+)', re.MULTILINE)
CASE = "torch.compile"


@dataclass(slots=True)
class _LogSums:
    """The sums of a log."""

    torch: str | None = None  # its version
    compilations: int = 0
    times: Counter[str] = field(default_factory=Counter)  # ns by phase
    reasons: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # kind, reason and place
    caches: Counter[str] = field(default_factory=Counter)
    kernels: KernelSources = field(default_factory=KernelSources)
    begun: dict[Any, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))  # phases by thread


class TorchLogs(TextFormat):
    """A structured log."""

    name = "torch-logs"
    doc = "structured log of torch.compile (TORCH_TRACE, as tlparse reads it)"
    becomes = (
        "one case: compile_latency with its phases, graph_breaks and recompiles with reason and line, hits and misses of caches, "
        "lines of kernels; for [why](why.md)"
    )
    lost = "graphs, guards, generated code, settings"
    runs = FILE
    places = ("*/dedicated_log_torch_trace_*.log",)
    beside = TRACES

    def recognise(self, head: Head) -> bool:
        """Return whether its first line is such an entry."""
        match = next((ENTRY.match(line) for line in lines_of(head.text)[:1]), None)
        return match is not None and any(match[1].startswith(f'{{"{key}"') for key in KEYS)

    def load(self, lines: list[str], results: Results) -> int:
        """One record for all of them, and one for each entry that cannot be read."""
        found, first = _LogSums(), 0
        for number, header, payload in _entries(lines):
            try:
                _take(found, json.loads(header), payload)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                results.reject(BadRecord(f"no entry that can be read: {error}"), header, number)
            else:
                first = first or number
        if left := sum(map(len, found.begun.values())):
            results.note(f"{counted(left, 'phase')} did not end: a log that is cut off, or of a process that was")
        results.run(environment=Environment(environment_id="", torch=found.torch))
        if first:
            results.record(functools.partial(_add, found, results), lines[first - 1], first)
        return 0


def _entries(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """The number, the object and the further lines of each entry."""
    number, header, payload = 0, None, list[str]()
    for at, line in enumerate(lines, 1):
        if line.startswith("\t"):
            payload.append(line[1:])
        elif match := ENTRY.match(line):
            if header is not None:
                yield number, header, "\n".join(payload)
            number, header, payload = at, match[1], []
    if header is not None:
        yield number, header, "\n".join(payload)


def _take(found: _LogSums, header: Any, payload: str) -> None:
    if EVENT in header:
        _time(found, json.loads(payload))
    elif COMPILATION in header:
        found.compilations += 1
        metrics = header[COMPILATION]
        if reason := metrics.get("recompile_reason"):
            function = metrics["co_filename"], metrics["co_firstlineno"], metrics["co_name"]
            found.reasons["recompile", *failed_guard(str(reason), *function)] += 1
    elif ARTIFACT in header:
        name = header[ARTIFACT]["name"]
        if cache := CACHE.fullmatch(name):
            found.caches[f"{cache[1].replace('_', '')}_cache_{cache[2]}"] += 1
        elif name == VERSION:
            found.torch = str(json.loads(payload)["pytorch_version"])
        elif name == BREAK and (broken := BROKEN.match(payload)):
            explained = EXPLAINED.search(payload)
            reason = ": ".join(explained.groups()) if explained else broken[2]
            functions = CALLED.findall(payload) or ["?"]
            found.reasons["graph_break", reason, f"{broken[1]} in {functions[-1]}"] += 1
        else:
            found.kernels.take(name, payload)
    for graph in (WRITTEN, LOWERED):
        if graph in header:
            found.kernels.take(graph, payload)


def _time(found: _LogSums, event: Any) -> None:
    """Add the time of a phase that ends; one that ends without its beginning tells none."""
    name, begun = event["name"], found.begun[event.get("pid"), event.get("tid")]
    if event["ph"] == "B":
        begun.append((name, float(event["ts"])))
    elif event["ph"] == "E" and any(name == each for each, _ in begun):
        while (last := begun.pop())[0] != name:
            pass
        spent_us = max(float(event["ts"]) - last[1], 0.0)
        found.times[SAME.get(str(name), str(name))] += round(spent_us * 1000)


def _add(found: _LogSums, results: Results) -> None:
    subject = results.case(CASE)
    subject.metric("compilations", found.compilations, "count")
    if found.times:
        subject.metric(COMPILE_LATENCY, found.times[SAME[WHOLE]], "ns")
    for name, ns in found.times.items():
        subject.metric(f"compile_phase:{name}", ns, "ns", better=None)  # they lie within each other
    for name, count in found.caches.items():
        subject.metric(f"{name}{'s' if name.endswith('hit') else 'es'}", count, "count")
    for row in found.kernels.rows():
        subject.text("kernel_source", row)
    place = {**subject.place(), "unit": "count", "better": "lower"}
    for metric, kind in COUNTED.items():
        counts = {key[1:]: count for key, count in found.reasons.items() if key[0] == kind}
        results.add([
            Metric(metric=metric, value=float(sum(counts.values())), **place),
            *(
                Metric(metric=f"{kind}:{reason}"[:LONGEST_NAME], value=float(count), original_value=where, **place)
                for (reason, where), count in counts.items()
            ),
        ])  # fmt: skip
