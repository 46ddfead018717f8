"""What a line is charged with, by settrace and by monitoring alike, on memory moved by hand."""

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from bench.measure.line_memory import trace
from bench.measure.line_memory.ledger import (
    CELL,
    ELSEWHERE,
    FULL,
    Lane,
    Ledger,
    LineChanges,
    MemoryKind,
    Places,
    Reader,
)
from bench.measure.line_memory.trace import LineTrace, Scope
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...exhaustive import at_most
from .tracing import Counting, Memory, monitoring

PROGRAM = """
def transient():
    take(64)
    give(64)

def transient_here():
    take(64); give(64)

def kept():
    take(32)

def calls():
    transient_here()
    kept()

def numbers(n):
    for i in range(n):
        yield i
        take(1)

def consumes():
    total = 0
    for i in numbers(3):
        total += i
    return total

def recurses(n):
    if n:
        return recurses(n - 1)
    take(7)

def fails():
    take(5)
    raise ValueError

def catches():
    try:
        fails()
    except ValueError:
        take(2)

async def waits():
    take(9)
    give(9)

def throws():
    held = numbers(2)
    next(held)
    try:
        held.throw(KeyError)
    except KeyError:
        pass
    take(3)

def executes():
    exec("take(11)")

def joins(thread):
    thread.start(); thread.join()

def idle(n):
    for i in range(n):
        pass

def executes_much():
    exec("for i in range(9):\\n    i")

def walks(tree):
    for times, size, rare, below in tree:
        for _ in range(times):
            move(size)
            if rare:
                _ = rare
            walks(below)
            move(-size)
"""
SIZES = st.sampled_from([0, 0, 0, 1, 2, -1])
TREES = st.recursive(
    st.just(()),
    lambda below: st.lists(st.tuples(st.integers(1, 4), SIZES, st.booleans(), below), max_size=4),
    max_leaves=12,
)


class Traced:
    """A program in a file of its own, run under the trace."""

    def __init__(self, folder: Path, scope: Scope | None = None) -> None:
        self.folder = folder
        self.memory = Memory()
        self.file = folder / "program.py"
        self.file.write_text(PROGRAM)
        self.module = self.load("program")
        self.follow(scope or Scope((f"{folder}/",)))

    def load(self, name: str) -> ModuleType:
        """The program as a module."""
        module = ModuleType(name)
        memory = self.memory
        module.__dict__.update(__file__=str(self.file), take=memory.take, give=memory.give, move=memory.move)
        exec(compile(PROGRAM, str(self.file), "exec"), module.__dict__)
        return module

    def follow(self, scope: Scope) -> None:
        """By a trace and a ledger of its own."""
        self.ledger = Path(tempfile.mkdtemp(dir=self.folder))
        self.trace = LineTrace(self.ledger, scope, (MemoryKind("fake"), self.memory.read))

    def run(self, call: Callable[[], Any] | str) -> dict[str, LineChanges]:
        """Every line that ran, by its text, or its number where it has none."""
        function = getattr(self.module, call) if isinstance(call, str) else call
        before = sys.gettrace()
        self.trace.start()
        try:
            function()
        finally:
            kept = self.trace.stop()
            sys.settrace(before)
        assert kept
        texts = self.file.read_text().splitlines()
        found = Reader(self.ledger).lines()
        return {texts[c.line - 1].strip() if c.file == str(self.file) else c.file: c for c in found}


@pytest.fixture
def traced(either_way: None, tmp_path: Path) -> Traced:
    """A trace of lines."""
    return Traced(tmp_path)


def sizes(counted: LineChanges) -> tuple[int, int, int, int]:
    return counted.start, counted.peak, counted.end, counted.transient


def test_a_transient_freed_inside_a_call_shows_on_the_calling_line(traced: Traced) -> None:
    """And on the line that took it; a rise is charged to the innermost line only."""
    lines = traced.run("calls")

    assert sizes(lines["transient_here()"]) == (1000, 1064, 1000, 64)
    assert sizes(lines["take(64); give(64)"]) == (1000, 1064, 1000, 64)
    assert sizes(lines["kept()"]) == (1000, 1032, 1032, 0)
    assert (lines["kept()"].increase, lines["take(32)"].increase) == (0, 32)


