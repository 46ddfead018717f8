"""`bench ci`: both sides built and measured in turns in one job, one verdict."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import bench
import pytest
from bench.cli import cli
from bench.measure.ci import command
from bench.measure.ci.command import TARGETS, Looks, base_commit, excludes_large
from bench.query.comparison.compare import Comparison
from bench.query.comparison.sides import Side
from bench.sql.rules import FDR
from bench.warehouse.errors import BenchError
from click.testing import CliRunner, Result

from ...builders import stored

# Writes results as google-benchmark does, of times that the built file says; each call differs by a little.
TOOL = """
import json, pathlib
calls = pathlib.Path(CALLS)
number = len(calls.read_text().split()) if calls.exists() else 0
ms = float(open("built.txt").read())
calls.write_text((calls.read_text() if number else "") + f"{ms} ")
case = {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "iterations": 1000, "time_unit": "ms"}
document = {"context": {"date": f"2026-01-01T00:{number:02}:00+00:00", "num_cpus": 1, "executable": "b"}, "benchmarks": [
    {**case, "real_time": ms * (1 + number % 3 / 500), "cpu_time": ms, "repetition_index": index} for index in range(8)]}
json.dump(document, open("out.json", "w"))
"""


def git(*words: str) -> str:
    """What git answers in the working directory."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch that makes the work slower, off a main branch that went on."""
    for name in TARGETS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    git("init", "--quiet", "--initial-branch", "main")
    calls = json.dumps(str(tmp_path / "calls.txt"))
    Path("tool.py").write_text(TOOL.replace("CALLS", calls))
    for text, branch in (("1.0", "main"), ("2.0", "feature")):
        if branch != "main":
            git("checkout", "--quiet", "-b", branch)
        Path("work.txt").write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "-m", branch)
    git("checkout", "--quiet", "main")
    Path("other.txt").write_text("more")
    git("add", "--all")
    git("commit", "--quiet", "-m", "more")
    git("checkout", "--quiet", "feature")
    return tmp_path


def ran(root: Path, *words: str, command: Sequence[str] = (sys.executable, "tool.py")) -> Result:
    """`bench ci` on a store of its own."""
    return CliRunner().invoke(
        cli, ["ci", "--store", str(root / "store"), *words, "--", *command], prog_name="bench", standalone_mode=False
    )


def test_both_sides_are_built_measured_in_turns_and_judged(repository: Path) -> None:
    """The base is where the branch began, whatever main did since; sides take turns at coming first."""
    done = ran(
        repository, "--rounds", "3", "--prepare", "cp work.txt built.txt", "--results", "out.json", "--comment", "v.md"
    )

    assert done.return_value == 1, done.output
    assert "SLOWER" in done.stdout
    assert (repository / "calls.txt").read_text().split() == ["1.0", "2.0", "2.0", "1.0", "1.0", "2.0"]
    names = [f"ci@{git('rev-parse', name)[:9]}" for name in ("feature", "feature~1")]
    assert stored("SELECT config, count(*) FROM run_summaries GROUP BY ALL", repository / "store") != []
    assert {config for (config,) in stored("SELECT config FROM run_summaries", repository / "store")} == set(names)
    assert "SLOWER" in Path("v.md").read_text()
    assert git("worktree", "list").count("\n") == 0


@pytest.mark.exhaustive
def test_a_busy_machine_is_measured_until_a_time_is_settled(repository: Path) -> None:
    """Equal sides whose first calls vary by 40 % are UNSURE after two rounds, and the same after more."""
    text = Path("tool.py").read_text().replace('open("built.txt").read()', "1")
    busy = "(number * 7 % 5 / 10 if number < 6 else number % 3 / 500)"
    Path("tool.py").write_text(text.replace("number % 3 / 500", busy).replace('"cpu_time": ms, ', ""))
    git("commit", "--all", "--quiet", "-m", "busy")
    Path("other.txt").write_text("other")
    git("add", "--all")
    git("commit", "--quiet", "-m", "unchanged")
    words = ("--against", "HEAD~1", "--rounds", "2", "--results", "out.json")

    assert ran(repository, *words, "--most-rounds", "2").return_value == 4
    (repository / "calls.txt").unlink()
    done = ran(repository, *words, "--most-rounds", "20", "--config", "again")
    assert (done.return_value, "2 rounds settle no time; 4 are measured" in done.stderr) == (0, True), done.output
    assert 8 <= len((repository / "calls.txt").read_text().split()) < 40


