"""The cost by phase: planted coefficients are found, within their intervals; what does not separate is refused, with a reason."""

import math
from dataclasses import replace

import numpy as np
import pytest
from bench.query.cost.phases import COST_PARAMETERS, PhaseModel, PhaseSteps, phase_model_of, predicted_ms, read_phases
from bench.query.cost.residuals import residuals_by_region
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, chunk, run, source
from .phase_steps import COSTS, columns, phases


def told(model: PhaseModel) -> list[str]:
    """Which parameters have a value."""
    return [name for name in COST_PARAMETERS if getattr(model, name) is not None]


@given(
    costs=st.tuples(st.floats(1, 50), st.floats(0.005, 0.1), st.floats(0.005, 0.1), st.floats(2e-5, 2e-4)),
    seed=st.integers(0, 1000), source_column=st.integers(0, 2),
)  # fmt: skip
def test_planted_costs_are_found_and_collinear_ones_refused(
    costs: tuple[float, ...], seed: int, source_column: int
) -> None:
    """Without noise to a thousandth. If one column is a multiple of another, both are None, and the sentence names them."""
    steps = phases(1000, seed, costs, noise=0)
    model = phase_model_of("A", steps)

    found = [getattr(model, name).value for name in COST_PARAMETERS]
    assert found == pytest.approx(
        [cost * scale for cost, scale in zip(costs, (1, 1e3, 1e3, 1e3), strict=True)], rel=1e-3
    )

    work = steps.work.copy()
    copy = (source_column + 1) % 3
    work[:, copy] = 2 * work[:, source_column]
    model = phase_model_of("A", replace(steps, work=work, ms=predicted_ms(np.array(costs), work)))
    assert not {COST_PARAMETERS[1 + source_column], COST_PARAMETERS[1 + copy]} & {*told(model)}
    assert model.status == "partial" and "move together" in (model.reason or "")


@pytest.mark.parametrize("hiccups", [0.0, 0.1, 0.4])
def test_hiccups_have_no_say(hiccups: float) -> None:
    """With noise that resembles its neighbours', and two hiccups in five, each is found to some per cent."""
    model = phase_model_of("A", phases(2000, 7, hiccups=hiccups))

    found = [getattr(model, name).value for name in COST_PARAMETERS]
    assert model.status == "ok"
    assert found == pytest.approx(
        [cost * scale for cost, scale in zip(COSTS, (1, 1e3, 1e3, 1e3), strict=True)], rel=0.1
    )
    assert model.outliers >= 0.8 * hiccups * 2000


def test_a_column_that_never_varies_is_part_of_the_floor() -> None:
    """Both are None; where it is 0, only its own cost is unknown."""
    steps = phases(1000)
    constant, none = steps.work.copy(), steps.work.copy()
    constant[:, 1], none[:, 0] = 64, 0

    model = phase_model_of("A", replace(steps, work=constant, ms=predicted_ms(np.array(COSTS), constant)))
    assert told(model) == ["per_prefill_token_us", "per_kv_token_us"]
    assert model.reason == "the floor holds what 64 decoding requests cost; every step has 64 decoding requests"
    model = phase_model_of("A", replace(steps, work=none, ms=predicted_ms(np.array(COSTS), none)))
    assert told(model) == ["floor_ms", "per_decode_request_us", "per_kv_token_us"]


def test_a_wide_interval_is_no_answer() -> None:
    """Times that scatter by half leave the cost of a request open by more than a tenth of a step; the share is said."""
    model = phase_model_of("A", phases(400, noise=0.5))

    assert "per_decode_request_us" not in told(model)
    assert "the interval of decoding requests leaves open ±" in (model.reason or "")


def test_time_that_falls_with_work_is_no_cost() -> None:
    """A negative coefficient is refused, whatever its interval."""
    model = phase_model_of("A", phases(1000, costs=(20.0, 0.02, -0.05, 0.00004)))

    assert told(model) == ["floor_ms", "per_prefill_token_us", "per_kv_token_us"]
    assert model.reason == "the time falls as decoding requests grow"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        (replace(phases(300), sampled=1), "sampled"),
        (PhaseSteps(work=np.empty((0, 3)), ms=np.empty(0)), "no-phases"),
        (replace(phases(300), time_spans=frozenset({"cuda", "iteration"})), "several-spans"),
        (phases(199), "too-few-steps"),
    ],
)
def test_what_cannot_be_fitted_is_refused(steps: PhaseSteps, status: str) -> None:
    """With a status, a sentence and no curve."""
    model = phase_model_of("A", steps)

    assert (model.status, model.curve, told(model)) == (status, None, [])
    assert model.reason