def test_what_one_line_takes_and_the_next_gives_is_no_transient_of_either(traced: Traced) -> None:
    """But increase of the one and decrease of the other."""
    lines = traced.run("transient")

    assert sizes(lines["take(64)"]) == (1000, 1064, 1064, 0)
    assert sizes(lines["give(64)"]) == (1064, 1064, 1000, 0)
    assert (lines["take(64)"].increase, lines["give(64)"].decrease) == (64, 64)


def test_hits_are_counted_once_a_run(traced: Traced) -> None:
    """Also in a generator, whose line goes on after a yield without another hit."""
    lines = traced.run("consumes")

    assert lines["yield i"].hits == 3
    assert lines["take(1)"].hits == 3
    assert lines["take(1)"].increase == 3
    assert lines["total += i"].hits == 3
    assert lines["for i in numbers(3):"].hits == 4


def test_recursion_opens_a_line_several_times(traced: Traced) -> None:
    """The outer runs of it hold what the inner ones took."""
    lines = traced.run(lambda: traced.module.recurses(3))

    assert lines["return recurses(n - 1)"].hits == 3
    assert sizes(lines["return recurses(n - 1)"]) == (1000, 1007, 1007, 0)
    assert lines["take(7)"].increase == 7


def test_an_exception_closes_the_lines_it_leaves(traced: Traced) -> None:
    """Memory taken afterwards is charged to the handler."""
    lines = traced.run("catches")

    assert sizes(lines["fails()"]) == (1000, 1005, 1005, 0)
    assert lines["take(2)"].increase == 2
    assert [len(lane.open) for lanes in traced.trace.threads.values() for lane in lanes] == [1]


def test_a_coroutine_is_followed(traced: Traced) -> None:
    """Driven by whatever loop."""

    def drive() -> None:
        with pytest.raises(StopIteration):
            traced.module.waits().send(None)

    assert traced.run(drive)["take(9)"].increase == 9


def test_a_generator_that_is_thrown_into_is_followed_no_further(traced: Traced) -> None:
    """Its frame ends, and the stack is as deep as before."""
    lines = traced.run("throws")

    assert lines["take(3)"].increase == 3
    assert [len(lane.open) for lanes in traced.trace.threads.values() for lane in lanes] == [1]


def test_code_made_by_exec_goes_with_its_module(traced: Traced) -> None:
    """It has no file, and lines all the same."""
    assert traced.run("executes")["<string>"].increase == 11


def test_code_made_by_exec_is_of_one_module(traced: Traced) -> None:
    """Though many have such code, of the same name and with the same lines."""
    other = traced.load("other")

    def both() -> None:
        traced.module.executes_much()
        other.executes_much()

    traced.run(both)
    found = Reader(traced.ledger).lines()
    assert [c.hits for c in found if (c.file, c.line) == ("<string>", 2)] == [9, 9]


def test_memory_that_moves_between_traced_lines_is_accounted_for(traced: Traced) -> None:
    """As elsewhere: nothing is dropped."""

    def outside() -> None:
        traced.module.kept()
        traced.memory.take(8)
        traced.module.kept()

    lines = traced.run(outside)

    reader = Reader(traced.ledger)
    assert reader.elsewhere() == {"elsewhere": (8, 0)}
    assert lines["take(32)"].increase == 64
    assert [(step.line, step.start, step.end) for step in reader.steps()] == [
        (0, 1000, 1000), (10, 1000, 1032), (0, 1032, 1040), (10, 1040, 1072),
    ]  # fmt: skip


def test_another_threads_peak_is_in_every_line_open_meanwhile(traced: Traced) -> None:
    """Memory is of the process; the rise is charged to the line of the thread that saw it."""
    thread = threading.Thread(target=traced.module.calls)
    lines = traced.run(lambda: traced.module.joins(thread))

    assert sizes(lines["thread.start(); thread.join()"]) == (1000, 1064, 1032, 32)
    assert lines["thread.start(); thread.join()"].increase == 0
    assert lines["take(32)"].increase == 32


