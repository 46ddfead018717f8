"""latency-vs-batch: FEATURES A10."""

import pytest
from bench.viz.charts.latency_vs_batch import draw
from bench.warehouse.errors import NothingToShow

from ...builders import Builder, chunk, run
from ..steps import fields


def stepped(builder: Builder, config: str, *groups: tuple[int, int, list[float]]) -> Builder:
    """Recorded steps of a config: (tokens, requests, times of the model in ms) of each group."""
    builder.add(run(config, config))
    steps = [(tokens, requests, ms) for tokens, requests, times in groups for ms in times]
    return builder.add(
        *(
            chunk(line, [tokens // requests] * requests, run=config, model_run_ms=ms)
            for line, (tokens, requests, ms) in enumerate(steps, start=1)
        )
    )


def test_one_config_has_a_line_for_each_number_of_tokens() -> None:
    """Median and middle 90 % of the steps within 15 %; groups of fewer than 3 are left out."""
    store = stepped(
        Builder(), "A", (128, 1, [10.0, 11.0, 12.0]), (136, 2, [20.0] * 3), (512, 1, [30.0] * 3), (512, 2, [1.0])
    )

    figure = draw(store, trim=0)

    assert fields(figure, "series", "x", "y", "low", "high") == [
        ("about 128 tokens", 1, 11.0, pytest.approx(10.1), pytest.approx(11.9)), ("about 128 tokens", 2, 20.0, 20.0, 20.0),
        ("about 512 tokens", 1, 30.0, 30.0, 30.0),
    ]  # fmt: skip
    assert figure.provenance.counts[0]["drawn"] == 9


def test_several_configs_have_a_panel_for_each_number_of_tokens() -> None:
    """So that a config keeps its colour, and configs are compared at the same work. Their legend is in order."""
    builder = stepped(Builder(), "B", (128, 1, [9.0] * 3))
    figure = draw(stepped(builder, "A", (512, 1, [30.0] * 3)), trim=0)

    assert fields(figure, "panel", "series", "y") == [(1, "A", 30.0), (0, "B", 9.0)]
    assert [view["layer"][-1]["mark"]["text"] for view in figure.spec(False)["concat"]] == [
        "about 128 tokens",
        "about 512 tokens",
    ]


def test_targets_that_no_step_is_near_say_what_to_try() -> None:
    """The message carries the numbers that left nothing."""
    store = stepped(Builder(), "A", (90, 1, [10.0] * 3))

    with pytest.raises(
        NothingToShow, match=r"within 15 % of 256 tokens; 3 steps kept .* Try: bench viz latency-vs-batch --targets"
    ):
        draw(store, trim=0, targets=[256])
    assert len(draw(store, trim=0, targets=[90]).rows) == 1
