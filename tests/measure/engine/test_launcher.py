"""A launcher in front of every worker: what it sets holds there, and what the worker reports arrives whatever it closes."""

import sys
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine import launcher
from bench.measure.engine.runner import Runner
from bench.measure.engine.workload import Settings
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store

from ...exhaustive import first_of

CHILD = "import subprocess, sys; subprocess.run(sys.argv[1:], start_new_session=True)"  # as PyTorch's launcher does


@pytest.mark.parametrize("command", first_of(1, ["env BENCH_LAUNCHED=1", f"{sys.executable} -c {CHILD!r}"]))
def test_a_worker_reports_through_its_launcher(tmp_path: Path, workload: Any, command: str) -> None:
    """One that becomes the worker, and one that starts it as a child with standard files only, in a session of its own."""
    store = tmp_path / "store"
    with recorder.run("t", store=store, source="measure") as run:
        failed = Runner(
            run, Settings(repeat=4, budget_s=0.3, launcher=command), program="fake_program:FakeProgram"
        ).measure([workload()])

    assert failed == 0
    with Warehouse.open(Store(store)) as warehouse:
        assert warehouse.rows("SELECT status, count(*) FROM case_outcomes WHERE kind = 'performance' GROUP BY 1") == [
            ("ok", 2)
        ]
        assert warehouse.rows("SELECT min(n) >= 4 FROM cells WHERE phase = 'steady' AND metric = 'latency'") == [
            (True,)
        ]


@pytest.mark.exhaustive
def test_a_crash_behind_a_launcher_is_a_failure(tmp_path: Path, workload: Any) -> None:
    """Only the launcher knows how the worker ended; a worker without an outcome has failed."""
    with recorder.run("t", store=tmp_path, source="measure") as run:
        settings = Settings(repeat=4, budget_s=0.3, launcher=f"{sys.executable} -c {CHILD!r}")
        failed = Runner(run, settings, program="fake_program:FakeProgram").measure([workload(candidate="segfault@1")])

    assert failed == 1


def test_pytorchs_own_launcher_by_a_word() -> None:
    """Without `python`, which the worker's command begins with."""
    assert launcher.words("xeon --core-list 0,1") == [sys.executable, *launcher.XEON, "--core-list", "0,1"]
    assert launcher.words(None) == launcher.words("") == []
    assert launcher.words("env 'A=b c'") == ["env", "A=b c"]


@pytest.mark.parametrize(
    ("text", "problem"), [("nosuchcommand -C 0", "no command 'nosuchcommand'"), ("env 'a", "no closing quotation")]
)
def test_a_launcher_that_cannot_be_is_an_error(text: str, problem: str) -> None:
    """Before anything runs."""
    with pytest.raises(BenchError, match=problem):
        launcher.words(text)
