"""Traces: spans are samples, everything else an event says stands beside them; blocks cut anywhere lose nothing."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.format import Part
from bench.ingest.formats import torch_trace
from bench.ingest.readers import json_stream, text_pieces
from bench.ingest.registry import formats
from bench.ingest.run import ingest
from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, MemorySample, Metric, Timing
from bench.warehouse.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...exhaustive import at_most, exhaustive, first_of
from .reading import Read, lay, read, read_file

KIND = "torch-trace"
BASE = 1727743122000000000


def span(name: str = "k", dur: Any = 1.5, **fields: Any) -> dict[str, Any]:
    """A span; `fields` replace or add some."""
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000.25, "dur": dur} | fields


def trace(*events: Any, **document: Any) -> dict[str, Any]:
    """A document that holds events."""
    return {"schemaVersion": 1, "deviceProperties": [], "traceEvents": list(events)} | document


def fields(found: Read) -> list[dict[str, Any]]:
    """What is kept of each event beside its columns, in order."""
    texts = [(m.line or 0, m.original_value or "") for m in found.of(Metric) if m.metric == "fields"]
    return [json.loads(text) for _, text in sorted(texts)]


def test_a_span_is_a_timing() -> None:
    """Microseconds become whole nanoseconds; what the span ran on and with are axes, ids and threads are not."""
    args = {"External id": 5, "stream": 7, "grid": [2, 1, 1], "block": [128, 1, 1], "registers per thread": 16}
    found = read(
        KIND, trace(span("k", 1.76, args=args), span("k", 2, args=args | {"External id": 6}), baseTimeNanoseconds=BASE)
    )

    assert found.samples() == [(1760, 1), (2000, 1)]
    (case,) = found.of(CaseRecord)
    assert (case.name, case.suite, case.device) == ("k", "kernel", "cuda")
    assert case.parameters == '{"block": [128, 1, 1], "grid": [2, 1, 1]}'
    assert fields(found)[1] == {"ts": 1000.25, "pid": 0, "tid": 7, "args": args | {"External id": 6}}
    assert found.of(Timing)[0].recorded_at == BASE // 1000 + 1000
    assert found.runs[0].started_at == BASE // 1000 + 1000
    assert found.outcomes() == [("ok", None)]


@pytest.mark.parametrize("block_bytes", [1 << 20, 90])
def test_a_span_in_halves_is_a_timing_at_its_end(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each thread the last that began ends first, also in another block; a half without the other has no time."""
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", block_bytes)
    halves = [
        ("E", "stray", 1, 5, {}), ("B", "load", 1, 10, {"bytes": 7}), ("B", "other thread", 2, 11, {}), ("B", "parse", 1, 20, {}),
        ("E", None, 1, 50.125, {"rows": 3}), ("E", "load", 1, 70, {}), ("E", "other thread", 2, 90, {}), ("B", "open", 1, 95, {}),
    ]  # fmt: skip
    found = read(
        KIND,
        trace(*({"ph": ph, "name": n, "pid": 0, "tid": t, "ts": ts, "args": args} for ph, n, t, ts, args in halves)),
    )

    names = {case.case_id: case.name for case in found.of(CaseRecord)}
    spans = [(one.line, names[one.case_id or ""], one.began_ns, one.duration_ns, one.lane) for one in found.of(Timing)]
    assert sorted(spans) == [
        (5, "parse", 20_000, 30_125, "0/1"), (6, "load", 10_000, 60_000, "0/1"), (7, "other thread", 11_000, 79_000, "0/2"),
    ]  # fmt: skip
    assert [case.parameters for case in found.of(CaseRecord) if case.name == "load"] == ['{"bytes": 7}']
    assert fields(found)[4]["args"] == {"rows": 3} and len(fields(found)) == found.tally.loaded == 8


def test_shapes_tell_operators_apart() -> None:
    """As the profiler records them with record_shapes."""
    events = [
        span("aten::mm", cat="cpu_op", args={"Input Dims": [[n, 4], []], "Concrete Inputs": ["", "1"]})
        for n in (2, 3, 2)
    ]

    found = read(KIND, trace(*events))

    assert [case.parameters for case in found.of(CaseRecord)] == [
        '{"Input Dims": [[2, 4], []]}',
        '{"Input Dims": [[3, 4], []]}',
    ]
    assert {case.device for case in found.of(CaseRecord)} == {None}


def test_steps_of_the_profiler_are_one_case() -> None:
    """Their number stays in `fields`."""
    found = read(KIND, trace(*(span(f"ProfilerStep#{n}", cat="user_annotation") for n in (5, 6))))

    assert found.names == ["ProfilerStep"]
    assert [said["name"] for said in fields(found)] == ["ProfilerStep#5", "ProfilerStep#6"]


