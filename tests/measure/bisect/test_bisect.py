"""`bench bisect`: revisions are built once a tree and measured in their worktrees; what is known is never measured again."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.bisect import command
from bench.measure.bisect.commits import commits_between, merged_range
from bench.measure.bisect.driver import BisectSearch, search_name
from bench.measure.engine.claims import ClaimFolder
from bench.measure.revisions import builds as rooms
from bench.measure.revisions.builds import Builds, NotPrepared, PinnedFiles, benchmark_of
from bench.query.bisect.findings import BisectQuestion
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.remote.places import Folder
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...exhaustive import exhaustive
from .repository import COMMITS, Planted, git, plant


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    """Twelve commits, the eighth is slower, the ninth does not build; we are in it."""
    made = plant(tmp_path / "code", culprit=8, commits=12)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_LOCK", "off")
    return made


class FakeMeasure:
    """Records a run with the tags it is given, as `bench measure` does; slower where the source says so."""

    def __init__(self, store: Store, fails: Sequence[int] = (), stops_after: int | None = None) -> None:
        self.store, self.fails, self.stops_after = store, fails, stops_after
        self.places: list[int] = []

    def __call__(self, words: Sequence[str]) -> tuple[int, str]:
        if len(self.places) == self.stops_after:
            raise KeyboardInterrupt
        given = [words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--tag"]
        tags = dict(given)
        self.places.append(int(tags["place"]))
        if self.places[-1] in self.fails:
            return 2, "note\nError: no function 'work' in work.\n"
        source = Path("work.py").read_text()
        slower, line = "21600" in source, source.splitlines()[5].strip()
        with recorder.run("x", store=self.store, source="measure", tags=tags) as run:
            run.case("work").timing(1_080_000 + len(self.places) if slower else 1_000_000 + len(self.places))
            for share in (0.9, 0.91, 0.92) if {"--lines", "lines"} & {*words} else ():
                text = json.dumps({"file": "work.py", "function": "work", "line": 6, "text": line})
                run.case("work").metric("line_time", share, unit="ratio", phase="steady", text=text)
            run.case("work").outcome("ok")
        return 0, ""


def search(planted: Planted, measure: Any, store: Store, **fields: Any) -> BisectSearch:
    between = commits_between(f"{planted.commits[0]}..{planted.commits[-1]}")
    question = BisectQuestion(
        search="5ea4c4", good=between.commits[0], bad=between.commits[-1], commits=between.commits
    )
    builds = Builds(dict(zip(between.commits, between.trees, strict=True)), planted.prepare, None, lambda text: None)
    return BisectSearch(
        question, ["measure", "function", "work:work"], store, builds, measure, 64, lambda text: None, **fields
    )


def test_the_commit_is_found_past_one_that_does_not_build(planted: Planted, tmp_path: Path) -> None:
    """Every revision is measured in its own folder."""
    findings = search(planted, FakeMeasure(Store(tmp_path / "s")), Store(tmp_path / "s")).run()

    assert findings.change is not None and findings.change.bracket.first == 8
    assert set(findings.unusable.values()) <= {"not prepared"}


@exhaustive
def test_a_killed_search_goes_on_with_nothing_measured_twice(planted: Planted, tmp_path: Path) -> None:
    """All it knows is in the store: another process takes it from there, and measures what one would have."""
    store, whole = Store(tmp_path / "s"), Store(tmp_path / "whole")
    alone = FakeMeasure(whole)
    search(planted, alone, whole).run()
    first = FakeMeasure(store, stops_after=3)
    with pytest.raises(KeyboardInterrupt):
        search(planted, first, store).run()
    second = FakeMeasure(store)
    search(planted, second, store).run()

    assert len(first.places) == 3 and len(first.places) + len(second.places) <= len(alone.places) + 1


@exhaustive
def test_machines_that_share_a_search_do_not_measure_the_same(planted: Planted, tmp_path: Path) -> None:
    """A commit that one has claimed is left to it."""
    store = Store(tmp_path / "s")
    claims = [ClaimFolder(Folder(store.root), "claims/f/bisect", name) for name in "ab"]
    assert claims[0].take("000000-0000")
    mine = FakeMeasure(store)
    one = search(planted, mine, store, claims=claims[1])

    assert one._turn(0, one.look()) is False and one._turn(12, one.look()) is True
    assert mine.places == [12] and list(claims[0].held()) == ["000000-0000"]


@pytest.mark.exhaustive
def test_a_measurement_that_fails_is_recorded_with_its_reason(planted: Planted, tmp_path: Path) -> None:
    """Twice, then another revision is measured; at an end it is an error that says how to go on."""
    store = Store(tmp_path / "s")
    with pytest.raises(BenchError, match=r"bad revision .* \(failed: no function 'work' in work.\).*--find failure"):
        search(planted, FakeMeasure(store, fails=[12]), store).run()


def test_a_tree_is_prepared_once(planted: Planted, tmp_path: Path) -> None:
    """A revert has the files of the commit before: it is the same build, under its own name."""
    git(planted.folder, "commit", "-q", "--allow-empty", "-m", "empty")
    between = commits_between("HEAD~2..HEAD")
    told: list[str] = []
    builds = Builds(dict(zip(between.commits, between.trees, strict=True)), "date +%N > built", None, told.append)
    stamps = []
    for commit in between.commits[1:]:
        with builds.worktree(commit).entered():
            stamps.append((Path("built").read_text(), git(Path.cwd(), "rev-parse", "HEAD") == commit))

    assert between.unchanged == {2} and len(told) == 1
    assert stamps[0] == stamps[1] and stamps[0][1]
    builds.remove()
    assert (
        not [path for path in rooms.cache().glob("*") if path.is_dir()]
        and len(git(planted.folder, "worktree", "list").splitlines()) == 1
    )


def test_a_search_that_ended_leaves_no_build_of_one_that_was_interrupted(planted: Planted, tmp_path: Path) -> None:
    """The search that goes on need not use what the one before built."""
    interrupted = search(planted, FakeMeasure(Store(tmp_path / "s")), Store(tmp_path / "s")).builds
    interrupted.worktree(planted.commits[3])
    assert os.listdir(rooms.cache())
    search(planted, FakeMeasure(Store(tmp_path / "s")), Store(tmp_path / "s")).builds.remove()

    assert not os.listdir(rooms.cache())


def test_what_cannot_be_prepared_says_why(planted: Planted) -> None:
    """The last line of the command that failed."""
    between = commits_between("HEAD~1..HEAD")
    builds = Builds(dict(zip(between.commits, between.trees, strict=True)), "echo no compiler >&2; exit 3", None, print)

    with pytest.raises(NotPrepared, match="ended with 3: no compiler"):
        builds.worktree(between.commits[0])


def test_the_benchmark_is_that_of_one_revision(planted: Planted) -> None:
    """Its files replace those of every revision; by default they are those that the command names."""
    assert benchmark_of("HEAD", ["work:work", "--repeat", "3"]) == PinnedFiles(planted.commits[-1], ("work.py",))
    with pytest.raises(BenchError, match="names no file"):
        benchmark_of("HEAD", ["json:dumps"])
    between = commits_between("HEAD~12..HEAD")
    builds = Builds(
        dict(zip(between.commits, between.trees, strict=True)), None, benchmark_of("HEAD:notes.txt", []), print
    )
    with builds.worktree(between.commits[0]).entered():
        assert (Path("notes.txt").read_text(), "20000" in Path("work.py").read_text()) == ("commit 12\n", True)


@pytest.mark.parametrize(
    ("text", "error"),
    [("HEAD", "not a range"), ("HEAD..HEAD", "the same commit"), ("HEAD..HEAD~1", "does not come after"),
     ("nix..HEAD", "no revision 'nix'"),
     ("HEAD~1...HEAD", "not a range")],
)  # fmt: skip
def test_a_range_that_is_none_is_refused(planted: Planted, text: str, error: str) -> None:
    """With the cure."""
    with pytest.raises((BenchError, UnknownName), match=error):
        commits_between(text)


@exhaustive
@pytest.mark.parametrize("kind", ["function", "lines"])
def test_the_commit_that_is_found_is_taken_apart(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """With --why each run records where time goes; the line that changed comes first, also when the search is shown again."""
    store = Store(tmp_path / "s")
    monkeypatch.setattr(command, "_measure", FakeMeasure(store))
    ends = f"{planted.commits[0]}..{planted.commits[-1]}"
    words = ["bisect", ends, "--why", "--prepare", planted.prepare, "--store", str(store.root)]
    done = CliRunner().invoke(cli, [*words, "--", "measure", kind, "work:work"])
    again = CliRunner().invoke(cli, ["bisect", "--show", "", "--why", "--store", str(store.root)])

    for answer in (done, again):
        assert "  work: for i in range(21600):" in answer.stderr, answer.output


def test_a_folder_without_a_repository_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not which command of git failed."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchError, match="this folder is in no git repository"):
        commits_between("HEAD~1..HEAD")


def test_first_parents_only(planted: Planted) -> None:
    """Commits of a branch count as its merge; a search within the merge is proposed."""
    git(planted.folder, "checkout", "-q", "-b", "side", "HEAD~1")
    for text in ("a", "b"):
        git(planted.folder, "commit", "-q", "--allow-empty", "-m", text)
    git(planted.folder, "checkout", "-q", "main")
    git(planted.folder, "merge", "-q", "--no-ff", "-m", "merge", "side")

    assert len(commits_between("HEAD~2..HEAD").commits) == 3
    assert (
        merged_range(git(planted.folder, "rev-parse", "HEAD"))
        == f"{planted.commits[-2][:12]}..{git(planted.folder, 'rev-parse', 'side')[:12]}"
    )
    assert merged_range(planted.commits[-1]) is None


def test_the_same_search_has_the_same_name() -> None:
    """Other commits, another command or another preparation make another."""
    names = {
        search_name(["a", "b"], ["measure"], "make"),
        search_name(["a", "b"], ["measure"], "make"),
        search_name(["a", "b"], ["measure"], None),
    }

    assert len(names) == 2


@pytest.mark.parametrize(
    ("words", "error"),
    [(["a..b"], "not a measuring command"), (["a..b", "--", "sort", "x", "y"], "not a measuring command"),
     (["a..b", "--", "measure", "functoin", "x"], "Nearest: 'function'"), (["--", "measure", "function", "x"], "which commits")],
)  # fmt: skip
def test_what_cannot_be_searched_is_said_at_once(words: list[str], error: str, tmp_path: Path) -> None:
    """Before anything is checked out."""
    done = CliRunner().invoke(cli, ["bisect", "--store", str(tmp_path), *words])

    assert error in str(done.exception)


Run = Callable[..., Any]


@pytest.mark.noisy
@pytest.mark.parametrize("in_c", [False, True], ids=["python", "c"])
@pytest.mark.parametrize("culprit", [5, 17, 30, 44, 61])
def test_a_planted_commit_is_found(in_c: bool, culprit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """+8 % at one of 64 commits, 5 of which do not build; measured for real, on a quiet machine."""
    made = plant(tmp_path / "code", culprit=culprit, in_c=in_c)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["--prepare", made.prepare, "--format", "json", "--", "measure", "function", "work:work", "--budget", "1"]
    done = CliRunner().invoke(
        cli, ["bisect", f"{made.commits[0]}..{made.commits[-1]}", "--store", str(tmp_path / "s"), *words]
    )

    assert done.exit_code == 0 and len(made.commits) == COMMITS + 1, done.output
    assert f"{made.commits[culprit][:9]} (commit {culprit}) made latency" in done.stderr
    assert not os.listdir(rooms.cache())
