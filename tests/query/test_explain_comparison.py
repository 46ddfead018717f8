"""Explanations of a difference between two sides: the comparison, every run, the noise, and what the environments differ in."""

import re
from pathlib import Path
from typing import Any

import pytest
from bench.query.comparison.sides import Side
from bench.query.explain.explain import explain, explain_comparison
from bench.warehouse import events
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.events import Event
from bench.warehouse.store import Store

from ..builders import Builder, case, metric, outcome, run, timing
from ..exhaustive import exhaustive
from .conftest import Bench, record

AXES: dict[str, Any] = {"source_id": "file"}  # imported, so that no event files are looked for


def side(name: str, torch: str, *values: int) -> list[Event]:
    """Runs of a config a second apart, each with eight equal latencies of a model."""
    found: list[Event] = [events.Environment(environment_id=torch, torch=torch, cpu="x")]
    for number, value in enumerate(values):
        run_id = f"{name}-{number}"
        it = case("m", run=run_id, backend="inductor", **AXES)
        found.append(run(run_id, name, environment_id=torch, host="vm", started_at=number * 10**6, git_commit=name * 9))
        found += [it, outcome(it), *(timing(it, value, **AXES) for _ in range(8))]
    return found


@pytest.fixture(scope="module")
def sides() -> Any:
    """Half as fast, on another version of torch; the candidate has a model that the base has not."""
    extra = case("new", run="slow-1", **AXES)
    warehouse = Builder().add(
        *side("fast", "2.12", 1000, 1010, 990), *side("slow", "2.13", 2000, 2020), extra, outcome(extra)
    )
    warehouse.add(metric(extra, "speedup", 2.0, unit="ratio", better="higher", **AXES))
    return warehouse


SIDES = (Side("fast", ("fast-2", "fast-1", "fast-0")), Side("slow", ("slow-1", "slow-0")))


def test_the_comparison_is_taken_apart(sides: Any) -> None:
    """Verdict and ratio with their doubt, the value of each run, the noise reckoned with, the environments, all samples."""
    found = explain_comparison(sides, SIDES, "m")
    verdict, runs, noise, *_ = found.parts
    parts = {part.title: part for part in found.parts}

    assert found.title.splitlines() == [
        "m inductor", "base run fast-2, config fast, 1970-01-01 00:00, commit fastfastf, vm, and 2 more",
        "candidate run slow-1, config slow, 1970-01-01 00:00, commit slowslows, vm, and 1 more",
    ]  # fmt: skip
    assert re.match(r"SLOWER: 2\.0\d*x slower \(95 % 1\.9\d*–2\.\d+\); ", verdict.sentences[0])
    assert "; 3 against 2 runs, confirmed; " in verdict.sentences[0]
    assert verdict.sentences[1] == "base 1 µs, candidate 2.01 µs, difference +1.01 µs"
    assert [(row[0], row[1], row[5]) for row in runs.rows] == [
        ("base", "fast-0", 1000.0), ("base", "fast-1", 1010.0), ("base", "fast-2", 990.0),
        ("candidate", "slow-0", 2000.0), ("candidate", "slow-1", 2020.0),
    ]  # fmt: skip
    assert [row[:3] for row in noise.rows] == [("fast", "vm", 3), ("slow", "vm", 2)]
    assert ("software", "torch", "2.12", "2.13") in parts["environments"].rows
    assert parts["environments"].sentences[0].endswith("the same: cpu, host, source")
    assert len(found.data.rows) == 5 * 8 and found.data.columns[0].name == "run_id"


def test_every_statement_gives_its_table(sides: Any) -> None:
    """As it stands, without a parameter."""
    for part in explain_comparison(sides, SIDES, "m").parts:
        if part.sql is not None and not part.figure:
            assert [row[: len(part.columns)] for row in sides.rows(part.sql)] == [tuple(row) for row in part.rows]


@exhaustive
def test_what_one_side_lacks_is_said(sides: Any) -> None:
    """It has no ratio and no difference."""
    verdict, *_ = explain_comparison(sides, SIDES, "new").parts

    (said,) = verdict.sentences
    assert said.startswith("ADDED; ")


