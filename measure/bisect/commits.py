"""The commits between two revisions, as git lists them along first parents."""

import subprocess
from dataclasses import dataclass

from ...warehouse.errors import BenchError
from ..revisions.worktree import commit_of, git


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Commits in order, the good one first."""

    commits: tuple[str, ...]
    trees: tuple[str, ...]

    @property
    def unchanged(self) -> frozenset[int]:
        """Places whose files are those of the place before: empty commits, which change nothing."""
        return frozenset(place for place in range(1, len(self.trees)) if self.trees[place] == self.trees[place - 1])


def commits_between(text: str) -> CommitRange:
    """The commits of GOOD..BAD; of a merge, what was merged counts as part of it.

    Raises:
        BenchError: The text is no range, this is no repository, or BAD does not come after GOOD.
        UnknownName: git knows no such revision.
    """
    good, dots, bad = text.partition("..")
    if not dots or not good or bad.startswith("."):
        raise BenchError(f"{text!r} is not a range of commits. Write it as GOOD..BAD, such as v1.2..HEAD.")
    first, last = commit_of(good), commit_of(bad or "HEAD")
    if first == last:
        raise BenchError(f"{good} and {bad or 'HEAD'} are the same commit: there is nothing between them.")
    if subprocess.run(["git", "merge-base", "--is-ancestor", first, last], capture_output=True).returncode:
        base = git("merge-base", first, last)
        raise BenchError(
            f"{bad or 'HEAD'} does not come after {good}. Search from where they part: bench bisect {base[:12]}..{bad or 'HEAD'}"
        )
    listed = git("log", "--first-parent", "--reverse", "--format=%H %T", f"{first}..{last}").splitlines()
    start = git("log", "-1", "--format=%H %T", first)
    commits, trees = zip(*(line.split() for line in [start, *listed]), strict=True)
    return CommitRange(commits, trees)


def subject_of(commit: str) -> str:
    """The first line of a commit's message; the empty text where this repository does not have it."""
    try:
        return git("log", "-1", "--format=%s", commit)
    except BenchError:
        return ""


def merged_range(commit: str) -> str | None:
    """The commits that a merge brought in, as git writes them; None for what is no merge."""
    parents = git("rev-list", "--parents", "-n", "1", commit).split()[1:]
    if len(parents) < 2:
        return None
    return f"{git('merge-base', parents[0], parents[1])[:12]}..{parents[1][:12]}"
