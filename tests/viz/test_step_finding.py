"""The finding that is the title of a chart of two series of steps."""

import re
from typing import Any

import pytest
from bench.query.pasteable_sql import list_literal
from bench.viz.charts.runtime_vs_tokens import TITLE, draw
from bench.viz.output.figure import Figure
from bench.viz.step_finding import time_by_tokens
from bench.warehouse.events import Environment

from ..builders import Builder, run, steps
from ..exhaustive import exhaustive, first_of

SIZES = (64, 150, 300, 600)
LONG = "meta-llama/Llama-3.1-405B-Instruct-quantized-int4-awq-group128-"


def two(*factors: float, names: tuple[str, ...] = ("A", "B"), cpus: tuple[str, ...] = ("EPYC", "EPYC")) -> Builder:
    """Runs of 800 steps: every second of a size has times 1 % apart; the last config's times have a factor for each size."""
    builder = Builder()
    for number, name in enumerate(names):
        by_size = factors if number == len(names) - 1 else (1.0,) * len(SIZES)
        one = [
            (size, (4 + size / 50) * factor * (1 + 0.01 * (k % 2)))
            for k in range(200)
            for size, factor in zip(SIZES, by_size, strict=True)
        ]
        builder.add(
            Environment(environment_id=cpus[number % 2], cpu=cpus[number % 2]),
            run(name, name, environment_id=cpus[number % 2]),
            *steps(name, *zip(*one, strict=True)),
        )
    return builder


def title(figure: Figure) -> str:
    return figure.provenance.title


@exhaustive
def test_the_title_says_what_differs_and_for_how_many_tokens() -> None:
    """Less on one side, more on the other, as far as there are steps."""
    figure = draw(two(0.8, 0.8, 1.0, 1.25))

    assert title(figure) == "B: likely 20 % less time up to 255 tokens, 25 % more from 512 on"


@exhaustive
@pytest.mark.parametrize(
    ("factors", "found"),
    first_of(
        2,
        [
            ((0.8, 0.8, 0.8, 0.8), "likely 20 % less time at any number of tokens"),
            ((1.0, 0.8, 0.7, 1.0), "likely 20–30 % less time at 128–511 tokens"),
            ((0.8, 1.0, 0.8, 0.8), "likely 20 % less time in 3 of 4 ranges of tokens"),
            ((1.25, 1.0, 1.25, 1.0), "likely 25 % more time in 2 of 3 ranges up to 511 tokens"),
            ((1.0, 1.25, 1.0, 1.25), "likely 25 % more time in 2 of 3 ranges from 128 tokens on"),
            ((1.0, 1.0, 1.0, 1.0), None),
        ],
    ),
)
def test_a_range_without_a_verdict_is_not_claimed(factors: tuple[float, ...], found: str | None) -> None:
    """A range between two that changed is not counted among them; without a change there is no finding."""
    assert time_by_tokens(two(*factors), ["A"], ["B"], limit_ms=200) == found


def test_every_percentage_is_a_ratio_of_compare() -> None:
    """The ends of what is said are the smallest and the largest change that compare calls faster."""
    warehouse = two(0.8, 0.85, 0.9, 1.0)

    ratios = warehouse.rows(
        f"SELECT 100 - 100 / ratio FROM comparisons({list_literal(['A'])}, {list_literal(['B'])})"
        " WHERE suite = 'scheduler' AND metric = 'model_run' AND verdict LIKE '%FASTER' ORDER BY 1"
    )
    said = re.findall(r"(\d+)–(\d+) %", title(draw(warehouse)))

    assert said == [(f"{ratios[0][0]:.0f}", f"{ratios[-1][0]:.0f}")]


@exhaustive
def test_likely_stands_where_a_verdict_is_likely_only() -> None:
    """Runs that repeat each other settle it."""
    builder = two(0.8, 0.8, 1.0, 1.0)
    for name, factor in (("A", 1.0), ("B", 0.8)):
        for night in range(3):
            one = [(64, 5.28 * factor * (1 + 0.01 * (k % 2))) for k in range(200)]
            run_id = f"{name}{night}"
            builder.add(run(run_id, name, started_at=night), *steps(run_id, *zip(*one, strict=True)))

    assert title(draw(builder, all_runs=True)) == "B: 20 % less time up to 255 tokens"


@pytest.mark.exhaustive
def test_the_generic_title_begins_the_subtitle() -> None:
    """It still says what is drawn; a title of the user replaces the finding, and repeats nothing below."""
    warehouse = two(0.8, 0.8, 1.0, 1.0)

    subtitles = [" ".join(draw(warehouse, title=asked).spec(False)["title"]["subtitle"]) for asked in (None, "Mine")]

    assert [subtitle.startswith(f"{TITLE} · ") for subtitle in subtitles] == [True, False]
    assert title(draw(warehouse, title="Mine")) == "Mine"


@exhaustive
def test_the_title_of_one_config_is_its_growth() -> None:
    """From the fewest tokens to the most, by medians of steps whose middle 90 % lie apart."""
    assert title(draw(two(0.8, 0.8, 0.8, 0.8), configs=["A"])) == "A: 3.00x the time from 64 to 600 tokens"


@exhaustive
@pytest.mark.parametrize(
    ("store", "options"),
    first_of(
        2,
        [
            ({"names": ("A", "B", "C")}, {}),
            ({}, {"trim": 100}),
            ({}, {"max_schedule_ms": 50}),
            ({"cpus": ("EPYC", "Xeon")}, {}),
            ({}, {"size": (2.0, 1.8)}),
        ],
    ),
    ids=["three configs", "other lines", "some steps", "another machine", "no room"],
)
def test_the_title_stays_generic(store: dict[str, Any], options: dict[str, Any]) -> None:
    """Verdicts may be on other steps, a machine the cause, the figure too small."""
    assert title(draw(two(0.8, 0.8, 0.8, 0.8, **store), **options)) == TITLE


@exhaustive
def test_ranges_beyond_the_limit_are_not_claimed() -> None:
    """Half of the steps of 600 tokens take 16 ms or more: the verdict on them is on what nobody sees."""
    figure = draw(two(0.8, 0.8, 0.8, 1.25), max_model_run_ms=16)

    assert title(figure) == "B: likely 20 % less time up to 511 tokens"


@pytest.mark.parametrize(
    "names", [(f"{LONG}v1", f"{LONG}v2"), pytest.param(("基线配置", "候选配置"), marks=exhaustive)]
)
@pytest.mark.parametrize("size", first_of(1, [None, pytest.param((3.3, 2.2)), pytest.param((6.0, 4.0))]))
def test_the_config_is_told_and_no_finding_is_cut(names: tuple[str, ...], size: tuple[float, float] | None) -> None:
    """Of a long name there is what tells it apart; a title without its middle would be another."""
    figure = draw(two(0.8, 0.8, 1.0, 1.25, names=names), configs=names, size=size)

    assert title(figure) == TITLE or names[1][-2:] in title(figure).partition(":")[0]
    assert " ".join(figure.spec(False)["title"]["text"]) == title(figure)
