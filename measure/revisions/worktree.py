"""A revision checked out in a folder of its own, and what git knows of it."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...warehouse.errors import BenchError, UnknownName
from ..engine.workload import Workload


@dataclass(frozen=True, slots=True)
class Worktree:
    """A revision checked out: its folder, and that of the repository it stands for."""

    folder: Path
    repository: Path

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Enter it: change to the same folder in the worktree, and redirect PYTHONPATH entries that are in the repository."""
        before = os.environ.get("PYTHONPATH")
        with contextlib.chdir(self.moved(Path.cwd())):
            try:
                if before is not None:
                    os.environ["PYTHONPATH"] = os.pathsep.join(
                        str(self.moved(Path(part))) if part else part for part in before.split(os.pathsep)
                    )
                yield
            finally:
                if before is not None:
                    os.environ["PYTHONPATH"] = before

    def moved(self, path: Path) -> Path:
        """The same path in the worktree; a path outside the repository stays, unless it is a link into it."""
        for whole in (Path(os.path.abspath(path)), path.resolve()):
            if whole.is_relative_to(self.repository):
                return self.folder / whole.relative_to(self.repository)
        return path

    def here(self, workload: Workload) -> Workload:
        """The workload with its model's file, if any, in the worktree."""
        if not workload.target.startswith("/"):
            return workload
        file, _, name = workload.target.rpartition(":")
        return replace(workload, target=f"{self.moved(Path(file))}:{name}")


def commit_of(revision: str) -> str:
    """The commit that git calls so.

    Raises:
        UnknownName: There is none.
        BenchError: This is no git repository.
    """
    try:
        return git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except BenchError:
        known = git("for-each-ref", "--format=%(refname:short)").splitlines()
        raise UnknownName("revision", revision, known, where="the repository here", cure="See: git log --all") from None


def git(*words: str) -> str:
    """Run git in the current folder and return its output.

    Raises:
        BenchError: It failed.
    """
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        if lines and "not a git repository" in lines[-1]:
            raise BenchError(
                "this folder is in no git repository. Revisions are measured where the code is: cd REPOSITORY"
            )
        raise BenchError(
            f"git {' '.join(words)}: {lines[-1] if lines else 'failed'}. Revisions must belong to the repository in this folder."
        )
    return done.stdout.strip()
