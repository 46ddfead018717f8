"""Measure git revisions of the user's code in turn: each in its own worktree, by the same bench.

In every round each revision has its own run. Every workload is measured by all revisions, in random order, before the next
workload, so that drift affects all revisions alike. Runs of one revision are repeats, which tell `bench compare` the noise
between runs.
"""

import contextlib
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError, UnknownName
from ..engine.progress import ProgressListener
from ..engine.workload import Settings, Workload

if TYPE_CHECKING:
    from ...warehouse.recorder import Run


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


@contextlib.contextmanager
def worktrees(revisions: Sequence[str]) -> Iterator[dict[str, Worktree]]:
    """Check out revisions beside each other, for a `with` block.

    Raises:
        BenchError: This is no git repository, or it has no such revision.
    """
    top = Path(git("rev-parse", "--show-toplevel"))
    commits = {revision: commit_of(revision) for revision in revisions}
    parent = Path(tempfile.mkdtemp(prefix="bench-revisions-"))
    try:
        for number, commit in enumerate(commits.values()):
            git("worktree", "add", "--detach", str(parent / str(number)), commit)
        yield {revision: Worktree(parent / str(number), top) for number, revision in enumerate(commits)}
    finally:
        shutil.rmtree(parent, ignore_errors=True)
        git("worktree", "prune")


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
    """What git answers, in the present folder.

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
            f"git {' '.join(words)}: {lines[-1] if lines else 'failed'}. Revisions are of the repository here."
        )
    return done.stdout.strip()


def measure(
    plan: Sequence[Workload], settings: Settings, trees: Mapping[str, Worktree], rounds: int, *,
    begin: "Callable[[str], Run]", watch: ProgressListener,
) -> None:  # fmt: skip
    """Measure a plan with every revision.

    The seed also orders the revisions. `begin` begins the run of a revision, in its worktree.

    Raises:
        KeyboardInterrupt: Ctrl-C; the runs of its round are closed as interrupted.
    """
    from ..engine.runner import Runner

    order = random.Random(settings.seed)
    watch.plan(rounds * len(trees) * len(plan))
    for _ in range(rounds):
        with contextlib.ExitStack() as runs:
            turns = {}
            for revision, tree in trees.items():
                with tree.entered():
                    run = runs.enter_context(begin(revision))
                turns[revision] = Runner(run, settings, watch=watch).turns([tree.here(workload) for workload in plan])
            for _ in plan:
                for revision in order.sample(list(trees), len(trees)):
                    watch.revision = revision
                    with trees[revision].entered():
                        next(turns[revision])
            for turn in turns.values():
                next(turn, None)  # to its end, where it says what it cost
