"""run_noise: how much a case moves from run to run, as numpy computes it, whatever is missing."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..builders import Builder, case, metric, run

QUERY = """SELECT n, own_noise, pooled_noise, noise FROM run_noise JOIN cases USING (case_id)
           WHERE name = ? AND config = ? GROUP BY ALL"""


def recorded(*configs: Mapping[str, Sequence[float | None]]) -> Builder:
    """Configs called 0, 1, …: the n-th run of each measured the n-th value of each case; where that is None it did not."""
    warehouse = Builder()
    for config, values in enumerate(configs):
        for i in range(max(map(len, values.values()), default=0)):
            run_id = f"{config}-{i:03}"
            warehouse.add(run(run_id, config=f"{config}", host="here", started_at=i))
            for name, series in values.items():
                it = case(name, run=run_id)
                warehouse.add(it, metric(it, "x", series[i] if i < len(series) else None))
    return warehouse


def expected(
    values: Mapping[str, Sequence[float | None]],
) -> dict[str, tuple[int, float | None, float | None, float | None]]:
    """n, own, pooled and moderated noise of each case that has a positive value."""
    logs = {
        name: np.log([x for x in series[-50:] if x is not None and 0 < x < 1e150]) for name, series in values.items()
    }
    own = {
        name: 1.4826 / math.sqrt(2) * float(np.median(np.abs(np.diff(x)))) if len(x) > 1 else None
        for name, x in logs.items()
    }
    variances = [sd * sd for sd in own.values() if sd is not None]
    pooled = math.sqrt(float(np.median(variances))) if variances else None
    found: dict[str, tuple[int, float | None, float | None, float | None]] = {}
    for name, x in logs.items():
        steps, sd = len(x) - 1, own[name]
        noise = None if pooled is None else math.sqrt((steps * (sd or 0) ** 2 + 8 * pooled**2) / (steps + 8))
        if len(x):
            found[name] = len(x), sd, pooled, noise
    return found


VALUE = st.one_of(st.floats(1e-6, 1e9), st.just(5.0), st.just(0.0), st.just(-1.0), st.none(), st.just(math.nan))


CONFIG = st.dictionaries(st.sampled_from("abc"), st.lists(VALUE, min_size=5, max_size=5), min_size=1)


@pytest.mark.exhaustive
@settings(max_examples=3)
@given(st.lists(CONFIG, min_size=5, max_size=8))
def test_noise_is_that_of_numpy(configs: list[dict[str, list[float | None]]]) -> None:
    """NULL, NaN, zeros and negatives have no logarithm and are left out; ties have no noise; one run has none of its own."""
    warehouse = recorded(*configs)
    for config, values in enumerate(configs):
        wanted = expected({k: [None if x is None or math.isnan(x) else x for x in v] for k, v in values.items()})
        for name in values:
            rows = warehouse.rows(QUERY, [name, f"{config}"])
            assert len(rows) == (name in wanted)
            for row in rows:
                assert row == tuple(x if x is None else pytest.approx(x, rel=1e-9, abs=1e-12) for x in wanted[name])


def test_only_the_last_fifty_runs_count() -> None:
    """Older moves say nothing of today's machine."""
    values = {"a": [*([1.0, 9.0] * 20), *([5.0] * 51)]}

    assert recorded(values).rows(QUERY, ["a", "0"]) == [(50, 0.0, 0.0, 0.0)]


def test_a_step_is_no_noise() -> None:
    """One change among many runs moves one difference; the median does not see it."""
    assert recorded({"a": [1.0] * 6 + [2.0] * 6}).rows(QUERY, ["a", "0"]) == [(12, 0.0, 0.0, 0.0)]


def test_hosts_are_kept_apart(warehouse: Builder) -> None:
    """Two machines that alternate are no noise of either; a run without a host has a row of its own."""
    for i, (host, value) in enumerate([("fast", 1.0), ("slow", 2.0), (None, 3.0)] * 3):
        it = case("a", run=f"{i}")
        warehouse.add(run(f"{i}", config="nightly", host=host, started_at=i), it, metric(it, "x", value))

    query = "SELECT host, n, noise FROM run_noise ORDER BY host NULLS LAST"
    assert warehouse.rows(query) == [("fast", 3, 0.0), ("slow", 3, 0.0), (None, 3, 0.0)]


def test_a_single_run_has_no_noise_to_show(warehouse: Builder) -> None:
    """It is not known: NULL, not 0."""
    it = case("a")
    warehouse.add(run(), it, metric(it, "x", 1.0))

    assert warehouse.rows("SELECT n, own_noise, pooled_noise, noise FROM run_noise") == [(1, None, None, None)]


def test_an_empty_store_has_none(warehouse: Builder) -> None:
    """No run, no row."""
    assert warehouse.rows("SELECT * FROM run_noise") == []
