"""However a worker or the runner ends, every case has an outcome and every sample taken is kept."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.engine.messages import status_of
from bench.measure.engine.runner import End, Runner
from bench.measure.engine.runner_overhead import OwnCost
from bench.measure.engine.workload import Settings, Workload
from bench.warehouse import recorder
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

from ...builders import stored
from ...exhaustive import exhaustive, first_of

PROGRAM = "fake_program:FakeProgram"
QUICK = Settings(repeat=16, budget_s=0.5, timeout_s=60.0)


@pytest.fixture
def hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A parameter `pid_file`: the time of a worker that is about to hang is over then, on a busy machine as on an idle one."""
    note = tmp_path / "hung"

    class Queue(queue.SimpleQueue[None]):
        def get(self, block: bool = True, timeout: float | None = None) -> None:
            for _ in range(int(100 * (timeout or 0))):
                if note.exists():
                    note.unlink()
                    break
                with contextlib.suppress(queue.Empty):
                    return super().get(timeout=0.01)
            raise queue.Empty

    monkeypatch.setattr("bench.measure.engine.runner.queue", SimpleNamespace(SimpleQueue=Queue, Empty=queue.Empty))
    return note


def measure(store: Path, *plan: Workload, settings: Settings = QUICK) -> int:
    with recorder.run("t", store=store, source="measure") as run:
        return Runner(run, settings, program=PROGRAM).measure(plan)


def outcomes(store: Path) -> dict[tuple[str, str], dict[str, Any]]:
    names = ("status", "reason", "phase", "exit_code", "signal", "exception", "message", "stderr_tail")
    rows = stored(f"SELECT name, backend, {', '.join(names)} FROM case_outcomes WHERE kind = 'performance'", store)
    return {(name, backend): dict(zip(names, rest, strict=True)) for name, backend, *rest in rows}


def steady(store: Path, backend: str) -> int:
    query = "SELECT count(*) FROM timings JOIN cases USING (run_id, case_id) WHERE backend = ? AND phase = 'steady'"
    return int(stored(query, store, [backend])[0][0])


def test_a_workload_that_works_ends_ok(tmp_path: Path, workload: Any) -> None:
    """Both sides have their samples, phases in order, and an outcome that says why sampling stopped."""
    assert measure(tmp_path, workload()) == 0

    found = outcomes(tmp_path)
    assert [found["fake", side]["status"] for side in ("eager", "candidate")] == ["ok", "ok"]
    assert "16 blocks" in found["fake", "candidate"]["reason"]
    with Warehouse.open(Store(tmp_path)) as warehouse:
        phases = warehouse.rows("SELECT DISTINCT phase FROM timings ORDER BY 1")
        announced = warehouse.rows("SELECT count(*), count(DISTINCT case_id) FROM cases")
        blocks = warehouse.rows("SELECT DISTINCT count(*) FROM timings WHERE phase = 'steady' GROUP BY block")
    assert phases == [("cold",), ("steady",), ("warmup",)]
    assert announced == [(2, 2)], "each case is announced once"
    assert blocks == [(2,)], "every block holds both sides"


