"""Runs of several processes: one run, whoever records into it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import bench
import pytest

from ...builders import stored
from ...exhaustive import exhaustive

pytestmark = pytest.mark.usefixtures("nothing_derived")

ROOT = Path(__file__).parents[3]
SPAWNS = """
import multiprocessing, sys
import bench

run = bench.run("main", store=sys.argv[1])

def work(n):
    run.case("child").timing(n)

if __name__ == "__main__":
    with run:
        run.case("parent").timing(1)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.map(work, [2, 3])
"""
RANKED = """
import sys
import bench

with bench.run("main", store=sys.argv[1]) as run:
    run.case("step", parameters={"size": 8}).timing(1)
    sys.exit(int(sys.argv[2]))
"""
LAUNCHER = """
import os, subprocess, sys
started = [
    subprocess.Popen([sys.executable, *sys.argv[2:]], env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)})
    for rank in range(int(sys.argv[1]))
]
sys.exit(max(process.wait() for process in started))
"""


def python(*words: str, **variables: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".types"), **variables}
    return subprocess.run([sys.executable, *words], env=environment).returncode


@pytest.mark.usefixtures("derived")
def test_spawned_children_leave_no_runs_of_their_own(tmp_path: Path) -> None:
    """They import the script, and what they record is of the run that their parent began."""
    (tmp_path / "script.py").write_text(SPAWNS)

    assert python(str(tmp_path / "script.py"), str(tmp_path / "store")) == 0
    assert stored("SELECT config, status FROM run_summaries", tmp_path / "store") == [("main", "ok")]
    assert stored("SELECT name, n FROM cells ORDER BY name", tmp_path / "store") == [("child", 2), ("parent", 1)]


def started(tmp_path: Path, code: int = 0) -> int:
    """Two ranks under one launcher, as torchrun starts them."""
    (tmp_path / "script.py").write_text(RANKED)
    words = (str(tmp_path / "script.py"), str(tmp_path / "store"), str(code))
    return python("-c", LAUNCHER, "2", *words, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")


@exhaustive
@pytest.mark.usefixtures("derived")
def test_ranks_are_one_run_with_the_rank_as_an_axis(tmp_path: Path) -> None:
    """Another start of the program is another run."""
    assert started(tmp_path) == 0
    assert started(tmp_path) == 0

    runs = stored("SELECT status, cases FROM run_summaries", tmp_path / "store")
    assert runs == [("ok", 2), ("ok", 2)]
    found = stored("SELECT DISTINCT name, parameters::VARCHAR FROM cells ORDER BY 2", tmp_path / "store")
    assert [(name, json.loads(given)) for name, given in found] == [
        ("step", {"rank": 0, "size": 8}), ("step", {"rank": 1, "size": 8}),
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_a_script_that_ends_with_a_code_has_failed(tmp_path: Path) -> None:
    """`sys.exit(3)` within a run; and so has a run of which a rank ends so."""
    assert started(tmp_path, 3) == 3
    assert stored("SELECT status, reason FROM run_summaries", tmp_path / "store") == [("failed", "SystemExit: 3")]

    with pytest.raises(SystemExit), bench.run("own", store=tmp_path / "own") as run:
        sys.exit(3)
    assert run.status == "failed"
