"""Questions of strangers: each is answered by a process of its own, which is ended where it takes more than it may.

DuckDB's own limits do not hold alone: functions of values take memory that it does not count, and a query looks for its
interruption only between blocks of rows. So the process that asks watches the one that answers.
"""

import contextlib
import itertools
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError, Exit
from ..warehouse.store import Notify, Store

if TYPE_CHECKING:
    from .ask import Answer

LOOK_S = 0.02  # between two looks at the memory of the process
ROWS = 100  # rows that it sends at once
MOST_MESSAGE = 1 << 26  # bytes of a row that it may send
OWN_SHARE = 0.8  # of the memory, for what DuckDB counts; the rest is Python's and uncounted
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Limits of a question; None is unlimited."""

    seconds: float | None = 60  # of answering, without what the reader of the answer takes
    memory_bytes: int = 2 * 10**9
    temporary_bytes: int = 4 * 10**9  # of what does not fit into the memory and is put on the disk
    rows: int | None = 1_000_000
    characters: int = 1_000_000  # of a text in a row
    answer_bytes: int = 10**9  # of all rows together


def parse_bytes(text: str) -> int:
    """Bytes from a size such as 500MB or 2G.

    Raises:
        BenchError: It is none.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text, re.IGNORECASE)
    if not found or not (size := int(float(found[1]) * UNITS[found[2].lower()])):
        raise BenchError(f"{text!r} is not a size. Write it as 500MB or 2GB.")
    return size


def limited(limits: QuestionLimits, work: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    """Yield from a generator function in a process of its own, as long as it keeps to the limits.

    The function gets `limits` and a folder for temporary files before its arguments.

    Raises:
        BenchError: What the function raises; or it was ended: the time is up, or it took more memory than it may.
    """
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        too_large = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process, limits.memory_bytes, too_large), daemon=True)
        watcher.start()
        try:
            pickle.dump((work, (limits, folder, *arguments)), process.stdin)
            process.stdin.flush()
            yield from _messages(process.stdout, limits.seconds)
        except (BrokenPipeError, EOFError):
            raise _ended(process, limits, too_large) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def serve() -> None:
    """Answer one question: of the process that asks, which is told everything over standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work, arguments = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_reader, daemon=True).start()
    limits, sent = arguments[0], 0
    try:
        for item in work(*arguments):
            sent += _send(out, ("item", item))
            if sent > limits.answer_bytes:
                raise BenchError(
                    f"the answer is larger than {limits.answer_bytes / 1e6:,g} MB. Ask for less, or allow it more."
                )
        _send(out, ("end", None))
    except BenchError as error:
        message = _in_our_words(str(error), limits)
        _send(out, ("error", (type(error), message, error.exit_code, error.where, [*error.nearest])))
    except Exception as error:
        message = f"the query failed: {type(error).__name__}: {error}"
        _send(out, ("error", (BenchError, message, Exit.INTERNAL, None, [])))
    os._exit(0)  # without waiting for threads of DuckDB


def ask_limited(store: Store, query: str, limits: QuestionLimits, parameters: object = None) -> "Answer | None":
    """Ask in the sandbox and within limits, as `ask` does; of more rows than the limit the first are given.

    Raises:
        BenchError: As `ask` and `limited`.
    """
    from ..warehouse.database import Warehouse
    from .ask import Answer

    Warehouse.open(store).close()  # loads what is new, which is no work of the question
    parts = limited(limits, answer, store, query, parameters)
    columns = next(parts)
    return None if columns is None else Answer(columns, (row for rows in parts for row in rows))


def first_rows(rows: Iterator[Sequence[Any]], most: int, notify: Notify) -> Iterator[Sequence[Any]]:
    """The first rows; a sentence says so where there are more."""
    yield from itertools.islice(rows, most)
    if next(rows, None) is not None:
        notify(f"note: these are the first {counted(most, 'row')} of more. Allow more with: --most-rows")


def answer(limits: QuestionLimits, folder: str, store: Store, query: str, parameters: object) -> Iterator[Any]:
    """The columns of a query in the sandbox, or None of a statement without rows, then lists of rows; for `limited`."""
    from ..warehouse.database import Warehouse
    from .ask import ask, shut_in
    from .computed import compute

    with Warehouse.open(store, config=settings(limits, folder)) as warehouse:
        warehouse.connection.execute("SET enable_progress_bar = false")
        shut_in(warehouse)
        compute(warehouse, query)
        found = ask(warehouse, query, parameters, rows_at_once=ROWS)
        yield found and found.columns
        rows = itertools.islice(found.rows if found else (), limits.rows)
        while part := [
            tuple(_short(value, limits.characters) for value in row) for row in itertools.islice(rows, ROWS)
        ]:
            yield part


def settings(limits: QuestionLimits, folder: str) -> dict[str, Any]:
    """DuckDB's settings that belong to some limits."""
    return {
        "memory_limit": f"{int(limits.memory_bytes * OWN_SHARE)}B",
        "temp_directory": folder,
        "max_temp_directory_size": f"{limits.temporary_bytes}B",
    }


