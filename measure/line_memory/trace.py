"""The line trace: reports to the ledgers which source line begins, in every thread, for the modules to follow.

It uses `sys.monitoring` from Python 3.12 on: code that is not followed is checked once and then runs at full speed. Before
that it uses `sys.settrace`, which slows down all Python code, followed or not.

A generator or coroutine that yields leaves its line, and opens it again when it goes on, which is no new hit.
"""

import fnmatch
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from . import fork_hooks
from .ledger import ELSEWHERE, Lane, Ledger, MemoryKind, Places, Read
from .meters import gpus, host

OWN = str(Path(__file__).parents[2]) + os.sep
TRACER = str(Path(__file__).parent) + os.sep
INSTALLED = ("site-packages", "dist-packages")
TRACED_EVENTS = ("line", "call")


@dataclass(frozen=True, slots=True)
class Scope:
    """The code to follow: modules by name (`pkg` covers `pkg.sub`, `*` all), else what lies in `folders`.

    With `events` "call" a function is one line, that of its definition; `gpus` are the devices to watch, None for all.
    """

    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    events: str = "line"
    gpus: tuple[int, ...] | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Scope":
        """Read a scope from JSON, which has lists for tuples."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
        }
        return cls(**values)

    def holds(self, file: str, module: Mapping[str, Any]) -> bool:
        """Return whether to follow code of this file, in a module with these globals."""
        spec = module.get("__spec__")
        names = {module.get("__name__") or "", getattr(spec, "name", "") or ""}
        if file.startswith(TRACER) or _any(names, self.excluded):
            return False
        if self.modules:
            return _any(names, self.modules)
        if file.startswith("<"):  # made by exec: it goes with the module that made it
            file = module.get("__file__") or ""
        path = os.path.abspath(file)
        return path.startswith(self.folders) and not (
            path.startswith((OWN, sysconfig.get_path("stdlib") + os.sep))
            or any(f"{os.sep}{x}{os.sep}" in path for x in INSTALLED)
        )


def _any(names: set[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, form) for name in names for x in patterns for form in (x, f"{x}.*"))


class LineTrace:
    """The trace of one process; `start` it, and `stop` it before reading the ledger."""

    def __init__(self, folder: Path, scope: Scope, meter: tuple[MemoryKind, Read] | None = None) -> None:
        """Prepare to write into `folder`; `meter` is the host's unless given."""
        self._folder = folder
        self._scope = scope
        self._places = Places(folder)
        self._meeting = threading.Lock()
        self.known: dict[str, dict[int, int] | None] = {}  # of each file, its lines' places; None: not followed
        self._host = Ledger(folder, 0, *(meter or host()))
        self._host.on_move = self._moved
        self._settled: dict[str, dict[int, int]] = {}  # as `known`, but only lines that were as high as memory is now
        self._gpus: dict[int, Ledger] = {}  # by device index
        self.by_call = scope.events == "call"
        self.threads: dict[int, list[Lane]] = {}
        self.line = self._line()
        # What monitoring does not tell; a test's own has frames of its own.
        self.frame: Callable[[int], FrameType] = getattr(getattr(sys, "monitoring", None), "frame", sys._getframe)
        self._hooks = _Monitoring(self) if hasattr(sys, "monitoring") else _SetTrace(self)

    def start(self) -> None:
        """Follow this thread from its next call on, and the threads it starts."""
        fork_hooks.first.append(self.stop)  # a child's lines are not this process's
        self._hooks.start()

    def stop(self) -> bool:
        """Stop following; returns whether the trace was still installed."""
        return self._hooks.stop()

    def finish(self) -> bool:
        """Stop, and attribute the change since the last line, if there was one."""
        if kept := self.stop():
            for lane in self.lanes():
                lane.look()
        return kept

    def lines_of(self, code: CodeType, frame: FrameType) -> dict[int, int] | None:
        """The places of the lines of this code's file, by number; None if it is not to be followed."""
        file = code.co_filename
        try:
            return self.known[file]
        except KeyError:
            followed = self._scope.holds(file, frame.f_globals)
        if file.startswith("<"):  # as many modules may share that name
            return self.known.setdefault(f"{file} in {frame.f_globals.get('__name__')}", {}) if followed else None
        self.known[file] = {} if followed else None
        return self.known[file]

    def place(self, lines: dict[int, int], code: CodeType, line: int) -> int:
        """The place of a line met for the first time, perhaps by several threads at once."""
        with self._meeting:
            if line not in lines:
                lines[line] = self._places.new(code.co_filename, line, code.co_qualname)
        self._look_for_gpus()
        return lines[line]

    def lanes(self) -> list[Lane]:
        """This thread's lanes, the host's first; a thread that follows a dead one may get its number and its lanes."""
        number = threading.get_ident()
        lanes = self.threads.get(number)
        if lanes is None:
            lanes = self.threads[number] = [Lane(ledger) for ledger in (self._host, *self._gpus.values())]
        return lanes

    def _line(self) -> Callable[..., None]:
        """The function `line` with all it uses bound to local names: it and the meter are the cost of a line."""
        host, read, cells = self._host, self._host.read, self._host.cells
        settled, threads, ident = self._settled, self.threads, threading.get_ident

        def line(code: CodeType, number: int, frame: FrameType | None = None) -> None:
            """This thread goes on to another line."""
            reading = read(host.last)
            if reading is None:
                try:
                    place, record = settled[code.co_filename][number], threads[ident()][0].open[-1]
                    if record[3] == host.last:
                        record[0] = place
                        cells[place] += 1
                        return
                except KeyError:
                    pass
            self._line_at(code, number, frame or self.frame(1), reading)

        return line

    def _line_at(self, code: CodeType, number: int, frame: FrameType, reading: tuple[int, int] | None) -> None:
        """This thread goes on to another line, host memory read already, and there is more to say of it than a hit."""
        lines = self.lines_of(code, frame)
        assert lines is not None
        place = lines.get(number) or self.place(lines, code, number)
        lane, *of_gpus = self.lanes()
        known = lane.line_at(place, reading)
        for other in of_gpus:
            other.line(place)
        if known and not self._gpus and lines is self.known.get(code.co_filename):  # made by exec, many share that name
            self._settled.setdefault(code.co_filename, {})[number] = place

    def _moved(self) -> None:
        self._settled.clear()
        self._look_for_gpus()

    def _look_for_gpus(self) -> None:
        """Open the ledgers of GPUs that torch began to use; until then, all of their memory was free.

        Asked where host memory moved, as a GPU's first use makes it, and at new lines: at every line it would cost too much.
        """
        for index, source, read in gpus(self._gpus):
            if self._scope.gpus is not None and index not in self._scope.gpus:
                continue
            ledger = Ledger(self._folder, len(self._gpus) + 1, source, read, first=0)
            self._gpus[index] = ledger
            self._settled.clear()  # as its lines are to be noted, too
            for lanes in list(self.threads.values()):
                lanes.append(Lane(ledger, tuple(record[0] for record in lanes[0].open)))


