"""Where a call spends its time: the line that is charged, and what is recorded of it."""

import asyncio
import gc
import importlib
import itertools
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.functions import line_times
from bench.measure.functions.apart import NoAnswer
from bench.measure.functions.line_times import LineSampler, SourceLine, line_shares, sample_lines, sampled
from bench.measure.functions.program import Calls
from bench.measure.functions.stretches import MOST_CALLS, Stretches
from bench.measure.system.disturbance import DisturbanceCounters, OwnClock
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive

WORK = """
import json, threading, time

LOCK, ENDED, TAKEN, LOOK, LIST = threading.Lock(), threading.Event(), [], [], [*range(100_000)]

def hold():
    while not ENDED.wait(0.0005):
        with LOCK:
            time.sleep(0.02)

def locked():
    TAKEN.append(LOCK.locked())
    with LOCK:
        pass
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        sum(range(100))

def by_library(look):
    return json.dumps(1, default=look) + json.dumps(object(), default=look)

def directly(look):
    look(0)

def imports(look):
    LOOK[:] = [look]
    import bench_test_library

def keyed():
    end = time.perf_counter() + 0.05
    return sorted(range(100), key=lambda n: [time.perf_counter() < end for _ in range(2000)])

def busy():
    return sum(range(20_000))

def joins():
    for _ in range(20):
        both = LIST + LIST
        one = 1
        two = one + 1
    return two

def looks():
    both = LIST + LIST
    found = 99_999 in LIST
    return 3

def waits():
    time.sleep(0.03)
    time.sleep(0.003)

"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the user's."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "bench_test_lines.py").write_text(WORK)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.delitem(sys.modules, "bench_test_lines", raising=False)
    return importlib.import_module("bench_test_lines")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No others have the processor."""
    monkeypatch.setattr(OwnClock, "waited", lambda _: 0)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have the processor for half a minute."""
    monkeypatch.setattr(line_times, "MOST_WAITING", 150)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that was installed, which looks while it is imported."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "bench_test_library.py").write_text("from bench_test_lines import LOOK\nLOOK[0](0)\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "bench_test_library", raising=False)
    folders = [*line_times._library_folders(), str(folder)]
    monkeypatch.setattr(line_times, "_library_folders", lambda: folders)


@pytest.mark.usefixtures("alone", "library")
@pytest.mark.parametrize(
    ("function", "text"),
    [("by_library", "default=look"), ("directly", "look(0)"), ("imports", "import bench_test_library")],
)
def test_time_belongs_to_the_line_of_the_users_code(function: str, text: str, work: Any) -> None:
    """Also where a library that it calls or imports is at work."""
    sampler = LineSampler()

    def look(_: object) -> str:
        with sampler:
            sampler._sample(0, sys._getframe().f_back)
        return ""

    getattr(work, function)(look)

    ((file, name, line),) = sampler.spent
    assert Path(file).name == "bench_test_lines.py" and name == function
    assert text in WORK.splitlines()[line - 1]


@pytest.mark.usefixtures("patient")
def test_a_long_call_into_c_counts_by_its_length(work: Any) -> None:
    """A signal is handled once it returns, so samples alone would count it as one."""
    with asyncio.Runner() as runner:
        found, _ = sampled(Calls(work.waits, (), {}, runner.get_loop()), seconds=0.2)

    assert found[0][0].text == "time.sleep(0.03)" and found[0][0].file == "bench_test_lines.py"
    assert sum(spent for line, spent in found if line.function == "waits") >= 0.5 * sum(spent for _, spent in found)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("function", "texts"),
    [("joins", {"both = LIST + LIST"}), ("looks", {"both = LIST + LIST", "found = 99_999 in LIST", "return 3"})],
)
def test_a_long_instruction_within_a_stretch_without_signals_counts_at_its_line(
    function: str, texts: set[str], work: Any
) -> None:
    """A sample that falls due in it is taken at the end of the loop, or of the call: at another line."""
    with asyncio.Runner() as runner:
        found, _ = sampled(Calls(getattr(work, function), (), {}, runner.get_loop()), seconds=0.2)

    whole = sum(spent for _, spent in found)
    assert found[0][0].text in texts
    assert sum(spent for line, spent in found if line.text in texts) >= 0.6 * whole


@exhaustive
def test_short_lines_of_a_stretch_share_its_time(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of their instructions where none takes long; no time is lost, and other places keep theirs."""
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 0)
    stretches = Stretches(LineSampler().charged)
    stretches.look(work.joins)
    number = {text.strip(): at for at, text in enumerate(WORK.splitlines(), start=1)}
    end, other = (work.__file__, "joins", number["two = one + 1"]), (work.__file__, "waits", number["time.sleep(0.03)"])
    found = stretches.divided({end: 100.0, other: 7.0})

    loop = [found[*end[:2], number["two = one + 1"] - above] for above in range(3)]
    assert min(loop) > 10 and sum(found.values()) == pytest.approx(107) and found[other] == 7


