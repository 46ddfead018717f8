"""The cost model of a scheduler step: how long the model runs, by tokens scheduled and requests in the batch.

What the fit of `cost_fit` lets one say, and what it does not: a parameter the steps cannot tell is None, and why is a
sentence. A model predicts over the range of its steps even so.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..warehouse.errors import NothingToShow
from .cost_fit import (
    CUTOFF, LEAST_STEPS, SOFTEST, SOFTNESS, STRETCHES, T975, Fitted, fit_steps, jackknife_error, run_ms,
)  # fmt: skip
from .names import check_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..warehouse.database import Warehouse

    Floats = NDArray[np.float64]

SCHEMA = "bench step cost model 1"
FORMULA = (
    "ms = base_ms + slope_ms * bend + request_ms * batch_size; "
    "bend = (tokens ** (1 / softness) + knee_tokens ** (1 / softness)) ** softness, "
    "or max(tokens, knee_tokens) where softness is 0"
)
RESIDUALS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)  # quantiles that a model carries
LEAST_STRETCHES = 4  # of STRETCHES, that must have steps on either side of a knee
MARGIN = 1.25  # how far beyond the knee's interval steps must lie to show it from that side
FLAT = 0.1  # growth, as a share of the time, that still counts as none


@dataclass(frozen=True, slots=True)
class Estimate:
    """A parameter and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The fitted curve: what FORMULA is made of. It holds within the range of the steps, whatever they can tell apart."""

    base_ms: float
    slope_ms: float
    knee_tokens: float
    softness: float
    request_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """What the steps of one config cost. Estimates are None where the steps cannot tell them; `reason` says why.

    `status` is ok, memory-bound, compute-bound, straight, undetermined, one-token-count or too-few-steps.
    """

    config: str
    status: str
    reason: str | None
    steps: int  # steps fitted, outliers among them
    tokens: tuple[int, int] | None = None  # fewest and most of a step
    batch_size: tuple[int, int] | None = None
    typical_batch_size: int | None = None  # median
    floor_ms: Estimate | None = None  # a step of hardly any tokens: the weights are read, whatever is computed
    per_token_us: Estimate | None = None  # each further token, once computing binds
    knee_tokens: Estimate | None = None  # where computing takes as long as reading the weights
    per_request_us: Estimate | None = None  # each request: its cache is read, its token sampled
    overhead_ms: Estimate | None = None  # the part of the floor that computing never hides
    softness: Estimate | None = None  # of the knee: 0 sharp, 1/2 a hyperbola
    r2: float | None = None  # share of the variance of the steps explained, outliers left out
    r2_all: float | None = None  # the same with outliers
    spread: float | None = None  # robust standard deviation of (ms - fitted) / fitted
    outliers: int = 0  # steps farther from the fit than CUTOFF such deviations; they had no say
    residuals: dict[float, float] = dataclasses.field(default_factory=dict)  # quantile -> (ms - fitted) / fitted
    coefficients: Coefficients | None = None
    replicates: "Floats | None" = dataclasses.field(default=None, repr=False, compare=False)

    def predict(self, tokens: Any, batch_size: Any) -> Any:
        """Model run time in ms of a step; numbers or arrays that broadcast.

        Raises:
            ValueError: The steps were too few for a curve; `reason` says so.
        """
        if self.coefficients is None:
            raise ValueError(f"no cost model of {self.config}: {self.reason}")
        found = run_ms(dataclasses.astuple(self.coefficients), tokens, batch_size)
        return float(found) if found.ndim == 0 else found

    def curve(self, points: int = 200) -> Iterator[tuple[int, int, float, float, float]]:
        """The curve to draw: tokens, batch_size, ms and its 95 % interval, at even steps over the tokens seen.

        The batch is the typical one, or as many requests as there are tokens where those are fewer.
        """
        import numpy as np

        if self.coefficients is None or self.tokens is None or self.replicates is None or not self.typical_batch_size:
            return
        tokens = np.unique(np.linspace(*self.tokens, points).round())
        batch = np.minimum(tokens, self.typical_batch_size)
        middle = self.predict(tokens, batch)
        half = T975 * jackknife_error(run_ms(self.replicates.T[:, :, None], tokens, batch))
        for row in zip(tokens, batch, middle, middle - half, middle + half, strict=True):
            yield int(row[0]), int(row[1]), float(row[2]), float(row[3]), float(row[4])


ESTIMATES = ("floor_ms", "per_token_us", "knee_tokens", "per_request_us", "overhead_ms", "softness")


def fit(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] = (),
    trim: int = 10,
    max_schedule_ms: float = math.inf,
    max_model_run_ms: float = math.inf,
) -> list[CostModel]:
    """Fit the steps of each config.

    Args:
        warehouse: Where the steps are.
        configs: Configs to fit; all that have steps unless given.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out. A limit on what is to be explained
            bends the curve where it cuts; hiccups need none, the fit is robust.

    Returns:
        One model per config, by name, those that could not be fitted included.

    Raises:
        UnknownName: A config without steps; the nearest is named.
        NothingToShow: The warehouse holds no scheduler steps.
    """
    check_values(warehouse, "runtime_vs_tokens_counts()", "config", configs, "config")
    known = [config for (config,) in warehouse.rows("SELECT config FROM runtime_vs_tokens_counts() ORDER BY config")]
    if not known:
        raise NothingToShow("there are no scheduler steps. Load some with: bench ingest NAME:PATH")
    query = """
        SELECT tokens::DOUBLE AS tokens, batch_size::DOUBLE AS batch_size, model_run_ms
        FROM runtime_vs_tokens(configs := [?], "trim" := ?, max_schedule_ms := ?, max_model_run_ms := ?)
        WHERE tokens > 0 AND model_run_ms > 0 AND isfinite(model_run_ms)
        ORDER BY batch_id, run_id, line
    """
    models = []
    for config in sorted(set(configs)) or known:
        asked = [config, trim, float(max_schedule_ms), float(max_model_run_ms)]
        found = warehouse.connection.execute(query, asked).fetchnumpy()
        models.append(model_of(config, found["tokens"], found["batch_size"], found["model_run_ms"]))
    return models


def model_of(config: str, tokens: "Floats", batch_size: "Floats", ms: "Floats") -> CostModel:
    """The model of steps in order of time: tokens, requests and ms of each, all above 0."""
    import numpy as np

    steps = len(tokens)
    if steps < LEAST_STEPS:
        reason = f"{steps} steps are too few, it takes {LEAST_STEPS}"
        return CostModel(config=config, status="too-few-steps", reason=reason, steps=steps)
    ranges: dict[str, Any] = {
        "tokens": (int(tokens.min()), int(tokens.max())), "batch_size": (int(batch_size.min()), int(batch_size.max())),
        "typical_batch_size": int(np.median(batch_size)),
    }  # fmt: skip
    if tokens.min() == tokens.max():
        reason = f"every step has {tokens[0]:.0f} tokens, so nothing tells what a token costs"
        return CostModel(config=config, status="one-token-count", reason=reason, steps=steps, **ranges)
    fitted = fit_steps(tokens, batch_size, ms)
    status, reason, known = _told(fitted, tokens, batch_size)
    estimates = {name: estimate for name, estimate in _estimates(fitted).items() if name in known}
    typical = np.abs(fitted.residuals) <= CUTOFF * fitted.spread
    return CostModel(
        config=config, status=status, reason=reason, steps=steps, **ranges, **estimates,
        r2=_r2(ms[typical], fitted.residuals[typical]), r2_all=_r2(ms, fitted.residuals), spread=fitted.spread,
        outliers=int(steps - typical.sum()),
        residuals={q: float(np.quantile(fitted.residuals, q)) for q in RESIDUALS},
        coefficients=Coefficients(*map(float, fitted.coefficients)), replicates=fitted.replicates,
    )  # fmt: skip


def _estimates(fitted: Fitted) -> dict[str, Estimate]:
    import numpy as np

    both = np.vstack([fitted.coefficients, fitted.replicates]).T  # the fit to all first, then those without a stretch
    base, slope, knee, softness, request = both
    floor = base + slope * knee
    values = (floor, slope * 1000, knee, request * 1000, base, softness)
    return {name: _estimate(value[0], value[1:]) for name, value in zip(ESTIMATES, values, strict=True)}


def _estimate(value: float, replicates: "Floats") -> Estimate:
    """With its interval: of the logarithm where all are above 0, so that no end lies below."""
    import numpy as np

    if value > 0 and (replicates > 0).all():
        ratio = math.exp(min(T975 * jackknife_error(np.log(replicates)), 700))
        return Estimate(float(value), float(value / ratio), float(value * ratio))
    half = T975 * jackknife_error(replicates)
    return Estimate(float(value), float(value - half), float(value + half))


def _r2(ms: "Floats", residuals: "Floats") -> float | None:
    """Share of the variance explained; None where nothing varies."""
    import numpy as np

    total = float(np.sum((ms - ms.mean()) ** 2))
    error = ms - ms / (1 + residuals)
    return 1 - float(np.sum(error**2)) / total if total > 0 else None


def _told(fitted: Fitted, tokens: "Floats", batch_size: "Floats") -> tuple[str, str | None, set[str]]:
    """What the steps can tell: status, reason, and the names of the estimates they determine."""
    request = {"per_request_us"} if fitted.separable or fitted.kind != "straight" and _varies(batch_size) else set()
    if fitted.kind == "bent":
        return _bent(fitted, tokens, request)
    if fitted.kind == "straight":
        return _straight(fitted, tokens, request)
    few, many = tokens.min(), tokens.max()
    if _varies(batch_size) and not fitted.separable:
        reason = "requests grow with tokens, so what a token costs is part of what a request costs"
        return "inseparable", reason, {"floor_ms"} | request
    if max(map(abs, fitted.growth)) * many <= FLAT * float(fitted.coefficients[0]):
        reason = f"no step is compute-bound: {many:.0f} tokens take no longer than {few:.0f}"
        return "memory-bound", reason, {"floor_ms"} | request
    return _undetermined(fitted)


def _bent(fitted: Fitted, tokens: "Floats", request: set[str]) -> tuple[str, str | None, set[str]]:
    if fitted.coefficients[SOFTNESS] > 0.98 * SOFTEST:
        return "undetermined", "the time bends too gently to tell floor, knee and slope apart", request
    told = _estimates(fitted)
    knee, floor, slope = told["knee_tokens"], told["floor_ms"], told["per_token_us"]
    if slope.low < 0:
        return _undetermined(fitted)
    below = _seen(tokens < knee.low / MARGIN)
    above = _seen(tokens > knee.high * MARGIN) and slope.low / 1000 * tokens.max() > floor.value
    if below and above:
        return "ok", None, set(ESTIMATES) - {"per_request_us"} | request
    if below:
        reason = "too few steps are compute-bound to tell what a token costs"
        return "memory-bound", reason, {"floor_ms"} | request
    if above:
        reason = "too few steps have so few tokens that reading the weights binds"
        return "compute-bound", reason, {"per_token_us"} | request
    return "undetermined", "where the time bends is uncertain by more than the steps span", request


def _straight(fitted: Fitted, tokens: "Floats", request: set[str]) -> tuple[str, str | None, set[str]]:
    base, slope = fitted.coefficients[:2]
    few, many = tokens.min(), tokens.max()
    computing = fitted.growth[0] * many > base  # more than half of the time of the largest step
    reaching = abs(slope) * few <= FLAT * base  # the smallest step tells what none would take
    if computing and reaching:
        reason = "the time grows in a straight line from the first token: there is no knee"
        return "straight", reason, {"floor_ms", "per_token_us"} | request
    if computing:
        reason = f"every step is compute-bound: none has fewer than {few:.0f} tokens"
        return "compute-bound", reason, {"per_token_us"} | request
    if reaching and slope > 0:
        reason = f"no step is compute-bound: {many:.0f} tokens take less than twice as long as few"
        return "memory-bound", reason, {"floor_ms"} | request
    return _undetermined(fitted)


def _undetermined(fitted: Fitted) -> tuple[str, str, set[str]]:
    if fitted.growth[1] < 0:
        return "undetermined", "the time falls as tokens grow: something else than tokens decides", set()
    return "undetermined", "tokens vary too little, or times too much, to tell what a token costs", set()


def _seen(steps: Any) -> bool:
    """Whether there are such steps enough, in stretches enough."""
    import numpy as np

    stretches = np.unique(np.flatnonzero(steps) * STRETCHES // len(steps))
    return len(stretches) >= LEAST_STRETCHES and np.count_nonzero(steps) >= STRETCHES


def _varies(values: "Floats") -> bool:
    return bool(values.min() < values.max())
