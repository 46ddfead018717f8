"""DDP and FSDP over two processes, for real, on the CPU."""

import os
import queue
import sys
from pathlib import Path

import pytest
from bench.measure.command import measure
from bench.measure.pytorch.rank import Rank
from bench.measure.pytorch.ranks import Together
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive, sampled

pytest.importorskip("torch")


@exhaustive
@pytest.mark.parametrize("kind", sampled(["ddp", "fsdp"], "ddp"))
def test_a_model_is_trained_by_two_processes(tmp_path: Path, kind: str) -> None:
    """Replicas have the gradients of one process, to float64; of shards the worker sees its own."""
    given = ["--models", "mlp", "--modes", "training", "--backends", "eager", "--distributed", kind, "--threads", "1",
             "--repeat", "3", "--budget", "0.2", "--lock", "off", "--store", str(tmp_path)]  # fmt: skip

    done = CliRunner().invoke(measure, ["models", *given])

    assert done.exit_code == 0, done.output
    with Warehouse.open(Store(tmp_path)) as warehouse:
        outcomes = warehouse.rows("SELECT kind, status FROM case_outcomes ORDER BY 1")
        metrics = warehouse.rows("SELECT metric FROM metrics WHERE metric LIKE 'accuracy%'")
        parameters = warehouse.rows("SELECT parameters->>'distributed' FROM cases")
    assert outcomes == [("accuracy", "pass"), ("performance", "ok")]
    assert ({"ddp": "accuracy_rmse", "fsdp": "accuracy_cosine"}[kind],) in metrics
    assert parameters == [(kind,)]


def test_the_others_are_told_before_the_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They learn the number of calls once for all loops; then all meet."""
    said: list[object] = []
    monkeypatch.setattr("bench.measure.pytorch.ranks.barrier", lambda: said.append("barrier"))
    step = Together(lambda: said.append("step"), 3, lambda *words: said.append(words))

    call = step.together(2)
    call()
    call()

    assert said == [("run", 3, 2), "barrier", "step", "step"]


@exhaustive
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("fsdp", []),
        *[("ddp", ["--optimize-ddp", mode]) for mode in ("ddp_optimizer", "no_optimization")],
        ("ddp", ["--optimize-ddp", "python_reducer", "--compiled-autograd"]),
    ],
)
def test_a_compiler_trains_over_two_processes(tmp_path: Path, kind: str, more: list[str]) -> None:
    """Each mode of DDP with the gradients of eager, and shards with those of their rank."""
    given = ["--models", "mlp", "--modes", "training", "--backends", "eager", "aot_eager", "--distributed", kind,
             "--threads", "1", "--repeat", "3", "--budget", "0.2", "--lock", "off", "--store", str(tmp_path)]  # fmt: skip

    done = CliRunner().invoke(measure, ["models", *given, *more])

    assert done.exit_code == 0, done.output
    outcomes = stored("SELECT backend, kind, status FROM case_outcomes ORDER BY 1, 2", tmp_path)
    assert outcomes == [
        (backend, kind, status)
        for backend in ("aot_eager", "eager")
        for kind, status in (("accuracy", "pass"), ("performance", "ok"))
    ]


DYING = """
import os, signal, torch

class Dying(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        if os.environ.get("RANK") == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.linear(x)

    def get_example_inputs(self):
        return torch.ones(2, 2)
"""


@exhaustive
def test_a_rank_that_dies_ends_the_worker_and_is_named(tmp_path: Path) -> None:
    """Long before the timeout: nobody waits for it in a collective."""
    (tmp_path / "dying.py").write_text(DYING)
    given = ["--suites", f"path:{tmp_path / 'dying.py'}", "--modes", "training", "--backends", "eager", "--distributed", "ddp",
             "--threads", "1", "--lock", "off", "--timeout", "300", "--store", str(tmp_path / "s")]  # fmt: skip

    CliRunner().invoke(measure, ["models", *given])

    ((status, reason),) = stored("SELECT status, reason FROM case_outcomes WHERE kind = 'performance'", tmp_path / "s")
    assert (status, "rank 1 ended by SIGKILL" in reason) == ("fail_to_run", True)


def test_a_rank_that_ends_by_itself_is_told_and_one_that_is_closed_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its number, and how it ended."""
    told: queue.Queue[str] = queue.Queue()
    codes = {"dies": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "waits": "input(); input()"}

    def rank(code: str) -> Rank:
        monkeypatch.setattr(
            "bench.measure.pytorch.rank.own_command", lambda module: [sys.executable, "-c", codes[code]]
        )
        return Rank({**os.environ, "RANK": "3"}, "message", told.put)

    dying = rank("dies")
    assert told.get(timeout=60) == "rank 3 ended by SIGKILL"
    waiting = rank("waits")
    waiting.close()
    dying.close()
    assert told.empty()
