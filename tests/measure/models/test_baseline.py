"""A run beside an earlier one, and git revisions in turn."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from bench.cli import cli
from bench.measure.engine import runner
from bench.measure.engine.workload import Workload
from bench.measure.models import baseline, planning
from bench.measure.pytorch import registry
from bench.measure.revisions.builds import checked_out
from bench.measure.revisions.worktree import Worktree
from bench.measure.suites.model import Model
from bench.warehouse import recorder
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import exhaustive, first_of


def compared(backend: str, then: float | None, now: float | None, **fields: Any) -> dict[str, Any]:
    """A row of `comparisons`."""
    ratio = then / now if then and now else None
    return {
        "work_hash": "w", "name": "mlp", "mode": "inference", "batch_size": 8, "sequence_length": None, "phase": "steady",
        "backend": backend, "base_value": then, "candidate_value": now, "base_n": 30, "candidate_n": 20, "ratio": ratio,
        "low": ratio and ratio / 1.1, "high": ratio and ratio * 1.1, "unit": "ns", "better": "lower",
        "verdict": "FASTER", **fields,
    }  # fmt: skip


def test_a_case_has_its_times_its_ratio_and_both_speedups() -> None:
    """Each speedup against the eager of its own side; what one side has not is no row."""
    found = baseline.rows([
        compared("eager", 4e6, 4e6), compared("inductor", 4e6, 2e6), compared("new", None, 1e6),
        compared("eager", 9e6, 9e6, phase="cold"),
    ])  # fmt: skip

    assert [row[4:] for row in found] == [
        ("eager", "4.00 ms (n=30)", "4.00 ms (n=20)", "1.00x (95 % 0.91–1.10)", "–", "–", "FASTER"),
        ("inductor", "4.00 ms (n=30)", "2.00 ms (n=20)", "2.00x faster (95 % 1.82–2.20)", "1.00x", "2.00x", "FASTER"),
    ]


def test_a_baseline_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    """Not after an hour of measuring; latest is what it is at the beginning."""
    store = Store(tmp_path)
    with recorder.run("a", store=store, source="measure") as run:
        pass

    assert baseline.resolve(store, "latest") == run.run_id
    with pytest.raises(BenchError):
        baseline.resolve(store, "nothing")


def git(*words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@y"]
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of two commits, base and main; we are in a folder of it."""
    top = tmp_path / "repository"
    (top / "sub").mkdir(parents=True)
    monkeypatch.chdir(top / "sub")
    git("init", "-q", "-b", "main", str(top))
    for text in ("base", "main"):
        Path("model.py").write_text(f"WHICH = '{text}'\n")
        git("add", "model.py")
        git("commit", "-q", "-m", text)
        git("branch", "-f", "base") if text == "base" else None
    return top


