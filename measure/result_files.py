"""Files that another tool writes (`--results`): what a call wrote is loaded as the result of that call, and nothing else is."""

import glob
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..warehouse import environment


class NoResult(Exception):
    """A call wrote no result, or none that can be told from an older one; the message follows "the command"."""


class IngestResult(Protocol):
    """Loads files as new runs of a config, whatever the store knows already; see `ingest.command.ingest_result`."""

    def __call__(
        self, paths: Sequence[Path], config: str, *, tags: Mapping[str, str], facts: Mapping[str, Any]
    ) -> tuple[list[str], list[str]]:
        """The ids of the runs, and notes."""
        ...


@dataclass(frozen=True, slots=True)
class _FileState:
    """A file before a call: what changes if it is written, and its content."""

    stat: tuple[int, ...]
    size: int
    sha256: bytes

    def is_written(self, path: Path) -> bool:
        return _stat(path) != self.stat

    def is_added_to(self, path: Path) -> bool:
        """Return whether the file begins with what was there before."""
        return 0 < self.size < path.stat().st_size and _sha256(path, self.size) == self.sha256


@dataclass(slots=True)
class ResultFiles:
    """The files that a tool writes, by patterns from the folder that it is called in."""

    patterns: Sequence[str]
    ingest: IngestResult
    notify: Callable[[str], None]
    _awaited: Sequence[str] = ()  # patterns of the call
    _there: dict[Path, _FileState] = field(default_factory=dict)  # before the call
    _own: set[Path] = field(default_factory=set)  # written by earlier calls, and loaded
    _notes: set[str] = field(default_factory=set)  # said once

    def clear(self, patterns: Sequence[str] | None = None) -> None:
        """Before a call: remove what the call before it wrote, and remember what else is there.

        `patterns` are those of this call, if its parameters have their place in them.
        """
        for path in self._own:
            path.unlink(missing_ok=True)
        self._own.clear()
        self._awaited = self.patterns if patterns is None else patterns
        paths = (path for pattern in self._awaited for path in _found(pattern))
        self._there = {path: _FileState(_stat(path), path.stat().st_size, _sha256(path)) for path in paths}

    def written(self) -> list[Path]:
        """After a call: the files that it wrote.

        Raises:
            NoResult: It wrote none of a pattern, or added to a file that was there before.
        """
        files: dict[Path, None] = {}
        for pattern in self._awaited:
            new = [path for path in _found(pattern) if path not in self._there or self._there[path].is_written(path)]
            if not new:
                raise NoResult(f"wrote no {pattern}")
            if old := next((path for path in new if path in self._there and self._there[path].is_added_to(path)), None):
                raise NoResult(f"added to {old.name}, which has results from before; move that away")
            files |= dict.fromkeys(new)
        self._own |= files.keys()
        return [*files]

    def load(self, files: Sequence[Path], config: str, tags: Mapping[str, str] | None = None) -> list[str]:
        """Load them as runs of a config, measured here and now, from the code of the present folder.

        Returns:
            The ids of the runs.

        Raises:
            BenchError: They cannot be read.
        """
        commit, branch, dirty = environment.git()
        facts = {"git_commit": commit, "git_branch": branch, "git_dirty": dirty, "host": os.uname().nodename}
        known = {column: value for column, value in facts.items() if value is not None}
        runs, notes = self.ingest(files, config, tags=tags or {}, facts=known)
        for note in dict.fromkeys(notes):
            if note not in self._notes:
                self._notes.add(note)
                self.notify(f"note: {note}")
        return runs


def _found(pattern: str) -> list[Path]:
    return [path for text in sorted(glob.glob(pattern, recursive=True)) if (path := Path(text).absolute()).is_file()]


def _stat(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _sha256(path: Path, size: int | None = None) -> bytes:
    """The SHA-256 of the first bytes of a file, or of all."""
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        left = path.stat().st_size if size is None else size
        while left and (block := opened.read(min(1 << 20, left))):
            digest.update(block)
            left -= len(block)
    return digest.digest()
