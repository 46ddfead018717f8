"""A fleet: machines that share a plan, each workload measured by one of them, whatever becomes of the others."""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine import claims as room
from bench.measure.engine import runner
from bench.measure.engine.workload import Settings, Workload
from bench.measure.models import run as models_run
from bench.measure.models.fleet import Claims
from bench.measure.models.run import RunRequest, measure
from bench.measure.models.selection import fleet_name
from bench.query.comparison.sides import find_sides
from bench.query.tables import newest_runs
from bench.warehouse import environment, recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.locks import STALE_S
from bench.warehouse.remote.places import Folder
from bench.warehouse.store import Store

from ...builders import stored
from ...exhaustive import exhaustive

SETTINGS = Settings(repeat=2, timeout_s=100.0)


@pytest.fixture(autouse=True)
def commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "git", lambda folder=None: ("c0ffee", "main", True))


@pytest.fixture
def plan(workload: Any) -> list[Workload]:
    return [workload(name=f"model {number}") for number in range(5)]


def claims(root: Path, plan: Sequence[Workload], run_id: str = "run", settings: Settings = SETTINGS) -> Claims:
    return Claims(Folder(root), "night", plan, settings, run_id)


def names(workloads: Any) -> list[str]:
    return [workload.name for workload in workloads]


def test_a_workload_has_one_claimant(tmp_path: Path, plan: list[Workload]) -> None:
    """Who comes second gets what is left; what was measured stays claimed, also by later runs of the same machine."""
    first, second = claims(tmp_path, plan, "a"), claims(tmp_path, plan, "b")
    turns, others = first.of(plan), second.of(plan)
    got = [next(turns), next(others), next(turns)]

    assert names(got) == ["model 0", "model 1", "model 2"]
    assert names(others) == ["model 3", "model 4"] and names(turns) == []
    assert names(claims(tmp_path, plan).of(plan)) == []
    said: list[str] = []
    second.report(said.append)
    assert said == [f"{os.uname().nodename} measured 2 of the plan's workloads, in run a"]


def test_many_at_once_never_claim_the_same(tmp_path: Path, workload: Any) -> None:
    """Whoever makes the file first has it; together they have all."""
    plan = [workload(name=f"model {number}") for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda run: names(claims(tmp_path, plan, str(run)).of(plan)), range(8)))

    assert sorted(name for each in got for name in each) == sorted(names(plan))


