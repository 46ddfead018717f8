"""timeline and step-breakdown: scheduler steps over time, and what they consist of."""

from collections.abc import Sequence
from typing import Any

import pytest
from bench.viz.charts import step_breakdown, timeline
from bench.warehouse.errors import NothingToShow

from ...builders import Builder, chunk, run
from ..steps import fields


def stepped(
    seconds: Sequence[float | None], config: str = "A", builder: Builder | None = None, **fields: Any
) -> Builder:
    """Steps of a config at these times, a hundred tokens and 10 ms each."""
    builder = (builder or Builder()).add(run(config, config))
    told = {"schedule_ms": 1.0, "model_run_ms": 9.0, "waiting": 3, "running": 2, "kv_cache_usage": 0.5, **fields}
    return builder.add(
        *(chunk(line, [100], run=config, clock_s=at, **told) for line, at in enumerate(seconds, start=1))
    )


def test_there_is_a_panel_for_each_thing_that_is_known() -> None:
    """Waiting and running requests, the cache in percent, tokens per second of the steps' own time."""
    figure = timeline.draw(stepped([5.0, 5.01, 5.02]))

    assert dict(fields(figure, "panel", "y")) == {0: 3, 1: 2, 2: 50, 3: 10_000}
    assert len(timeline.draw(stepped([5.0], waiting=None, kv_cache_usage=None)).spec(False)["concat"]) == 2


def test_time_counts_from_the_first_step_of_each_run() -> None:
    """Clocks of any origin lie on one axis."""
    builder = stepped([100.0, 101.0], "A")
    figure = timeline.draw(stepped([7.0, 8.0], "B", builder))

    assert fields(figure, "series", "x")[:4] == [("A", 0.0), ("A", 1.0), ("B", 0.0), ("B", 1.0)]


def test_a_while_without_steps_is_a_gap() -> None:
    """Another stretch begins, bridged by a dotted line, and the subtitle says so."""
    figure = timeline.draw(stepped([i * 0.1 for i in range(40)] + [60 + i * 0.1 for i in range(40)]))

    own = [row for row in fields(figure, "panel", "stretch", "x") if row[0] == 0]
    assert {stretch for _, stretch, _ in own} == {0, 1}
    assert "dotted where no step ran" in figure.spec(False)["title"]["subtitle"][0]


def test_steps_without_a_clock_are_counted() -> None:
    """They cannot be placed; none of them can, and the message says what can be drawn."""
    figure = timeline.draw(stepped([1.0, None, 2.0]))

    assert "1 step without a time left out" in figure.spec(False)["title"]["subtitle"][0]
    with pytest.raises(NothingToShow, match="bench viz runtime-vs-tokens"):
        timeline.draw(stepped([None]))


@pytest.mark.exhaustive
def test_many_steps_become_few_intervals_that_keep_the_longest_queue() -> None:
    """A spike of one step is still seen."""
    builder = stepped([i * 0.01 for i in range(5000)])
    builder.add(chunk(5001, [1], run="A", clock_s=20.005, waiting=99, model_run_ms=1.0))

    figure = timeline.draw(builder)

    assert len(figure.rows) <= 210
    assert max(y for panel, y in fields(figure, "panel", "y") if panel == 0) == 99
    assert figure.provenance.total == 5001


def test_a_step_is_the_model_scheduling_and_the_rest() -> None:
    """The parts follow each other from 0 and add up to the step."""
    figure = step_breakdown.draw(stepped([1.0], step_ms=12.0))

    assert fields(figure, "part", "start", "end") == [
        ("model run", 0.0, 9.0), ("scheduling", 9.0, 10.0), ("anything else", 10.0, 12.0),
    ]  # fmt: skip
    assert figure.provenance.title == "75.0 % of a step of 12 ms is the model run"


def test_the_share_of_a_step_that_all_configs_spend_alike_is_the_title() -> None:
    """Its range; none where the largest part is another in one of them."""
    both = stepped([1.0], "b", stepped([1.0], "a", step_ms=12.0), step_ms=10.0)
    assert step_breakdown.draw(both).provenance.title == "75.0–90.0 % of a step is the model run, in both configs"

    stepped([1.0], "c", both, schedule_ms=9.0, model_run_ms=1.0)
    assert step_breakdown.draw(both).provenance.title == "Where the time of a scheduler step goes"


def test_a_part_nobody_timed_is_left_out() -> None:
    """No bar of zero length pretends to be a measurement; a config without any time is a warning."""
    builder = stepped([1.0], schedule_ms=None)
    figure = step_breakdown.draw(stepped([1.0], "B", builder, schedule_ms=None, model_run_ms=None))

    assert set(fields(figure, "row", "part")) == {("A", "model run")}
    assert figure.notes == ["1 config without any time left out"]
    assert figure.provenance.title == step_breakdown.TITLE
