"""Errors that a person can act on: what, where, the cure, the nearest name."""

from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, the same for every command."""

    OK = 0
    FAILED = 1  # a regression, or cases that failed
    USAGE = 2
    NOTHING = 3  # coverage lost, or nothing to draw
    TOO_LITTLE = 4  # too little data to say
    INTERNAL = 70
    BUSY = 75


class BenchError(Exception):
    """An error whose message is for the user; the command line prints it and exits with `exit_code`."""

    exit_code = Exit.USAGE


class StoreBusy(BenchError):
    """Another process is loading this store."""

    exit_code = Exit.BUSY


class NothingToShow(BenchError):
    """The question was understood, and there is nothing to draw or print."""

    exit_code = Exit.NOTHING


class UnknownName(BenchError):
    """A name nothing in the store answers to; carries the nearest that does."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "", cure: str = "") -> None:
        import difflib

        known = list(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:3]
        parts = [f"no {kind} {name!r}{' in ' + where if where else ''}."]
        if near:
            parts.append(f"Nearest: {', '.join(repr(n) for n in near)}.")
        if cure:
            parts.append(cure)
        super().__init__(" ".join(parts))


class PlaceError(BenchError):
    """A place cannot be used: it is not there, not reachable, or not ours."""


class Missing(PlaceError):
    """There is nothing by this name."""


class MissingExtra(BenchError):
    """A command whose optional packages are not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this command needs {package}, which is not installed. Install it with: pip install 'bench-warehouse[{extra}]'"
        )
