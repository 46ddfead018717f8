"""The cost model of a step: known parameters are found, within intervals that keep their word; the rest is NULL with a reason."""

import datetime
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.query.cost.fit import STRETCHES, T975, bend, fit_steps, jackknife_error
from bench.query.cost.model import FORMULA, MODEL_SCHEMA, CostModel, FittedParameter, as_json, fit, model_of
from bench.warehouse.errors import NothingToShow, UnknownName
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from ...builders import Builder, chunk, run, source
from ...exhaustive import at_most, exhaustive, first_of, sampled
from ...generate_profiles import steps as profile

Steps = tuple[Any, Any, Any]  # tokens, requests, ms
PAGE = Path(__file__).parents[3] / "docs" / "cost-model.md"


def truth(
    tokens: Any, batch: Any, *, floor: float, slope: float, overhead: float, softness: float, request: float
) -> Any:
    """Times without noise, in ms."""
    return overhead + slope * bend(tokens, (floor - overhead) / slope, softness) + request * batch


SMOOTH = {"floor": 7.2, "slope": 0.021, "overhead": 0.0, "softness": 1 / 3, "request": 0.010}
SHARP = {"floor": 12.0, "slope": 0.035, "overhead": 3.0, "softness": 0.0, "request": 0.020}


def served(
    rng: np.random.Generator, steps: int, costs: dict[str, float], *, noise: float = 0.025, hiccups: float = 0.1
) -> Steps:
    """A server under changing load: prompts queue and are prefilled in chunks of a budget of 2048 tokens beside decodes.

    Its noise is autocorrelated (0.5 from step to step), and hiccups add 60 ms on average.
    """
    tokens, batch = np.empty(steps), np.empty(steps)
    decoding, queued, load, drift = 20.0, 0.0, 0.3, np.empty(steps)
    for i in range(steps):
        if i % 100 == 0:
            load = rng.choice([0.1, 0.3, 0.7, 1.5])
        decoding = max(1.0, decoding + rng.normal(0, 2) + 0.02 * (20 + 100 * load - decoding))
        queued += rng.poisson(1.5 * load) * rng.lognormal(5.5, 0.8) / 2
        prefill = min(queued, 2048 - int(decoding))
        queued -= prefill
        tokens[i] = int(decoding) + int(prefill)
        batch[i] = int(decoding) + (prefill > 0)
        drift[i] = (0.5 * drift[i - 1] if i else 0) + math.sqrt(0.75) * rng.normal()
    ms = truth(tokens, batch, **costs) * (1 + noise * drift)
    return tokens, batch, ms + (rng.random(steps) < hiccups) * rng.exponential(60, steps)


def spread_out(
    rng: np.random.Generator, low: int, high: int, costs: dict[str, float] = SMOOTH, steps: int = 1000
) -> Steps:
    """Steps of low to high tokens, evenly in their logarithm, with independent noise of 2 %."""
    tokens = np.exp(rng.uniform(math.log(low), math.log(high), steps)).round()
    batch = np.minimum(rng.integers(1, 60, steps), tokens)
    return tokens, batch, truth(tokens, batch, **costs) * (1 + 0.02 * rng.normal(size=steps))


def contains(estimate: FittedParameter | None, value: float) -> bool:
    return estimate is not None and estimate.low <= value <= estimate.high


