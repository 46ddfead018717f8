"""Structured logs of torch.compile: phases that nest, reasons with their lines, and logs that are cut off."""

import itertools

import pytest
from bench.warehouse.events import Environment, Metric, Reject

from .reading import read
from .samples import SAMPLES, phase, torch_log

KIND, NAME = "torch-logs", "dedicated_log_torch_trace_x.log"
WHOLE = "entire_frame_compile"


def values(text: str) -> dict[str, float | None]:
    """The value of each metric."""
    return {metric.metric: metric.value for metric in read(KIND, text.encode(), NAME).of(Metric)}


def test_phases_have_their_times_and_reasons_their_lines() -> None:
    """A recompilation is placed where its function begins, a break at its line, as where bench compiles itself."""
    found = read(KIND, SAMPLES[KIND][NAME], NAME)
    metrics = {metric.metric: (metric.value, metric.original_value) for metric in found.of(Metric)}

    assert metrics["compile_latency"] == metrics["compile_phase:_compile.compile_inner"] == (800_000.0, None)
    assert metrics["compile_phase:GraphLowering.run"] == (100_000.0, None)
    assert metrics["graph_breaks"] == metrics["recompiles"] == metrics["fxgraph_cache_misses"] == (1.0, None)
    name = "graph_break:Call to `torch._dynamo.graph_break()`: User-inserted graph break."
    assert metrics[name] == (1.0, "/w/m.py:9 in forward")
    assert metrics["recompile:tensor 'x' size mismatch"] == (1.0, "/w/m.py:6 in forward")
    assert [environment.torch for environment in found.of(Environment)] == ["2.13.0"]
    assert found.accounting == (1, 1, 0)


def test_times_of_one_phase_add_up() -> None:
    """Of all that was compiled."""
    found = values(torch_log(*phase(WHOLE, 0, 1), *phase(WHOLE, 5, 7)))

    assert found["compile_latency"] == 3_000.0


@pytest.mark.parametrize("cut", [1, 3])
def test_a_log_that_is_cut_off_says_so(cut: int) -> None:
    """Phases that did not end have no time; the others keep theirs."""
    entries = [phase(WHOLE, 0, 9)[0], *phase("GraphLowering.run", 1, 2)]
    found = read(KIND, torch_log(*itertools.islice(entries, cut)).encode(), NAME)

    assert found.tally.notes == [f"{NAME}: 1 phase did not end: a log that is cut off, or of a process that was"]
    assert {metric.value for metric in found.of(Metric) if metric.metric.startswith("compile_phase")} == {
        1000.0
    } or cut == 1


def test_an_entry_that_cannot_be_read_is_rejected_alone() -> None:
    """The last one of a file that is cut within it, for one."""
    found = read(
        KIND, (torch_log(*phase(WHOLE, 0, 1)) + torch_log(({"chromium_event": {}}, '{"name": "ba'))).encode(), NAME
    )

    assert [reject.line for reject in found.of(Reject)] == [5]
    assert found.accounting == (2, 1, 1)