@pytest.mark.parametrize(("rounds", "most"), [(5, None), (5, 20), (5, 5), (2, 20), (3, 10), (1, 1)])
def test_later_looks_are_wrong_no_more_often_than_the_first(rounds: int, most: int | None) -> None:
    """Each look may be wrong by chance: all after the first one together as often as that."""
    looks, more, fdrs = Looks(rounds, most), range(rounds), []
    while more:
        fdrs.append(looks.fdr(more.stop))
        more = looks.after(more.stop, 0)

    assert fdrs[0] == FDR
    assert sum(fdrs[1:]) <= FDR + 1e-9
    assert (len(fdrs) == 1) == (rounds == most)


def test_rounds_double_up_to_sixteen_times_within_five_minutes() -> None:
    """Rounds of more than 7.5 s end at four times; --most-rounds holds whatever they take."""

    def ends(looks: Looks, seconds: float) -> list[int]:
        found, more = list[int](), looks.after(0, 0)
        while more:
            found.append(more.stop)
            more = looks.after(more.stop, more.stop * seconds)
        return found

    assert ends(Looks(5), 2) == [5, 10, 20, 40, 80]
    assert ends(Looks(5), 4) == [5, 10, 20, 40]
    assert ends(Looks(5), 60) == [5, 10, 20]
    assert ends(Looks(5, 30), 60) == [5, 10, 20, 30]
    assert ends(Looks(5, 2), 1) == [5]


@pytest.mark.parametrize(
    ("low", "better", "unit", "excluded"),
    [
        (0.92, "lower", "ns", True),
        (None, "lower", "ns", False),
        (0.91, "lower", "ns", False),
        (0.5, "lower", "bytes", False),
        (0.95, None, "ns", False),
    ],
)
def test_a_noisy_machine_has_to_exclude_three_times_the_floor(
    low: float | None, better: str | None, unit: str, excluded: bool
) -> None:
    """Of times and rates with a direction, of which there is one at least: 9 % slower is a ratio of 0.917."""
    row = {"low": low, "ratio": 1.0, "better": better, "unit": unit, "floor": 0.03}
    gone = {**row, "low": None, "ratio": None}
    sides = (Side("base", ("a",)), Side("head", ("b",)))

    assert excludes_large(Comparison(*sides, [row, gone], [], [], [], [], [], [])) is excluded


PYTEST = (sys.executable, "-m", "pytest", "-q", "--bench", "--bench-budget=0.05")


@pytest.mark.exhaustive
def test_tests_with_the_fixture_bench_are_measured_in_turns(repository: Path) -> None:
    """They record themselves; uncommitted changes are not measured, and the user is told so."""
    Path("test_work.py").write_text(
        "import time\ndef test_it(bench): bench(time.sleep, float(open('work.txt').read()) / 50)\n"
    )
    for branch in ("main", "feature"):
        git("checkout", "--quiet", branch)
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "-m", "tests")
        if branch == "main":
            git("checkout", "--quiet", "-b", "base")
            git("checkout", "--quiet", "feature")
            git("merge", "--quiet", "-m", "with tests", "base")
    Path("work.txt").write_text("0.1")

    done = ran(repository, "--rounds", "2", "--most-rounds", "2", command=PYTEST)
    assert "x slower" in done.stdout, done.output
    assert "what is not committed is not measured" in done.stderr
    assert " test_work.py::test_it " in f" {done.stdout.replace(chr(10), ' ')}"
    query = "SELECT config, count(*) FROM run_summaries WHERE cases = 1 GROUP BY ALL"
    assert sorted(runs for _, runs in stored(query, repository / "store")) == [2, 2]


@pytest.mark.exhaustive
def test_a_test_file_that_cannot_be_imported_is_an_error(repository: Path) -> None:
    """It names the side, and what Python said."""
    for text in ("def test_it(bench): bench(int)", "import nowhere"):
        Path("test_work.py").write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "-m", "tests")
    done = ran(repository, "--rounds", "1", "--against", "HEAD~1", command=PYTEST)

    assert isinstance(done.exception, BenchError)
    assert "cannot be measured: ModuleNotFoundError: No module named 'nowhere'" in str(done.exception)