def test_units_and_extremes_do_not_matter() -> None:
    """The smallest and largest times that are read give a model, and scale with the times."""
    steps = phases(500)
    usual = phase_model_of("A", steps)
    for factor in (1e-90, 1e90):
        scaled = phase_model_of("A", replace(steps, ms=steps.ms * factor))
        assert scaled.floor_ms and usual.floor_ms
        assert scaled.floor_ms.value / factor == pytest.approx(usual.floor_ms.value)
    odd = steps.ms.copy()
    odd[::50] = 1e99
    odd[1::50] = 1e-99
    model = phase_model_of("A", replace(steps, ms=odd))
    assert model.floor_ms and model.floor_ms.value == pytest.approx(6, rel=0.05)


def test_a_slower_prefill_is_seen_where_it_is() -> None:
    """Prefill tokens cost a quarter more today: decode-only steps differ by nothing, prefill-heavy ones by a tenth or more."""
    model = phase_model_of("yesterday", phases(2000, 1))
    found = residuals_by_region("A", phases(2000, 2, (6.0, 0.025, 0.015, 0.00004)), "yesterday", model)
    whole = {row.phase: row for row in found if row.low_tokens is None}

    decode, prefill = whole["decode-only"], whole["prefill-heavy"]
    assert decode.low is not None and decode.high is not None and decode.low <= 0 <= decode.high
    assert prefill.low is not None and prefill.low > 0.1
    assert whole["all"].steps == 2000 == sum(row.steps for row in found if row.low_tokens and row.phase != "all")


def test_regions_are_phases_and_powers_of_four() -> None:
    """Five steps: each in its phase and range, too few for an interval, those beyond the fit's range counted."""
    model = phase_model_of("A", phases(1000))
    work = np.array(
        [[0, 64, 20000], [0, 65, 20000], [100, 100, 30000], [101, 100, 30000], [9000, 100, 30000]], dtype=float
    )
    steps = PhaseSteps(work=work, ms=predicted_ms(np.array(COSTS), work) * 1.5)
    found = residuals_by_region("B", steps, "A", model)

    assert [(row.phase, row.low_tokens, row.high_tokens, row.steps, row.outside) for row in found] == [
        ("all", None, None, 5, 1),
        ("decode-only", None, None, 2, 0), ("decode-only", 17, 64, 1, 0), ("decode-only", 65, 256, 1, 0),
        ("mixed", None, None, 1, 0), ("mixed", 65, 256, 1, 0),
        ("prefill-heavy", None, None, 2, 1), ("prefill-heavy", 65, 256, 1, 0), ("prefill-heavy", 4097, 16384, 1, 1),
    ]  # fmt: skip
    assert all(row.low is None for row in found)
    assert [row.residual for row in found] == pytest.approx([0.5] * 9, rel=0.05)


def test_without_a_fit_there_is_no_residual() -> None:
    """The reason is the fit's."""
    with pytest.raises(ValueError, match="no fit of A: 10 steps are too few"):
        residuals_by_region("B", phases(10), "A", phase_model_of("A", phases(10)))


def test_phases_are_read_from_totals_and_chunks(warehouse: Builder) -> None:
    """Totals as they are; chunk sizes by phase as their sums; KV tokens from what was computed before; the rest is left out."""
    warehouse.add(
        run(), source("s_0.jsonl", 5, run="run", config="main"),
        *(
            chunk(line, sizes, source_id="s_0.jsonl", **fields)
            for line, sizes, fields in [
                (1, None, {**columns(phases(1))[0], "prefill_tokens": 7, "decode": 2, "decode_kv_tokens": 30}),
                (2, [5, 6, 1], {"prefill_chunk_sizes": [5, 6], "decode_chunk_sizes": [1], "computed_tokens": [0, 4, 8]}),
                (3, [9, 1], {"decode": 1, "decode_tokens": 1, "computed_tokens": [2**62] * 2}),
                (4, [3, 1], {}),
                (5, [3, 1], {"prefill_tokens": 3, "decode": 1, "model_run_ms": None}),
            ]
        ),
    )  # fmt: skip

    query = 'SELECT line, prefill_tokens, decode_requests, kv_tokens, capture_mode FROM step_phases("trim" := 0) ORDER BY line'
    assert warehouse.rows(query) == [
        (1, 7, 2, 30, "full"), (2, 11, 1, 12, "full"), (3, 9, 1, None, "full"), (5, 3, 1, None, "full"),
    ]  # fmt: skip
    found = read_phases(warehouse, ["run"], trim=0)
    assert found.work.tolist() == [[7, 2, 30], [11, 1, 12]]
    assert found.has_kv and not math.isnan(found.ms.sum())