@pytest.mark.parametrize(
    ("deed", "expected"),
    [
        pytest.param(
            "raise",
            {"status": "fail_to_run", "reason": "RuntimeError: no kernel for this", "exception": "RuntimeError"},
            marks=exhaustive,
        ),
        pytest.param("oom", {"status": "OOM", "exception": "MemoryError"}, marks=exhaustive),
        ("sigkill", {"status": "killed", "signal": signal.SIGKILL}),
        pytest.param("segfault", {"status": "crashed", "signal": signal.SIGSEGV}, marks=exhaustive),
        pytest.param(
            "exit",
            {"status": "fail_to_run", "exit_code": 3, "reason": "worker ended with exit code 3: the last words"},
            marks=exhaustive,
        ),
    ],
)
def test_a_backend_that_dies_in_its_first_call_has_an_outcome(
    tmp_path: Path, workload: Any, deed: str, expected: dict[str, Any]
) -> None:
    """It alone gets the blame: the baseline is measured all the same, and so is the next workload."""
    failed = measure(tmp_path, workload(candidate=f"{deed}@1"), workload(name="next"))

    found = outcomes(tmp_path)
    assert failed == 1
    assert found["fake", "candidate"] | expected == found["fake", "candidate"]
    assert found["fake", "candidate"]["phase"] == "cold"
    assert len(found["fake", "candidate"]["stderr_tail"] or "") <= 4096
    assert {found[case]["status"] for case in [("fake", "eager"), ("next", "eager"), ("next", "candidate")]} == {"ok"}


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("/a/compile_fx.py:20: UserWarning: TF32 is off\n  warnings.warn(\n", "worker ended with exit code 3"),
        (
            "/a/functions.py:2431: UserWarning: Dynamo cannot trace `posix._exit.`\nIf it is a builtin, file an issue.\n"
            "If it is an extension, wrap it.\n  torch._dynamo.utils.warn_once(explanation)\n",
            "worker ended with exit code 3",
        ),
        (
            "a.py:1: UserWarning: no source\nTraceback (most recent call last):\n  File 'a.py'\nValueError: no\n",
            "worker ended with exit code 3: ValueError: no",
        ),
        ("W1128 02:02:03.001000 17 a/utils.py:9] [0/0] Not enough SMs\n", "worker ended with exit code 3"),
        (
            "fatal: no licence\na.py:2: DeprecationWarning: old\n  f()\n",
            "worker ended with exit code 3: fatal: no licence",
        ),
        ("Warning: disk full\n", "worker ended with exit code 3: Warning: disk full"),
    ],
)
def test_a_warning_is_no_reason_of_an_end(stderr: str, expected: str) -> None:
    """Compilers warn of much that ends nothing; what the program itself printed last is told."""
    end = End(exit_code=3, signal=None, timed_out=False, stderr_tail=stderr)

    assert end.details(1.0) == ("fail_to_run", expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", [1, 2, 40], ids=["cold", "warmup", "steady"])
def test_who_takes_the_device_along_fails_alone(tmp_path: Path, workload: Any, call: int) -> None:
    """Nothing else runs in that process any more: the others are measured in another."""
    its = workload("eager", "candidate", "other", candidate=f"lose@{call}")
    failed = measure(tmp_path, its, settings=Settings(repeat=60, budget_s=0.5, timeout_s=60.0))

    found = {backend: row["status"] for (_, backend), row in outcomes(tmp_path).items()}
    assert (failed, found) == (1, {"eager": "ok", "candidate": "fail_to_run", "other": "ok"})


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("deed", "status", "reason"),
    [
        ("raise", "fail_to_run", "RuntimeError: no kernel for this"),
        ("oom", "OOM", "MemoryError"),
        ("hang", "timeout", "longer than the 60 s allowed"),
        ("segfault", "crashed", "worker ended by SIGSEGV"),
        ("sigkill", "killed", "worker ended by SIGKILL, which is what the kernel sends when memory runs out"),
    ],
)
def test_a_failure_among_the_samples_loses_none_of_them(
    tmp_path: Path, workload: Any, hung: Path, deed: str, status: str, reason: str
) -> None:
    """Five of the seven ends: status, reason, phase, last words and the samples so far are there; the plan goes on."""
    settings = Settings(repeat=200, budget_s=0.2, timeout_s=60.0)
    ends = workload(candidate=f"{deed}@180", **({"pid_file": str(hung)} if deed == "hang" else {}))
    assert measure(tmp_path, ends, workload(name="next"), settings=settings) >= 1

    found = outcomes(tmp_path)
    ended = found["fake", "candidate"]
    assert (ended["status"], ended["reason"], ended["phase"]) == (status, reason, "steady")
    assert f"about to {deed}" in ended["stderr_tail"] or "Traceback" in ended["stderr_tail"]
    assert steady(tmp_path, "candidate") > 0
    assert found["next", "candidate"]["status"] == "ok"


@pytest.mark.exhaustive
def test_one_that_fails_among_the_samples_stops_no_other(tmp_path: Path, workload: Any) -> None:
    """The others are sampled without it, as long as they would have been."""
    work = workload("eager", "candidate", "another", candidate="raise@60")
    assert measure(tmp_path, work, settings=Settings(repeat=60, budget_s=0.2)) == 1

    found = outcomes(tmp_path)
    assert found["fake", "candidate"]["status"] == "fail_to_run"
    assert [found["fake", side]["status"] for side in ("eager", "another")] == ["ok", "ok"]
    assert "60 blocks" in found["fake", "another"]["reason"]
    ((n, twice),) = stored(
        "SELECT n, (SELECT count(*) FROM timings WHERE block IS NOT NULL GROUP BY case_id, block HAVING count(*) > 1)"
        " FROM speedups WHERE backend = 'another'",
        tmp_path,
    )
    assert n >= 60
    assert twice is None, "a block is one block"


