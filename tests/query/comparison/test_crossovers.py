"""crossovers: the size from which on a side is better, with an interval that holds what it says; silent where there is none."""

import math
from typing import Any

import numpy as np
import pytest
from bench.warehouse.events import Event

from ...builders import Builder, case, run, timing
from ...exhaustive import first_of

RUNS = ("1", "2", "3", "4")
Sizes = dict[float, float]  # size of a case -> how many times as long the base takes


def swept(
    name: str, gains: Sizes, *, axis: str = "batch_size", noise: float = 0.001, seed: int = 0, **axes: Any
) -> list[Event]:
    """Cases of some sizes in runs old-1 to old-4 and new-1 to new-4, which differ by noise."""
    random, found = np.random.default_rng(seed), list[Event]()
    for size, gain in gains.items():
        own = (
            {axis: size}
            if axis in ("batch_size", "sequence_length")
            else {"parameters": {axis: size, **axes.get("parameters", {})}}
        )
        for number in RUNS:
            for side, factor in (("old", gain), ("new", 1.0)):
                it = case(name, run=f"{side}-{number}", **{**axes, **own})
                took = 1e6 * factor * math.exp(random.normal(0, noise))
                found += [it, *(timing(it, round(took * within)) for within in (0.999, 0.9995, 1, 1.0005, 1.001, 1))]
    return found


def crossovers(warehouse: Builder, *events: Event) -> list[dict[str, Any]]:
    """All rows, by name."""
    warehouse.add(*(run(f"{side}-{number}", config=side) for side in ("old", "new") for number in RUNS), *events)
    sides = [[f"{side}-{number}" for number in RUNS] for side in ("old", "new")]
    return warehouse.dicts("FROM crossovers(?, ?) ORDER BY name, axis, sequence_length", sides)


def power_law(crossover: float, slope: float, sizes: tuple[float, ...]) -> Sizes:
    """Gains that are 1 at the crossover."""
    return {size: (size / crossover) ** slope for size in sizes}


@pytest.mark.parametrize("axis", first_of(1, ["batch_size", "sequence_length", "tokens/step"]))
def test_a_crossover_lies_between_the_sizes_that_are_certain(warehouse: Builder, axis: str) -> None:
    """Interpolated between them in logarithms; the other axes stay, in columns of their own."""
    gains = power_law(48, 0.3, (8, 16, 32, 64, 128))

    (row,) = crossovers(
        warehouse,
        *swept("m", gains, axis=axis, dtype="fp8", parameters={"layers": 2})
        if axis == "tokens/step"
        else swept("m", gains, axis=axis, dtype="fp8"),
    )

    assert (row["axis"], row["is_better_above"], row["low"], row["high"], row["sizes"]) == (
        axis,
        True,
        pytest.approx(32),
        pytest.approx(64),
        5,
    )
    assert row["crossover"] == pytest.approx(48, rel=0.02)
    assert (row["name"], row["dtype"], row["batch_size"], row["metric"]) == ("m", "fp8", None, "latency")
    assert row["parameters"] == ('{"layers":2}' if axis == "tokens/step" else None)


def test_what_is_better_at_small_sizes_only_is_told_as_such(warehouse: Builder) -> None:
    """The other way round."""
    (row,) = crossovers(warehouse, *swept("m", power_law(48, -0.3, (16, 32, 64, 128))))

    assert (row["is_better_above"], row["low"], row["high"]) == (False, pytest.approx(32), pytest.approx(64))
    assert row["crossover"] == pytest.approx(48, rel=0.02)


@pytest.mark.parametrize(
    "gains",
    first_of(3, [
        {8: 1.2, 16: 1.1, 32: 1.3}, {8: 0.8, 64: 1.2}, {8: 1.0, 16: 1.0, 32: 1.0, 64: 1.0}, {8: 0.8, 16: 1.2, 32: 0.8, 64: 1.2},
        {8: 0.8, 16: 1.2, 32: 1.0}, {8: 1.0, 16: 0.8, 32: 1.2},
    ]),
)  # fmt: skip
def test_a_sweep_without_a_certain_crossover_is_silent(warehouse: Builder, gains: Sizes) -> None:
    """Always better, two sizes only, no difference, several crossings, or an end that is not certain."""
    found = crossovers(warehouse, *swept("m", gains))

    assert [row for row in found if (row["low"], row["high"]) != (pytest.approx(8), pytest.approx(64))] == []
    assert len(found) == (len(gains) == 4 and 1.0 not in gains.values())


@pytest.mark.exhaustive
def test_cases_that_differ_by_two_axes_are_no_sweep(warehouse: Builder) -> None:
    """But a grid is a sweep for each value of the other axis."""
    pairs = [
        event
        for size, gain in power_law(48, 0.3, (16, 32, 64, 128)).items()
        for event in swept("pairs", {size: gain}, sequence_length=size)
    ]
    grid = [
        event
        for length in (1, 2)
        for event in swept("grid", power_law(48, 0.3, (16, 32, 64, 128)), sequence_length=length)
    ]

    assert [(row["name"], row["axis"], row["sequence_length"]) for row in crossovers(warehouse, *pairs, *grid)] == [
        ("grid", "batch_size", 1), ("grid", "batch_size", 2),
    ]  # fmt: skip


def test_intervals_hold_the_crossover(warehouse: Builder) -> None:
    """60 sweeps of nine sizes, known crossovers, 2 % noise from run to run: 95 % hold it, at most two sizes away."""
    random = np.random.default_rng(7)
    sizes = tuple(2.0**power for power in range(9))
    truth = {f"m{number}": math.exp(random.uniform(math.log(4), math.log(64))) for number in range(60)}
    events = [
        event
        for number, (name, crossover) in enumerate(truth.items())
        for event in swept(name, power_law(crossover, 0.1, sizes), axis="n", noise=0.02, seed=number)
    ]
    found = crossovers(warehouse, *events)

    held = [row["low"] <= truth[row["name"]] <= row["high"] for row in found]
    widths = [row["high"] / row["low"] for row in found]
    errors = [abs(math.log(row["crossover"] / truth[row["name"]])) for row in found]
    assert len(found) == 60 and np.mean(held) >= 0.95
    assert np.median(widths) <= 4.001 and np.median(errors) < 0.15
