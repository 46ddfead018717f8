"""The cost model of a scheduler step: how long the model runs, by tokens scheduled and requests in the batch.

A parameter that the steps do not determine is None, and a sentence gives the reason. The curve is valid over the range of the
steps all the same.
"""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted
from ...warehouse.errors import NothingToShow
from ..resolve import check_values
from ..step_runs import STEPPED, StepRuns, choose_step_runs
from . import fit as cost_fit
from .fit import BASE, SLOPE, SOFTNESS, STRETCHES, T975, StepFit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...warehouse.database import Warehouse

    Floats = NDArray[np.float64]

MODEL_SCHEMA = "bench step cost model 1"
FORMULA = (
    "ms = base_ms + slope_ms * bend + request_ms * batch_size, where "
    "bend = (tokens ** (1 / softness) + knee_tokens ** (1 / softness)) ** softness, "
    "or max(tokens, knee_tokens) if softness is 0"
)
ESTIMATES = {  # stem and unit of each estimate; it is in this order that a fit gives them
    "floor": "_ms", "per_token": "_us", "knee": "_tokens", "per_request": "_us", "overhead": "_ms", "softness": "",
}  # fmt: skip
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)  # of the residuals, which a simulator may draw from
LEAST_STRETCHES = 4  # of STRETCHES, that must have steps on either side of a knee
MARGIN = 1.25  # how far beyond the knee's interval steps must lie to show it from that side
FLAT = 0.1  # share of the time by which it may grow and still be called flat


@dataclass(frozen=True, slots=True)
class FittedParameter:
    """A parameter and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The coefficients of FORMULA. A slope of 0 is a flat curve, a knee of 0 a straight one."""

    base_ms: float
    slope_ms: float
    knee_tokens: float
    softness: float
    request_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """The cost model of one config, or of some runs under another name.

    `status` is ok, memory-bound, compute-bound, straight, inseparable, undetermined, one-token-count or too-few-steps. With
    any status but ok some estimates are None, and `reason` says why; the last two statuses have no curve.
    """

    config: str
    status: str
    reason: str | None
    steps: int  # steps fitted, outliers among them
    outliers: int = 0  # steps so far from the fit that they had no say
    floor_ms: FittedParameter | None = None  # a step of hardly any tokens: the weights are read, whatever is computed
    per_token_us: FittedParameter | None = None  # each further token, once computing binds
    knee_tokens: FittedParameter | None = None  # where computing takes as long as reading the weights
    per_request_us: FittedParameter | None = None  # each request: its cache is read, its token sampled
    overhead_ms: FittedParameter | None = None  # the part of the floor that computing never hides
    softness: FittedParameter | None = None  # of the knee: 0 is sharp, 1/2 a hyperbola
    r2: float | None = None  # share of the variance of the times explained, outliers left out
    r2_all: float | None = None  # the same with outliers
    spread: float | None = None  # robust standard deviation of (ms - fitted) / fitted
    residuals: dict[float, float] = dataclasses.field(default_factory=dict)  # quantile -> (ms - fitted) / fitted
    tokens: tuple[int, int] | None = None  # fewest and most of a step
    batch_size: tuple[int, int] | None = None
    typical_batch_size: float | None = None  # median
    curve: Curve | None = None
    replicates: "Floats | None" = dataclasses.field(default=None, repr=False, compare=False)  # curves without a stretch

    def predict(self, tokens: Any, batch_size: Any) -> Any:
        """Time in ms that the model runs in a step: numbers, or arrays that broadcast.

        Raises:
            ValueError: There is no curve; the message says why.
        """
        if self.curve is None:
            raise ValueError(f"there is no cost model of {self.config}: {self.reason}")
        found = cost_fit.run_ms(dataclasses.astuple(self.curve), tokens, batch_size)
        return float(found) if found.ndim == 0 else found

    def line(self, points: int = 200) -> Iterator[tuple[int, int, float, float, float]]:
        """The curve as rows to draw: tokens, batch_size, ms and its 95 % interval, evenly over the tokens seen.

        The batch is the typical one, or as many requests as there are tokens where these are fewer.
        """
        import numpy as np

        if self.curve is None or self.replicates is None or self.tokens is None or self.typical_batch_size is None:
            return
        tokens = np.unique(np.linspace(*self.tokens, points).round())
        batch = np.minimum(tokens, round(self.typical_batch_size))
        middle = self.predict(tokens, batch)
        half = T975 * cost_fit.jackknife_error(cost_fit.run_ms(self.replicates.T[:, :, None], tokens, batch))
        for at, requests, *ms in zip(tokens, batch, middle, middle - half, middle + half, strict=True):
            yield int(at), int(requests), *map(float, ms)  # type: ignore[misc]

    def row(self) -> dict[str, Any]:
        """All values but the residuals, under the column names of the view `step_cost_models`."""
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("config", "status", "reason", "steps", "outliers")
        }
        for stem, unit in ESTIMATES.items():
            estimate = getattr(self, stem + unit)
            for end, field in (("", "value"), ("_low", "low"), ("_high", "high")):
                row[stem + end + unit] = estimate and getattr(estimate, field)
        row |= {"r2": self.r2, "r2_all": self.r2_all, "spread": self.spread}
        for name, ends in (("tokens", self.tokens), ("batch_size", self.batch_size)):
            row |= dict(zip((f"min_{name}", f"max_{name}"), ends or (None, None), strict=True))
        row["typical_batch_size"] = self.typical_batch_size
        curve = dataclasses.asdict(self.curve) if self.curve else {}
        return row | {f"curve_{field.name}": curve.get(field.name) for field in dataclasses.fields(Curve)}


