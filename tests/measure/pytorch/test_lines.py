"""Line traces of models: the lines that moved memory, beside a measurement that they leave alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.workload import Job, Settings, Workload
from bench.measure.models import line_traces
from bench.measure.pytorch import lines
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

MODEL = """
import torch
from torch import nn

class Grower(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        self.kept.append(torch.ones(4 << 20))
        scratch = torch.ones(8 << 20)
        x = x + scratch[0]
        del scratch
        return self.linear(x)

    def get_example_inputs(self, batch_size: int = 2):
        return (torch.randn(batch_size, 8),)
"""
MIB = 1 << 20


@pytest.fixture
def traced(tmp_path: Path) -> Any:
    """Trace a small model; gives the warehouse and the run, or why there is no trace."""
    (tmp_path / "grower.py").write_text(MODEL)

    def make(mode: str = "inference", **chosen: Any) -> tuple[Warehouse, str, str | None]:
        workload = Workload(
            suite="grower.py", name="Grower", target=f"{tmp_path}/grower.py:Grower", mode=mode, device="cpu", dtype="float32",
            batch_size=2, sequence_length=None, backends=("eager", "inductor"),
        )  # fmt: skip
        store = Store(tmp_path / "store").create()
        with recorder.run("t", store=store) as run:
            case = run.case(**workload.axes("eager"))
            program = "bench.measure.pytorch.program:TorchProgram"
            settings = Settings(trace_lines={"modules": [], "excluded": [], "events": "line", "gpus": None, **chosen})
            job = Job(
                run_id=run.run_id,
                store=str(store.root),
                process=0,
                workload=workload,
                settings=settings,
                program=program,
            )
            reason = lines.trace_lines(Job.from_dict(json.loads(json.dumps(job.to_dict()))), run, case)
            case.memory(1000, source="rss", phase=None)
            case.outcome("ok")
        return Warehouse.open(store), run.run_id, reason

    return make


@pytest.mark.exhaustive
def test_a_line_that_keeps_and_one_that_frees(traced: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """16 MiB kept in each of two steps, 32 MiB taken and given back: as the source says; peaks are those of the measurement."""
    warehouse, run_id, reason = traced()

    assert reason is None
    found = {
        text: (hits, growth, transient)
        for text, hits, growth, transient in warehouse.rows(
            "SELECT text, hits, growth_bytes, transient_bytes FROM line_memory WHERE name = 'Grower'"
        )
    }
    hits, growth, _ = found["self.kept.append(torch.ones(4 << 20))"]
    assert hits == 2
    assert growth == pytest.approx(32 * MIB, abs=2 * MIB)
    assert found["scratch = torch.ones(8 << 20)"][1] == pytest.approx(64 * MIB, abs=2 * MIB)
    assert found["del scratch"][1] == pytest.approx(-64 * MIB, abs=2 * MIB)
    assert warehouse.rows("SELECT peak_bytes FROM peak_memory") == [(1000,)]
    assert warehouse.rows("SELECT lines > 2, reason FROM line_traces") == [(True, None)]

    line_traces.show(warehouse.store, run_id, "table")
    out, err = capfd.readouterr()
    assert "memory by line, Grower inference 2, eager:" in out
    assert "self.kept.append(torch.ones(4 << 20))" in out
    assert "rss: " in err


@pytest.mark.exhaustive
def test_training_shows_the_step_around_the_model(traced: Any) -> None:
    """Its backward pass and its optimizer are lines, too."""
    warehouse, _, reason = traced("training")

    texts = {text for (text,) in warehouse.rows("SELECT text FROM line_memory")}
    assert reason is None
    assert {"loss.backward()", "self.optimizer.step()", "self.kept.append(torch.ones(4 << 20))"} <= texts


@pytest.mark.exhaustive
def test_by_call_a_function_is_one_line(traced: Any) -> None:
    """That of its definition, with all that it kept."""
    warehouse, _, _ = traced(events="call", modules=["grower"])

    ((line, hits, growth),) = warehouse.rows(
        "SELECT line, hits, growth_bytes FROM line_memory WHERE function = 'Grower.forward'"
    )
    assert (line, hits) == (MODEL.splitlines().index("    def forward(self, x):") + 1, 2)
    assert 31 * MIB < growth < 48 * MIB  # and what torch loads at its first call


@pytest.mark.exhaustive
def test_modules_that_never_run_are_said(traced: Any) -> None:
    """A wrong name is no empty table without a word."""
    warehouse, _, reason = traced(modules=["nosuch"])

    assert reason is not None
    assert reason.startswith("no line was traced")
    assert warehouse.rows("SELECT * FROM line_memory") == []
