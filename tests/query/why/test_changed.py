"""Parts whose source changed between two commits are marked, where the repository is at hand."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from bench.query.comparison.sides import Side
from bench.query.why.changed import marked
from bench.query.why.command import cells
from bench.query.why.parts import Decomposition, DifferencePart, decomposed, part_of

from ...builders import Builder, run

SIDES = (Side("base", ("base",)), Side("candidate", ("candidate",)))
Commit = Callable[[Mapping[str, str]], str]


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commit:
    """Write files into a repository, the present folder, and commit them."""
    monkeypatch.chdir(tmp_path)
    named = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | named | {"GIT_CONFIG_GLOBAL": os.devnull}

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    def committed(files: Mapping[str, str]) -> str:
        for name, text in files.items():
            Path(name).write_text(text)
        git("add", "."), git("commit", "-qm", "x")
        return git("rev-parse", "HEAD")

    git("init", "-q")
    return committed


def marks(base: str | None, candidate: str | None, *parts: DifferencePart, dirty: bool = False) -> Decomposition:
    """A difference of these parts between runs of two commits."""
    warehouse = Builder().add(
        run("base", "base", git_commit=base, git_dirty=False),
        run("candidate", "candidate", git_commit=candidate, git_dirty=dirty),
    )
    return marked(warehouse, SIDES, decomposed("ns", part_of("whole", 1.0, 2.0, None), parts, error=None))


def at(line: int, *, file: str = "work.py", base: float = 1.0, candidate: float = 2.0) -> DifferencePart:
    """A line with a time on both sides."""
    return part_of(f"f: {line}", base, candidate, None, file=file, line=line)


def changed(found: Decomposition) -> dict[str, bool | None]:
    """The marks by name."""
    return {part.name: part.changed for part in found.parts}


def test_a_line_that_changed_is_marked(commit: Commit) -> None:
    """By its line in the candidate, or in the base where that alone has it; what has no line here is not known."""
    base = commit({"work.py": "a\nb\nc\n++ d\n", "other.py": "a\n"})
    candidate = commit({"work.py": "new\na\nb\n++ e\n", "other.py": "a\n"})
    library = at(9, file="/usr/lib/python3/x.py")
    found = marks(base, candidate, at(1), at(2), at(3, candidate=0.0), at(4), library, part_of("gelu", 1.0, 2.0, None))

    assert changed(found) == {"f: 1": True, "f: 2": False, "f: 3": True, "f: 4": True, "f: 9": None, "gelu": None}
    assert found.notes[-1] == f"changed: the line differs between {base[:9]} and {candidate[:9]}"
    assert [row[-1] for row in cells(found)][:2] == ["work.py:1 (changed)", "work.py:2"]


@pytest.mark.parametrize("name", ["with space.py", "ä.py", "*.py", ":(top).py"])
def test_a_file_may_have_any_name(commit: Commit, name: str) -> None:
    """None is read as a pattern."""
    base, candidate = commit({name: "a\n", "z.py": "a\n"}), commit({name: "b\n", "z.py": "b\n"})

    assert changed(marks(base, candidate, at(1, file=name))) == {"f: 1": True}


def test_what_was_not_committed_is_said(commit: Commit) -> None:
    """A dirty tree may have more changes."""
    base, candidate = commit({"work.py": "a\n"}), commit({"work.py": "b\n"})

    assert "not committed" in marks(base, candidate, at(1), dirty=True).notes[-1]


@pytest.mark.parametrize("other", [None, "f" * 40, "--output=written", "HEAD"])
def test_without_both_commits_nothing_is_marked(commit: Commit, other: str | None) -> None:
    """Nor is any text of a run an option of git, or a name that git resolves."""
    base = commit({"work.py": "a\n"})

    assert changed(marks(base, other, at(1))) == changed(marks(base, base, at(1))) == {"f: 1": None}
    assert not Path("written").exists()


def test_outside_a_repository_nothing_is_marked(
    commit: Commit, tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing fails."""
    base, candidate = commit({"work.py": "a\n"}), commit({"work.py": "b\n"})
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    assert changed(marks(base, candidate, at(1))) == {"f: 1": None}
