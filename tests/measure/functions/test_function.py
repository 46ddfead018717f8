"""`bench measure function`: functions in fresh processes, compared, checked, and however they end."""

import asyncio
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
from bench.cli import cli
from bench.measure.engine.estimate import Estimate, combined, process_estimate, ratio_of
from bench.measure.engine.runner import Runner
from bench.measure.engine.workload import Settings, Workload
from bench.measure.functions.options import argument_of
from bench.measure.functions.program import Calls, CheckedProgram, FunctionProgram, Here, same
from bench.measure.functions.report import FunctionResult as Row
from bench.measure.functions.targets import resolved
from bench.warehouse.errors import BenchError, UnknownName
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive, first_of

WORK = """
import asyncio, os, signal, sys, time

def short(n=1): return n * 2
def long(n=1): time.sleep(0.002); return n * 2
def wrong(n=1): return n * 3
def crash(n=1): os.kill(os.getpid(), signal.SIGSEGV)
def fails(n=1): raise ValueError("no such thing")
def dies_once(n=1):
    if not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return n * 2
def unprintable(n=1): raise type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})
def forks(): os.fork()
def reads(): return sys.stdin.read()
async def awaited(n=1): return n * 2
def yields(n=2): yield from range(n)
def listed(n=2): return list(range(n))
def fewer(n=1): yield from range(n)
def given(items, flag): return items, flag
def make(n): return {"items": [n] * 3, "flag": os.getpid()}
async def make_later(n): return asyncio.get_running_loop()
async def given_later(loop): return loop is asyncio.get_running_loop()
def pair(n): return n, n + 1
def many(a, b): return a + b
def changed(items): items.append(1); return items
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a module of functions, which is the present one; the store is another."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "bench_test_work.py").write_text(WORK)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))


def measure(*arguments: str) -> Result:
    usual = ["measure", "function", "--processes", "1", "--budget", "0.3", "--repeat", "6"]
    return CliRunner().invoke(cli, [*usual, *arguments], standalone_mode=False)


def w(*names: str) -> list[str]:
    return [f"bench_test_work:{name}" for name in names]


def program(setup: str = "", *, checked: bool = False, **parameters: Any) -> FunctionProgram:
    workload = Workload(
        suite="function", name="x", target=setup and f"bench_test_work:{setup}", mode="", device="", dtype="", batch_size=0,
        sequence_length=None, backends=(), parameters=parameters,
    )  # fmt: skip
    return (CheckedProgram if checked else FunctionProgram)(workload, Settings())


def test_two_functions_take_turns() -> None:
    """In loops long enough for the clock, in fresh processes, at equal arguments."""
    result = measure(*w("long", "short"), "--processes", "2", "--parameter", "n=1,2", "--format", "json")

    assert result.return_value == 0, result.output
    found = json.loads(result.stdout)
    assert [(row["function"][16:], row["parameters"], row["processes"], row["samples"]) for row in found] == [
        ("long", {"n": 1}, 2, 12), ("short", {"n": 1}, 2, 12), ("long", {"n": 2}, 2, 12), ("short", {"n": 2}, 2, 12),
    ]  # fmt: skip
    assert found[0]["ratio"] is None
    assert found[1]["low"] > 100
    short = "backend LIKE '%:short' AND phase = 'steady'"
    assert stored(f"SELECT min(loops) > 100 FROM timings JOIN cases USING (run_id, case_id) WHERE {short}") == [(True,)]
    assert stored("SELECT DISTINCT suite, name, mode, device, dtype, batch_size FROM cases") == [
        ("function", "bench_test_work:long", None, None, None, None)
    ]
    assert stored("SELECT count(*) FROM metrics WHERE metric = 'compile_latency'") == [(0,)]
    assert stored("SELECT count(*) FROM outcomes WHERE kind = 'accuracy'") == [(0,)]


@pytest.mark.exhaustive
def test_one_that_fails_leaves_the_others_be() -> None:
    """By an exception, a signal, a result that differs, or its absence; none of them has a ratio."""
    result = measure(*w("short", "fails", "crash", "wrong", "nothing", "awaited"), "--check", "--format", "json")

    assert result.return_value == 1
    found = {row["function"].partition(":")[2]: row for row in json.loads(result.stdout)}
    assert {name: row["status"] for name, row in found.items()} == {
        "short": "ok", "fails": "fail_to_run", "crash": "crashed", "wrong": "fail_accuracy", "nothing": "fail_to_run",
        "awaited": "ok",
    }  # fmt: skip
    assert [name for name, row in found.items() if row["ratio"] is not None] == ["awaited"]
    assert found["fails"]["reason"] == "ValueError: no such thing"
    assert found["wrong"]["reason"] == "3 instead of 2"
    assert "no function 'nothing' in bench_test_work" in found["nothing"]["reason"]


@pytest.mark.exhaustive
def test_an_exception_without_a_text_has_a_reason() -> None:
    """Its class fails when it is asked for one; the worker, which asks, goes on to the next function."""
    found = json.loads(measure(*w("unprintable", "short"), "--format", "json").stdout)

    assert [(row["status"], row["reason"][:5]) for row in found] == [("fail_to_run", "Odd: "), ("ok", "as ma")]


@pytest.mark.exhaustive
def test_files_named_as_modules_of_python_are_not_taken_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bench imports Python's own; a function of such a file cannot be measured, which is said."""
    monkeypatch.delenv("PYTHONPATH")  # which asks Python itself to take them
    for name in ("random", "json", "statistics", "dataclasses"):
        Path(f"{name}.py").write_text("def dumps(): return 1\n")

    found = json.loads(measure(*w("short"), "json:dumps", "--format", "json").stdout)

    hidden = "json.py of this folder is hidden by Python's own json: rename it"
    assert [(row["status"], row["reason"]) for row in found[1:]] == [("fail_to_run", hidden)]
    assert found[0]["status"] == "ok"


