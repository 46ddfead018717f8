"""A process looked at from outside: what is recorded, what it cost, and however it or the sampler ends."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.engine.runner import Runner
from bench.measure.engine.workload import Settings
from bench.measure.system import process_tree
from bench.measure.system.nvml import GpuUse, Nvml
from bench.measure.system.process_sampler import ProcessSampler, cpu_between, sampled
from bench.measure.system.process_tree import Look, ProcessEnded, ProcessTree
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError
from bench.warehouse.journals.parts import NeverBegun
from bench.warehouse.journals.reader import read
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive
from ...warehouse.strategies import rows_of

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that holds 20 MB and waits."""
    code = "b = bytearray(20 << 20); print('ready', flush=True); import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def ended() -> int:
    """The number of a process that was."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


class Proc:
    """A /proc of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        pid: int,
        *,
        pages: int = 1,
        ticks: int = 0,
        state: str = "S",
        name: str = "p",
        children: str = "",
        group: int = 0,
    ) -> None:
        of = self.folder / str(pid)
        (of / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
        (of / "task" / str(pid) / "children").write_text(children)
        (of / "stat").write_text(f"{pid} ({name}) {state} " + " ".join(["0"] * 10) + f" {ticks} 0 " + "0 " * 30)
        (of / "statm").write_text(f"900 {pages} 3 4 5 6 7\n")
        (of / "cmdline").write_bytes(b"")
        (of / "status").write_text(f"Name:\t{name}\nTgid:\t{group or pid}\n")


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    load(Store.find(store))
    return stored(query, store)


def test_a_tree_is_the_process_and_all_below_it(tmp_path: Path) -> None:
    """Grandchildren too; one that ended is left out, and a name may hold anything."""
    proc = Proc(tmp_path)
    proc.add(1, pages=5, ticks=3, name="a) R 1 (b", children="2 4 ")
    proc.add(2, pages=7, ticks=2, children="3 ")
    proc.add(3, pages=11)
    proc.add(4, state="Z", pages=100)

    tree = ProcessTree(1, tmp_path)
    look = tree.look()

    assert (look.rss_bytes, look.tree_bytes) == (5 * PAGE, 23 * PAGE)
    assert look.cpu_ns == {1: 3 * process_tree.TICK_NS, 2: 2 * process_tree.TICK_NS, 3: 0}
    assert tree.command() == "a) R 1 (b"


def test_a_process_that_ends_is_said(tmp_path: Path) -> None:
    """Gone from /proc, a zombie that nobody has waited for, or one that has given its memory back already: no 0 bytes."""
    proc = Proc(tmp_path)
    proc.add(1)
    tree = ProcessTree(1, tmp_path)
    for ending in ({"pages": 0}, {"state": "Z"}):
        proc.add(1, **ending)
        with pytest.raises(ProcessEnded):
            tree.look()
    shutil.rmtree(tmp_path / "1")
    with pytest.raises(ProcessEnded):
        tree.look()


def test_use_of_cpu_is_what_was_added() -> None:
    """A process that is new counts from its beginning; one that ended, or whose number is another's now, not at all."""
    before = Look(0, 0, {1: 100, 2: 50, 3: 900})
    after = Look(0, 0, {1: 130, 3: 10, 4: 7})

    assert cpu_between(before, after) == 37


def test_what_is_no_process_of_a_program_is_refused(tmp_path: Path) -> None:
    """A thread has a number, too, and the kernel's processes have no memory of their own."""
    proc = Proc(tmp_path)
    proc.add(2, pages=0)
    proc.add(5, group=4)

    with pytest.raises(BenchError, match="has no memory of its own"):
        ProcessTree(2, tmp_path)
    with pytest.raises(BenchError, match="5 is a thread of process 4: attach to that"):
        ProcessTree(5, tmp_path)


@pytest.mark.parametrize(("pid", "words"), [(None, "there is no process"), (1, "belongs to user root")])
def test_a_process_one_cannot_look_at_is_refused(
    pid: int | None, words: str, ended: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, in one sentence."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    with pytest.raises(BenchError, match=words):
        ProcessTree(pid or ended)


def test_a_running_process_is_recorded_over_time(tmp_path: Path, child: "subprocess.Popen[bytes]") -> None:
    """Memory with its time, CPU use, and what looking cost; it ends with the process."""
    with recorder.run("r", store=tmp_path) as run:
        case = run.case("c")
        sampler = ProcessSampler(run, ProcessTree(child.pid), 50.0, case)
        assert not sampler.run(duration_s=0.6)
        child.kill()
        child.wait()
        assert sampler.run()
        sampler.close()

    readings = rows(
        tmp_path,
        "SELECT source, statistic, count(*) > 1, min(size_bytes) > 20e6, count(recorded_at) = count(*), max(case_id) NOT NULL "
        "FROM memory_samples GROUP BY ALL ORDER BY 1",
    )
    assert readings == [(source, "reading", True, True, True, True) for source in ("rss", "rss_tree")]
    metrics = dict(rows(tmp_path, "SELECT metric, max(value) FROM metrics GROUP BY 1"))
    assert metrics["cpu_utilization"] < 0.5
    assert 0 < metrics["sampler_utilization"] < 1
    assert metrics["sampler_missed"] is not None


def test_the_moment_after_the_last_look_is_no_stretch(
    tmp_path: Path, child: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sampler is at work in all of it: as a share of a core that would be 1. A short run has its cost all the same."""
    with recorder.run("r", store=tmp_path) as run:
        sampler = ProcessSampler(run, ProcessTree(child.pid), 50.0)
        sampler.run(duration_s=0.01)
        monkeypatch.setattr("bench.measure.system.process_sampler.COST_NS", 1)
        sampler.run(duration_s=0.0)
        sampler.close()

    assert rows(tmp_path, "SELECT count(*) FROM metrics WHERE metric = 'sampler_utilization'") == [(2,)]


def test_looks_that_came_due_while_one_lasted_are_counted(tmp_path: Path) -> None:
    """Not made up for, which would only make it worse."""

    class Slow:
        pid = os.getpid()

        def look(self) -> Look:
            time.sleep(0.05)
            return Look(1, 1, {})

    with recorder.run("r", store=tmp_path) as run:
        sampler = ProcessSampler(run, Slow(), 100.0)  # type: ignore[arg-type]
        sampler.run(duration_s=0.3)
        sampler.close()

    assert sampler.missed >= 3 * (sampler.looks - 1)


def test_gpus_that_the_tree_uses_are_recorded() -> None:
    """Memory of its processes; utilization of the whole GPU; others' GPUs are not looked at."""

    def process(pid: int, size: int | None) -> SimpleNamespace:
        return SimpleNamespace(pid=pid, usedGpuMemory=size)

    running = {0: [process(7, 100), process(8, 30), process(9, 1000)], 1: [process(9, 5)], 2: [process(7, None)]}
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 3,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: running[handle],
        NVMLError=LookupError,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=40),
    )

    assert Nvml(library).look({7, 8}) == [GpuUse(0, 130, 0.4)]


@exhaustive
def test_gpu_readings_become_rows(tmp_path: Path) -> None:
    """By device."""
    gpus = SimpleNamespace(look=lambda pids: [GpuUse(1, 130, 0.4)])
    with recorder.run("r", store=tmp_path) as run:
        sampler = ProcessSampler(run, ProcessTree(os.getpid()), 100.0, gpus=gpus)  # type: ignore[arg-type]
        sampler.run(duration_s=0.001)
        sampler.close()

    found = rows(tmp_path, "SELECT DISTINCT device_index, size_bytes FROM memory_samples WHERE source = 'nvml'")
    assert found == [(1, 130)]
    found = rows(tmp_path, "SELECT DISTINCT value, unit FROM metrics WHERE metric = 'gpu_utilization:1'")
    assert found == [(0.4, "ratio")]


def test_sampling_beside_a_block_ends_with_it(tmp_path: Path, child: "subprocess.Popen[bytes]", ended: int) -> None:
    """Without a rate nothing is sampled, and a process that is gone already is no error."""
    with recorder.run("r", store=tmp_path) as run:
        for pid, hz in ((child.pid, 50.0), (child.pid, None), (ended, 50.0)):
            with sampled(run, pid, hz, run.case(f"{pid == ended} {hz}")):
                time.sleep(0.1)

    assert rows(tmp_path, "SELECT DISTINCT name FROM memory_samples JOIN cases USING (case_id)") == [("False 50.0",)]


@pytest.mark.exhaustive
def test_workers_of_measured_models_are_sampled_on_request(tmp_path: Path, workload: Any) -> None:
    """Of the run as a whole, because a worker's backends take turns."""
    with recorder.run("t", store=tmp_path) as run:
        Runner(run, Settings(repeat=16, sample_hz=50.0), program="fake_program:FakeProgram").measure([workload()])

    found = rows(tmp_path, "SELECT DISTINCT source, case_id FROM memory_samples WHERE statistic = 'reading' ORDER BY 1")
    assert found == [("rss", None), ("rss_tree", None)]


@pytest.mark.exhaustive
def test_a_traced_program_is_sampled_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program itself, not what started it."""
    (tmp_path / "program.py").write_text("import time\nkept = bytearray(40 << 20)\ntime.sleep(1)\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["measure", "memory", "--sample", "50", "--store", str(tmp_path / "store"), "program.py"]

    assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 0
    sizes = "SELECT max(size_bytes) > 40e6 FROM memory_samples WHERE source = 'rss' AND place IS NULL"
    assert rows(tmp_path / "store", sizes) == [(True,)]


ATTACH = (sys.executable, "-m", "bench", "measure", "attach")


def looks(store: Path) -> int:
    """How many are in the journal so far."""
    with contextlib.suppress(NeverBegun):
        for journal in EventLog(Store(store)).journals():
            return [row["source"] for row in rows_of(read(journal)).get("memory_samples", [])].count("rss")
    return 0


def attach(store: Path, pid: int) -> "subprocess.Popen[str]":
    """Attach in a process of its own, and wait until it has looked a few times."""
    command = [*ATTACH, str(pid), "--sample", "50", "--store", str(store), "--format", "csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "Stop with Ctrl-C" in process.stderr.readline()
    while looks(store) < 6:
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.exhaustive
def test_attach_ends_well_on_ctrl_c(tmp_path: Path, child: "subprocess.Popen[bytes]") -> None:
    """That is how one is meant to end it: exit code 0, a table, an outcome."""
    process = attach(tmp_path, child.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "rss_reading,bytes," in out
    assert rows(tmp_path, "SELECT status, reason FROM case_outcomes") == [("ok", "Ctrl-C")]
    assert child.poll() is None


@exhaustive
def test_attach_ends_with_the_process(tmp_path: Path, child: "subprocess.Popen[bytes]") -> None:
    """At once, though nobody has waited for it yet."""
    process = attach(tmp_path, child.pid)
    child.kill()
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert rows(tmp_path, "SELECT status, reason FROM case_outcomes") == [("ok", "the process ended")]


@pytest.mark.exhaustive
def test_a_killed_sampler_leaves_what_it_saw(tmp_path: Path, child: "subprocess.Popen[bytes]") -> None:
    """Every row is in the journal as soon as it is read."""
    process = attach(tmp_path, child.pid)
    process.kill()
    process.communicate()

    assert rows(tmp_path, "SELECT count(*) > 5 FROM memory_samples WHERE source = 'rss'") == [(True,)]
    assert rows(tmp_path, "SELECT status FROM case_outcomes") == [("interrupted",)]


def test_attach_says_what_it_cannot_attach_to(ended: int) -> None:
    """Exit code 2, and one sentence."""
    done = subprocess.run([*ATTACH, str(ended)], capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: there is no process {ended}.")
