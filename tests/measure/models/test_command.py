"""`bench measure models` from end to end, with a program that fails on request instead of torch's."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from bench.cli import cli
from bench.measure.engine import runner
from bench.measure.engine.workload import Workload
from bench.measure.models import planning, report
from bench.measure.pytorch import registry
from bench.measure.suites.model import Model
from bench.warehouse import environment
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive

Bench = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run the command over one model, `fake`, whose backends do what is asked; into a store of the test's own."""
    deeds: dict[str, str] = {}

    class Faked(runner.Runner):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, program="fake_program:FakeProgram")

        def measure(self, plan: Iterable[Workload], further: Iterable[Workload] = ()) -> int:
            if "interrupt" in deeds.values():
                interrupt_the_second(monkeypatch)
            return super().measure([replace(workload, parameters=deeds) for workload in plan])

    monkeypatch.setattr(runner, "Runner", Faked)
    monkeypatch.setattr(planning, "models_of", lambda suite: {"fake": Model("m:C", 8), "next": Model("m:C", 8)})
    monkeypatch.setattr(registry, "check", lambda names: None)
    monkeypatch.setattr(environment, "git", lambda folder=None: ("c0ffee" * 6, "main", False))

    def run(*words: str, **asked: str) -> Result:
        deeds.clear()
        deeds.update(asked)
        arguments = ["measure", "models", "--backends", "candidate", "--repeat", "6", "--budget", "0.3",
                     "--store", str(tmp_path / "store"), *words]  # fmt: skip
        return CliRunner().invoke(cli, arguments, standalone_mode=False)

    return run


def interrupt_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the second workload's worker is at work."""
    real, workers = runner._attend, iter(range(9))

    def attend(process: Any, *rest: Any) -> Any:
        if next(workers) == 1:
            process.kill()
            process.wait()
            raise KeyboardInterrupt
        return real(process, *rest)

    monkeypatch.setattr(runner, "_attend", attend)


def test_failures_end_the_table_and_the_exit_code_is_one(bench: Bench) -> None:
    """One row each with status, phase and reason; whatever else was measured stands above them."""
    done = bench("--only", "fake", candidate="segfault@1")

    table, failures = (part.splitlines() for part in done.stdout.split("\n\n"))
    assert done.return_value == 1
    assert [line.split()[-1] for line in table[2:]] == ["ok", "crashed"]
    assert failures[0].split() == ["failed", "status", "phase", "reason"]
    assert failures[2:] == ["fake inference 8 candidate=segfault@1 candidate  crashed  cold   worker ended by SIGSEGV"]


@exhaustive
def test_programs_get_one_table_with_everything_in_it(bench: Bench) -> None:
    """A row for each case, exact; failures are rows among them."""
    done = bench("--only", "fake", "--format", "csv", candidate="raise@1")

    header, eager, candidate = (line.split(",") for line in done.stdout.splitlines())
    named = dict(zip(header, candidate, strict=True))
    assert (named["backend"], named["status"], named["reason"], named["median_ns"]) == (
        "candidate", "fail_to_run", "RuntimeError: no kernel for this", "",
    )  # fmt: skip
    assert float(dict(zip(header, eager, strict=True))["median_ns"]) > 0


@pytest.mark.exhaustive
def test_what_went_well_ends_with_zero_and_no_second_table(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says where it is."""
    monkeypatch.setattr(report, "contradiction", lambda *estimates: None)  # which a busy machine makes of 6 samples
    done = bench("--only", "fake")

    assert done.return_value == 0
    assert "\n\n" not in done.stdout
    assert re.search(r"n=\d, p=", done.stdout)  # of 6 blocks, less those that lost their processor
    assert "recorded as run" in done.stderr


@pytest.mark.exhaustive
def test_an_interruption_shows_what_was_measured(bench: Bench, tmp_path: Path) -> None:
    """The table comes all the same, and what is left resumes."""
    done = bench(eager="interrupt")

    assert isinstance(done.exception, click.Abort)
    rows = [line.split() for line in done.stdout.split("\n\n")[0].splitlines()[2:]]
    assert [(row[0], row[-1]) for row in rows] == [("fake", "ok"), ("fake", "ok")] + 2 * [("next", "interrupted")]
    assert stored("SELECT status, reason FROM run_summaries", tmp_path / "store") == [("interrupted", "Ctrl-C")]


@pytest.mark.exhaustive
def test_a_plan_that_is_known_is_shown_and_not_measured(bench: Bench, tmp_path: Path) -> None:
    """No run is made of it; a case that is not known gets one, and the table shows both."""
    assert bench("--only", "fake").return_value == 0
    again, more = bench("--only", "fake", "--resume"), bench("--resume")

    assert "the whole plan is known: nothing was measured" in again.stderr
    assert [line.split()[0] for line in again.stdout.splitlines()[2:]] == ["fake", "fake"]
    assert [line.split()[0] for line in more.stdout.splitlines()[2:]] == ["fake", "fake", "next", "next"]
    (first, scope), (_, tags) = stored("SELECT run_id, tags FROM runs ORDER BY run_id", tmp_path / "store")
    assert (scope, tags) == ('{"only": "fake"}', f'{{"resumes": "{first}"}}')


@pytest.mark.exhaustive
def test_a_part_of_a_plan_says_which(bench: Bench, tmp_path: Path) -> None:
    """As a tag, by which its night is put together."""
    bench("--partition", "2/2")

    assert stored("SELECT tags ->> 'partition' FROM runs", tmp_path / "store") == [("2/2",)]


def test_an_empty_part_is_no_failure(bench: Bench) -> None:
    """A matrix of jobs may have more parts than there is work."""
    done = bench("--partition", "3/3")

    assert (done.return_value, done.stdout) == (0, "")
    assert "part 3/3 of this plan is empty" in done.stderr


@pytest.mark.parametrize(
    "words", [("--budget", "nan"), ("--timeout", "inf"), ("--timeout", "1e12"), ("--sample", "nan")]
)
def test_what_is_no_finite_number_bounds_nothing(words: tuple[str, ...]) -> None:
    """A budget of nan would never be spent, and no clock waits for ever: refused before anything runs."""
    ended = CliRunner().invoke(cli, ["measure", "models", *words, "--print"])

    assert ended.exit_code == 2
    assert "is not a number up to 1,000,000,000" in ended.stderr
