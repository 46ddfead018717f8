"""Faults of readers: a bug in one costs the file that it read, and none that came in the same call."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..warehouse.console.numbers import counted
from .plan import NewPart

_NAMED = 3  # files that the message names


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not loaded, and the error of its reader."""

    part: NewPart
    error: Exception


class ReaderFailed(Exception):
    """An error that is a fault of the reader of a file, not of the file or of the machine."""

    def __init__(self, error: Exception) -> None:
        """Take the error."""
        super().__init__(str(error))
        self.error = error


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """A context that tells faults of readers from what ends the whole call: a full disk, no memory, Ctrl-C.

    Raises:
        ReaderFailed: A reader raised what it should not.
    """
    from ..warehouse.errors import BenchError, Exit

    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        import duckdb

        if isinstance(error, duckdb.OperationalError | duckdb.InterruptException):
            raise
        if isinstance(error, BenchError) and error.exit_code != Exit.INTERNAL:
            raise
        raise ReaderFailed(error) from error


def faults_of(faults: Sequence[Fault], parts: int) -> Exception:
    """The error (exit code 70) that says which of so many files are not loaded, and why; with BENCH_DEBUG the first as it was."""
    from ..warehouse.errors import BenchError
    from ..warehouse.snapshot import internal_error

    if os.environ.get("BENCH_DEBUG"):
        return faults[0].error
    named = [
        f"{fault.error}" if isinstance(fault.error, BenchError)
        else f"{fault.part.path}: the reader of {fault.part.format.name} failed, {type(fault.error).__name__}: {fault.error}"
        for fault in faults[:_NAMED]
    ]  # fmt: skip
    more = f" (and {counted(len(faults) - _NAMED, 'more file')})" if len(faults) > _NAMED else ""
    loaded = parts - len(faults)
    others = f"; {counted(loaded, 'other file', 'is', 'are')}" if loaded else ""
    return internal_error(
        f"internal error, a bug in a reader: {'; '.join(named)}{more}. Nothing of that is loaded{others}. Please report it,"
        " with the file; BENCH_DEBUG=1 shows where"
    )
