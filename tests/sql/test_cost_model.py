"""Recorded cost models in SQL: their numbers as columns, and their curve as a macro."""

import pytest
from bench.query.cost.fit import bend

from ..builders import Builder, case, metric, outcome, run


def test_metrics_of_a_recorded_model_become_columns(warehouse: Builder) -> None:
    """Durations come back from ns; what is missing is NULL; the status stands before the reason."""
    model = case("A", suite="step-cost", parameters={"trim": 10})
    warehouse.add(
        run(), model, outcome(model, reason="memory-bound: no step is compute-bound: 9 tokens take no longer"),
        metric(model, "floor", 7_200_000.0), metric(model, "floor_low", 7e6), metric(model, "per_token", None),
        metric(model, "per_request", 10_000.0), metric(model, "steps", 300.0), metric(model, "curve_base", 7e6),
    )  # fmt: skip

    columns = "config, status, reason, steps, floor_ms, floor_low_ms, floor_high_ms, per_token_us, per_request_us, curve_base_ms"
    assert warehouse.rows(f"SELECT {columns} FROM step_cost_models") == [
        ("A", "memory-bound", "no step is compute-bound: 9 tokens take no longer", 300, 7.2, 7.0, None, None, 10.0, 7.0)
    ]


def test_other_cases_are_no_cost_models(warehouse: Builder) -> None:
    """Whatever metrics they have."""
    other = case("A", suite="builtin")
    warehouse.add(run(), other, outcome(other), metric(other, "floor", 1.0))

    assert warehouse.rows("SELECT * FROM step_cost_models") == []


def test_metrics_of_a_model_by_phase_become_columns(warehouse: Builder) -> None:
    """Of the suite of phases only; its curve as a macro gives a time where KV tokens are unknown, too."""
    model = case("A", suite="step-phases")
    warehouse.add(
        run(), model, outcome(model, reason="partial: KV tokens are not recorded"), metric(model, "floor", 6e6),
        metric(model, "per_prefill_token_low", 19_000.0), metric(model, "max_decode_requests", 64.0),
        metric(model, "curve_floor", 6e6), metric(model, "curve_prefill", 2e4), metric(model, "curve_decode", 1e4),
        metric(model, "curve_kv", 0.0),
    )  # fmt: skip

    query = """SELECT config, status, reason, floor_ms, per_prefill_token_low_us, per_kv_token_us, max_decode_requests,
        step_phase_cost_ms(100, 10, NULL, curve_floor_ms, curve_prefill_ms, curve_decode_ms, curve_kv_ms) FROM step_phase_costs"""
    assert warehouse.rows(query) == [
        ("A", "partial", "KV tokens are not recorded", 6.0, 19.0, None, 64, pytest.approx(8.1))
    ]
    assert warehouse.rows("SELECT * FROM step_cost_models") == []


@pytest.mark.parametrize("softness", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("knee", [0.0, 300.0])
def test_the_macro_is_the_curve(warehouse: Builder, softness: float, knee: float) -> None:
    """Sharp or smooth, with a knee or without one; NULL where the model has no curve."""
    tokens = [1, 299, 300, 301, 5000]
    expected = [1 + 0.02 * bend(n, knee, softness) + 0.01 * 7 for n in tokens]

    query = "SELECT step_cost_ms(n, 7, 1.0, 0.02, ?, ?, 0.01) FROM (SELECT unnest(?) AS n)"
    assert [ms for (ms,) in warehouse.rows(query, [knee, softness, tokens])] == pytest.approx(expected, rel=1e-9)
    assert warehouse.rows("SELECT step_cost_ms(1, 1, NULL, NULL, NULL, NULL, NULL)") == [(None,)]
