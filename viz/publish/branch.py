"""A site as a commit on a branch of its own, which touches neither the working tree nor the index."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...warehouse.errors import BenchError
from .folder import MANIFEST

_AS_IT_IS = ".nojekyll"  # without it GitHub Pages would make pages of its own of Markdown


def branch_for_site(name: str) -> str:
    """The branch of this name, in the repository that the working directory is in.

    Raises:
        BenchError: There is no repository, the name is not valid, or the branch is checked out.
    """
    branch = _git("check-ref-format", "--branch", name).strip()
    if f"branch refs/heads/{branch}" in _git("worktree", "list", "--porcelain").splitlines():
        raise BenchError(f"{branch} is checked out, and its files are not those of a site. Name a branch of its own.")
    return branch


def commit(site: Path, branch: str, files: Sequence[str]) -> str:
    """Commit the files of a site to a branch, as `branch_for_site` gives it.

    Returns:
        A sentence on what was done.

    Raises:
        BenchError: Git refuses.
    """
    ref = f"refs/heads/{branch}"
    parent = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", ref], capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "GIT_DIR": _git("rev-parse", "--absolute-git-dir").strip(), "GIT_WORK_TREE": str(site.resolve()),
            "GIT_INDEX_FILE": str(Path(folder, "index")),
        }  # fmt: skip
        names = "\0".join([*files, MANIFEST])
        words = ("add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
        _git(*words, within=site, given=names, settings=settings)
        empty = _git("hash-object", "-w", "--stdin", given="").strip()
        _git("update-index", "--add", "--cacheinfo", f"100644,{empty},{_AS_IT_IS}", settings=settings)
        tree = _git("write-tree", settings=settings).strip()
    if parent and _git("rev-parse", f"{parent}^{{tree}}").strip() == tree:
        return f"{branch} has this site already"
    made = _git("commit-tree", tree, *(["-p", parent] if parent else []), "-m", "bench publish").strip()
    _git("update-ref", ref, made, parent or "0" * 40)
    return f"committed the site to {branch} ({made[:9]}). Push it with: git push origin {branch}"


def _git(*words: str, within: Path | None = None, given: str | None = None, settings: Mapping[str, str] = {}) -> str:
    """The output of a git command."""
    try:
        done = subprocess.run(
            ["git", "--literal-pathspecs", *words], cwd=within, input=given, capture_output=True, text=True,
            env={**os.environ, **settings},
        )  # fmt: skip
    except OSError as error:
        raise BenchError(f"cannot run git: {error.strerror}. --to-branch needs it.") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1].removeprefix("fatal: ")
        raise BenchError(f"git {words[0]} failed: {reason}. --to-branch needs a repository here, and a valid name.")
    return done.stdout