@exhaustive
def test_a_worker_that_takes_too_long_is_ended(tmp_path: Path, workload: Any, hung: Path) -> None:
    """Status timeout for the backend at work; the baseline gets its own worker."""
    assert measure(tmp_path, workload(candidate="hang@1", pid_file=str(hung))) == 1

    found = outcomes(tmp_path)
    assert found["fake", "candidate"]["status"] == "timeout"
    assert found["fake", "candidate"]["reason"] == "longer than the 60 s allowed"
    assert found["fake", "eager"]["status"] == "ok"


@exhaustive
def test_a_model_that_cannot_be_built_fails_all_its_cases(tmp_path: Path, workload: Any) -> None:
    """With the exception's type and text."""
    assert measure(tmp_path, workload(load="no such layer")) == 2

    assert {(o["status"], o["message"]) for o in outcomes(tmp_path).values()} == {
        ("model_fail_to_load", "no such layer")
    }


@exhaustive
def test_a_missing_backend_is_a_skip_not_a_failure(tmp_path: Path, workload: Any) -> None:
    """With the reason and the cure."""
    assert measure(tmp_path, workload(candidate="missing")) == 0

    found = outcomes(tmp_path)["fake", "candidate"]
    assert (found["status"], found["reason"]) == ("skipped", "not installed. Install it with: pip install it")


@pytest.mark.exhaustive
def test_what_its_model_says_not_to_run_is_a_skip_without_a_worker(tmp_path: Path, workload: Any) -> None:
    """With the model's reason; the other backends are measured all the same."""
    skips = {"candidate": "takes an hour to compile"}
    hanging = replace(workload(candidate="hang@1"), skips=skips)
    nowhere = replace(workload("candidate", name="none", load="never reached"), skips=skips)
    assert measure(tmp_path, hanging, nowhere) == 0

    found = outcomes(tmp_path)
    assert found["fake", "eager"]["status"] == "ok"
    for name in ("fake", "none"):
        ended = found[name, "candidate"]
        assert (ended["status"], ended["reason"], ended["phase"]) == ("skipped", "takes an hour to compile", None)


@exhaustive
def test_a_wrong_output_is_fail_accuracy(tmp_path: Path, workload: Any) -> None:
    """The case fails, though its time is recorded."""
    assert measure(tmp_path, workload(candidate="wrong")) == 1

    query = "SELECT backend, status, reason FROM case_outcomes WHERE kind = 'accuracy' ORDER BY 1"
    rows = stored(query, tmp_path)
    assert rows == [("candidate", "fail_accuracy", "wrong for right"), ("eager", "pass", "equal")]
    assert outcomes(tmp_path)["fake", "candidate"]["status"] == "ok"


def judged(store: Path) -> dict[str, tuple[str, str | None]]:
    rows = stored("SELECT backend, status, reason FROM case_outcomes WHERE kind = 'accuracy'", store)
    return {backend: (status, reason) for backend, status, reason in rows}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("deeds", "eager", "candidate"),
    [
        ({"trust": "eager_two_runs_differ"}, "eager_two_runs_differ", "eager_two_runs_differ"),
        ({"eager": "raise@1"}, "eager_1st_run_fail", "eager_1st_run_fail"),
        ({"eager": "oom@1"}, "eager_1st_run_OOM", "eager_1st_run_OOM"),
        ({"candidate": "raise@1"}, "pass", "fail_to_run"),
        ({"candidate": "oom@1"}, "pass", "OOM"),
        ({"candidate": "segfault@1"}, "pass", "infra_error"),
        ({"load": "no such size"}, "model_fail_to_load", "model_fail_to_load"),
    ],
)
def test_accuracy_is_judged_however_a_side_ends(
    tmp_path: Path, workload: Any, deeds: dict[str, str], eager: str, candidate: str
) -> None:
    """By the statuses of PyTorch's own benchmark: what fails before its output is seen fails there, too."""
    measure(tmp_path, workload(**deeds))

    assert {side: status for side, (status, _) in judged(tmp_path).items()} == {"eager": eager, "candidate": candidate}


