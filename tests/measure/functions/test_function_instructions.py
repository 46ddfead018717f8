"""Instructions of functions: those of a call alone, the same ones again, and a reason where they cannot be counted."""

import asyncio
import itertools
import os
import py_compile
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.engine.workload import Workload
from bench.measure.functions import instructions
from bench.measure.functions.instructions import counter_of, counts_of, instructions_of
from bench.measure.functions.program import Calls
from bench.measure.system.instructions import CannotCount, InstructionCounter
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive

WORK = """
import os, signal, threading

def nothing(n=1): pass
def adds(n=1): return sum(range(n))
def twice(n=1): return adds(n), adds(n)
def prints(n=1): print(n); os.write(1, b"also")
def dies(n=1): os.kill(os.getpid(), signal.SIGKILL)
def fails(n=1): raise ValueError("no such thing")
async def awaited(n=1): return adds(n)
def words(n=1): return sorted({f"{number}" for number in range(n)}, key=hash)
"""


def needs_valgrind(test: Any) -> Any:
    """Python takes 10 s to start under callgrind."""
    return exhaustive(pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")(test))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a module of functions, which is the present one."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "bench_test_counted.py").write_text(WORK)
    # As measuring its time leaves it: the heap of a process that compiles it is another.
    py_compile.compile(str(folder / "bench_test_counted.py"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


def workload(*names: str, **parameters: Any) -> Workload:
    """Functions of the module."""
    functions = tuple(f"bench_test_counted:{name}" for name in names)
    return Workload(
        suite="function", name="x", target="", mode="", device="", dtype="", batch_size=0, sequence_length=None,
        backends=functions, baseline=functions[0], parameters=parameters,
    )  # fmt: skip


def by_callgrind(name: str, **parameters: Any) -> list[float]:
    """The instructions of a call."""
    return instructions_of(workload(name, **parameters), f"bench_test_counted:{name}", "callgrind", 120.0)


def test_what_a_call_takes_is_counted_without_the_loop_around_it(loop: asyncio.AbstractEventLoop) -> None:
    """70 in a call of 10 by its own loop, 900 whatever is counted; calls are as many as take long enough."""
    calls = list[int]()

    def count(call: Callable[[], object]) -> int:
        before = len(calls)
        call()
        return 900 + 80 * (len(calls) - before)

    call = Calls(lambda: calls.append(1), (), {}, loop)
    found = list(itertools.islice(counts_of(call, count), 3))

    assert found == [80.0] * 3
    assert len(calls) == 1 + sum((1, 10, 100, 1000)) + 3 * instructions.MOST_CALLS


def test_the_kernel_counts_around_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: what it has executed after them, less what it had before."""
    counts = iter([100, 130, 200, 260])
    made: list[tuple[int, bool]] = []

    def init(self: InstructionCounter, pid: int, *, from_exec: bool = True) -> None:
        made.append((pid, from_exec))

    monkeypatch.setattr(InstructionCounter, "__init__", init)
    monkeypatch.setattr(InstructionCounter, "read", lambda self: next(counts))
    count = counter_of("perf", Path())

    assert [count(lambda: None), count(lambda: None)] == [30, 60]
    assert made == [(0, False)]


@needs_valgrind
def test_a_fixed_workload_repeats_within_a_thousandth() -> None:
    """In two processes, where sets of texts have one order; twice the work is twice as much."""
    once, again, twice = by_callgrind("words", n=100), by_callgrind("words", n=100), by_callgrind("twice", n=300)
    single = by_callgrind("adds", n=300)

    assert max(once + again) <= 1.001 * min(once + again)
    assert twice[0] == pytest.approx(2 * single[0], rel=0.1)


@needs_valgrind
def test_what_is_awaited_is_counted_to_its_end() -> None:
    """And what a function prints is no answer."""
    assert by_callgrind("awaited", n=300)[0] > by_callgrind("adds", n=300)[0]
    assert by_callgrind("prints")[0] > 0


@needs_valgrind
@pytest.mark.parametrize(("name", "reason"), [("fails", "ValueError: no such thing"), ("dies", "ended with -9")])
def test_a_function_that_fails_says_why(name: str, reason: str) -> None:
    """Instead of a count."""
    with pytest.raises(CannotCount, match=reason):
        by_callgrind(name)


@needs_valgrind
def test_counting_ends_at_the_timeout() -> None:
    """Which is that of a process."""
    with pytest.raises(CannotCount, match="allowed: give a longer --timeout"):
        instructions_of(workload("adds"), "bench_test_counted:adds", "callgrind", 0.1)


@exhaustive
def test_they_are_a_metric_beside_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each function that did not fail, three times; a reason is recorded and said once."""
    asked = list[str]()

    def counted(workload: Workload, backend: str, kind: str, timeout_s: float) -> list[float]:
        asked.append(backend.partition(":")[2])
        if kind == "perf":
            raise CannotCount("no counters here")
        return [70.5, 70.5, 70.6]

    monkeypatch.setattr(instructions, "instructions_of", counted)
    monkeypatch.syspath_prepend(os.getcwd())
    functions = [f"bench_test_counted:{name}" for name in ("adds", "fails", "nothing")]
    usual = ["measure", "function", *functions, "--processes", "1", "--repeat", "6"]
    done = CliRunner().invoke(cli, [*usual, "--instructions", "callgrind"], standalone_mode=False)

    assert done.return_value == 1, done.output
    assert asked == ["adds", "nothing"]
    assert "adds: a call takes 70.5 instructions (n=3, within 0.14 %)\n" in done.stderr
    assert "nothing: a call takes 70.5 instructions, 1x those of the first (n=3, within 0.14 %)\n" in done.stderr
    found = "SELECT backend, value, unit, better FROM metrics JOIN cases USING (run_id, case_id) WHERE metric = 'instructions'"
    assert stored(f"{found} ORDER BY ALL") == [
        (f"bench_test_counted:{name}", value, "count", "lower")
        for name in ("adds", "nothing")
        for value in (70.5, 70.5, 70.6)
    ]
    done = CliRunner().invoke(cli, [*usual, "--instructions"], standalone_mode=False)
    assert done.stderr.count("instructions were not counted: no counters here") == 1
    assert stored("SELECT count(*), any_value(original_value) FROM metrics WHERE metric = 'instructions_skipped'") == [
        (2, "no counters here")
    ]


def test_this_python_is_the_one_that_counts() -> None:
    """Without valgrind, or where it is not asked: the process has no other interpreter, and says what the kernel says."""
    try:
        counts = instructions_of(workload("adds", n=300), "bench_test_counted:adds", "perf", 120.0)
    except CannotCount as error:
        pytest.skip(f"{sys.executable}: {error}")
    assert max(counts) <= 1.001 * min(counts)
