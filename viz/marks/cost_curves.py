"""Fitted cost models as a layer over scheduler steps: the curve, its interval, and where steps turn compute-bound."""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...query.cost.model import CostModel, FittedParameter, fit_runs
from ...query.pasteable_sql import number_literal
from ..style.interaction import fade_others, tooltip
from ..style.labels import printable
from ..style.terminal import TextSeries
from .legend import Legend
from .overlays import HALO, band_layers

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..step_filter import StepFilter

Models = Mapping[str, CostModel]  # by series
_INK = "#1f2328"


def models(warehouse: "Warehouse", steps: "StepFilter") -> dict[str, CostModel]:
    """The cost model of each series, as `bench cost-model` fits it: slow steps are outliers to it, and are not filtered."""
    return {model.config: model for model in fit_runs(warehouse, steps.series.runs_of, trim=steps.trim)}


def brief(model: CostModel) -> str:
    """The model in one line, each number with the half-width of its 95 % interval; or why there is no model."""
    if model.curve is None:
        return f"no fit: {model.reason}"
    floor, token, knee = (
        estimate and f"{_doubtful(estimate)} {unit}"
        for estimate, unit in (
            (model.floor_ms, "ms"), (model.per_token_us, "µs/token"), (model.knee_tokens, "on"),
        )
    )  # fmt: skip
    slope = f"{token} from {knee}" if token and knee else token
    parts = [part for part in (floor, slope) if part] + ([model.status] if model.status != "ok" else [])
    return ", ".join(parts + ([] if model.r2 is None else [f"R² {model.r2:.3f}"]))


def _doubtful(estimate: FittedParameter) -> str:
    """A value and half of its interval, to the first digit of that."""
    half = (estimate.high - estimate.low) / 2
    places = min(max(0, -math.floor(math.log10(half))), 9) if half > 0 else 3
    return f"{estimate.value:,.{places}f}±{half:,.{places}f}"


def expression(models: Models, configs: tuple[str, ...]) -> str:
    """SQL of the fitted time of a step: config is its place in `configs`, from 1; x its tokens."""
    cases = [
        f"WHEN {place} THEN step_cost_ms(x, batch_size, {', '.join(map(number_literal, dataclasses.astuple(model.curve)))})"
        for place, model in ((configs.index(config) + 1, model) for config, model in models.items())
        if model.curve is not None
    ]
    return f"CASE drawn.config {' '.join(cases)} END" if cases else "NULL::DOUBLE"


def layers(
    models: Models, legend: Legend, axes: dict[str, Any], *, interactive: bool, coloured: bool
) -> list[dict[str, Any]]:
    """The curves over the points, with their intervals; a ring and the interval below it where steps turn compute-bound.

    Args:
        models: Those of configs in the legend.
        legend: Of the points.
        axes: Encodings of x and y of the points, whose titles and scales are shared.
        interactive: Whether they can be pointed at.
        coloured: Whether lines have the colours of their configs, rather than that of ink.
    """
    of_config = {**legend.encodings("of")["color"], "legend": None} if coloured else {"value": _INK}
    larger = 1.6 if interactive else 1.0
    x, y = ({**axes[axis], "field": axis} for axis in "xy")
    alone = {"opacity": fade_others("of", 0.05)} if interactive else {}
    tips = tooltip([("of", "config", None), ("said", "cost model", None)])
    tooltips = {"tooltip": tips} if interactive else {}
    knee = {"data": {"values": _knees(models, legend)}}
    return [
        *band_layers(
            _curves(models, legend), axes, of_config, larger=larger, alone=alone, tips=tooltips, interactive=interactive
        ),
        {**knee, "mark": {"type": "rule", "clip": True, "strokeWidth": 3 * larger},
         "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "stroke": of_config, **alone}},
        {**knee, "mark": {"type": "point", "filled": False, "fill": HALO, "clip": True, "strokeWidth": 1.6 * larger,
         "size": 40 * larger**2, "opacity": 1, "shape": "circle"},
         "encoding": {"x": x, "y": y, "stroke": of_config, **alone, **tooltips}},
    ]  # fmt: skip


def _curves(models: Models, legend: Legend) -> list[dict[str, Any]]:
    return [
        {"of": legend.labels[config], "x": tokens, "y": ms, "low": low, "high": high, "said": brief(model)}
        for config, model in models.items()
        for tokens, _, ms, low, high in model.line()
    ]


def _knees(models: Models, legend: Legend) -> list[dict[str, Any]]:
    """The points where steps turn compute-bound, on the curve at the batch it is drawn for."""
    return [
        {
            "of": legend.labels[config], "x": knee.value, "low": knee.low, "high": knee.high,
            "y": model.predict(knee.value, min(knee.value, round(model.typical_batch_size or 0))), "said": brief(model),
        }
        for config, model in models.items()
        if (knee := model.knee_tokens) is not None
    ]  # fmt: skip


def series(models: Models) -> list[TextSeries]:
    """The curves in characters."""
    lines = {printable(config): list(model.line()) for config, model in models.items()}
    return [
        TextSeries(f"cost model of {config}", [row[0] for row in line], [row[2] for row in line], mark="━")
        for config, line in lines.items()
        if line
    ]