def test_other_settings_or_cases_or_code_are_another_plan(
    tmp_path: Path, plan: list[Workload], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the same name, which is said; the time allowed changes no figure and no plan."""
    assert len(names(claims(tmp_path, plan).of(plan))) == 5
    assert names(claims(tmp_path, plan, settings=dataclasses.replace(SETTINGS, timeout_s=5.0)).of(plan)) == []
    assert len(names(claims(tmp_path, plan, settings=dataclasses.replace(SETTINGS, seed=1)).of(plan))) == 5
    assert len(names(claims(tmp_path, plan[:4]).of(plan[:4]))) == 4
    (tmp_path / "net.py").write_text("x = 1")
    files = [dataclasses.replace(workload, target=f"{tmp_path}/net.py:Net") for workload in plan]
    assert len(names(claims(tmp_path, files).of(files))) == 5
    monkeypatch.setattr(environment, "git", lambda folder=None: ("beef", "main", False))
    mine, said = claims(tmp_path, plan), list[str]()
    assert len(names(mine.of(plan))) == 5

    mine.report(said.append)
    assert said == ["4 other plans are measured under this name: of other cases or settings, or of other code"]


def claimed(root: Path, plan: list[Workload], silent_s: float = 0.0, **changes: Any) -> None:
    """One workload claimed by another machine, which then fell silent."""
    next(claims(root, plan, "other").of(plan))
    (path,) = root.glob("claims/*/*/*.0001")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    os.utime(path, (time.time() - silent_s,) * 2)


def gone() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("elsewhere", ["host", "boot", "processes"])
def test_who_is_elsewhere_keeps_a_claim_while_its_heart_beats(
    elsewhere: str, tmp_path: Path, plan: list[Workload]
) -> None:
    """The number of a process says nothing on another host, after a boot, or in another namespace of processes."""
    claimed(tmp_path, plan, STALE_S - 60, **{elsewhere: "elsewhere"}, pid=gone())
    mine, said = claims(tmp_path, plan), list[str]()
    assert names(mine.of(plan[:1])) == []
    mine.report(said.append)
    assert "holds 1 of the plan's workloads, last heard of at 20" in said[0] and "UTC, in run other" in said[0]

    claimed(tmp_path / "late", plan, STALE_S + 1, **{elsewhere: "elsewhere"})
    assert names(claims(tmp_path / "late", plan).of(plan[:1])) == ["model 0"]


def test_a_claim_that_is_held_is_touched(tmp_path: Path, plan: list[Workload], monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as its process lives, whatever it does; not once it was given back, which would make it again."""
    monkeypatch.setattr(room, "HEARTBEAT_S", 0.01)
    mine = claims(tmp_path, plan)
    next(mine.of(plan))
    (path,) = tmp_path.glob("claims/*/*/*.0001")
    os.utime(path, (1.0, 1.0))
    deadline = time.monotonic() + 120
    while path.stat().st_mtime == 1.0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert time.time() - path.stat().st_mtime < 60
    mine.give_back()
    assert mine._heart is not None and mine._heart.is_alive() and not path.exists()


@pytest.mark.skipif(
    subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True, check=False).returncode != 0 if shutil.which("unshare")
    else True, reason="this machine lets nobody make a namespace of processes",
)  # fmt: skip
def test_a_claim_from_a_real_namespace_of_processes(tmp_path: Path, plan: list[Workload]) -> None:
    """Process 2 of the namespace is another process here, or none."""
    script = """
import os, sys
from bench.measure.engine.claims import Holder
from bench.warehouse import environment
sys.stdout.write(Holder("other", os.getpid(), **environment.machine()).to_json().decode())
"""
    line = ["unshare", "-p", "-f", sys.executable, "-c", script]
    holder = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
    assert holder["host"] == os.uname().nodename and holder["pid"] < 10
    claimed(tmp_path, plan, **holder)
    assert names(claims(tmp_path, plan).of(plan[:1])) == []


@pytest.mark.parametrize("content", ["", "[]", '{"pid": "x"}', "[" * 9999, '{"until": 5}', "\x00"])
def test_a_claim_that_cannot_be_read_is_one(content: str, tmp_path: Path, plan: list[Workload]) -> None:
    """Of somebody unknown, until nobody has touched it for ten minutes."""
    claimed(tmp_path, plan)
    (path,) = tmp_path.glob("claims/*/*/*.0001")
    path.write_text(content)
    mine, said = claims(tmp_path, plan), list[str]()
    assert names(mine.of(plan[:1])) == []
    mine.report(said.append)
    assert said[0].startswith("another machine holds 1 of the plan's workloads")
    os.utime(path, (1.0, 1.0))
    assert names(mine.of(plan[:1])) == ["model 0"]


def test_a_process_of_this_host_that_died_is_noticed_at_once(tmp_path: Path, plan: list[Workload]) -> None:
    """Of several who notice, one takes its place; and one who takes it may die, too."""
    for turn in range(3):
        next(claims(tmp_path, plan, f"run {turn}").of(plan))
        path = max(tmp_path.glob("claims/*/*/*.0*"))
        assert path.name.endswith(f".{turn + 1:04d}")
        assert names(claims(tmp_path, plan).of(plan[:1])) == []
        path.write_text(json.dumps({**json.loads(path.read_text()), "pid": gone()}))


def test_what_is_given_back_is_anybodys(tmp_path: Path, plan: list[Workload]) -> None:
    """As after Ctrl-C; what was measured before stays measured."""
    first = claims(tmp_path, plan)
    turns = first.of(plan)
    next(turns), next(turns)
    first.give_back()
    first.give_back()

    assert names(claims(tmp_path, plan).of(plan)) == [f"model {number}" for number in range(1, 5)]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "two words", "n" * 101])