@pytest.mark.exhaustive
def test_a_child_that_returns_from_a_call_measures_nothing() -> None:
    """It would take the same samples as the worker, beside it, and so would its own children."""
    assert measure(*w("forks")).return_value == 0
    assert stored("SELECT count(*), count(DISTINCT block) FROM timings WHERE phase = 'steady'") == [(6, 6)]
    assert stored("SELECT count(*) FROM timings WHERE phase = 'cold'") == [(1,)]


@pytest.mark.exhaustive
def test_who_reads_stdin_finds_it_at_its_end() -> None:
    """It would wait for what the runner never sends, until the timeout."""
    assert measure(*w("reads"), "--timeout", "60").return_value == 0


@pytest.mark.exhaustive
def test_a_process_that_dies_is_one_outcome() -> None:
    """The function's others count on, and so do the functions beside it; how many died is said."""
    result = measure(*w("short", "dies_once"), "--processes", "3", "--format", "json")

    assert result.return_value == 1
    short, died = json.loads(result.stdout)
    assert (short["status"], short["processes"], died["status"], died["processes"]) == ("ok", 3, "killed", 2)
    assert "dies_once: killed in 1 of 3 processes: " in result.stderr
    ended = stored(
        "SELECT status FROM outcomes JOIN cases USING (run_id, case_id) WHERE backend LIKE '%dies%' ORDER BY ALL"
    )
    assert ended == [("killed",), ("ok",), ("ok",)]


