"""series: what a case's metric was in every run, in order of time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..builders import Builder, case, metric, run, source, timing

QUERY = "SELECT config, position, run_id, value FROM series ORDER BY config, position"


def test_runs_are_in_order_of_time(warehouse: Builder) -> None:
    """By when they began, not by id; an import that does not say comes when it was loaded, one without any time first."""
    for run_id, began in (("a", 30), ("b", 10), ("c", None), ("d", None)):
        it = case("m", run=run_id)
        warehouse.add(run(run_id, config="nightly", started_at=began), it, timing(it, 100))
    warehouse.add(source("file", run="c", recorded_at=20))

    assert warehouse.rows(QUERY) == [
        ("nightly", 1, "d", 100.0), ("nightly", 2, "b", 100.0), ("nightly", 3, "c", 100.0), ("nightly", 4, "a", 100.0),
    ]  # fmt: skip


def test_a_series_is_of_one_config_case_metric_phase_and_unit(warehouse: Builder) -> None:
    """Everything else is another series, which begins at 1; a run that lacks the metric takes no place."""
    a, b = case("m", run="a"), case("m", run="b")
    warehouse.add(run("a", config="x", started_at=1), run("b", config="x", started_at=2), run("c", config="y"))
    warehouse.add(a, b, it := case("m", run="c"), timing(it, 3))
    warehouse.add(timing(a, 1), timing(b, 2), timing(b, 9, phase="cold"), metric(b, "latency", 7.0, unit="s"))

    query = "SELECT config, phase, unit, position, value FROM series ORDER BY ALL"
    assert warehouse.rows(query) == [
        ("x", "cold", "ns", 1, 9.0), ("x", "steady", "ns", 1, 1.0), ("x", "steady", "ns", 2, 2.0),
        ("x", None, "s", 1, 7.0), ("y", "steady", "ns", 1, 3.0),
    ]  # fmt: skip


SAMPLE = st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0]), st.sampled_from([math.nan, math.inf]))


@settings(max_examples=5)
@given(st.lists(st.lists(SAMPLE, max_size=30), min_size=1, max_size=9))
def test_a_value_is_the_median_of_its_samples_with_its_interval(cases: list[list[float | None]]) -> None:
    """As numpy has it, over what is a number; the interval by rank from 6 samples on; no samples, no row."""
    warehouse = Builder().add(run())
    for number, samples in enumerate(cases):
        it = case(f"{number}")
        warehouse.add(it, *(metric(it, "x", sample) for sample in samples))
    finite = [np.sort([x for x in samples if x is not None and math.isfinite(x)]) for samples in cases]

    found = warehouse.rows(
        "SELECT series.n, value, series.low, series.high, q1, q3 FROM series JOIN cells USING (case_id) ORDER BY cells.name"
    )
    for row, numbers in zip(found, filter(len, finite), strict=True):
        n = len(numbers)
        k = math.floor((n + 1 - 1.959963984540054 * math.sqrt(n)) / 2)
        interval = (numbers[k - 1], numbers[n - k]) if n >= 6 else (None, None)
        assert row[:4] == (n, pytest.approx(np.median(numbers), rel=1e-12, abs=1e-9), *interval)
        assert row[4:] == pytest.approx(tuple(np.quantile(numbers, [0.25, 0.75])), rel=1e-12, abs=1e-9)
