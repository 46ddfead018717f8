"""torch's minifier, run where an output is wrong: a script of a few lines is left, or the reason why there is none."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.workload import Settings, Workload
from bench.measure.pytorch import minifier

from ...exhaustive import exhaustive

MODEL = """
import torch
class Net(torch.nn.Module):
    def forward(self, x): return torch.relu(x.sin()).tanh().cos()
    def get_example_inputs(self): return (torch.linspace(-2, 2, 8),)
"""


def workload(target: str = "") -> Workload:
    return Workload(
        suite="s", name="Net", target=target, mode="inference", device="cpu", dtype="float32", batch_size=0,
        sequence_length=None, backends=("eager",),
    )  # fmt: skip


@exhaustive
def test_the_smallest_wrong_graph_is_left_as_a_script(tmp_path: Path) -> None:
    """Of a compiler that takes relu for an addition: relu alone."""
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(MODEL)

    found = minifier.repro(
        workload(f"{tmp_path}/net.py:Net"), Settings(), "torch:relu_accuracy_error_TESTING_ONLY", tmp_path / "out"
    )

    script = Path(str(found.text))
    assert script.is_relative_to(tmp_path / "out")
    assert (found.name, found.value, found.unit) == ("minifier_repro", script.stat().st_size, "bytes")
    forward = script.read_text().partition("def forward")[2].partition("mod = Repro()")[0]
    assert "torch.relu" in forward
    assert "tanh" not in forward


def faked(monkeypatch: pytest.MonkeyPatch, *ends: Any) -> None:
    """Each process leaves a file, or takes too long, or does nothing."""
    left = iter(ends)

    def run(words: list[str], folder: Path, until: float, told: str = "", environment: Any = None) -> int:
        end = next(left)
        if end == "late":
            raise subprocess.TimeoutExpired(words, 1)
        if end.endswith(".py"):
            (folder / end).write_text("script")
        return 1 if end == "fails" else 0

    monkeypatch.setattr(minifier, "_run", run)


@pytest.mark.parametrize(
    ("ends", "size", "said"),
    [
        (("minifier_launcher.py", "repro.py"), 6, "{}/repro.py"),
        (
            ("minifier_launcher.py", "late"),
            None,
            "the minifier took longer than 7 s. Go on with: python {}/minifier_launcher.py",
        ),
        (("minifier_launcher.py", ""), None, "the minifier failed. Go on with: python {}/minifier_launcher.py"),
        (("late",), None, "the minifier took longer than 7 s"),
        (("",), None, minifier.ALL_RIGHT),
        (("fails",), None, "the minifier ended with 1"),
    ],
)
def test_what_the_minifier_came_to_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[str, ...], size: int | None, said: str
) -> None:
    """A path, or a reason, with the command to go on by where there is one."""
    faked(monkeypatch, *ends)

    found = minifier.repro(workload(), Settings(), "inductor", tmp_path, budget_s=7)

    assert (found.value, found.text) == (size, said.format(tmp_path))
