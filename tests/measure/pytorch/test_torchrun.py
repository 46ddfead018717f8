"""bench under torchrun: rank 0 measures, the others follow its workers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.pytorch import rank, torchrun
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...exhaustive import exhaustive


class FakeStore:
    """The store that torchrun keeps, within one process."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def add(self, key: str, more: int) -> int:
        self.values[key] = self.values.get(key, 0) + more
        return int(self.values[key])

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def get(self, key: str) -> str:
        return str(self.values[key])

    def wait(self, keys: list[str], timeout: Any) -> None:
        if not self.values.keys() >= set(keys):
            raise RuntimeError("timeout")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    store = FakeStore()
    monkeypatch.setattr(torchrun, "_store", lambda host=False: store)
    for name, value in {"RANK": "0", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "x", torchrun.GROUP: ""}.items():
        monkeypatch.setenv(name, value)
    return store


def test_others_start_a_rank_for_each_worker_and_hand_on_what_it_tells(
    store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker's ranks meet in a group of their own; one that died without a word leaves none behind."""
    said: list[Any] = []

    class Rank:
        def __init__(self, environment: dict[str, str], told: str) -> None:
            self.group = environment[torchrun.GROUP]
            said.append(("start", self.group, environment["RANK"], told))

        def send(self, line: str) -> None:
            said.append((self.group, line))

        def close(self) -> None:
            said.append(("close", self.group))

    with torchrun.lead():
        torchrun.Followers("first").send("prepare")  # and dies
        second = torchrun.Followers("second")
        second.send("run")
        second.close()
    monkeypatch.setattr(rank, "Rank", Rank)
    monkeypatch.setenv("RANK", "3")
    torchrun.follow()

    assert said == [
        ("start", "1", "3", "first"), ("1", "prepare"), ("close", "1"),
        ("start", "2", "3", "second"), ("2", "run"), ("close", "2"),
    ]  # fmt: skip
    assert "gone/3" in store.values, "rank 0 keeps the store until all have heard that it is over"


def test_all_is_over_for_the_others_however_it_ends(store: FakeStore) -> None:
    """An error, too: nobody waits for a rank that is gone."""
    with pytest.raises(BenchError), torchrun.lead():
        raise BenchError("busy")

    assert json.loads(store.get("said/1")) == [torchrun.OVER, ""]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "torchrun started 4 ranks, but the models are not distributed. Choose how: --distributed ddp|fsdp."),
        (["--distributed", "ddp", "--ranks", "2"], "torchrun started 4 ranks, not 2. Leave --ranks out."),
        (["--distributed", "ddp", "--revisions", "a", "b"], "leave torchrun out"),
    ],
)
def test_what_torchrun_started_is_not_what_was_asked_for(store: FakeStore, words: list[str], said: str) -> None:
    """Said at once, with the cure."""
    done = CliRunner().invoke(cli, ["measure", "models", *words], standalone_mode=False)

    assert isinstance(done.exception, BenchError)
    assert said in str(done.exception)


def test_ranks_that_nothing_is_spread_over_are_a_mistake() -> None:
    """They would name the case, and change nothing of it."""
    done = CliRunner().invoke(cli, ["measure", "models", "--ranks", "3", "--print"], standalone_mode=False)

    assert "3 ranks are asked for, but the models are not distributed. Choose how: --distributed" in str(done.exception)


def test_the_ranks_that_torchrun_started_are_a_parameter_of_the_case(store: FakeStore) -> None:
    """As many as are asked for without it make the same case."""
    words = ["measure", "models", "--models", "mlp", "--distributed", "ddp", "--print", "--format", "csv"]

    done = CliRunner().invoke(cli, words)

    assert '""ranks"": 4' in done.stdout.splitlines()[1]


@exhaustive
def test_a_model_is_trained_by_the_ranks_of_torchrun(tmp_path: Path) -> None:
    """For real, by gloo on the CPU: one run, one case, right by float64; all ranks end well."""
    pytest.importorskip("torch")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["-m", "bench", "measure", "models", "--models", "mlp", "--modes", "training", "--backends", "eager",
               "--distributed", "ddp", "--threads", "1", "--repeat", "3", "--budget", "0.2", "--lock", "off"]  # fmt: skip

    done = subprocess.run(
        [*launcher, *command, "--store", str(tmp_path)],
        capture_output=True, text=True, timeout=180, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    with Warehouse.open(Store(tmp_path)) as warehouse:
        outcomes = warehouse.rows("SELECT kind, status FROM case_outcomes ORDER BY 1")
        runs = warehouse.rows("SELECT count(*), min(status) FROM run_summaries")
        parameters = warehouse.rows("SELECT parameters->>'distributed', parameters->>'ranks' FROM cases")
    assert outcomes == [("accuracy", "pass"), ("performance", "ok")]
    assert runs == [(1, "ok")]
    assert parameters == [("ddp", None)]