def _in_our_words(message: str, limits: QuestionLimits) -> str:
    """DuckDB's message where it keeps to a limit itself."""
    if "max_temp_directory_size" in message:
        return f"the query puts more than {limits.temporary_bytes / 1e9:g} GB on the disk. Ask for less."
    return _too_large(limits) if message.startswith("Out of Memory") else message


def _too_large(limits: QuestionLimits) -> str:
    return f"the query takes more than {limits.memory_bytes / 1e9:g} GB of memory. Ask for less, or allow it more."


def _short(value: Any, most: int) -> Any:
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]}… ({len(value) - most:,} characters more)"
    if isinstance(value, bytes) and len(value) > most:
        return value[:most]
    return value


def _send(out: IO[bytes], message: tuple[str, Any]) -> int:
    """Send a message; returns its size in bytes."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    if len(data) > MOST_MESSAGE:
        raise BenchError(f"{ROWS} rows of the answer are larger than {MOST_MESSAGE >> 20} MB. Ask for less of them.")
    out.write(len(data).to_bytes(8, "little") + data)
    out.flush()
    return len(data)


def _messages(source: IO[bytes], seconds: float | None) -> Iterator[Any]:
    """Yield what the process sends, until it takes too long."""
    left = seconds
    buffer = bytearray()
    while True:
        while len(buffer) < 8 or len(buffer) < 8 + int.from_bytes(buffer[:8], "little"):
            began = time.monotonic()
            ready = select.select([source], [], [], left)[0]
            left = None if left is None else max(0.0, left - (time.monotonic() - began))
            if not ready:
                raise BenchError(f"the query took longer than {seconds:g} s. Ask for less, or allow it more.")
            if not (block := os.read(source.fileno(), 1 << 20)):
                raise EOFError
            buffer += block
        size = 8 + int.from_bytes(buffer[:8], "little")
        kind, content = pickle.loads(bytes(buffer[8:size]))
        del buffer[:size]
        if kind == "end":
            return
        if kind == "error":
            raise _error(*content)
        yield content


def _error(
    kind: type[BenchError], message: str, exit_code: Exit, where: str | None = None, nearest: Sequence[str] = ()
) -> BenchError:
    error = kind.__new__(kind, message)  # not by its own arguments, which are in the message
    error.exit_code, error.where, error.nearest = exit_code, where, nearest
    return error


def _ended(process: "subprocess.Popen[bytes]", limits: QuestionLimits, too_large: threading.Event) -> BenchError:
    """The reason for which the process ended before its answer did."""
    if too_large.is_set():
        return BenchError(_too_large(limits))
    return _error(BenchError, f"the query ended its process ({process.wait()}). Ask for less.", Exit.INTERNAL)


def _watch(process: "subprocess.Popen[bytes]", most: int, too_large: threading.Event) -> None:
    """End the process when it takes more memory than it may."""
    import psutil

    with contextlib.suppress(psutil.Error):
        seen = psutil.Process(process.pid)
        while process.poll() is None:
            if seen.memory_info().rss > most:
                too_large.set()
                process.kill()
                return
            time.sleep(LOOK_S)


def _end_with_the_reader() -> None:
    """End when nobody waits for the answer any more."""
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)