def test_a_table_for_people() -> None:
    """With arguments as they were read."""
    result = measure("json:dumps", "--arg", 'obj={"a": [1]}', "--arg", "indent=2", "--wide")

    assert result.return_value == 0, result.output
    assert "indent=2 obj={'a': [1]}" in result.stdout
    assert "processes" in result.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([f"{__file__}:short"], "cannot be imported from here"),
        (["no-name"], "names no function and no module. Write it as module:function"),
        (["json:dumps", "json:dumps"], "given twice"),
        (["json:dumps", "json"], "not both at once"),
        (["json:dumps", "--arg", "x"], "Write it as NAME=VALUE"),
        (["json:dumps", "--arg", "x=1", "--arg", "x=2"], "given twice"),
        (["json:dumps", "--parameter", "x=1", "--parameter", "x=2"], "NAME=1,10,100"),
        (["json:dumps", "--arg", "x=1", "--parameter", "x=1,2"], "both an --arg and a --parameter"),
        (["json:dumps", "--filter", "x"], "--filter chooses among the benchmarks of modules"),
        (["json:dumps", "--setup", "x"], "names no function"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is(arguments: list[str], said: str) -> None:
    """With the cure."""
    result = measure(*arguments)

    assert isinstance(result.exception, BenchError)
    assert said in str(result.exception)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=1", 1), ("x=1.5", 1.5), ("x=true", True), ("x=True", True), ("x=null", None), ("x=[1, 2]", [1, 2]),
        ("x=(1, 2)", [1, 2]), ("x='a'", "a"), ("x=a=b", "a=b"), ("x={'a': 1}", {"a": 1}), ("x={1, 2}", "{1, 2}"), ("x=", ""),
    ],
)  # fmt: skip
def test_arguments_are_json_or_literals_or_text(text: str, value: Any) -> None:
    """A value that JSON cannot hold stays text: the argument is recorded with the case."""
    assert argument_of(text) == ("x", value)


def test_a_misspelt_function_has_a_nearest_name() -> None:
    """In the reason of its failure, as everywhere."""
    with pytest.raises(UnknownName, match=r"no function 'dump5' in json. Nearest: 'dump', 'dumps'"):
        resolved("json:dump5")
    with pytest.raises(UnknownName, match=r"no module 'jsn'. Nearest: 'json'"):
        resolved("jsn:dumps")
    with pytest.raises(UnknownName, match=r"no module 'json.decode'. Nearest: .*'json.decoder'"):
        resolved("json.decode:x")


def test_a_module_that_lacks_another_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there itself, so that no name is near."""
    Path("bench_test_needy.py").write_text("import bench_test_absent")
    monkeypatch.syspath_prepend(".")

    with pytest.raises(ModuleNotFoundError, match="No module named 'bench_test_absent'"):
        resolved("bench_test_needy:f")


@exhaustive
@pytest.mark.parametrize("chosen", first_of(1, [[], ["--processes", "4"]]))
def test_what_fails_alike_in_every_process_fails_once(chosen: list[str]) -> None:
    """The first process says why."""
    usual = ["measure", "function", "--budget", "0.1", "--format", "json", *chosen]
    result = CliRunner().invoke(cli, [*usual, "json:dump5"], standalone_mode=False)

    assert result.return_value == 1
    assert "no function 'dump5' in json. Nearest: 'dump', 'dumps'" in result.stdout
    assert stored("SELECT count(*) FROM outcomes WHERE case_id IS NOT NULL") == [(1,)]


def test_a_setup_makes_the_arguments() -> None:
    """A dict by name, a tuple by position, anything else as the only one; once for each function."""
    assert program("make", n=7).prepare("bench_test_work:given")() == ([7, 7, 7], os.getpid())
    assert program("pair", n=7).prepare("bench_test_work:many")() == 15
    assert program("short", n=7).prepare("bench_test_work:short")() == 28


def test_an_async_setup_is_awaited_in_the_loop_of_the_calls() -> None:
    """Its result may belong to the loop, as a connection does; a setup that yields would be used up by one call."""
    assert program("make_later", n=7).prepare("bench_test_work:given_later")() is True

    with pytest.raises(TypeError, match="the setup yields: have it return the arguments"):
        program("yields", n=7).prepare("bench_test_work:given")


def test_what_cannot_be_copied_cannot_be_checked() -> None:
    """Which is no fault of the function: the cure is said."""
    with pytest.raises(BenchError, match=r"cannot be copied for --check: .*\. Leave out --check"):
        program("make", checked=True, n=1).keep(threading.Lock())


def test_what_a_function_gave_a_gpu_is_part_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch returns at once: the time is that until the GPU is done, and what ran before is waited for first."""
    log: list[str] = []

    def done() -> None:
        log.append("wait")
        time.sleep(0.005)

    cuda = SimpleNamespace(is_initialized=lambda: True, synchronize=done)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    launch = Calls(lambda: log.append("launch"), (), {}, asyncio.new_event_loop())

    reading = Here().time(launch, 2)

    assert log == ["wait", "launch", "launch", "wait"]
    assert reading.duration_ns >= 5_000_000