@pytest.mark.exhaustive
def test_a_timeout_before_the_output_is_one_of_accuracy_too(tmp_path: Path, workload: Any, hung: Path) -> None:
    """And what is judged by nobody, as its model asks, passes with the reason."""
    hanging = workload(candidate="hang@1", pid_file=str(hung))
    measure(tmp_path, replace(hanging, unchecked={"eager": "too large for float64"}))

    assert judged(tmp_path) == {
        "eager": ("pass_due_to_skip", "too large for float64"),
        "candidate": ("timeout", "longer than the 60 s allowed"),
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("deed", "why"),
    [
        ("segfault", "worker ended by SIGSEGV"),
        ("hang", "longer than the 60 s allowed"),
        ("lose", "an illegal memory access was encountered"),
    ],
)
def test_who_dies_of_the_reference_is_judged_without_one(
    tmp_path: Path, workload: Any, hung: Path, deed: str, why: str
) -> None:
    """No backend gets the blame of what none of them ran: another worker measures them, and the judgement says why so."""
    dying = {"pid_file": str(hung)} if deed == "hang" else {}
    assert measure(tmp_path, workload(reference=deed, **dying)) == 0

    assert {row["status"] for row in outcomes(tmp_path).values()} == {"ok"}
    assert judged(tmp_path)["eager"] == ("pass", f"float64 failed: {why}")


@pytest.mark.exhaustive
def test_eager_that_dies_of_itself_too_gets_the_blame_alone(tmp_path: Path, workload: Any) -> None:
    """In its own phase, and its backends are measured, with nothing to compare them with."""
    assert measure(tmp_path, workload(reference="segfault", eager="segfault@1")) == 2

    found = outcomes(tmp_path)
    assert (found["fake", "eager"]["status"], found["fake", "eager"]["phase"]) == ("crashed", "cold")
    assert found["fake", "candidate"]["status"] == "ok"
    assert judged(tmp_path)["candidate"][0] == "eager_1st_run_fail"


@pytest.mark.exhaustive
def test_a_baseline_that_is_not_judged_is_compared_with_all_the_same(tmp_path: Path, workload: Any) -> None:
    """Its output is what there is."""
    measure(tmp_path, replace(workload(candidate="wrong"), unchecked={"eager": "flaky"}))

    assert {side: status for side, (status, _) in judged(tmp_path).items()} == {
        "eager": "pass_due_to_skip",
        "candidate": "fail_accuracy",
    }


RUNNER = """
import sys
from bench.measure.engine.workload import Settings, Workload
from bench.measure.engine.messages import status_of
from bench.measure.engine.runner import End, Runner
from bench.warehouse import recorder

make = lambda name, **p: Workload(suite="tests", name=name, target="", mode="inference", device="cpu", dtype="float32",
                                  batch_size=1, sequence_length=None, backends=("eager", "candidate"), parameters=p)
plan = [make("fake", candidate="hang@360", pid_file=sys.argv[2]), make("later")]
with recorder.run("t", store=sys.argv[1], source="measure") as run:
    Runner(run, Settings(repeat=1000, budget_s=0.2), program="fake_program:FakeProgram").measure(plan)
"""


@exhaustive
@pytest.mark.parametrize("kill", first_of(1, [signal.SIGKILL, signal.SIGINT]))
def test_the_end_of_the_runner_loses_nothing(tmp_path: Path, kill: signal.Signals) -> None:
    """SIGKILL or Ctrl-C: every case of the plan is there, interrupted, with its samples; and no worker lives on."""
    pid_file = tmp_path / "pid"
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path / "store"), str(pid_file)], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()))
        runner.send_signal(kill)
        runner.wait(timeout=120)
        worker = int(pid_file.read_text())
        wait_until(lambda: not alive(worker))
    finally:
        runner.kill()

    with Warehouse.open(Store(tmp_path / "store")) as warehouse:
        query = """
            SELECT name, backend, coalesce(status, 'interrupted') FROM cases
            LEFT JOIN (FROM outcomes WHERE kind = 'performance') USING (run_id, case_id) ORDER BY ALL
        """
        found = warehouse.rows(query)
        ended = warehouse.rows("SELECT status FROM outcomes WHERE case_id IS NULL")
    assert found == [(name, side, "interrupted") for name in ("fake", "later") for side in ("candidate", "eager")]
    assert ended == ([("interrupted",)] if kill == signal.SIGINT else [])
    assert steady(tmp_path / "store", "candidate") > 50


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Any, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@pytest.mark.exhaustive
def test_the_runner_sleeps_while_a_worker_works(tmp_path: Path, workload: Any) -> None:
    """It neither polls nor spins: hardly any processor time in seconds of waiting."""
    with recorder.run("t", store=tmp_path) as run:
        runner = Runner(run, Settings(repeat=16, timeout_s=3.0), program=PROGRAM)
        before = os.times()
        runner.measure([workload("eager", eager="hang@4")])
        after = os.times()

    assert (after.user - before.user) + (after.system - before.system) < 0.5
    assert outcomes(tmp_path)["fake", "eager"]["reason"] == "longer than the 3 s allowed"
    query = "SELECT value FROM metrics WHERE metric = 'runner_cpu' AND case_id IS NULL"
    ((share,),) = stored(query, tmp_path)
    assert share < 0.01, "of a processor, while samples are taken"


