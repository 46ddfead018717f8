"""Runs of charts of scheduler steps: the newest, all together, or each by itself."""

import datetime
import importlib
from typing import Any

import pytest
from bench.viz.output.figure import Figure
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import NothingToShow, UnknownName

from ...builders import Builder, chunk, run, source
from ...exhaustive import exhaustive, sampled

CHARTS = ("runtime-vs-tokens", "throughput", "latency-vs-batch", "step-breakdown", "timeline")
every_chart = pytest.mark.parametrize("chart", sampled(CHARTS, "runtime-vs-tokens"))


def days(folders: bool = True) -> Warehouse:
    """Three days of A with 30 steps of 10, 20 and 30 ms, and one of B; each from a folder of its own."""
    builder = Builder()
    for config, day in (("A", 1), ("A", 2), ("A", 3), ("B", 3)):
        run_id = f"{config}-run-{day}"
        file = f"{run_id}/day-{day}/steps.jsonl"
        builder.add(run(run_id, config, started_at=datetime.datetime(2026, 11, day)))
        if folders:
            builder.add(source(file, 30, run_id, config=config, path=file))
        told = {"source_id": file if folders else None, "schedule_ms": 1.0, "model_run_ms": 10.0 * day}
        builder.add(*(chunk(line, [128], run=run_id, clock_s=line / 10, **told) for line in range(1, 31)))
    return builder


def draw(chart: str, warehouse: Warehouse, **options: Any) -> Figure:
    figure: Figure = importlib.import_module(f"bench.viz.charts.{chart.replace('-', '_')}").draw(warehouse, **options)
    return figure


def steps(figure: Figure) -> dict[str, int]:
    """By series, how many steps it has read."""
    return {next(iter(count.values())): count.get("read", count.get("steps", 0)) for count in figure.provenance.counts}


def subtitle(figure: Figure) -> str:
    return " ".join(figure.spec(False)["title"]["subtitle"])


@every_chart
def test_the_newest_run_of_a_config_is_drawn_and_the_others_are_counted(chart: str) -> None:
    """In the picture, and on standard error with the options that draw them."""
    figure = draw(chart, days())

    assert steps(figure) == {"A": 30, "B": 30}
    assert "newest run of each config, 2 others left out" in subtitle(figure)
    (note,) = figure.notes
    assert note.startswith("2 other runs of A left out.") and note.endswith("--split-by run draws each by itself")
    assert figure.provenance.parameters["runs"] == ["A-run-3", "B-run-3"]


@exhaustive
@pytest.mark.parametrize("chart", sampled(CHARTS[:-1], "runtime-vs-tokens"))
def test_all_runs_are_drawn_together_only_if_asked(chart: str) -> None:
    """`--all-runs`, or `--runs` with several of one config; nothing is left out in silence."""
    for options in ({"all_runs": True}, {"runs": ["A~1", "A~2", "A", "B"]}):
        figure = draw(chart, days(), **options)

        assert steps(figure) == {"A": 90, "B": 30}
        assert "4 runs together" in subtitle(figure)
        assert not figure.notes


@exhaustive
@every_chart
def test_each_run_is_drawn_by_itself_and_called_by_its_folder(chart: str) -> None:
    """`--split-by run`: in order of time; recorded runs are called by their day."""
    figure = draw(chart, days(), configs=["B", "A"], split_by="run")

    assert steps(figure) == {"B · day-3": 30, "A · day-1": 30, "A · day-2": 30, "A · day-3": 30}
    assert next(iter(steps(draw(chart, days(folders=False), configs=["A"], split_by="run")))) == "A · 2026-11-01"
    assert steps(draw(chart, days(), runs=["A~2", "A~1"], split_by="run")) == {"A · day-1": 30, "A · day-2": 30}
    assert not figure.notes


@exhaustive
@every_chart
def test_a_run_of_every_day_has_its_own_times(chart: str) -> None:
    """The query that is printed gives the rows of each series again."""
    warehouse = days()
    figure = draw(chart, warehouse, configs=["A"], split_by="run")
    column = {"throughput": "tokens_per_second", "timeline": "tokens_per_second", "latency-vs-batch": "median_ms"}
    column["step-breakdown"], column["runtime-vs-tokens"] = "mean_model_run_ms", "y"

    name = "run_id" if chart == "timeline" else "config"
    found = warehouse.rows(f"SELECT {name}, max({column[chart]}) FROM ({figure.provenance.sql}) GROUP BY 1 ORDER BY 1")
    values = [value for _, value in found]
    assert len(values) == 3 and values == sorted(values, reverse="tokens" in column[chart])
    assert values[0] != values[1] != values[2]


@every_chart
def test_a_run_without_steps_and_an_unknown_one_are_named(chart: str) -> None:
    """Rather than an empty chart."""
    builder = Builder().add(run("idle", "still"), run("A"), chunk(1, run="A", clock_s=1.0))

    with pytest.raises(NothingToShow, match="run idle has no scheduler steps"):
        draw(chart, builder, runs=["idle"])
    with pytest.raises(UnknownName, match="no run 'nope'"):
        draw(chart, builder, runs=["nope"])
    for way in ({}, {"split_by": "run"}):
        with pytest.raises(UnknownName, match="no config 'nope'"):
            draw(chart, builder, configs=["nope"], **way)
        with pytest.raises(NothingToShow, match="no scheduler steps in 'still'"):
            draw(chart, builder, configs=["still"], **way)