def test_a_case_that_neither_side_has_is_an_error(sides: Any) -> None:
    """The nearest is named; with a backend, the nearest of those."""
    with pytest.raises(UnknownName, match=r"no case 'n' in either side. Nearest: 'new'"):
        explain_comparison(sides, SIDES, "n")
    with pytest.raises(UnknownName, match=r"no backend 'eager' in case 'm'. Known: 'inductor'"):
        explain_comparison(sides, SIDES, "m", backend="eager")


def test_the_command_takes_two_sides_and_a_case(bench: Bench) -> None:
    """Named as everywhere; two names alone are a mistake."""
    text = bench("explain", "aaaa-1", "fuse", "mlp", "--backend", "inductor").stdout

    assert text.startswith("mlp inference cpu float32 8 inductor\nbase run aaaa-1, config main, ")
    assert "\ncandidate run bbbb-1, config fuse, " in text
    assert "\nlatency, steady\n  " in text and "FROM comparisons(['aaaa-1'" in text
    assert isinstance(bench("explain", "main", "fuse").exception, BenchError)


@pytest.mark.exhaustive
def test_all_runs_of_both_sides_are_explained_if_asked(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `bench compare --all-runs` compares them; of a case alone there is nothing to choose so."""
    monkeypatch.chdir(tmp_path)  # without a commit no run repeats another
    for config, run_id in (("main", "aaaa-1"), ("main", "aaaa-2"), ("fuse", "bbbb-1")):
        record(tmp_path / ".bench", config, run_id)
    words = ("explain", "main", "fuse", "mlp", "--backend", "inductor", "--store", str(tmp_path / ".bench"))
    newest, every = bench(*words).stdout, bench(*words, "--all-runs").stdout

    assert ", and 1 more" not in newest and ", and 1 more" in every
    assert "works only with two sides" in str(bench("explain", "mlp", "--all-runs").exception)


@pytest.mark.exhaustive
def test_the_mean_of_two_sides_is_that_of_its_cases(sides: Any) -> None:
    """Those without a ratio are listed with the reason."""
    found = explain_comparison(sides, SIDES, "geomean")

    assert [(row[0], row[3], row[5], row[6]) for row in found.parts[0].rows] == [("latency", "inductor", 1, 1)]
    assert found.parts[0].rows[0][4] == pytest.approx(1000 / 2010)
    assert [(row[0], row[4], row[-2]) for row in found.data.rows] == [
        ("latency", "m", "SLOWER"),
        ("speedup", "new", "ADDED"),
    ]
    with pytest.raises(NothingToShow, match="fast and slow have nothing in common"):
        explain_comparison(sides, SIDES, "geomean", metric="speedup")


@pytest.mark.parametrize("names", [("geomean", "fast", "slow"), ("fast", "m", "slow")])
def test_a_case_before_the_sides_is_answered_with_the_order(sides: Any, names: tuple[str, ...]) -> None:
    """It is no run; a name that is neither is left to the error that names the nearest run."""
    warehouse = Warehouse(Store.find("none"), sides.connection)
    (case_name,) = {*names} - {"fast", "slow"}

    with pytest.raises(
        BenchError, match=f"{case_name!r} is not a run. The case comes last: bench explain fast slow {case_name}$"
    ):
        explain(warehouse, names)
    with pytest.raises(UnknownName, match="no run 'slwo'"):
        explain(warehouse, ("fast", "slwo", "m"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("runs", [("slow-9", "slow-8"), ("slow-9",)], ids=["of the side", "of its config"])
def test_the_newest_run_with_the_case_is_measured_again(runs: tuple[str, ...]) -> None:
    """Not the newest of the side, which may have measured other cases."""
    warehouse = Builder().add(
        *side("fast", "2.12", 1000), *side("slow", "2.13", 2000), run("slow-9", "slow", started_at=9 * 10**6)
    )
    warehouse.add(case("other", run="slow-9"), run("slow-8", "slow", started_at=8 * 10**6, command="make it"))
    warehouse.add(case("m", run="slow-8", backend="inductor"))
    found = explain_comparison(warehouse, (Side("fast", ("fast-0",)), Side("slow", runs)), "m", backend="inductor")

    assert any(
        "make it" in sentence for part in found.parts for sentence in part.sentences if part.title == "measure it again"
    )
