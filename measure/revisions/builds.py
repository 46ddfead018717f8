"""Revisions checked out and prepared to be measured, each tree once.

They lie in the user's cache, where a search that is resumed finds them. They are no record: without them a search builds again
what it measures again, and nothing else.
"""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...warehouse.errors import BenchError
from ...warehouse.files import cache_folder
from ..engine.messages import TAIL_BYTES, clean
from .worktree import Worktree, commit_of, git

DAYS = 7  # that a build is kept after it was used last, where no search ended that removes it
READY = ".bench-ready"  # beside the worktree: that it was prepared


class NotPrepared(Exception):
    """A revision could not be prepared; the message says why."""


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """Files of one revision that all others are measured with."""

    commit: str
    paths: tuple[str, ...]  # from the top of the repository


@dataclass(slots=True)
class Builds:
    """Worktrees of commits; those of the same tree share one, which is built once."""

    trees: Mapping[str, str]  # by commit
    prepare: str | None
    benchmark: PinnedFiles | None
    notify: Callable[[str], None]
    repository: Path = field(default_factory=lambda: Path(git("rev-parse", "--show-toplevel")))

    def worktree(self, commit: str) -> Worktree:
        """The revision, prepared.

        Raises:
            NotPrepared: The command failed, or the benchmark's files cannot be put there.
        """
        folder = self._folder(commit)
        tree = Worktree(folder, self.repository)
        if not folder.with_name(folder.name + READY).exists():
            self._build(commit, tree)
            folder.with_name(folder.name + READY).touch()
        os.utime(folder)
        head = git("-C", str(folder), "rev-parse", "HEAD")
        if head != commit:  # of the same tree: only the name differs
            git("-C", str(folder), "update-ref", "--no-deref", "HEAD", commit)
        return tree

    def _build(self, commit: str, tree: Worktree) -> None:
        folder = tree.folder
        if folder.exists():  # a build that was cut off
            shutil.rmtree(folder, ignore_errors=True)
        git("worktree", "prune")
        folder.parent.mkdir(parents=True, exist_ok=True)
        git("worktree", "add", "--detach", "--force", str(folder), commit)
        if self.benchmark:
            try:
                git("-C", str(folder), "checkout", self.benchmark.commit, "--", *self.benchmark.paths)
            except BenchError as error:
                raise NotPrepared(str(error)) from None
        if self.prepare:
            self.notify(f"{commit[:9]}: {self.prepare}")
            with tree.entered():
                done = subprocess.run(
                    ["/bin/sh", "-c", self.prepare],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            if done.returncode:
                tail = clean(done.stdout[-TAIL_BYTES:].decode("utf-8", "replace"))
                last = next((line for line in reversed(tail.splitlines()) if line.strip()), "")
                raise NotPrepared(
                    f"the command that prepares it ended with {done.returncode}{': ' + last if last else ''}"
                )

    def _folder(self, commit: str) -> Path:
        facts = [str(self.repository), self.trees[commit], self.prepare or "", repr(self.benchmark)]
        return cache() / hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]

    def remove(self) -> None:
        """Remove what these commits used, before it was interrupted, too, and what nothing has used for DAYS."""
        old = time.time() - DAYS * 86_400
        stale = (
            [path for path in cache().glob("*") if path.is_dir() and path.stat().st_mtime < old]
            if cache().is_dir()
            else []
        )
        for folder in {*map(self._folder, self.trees), *stale}:
            folder.with_name(folder.name + READY).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        git("worktree", "prune")


@contextlib.contextmanager
def checked_out(
    revisions: Mapping[str, str], prepare: str | None, notify: Callable[[str], None]
) -> Iterator[dict[str, Worktree]]:
    """Revisions beside each other, by the names that messages give them, each built by a command in its folder.

    Raises:
        BenchError: This is no git repository, it has no such revision, or one cannot be built.
    """
    commits = {name: commit_of(revision) for name, revision in revisions.items()}
    builds = Builds({commit: commit for commit in commits.values()}, prepare, None, notify)  # a folder for each
    try:
        yield {name: _built(builds, name, commit) for name, commit in commits.items()}
    finally:
        builds.remove()


def _built(builds: Builds, name: str, commit: str) -> Worktree:
    try:
        return builds.worktree(commit)
    except NotPrepared as error:
        raise BenchError(f"{name} cannot be built: {error}") from None


def cache() -> Path:
    """The folder of worktrees: below $XDG_CACHE_HOME, else ~/.cache."""
    return cache_folder("builds")


def benchmark_of(text: str, words: Sequence[str]) -> PinnedFiles:
    """Read REV or REV:PATH; without a path it is the files that the measuring command names.

    Raises:
        BenchError: The revision has no such path, or the command names no file of it.
    """
    revision, _, path = text.partition(":")
    commit = commit_of(revision)
    top, here = Path(git("rev-parse", "--show-toplevel")), Path.cwd()
    if path:
        inside = os.path.normpath(path)
        if not _holds(commit, inside):
            raise BenchError(
                f"{revision} has no {path}. List its files with: git ls-tree -r --name-only {shlex.quote(revision)}"
            )
        return PinnedFiles(commit, (inside,))
    found = [
        inside
        for word in words
        for name in _files(word)
        if (inside := os.path.relpath(here / name, top)) and not inside.startswith("..") and _holds(commit, inside)
    ]
    if not found:
        raise BenchError(f"the command names no file of {revision}. Say which with --bench-from {revision}:PATH")
    return PinnedFiles(commit, tuple(dict.fromkeys(found)))


def _files(word: str) -> list[str]:
    """The files that a word of a command may mean: itself, or those of the module before its colon."""
    module = word.partition(":")[0]
    names = [word, module]
    if all(part.isidentifier() for part in module.split(".")):
        names += [f"{module.replace('.', '/')}.py", f"{module.replace('.', '/')}/__init__.py"]
    return [name for name in names if name and not name.startswith("-")]


def _holds(commit: str, path: str) -> bool:
    known = subprocess.run(["git", "cat-file", "-t", f"{commit}:{path}"], capture_output=True, text=True)
    return known.stdout.strip() == "blob" or (known.stdout.strip() == "tree" and path != ".")
