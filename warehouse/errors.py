"""Errors that a person can act on: what, where, the cure, the nearest name."""

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)""")
SHOWN = 3  # names that an error gives, where none is near
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class Exit(IntEnum):
    """Exit codes, the same for every command."""

    OK = 0
    FAILED = 1  # a regression, or cases that failed
    USAGE = 2
    NOTHING = 3  # coverage lost, or nothing to draw
    TOO_LITTLE = 4  # too little data to say
    REJECTED = 65  # files of which every record is rejected
    INTERNAL = 70
    NO_LOCKS = 71  # the disk has no file locks, and nothing stands in for them
    FULL = 74  # the disk has no room
    BUSY = 75
    NOT_WRITABLE = 77  # the place is read-only, or another user's


class BenchError(Exception):
    """An error whose message is for the user; the command line prints it and exits with `exit_code`."""

    exit_code = Exit.USAGE
    where: str | None = None  # the place that it concerns, if it is known apart from the message
    nearest: Sequence[str] = ()  # names that may have been meant

    def fields(self) -> dict[str, Any]:
        """The parts of the error for programs: what `--errors json` writes."""
        return error_fields(str(self), self.exit_code, type(self).__name__, where=self.where, nearest=self.nearest)


def error_fields(
    message: str, exit_code: int, kind: str, *, where: str | None = None, nearest: Iterable[str] = (), cure: str = ""
) -> dict[str, Any]:
    """An error in its parts. The first sentence of a message says what is wrong, those after it what to do."""
    what, *rest = _sentences(message.partition("\n")[0].strip())
    cures = [cure] if cure else [sentence for sentence in rest if not sentence.startswith(("Nearest: ", "Known: "))]
    return {
        "what": what, "where": where, "cure": " ".join(cures) or None, "nearest": [*nearest], "exit_code": int(exit_code),
        "kind": kind, "message": message,
    }  # fmt: skip


def _sentences(text: str) -> list[str]:
    """The sentences of a text. None ends within quotes: what a name says is nobody's advice."""
    masked = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), text)
    ends = [(gap.start(), gap.end()) for gap in _BETWEEN_SENTENCES.finditer(masked)]
    starts = [0, *(end for _, end in ends)]
    return [text[start:end] for start, end in zip(starts, [*(start for start, _ in ends), None], strict=True)]


class StoreBusy(BenchError):
    """Another process is loading this store."""

    exit_code = Exit.BUSY


class DiskFull(BenchError):
    """A disk has no room for what is to be written."""

    exit_code = Exit.FULL


class NotWritable(BenchError):
    """A place may not be written: a disk that is mounted read-only, or another user's folder."""

    exit_code = Exit.NOT_WRITABLE


class NoLocks(BenchError):
    """A disk has no file locks where one is needed."""

    exit_code = Exit.NO_LOCKS


class AllRejected(BenchError):
    """No record of the files that were given could be read."""

    exit_code = Exit.REJECTED


class NothingToShow(BenchError):
    """The question was understood, and there is nothing to draw or print."""

    exit_code = Exit.NOTHING


class UnknownName(BenchError):
    """A name nothing in the store answers to; carries the nearest that do, or tells some, where none is near."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "", cure: str = "") -> None:
        import difflib

        from .old_names import today

        known = list(dict.fromkeys(known))
        new = today(name, known)
        near = [new] if new else difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        self.where, self.nearest = where or None, near
        parts = [f"no {kind} {name!r}{' in ' + where if where else ''}."]
        if new:
            parts.append(f"It is called {new!r} here.")
        elif near:
            parts.append(f"Nearest: {', '.join(map(repr, near))}.")
        elif known and known[0] not in re.split(r"[\s,]+", cure):  # a cure may name them all
            more = f" and {len(known) - SHOWN} more" if known[SHOWN:] else ""
            parts.append(f"Known: {', '.join(map(repr, known[:SHOWN]))}{more}.")
        if cure:
            parts.append(cure)
        super().__init__(" ".join(parts))


class PlaceError(BenchError):
    """A place cannot be used: it is not there, not reachable, or not ours."""


class Missing(PlaceError):
    """The error that there is nothing by this name."""


class MissingExtra(BenchError):
    """A command whose optional packages are not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this command needs {package}, which is not installed. Install it with: pip install 'bench-warehouse[{extra}]'"
        )


def text_of(error: BaseException) -> str:
    """The text of an exception, even of one whose class fails when it is asked for it."""
    from traceback import TracebackException

    return str(TracebackException(type(error), error, None)).strip()


def described(error: BaseException) -> str:
    """An exception as Python ends a traceback; those of bench are sentences without their class, or mean their cause."""
    kind, text = type(error), text_of(error)
    if kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return text or (described(error.__cause__) if error.__cause__ else kind.__name__)
    return f"{kind.__name__}: {text}" if text else kind.__name__