def test_memory() -> None:
    """Two readings an event, of the device it is about; what has no size is only text."""
    args = {"Total Reserved": 64, "Total Allocated": 32, "Bytes": -8, "Device Id": 1, "Device Type": 1}
    events = [
        {"ph": "i", "name": "[memory]", "ts": 5, "args": args},
        {
            "ph": "i",
            "name": "[memory]",
            "ts": 5,
            "args": args | {"Device Type": 0, "Device Id": -1, "Total Reserved": -1},
        },
        {"ph": "i", "name": "[memory]", "ts": 5, "args": None},
    ]
    found = read(KIND, trace(*events))

    readings = [(m.source, m.size_bytes, m.statistic, m.device_index, m.line) for m in found.of(MemorySample)]
    assert sorted(readings) == [
        ("cpu_allocated", 32, "reading", None, 2),
        ("cuda_allocated", 32, "reading", 1, 1),
        ("cuda_reserved", 64, "reading", 1, 1),
    ]
    assert fields(found)[0]["args"]["Bytes"] == -8
    assert found.accounting == (3, 3, 0)


def test_counters_are_metrics() -> None:
    """A name each; what is no number is its text."""
    found = read(
        KIND, trace({"ph": "C", "name": "GPU 0", "ts": 5, "args": {'util "%"': 50, "state": "x", "none": None}})
    )

    said = {(m.metric, m.value, m.original_value) for m in found.of(Metric) if m.metric != "fields"}
    assert said == {('util "%"', 50.0, None), ("state", None, "x"), ("none", None, None)}
    assert found.names == ["GPU 0"]


def test_other_events_are_kept_whole() -> None:
    """Names of threads, flows, instants: each is the `fields` of its line, and of no case."""
    flow = {"ph": "s", "id": 35, "pid": 1, "tid": 2, "ts": 1.5, "cat": "ac2g", "name": "ac2g", "bp": "e"}
    found = read(KIND, trace(flow, {"ph": "M", "name": "process_name", "pid": "Spans", "args": {"name": "python"}}))

    assert fields(found) == [flow, {"ph": "M", "name": "process_name", "pid": "Spans", "args": {"name": "python"}}]
    assert found.of(CaseRecord) == []


def test_the_document_is_environment_and_tags() -> None:
    """Machine, GPUs and versions of software; the rest, whatever stands before the events and after."""
    document = trace(
        span(), distributedInfo={"rank": 3}, traceName="t.json", host_name="n1", cuda_runtime_version=12040
    )
    document["deviceProperties"] = [{"id": 0, "name": "H100", "numSms": 132}]

    found = read(KIND, document)

    assert found.environment.gpus == ["H100"]
    assert json.loads(found.environment.extra or "")["cuda_runtime_version"] == 12040
    assert found.runs[0].host == "n1"
    assert found.tags == {"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceName": "t.json"}


