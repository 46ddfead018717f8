"""A log file: what a command prints, tables and messages alike, appended to a file as plain lines."""

import contextlib
import re
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ..warehouse.errors import BenchError
from ..warehouse.secrets import masked

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LoggedStream:
    """A stream whose text goes to a file, too: whole lines, of a line that was rewritten in place the last state."""

    def __init__(self, stream: TextIO, file: TextIO) -> None:
        self._stream = stream
        self._file = file
        self._line = ""

    def write(self, text: str) -> int:
        """Write to both."""
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._file.write(f"{_CONTROLS.sub('', line.rpartition(chr(13))[2])}\n")
        return self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream; the file is written line by line."""
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def logged(path: Path | None) -> Iterator[None]:
    """Append what is printed meanwhile, with a heading of its time and command; nothing without a path.

    Raises:
        BenchError: The file cannot be written.
    """
    if path is None:
        yield
        return
    try:
        file = path.open("a", encoding="utf-8", errors="replace", buffering=1)
    except OSError as error:
        raise BenchError(f"cannot write the log {path}: {error.strerror}.") from error
    with file:
        file.write(f"# {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC  {masked(shlex.join(sys.argv))}\n")
        streams = (LoggedStream(stream, file) for stream in (sys.stdout, sys.stderr))
        with contextlib.redirect_stdout(next(streams)), contextlib.redirect_stderr(next(streams)):
            try:
                yield
            except BenchError as error:
                file.write(f"Error: {error}\n")
                raise
            except KeyboardInterrupt:
                file.write("interrupted: Ctrl-C\n")
                raise