def test_worktrees_are_there_for_a_block_only(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its revision's files, at the place one is in; git knows nothing of them afterwards."""
    monkeypatch.setenv("PYTHONPATH", f"{repository}/sub:/elsewhere")
    with checked_out({"base": "base", "main": "main"}, None, print) as trees:
        seen = {}
        for revision, tree in trees.items():
            with tree.entered():
                seen[revision] = Path("model.py").read_text()
                assert Path.cwd().name == "sub"
            moved = tree.here(Workload(
                suite="model.py", name="Net", target=f"{repository}/sub/model.py:Net", mode="inference", device="cpu",
                dtype="float32", batch_size=1, sequence_length=None, backends=("eager",),
            ))  # fmt: skip
            assert moved.target == f"{tree.folder}/sub/model.py:Net"
        folders = [tree.folder for tree in trees.values()]
    assert seen == {"base": "WHICH = 'base'\n", "main": "WHICH = 'main'\n"}
    assert not any(folder.exists() for folder in folders)
    assert len(git("worktree", "list").splitlines()) == 1


def test_what_is_not_in_the_repository_stays(repository: Path, tmp_path: Path) -> None:
    """Only its own files have revisions, by whichever name: what was not moved was the same code in all of them."""
    (tmp_path / "link").symlink_to(repository)
    for place in (repository / "sub", tmp_path / "link/sub", repository / "../repository/sub"):
        assert Worktree(Path("/tree"), repository).moved(place) == Path("/tree/sub")
    assert Worktree(Path("/tree"), repository).moved(repository / "../link") == Path("/tree")
    beside = repository / "../beside"
    assert Worktree(Path("/tree"), repository).moved(beside) == beside
    assert Worktree(Path("/tree"), repository).moved(Path("/usr/lib")) == Path("/usr/lib")
    assert Worktree(Path("/tree"), repository).moved(Path("model.py")) == Path("/tree/sub/model.py")


@pytest.mark.parametrize("revision", ["nothing", "--all"])
def test_a_revision_that_is_not_there_is_said(repository: Path, revision: str) -> None:
    """By its name; an option is no revision."""
    with pytest.raises(BenchError, match=revision), checked_out({"base": "base", revision: revision}, None, print):
        pass


@pytest.fixture
def bench(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command over two models of a suite of the test's own, into a store of its own."""
    monkeypatch.setattr(planning, "models_of", lambda suite: {"a": Model("m:C", 8), "b": Model("m:C", 8)})
    monkeypatch.setattr(registry, "check", lambda names: None)

    def run(*words: str) -> Any:
        arguments = ["measure", "models", "--backends", "eager", "--repeat", "6", "--budget", "0.2", *words]
        return CliRunner().invoke(cli, [*arguments, "--store", str(tmp_path / "store")], standalone_mode=False)

    return run


@exhaustive
def test_revisions_are_measured_in_turn_and_compared(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round is a run of each, of its own clean commit; each workload by both before the next."""
    turns: list[str] = []

    class Faked(runner.Runner):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, program="fake_program:FakeProgram")

        def _workload(self, workload: Workload, cases: Any) -> dict[str, str]:
            turns.append(f"{workload.name} {Path('model.py').read_text().split()[-1]}")
            return super()._workload(workload, cases)

    monkeypatch.setattr(runner, "Runner", Faked)

    done = bench("--revisions", "base", "main", "--rounds", "1")

    assert done.exception is None, done.output
    assert [sorted(turns[i : i + 2]) for i in range(0, 4, 2)] == [
        ["a 'base'", "a 'main'"], ["b 'base'", "b 'main'"],
    ]  # fmt: skip
    rows: Sequence[Any] = stored(
        "SELECT config, git_commit, git_dirty, count(*) FROM runs GROUP BY ALL ORDER BY 1", tmp_path / "store"
    )
    assert rows == [(name, git("rev-parse", name), False, 1) for name in ("base", "main")]
    table, *_, times_faster = (part.splitlines() for part in done.stdout.split("\n\n"))
    assert [line.split()[:2] for line in table[2:]] == [[name, model] for model in "ab" for name in ("base", "main")]
    assert times_faster[0].split()[5:7] == ["base", "main"], "the sides are called what git calls them"
    assert "1 of 4 a inference b8 @" in done.stderr
    assert sorted(line.split()[0] for line in times_faster[2:]) == ["a", "b"]
    assert isinstance(bench("--revisions", "base").exception, BenchError)


@pytest.mark.parametrize(
    ("turns", "round_", "statuses"),
    first_of(1, [(3, 1, ["interrupted", "ok", "ok", "ok"]), (9, 2, ["ok", "ok", "ok", "ok"])]),
)
def test_ctrl_c_shows_what_is_known_of_each_revision(
    bench: Any, monkeypatch: pytest.MonkeyPatch, turns: int, round_: int, statuses: list[str]
) -> None:
    """The last whole round, or what there is of the first, and the comparison; workloads are counted over all rounds."""
    left, sides = iter(range(turns)), []

    def measured(self: Any, workload: Workload, cases: dict[str, Any]) -> dict[str, str]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        cases["eager"].outcome("ok")
        return {"eager": "ok"}

    monkeypatch.setattr(runner.Runner, "_workload", measured)
    monkeypatch.setattr(baseline, "show", lambda *_, **named: sides.append(named["sides"]))
    done = bench("--revisions", "base", "main", "base")

    assert isinstance(done.exception, click.exceptions.Abort)
    assert sorted(line.split()[-1] for line in done.stdout.splitlines()[2:]) == statuses
    assert f"of each side the run of round {round_} of 3" in done.stderr
    assert "1 of 12 a inference b8 @" in done.stderr
    assert sides == [("base", "main")], "a revision named twice is one"
