"""A site on a branch: a commit each time it differs, and nothing else of the repository is touched."""

import subprocess
from pathlib import Path

import pytest
from bench.viz.publish.branch import branch_for_site, commit
from bench.viz.publish.folder import SiteFolder
from bench.warehouse.errors import BenchError


def git(*words: str) -> str:
    """In the working directory."""
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def site_of(folder: Path, text: str) -> list[str]:
    """Write a small site; its files."""
    site = SiteFolder.open(folder)
    site.add(f"data/{text}.js", text.encode())
    site.put("index.html", text.encode())
    site.finish()
    return sorted(site.files)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a commit, a change that is staged, and a rule that ignores sites."""
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "me")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "me@example.org")
    git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("site*\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    (tmp_path / "staged").write_text("mine")
    git("add", "staged")
    return tmp_path


def test_a_site_is_the_whole_of_its_branch(repository: Path) -> None:
    """Its files alone, old ones gone; what is staged and checked out stays."""
    status = git("status", "--porcelain")
    for text in ("one", "two"):
        files = site_of(repository / "site", text)
        assert "git push origin gh-pages" in commit(repository / "site", "gh-pages", files)
    assert "already" in commit(repository / "site", "gh-pages", files)

    assert git("ls-tree", "-r", "--name-only", "gh-pages").split() == [
        ".nojekyll", "data/two.js", "index.html", "site.json",
    ]  # fmt: skip
    assert git("log", "--format=%s", "gh-pages").split("\n")[:2] == ["bench publish", "bench publish"]
    assert (git("status", "--porcelain"), git("branch", "--show-current").strip()) == (status, "main")


@pytest.mark.parametrize("branch", ["main", "no..good", "-x", ""])
def test_a_branch_that_cannot_be_one_is_refused(repository: Path, branch: str) -> None:
    """The one that is checked out, and what is no name."""
    with pytest.raises(BenchError):
        branch_for_site(branch)


def test_without_a_repository_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    with pytest.raises(BenchError, match="needs a repository"):
        branch_for_site("gh-pages")