def test_what_others_take_while_an_instruction_is_looked_at_is_not_taken_from_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long call into C keeps its time, though others had the processor between it and the instruction before."""
    passed, waited = bytearray(), bytearray()  # a microsecond each

    def charged(frame: FrameType | None) -> FrameType | None:
        passed.extend(bytes(100))
        waited.extend(bytes(100))
        return frame

    def work() -> None:
        passed.extend(bytes(60))

    monkeypatch.setattr(time, "perf_counter_ns", lambda: 1000 * len(passed))
    stretches = Stretches(charged)
    monkeypatch.setattr(stretches._clock, "waited", lambda: 1000 * len(waited))
    stretches.look(work)

    line = (__file__, work.__qualname__, work.__code__.co_firstlineno + 1)
    assert stretches._found[line][line][0] == MOST_CALLS * 60_000


def test_a_library_that_bench_calls_is_no_line_of_the_function() -> None:
    """One that the function calls, or is, has its lines; what bench does around the calls is nobody's."""
    sampler, found = LineSampler(), []

    def look(_: object) -> str:
        found.append(sampler.charged(sys._getframe()))
        return ""

    json.dumps(object(), default=look)
    exec(compile("json.dumps(object(), default=look)", "<string>", "exec"), {"json": json, "look": look})

    ours, library = found
    assert ours is None
    assert library is not None and Path(library.f_code.co_filename).name == "encoder.py"


@exhaustive
def test_dear_samples_are_rare() -> None:
    """Those of a deep stack, for instance, take no more than their share of the time."""
    costs = []

    def charge(*_: object) -> None:
        began = time.thread_time_ns()
        sum(range(30_000))
        costs.append(time.thread_time_ns() - began)

    with LineSampler(period_s=0.001) as sampler:
        sampler._charge = charge  # type: ignore[method-assign,assignment]
        began = time.perf_counter()
        while time.perf_counter() < began + 0.5:
            pass

    assert costs and sum(costs) / 1e9 < 0.1 * 0.5  # half of the time, at a sample each millisecond


def test_a_clock_that_ticks_once_in_ten_milliseconds_does_not_end_the_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample in which it goes on is not taken for one that costs as much."""
    charged = []
    ticks = itertools.chain([0, 10_000_000], itertools.repeat(10_000_000))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(ticks))

    with LineSampler(period_s=0.001) as sampler:
        sampler._charge = lambda *_: charged.append(1)  # type: ignore[method-assign]
        began = time.perf_counter()
        while time.perf_counter() < began + 3 and len(charged) < 10:
            pass

    assert len(charged) == 10


@pytest.mark.usefixtures("patient")
def test_what_sampling_adds_is_told_in_processor_time(work: Any) -> None:
    """A call that only waits has none, and few stretches tell nothing."""
    with asyncio.Runner() as runner:
        found = [
            sampled(Calls(function, (), {}, runner.get_loop()), seconds=0.2)[1] for function in (work.busy, work.waits)
        ]

    assert found[0] is not None and 0.7 < found[0] < 1.5
    assert found[1] is None


@exhaustive
@pytest.mark.usefixtures("patient")
def test_an_expression_belongs_to_the_function_of_its_line(work: Any) -> None:
    """A lambda in it and what that comprehends are no rows of their own."""
    with asyncio.Runner() as runner:
        found, _ = sampled(Calls(work.keyed, (), {}, runner.get_loop()), seconds=0.2)

    assert found[0][0].function == "keyed" and found[0][0].text.startswith("return sorted(")
    assert not [line for line, _ in found if "<lambda>" in line.function]


def test_a_late_signal_does_not_start_the_timer_again(work: Any) -> None:
    """One that was pending when the timer was stopped is handled after it."""
    with LineSampler() as sampler:
        pass
    sampler._sample(0, sys._getframe())

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0) and not sampler.spent


@pytest.mark.usefixtures("alone")
def test_a_pause_counts_for_no_line(work: Any) -> None:
    """Time counted before it is charged at the next sample after it."""
    with LineSampler(period_s=60) as sampler:
        end = time.thread_time() + 0.01  # others may have the processor meanwhile
        while time.thread_time() < end:
            pass
        sampler.pause()
        sampler._sample(0, sys._getframe())
        assert not sampler.spent
        time.sleep(1)  # longer than the machine pauses
        sampler.resume()
        sampler._sample(0, sys._getframe())

    (spent,) = sampler.spent.values()
    assert 0.01e9 <= spent < 1e9


def test_time_in_which_others_have_the_processor_counts_for_no_line(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it is longer than a line; a sample that fell due then is left out, unless the thread slept as well."""
    waited, wall, sleeps = 0, 0, 0
    monkeypatch.setattr(os, "pread", lambda *_: f"1 {waited} 1".encode())
    monkeypatch.setattr(time, "perf_counter_ns", lambda: wall)
    monkeypatch.setattr(line_times, "_sleeps", lambda: sleeps)
    charged = []
    with LineSampler(period_s=60) as sampler:
        for more, slept in ((10**15, 0), (0, 0), (10**15, 1)):
            waited, wall, sleeps = waited + more, wall + more + 1000, sleeps + slept
            sampler._sample(0, sys._getframe())
            charged.append(sum(sampler.spent.values()))

    assert charged == [0, 2000, 3000]