def test_a_name_is_part_of_a_path(name: str) -> None:
    """And of no other."""
    with pytest.raises(BenchError, match="cannot name a fleet"):
        fleet_name(name)
    assert fleet_name("nightly-2026-11-22") == "nightly-2026-11-22"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measure a plan as one machine of a fleet; returns the exit code."""
    monkeypatch.setattr(runner, "Runner", functools.partial(runner.Runner, program="fake_program:FakeProgram"))
    monkeypatch.setattr(models_run, "_need_torch", lambda: None)

    def run(plan: list[Workload], fleet: str = "night", config: str = "c") -> int:
        wanted = RunRequest(store=Store(tmp_path), config=config, tags={}, lock="off", fmt="csv", fleet=fleet)
        return measure(plan, SETTINGS, wanted)

    return run


def cases(store: Store) -> list[tuple[str, ...]]:
    return stored("SELECT name, backend FROM cases ORDER BY ALL", store)


def only(count: int) -> Any:
    """A way to claim so many workloads and no more, as if others were faster."""
    take, left = Claims.take, iter(range(count))
    return lambda self, key: next(left, None) is not None and take(self, key)


@exhaustive
def test_machines_that_share_a_plan_are_one_side(
    machine: Any, plan: list[Workload], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """Their runs measured different cases; together they are what one machine would have measured, and compare as such."""
    store = Store(tmp_path)
    for fleet in ("night-1", "night-2"):
        with monkeypatch.context() as patched:
            patched.setattr(Claims, "take", only(2))
            assert machine(plan, fleet) == 0
        assert machine(plan, fleet) == 0
    assert machine(plan, "night-2") == 0
    assert "the whole plan is claimed: nothing was measured" in capsys.readouterr().err

    assert cases(store) == sorted([(w.name, side) for w in plan for side in w.backends] * 2)
    with Warehouse.open(store) as warehouse:
        runs = [run_id for (run_id,) in warehouse.rows("SELECT run_id FROM runs ORDER BY run_id")]
        assert len(runs) == 4
        base, candidate = find_sides(warehouse, runs[0], runs[3])
        assert (set(base.runs), set(candidate.runs)) == (set(runs[:2]), set(runs[2:]))
        compared = warehouse.rows(
            "SELECT count(DISTINCT case_id), bool_and(verdict NOT LIKE 'ONLY%') FROM comparisons(?, ?)"
            " WHERE metric = 'latency' AND phase = 'steady'",
            [list(base.runs), list(candidate.runs)],
        )
        assert compared == [(2 * len(plan), True)]
        assert newest_runs(warehouse, "speedups") == runs[2:]


@exhaustive
def test_an_interrupted_machine_leaves_the_rest_to_others(
    machine: Any, plan: list[Workload], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It announces no case that it has not claimed, and the workload it was at is measured whole by another."""
    real, calls = runner.Runner.func, 0  # type: ignore[attr-defined]
    worker = real._worker

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return worker(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(real, "_worker", interrupted)
        with pytest.raises(KeyboardInterrupt):
            machine(plan)
    assert len(cases(Store(tmp_path))) == 4
    assert machine(plan) == 0

    ended = "SELECT name, count(*) FROM case_outcomes WHERE status = 'ok' GROUP BY 1"
    assert sorted(stored(ended, tmp_path)) == [(w.name, 2) for w in plan]


@pytest.mark.exhaustive
def test_a_fleet_of_one_is_a_run_like_any_other(machine: Any, plan: list[Workload], tmp_path: Path) -> None:
    """With its name among the tags, and its settings once."""
    assert machine(plan[:2]) == 0
    with Warehouse.open(Store(tmp_path)) as warehouse:
        assert warehouse.rows("SELECT tags ->> 'fleet' FROM runs") == [("night",)]
        assert warehouse.rows("SELECT count(*) FROM metrics WHERE metric = 'seed'") == [(1,)]
    assert recorder.uuid7() > max(path.name for path in (tmp_path / "events" / "runs").iterdir())