def as_json(models: Sequence[CostModel]) -> str:
    """The models as a JSON object for programs such as simulators: schema, formula, models."""
    separable = [dataclasses.asdict(dataclasses.replace(model, replicates=None)) for model in models]
    for model in separable:
        del model["replicates"]
    return (
        json.dumps({"schema": MODEL_SCHEMA, "formula": FORMULA, "models": separable}, ensure_ascii=False, indent=2)
        + "\n"
    )


def fit(
    warehouse: "Warehouse", *, configs: Sequence[str] = (), runs: Sequence[str] = (), all_runs: bool = False,
    trim: int = 10, max_schedule_ms: float = math.inf, max_model_run_ms: float = math.inf,
) -> list[CostModel]:  # fmt: skip
    """Fit the steps of each config: of its newest run, unless others are asked for.

    Args:
        warehouse: Where the steps are.
        configs: Configs to fit; all that have steps unless given.
        runs: Names of the runs to fit, those of a config together.
        all_runs: Fit all runs of a config together.
        trim: As `fit_runs` takes it.
        max_schedule_ms: Likewise.
        max_model_run_ms: Likewise.

    Returns:
        One model per config, by name, those that could not be fitted included.

    Raises:
        UnknownName: A config without steps, or no such run; the nearest is named.
        NothingToShow: The warehouse holds no scheduler steps, or a run that is named has none.
    """
    chosen = runs_to_fit(warehouse, configs, runs, all_runs=all_runs).of_config
    return fit_runs(warehouse, chosen, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms)


def runs_to_fit(
    warehouse: "Warehouse", configs: Sequence[str], runs: Sequence[str], *, sides: Sequence[str] = (), all_runs: bool
) -> StepRuns:
    """The runs of each config or side whose steps are fitted together; arguments and errors as of `fit`."""
    check_values(warehouse, STEPPED, "config", configs)
    chosen = choose_step_runs(warehouse, sorted(configs), runs, sides=sides, all_runs=all_runs)
    if not chosen.of_config:
        raise NothingToShow("there are no scheduler steps. Load some with: bench ingest NAME:PATH")
    return chosen