def test_coroutines_are_awaited_in_one_loop() -> None:
    """As many as asked, once each; the loop's start is not in the time."""
    calls = []
    loop = asyncio.new_event_loop()

    async def call(n: int) -> int:
        calls.append(asyncio.get_running_loop())
        return n

    coroutines = Calls(call, (), {"n": 5}, loop)
    assert coroutines() == 5
    reading = Here().time(coroutines, 3)
    loop.close()

    assert (len(calls), set(calls), reading.loops) == (4, {loop}, 3)
    assert reading.duration_ns > 0


def test_what_returns_a_coroutine_is_awaited_too() -> None:
    """A decorated coroutine function, or a called object, looks like any other: to make a coroutine is not to run it."""
    ran = []

    async def call(n: int) -> int:
        ran.append(n)
        return n

    calls = Calls(lambda n: call(n), (), {"n": 5}, loop := asyncio.new_event_loop())
    returned = calls()
    calls.timed(3)
    loop.close()

    assert (returned, ran) == (5, [5] * 4)


def test_generators_are_run_to_their_end() -> None:
    """To make one is no work; the first run is kept if asked, and no other, whose memory counts."""
    ran: list[int] = []

    def some(n: int) -> Iterator[int]:
        for number in range(n):
            ran.append(number)
            yield number

    async def later(n: int) -> AsyncIterator[int]:
        for number in some(n):
            yield number

    for function in (some, later, lambda n: some(n)):
        loop = asyncio.new_event_loop()
        calls = Calls(function, (3,), {}, loop, keep=True)
        assert calls() == [0, 1, 2]
        assert calls() is None
        calls.timed(2)
        loop.close()
        assert ran == [0, 1, 2] * 4
        ran.clear()


@pytest.mark.exhaustive
def test_what_generators_yield_is_checked() -> None:
    """Against a list, or another that yields the same."""
    result = measure(*w("yields", "listed", "fewer"), "--check", "--format", "json")

    found = json.loads(result.stdout)
    assert [row["status"] for row in found] == ["ok", "ok", "fail_accuracy"]
    assert found[2]["reason"] == "[0] instead of [0, 1]"


def test_every_call_gets_its_arguments() -> None:
    """By position and by name, whatever the function calls them."""
    got = []
    calls = Calls(
        lambda *args, **kwargs: got.append((args, kwargs)), (1, "a"), {"function": 2, "_0": 3}, asyncio.new_event_loop()
    )

    calls()
    calls.timed(2)

    assert got == [((1, "a"), {"function": 2, "_0": 3})] * 3


@pytest.mark.parametrize("name", ["a b", "class", "x=1): exit(", "", 1, None])
def test_a_name_that_no_argument_can_have_is_refused(name: Any) -> None:
    """It would be code."""
    with pytest.raises(TypeError, match="no argument can be called"):
        Calls(print, (), {name: 1}, asyncio.new_event_loop())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (0.1 + 0.2, 0.3, True),
        (0.1, 0.2, False),
        (math.nan, math.nan, True),
        (1, 1.5, False),
        ([1, (2.0, {"a": math.nan})], [1, (2.0, {"a": math.nan})], True),
        ([1], (1,), False),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        ({1, 2}, {2, 1}, True),
        (None, None, True),
        (np.array([0.1 + 0.2, np.nan]), np.array([0.3, np.nan]), True),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.zeros(2), np.zeros(3), False),
        (np.array(["a"]), ["a"], True),
    ],
)
def test_equal_up_to_rounding(one: Any, other: Any, expected: bool) -> None:
    """And no further."""
    assert same(one, other) is expected


def test_a_kept_result_is_not_changed_by_later_calls() -> None:
    """It would agree with whatever came later."""
    checked = program("make", checked=True, n=1)
    items: list[int] = []
    kept = checked.keep(items)
    items.append(1)

    found = checked.agree(kept, checked.keep(items))

    assert found is not None
    assert (found.equal, found.what) == (False, "[1] instead of []")


