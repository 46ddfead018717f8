"""Batch sizes that fit: halved until they do, every try a row, and no try can take more memory than there is."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bench.measure.engine.runner import Runner
from bench.measure.engine.trial import take_steps
from bench.measure.engine.workload import AUTO, Job, Settings
from bench.measure.models.batch_sizes import fitted
from bench.measure.models.options import batch_size
from bench.measure.system.memory_limit import free_bytes
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError

from ...builders import stored
from ...exhaustive import exhaustive, first_of
from ..fake_program import FakeProgram


class Tries:
    """A runner whose tries end as told, one after the other."""

    def __init__(self, *ends: str) -> None:
        self.ends, self.sizes = iter(ends), list[int]()

    def tried(self, workload: Any) -> tuple[str, str]:
        self.sizes.append(workload.batch_size)
        return next(self.ends), "why"


def find(store: Path, runner: Any, *plan: Any) -> list[Any]:
    with recorder.run("t", store=store, source="measure") as run:
        return fitted(plan, run, cast(Runner, runner), lambda text: None)


def outcomes(store: Path) -> list[tuple[Any, ...]]:
    return stored(
        "SELECT batch_size, backend, status, reason FROM case_outcomes WHERE kind = 'performance' ORDER BY 1 DESC, 2 DESC",
        store,
    )


def test_a_size_is_found_by_workers_and_then_measured(tmp_path: Path, workload: Any) -> None:
    """A size that does not fit is skipped with the reason, and no failure; all backends measure the size that fits."""
    with recorder.run("t", store=tmp_path, source="measure") as run:
        runner = Runner(run, Settings(repeat=5, budget_s=0.1), program="fake_program:FakeProgram")
        plan = fitted([replace(workload(fits=512), batch_size=AUTO)], run, runner, lambda text: None)
        failed = runner.measure(plan)

    (tried, *measured) = outcomes(tmp_path)
    assert failed == 0
    assert tried == (1024, "eager", "skipped", "does not fit: OOM: MemoryError: no room for eager")
    assert [row[:3] for row in measured] == [(512, "eager", "ok"), (512, "candidate", "ok")]


def test_killed_and_too_slow_do_not_fit_either(tmp_path: Path, workload: Any) -> None:
    """The kernel's way to say so, and that of patience."""
    runner = Tries("killed", "timeout", "OOM", "ok")
    (found,) = find(tmp_path, runner, replace(workload(), batch_size=AUTO))

    assert runner.sizes == [1024, 512, 256, 128]
    assert (found.batch_size, found.bounded) == (128, True)
    assert [row[3] for row in outcomes(tmp_path)] == [f"does not fit: {x}: why" for x in ("killed", "timeout", "OOM")]


@exhaustive
@pytest.mark.parametrize("status", first_of(1, ["fail_to_run", "crashed", "model_fail_to_load"]))
def test_what_fails_otherwise_is_not_tried_smaller(tmp_path: Path, workload: Any, status: str) -> None:
    """It is left to the measurement, which records why."""
    (found,) = find(tmp_path, Tries(status), replace(workload(), batch_size=AUTO))

    assert found.batch_size == 1024
    assert outcomes(tmp_path) == []


def test_one_row_that_does_not_fit_is_measured_and_fails(tmp_path: Path, workload: Any) -> None:
    """There is nothing smaller."""
    (found,) = find(tmp_path, Tries(*["OOM"] * 11), replace(workload(), batch_size=AUTO))

    assert found.batch_size == 1


def test_a_size_that_is_named_as_well_is_measured_once(tmp_path: Path, workload: Any) -> None:
    """By the backends of both."""
    plan = [replace(workload("eager", "a"), batch_size=AUTO), replace(workload("eager", "b"), batch_size=1024)]

    (found,) = find(tmp_path, Tries("ok"), *plan)

    assert found.backends == ("eager", "a", "b")


def test_a_bounded_process_gets_no_more_than_its_share() -> None:
    """An exception there, rather than the end of something else."""
    code = (
        "from bench.measure.system.memory_limit import bound, free_bytes\n"
        "size = free_bytes()\n"
        "bound(0.1)\n"
        "bytearray(size // 100)\n"
        "try: bytearray(size // 5)\n"
        "except MemoryError: print('refused', open('/proc/self/oom_score_adj').read().strip())\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout == "refused 1000\n", done.stderr


def test_a_container_has_what_it_is_allowed(tmp_path: Path) -> None:
    """Beyond what it has; without a limit, what the kernel calls available."""
    groups = tmp_path / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    (groups / "memory.current").write_text("600\n")
    (groups / "memory.max").write_text("max\n")
    assert free_bytes(tmp_path) > 1000

    (groups / "memory.max").write_text("1000\n")
    assert free_bytes(tmp_path) == 400


def test_a_size_is_a_number_or_a_word() -> None:
    """Nothing else."""
    assert (batch_size("auto"), batch_size("8")) == (AUTO, 8)
    for text in ("0", "-1", "many"):
        with pytest.raises(BenchError, match="Write a number of 1 or more, auto or accuracy"):
            batch_size(text)


def test_a_try_holds_two_sides_as_the_measurement_will(workload: Any) -> None:
    """In training each has weights of its own: a size that fits once need not fit where it is compared."""
    held: list[str] = []

    class Program(FakeProgram):
        def prepare(self, backend: str) -> Any:
            held.append(backend)
            return super().prepare(backend)

    job = Job(run_id="r", store="", process=0, workload=workload(), settings=Settings(), program="", trial=True)
    told: list[tuple[str, str, str]] = []
    take_steps(job, Program, SimpleNamespace(enter=print, ended=lambda *ended: told.append(ended)))  # type: ignore[arg-type]

    assert held == ["eager", "eager"]
    assert told == [("eager", "performance", "ok")]
