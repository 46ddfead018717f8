"""Bands of a scatter: a line through each mode of its points, and one line where they have one mode."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from bench.viz.bands import two_modes
from bench.viz.charts.runtime_vs_tokens import draw

from ..builders import Builder, chunk, run
from ..exhaustive import exhaustive


def modes(times: Sequence[float]) -> Sequence[Sequence[float]]:
    """As the histogram of a band gives them."""
    counts = Counter(math.floor(round(math.log(time) * 400) / 10) for time in times)
    steps = sorted(counts)
    return two_modes(steps, [counts[step] for step in steps])


@pytest.mark.parametrize("points", [30, 100, 1000])
@pytest.mark.parametrize(
    "draw_one",
    [
        lambda generator: generator.lognormvariate(3, 0.01),
        lambda generator: generator.lognormvariate(3, 0.3),
        lambda generator: generator.uniform(10, 20),
    ],
    ids=["narrow", "wide", "even"],
)
def test_one_mode_is_one_line(points: int, draw_one: Callable[[random.Random], float]) -> None:
    """Of 100 samples of one mode two at most are taken for two."""
    generator = random.Random(points)

    assert sum(bool(modes([draw_one(generator) for _ in range(points)])) for _ in range(100)) <= 2


@pytest.mark.parametrize("points", [60, 1000])
def test_two_modes_are_found_where_they_are(points: int) -> None:
    """A third of the times is half as long again: the medians of both are told to 3 %."""
    generator = random.Random(points)
    times = [20 * generator.lognormvariate(0, 0.02) * (1.5 if place % 3 == 0 else 1.0) for place in range(points)]
    (*_, lower, _, top), (bottom, _, upper, *_) = modes(times)

    assert 20 / 1.03 < lower < 20 * 1.03
    assert 30 / 1.03 < upper < 30 * 1.03
    assert top < 25 < bottom


def test_two_modes_are_two_lines_of_a_chart() -> None:
    """The subtitle says whose they are, and when; a config whose steps have one mode keeps its line."""
    generator = random.Random(1)
    steps = []
    for config in "AB":
        for line in range(1, 2500):
            tokens, mode = generator.randint(1, 4096), 1.6 if config == "B" and line % 3 == 0 else 1.0
            time = (4 + tokens / 200) * mode * generator.lognormvariate(0, 0.02)
            steps.append(chunk(line, [tokens], run=config, model_run_ms=time))
    spec = draw(Builder().add(run("A", "A"), run("B", "B"), *steps)).spec(False)
    lines = {(place["of"], place["line"]) for place in places(spec)}

    assert len([config for config, _ in lines if config == "A"]) == 1
    assert len([config for config, _ in lines if config == "B"]) >= 2
    assert re.search(r"line: median of each mode.*B: times of two modes at [1-9]–4,0\d\d tokens", told(spec))


@exhaustive
def test_a_mode_of_few_steps_is_no_outlier() -> None:
    """A fifth of the steps takes longer: the quartiles of all know nothing of them."""
    generator = random.Random(1)
    times = [10 * generator.lognormvariate(0, 0.02) * (1.6 if line % 5 == 0 else 1.0) for line in range(4000)]
    steps = [chunk(line, [128], run="A", model_run_ms=time) for line, time in enumerate(times, 1)]
    spec = draw(Builder().add(run("A", "A"), *steps)).spec(False)

    assert "outlier" not in told(spec)


@exhaustive
def test_two_modes_are_the_title_where_nothing_else_is_found() -> None:
    """Of several configs, the first whose times have two is named with both."""
    generator = random.Random(1)
    builder = Builder()
    for config in "ABC":
        builder.add(run(config, config))
        for line in range(1, 1000):
            time = (14 if config == "B" and line % 5 < 2 else 10) * generator.lognormvariate(0, 0.01)
            builder.add(chunk(line, [128 * (1 + line % 4)], run=config, model_run_ms=time))

    title = draw(builder).provenance.title

    assert re.fullmatch(
        r"B: times of two modes at 128–512 tokens, such as (10|9\.\d+)\S* ms and (14|13\.9)\S* ms", title
    )


@exhaustive
def test_a_band_of_few_points_has_the_modes_of_its_neighbours() -> None:
    """Steps of many tokens are rare: where too few tell two modes of one, those on both sides do."""
    generator = random.Random(1)
    steps = []
    for line in range(1, 3000):
        tokens, mode = min(4096, int(generator.expovariate(1 / 900)) + 1), 1.6 if line % 3 == 0 else 1.0
        time = (4 + tokens / 200) * mode * generator.lognormvariate(0, 0.02)
        steps.append(chunk(line, [tokens], run="A", model_run_ms=time))
    spec = draw(Builder().add(run("A", "A"), *steps)).spec(False)

    assert len({place["line"] for place in places(spec)}) == 2
    assert "outlier" not in told(spec)


def told(spec: dict[str, Any]) -> str:
    """The title and the subtitle of a specification."""
    return " · ".join((*spec["title"]["text"], *spec["title"]["subtitle"]))


def places(spec: object) -> Iterator[dict[str, Any]]:
    """The places of the lines of a specification."""
    if isinstance(spec, dict) and {"of", "line"} <= spec.keys():
        yield spec
    elif isinstance(spec, dict | list):
        for part in spec.values() if isinstance(spec, dict) else spec:
            yield from places(part)
