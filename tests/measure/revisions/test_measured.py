"""`--revisions` of `bench measure command` and `measure function`: built, measured in turns, compared."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.warehouse.errors import BenchError
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive

TOOL = """
import json, sys, work
json.dump([{"name": "load", "unit": "ms", "value": work.cost()}], open("out.json", "w"))
print(open("built.txt").read())
"""


def git(*words: str) -> str:
    """What git answers in the working directory."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch `faster` that costs half of what main does; we are in a folder of it. A store elsewhere."""
    top = tmp_path / "repository"
    (top / "sub").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(top / "sub")
    git("init", "--quiet", "--initial-branch", "main", str(top))
    Path("tool.py").write_text(TOOL)
    for cost, branch in ((20, "main"), (10, "faster")):
        git("checkout", "--quiet", "-b", branch) if branch != "main" else None
        Path("work.py").write_text(f"def cost():\n    return {cost}\n")
        git("add", "--all")
        git("commit", "--quiet", "--message", branch)
    git("checkout", "--quiet", "main")
    return top


def measure(*words: str) -> Result:
    """`bench measure`."""
    return CliRunner().invoke(cli, ["measure", *words], standalone_mode=False)


def runs(of: str) -> list[tuple[Any, ...]]:
    """Config, commit, whether that is clean, and the number of runs of a source."""
    query = "SELECT config, git_commit, git_dirty, count(*) FROM runs WHERE source {} GROUP BY ALL ORDER BY config DESC"
    return stored(query.format(of))


@pytest.mark.exhaustive
def test_a_command_is_built_run_and_its_results_loaded_in_each_revision() -> None:
    """Times and results of a round are runs of the revision's clean commit; nothing is left of the worktrees."""
    build = "echo x > built.txt"

    done = measure(
        "command", "--revisions", "main", "faster", "--rounds", "2", "--repeat", "2", "--setup", build, "--results", "out.json",
        "--", sys.executable, "tool.py",
    )  # fmt: skip

    assert done.return_value == 0, done.output
    commits = [("main", git("rev-parse", "main")), ("faster", git("rev-parse", "faster"))]
    assert runs("= 'measure'") == [(*each, False, 2) for each in commits]
    assert runs("<> 'measure'") == [(*each, False, 4) for each in commits]
    assert "2.000x faster" in done.stdout and "FASTER" in done.stdout
    assert "bench compare main faster --all-runs" in done.stderr
    assert git("worktree", "list").count("\n") == 0
    assert not Path("out.json").exists() and not Path("built.txt").exists()


def test_a_function_is_measured_in_each_revision() -> None:
    """Each round is a run of each revision; a check of one that fails there is a failure."""
    done = measure("function", "work:cost", "--revisions", "main", "faster", "--rounds", "1", "--processes", "1",
                   "--repeat", "6", "--config", "mine", "--format", "json")  # fmt: skip

    assert done.return_value == 0, done.output
    commits = [("mine@main", git("rev-parse", "main")), ("mine@faster", git("rev-parse", "faster"))]
    assert runs("= 'measure'") == [(*each, False, 1) for each in commits]
    assert '"name": "work:cost"' in done.stdout


@exhaustive
def test_commands_of_revisions_are_compared_each_with_itself() -> None:
    """Their results are told apart by name and revision."""
    write = 'echo \'[{{"name": "load", "unit": "ms", "value": {}}}]\' > out.json'.replace("\\", "")
    done = measure(
        "command", "--revisions", "main", "faster", "--rounds", "1", "--repeat", "1", "--results", "out.json", "--shell",
        "--name", "a", "--name", "b", write.format(1), write.format(2),
    )  # fmt: skip

    assert done.return_value == 0, done.output
    assert [config for config, *_ in runs("<> 'measure'")] == ["b@main", "b@faster", "a@main", "a@faster"]
    for pair in ("main faster", "a@main a@faster", "b@main b@faster"):
        assert f"bench compare {pair} --all-runs" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["command", "--revisions", "main", "--", "true"], "two or more"),
        (["command", "--revisions", "main", "nope", "--", "true"], "nope"),
        (["command", "--revisions", "main", "faster", "--setup", "exit 2", "--", "true"], "cannot be built"),
        (["command", "--revisions", "main", "faster", "--setup", "a", "--setup", "b", "true", "false"], "with &&"),
        (["function", "work:cost", "--revisions", "main", "main"], "two or more"),
        (["function", "work:cost", "--revisions", "main", "faster", "--instructions"], "leave out --revisions"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: list[str], said: str) -> None:
    """Before anything is measured."""
    error = measure(*words).exception

    assert isinstance(error, BenchError)
    assert said in str(error)


@pytest.mark.exhaustive
def test_a_command_that_fails_in_a_revision_says_so() -> None:
    """It ends with 1; the other revision is measured."""
    done = measure("command", "--revisions", "main", "faster", "--rounds", "1", "--repeat", "4", "--",
                   "sh", "-c", "grep -q 20 work.py")  # fmt: skip

    assert done.return_value == 1
    assert "@faster: fail_to_run: 3 of 3 runs failed" in done.stderr
    assert "BROKEN" in done.stdout