@pytest.mark.parametrize(
    ("ts", "document", "expected"),
    [
        (1682725898082228, {}, 1682725898082228),
        (1000.75, {}, None),
        (1000.75, {"baseTimeNanoseconds": BASE}, BASE // 1000 + 1000),
        ("x", {"baseTimeNanoseconds": BASE}, None),
        (1e300, {"baseTimeNanoseconds": BASE}, None),
        (None, {}, None),
    ],
)
def test_times(ts: Any, document: dict[str, Any], expected: int | None) -> None:
    """From the base that the document says at its end, or since 1970; else nobody knows."""
    found = read(KIND, trace(span(ts=ts), **document))

    assert [timing.recorded_at for timing in found.of(Timing)] == [expected]


@pytest.mark.parametrize("packed", [False, True])
def test_the_base_stands_at_the_end_of_a_long_trace(packed: bool) -> None:
    """Beyond what is looked at in one piece, packed or not."""
    text = json.dumps(trace(*(span(args={"x": "y" * 1000}) for _ in range(3000)), baseTimeNanoseconds=BASE)).encode()
    found = read(KIND, gzip.compress(text, 1) if packed else text, "t.json.gz")

    assert {timing.recorded_at for timing in found.of(Timing)} == {BASE // 1000 + 1000}
    assert found.accounting == (3000, 3000, 0)


@pytest.mark.parametrize(
    ("event", "reason"),
    first_of(
        3,
        [
            (span(dur=None), "dur is missing, no duration"),
            (span(dur=-1), "dur is -1, no duration"),
            (span(dur="long"), "dur is long, no duration"),
            (span(dur=1e30), "dur is 1e+30, no duration"),
            (span(""), "no name"),
            (span("x" * 70_000), "name has 70000 characters"),
            ({"name": "x", "ts": 1}, "no ph"),
            (5, "not an object"),
            ([], "not an object"),
        ],
    ),
)
def test_what_is_no_event(event: Any, reason: str) -> None:
    """Is a reject with its number; its neighbours load."""
    found = read(KIND, trace(span(), event, span()))

    assert found.rejects() == [(2, reason)]
    assert found.accounting == (3, 2, 1)
    assert [timing.line for timing in found.of(Timing)] == [1, 3]


def test_a_plain_list_of_events() -> None:
    """As torch.autograd's profiler exports it."""
    assert read(KIND, [span(), span()]).accounting == (2, 2, 0)


def test_a_trace_that_was_cut_short() -> None:
    """The events before the cut load; the rest is said."""
    text = json.dumps(trace(span("a"), span("b"), span("c")))
    found = read(KIND, text[: text.index('"c"')])

    assert len(found.of(Timing)) == 2
    assert [line for line, _ in found.rejects()] == [3, 4]
    assert found.rejects()[1][1] == "ends within the list"


def test_a_packed_trace_that_was_cut_short() -> None:
    """The part that unpacks loads."""
    text = json.dumps(trace(*(span(f"k{n}", args={"x": f"{n * 7919:x}"}) for n in range(3000)))).encode()
    packed = gzip.compress(text)
    found = read(KIND, packed[: len(packed) // 2], "t.json.gz")

    assert 500 < len(found.of(Timing)) < 2500
    assert "cannot be unpacked" in found.rejects()[-1][1]


@exhaustive
@settings(max_examples=at_most(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text("ab\"\\'{}[], \n:é", min_size=1), min_size=1, max_size=8),
    size=st.integers(1, 400),
    indent=st.sampled_from([None, 0, 2]),
    nested=st.booleans(),
)
def test_blocks_cut_anywhere_lose_nothing(
    tmp_path: Path, names: list[str], size: int, indent: int | None, nested: bool
) -> None:
    """Whatever the block's size, and however much names and arguments look like the ends of events."""
    args = {"list": [{"a": 1}, {"b": [{}, {}]}]} if nested else {}
    document = trace(*(span(name, args=args) for name in names), after=[{"x": 1}, {"y": 2}])
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "BLOCK_BYTES", size)
        patch.setattr(text_pieces, "PIECE_BYTES", 64)
        found = read_file(formats()[KIND], path)

    named = {case.case_id: case.name for case in found.of(CaseRecord)}
    timings = sorted(found.of(Timing), key=lambda timing: timing.line or 0)
    assert [named[timing.case_id] for timing in timings] == names
    assert found.accounting == (len(names), len(names), 0)
    assert found.tags["after"] == [{"x": 1}, {"y": 2}]


@pytest.mark.exhaustive
def test_a_large_trace_goes_past_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are the same, whichever way they take into the store."""
    events = [span(f"k{n % 3}", n + 0.5, args={"grid": [n % 2], "n": n}) for n in range(50)]
    events += [
        {"ph": "i", "name": "[memory]", "ts": 5, "args": {"Total Allocated": 5, "Device Type": 1, "Device Id": 0}},
        {"ph": "C", "name": "c", "ts": 5, "args": {"x": 1}}, span(dur=-1),
    ]  # fmt: skip
    lay(tmp_path, {"t.json": trace(*events, baseTimeNanoseconds=BASE)})
    tables = ("timings", "metrics", "memory_samples", "rejects", "cases", "outcomes", "runs", "sources")

    def load(store: Store) -> list[list[tuple[Any, ...]]]:
        ingest(store, [str(tmp_path / "t.json")])
        with Warehouse.open(store) as warehouse:
            skip = "EXCLUDE (recorded_at)"
            return [
                warehouse.rows(f"SELECT * {skip if name == 'sources' else ''} FROM {name} ORDER BY ALL")
                for name in tables
            ]

    through = load(Store(tmp_path / "through").create())
    monkeypatch.setattr(torch_trace, "IN_PYTHON", 10)
    past = load(Store(tmp_path / "past").create())

    assert through == past
    assert [len(rows) for rows in past] == [50, 53, 1, 1, 7, 7, 1, 1]


def test_many_bad_events_take_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reject counted the lines from the beginning of its block: 40,000 took 27 s. Reasons are alike, so that they group."""
    sizes = []
    decoder = json.JSONDecoder()

    class Counting:
        def raw_decode(self, text: str) -> tuple[object, int]:
            sizes.append(len(text))
            return decoder.raw_decode(text)

    monkeypatch.setattr(json_stream, "_decoder", Counting())
    bad = '{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":5,"pid":1,"tid":}'
    events = ",\n".join([bad] * 500)
    (tmp_path / "t.json").write_text('{"traceEvents":[' + events + "]}")
    array = json_stream.JsonArray(Part.alone(tmp_path / "t.json"), "traceEvents")
    found = [element for block in array.blocks() for element in array.elements(block)]

    assert {type(element) for element in found} == {json_stream.TornElement} and len(found) == 500
    assert {element.reason for element in found} == {"not valid JSON: Expecting value"}
    assert sum(sizes) <= 500 * json_stream.ELEMENT


def test_elements_longer_than_a_piece_are_read_whole(tmp_path: Path) -> None:
    """Texts, numbers, words and nested lists that a piece cuts."""
    fill = "y" * (json_stream.ELEMENT - 40)
    elements = [
        {"s": fill[:-cut], "n": -123456789.5e-7, "t": [True, None, "\\u00e9", {"a": 1}, {"b": -2}]}
        for cut in range(1, 60)
    ]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [*elements, 12345, "x" * 9000]}))
    array = json_stream.JsonArray(Part.alone(tmp_path / "t.json"), "traceEvents")
    assert [element for block in array.blocks() for element in array.elements(block)] == [*elements, 12345, "x" * 9000]