def test_modules_are_traced_by_name_or_not(traced: Traced, tmp_path: Path) -> None:
    """By name with what lies below, by pattern; else by folder, without what is installed or bench's own."""
    here = str(tmp_path / "x.py")
    named: dict[str, Any] = {"__name__": "pkg.sub", "__file__": here}

    assert Scope(modules=("pkg",)).holds("/elsewhere.py", named)
    assert Scope(modules=("*",)).holds("/elsewhere.py", named)
    assert not Scope(modules=("pk",)).holds(here, named)
    assert not Scope((f"{tmp_path}/",), excluded=("pkg.sub",)).holds(here, named)
    assert Scope((f"{tmp_path}/",)).holds("<string>", named)
    assert not Scope((f"{tmp_path}/",)).holds(str(tmp_path / "lib" / "site-packages" / "x.py"), {"__name__": "x"})
    assert not Scope(("/",)).holds(trace.__file__, {"__name__": "bench.measure.line_memory.trace"})
    assert Scope(modules=("pkg",)).holds(
        here, {"__name__": "__main__", "__spec__": SimpleNamespace(name="pkg.__main__")}
    )


def test_code_that_is_not_traced_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By monitoring, its events are then off: it costs nothing."""
    counted = Counting(monitoring())
    monkeypatch.setattr(sys, "monitoring", counted, raising=False)
    traced = Traced(tmp_path, Scope(("/nowhere/",)))

    assert traced.run(lambda: [traced.module.recurses(3) for _ in range(100)]) == {}
    assert counted.calls <= 50  # of 400: one for each code object it met, this test's own included


def test_another_tool_has_code_that_is_not_traced_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a debugger or coverage may ask for all events anew: once more, and it is followed no more than before."""
    counted = Counting(monitoring())
    monkeypatch.setattr(sys, "monitoring", counted, raising=False)
    traced = Traced(tmp_path, Scope(("/nowhere/",)))

    def program() -> None:
        for _ in range(3):
            counted.restart_events()
            for _ in range(100):
                traced.module.kept()

    assert traced.run(program) == {}
    assert 3 <= counted.calls <= 100  # of 300; each code object three times, what a garbage collection runs included


