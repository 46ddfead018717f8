"""What tracing memory line by line costs: a line traced, beside psutil read at each; and code that is not traced."""

import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from bench.measure.line_memory.trace import LineTrace, Scope

from .figures import Figures

LINES = 12_000
RUNS = 40  # short ones, of which the shortest counts: nothing else ran in it
MONITORING = hasattr(sys, "monitoring")
MOST_NS = 2500 if MONITORING else 4000
PYTHON_BAR = 1.05 if MONITORING else None  # settrace slows all Python code, traced or not

PROGRAM = """
def loop(n):
    total = 0
    for i in range(n):
        total += i
    return total

def calls(n):
    for i in range(n):
        called(i)

def called(i):
    return i

def exceptions(n):
    for i in range(n):
        try:
            raises()
        except ValueError:
            pass

def raises():
    raise ValueError
"""


def measure(figures: Figures) -> None:
    """Two lines a turn of a loop, all traced; and the same, and C code, while another module is."""
    with tempfile.TemporaryDirectory() as folder:
        module = ModuleType("program")
        file = str(Path(folder, "program.py"))
        exec(compile(PROGRAM, file, "exec"), module.__dict__)
        data = bytes(1 << 20)

        def loop() -> None:
            module.loop(LINES // 2)

        def calls() -> None:
            module.calls(LINES // 3)

        def exceptions() -> None:
            module.exceptions(LINES // 6)

        def native() -> None:
            zlib.crc32(data)

        own, other = Scope((folder,)), Scope(("/nowhere/",))
        plain, traced = _both(loop, own)
        figures.add("memory of a line", (traced - plain) / LINES, "ns", reference=(_with_psutil(loop, file) - plain) / LINES,
                    most=MOST_NS, ratio_least=2.5, against="psutil at each line")  # fmt: skip
        for name, function, bar in (
            ("C code", native, 1.05),
            ("lines", loop, PYTHON_BAR),
            ("calls", calls, PYTHON_BAR),
            ("exceptions", exceptions, None),  # monitoring cannot be told to leave out a frame that one ends
        ):
            plain, traced = _both(function, other)
            figures.add(f"untraced {name} beside a trace", traced / 1e3, "µs", reference=plain / 1e3, ratio_most=bar,
                        against="no trace")  # fmt: skip


def _both(function: Callable[[], None], scope: Scope) -> tuple[float, float]:
    """Without a trace and with one, in turn, so that a busy moment is in both: ns."""
    plain, traced = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            plain.append(_best(function))
            trace = LineTrace(Path(tempfile.mkdtemp(dir=folder)), scope)
            trace.start()
            traced.append(_best(function))
            trace.stop()
    return min(plain), min(traced)


def _with_psutil(function: Callable[[], None], file: str) -> float:
    """As others do it: resident memory read at each line, kept with the line."""
    import psutil

    process, last, found = psutil.Process(), [0], dict[int, int]()

    def at_line(number: int) -> None:
        now = process.memory_info().rss
        found[number] = found.get(number, 0) + now - last[0]
        last[0] = now

    if MONITORING:
        return _monitored(function, at_line)

    def on_event(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            at_line(frame.f_lineno)
        return on_event

    sys.settrace(on_event)
    try:
        return _best(function, times=20)
    finally:
        sys.settrace(None)


def _monitored(function: Callable[[], None], at_line: Callable[[int], None]) -> float:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]

    def on_line(code: CodeType, number: int) -> None:
        at_line(number)

    monitoring.use_tool_id(3, "psutil")
    monitoring.register_callback(3, monitoring.events.LINE, on_line)
    monitoring.set_events(3, monitoring.events.LINE)
    try:
        return _best(function, times=20)
    finally:
        monitoring.set_events(3, 0)
        monitoring.free_tool_id(3)


def _best(function: Callable[[], None], times: int = RUNS) -> float:
    """The shortest of some runs, in ns."""
    found = []
    for _ in range(times):
        start = time.perf_counter_ns()
        function()
        found.append(time.perf_counter_ns() - start)
    return float(min(found))
