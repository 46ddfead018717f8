"""With what exception a program ends: Python says nothing of a `SystemExit` to what runs at exit, so `sys.exit` is watched.

Not seen are `raise SystemExit` and a function that was taken from `sys` before: `from sys import exit`.
"""

import functools
import sys
import threading
from types import FrameType

_called: tuple[SystemExit, FrameType] | None = (
    None  # what sys.exit raised last in the main thread, and its outermost frame
)


def watch_sys_exit() -> None:
    """Note from now on what `sys.exit` raises."""
    plain = sys.exit
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def exit(status: object = None, /) -> None:
        global _called
        if threading.current_thread() is threading.main_thread():  # another ends its thread alone
            outermost = sys._getframe()
            while outermost.f_back is not None:
                outermost = outermost.f_back
            _called = SystemExit(status), outermost
        plain(status)  # type: ignore[arg-type]

    sys.exit = exit  # type: ignore[assignment]


def exception_at_exit() -> BaseException | None:
    """The exception that ended the program; None where it came to its end, or where Python waits at a prompt."""
    if hasattr(sys, "ps1"):  # the last exception may be an hour old
        return None
    error: BaseException | None = getattr(sys, "last_value", None)
    if error is None and _called is not None and not _has_returned(_called[1]):
        return _called[0]
    return error


def _has_returned(frame: FrameType) -> bool:
    """Return whether a frame that has ended did so by its last instruction, and not by an exception."""
    import opcode

    return opcode.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")