def test_a_process_that_sees_no_line_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shares would be none, and nothing would say so."""
    monkeypatch.setattr(line_times, "sampled", lambda _: ([], None))
    monkeypatch.setattr(gc, "freeze", lambda: None)

    with pytest.raises(NoAnswer, match="others had the processor"):
        list(sample_lines(lambda: None))  # type: ignore[arg-type]  # the double calls nothing


@pytest.mark.usefixtures("patient")
def test_a_thread_that_waits_for_the_interpreter_gets_its_turn_as_where_it_is_timed(
    work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Profiled in one long loop, calls kept it from a lock that each timed sample finds taken.

    Counters are read between samples, which lets another thread go on where it takes long enough, as here for certain.
    """

    def read(_: object) -> None:
        end = time.monotonic() + 10
        while not work.LOCK.locked() and time.monotonic() < end:
            time.sleep(0.0005)

    monkeypatch.setattr(DisturbanceCounters, "read", read)
    monkeypatch.setattr(DisturbanceCounters, "since", lambda *_: None)
    holder = threading.Thread(target=work.hold)
    holder.start()
    with asyncio.Runner() as runner:
        found, _ = sampled(Calls(work.locked, (), {}, runner.get_loop()), seconds=0.5)
    work.ENDED.set()
    holder.join()

    assert sum(work.TAKEN) > 0.5 * len(work.TAKEN)  # 0.3 in one long loop
    assert "with LOCK:" in {line.text for line, _ in found}


def test_shares_add_up_and_small_lines_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a process in which a line was not seen."""
    lines = [[f"line {number}", 1] for number in range(100)]
    answers = iter([[["a", 9_900], *lines], [["a", 5_000], ["b", 4_900], *lines]])
    slowed = iter([1.02, None])

    def ask(*_: object, **__: object) -> list[Any]:
        found = [({"file": "x.py", "function": "f", "line": 1, "text": text}, spent) for text, spent in next(answers)]
        return [next(slowed), *found]

    monkeypatch.setattr(line_times, "ask", ask)
    monkeypatch.setattr(line_times, "REPLICAS", 2)
    found, slowdowns = line_shares(None, "f", 1.0)  # type: ignore[arg-type]  # the double does not look at the workload

    assert slowdowns == [1.02]
    assert [(line.text or line.function, shares) for line, shares in found.items()] == [
        ("a", [0.99, 0.5]), ("b", [0.0, 0.49]), ("other lines", [pytest.approx(0.01)] * 2),
    ]  # fmt: skip


def test_lines_are_metrics_of_the_case(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One value a process, in a view with the place; a function that cannot be sampled says why, and its time stays."""
    monkeypatch.setattr(line_times, "REPLICAS", 2)
    monkeypatch.setattr(line_times, "SECONDS", 0.1)
    usual = ["--processes", "1", "--repeat", "2", "--lines"]
    done = CliRunner().invoke(cli, ["measure", "function", "bench_test_lines:waits", *usual], standalone_mode=False)

    assert done.return_value == 0, done.output
    found = stored("SELECT name, file, function, text, n, share > 0.5 FROM time_parts ORDER BY share DESC LIMIT 1")
    assert found == [("bench_test_lines:waits", "bench_test_lines.py", "waits", "time.sleep(0.03)", 2, True)], (
        done.stderr
    )
    assert stored("SELECT round(sum(share), 9) FROM time_parts") == [(1.0,)]


def test_the_place_of_a_line_is_kept_whole() -> None:
    """Whatever characters it has."""
    line = SourceLine("a:b.py", "f.<locals>.g", 7, 'x = "é:\\n"')

    assert json.loads(line.place)["text"] == line.text


@pytest.mark.exhaustive
def test_a_function_that_fails_in_the_profile_keeps_its_time(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is said."""

    def ask(*_: object, **__: object) -> list[Any]:
        raise NoAnswer("no timer here")

    monkeypatch.setattr(line_times, "ask", ask)
    usual = ["--processes", "1", "--repeat", "2", "--lines"]
    done = CliRunner().invoke(cli, ["measure", "function", "bench_test_lines:waits", *usual], standalone_mode=False)

    assert done.return_value == 0, done.output
    assert "bench_test_lines:waits: lines were not sampled: no timer here" in done.stderr
    assert stored("SELECT count(*) FROM timings WHERE phase = 'steady'") == [(2,)]