def test_ctrl_c_shows_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for each function, how it ended, and where the run is."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "_worker", interrupted)
    result = measure("json:dumps", "--arg", "obj=1")

    assert "interrupted" in result.stdout
    assert "recorded as run" in result.stderr and "--store" not in result.stderr
    assert isinstance(result.exception, KeyboardInterrupt | click.Abort)
    elsewhere = measure("json:dumps", "--arg", "obj=1", "--store", "else where")
    assert elsewhere.stderr.rstrip().endswith(f"'\" --store '{Path('else where').absolute()}'")


def test_what_a_row_cannot_say_is_said() -> None:
    """Processes that differ, no difference found, less precision than asked; nothing where all is well."""
    far = level({(process, block): 100.0 * (1 + process) + block % 3 for process in range(5) for block in range(10)})
    near = level({(process, block): 100.0 + block % 2 / 100 for process in range(5) for block in range(10)})

    assert "% was asked: processes differ: measure in more with --processes 10" in notes(far)
    assert "no difference found (smallest detectable: " in notes(near, ratio_of([-0.1, 0.1] * 8), near)
    assert "where 1.0 % was asked: measure longer with a larger --budget" in notes(
        near, ratio_of([-0.1, 0.1] * 8), near
    )
    assert "m:f n=1: 3 samples give no usable interval" in notes(level({(0, block): 100.0 for block in range(3)}))
    assert "m:f n=1: measured in one process: differences between processes are not in the interval" in notes(
        level({(0, block): 100.0 for block in range(20)})
    )
    assert notes(near) == ""


def level(times: dict[tuple[int, int], float]) -> Estimate:
    processes: dict[int, list[float]] = {}
    for (process, _), each_ns in times.items():
        processes.setdefault(process, []).append(math.log(each_ns))
    return combined([process_estimate(logs) for logs in processes.values()])


def row(time: Estimate, against: Estimate | None = None, reference: Estimate | None = None) -> Row:
    own = {"name": "x", "backend": "m:f", "parameters": '{"n": 1}', "status": "ok", "reason": "", "peak_bytes": 1}
    return Row({**own, "min_ns": None, "max_ns": None}, time, against, reference, against is None)


def notes(time: Estimate, against: Estimate | None = None, reference: Estimate | None = None) -> str:
    return "\n".join(row(time, against, reference).notes(0.01))


def test_a_ratio_that_contradicts_the_times_beside_it_says_so() -> None:
    """Blocks say 1.76x, the times 13.5 and 48.6 µs say the opposite: both are shown, and a note says why."""
    fast, slow = (
        level({(p, block): each_ns for p in range(5) for block in range(9)}) for each_ns in (13500.0, 48600.0)
    )
    pairs = ratio_of([math.log(1.76) + x for x in (-0.01, 0.01) * 8])

    assert str(row(slow, pairs, fast).cells()[7]).startswith("1.760x faster (95 % 1.743")
    assert "block by block it is 1.760x faster (95 % 1.743" in notes(slow, pairs, fast)
    assert "by the times as a whole 3.60x slower" in notes(slow, pairs, fast)
    assert row(fast, pairs, level({(0, block): 13500 * 1.76 for block in range(9)})).cells()[7].startswith("1.76")


def test_every_time_says_how_well_it_is_known() -> None:
    """With its interval and what it rests on; a single sample is said to be one."""
    assert (
        row(level({(p, b): 100 + b % 2 + p for p in range(5) for b in range(9)})).cells()[2] == "102 ns ±1.9 % (n=45)"
    )
    assert row(level({(0, 0): 100.0})).cells()[2] == "100 ns (n=1)"
    assert row(level({})).cells()[2] == "–"


@pytest.mark.exhaustive
def test_temporary_files_of_what_is_measured_are_removed(tmp_path: Path) -> None:
    """Also those of a compiler that is killed with its worker."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    options = ["--repeat", "2", "--processes", "1", "--store", str(tmp_path / "s")]
    words = ["measure", "function", "tempfile:mkdtemp", *options]
    subprocess.run([sys.executable, "-m", "bench", *words], env={**os.environ, "TMPDIR": str(folder)}, check=True)

    assert list(folder.iterdir()) == []