def test_the_runners_own_cost_is_that_of_sampling_alone() -> None:
    """Processor time over time, of all stretches together; what lies between them does not count."""
    clock = {"now": 0.0, "cpu": 0.0}
    cost = OwnCost(lambda: clock["now"], lambda: clock["cpu"])
    assert cost.share is None

    for before, cpu, wall in ((9.0, 0.01, 1.0), (5.0, 0.02, 3.0)):
        clock["cpu"] += before
        cost.begin()
        clock["cpu"] += cpu / 2
        cost.begin()
        clock["cpu"] += cpu / 2
        clock["now"] += wall
        cost.end()
        cost.end()

    assert cost.share == pytest.approx(0.03 / 4)


@pytest.mark.exhaustive
def test_a_backend_that_finds_no_room_beside_others_is_tried_again_with_the_baseline_alone(
    tmp_path: Path, workload: Any
) -> None:
    """On a GPU, where all stay resident: the order of backends decides nothing. On a CPU its memory is what it is."""
    sides = ("eager", "candidate", "other")
    plan = [
        replace(workload(*sides, name="gpu", candidate="crowd"), device="cuda"),
        workload(*sides, candidate="crowd"),
    ]

    assert measure(tmp_path, *plan) == 1

    found = {name: one["status"] for name, one in outcomes(tmp_path).items()}
    assert {side: found["gpu", side] for side in sides} == dict.fromkeys(sides, "ok")
    assert (found["fake", "candidate"], found["fake", "other"]) == ("OOM", "ok")
    processes = stored(
        "SELECT backend, list_sort(list(DISTINCT process)) FROM timings JOIN cases USING (run_id, case_id)"
        " WHERE name = 'gpu' AND phase = 'steady' GROUP BY 1 ORDER BY 1",
        tmp_path,
    )
    assert processes == [("candidate", [1]), ("eager", [0, 1]), ("other", [0])]


@pytest.mark.exhaustive
def test_what_records_a_graph_is_judged_and_timed_by_the_call_that_replays_it(tmp_path: Path, workload: Any) -> None:
    """The third: the first runs without the graph, the second records it, and counts towards compiling."""
    assert measure(tmp_path, workload(candidate="graph")) == 0

    with Warehouse.open(Store(tmp_path)) as warehouse:
        judged = warehouse.rows("SELECT DISTINCT status FROM case_outcomes WHERE kind = 'accuracy'")
        phases = warehouse.rows(
            "SELECT phase, duration_ns > 3e7 FROM timings JOIN cases USING (run_id, case_id)"
            " WHERE backend = 'candidate' AND block IS NULL ORDER BY phase"
        )
        ((latency,),) = warehouse.rows("SELECT value FROM metrics WHERE metric = 'compile_latency'")
    assert judged == [("pass",)]
    assert [phase for phase, _ in phases] == ["cold", "compile", "warmup"]
    assert dict(phases)["compile"]
    assert latency > 0.02e9


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MemoryError(), "OOM"), (RuntimeError("CUDA error: out of memory"), "OOM"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), "OOM"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"), "OOM"),
        (RuntimeError("no kernel for this"), "fail_to_run"),
    ],
)  # fmt: skip
def test_memory_that_ran_out_is_known_in_every_wording(error: Exception, status: str) -> None:
    """Also where a compiler wraps the exception in one of its own."""
    wrapped = RuntimeError("backend='inductor' raised")
    wrapped.__cause__ = error

    assert (status_of(error), status_of(wrapped)) == (status, status)