def test_a_command_that_writes_no_results_is_an_error(repository: Path) -> None:
    """It names the side, the file and what the command said last; of one that failed that it did, and no other cure."""
    for code in (0, 7):
        tool = [sys.executable, "-c", f"print('so it is'); raise SystemExit({code})"]
        said = str(ran(repository, "--results", "none.json", command=tool).exception)

        assert ("wrote no none.json: so it is" in said) and ("ended with 7" in said) == (
            "--results" not in said
        ) == bool(code)


def test_the_comment_of_a_job_that_judged_nothing_says_so(repository: Path) -> None:
    """That of an earlier job is no verdict on this one."""
    comment = repository / "v.md"
    comment.write_text("✅ no change found", "utf-8")
    tool = [sys.executable, "-c", "raise SystemExit('a <b> of it')"]
    ran(repository, "--results", "none.json", "--comment", str(comment), command=tool)
    written = comment.read_text("utf-8")

    assert "✅" not in written and "not judged: base" in written and "a &lt;b&gt; of it" in written


@pytest.mark.exhaustive
def test_a_job_that_is_run_again_has_names_of_its_own(repository: Path) -> None:
    """An earlier job measured these commits, maybe on another machine: its runs are none of this one's sides."""
    for _ in range(2):
        done = ran(repository, "--rounds", "1", "--prepare", "cp work.txt built.txt", "--results", "out.json")
    sides = [f"ci@{git('rev-parse', name)[:9]}.2" for name in ("feature~1", "feature")]

    assert f"base {sides[0]}" in done.stderr and f"head {sides[1]}" in done.stderr
    assert sorted(stored("SELECT config, count(*) FROM run_summaries GROUP BY ALL", repository / "store")) == sorted(
        (config, 1) for side in sides for config in (side, side.removesuffix(".2"))
    )


@pytest.mark.exhaustive
def test_a_job_that_waits_for_another_of_these_commits_has_names_of_its_own(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs in one store took one name, and a regression of the one was called one of the other."""
    sides = [f"ci@{git('rev-parse', name)[:9]}" for name in ("feature~1", "feature")]

    @contextlib.contextmanager
    def after_another(lock: str) -> Iterator[None]:
        for side in sides:
            with bench.run(side, store=repository / "store") as run:
                run.case("BM_a").timing(1_000)
        yield

    monkeypatch.setattr(command, "alone", after_another)
    done = ran(repository, "--rounds", "1", "--prepare", "cp work.txt built.txt", "--results", "out.json")

    assert f"base {sides[0]}.2" in done.stderr and f"head {sides[1]}.2" in done.stderr


def test_a_side_that_cannot_be_built_is_an_error(repository: Path) -> None:
    """It names the side; the last line of the command that builds says why."""
    done = ran(repository, "--prepare", "grep 1.0 work.txt || { echo no compiler; exit 3; }", "--results", "out.json")

    head = git("rev-parse", "HEAD")[:9]
    assert f"head ci@{head} cannot be built: the command that prepares it ended with 3: no compiler" == str(
        done.exception
    )


@pytest.mark.parametrize(
    ("words", "command", "said"),
    [
        ((), (), "what is to be measured"),
        ((), ("./tool",), "--results FILE"),
        ((), ("pytest", "tests"), "pytest --bench"),
        (("--results", "x"), ("measure", "function", "a:b"), "records its own results"),
        ((), ("measure", "functon"), "function"),
        (("--against", "HEAD"), ("measure", "function", "a:b"), "--against HEAD~1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    repository: Path, words: tuple[str, ...], command: tuple[str, ...], said: str
) -> None:
    """Before anything is built."""
    done = ran(repository, *words, command=command)

    assert isinstance(done.exception, BenchError)
    assert said in str(done.exception)


def test_the_branch_to_be_merged_into_is_what_the_job_says(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variables, else --target, else the main branch; one that is not in the clone is an error that says how to clone."""
    git("branch", "release", "feature")
    assert base_commit("merge-base", None) == git("rev-parse", "feature~1")
    assert base_commit("merge-base", "release") == git("rev-parse", "feature")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    assert base_commit("merge-base", None) == git("rev-parse", "feature")
    monkeypatch.setenv("GITHUB_BASE_REF", "gone")
    with pytest.raises(BenchError, match="fetch-depth: 0"):
        base_commit("merge-base", None)