def fit_runs(
    warehouse: "Warehouse", runs_of: Mapping[str, Sequence[str]], *, trim: int = 10, max_schedule_ms: float = math.inf,
    max_model_run_ms: float = math.inf,
) -> list[CostModel]:  # fmt: skip
    """Fit the steps of some runs together.

    Args:
        warehouse: Where the steps are.
        runs_of: By what the model is called, a config or another name, the ids of the runs.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out. A limit on what is to be explained
            bends the curve where it cuts, and hiccups need none: the fit is robust.

    Returns:
        One model per name, in this order, those that could not be fitted included.
    """
    query = """
        SELECT tokens::DOUBLE AS tokens, batch_size::DOUBLE AS batch_size, model_run_ms
        FROM runtime_vs_tokens(runs := ?, "trim" := ?, max_schedule_ms := ?, max_model_run_ms := ?)
        WHERE tokens > 0 AND batch_size > 0 AND model_run_ms > 1e-100 AND model_run_ms < 1e100
        ORDER BY batch_id, run_id, line
    """
    models = []
    for name, runs in runs_of.items():
        parameters = [[*runs], trim, float(max_schedule_ms), float(max_model_run_ms)]
        found = warehouse.connection.execute(query, parameters).fetchnumpy()
        models.append(model_of(name, found["tokens"], found["batch_size"], found["model_run_ms"]))
    return models


def model_of(config: str, tokens: "Floats", batch_size: "Floats", ms: "Floats") -> CostModel:
    """The model of steps in order of time: tokens and requests of each, above 0, and ms, as `fit_steps` takes them."""
    import numpy as np

    steps = len(tokens)
    if steps < cost_fit.LEAST_STEPS:
        why = f"{counted(steps, 'step', 'is', 'are')} too few, it takes {cost_fit.LEAST_STEPS}"
        return CostModel(config=config, status="too-few-steps", reason=why, steps=steps)
    known: dict[str, Any] = {
        "tokens": (int(tokens.min()), int(tokens.max())), "batch_size": (int(batch_size.min()), int(batch_size.max())),
        "typical_batch_size": float(np.median(batch_size)),
    }  # fmt: skip
    if tokens.min() == tokens.max():
        why = f"every step has {tokens[0]:.0f} tokens, so nothing tells what a token costs"
        return CostModel(config=config, status="one-token-count", reason=why, steps=steps, **known)
    fitted = cost_fit.fit_steps(tokens, batch_size, ms)
    status, reason, separable = _identify(fitted, tokens, batch_size)
    known |= {stem + ESTIMATES[stem]: estimate for stem, estimate in _estimates(fitted).items() if stem in separable}
    residuals = ms / fitted.ms - 1
    typical = np.abs(residuals) <= cost_fit.CUTOFF * fitted.spread
    return CostModel(
        config=config, status=status, reason=reason, steps=steps, outliers=int(steps - typical.sum()), **known,
        r2=explained(ms[typical], fitted.ms[typical]), r2_all=explained(ms, fitted.ms), spread=fitted.spread,
        residuals={q: float(np.quantile(residuals, q)) for q in QUANTILES},
        curve=Curve(*map(float, fitted.coefficients)), replicates=fitted.replicates,
    )  # fmt: skip


def _estimates(fitted: StepFit) -> dict[str, FittedParameter]:
    """Each by its stem: the value of the fit to all steps, its interval from the fits that left a stretch out."""
    import numpy as np

    base, slope, knee, softness, request = np.vstack([fitted.coefficients, fitted.replicates]).T
    values = (base + slope * knee, slope * 1000, knee, request * 1000, base, softness)
    return {stem: estimate_of(value[0], value[1:]) for stem, value in zip(ESTIMATES, values, strict=True)}


def estimate_of(value: float, replicates: "Floats") -> FittedParameter:
    """The parameter with its interval: that of the logarithm where all are above 0, so that neither end lies below."""
    import numpy as np

    if value > 0 and (replicates > 0).all():
        ratio = math.exp(min(T975 * cost_fit.jackknife_error(np.log(replicates)), 300))
        return FittedParameter(float(value), float(value / ratio), float(value * ratio))
    half = T975 * cost_fit.jackknife_error(replicates)
    return FittedParameter(float(value), float(value - half), float(value + half))


