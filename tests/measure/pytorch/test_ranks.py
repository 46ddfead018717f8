"""DDP and FSDP over two processes, for real, on the CPU."""

from pathlib import Path

import pytest
from bench.measure.command import measure
from bench.measure.pytorch.ranks import Together
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store
from click.testing import CliRunner

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
    """How often, once for all loops; then all meet."""
    said: list[object] = []
    monkeypatch.setattr("bench.measure.pytorch.ranks.barrier", lambda: said.append("barrier"))
    step = Together(lambda: said.append("step"), 3, lambda *words: said.append(words))

    call = step.together(2)
    call()
    call()

    assert said == [("run", 3, 2), "barrier", "step", "step"]
