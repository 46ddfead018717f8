"""The exception with which a program ends: Python says nothing of a `SystemExit` to what runs at exit.

So `sys.exit`, `exit` and `quit` are watched, and of any other `SystemExit` the frame of the main program tells that it did not
return. Its code is known where the frame itself raises it as a constant.
"""

import functools
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_UNSEEN = "its code is not known; sys.exit or `with bench.run()` would tell it"
_main: FrameType | None = None  # the frame of the main program
_called: SystemExit | None = None  # what was raised last by a watched function in the main thread


def watch_exits() -> None:
    """Note from now on what `sys.exit`, `exit` and `quit` raise, and which frame is the main program's."""
    global _main
    _main = _main or _frame_of_main()
    plain = sys.exit
    if hasattr(plain, "__wrapped__"):
        return
    sys.exit = _watched(plain)
    for name, value in [*vars(sys.modules["__main__"]).items()]:
        if value is plain:  # from sys import exit
            setattr(sys.modules["__main__"], name, sys.exit)
    if "_sitebuiltins" in sys.modules:  # not with `python -S`
        import _sitebuiltins

        _sitebuiltins.Quitter.__call__ = _watched(_sitebuiltins.Quitter.__call__)  # type: ignore[method-assign]


def exception_at_exit() -> BaseException | None:
    """The exception that ended the program; None where it came to its end, or where Python waits at a prompt."""
    if hasattr(sys, "ps1"):  # the last exception may be an hour old
        return None
    error: BaseException | None = getattr(sys, "last_value", None)
    if error is not None or _main is None or _frame_of_main() is not None:  # or it still runs
        return error
    import opcode

    ended_by = opcode.opname[_main.f_code.co_code[_main.f_lasti]]
    if ended_by.startswith("RETURN"):
        return None
    return _called or (_raised_by(_main) if ended_by == "RAISE_VARARGS" else SystemExit(_UNSEEN))


def _watched(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def exit(*arguments: Any, **named: Any) -> None:
        global _called, _main
        try:
            plain(*arguments, **named)
        except SystemExit as raised:
            if threading.current_thread() is threading.main_thread():  # another ends its thread alone
                _called, _main = SystemExit(*raised.args), _main or _frame_of_main()
            raise

    return exit


def _frame_of_main() -> FrameType | None:
    """The frame of the main program, if it is what runs here."""
    found, frame = None, sys._getframe()
    names = getattr(sys.modules.get("__main__"), "__dict__", None)
    while frame is not None:
        if frame.f_globals is names and frame.f_code.co_name == "<module>":
            found = frame
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _raised_by(frame: FrameType) -> SystemExit | None:
    """The exception of a frame that ended by `raise SystemExit(…)`; None where that is no constant, as `main()`."""
    import ast
    import linecache

    try:
        nodes = [*ast.walk(ast.parse("".join(linecache.getlines(frame.f_code.co_filename))))]
    except (SyntaxError, ValueError):  # the file is another by now
        return None
    for node in nodes:
        if isinstance(node, ast.Raise) and node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno):
            if node.exc is None or any(isinstance(part, ast.JoinedStr) for part in ast.walk(node.exc)):
                return SystemExit(_UNSEEN)
            try:
                return SystemExit(*map(ast.literal_eval, getattr(node.exc, "args", ())))
            except ValueError:
                return None
    return None