def explained(ms: "Floats", fitted: "Floats") -> float | None:
    """Share of the variance explained; None where nothing varies."""
    import numpy as np

    total = float(np.sum((ms - ms.mean()) ** 2))
    return 1 - float(np.sum((ms - fitted) ** 2)) / total if total > 0 else None


def _identify(fitted: StepFit, tokens: "Floats", batch_size: "Floats") -> tuple[str, str | None, set[str]]:
    """The estimates that the steps determine: status, reason, and the stems of those estimates."""
    varies = batch_size.min() < batch_size.max()
    request = {"per_request"} if fitted.separable or (varies and fitted.kind != "straight") else set()
    if fitted.kind == "bent":
        return _bent(fitted, tokens, request)
    if fitted.kind == "straight":
        return _straight(fitted, tokens, request)
    few, many = tokens.min(), tokens.max()
    if varies and not fitted.separable:
        reason = "requests grow with tokens, so what a token costs is part of what a request costs"
        return "inseparable", reason, {"floor"} | request
    if max(map(abs, fitted.growth)) * many <= FLAT * fitted.coefficients[BASE]:
        reason = f"no step is compute-bound: {many:.0f} tokens take no longer than {few:.0f}"
        return "memory-bound", reason, {"floor"} | request
    return _undetermined(fitted)


def _bent(fitted: StepFit, tokens: "Floats", request: set[str]) -> tuple[str, str | None, set[str]]:
    estimates = _estimates(fitted)
    knee, floor, slope = estimates["knee"], estimates["floor"], estimates["per_token"]
    if slope.low < 0:
        return _undetermined(fitted)
    if fitted.coefficients[SOFTNESS] > 0.98 * cost_fit.SOFTEST:
        return "undetermined", "the time bends too gently to tell floor, knee and slope apart", request
    below = _seen(tokens < knee.low / MARGIN)
    above = _seen(tokens > knee.high * MARGIN) and slope.low / 1000 * tokens.max() > floor.value
    if below and above:
        return "ok", None, set(ESTIMATES) - {"per_request"} | request
    if below:
        reason = "too few steps are compute-bound to tell what a token costs"
        return "memory-bound", reason, {"floor"} | request
    if above:
        reason = "too few steps have so few tokens that reading the weights binds"
        return "compute-bound", reason, {"per_token"} | request
    return "undetermined", "where the time bends is as uncertain as the steps are wide", request


def _straight(fitted: StepFit, tokens: "Floats", request: set[str]) -> tuple[str, str | None, set[str]]:
    base, slope = fitted.coefficients[[BASE, SLOPE]]
    few, many = tokens.min(), tokens.max()
    computing = fitted.growth[0] * many > base  # it is more than half of the largest step
    reaching = abs(slope) * few <= FLAT * base  # the smallest step tells what one of no tokens would take
    if computing and reaching:
        reason = "the time grows in a straight line from the first token: there is no knee"
        return "straight", reason, {"floor", "per_token"} | request
    if computing:
        reason = f"every step is compute-bound: none has fewer than {few:.0f} tokens"
        return "compute-bound", reason, {"per_token"} | request
    if reaching and slope > 0:
        reason = f"no step is compute-bound: {many:.0f} tokens take less than twice as long as few"
        return "memory-bound", reason, {"floor"} | request
    return _undetermined(fitted)


def _undetermined(fitted: StepFit) -> tuple[str, str | None, set[str]]:
    if fitted.growth[1] < 0:
        return "undetermined", "the time falls as tokens grow: something else than tokens decides", set()
    return "undetermined", "tokens vary too little, or times too much, to tell what a token costs", set()


def _seen(steps: Any) -> bool:
    """Return whether enough of these steps lie in enough stretches."""
    import numpy as np

    stretches = np.unique(np.flatnonzero(steps) * STRETCHES // len(steps))
    return len(stretches) >= LEAST_STRETCHES and int(np.count_nonzero(steps)) >= STRETCHES
