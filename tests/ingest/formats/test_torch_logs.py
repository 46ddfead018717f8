"""Structured logs of torch.compile: phases that nest, reasons with their lines, and logs that are cut off."""

import itertools
import json
from typing import Any

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


MODEL = "/w/m.py"
GRAPH = f"""class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: {MODEL}:9 in forward, code: y = self.first(x)
        addmm: "f32[8]cpu" = torch.ops.aten.addmm.default(b, x, w);  b = None

        # File: {MODEL}:12 in forward, code: y = gelu(y)
        mul = torch.ops.aten.mul.Tensor(addmm, 0.5)
        erf: "f32[8]cpu" = torch.ops.aten.erf.default(addmm)

        # No stacktrace found for following nodes
        full: "f32[]cpu" = torch.ops.aten.full.default([], 0)
"""
STACKS = {
    "extern_kernels.addmm:1": [f'  File "{MODEL}", line 9, in forward\n    y = self.first(x)\n        ^^^^\n'],
    "cpp_fused_gelu_0:2": [
        f'  File "{MODEL}", line 30, in torch_dynamo_resume_in_forward_at_29\n    x = block(x)\n'
        f'  File "{MODEL}", line 12, in forward\n    y = gelu(y)\n        ^^^^\n'
        '  File "/v/site-packages/torch/nn/functional.py", line 7, in gelu\n    return x\n',
        f'  File "{MODEL}", line 9, in forward\n    y = self.first(x)\n',
        f'  File "{MODEL}", line 9, in forward\n    y = self.first(x)\n             ^^^\n',
    ],
    "torch.ops.mine.swish.default:3": [f'  File "{MODEL}", line 15, in torch_dynamo_resume_in_forward_at_14'],
    "nothing": [],
}
FIRST, GELU = ("y = self.first(x)", 9, "forward"), ("y = gelu(y)", 12, "forward")


def artifact(name: str, payload: object) -> tuple[dict[str, Any], str]:
    """An entry of one."""
    return {"artifact": {"name": name}}, payload if isinstance(payload, str) else json.dumps(payload)


def sources(*entries: tuple[dict[str, Any], str]) -> dict[str, list[tuple[str, int, str]]]:
    """The lines of each kernel, in order."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    for each in read(KIND, torch_log(*entries).encode(), NAME).of(Metric):
        if each.metric == "kernel_source" and each.original_value:
            place = json.loads(each.original_value)
            found.setdefault(place["kernel"], []).append((place["text"], place["line"], place["function"]))
            assert (each.value, place["number"], place["file"]) == (None, len(found[place["kernel"]]), MODEL)
    return found


def test_a_kernel_has_the_innermost_lines_of_the_user() -> None:
    """Each once, by the name that a trace has for it."""
    assert sources(artifact("inductor_provenance_tracking_kernel_stack_traces", STACKS)) == {
        "aten::addmm": [FIRST], "cpp_fused_gelu_0": [GELU, FIRST], "mine::swish": [("", 15, "forward")],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("inductor_provenance_tracking_node_mappings", {"cppCodeToPost": {"cpp_fused_gelu_0:2": ["erf", "mul", "full"]}}),
        ("inductor_triton_kernel_to_post_grad_nodes", {"cpp_fused_gelu_0": ["erf", "mul", "gone"]}),
    ],
)  # fmt: skip
def test_before_torch_2_9_a_kernel_has_the_lines_of_its_nodes(name: str, payload: object) -> None:
    """They are comments of the graph that was lowered, which an entry of its own had."""
    graphs: list[tuple[dict[str, Any], str]] = [
        artifact("inductor_post_grad_graph", GRAPH),
        ({"inductor_post_grad_graph": {}}, GRAPH),
    ]
    for graph in graphs:
        assert sources(graph, artifact(name, payload)) == {"cpp_fused_gelu_0": [GELU]}


def test_lines_of_code_from_a_cache_stand_where_they_are_now() -> None:
    """The cache was filled when the file was another; of equal lines the nearest counts."""
    now = GRAPH.replace(":12", ":14").replace(
        "b = None", f"b = None\n        # File: {MODEL}:90 in forward, code: y = gelu(y)\n        a = b"
    )
    cached = artifact("inductor_provenance_tracking_kernel_stack_traces", STACKS)

    assert sources(({"dynamo_output_graph": {}}, now), cached)["cpp_fused_gelu_0"] == [
        ("y = gelu(y)", 14, "forward"),
        FIRST,
    ]


@pytest.mark.parametrize("payload", ["", "[]", "{", "null", '{"k": 7}', '{"k": [7]}', '{"k": ["x"]}'])
def test_kernels_of_another_form_are_rejected_or_have_no_line(payload: str) -> None:
    """The rest of the log is read."""
    names = "inductor_provenance_tracking_kernel_stack_traces", "inductor_provenance_tracking_node_mappings"
    for name in names:
        log = torch_log(artifact(name, payload), *phase(WHOLE, 0, 1))
        found = {metric.metric: metric.value for metric in read(KIND, log.encode(), NAME).of(Metric)}
        assert found["compile_latency"] == 1_000.0 and "kernel_source" not in found