@exhaustive
@pytest.mark.parametrize("costs", sampled([SMOOTH, SHARP], SMOOTH), ids=["smooth", "sharp"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(costs: dict[str, float]) -> None:
    """20 servers with noise, hiccups, queues and autocorrelation: of four parameters' 95 % intervals about 95 in 100 do."""
    rng = np.random.default_rng(20261121)
    models = [model_of("A", *served(rng, 1000, costs)) for _ in range(20)]
    told = [model for model in models if model.status == "ok"]
    knee = (costs["floor"] - costs["overhead"]) / costs["slope"]
    hits = [
        [
            contains(model.floor_ms, costs["floor"]), contains(model.per_token_us, 1000 * costs["slope"]),
            contains(model.knee_tokens, knee), contains(model.per_request_us, 1000 * costs["request"]),
        ]
        for model in told
    ]  # fmt: skip

    assert len(told) >= 18
    assert 0.88 <= np.mean(hits) <= 1
    assert np.min(np.mean(hits, axis=0)) >= 0.8


def test_without_noise_the_parameters_come_back() -> None:
    """Softness and overhead too."""
    tokens, batch, _ = spread_out(np.random.default_rng(1), 1, 4096)
    model = model_of(
        "A", tokens, batch, truth(tokens, batch, floor=9, slope=0.02, overhead=2, softness=0.2, request=0.01)
    )

    assert (model.status, model.outliers) == ("ok", 0)
    found = [
        model.floor_ms,
        model.per_token_us,
        model.knee_tokens,
        model.per_request_us,
        model.overhead_ms,
        model.softness,
    ]
    assert [estimate and estimate.value for estimate in found] == pytest.approx([9, 20, 350, 10, 2, 0.2], rel=5e-3)


def test_on_clean_noise_it_is_least_squares() -> None:
    """Within a fraction of its error of scipy's relative least squares, and with errors like the textbook's."""
    tokens, batch, ms = spread_out(np.random.default_rng(2), 1, 4096, steps=2000)
    fitted = fit_steps(tokens, batch, ms)

    def line(x: Any, base: float, slope: float, knee: float, softness: float, request: float) -> Any:
        return base + slope * bend(x[0], knee, softness) + request * x[1]

    expected, covariance = optimize.curve_fit(
        line, np.vstack([tokens, batch]), ms, p0=[0, 0.02, 340, 0.3, 0.01], sigma=0.02 * truth(tokens, batch, **SMOOTH)
    )
    error = np.sqrt(np.diag(covariance))

    assert np.all(np.abs(fitted.coefficients - expected) < 0.6 * error)
    assert np.all(np.abs(np.log(jackknife_error(fitted.replicates) / error)) < math.log(1.8))


@exhaustive
def test_steps_that_resemble_their_neighbours_count_for_less() -> None:
    """The interval of the floor widens with the drift of the machine, at equal spread."""
    rng = np.random.default_rng(3)
    tokens, batch, ms = spread_out(rng, 1, 4096, steps=2000)
    slow = np.repeat(rng.normal(size=20), 100)
    drifting = truth(tokens, batch, **SMOOTH) * (1 + 0.02 * slow)

    def width(model: CostModel) -> float:
        assert model.floor_ms is not None
        return model.floor_ms.high / model.floor_ms.low - 1

    assert width(model_of("A", tokens, batch, drifting)) > 3 * width(model_of("A", tokens, batch, ms))


def test_two_steps_in_five_may_be_hiccups() -> None:
    """Beyond 200 ms or not, they have no say, and are counted."""
    rng = np.random.default_rng(4)
    tokens, batch, ms = spread_out(rng, 1, 4096, steps=2000)
    hit = rng.random(2000) < 0.4
    model = model_of("A", tokens, batch, ms + hit * rng.uniform(30, 400, 2000))

    assert model.floor_ms and model.floor_ms.value == pytest.approx(7.2, rel=0.01)
    assert model.per_token_us and model.per_token_us.value == pytest.approx(21, rel=0.01)
    assert model.outliers == pytest.approx(hit.sum(), rel=0.02)
    assert model.r2 and model.r2_all and model.r2 > 0.99 > 0.5 > model.r2_all


@settings(max_examples=6)
@given(st.floats(1e-6, 1e6))
@pytest.mark.exhaustive
def test_another_unit_of_time_changes_nothing_else(factor: float) -> None:
    """Times scale, counts of tokens do not."""
    tokens, batch, ms = served(np.random.default_rng(5), 400, SMOOTH)
    plain, scaled = model_of("A", tokens, batch, ms), model_of("A", tokens, batch, factor * ms)

    assert (plain.status, plain.outliers) == (scaled.status, scaled.outliers)
    assert plain.knee_tokens and scaled.knee_tokens and plain.floor_ms and scaled.floor_ms
    assert scaled.floor_ms.value == pytest.approx(factor * plain.floor_ms.value, rel=1e-3)
    assert scaled.knee_tokens.value == pytest.approx(plain.knee_tokens.value, rel=1e-2)
    assert scaled.predict(512, 8) == pytest.approx(factor * plain.predict(512, 8), rel=1e-3)


KNOWN = ("floor_ms", "per_token_us", "knee_tokens", "per_request_us")


@pytest.mark.parametrize(
    ("low", "high", "costs", "status", "known"),
    first_of(
        4,
        [
            (1, 4096, {}, "ok", KNOWN),
            (1, 128, {}, "memory-bound", ("floor_ms", "per_request_us")),
            (1, 400, {"softness": 0.2}, "memory-bound", ("floor_ms", "per_request_us")),
            (900, 4096, {"overhead": 1}, "compute-bound", ("per_token_us", "per_request_us")),
            (300, 4096, {"overhead": 1}, "compute-bound", ("per_token_us", "per_request_us")),
            (1, 4096, {"softness": 0.999}, "straight", ("floor_ms", "per_token_us", "per_request_us")),
            (2040, 2048, {}, "undetermined", ()),
        ],
    ),
)
def test_what_the_steps_cannot_tell_is_null_with_a_reason(
    low: int, high: int, costs: dict[str, float], status: str, known: tuple[str, ...]
) -> None:
    """All below the knee: no slope; all above: no floor; a narrow range: nothing. What is told is right."""
    model = model_of("A", *spread_out(np.random.default_rng(6), low, high, SMOOTH | costs))

    assert (model.status, model.reason is None) == (status, status == "ok")
    assert tuple(name for name in KNOWN if getattr(model, name) is not None) == known
    for name, value in zip(KNOWN, (7.2, 21, (7.2 - costs.get("overhead", 0)) / 0.021, 10), strict=True):
        assert name not in known or getattr(model, name).value == pytest.approx(value, rel=0.15)


def test_one_token_each_cannot_tell_tokens_from_requests() -> None:
    """Decode alone, below the knee: the cost is a request's."""
    rng = np.random.default_rng(7)
    tokens = rng.integers(1, 100, 1000).astype(float)
    model = model_of("A", tokens, tokens, (7 + 0.01 * tokens) * (1 + 0.01 * rng.normal(size=1000)))

    assert (model.status, model.per_token_us) == ("inseparable", None)
    assert contains(model.per_request_us, 10)


def test_time_that_falls_is_no_cost_of_tokens() -> None:
    """Then something else decides, and nothing is told."""
    tokens = np.random.default_rng(8).integers(1, 2000, 1000).astype(float)
    model = model_of("A", tokens, np.ones(1000), 100 - 0.04 * tokens)

    assert (model.status, model.floor_ms, model.per_token_us) == ("undetermined", None, None)
    assert model.reason and "falls" in model.reason


@pytest.mark.parametrize(
    ("tokens", "status"),
    [(np.arange(1.0, 200), "too-few-steps"), (np.empty(0), "too-few-steps"), (np.full(200, 64.0), "one-token-count")],
)
def test_too_little_to_fit_is_a_status(tokens: Any, status: str) -> None:
    """Nothing can be predicted then, and the error says why."""
    model = model_of("A", tokens, np.ones(len(tokens)), np.full(len(tokens), 7.0))

    assert (model.status, model.curve, list(model.line())) == (status, None, [])
    with pytest.raises(ValueError, match="there is no cost model of A: "):
        model.predict(1, 1)


numbers = st.integers(1, 5) | st.sampled_from([64, 2048, 2**40, 2**62])
times = st.floats(1e-9, 1e9) | st.sampled_from([1e-99, 1.0, 1e99])


@exhaustive
@settings(max_examples=at_most(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(st.lists(st.tuples(numbers, numbers, times), min_size=1, max_size=12), st.integers(200, 400))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_degenerate_data_never_crash(pattern: list[tuple[int, int, float]], count: int) -> None:
    """Any few values, repeated: intervals hold their estimates, and the JSON is JSON."""
    tokens, batch, ms = (np.resize(np.array(column, float), count) for column in zip(*pattern, strict=True))
    model = model_of("A", tokens, batch, ms)

    for name in (*KNOWN, "overhead_ms", "softness"):
        estimate = getattr(model, name)
        assert estimate is None or estimate.low <= estimate.value <= estimate.high
    assert (model.status == "ok") == (model.reason is None)
    json.loads(as_json([model]), parse_constant=pytest.fail)


def test_the_formula_of_the_file_is_the_prediction() -> None:
    """A simulator computes it from the JSON alone, by the formula in it, sharp knee or smooth."""
    for costs in (SMOOTH, SHARP):
        model = model_of("A", *served(np.random.default_rng(9), 800, costs))
        told = json.loads(as_json([model]))
        assert (told["schema"], told["formula"]) == (MODEL_SCHEMA, FORMULA)
        ms, smooth, sharp = re.fullmatch(
            r"ms = (.*), where bend = (.*), or (.*) if softness is 0", told["formula"]
        ).groups()  # type: ignore[union-attr]
        curve = told["models"][0]["curve"]
        for tokens, batch in ((1, 1), (300, 20), (5000, 200)):
            values = {**curve, "tokens": tokens, "batch_size": batch, "max": max}
            values["bend"] = eval(smooth if curve["softness"] > 0.01 else sharp, values)
            assert eval(ms, values) == pytest.approx(model.predict(tokens, batch), rel=1e-2 if costs is SHARP else 1e-9)


def test_the_simulator_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's reader of model.json needs nothing but Python."""
    model = model_of("A", *served(np.random.default_rng(9), 800, SMOOTH))
    (tmp_path / "model.json").write_text(as_json([model]))
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(import json.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)

    assert names["step_ms"](512, 16) == pytest.approx(model.predict(512, 16))


def test_the_line_to_draw_spans_what_was_seen() -> None:
    """Rows with an interval, of no more requests than tokens."""
    model = model_of("A", *served(np.random.default_rng(9), 800, SMOOTH))
    rows = list(model.line(50))

    assert model.tokens == (rows[0][0], rows[-1][0])
    assert all(batch <= tokens and low < ms < high for tokens, batch, ms, low, high in rows)
    assert rows[20][2] == pytest.approx(model.predict(*rows[20][:2]))
    assert model.predict(np.array([1, 512]), 1).shape == (2,)


def profiled(config: str, count: int, **shape: Any) -> list[Any]:
    """A run of a config with one file of generated steps."""
    made = [
        chunk(
            line, step["chunk_sizes"], run=config, source_id=f"{config}_0", model_run_ms=step["model_run_duration_ms"],
            schedule_ms=step["schedule_duration_ms"],
        )
        for line, step in enumerate(profile(count, **shape), 1)
    ]  # fmt: skip
    return [run(config), source(f"{config}_0", count, run=config), *made]


@exhaustive
def test_a_generated_profile_gives_the_generator_s_numbers(warehouse: Builder) -> None:
    """7.2 ms and 21 µs a token, times 1.017, the median of its noise, which slows only; the knee where they meet."""
    warehouse.add(*profiled("A", 3000, token_budget=2048, seed=1))
    (model,) = fit(warehouse)

    assert (model.status, model.steps) == ("ok", 2980)
    assert model.floor_ms and model.floor_ms.value == pytest.approx(7.2 * 1.017, rel=0.015)
    assert model.per_token_us and model.per_token_us.value == pytest.approx(21 * 1.017, rel=0.01)
    assert contains(model.knee_tokens, 7200 / 21)


def test_configs_are_fitted_apart_and_by_name(warehouse: Builder) -> None:
    """Every config that has steps unless some are named; a hostile name is a name."""
    hostile = "'; DROP TABLE runs; --"
    warehouse.add(*profiled("B", 30, token_budget=64, seed=1), *profiled(hostile, 230, token_budget=64, seed=2))

    models = fit(warehouse)
    assert [(model.config, model.steps) for model in models] == [(hostile, 210), ("B", 10)]
    assert [model.config for model in fit(warehouse, configs=["B", "B"])] == ["B"]
    assert fit(warehouse, configs=["B"], trim=0, max_model_run_ms=0)[0].steps == 0
    with pytest.raises(UnknownName, match="'B'"):
        fit(warehouse, configs=["b"])


def test_the_newest_run_of_a_config_is_fitted_unless_others_are_asked_for(warehouse: Builder) -> None:
    """Days are no sample of one thing: together only with `all_runs`, or where they are named."""
    for day in (1, 2, 3):
        warehouse.add(run(f"day-{day}", "A", started_at=datetime.datetime(2026, 11, day)))
        warehouse.add(*(chunk(line, [line], run=f"day-{day}", model_run_ms=1.0) for line in range(1, 40 + day)))

    def fitted(**options: Any) -> int:
        return fit(warehouse, trim=0, **options)[0].steps

    assert fitted() == 42
    assert fitted(runs=["day-1"]) == 40
    assert fitted(all_runs=True) == fitted(runs=["day-1", "day-2", "day-3"]) == 123


def test_steps_without_tokens_requests_or_time_are_not_fitted(warehouse: Builder) -> None:
    """NULL, nothing, negative, infinite: none of them is a step of 0."""
    odd: list[dict[str, Any]] = [{"model_run_ms": ms} for ms in (None, 0.0, -1.0, math.inf, math.nan)] + [
        {"chunk_sizes": []}
    ]
    warehouse.add(run(), *(chunk(i, **fields) for i, fields in enumerate(odd, 1)))
    warehouse.add(replace(chunk(7), chunk_sizes=None, total_tokens=5), chunk(8))

    assert [model.steps for model in fit(warehouse, trim=0)] == [1]


def test_without_steps_there_is_nothing_to_show(warehouse: Builder) -> None:
    """The message says how to load some."""
    with pytest.raises(NothingToShow, match="bench ingest"):
        fit(warehouse)


def test_a_real_profile_of_35_steps_is_too_short(warehouse: Builder, shared_data: Path) -> None:
    """One token in each, besides: nothing is made up."""
    file = shared_data / "sched_jsonl" / "scheduler_profiling.prefix.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    steps = [
        chunk(line, record["chunk_sizes"], source_id=file.name, model_run_ms=record["model_run_duration_ms"])
        for line, record in enumerate(records, 1)
    ]
    warehouse.add(run(), source(file.name, len(records)), *steps)

    (model,) = fit(warehouse)
    assert (model.status, model.steps, model.floor_ms) == ("too-few-steps", 35, None)


def test_the_quantile_of_t_is_that_of_scipy() -> None:
    """For as many stretches as there are."""
    assert pytest.approx(special.stdtrit(STRETCHES - 1, 0.975), abs=5e-5) == T975
