"""Ctrl-C and SIGTERM while DuckDB is at work: it looks for them in some queries only, so a thread of ours breaks off all of them.

During an import a signal waits for its end: an extension that is interrupted while it begins aborts, or hides the interruption.
It also waits while a `with` block ends, which removes what is half written: an `__exit__` that raises on entry removes nothing,
and Python gets to the signal just there where a query of the block was broken off.
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
import weakref
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

AGAIN_S = 0.05  # between two attempts: a query that begins meanwhile forgets the first
ATTEMPTS = 200
PUT_OFF_S = 1.0  # that an import or the end of a `with` block may still take
TWICE_S = 0.2  # `timeout` sends a signal to the process and to its group: the second is the same wish
SIGNALS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}  # and what Python does at them
_connections: "weakref.WeakSet[duckdb.DuckDBPyConnection]" = weakref.WeakSet()
_put_off: float | None = None  # when, for an import or the end of a `with` block
_number = int(signal.SIGINT)  # of the last signal
_heard: tuple[float, FrameType | None, int | None] = (0.0, None, None)  # when and where Python got to the last signal


def breakable(connection: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
    """The same connection, whose queries Ctrl-C breaks off."""
    _connections.add(connection)
    return connection


def break_off() -> None:
    """Break off the queries that run now, of all threads."""
    for connection in list(_connections):
        with contextlib.suppress(Exception):  # it was closed
            connection.interrupt()


def watch() -> None:
    """End the command and its queries at Ctrl-C and SIGTERM; one that is ignored, or that another handler takes, stays so."""
    watched = [number for number, usual in SIGNALS.items() if signal.getsignal(number) is usual]
    if not watched:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in watched:
        signal.signal(number, _interrupt)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(reader,), name="interruption", daemon=True).start()


def last_signal() -> int:
    """The signal that came last: SIGTERM ends a prompt, too, and has an exit code of its own."""
    return _number


def raise_put_off() -> None:
    """Raise what was put off: the command has come to its end meanwhile."""
    if _put_off:
        heard(None)
        raise KeyboardInterrupt


def heard(frame: FrameType | None) -> float:
    """Note that a handler has got to the signal, so that no later query is broken off; the seconds since the one before."""
    global _heard, _put_off
    _put_off = None
    before, _heard = _heard, (time.monotonic(), frame, frame and frame.f_lasti)
    return _heard[0] - before[0]


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _put_off, _number
    _number = number
    if _is_to_end_first(frame):
        _put_off = _put_off or time.monotonic()
        if time.monotonic() - _put_off < PUT_OFF_S:
            return
    if heard(frame) > TWICE_S:
        raise KeyboardInterrupt


def _is_to_end_first(frame: FrameType | None) -> bool:
    """True during an import or the end of a `with` block; one that suppresses exceptions would hide the broken query."""
    while frame:
        code = frame.f_code
        if code.co_filename == "<frozen importlib._bootstrap>":
            return True
        if code.co_name == "__exit__" and code is not contextlib.suppress.__exit__.__code__:
            return True
        frame = frame.f_back
    return False


def _listen(reader: int) -> None:
    """Wait for signals: Python writes them here at once, though its own handler waits for DuckDB to look for them.

    DuckDB may wait for its threads after that, so its queries are broken off until the main thread goes on.
    """
    before = _heard
    while signals := os.read(reader, 64):
        number = next((number for number in signals if number in SIGNALS), 0)
        for _ in range(ATTEMPTS if number else 0):
            if signal.getsignal(number) is not _interrupt or (_heard is not before and not _is_waiting()):
                break
            break_off()
            time.sleep(AGAIN_S)
            if _put_off:
                signal.pthread_kill(threading.main_thread().ident or 0, number)
        while select.select([reader], [], [], TWICE_S)[0]:
            os.read(reader, 64)
        before = _heard


def _is_waiting() -> bool:
    """Return whether the main thread is where it got to the signal."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # none where Python ends
    return frame is not None and (frame, frame.f_lasti) == _heard[1:]
