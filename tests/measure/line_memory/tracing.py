"""Memory that a test moves by hand, and a `sys.monitoring` for Pythons that have none."""

import dis
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, SimpleNamespace
from typing import Any


class Memory:
    """A meter whose memory moves when the traced code says so."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.now = self.peak = 1000

    def take(self, size: int) -> None:
        self.now += size
        self.peak = max(self.peak, self.now)

    def give(self, size: int) -> None:
        self.now -= size

    def move(self, size: int) -> None:
        self.take(size) if size > 0 else self.give(-size)

    def read(self, last: int) -> tuple[int, int] | None:
        peak, self.peak = self.peak, self.now
        return None if peak == self.now == last else (peak, self.now)


def monitoring() -> Any:
    """This Python's own, else one made of settrace."""
    return getattr(sys, "monitoring", None) or FakeMonitoring()


class Counting:
    """A `sys.monitoring` that counts the calls of its callbacks."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._frame = getattr(inner, "frame", sys._getframe)
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def register_callback(self, tool: int, event: int, callback: Callable[..., Any]) -> None:
        def counted(*arguments: Any) -> Any:
            self.calls += 1
            return callback(*arguments)

        self._inner.register_callback(tool, event, counted)

    def frame(self, depth: int) -> Any:
        """As sys._getframe, past this function and `counted`."""
        return self._frame(depth + 2)


class FakeMonitoring:
    """Enough of `sys.monitoring` (PEP 669) over `sys.settrace`: global and local events, DISABLE, one tool."""

    DISABLE = object()

    def __init__(self) -> None:
        names = ("PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "PY_UNWIND", "PY_THROW", "LINE")
        self.events = SimpleNamespace(**{name: 1 << index for index, name in enumerate(names)})
        self._callbacks: dict[int, Callable[..., Any]] = {}
        self._local: dict[CodeType, int] = {}
        self._disabled: set[tuple[CodeType, int]] = set()
        self._tool: str | None = None

    def use_tool_id(self, tool: int, name: str) -> None:
        self._tool = name

    def free_tool_id(self, tool: int) -> None:
        self._tool = None

    def get_tool(self, tool: int) -> str | None:
        return self._tool

    def register_callback(self, tool: int, event: int, callback: Callable[..., Any]) -> None:
        self._callbacks[event] = callback

    def set_events(self, tool: int, events: int) -> None:
        self._global = events
        threading.settrace(self._trace if events else None)
        sys.settrace(self._trace if events else None)

    def restart_events(self) -> None:
        self._disabled.clear()

    def get_local_events(self, tool: int, code: CodeType) -> int:
        return self._local.get(code, 0)

    def set_local_events(self, tool: int, code: CodeType, events: int) -> None:
        self._local[code] = events

    @staticmethod
    def frame(depth: int) -> FrameType:
        """As sys._getframe, past the three frames that stand here for the interpreter."""
        return sys._getframe(depth + 3)

    def _fire(self, event: int, code: CodeType, *arguments: Any) -> None:
        wanted = self._global | self._local.get(code, 0)
        if not wanted & event or (code, event) in self._disabled:
            return
        if self._callbacks[event](code, *arguments) is self.DISABLE:
            assert event != self.events.PY_THROW, "cannot be disabled"
            self._disabled.add((code, event))

    def _trace(self, frame: FrameType, kind: str, value: Any) -> Any:
        code, events = frame.f_code, self.events
        if kind == "call":
            resumed = frame.f_lineno > code.co_firstlineno
            self._fire(events.PY_RESUME if resumed else events.PY_START, code, 0)
        elif kind == "line":
            self._fire(events.LINE, code, frame.f_lineno)
        elif kind == "return":
            last = dis.opname[code.co_code[frame.f_lasti]]
            event = {"RETURN_VALUE": events.PY_RETURN, "YIELD_VALUE": events.PY_YIELD}.get(last, events.PY_UNWIND)
            self._fire(event, code, 0, value)
        return self._trace
