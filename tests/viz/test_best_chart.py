"""`bench viz` without a chart: what fits the store best, and what else there is."""

from pathlib import Path

import bench
import click
import pytest
from bench.cli import cli
from bench.viz.best_chart import FITTING
from bench.viz.command import viz
from click.testing import CliRunner, Result

from ..exhaustive import exhaustive

pytest.importorskip("altair")


def drawn(tmp_path: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["viz", *words, "--store", str(tmp_path)])


def record(tmp_path: Path, *factors: float) -> None:
    """A run a factor of a case of 20 samples, and one that never changes."""
    for factor in factors:
        with bench.run("main", store=tmp_path) as own:
            for i in range(20):
                own.case("sort").timing(int(1_000_000 * factor) + i % 5 * 100)
                own.case("hash").timing(500_000 + i % 5 * 100)


def test_a_run_of_cases_is_drawn_as_bars(tmp_path: Path) -> None:
    """The notice says what was drawn, once; times have their unit."""
    record(tmp_path, 1.0)
    found = drawn(tmp_path)

    assert found.exit_code == 0, found.output
    assert "drawn: bench viz query" in found.stderr and "sort" in found.stdout
    assert "also query" not in found.stderr
    assert "value [µs]" in found.stdout or "value [ms]" in found.stdout


@exhaustive
def test_cases_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """By the axes in which they differ, and no others."""
    with bench.run("main", store=tmp_path) as own:
        for backend in ("a", "b"):
            for batch in (1, 8):
                own.case(
                    "net", backend=backend, dtype="float32", batch_size=batch, parameters={"variant": 'a "b"'}
                ).timing(1_000_000 * batch)
    found = drawn(tmp_path)

    assert found.exit_code == 0, found.output
    assert all(f"net {backend} batch {batch} " in found.stdout for backend in ("a", "b") for batch in (1, 8))
    assert "float32" not in found.stdout and "variant" not in found.stdout


def test_many_runs_are_drawn_as_their_history_of_what_changed(tmp_path: Path) -> None:
    """Not only as `passing 100 %`."""
    record(tmp_path, *[1.0] * 6, *[1.3] * 6)
    found = drawn(tmp_path)

    assert found.exit_code == 0, found.output
    assert "drawn: bench viz history; also query" in found.stderr
    assert "sort" in found.stdout


def test_runs_of_other_cases_by_turns_have_no_history(tmp_path: Path) -> None:
    """A file of each size, say: each of their panels would hold one point."""
    for size in (1, 2, 4, 8):
        with bench.run("main", store=tmp_path) as own:
            own.case("sort", batch_size=size).timing(1_000_000 * size)

    assert "drawn: bench viz query" in drawn(tmp_path).stderr


@exhaustive
def test_steps_are_drawn_over_their_tokens(tmp_path: Path) -> None:
    """Into a file, too."""
    with bench.run("main", store=tmp_path) as own:
        for i in range(50):
            own.schedule_chunk([i + 1], schedule_ms=0.1, model_run_ms=5.0 + i / 10)
    found = drawn(tmp_path, "-o", str(tmp_path / "x.svg"))

    assert found.exit_code == 0, found.output
    assert "drawn: bench viz runtime-vs-tokens" in found.stderr and (tmp_path / "x.svg").exists()


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    """Nothing is drawn."""
    with bench.run("main", store=tmp_path):
        pass

    assert "bench ingest PATH" in str(drawn(tmp_path).exception)


@pytest.mark.parametrize("words", [words for _, words in FITTING], ids=lambda words: words[0])
def test_every_chart_that_may_be_drawn_takes_its_options(words: tuple[str, ...]) -> None:
    """A chart whose option got another name would end in a usage error, in stores of one kind only."""
    with click.Context(viz) as context:
        command = viz.get_command(context, words[0])
        assert command is not None
        with command.make_context(words[0], [*words[1:]], parent=context) as given:
            assert given.params