def test_a_trace_follows_what_one_before_it_did_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that the first had no use for are on again."""
    monkeypatch.setattr(sys, "monitoring", monitoring(), raising=False)
    traced = Traced(tmp_path, Scope(("/nowhere/",)))
    assert traced.run("kept") == {}

    traced.follow(Scope((f"{tmp_path}/",)))
    assert traced.run("kept")["take(32)"].increase == 32


def test_a_gpu_has_lines_of_its_own_once_torch_uses_it(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    """From zero on, at the line that began to use it; peaks by the allocator's count."""
    gpu = Memory()
    gpu.now = gpu.peak = 0
    began: list[bool] = []

    def stats(index: int) -> dict[str, Any]:
        return {"allocated_bytes": {"all": {"current": gpu.now, "peak": gpu.peak}}} if index == 1 else {}

    def reset(index: int) -> None:
        gpu.peak = gpu.now

    cuda = SimpleNamespace(
        is_initialized=lambda: bool(began), device_count=lambda: 2, memory_stats_as_nested_dict=stats,
        reset_peak_memory_stats=reset,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    def take(size: int) -> None:
        began.append(True)
        traced.memory.take(size)
        gpu.take(2 * size)

    def give(size: int) -> None:
        traced.memory.give(size)
        gpu.give(2 * size)

    traced.module.__dict__.update(take=take, give=give)
    traced.run("calls")

    reader = Reader(traced.ledger)
    on_gpu = {(c.line, *sizes(c), c.increase) for c in reader.lines() if c.source.device_index == 1}
    assert {
        (7, 0, 128, 0, 128, 0),  # take and give on one line
        (13, 0, 128, 0, 128, 0),  # its caller
        (10, 0, 64, 64, 0, 64),
        (14, 0, 64, 64, 0, 0),
    } == on_gpu


def test_a_gpus_lines_are_all_counted(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that move nothing, and ran before it was in use, when a hit was all there was to count."""
    stats = {"allocated_bytes": {"all": {"current": 4, "peak": 4}}}
    began: list[bool] = []
    cuda = SimpleNamespace(
        is_initialized=lambda: bool(began), device_count=lambda: 1, memory_stats_as_nested_dict=lambda index: stats,
        reset_peak_memory_stats=lambda index: None,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    def program() -> None:
        traced.module.idle(9)
        began.append(True)
        traced.module.walks([(1, 0, False, ())])  # new lines
        traced.module.idle(9)

    line = traced.run(program)["pass"].line
    found = Reader(traced.ledger).lines()
    assert {(None, 18), (0, 9)} == {(c.source.device_index, c.hits) for c in found if c.line == line}


def test_a_ledger_with_no_room_counts_what_it_leaves_out(tmp_path: Path) -> None:
    """The lines beyond share one place, which is no line."""
    places = Places(tmp_path, most=3)
    given = [places.new("f.py", line, "f") for line in (1, 2, 3)]

    assert given == [2 * CELL, FULL, FULL]


def test_half_a_record_of_a_killed_process_is_left_out(tmp_path: Path) -> None:
    """Whole records are read."""
    memory = Memory()
    ledger, places = Ledger(tmp_path, 0, MemoryKind("fake"), memory.read), Places(tmp_path)
    lane = Lane(ledger)
    lane.enter(ELSEWHERE)
    lane.line(places.new("f.py", 1, "f"))
    memory.take(5)
    lane.line(places.new("f.py", 2, "f"))
    for name in ("places.jsonl", "steps"):
        with (tmp_path / name).open("ab") as file:
            file.write(b'{"fi')

    reader = Reader(tmp_path)
    assert [(c.line, c.hits, c.increase) for c in reader.lines()] == [(1, 1, 5), (2, 1, 0)]
    assert len(list(reader.steps())) == 2


@pytest.mark.exhaustive
@settings(max_examples=at_most(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES)
def test_lines_that_are_only_hits_are_told_from_others(traced: Traced, tree: Any) -> None:
    """The counts equal those of a full look at every line."""
    in_full = Lane.line_at

    def never_settles(lane: Lane, *arguments: Any) -> bool:
        in_full(lane, *arguments)
        return False

    found = []
    for line_at in (never_settles, in_full):
        traced.memory.reset()
        traced.follow(Scope((f"{traced.folder}/",)))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Lane, "line_at", line_at)
            lines = traced.run(lambda: traced.module.walks(tree))
        found.append((lines, [(s.line, s.start, s.peak, s.end) for s in Reader(traced.ledger).steps()]))

    assert found[0] == found[1]


def test_a_line_that_moves_nothing_is_soon_only_counted(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at in full twice, whatever its hits: that is what makes a line cheap."""
    in_full, looked = Lane.line_at, []

    def line_at(*arguments: Any) -> bool:
        looked.append(arguments)
        return in_full(*arguments)

    monkeypatch.setattr(Lane, "line_at", line_at)
    lines = traced.run(lambda: traced.module.idle(99))
    assert (lines["for i in range(n):"].hits, lines["pass"].hits) == (100, 99)
    assert len(looked) <= 5


@settings(max_examples=at_most(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["enter", "line", "leave"]), st.integers(1, 5), st.lists(st.integers(-9, 9))))
)
def test_whatever_happens_the_sums_are_right(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, int, list[int]]]
) -> None:
    """Increases less decreases are what memory moved by; the highest peak of a line is the highest while one was open."""
    folder = tmp_path_factory.mktemp("ledger")
    memory = Memory()
    places = Places(folder)
    numbers = {line: places.new("f.py", line, "f") for line in range(1, 6)}
    ledger = Ledger(folder, 0, MemoryKind("fake"), memory.read)
    lane = Lane(ledger)
    highest = 0  # while a line was open
    for what, line, moves in events:
        for move in moves:
            memory.move(move)
            if any(place for place, *_ in lane.open):
                highest = max(highest, memory.now)
        if what == "enter":
            lane.enter(ELSEWHERE)
        elif what == "line" and len(lane.open) > 1:
            lane.line(numbers[line])
            highest = max(highest, memory.now)
        else:
            lane.leave()
    while len(lane.open) > 1:
        lane.leave()

    reader = Reader(folder)
    lines = list(reader.lines())
    moved = sum(c.increase - c.decrease for c in lines) + sum(up - down for up, down in reader.elsewhere().values())
    assert moved == ledger.last - 1000
    assert max((c.peak for c in lines), default=0) == highest
    assert all(c.transient <= c.peak for c in lines)
    assert [step.end for step in reader.steps()][-1] == ledger.last
