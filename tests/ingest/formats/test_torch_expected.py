"""What PyTorch's CI expects: in three layouts, of a compiler and suite that the name says."""

import pytest
from bench.warehouse.events import CaseRecord, Outcome

from .reading import read

KIND = "torch-compile-expected"


def test_accuracy_and_graph_breaks() -> None:
    """Blank lines between the rows, which keep merges apart, are no records; a comment is a note."""
    text = "name,accuracy,graph_breaks\n\n\n\nalexnet,pass,0\n\n\n\n# see #123\nmaml,fail_accuracy,23\n"

    found = read(KIND, text, "cpu_inductor_amp_freezing_timm_inference.csv")

    assert found.accounting == (2, 2, 0)
    assert found.outcomes() == [("pass", None), ("fail_accuracy", None)]
    assert found.metrics()["graph_breaks"] == (23.0, "count")
    assert {(c.backend, c.suite, c.mode, c.device) for c in found.of(CaseRecord)} == {
        ("inductor_amp_freezing", "timm_models", "inference", "cpu")
    }
    assert found.tags == {"expected": True}
    assert any("1 comment: # see #123" in note for note in found.tally.notes)


def test_accuracy_by_dtype() -> None:
    """Each dtype is a case of its own."""
    found = read(
        KIND, "name,float32,amp_bf16\nbert,pass,eager_fail_to_run\n", "rolling__inductor_huggingface_training.csv"
    )

    cases = {case.case_id: case.dtype for case in found.of(CaseRecord)}
    assert [(cases[o.case_id or ""], o.kind, o.status) for o in found.of(Outcome)] == [
        ("amp_bf16", "accuracy", "eager_fail_to_run"),
        ("float32", "accuracy", "pass"),
    ]


def test_speedups_to_reach() -> None:
    """Of a machine, a shape and a wrapper; a model that is disabled is a reject."""
    text = "#name,data_type,shape,wrapper,perf_speedup_target_c7i\n#gone,float32,static,cpp,1.5\nvgg16,amp,static,default,1.25\n"

    found = read(KIND, text, "expected_ci_speedup_inductor_torchbench_cpu.csv")

    assert found.rejects() == [(2, "disabled with #")]
    (case,) = found.of(CaseRecord)
    assert (case.name, case.dtype, case.backend, case.suite, case.device) == (
        "vgg16", "amp", "inductor", "torchbench", "cpu",
    )  # fmt: skip
    assert case.parameters == '{"machine": "c7i", "shape": "static", "wrapper": "default"}'
    assert found.metrics() == {"speedup": (1.25, "ratio")}


def test_graph_breaks_alone() -> None:
    """As in 2022; dynamic shapes are a parameter."""
    found = read(KIND, "name,graph_breaks\nGoogleFnet,41\n", "inductor_torchbench_dynamic_inference.csv")

    assert found.metrics() == {"graph_breaks": (41.0, "count")}
    assert found.outcomes() == [("ok", None)]
    assert found.of(CaseRecord)[0].parameters == '{"dynamic_shapes": true}'


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,pass", "2 columns under a header of 3"),
        (",pass,0", "no name"),
        ("a,pass,many", "graph_breaks is 'many', not a number"),
        ('a,"pass,0', "not valid CSV: unexpected end of data"),
    ],
)
def test_broken_rows(row: str, reason: str) -> None:
    """Each is a reject with its line."""
    assert read(KIND, f"name,accuracy,graph_breaks\n{row}\n").rejects() == [(2, reason)]
