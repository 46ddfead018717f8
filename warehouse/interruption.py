"""Ctrl-C while DuckDB is at work: it looks for signals in some queries only, so a thread of ours breaks off all of them.

During an import Ctrl-C waits for its end: an extension that is interrupted while it begins aborts, or hides the interruption.
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
IMPORT_S = 1.0  # that an import may still take
TWICE_S = 0.2  # `timeout` sends a signal to the process and to its group: the second is the same wish
_connections: "weakref.WeakSet[duckdb.DuckDBPyConnection]" = weakref.WeakSet()
_put_off: float | None = None  # when, for an import
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
    """Break off queries at Ctrl-C from now on; nothing changes where Ctrl-C is ignored or another handler takes it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _interrupt)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(reader,), name="interruption", daemon=True).start()


def heard(frame: FrameType | None) -> float:
    """Note that a handler has got to the signal, so that no later query is broken off; the seconds since the one before."""
    global _heard
    before, _heard = _heard, (time.monotonic(), frame, frame and frame.f_lasti)
    return _heard[0] - before[0]


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _put_off
    if _imports(frame):
        _put_off = _put_off or time.monotonic()
        if time.monotonic() - _put_off < IMPORT_S:
            return
    _put_off = None
    if heard(frame) > TWICE_S:
        raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    while frame and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _listen(reader: int) -> None:
    """Wait for signals: Python writes them here at once, though its own handler waits for DuckDB to look for them.

    DuckDB may wait for its threads after that, so its queries are broken off until the main thread goes on.
    """
    before = _heard
    while signals := os.read(reader, 64):
        for _ in range(ATTEMPTS if signal.SIGINT in signals else 0):
            if signal.getsignal(signal.SIGINT) is not _interrupt or (_heard is not before and not _is_waiting()):
                break
            break_off()
            time.sleep(AGAIN_S)
            if _put_off:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while select.select([reader], [], [], TWICE_S)[0]:
            os.read(reader, 64)
        before = _heard


def _is_waiting() -> bool:
    """Whether the main thread is where it got to the signal."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # none where Python ends
    return frame is not None and (frame, frame.f_lasti) == _heard[1:]
