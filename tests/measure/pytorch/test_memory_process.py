"""Memory of a backend, in a process that holds the workload and nothing else."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from bench.measure.engine.workload import Settings, Workload  # noqa: E402
from bench.measure.pytorch.memory_process import measure  # noqa: E402

MODEL = """
import torch

class Wide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(16, 2**20))

    def forward(self, x):
        return x @ self.weight

    def get_example_inputs(self):
        return (torch.zeros(1, 16),)
"""
WEIGHTS = 64 * 2**20


def workload(folder: Path, **fields: Any) -> Workload:
    (folder / "wide.py").write_text(MODEL)
    usual: dict[str, Any] = {
        "suite": "s", "name": "wide", "target": f"{folder / 'wide.py'}:Wide", "mode": "inference", "device": "cpu",
        "dtype": "float32", "batch_size": 1, "sequence_length": None, "backends": ("eager",),
    }  # fmt: skip
    return Workload(**usual | fields)


@pytest.mark.exhaustive
def test_a_training_process_holds_weights_gradients_and_optimizer_and_no_copies(tmp_path: Path) -> None:
    """Adam keeps two numbers for a weight; a float64 reference or a copy for the backend would be as much again."""
    peaks, facts = measure(workload(tmp_path, mode="training", parameters={"optimizer": "adam"}), Settings(), "eager")()
    parts = {fact.name.removeprefix("memory_"): fact.value for fact in facts}
    (process,) = [peak for peak in peaks if peak.source == "rss"]

    assert (parts["weights"], parts["gradients"]) == (WEIGHTS, WEIGHTS)
    assert parts["optimizer"] == pytest.approx(2 * WEIGHTS, rel=1e-4)
    assert process.phase is None and parts["framework"] is not None
    assert 4 * WEIGHTS <= process.size_bytes - parts["framework"] < 7.5 * WEIGHTS  # Adam has temporaries


@pytest.mark.exhaustive
def test_the_parts_add_up_to_the_peak(tmp_path: Path) -> None:
    """Framework, weights, gradients, optimizer state, and the rest of the step."""
    peaks, facts = measure(workload(tmp_path, mode="training"), Settings(), "eager")()
    parts = {fact.name.removeprefix("memory_"): fact.value or 0 for fact in facts}
    (process,) = [peak.size_bytes for peak in peaks if peak.source == "rss"]

    first, loading = parts.pop("first_call"), parts.pop("loading")
    assert sum(parts.values()) == process
    assert loading < WEIGHTS  # the weights are zeros, and nothing else was made
    assert WEIGHTS <= first < process  # the gradients at least
    assert parts["step"] >= 0


def test_a_steady_step_of_inference_adds_its_output(tmp_path: Path) -> None:
    """A row of 2^20 numbers is 4 MiB; nothing has gradients."""
    peaks, facts = measure(workload(tmp_path), Settings(), "eager")()
    sizes = {peak.source.removesuffix("_sampled"): peak.size_bytes for peak in peaks}

    assert 3 * 2**20 <= sizes["rss_growth"] < 16 * 2**20
    assert {fact.name for fact in facts} == {
        "memory_framework",
        "memory_weights",
        "memory_step",
        "memory_loading",
        "memory_first_call",
    }


@pytest.mark.exhaustive
def test_what_fails_there_leaves_its_reason(tmp_path: Path) -> None:
    """A fact without a value; the samples of the worker are none the worse."""
    peaks, (fact,) = measure(workload(tmp_path, target=f"{tmp_path / 'wide.py'}:Narrow"), Settings(), "eager")()

    assert (peaks, fact.name, fact.value) == ([], "memory", None)
    assert fact.text is not None and "Narrow" in fact.text