class _SetTrace:
    """Tracing by `sys.settrace`."""

    def __init__(self, trace: LineTrace) -> None:
        self._trace = trace
        self._set: Any = None  # what the thread that started it has as its trace function

    def start(self) -> None:
        threading.settrace(self._begin)
        self._set = self._functions(self._trace.lanes())
        sys.settrace(self._set)

    def stop(self) -> bool:
        kept = sys.gettrace() is self._set
        sys.settrace(None)  # first: threading may be traced
        threading.settrace(None)
        return kept

    def _begin(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call of a thread: from here on it has functions of its own, that need not look for its lanes."""
        on_call = self._functions(self._trace.lanes())
        sys.settrace(on_call)
        return on_call(frame, event, arg)

    def _functions(self, lanes: list[Lane]) -> Callable[[FrameType, str, Any], Any]:
        known, lines_of, new_place, line = self._trace.known, self._trace.lines_of, self._trace.place, self._trace.line
        by_call = self._trace.by_call

        def on_call(frame: FrameType, event: str, arg: Any) -> Any:
            code = frame.f_code
            try:
                lines = known[code.co_filename]  # asked here, as it is what a call costs that is not followed
            except KeyError:
                lines = lines_of(code, frame)
            if lines is None:
                return None
            number, place = frame.f_lineno, ELSEWHERE
            if number > code.co_firstlineno:  # it goes on after a yield
                number = code.co_firstlineno if by_call else number
                place = lines.get(number) or new_place(lines, code, number)
            for lane in lanes:
                lane.enter(place)
            if by_call:
                frame.f_trace_lines = False
                if place == ELSEWHERE:
                    line(code, code.co_firstlineno, frame)
            return on_event

        def on_event(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                line(frame.f_code, frame.f_lineno, frame)
            elif event == "return":
                for lane in lanes:
                    lane.leave()
            return on_event

        return on_call


class _Monitoring:
    """Tracing by `sys.monitoring`: a function's first start decides whether it is followed."""

    def __init__(self, trace: LineTrace) -> None:
        self._trace = trace
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self._codes: list[CodeType] = []  # that are followed
        self._tool = 4  # of six: the named ones are left to the program's own debugger, coverage and profiler

    def start(self) -> None:  # noqa: C901  # the callbacks share its locals, which are faster than attributes
        monitoring, events = self._monitoring, self._monitoring.events
        monitoring.use_tool_id(self._tool, "bench measure memory")
        by_call = self._trace.by_call
        own = events.PY_RETURN | events.PY_YIELD | (0 if by_call else events.LINE)  # of followed code only
        known, new_place, lanes_here = self._trace.known, self._trace.place, self._trace.lanes

        def followed(code: CodeType) -> dict[int, int] | None:
            try:
                return known[code.co_filename]
            except KeyError:
                return self._trace.lines_of(code, self._trace.frame(2))

        def starts(code: CodeType, offset: int) -> Any:
            if followed(code) is None:
                return monitoring.DISABLE
            if not monitoring.get_local_events(self._tool, code):
                monitoring.set_local_events(self._tool, code, own)
                self._codes.append(code)
            for lane in lanes_here():
                lane.enter(ELSEWHERE)
            if by_call:
                self._trace.line(code, code.co_firstlineno, self._trace.frame(1))
            return None

        def goes_on(code: CodeType, offset: int, error: BaseException | None = None) -> Any:
            lines = followed(code)
            if lines is None:
                return None if error else monitoring.DISABLE  # a throw cannot be disabled
            number = code.co_firstlineno if by_call else self._trace.frame(1).f_lineno
            place = lines.get(number) or new_place(lines, code, number)
            for lane in lanes_here():
                lane.enter(place)
            return None

        def leaves(code: CodeType, offset: int, value: Any) -> None:
            for lane in lanes_here():
                lane.leave()

        def unwinds(code: CodeType, offset: int, error: BaseException) -> None:
            if followed(code) is not None:
                leaves(code, offset, error)

        for event, callback in (
            (events.PY_START, starts), (events.PY_RESUME, goes_on), (events.PY_THROW, goes_on), (events.LINE, self._trace.line),
            (events.PY_RETURN, leaves), (events.PY_YIELD, leaves), (events.PY_UNWIND, unwinds),
        ):  # fmt: skip
            monitoring.register_callback(self._tool, event, callback)
        monitoring.set_events(self._tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND)
        monitoring.restart_events()  # of functions that an earlier trace did not follow

    def stop(self) -> bool:
        kept = self._monitoring.get_tool(self._tool) is not None
        if kept:
            self._monitoring.set_events(self._tool, 0)
            for code in self._codes:  # until Python 3.14 nobody else does, and the next to trace would hear of them
                self._monitoring.set_local_events(self._tool, code, 0)
            self._monitoring.free_tool_id(self._tool)
        return kept
