"""The cost of a scheduler step by phase: ms = floor + a · prefill tokens + b · decoding requests + c · KV tokens.

The fit is robust, as `fit` is: errors relative to the fitted time, Tukey's bisquare from a start of least absolute errors,
and intervals from 20 fits that leave out a stretch of time each (delete-a-group jackknife).

A coefficient is refused, None with a reason, by the first of these that holds:

- Its column has no spread, or is not recorded. One that is the same number above 0 in each step is part of the floor, which
  is refused with it.
- It belongs to a near dependency. By Belsley, Kuh and Welsch (Regression Diagnostics, 1980, chapter 3): columns scaled to equal
  length, constant included; a condition index above 30 is a dependency, and those coefficients are in it of whose variance more
  than half comes from such indices. More steps of the same kind do not cure this, so it holds however narrow the interval.
- Its interval leaves open more than a tenth of a median step: half its width, times what the column spans (its smallest to its
  99th percentile). This rule is ours: what it lets through predicts a step within the tenth by which `model` calls one flat.
- Its interval lies below 0: time that falls with work is explained by something else.

The predictions use all coefficients; within the range of the steps they hold even where single ones are refused.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted, percent
from .fit import CUTOFF, LEAST_STEPS, LEAST_TIME, ROUNDS, STRETCHES, pseudo_values, robust_scale
from .model import FLAT, FittedParameter, estimate_of, explained

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from .fit import Floats

LARGEST_INDEX = 30.0  # condition index from which columns count as dependent
SHARE = 0.5  # of a coefficient's variance, from which it belongs to a dependency
LARGEST_RATIO = 1e6  # times the median; what took longer counts as this, an outlier all the same
WORK = {"prefill_tokens": "prefill tokens", "decode_requests": "decoding requests", "kv_tokens": "KV tokens"}
COST_PARAMETERS = ("floor_ms", "per_prefill_token_us", "per_decode_request_us", "per_kv_token_us")
NAMES = ("floor", *WORK.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSteps:
    """Steps in order of time."""

    work: "Floats"  # (steps, 3): prefill tokens, decoding requests, KV tokens; the last NaN where nobody says
    ms: "Floats"  # (steps,)
    time_spans: frozenset[str] = frozenset()
    sampled: int = 0  # steps of captures that left others out

    @property
    def tokens(self) -> "Floats":
        """Tokens scheduled, a decoding request counting one."""
        total: Floats = self.work[:, 0] + self.work[:, 1]
        return total

    @property
    def has_kv(self) -> bool:
        """True if KV tokens are known, of all of them or of none."""
        return bool(self.work[:1, 2].max(initial=-1) >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseModel:
    """The cost by phase of one config's steps.

    `status` is ok, partial, undetermined, no-phases, sampled, several-spans or too-few-steps; with any but ok some estimates are
    None, and `reason` says why. The last four have no curve.
    """

    config: str
    status: str
    reason: str | None
    steps: int
    outliers: int = 0
    floor_ms: FittedParameter | None = None
    per_prefill_token_us: FittedParameter | None = None
    per_decode_request_us: FittedParameter | None = None
    per_kv_token_us: FittedParameter | None = None
    condition: float | None = None
    r2: float | None = None
    r2_all: float | None = None
    spread: float | None = None
    ranges: tuple[tuple[int, int] | None, ...] = (None, None, None)  # fewest and most of WORK
    time_spans: frozenset[str] = frozenset()
    # (4,) ms: floor and each of WORK
    curve: "Floats | None" = dataclasses.field(default=None, repr=False, compare=False)
    replicates: "Floats | None" = dataclasses.field(default=None, repr=False, compare=False)  # (STRETCHES, 4)

    @property
    def uses_kv(self) -> bool:
        """True if a prediction needs KV tokens."""
        return self.ranges[2] is not None

    def row(self) -> dict[str, Any]:
        """All values, under the column names of the view `step_phase_costs`."""
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("config", "status", "reason", "steps", "outliers")
        }
        for name in COST_PARAMETERS:
            stem, unit, estimate = name[:-3], name[-3:], getattr(self, name)
            for end, field in (("", "value"), ("_low", "low"), ("_high", "high")):
                row[stem + end + unit] = estimate and getattr(estimate, field)
        row |= {"condition": self.condition, "r2": self.r2, "r2_all": self.r2_all, "spread": self.spread}
        for name, ends in zip(WORK, self.ranges, strict=True):
            row |= dict(zip((f"min_{name}", f"max_{name}"), ends or (None, None), strict=True))
        curve = [None] * 4 if self.curve is None else map(float, self.curve)
        return row | dict(
            zip((f"curve_{name}_ms" for name in ("floor", "prefill", "decode", "kv")), curve, strict=True)
        )


def read_phases(
    warehouse: "Warehouse", runs: Sequence[str], *, trim: float = 10, max_schedule_ms: float = math.inf,
    max_model_run_ms: float = math.inf,
) -> PhaseSteps:  # fmt: skip
    """The steps of some runs whose phases are known; where some have KV tokens, those that have."""
    import numpy as np

    query = """
        SELECT prefill_tokens::DOUBLE AS prefill, decode_requests::DOUBLE AS decode, kv_tokens::DOUBLE AS kv, model_run_ms AS ms,
            coalesce(time_span, 'model') AS time_span, capture_mode = 'sampled' AS sampled
        FROM step_phases(runs := ?, "trim" := ?, max_schedule_ms := ?, max_model_run_ms := ?)
        WHERE prefill_tokens + decode_requests::HUGEINT > 0 AND model_run_ms > 1e-100 AND model_run_ms < 1e100
        ORDER BY batch_id, run_id, line
    """
    found = warehouse.connection.execute(
        query, [[*runs], trim, float(max_schedule_ms), float(max_model_run_ms)]
    ).fetchnumpy()
    work = np.column_stack([np.ma.filled(found[name].astype(float), math.nan) for name in ("prefill", "decode", "kv")])
    kept = ~np.isnan(work[:, 2])
    kept = kept if kept.any() else ~kept
    return PhaseSteps(
        work=work[kept], ms=np.asarray(found["ms"], dtype=float)[kept], time_spans=frozenset(map(str, found["time_span"])),
        sampled=int(found["sampled"].sum()),
    )  # fmt: skip


def phase_model_of(config: str, steps: PhaseSteps) -> PhaseModel:
    """Fit steps by phase, or say why not."""
    import numpy as np

    if (refusal := refused(steps)) is not None:
        status, reason = refusal
        return PhaseModel(config=config, status=status, reason=reason, steps=len(steps.ms), time_spans=steps.time_spans)
    known: Any = ~np.isnan(steps.work).any(axis=0)
    varies = known & (np.ptp(np.where(known, steps.work, 0), axis=0) > 0)
    used = np.array([0, *(np.flatnonzero(varies) + 1)])
    columns = np.column_stack([np.ones(len(steps.ms)), steps.work[:, varies]])
    found, gram, fitted = _fit(columns, steps.ms)
    every = np.zeros((len(found), 4))
    every[:, used] = found
    estimates = [
        estimate_of(value[0] * scale, value[1:] * scale) for value, scale in zip(every.T, (1, 1e3, 1e3, 1e3), strict=True)
    ]  # fmt: skip
    indices, shares = _dependencies(gram)
    reasons = dict(_without_spread(steps, known, varies))
    for place, share in zip(used, shares, strict=True):
        if share > SHARE:
            reasons.setdefault(int(place), None)  # all of a dependency have one reason
    dependent = [NAMES[place] for place in used if reasons.get(int(place), "") is None]
    reasons |= {place: why for place, why in _untold(steps, estimates, used) if place not in reasons}
    sentences = [why for _, why in sorted(reasons.items()) if why]
    if dependent:
        sentences.append(f"{' and '.join(dependent)} move together (condition number {indices.max():.3g})")
    told = {
        name: one
        for place, (name, one) in enumerate(zip(COST_PARAMETERS, estimates, strict=True))
        if place not in reasons
    }
    residuals = steps.ms / fitted - 1
    spread = robust_scale(residuals)
    typical = np.abs(residuals) <= CUTOFF * spread
    return PhaseModel(
        config=config, status="ok" if len(told) == 4 else "partial" if told else "undetermined",
        reason="; ".join(sentences) or None, steps=len(steps.ms), outliers=int((~typical).sum()), **told,
        condition=float(indices.max()), r2=explained(steps.ms[typical], fitted[typical]), r2_all=explained(steps.ms, fitted),
        spread=spread, time_spans=steps.time_spans, curve=every[0], replicates=every[1:],
        ranges=tuple(
            (int(column.min()), int(column.max())) if is_known else None
            for column, is_known in zip(steps.work.T, known, strict=True)
        ),
    )  # fmt: skip


def predicted_ms(curve: "Floats", work: "Floats") -> Any:
    """Time in ms of steps (steps, 3) by a curve (4,); KV tokens that nobody says count as none. Never below a nanosecond."""
    import numpy as np

    return np.maximum(curve[0] + np.nan_to_num(work) @ curve[1:], 1e-6)


def refused(steps: PhaseSteps) -> tuple[str, str] | None:
    """The status and reason of steps that cannot be asked by phase."""
    n = len(steps.ms)
    if steps.sampled:
        return "sampled", "a sampled capture left steps out. Capture every step with DYN_FPM_MODE=full"
    if n == 0:
        return "no-phases", "no step that is kept says its prefill tokens and its decoding requests"
    if len(steps.time_spans) > 1:
        return "several-spans", f"the times span different things: {', '.join(sorted(steps.time_spans))}"
    if n < LEAST_STEPS:
        return "too-few-steps", f"{counted(n, 'step', 'is', 'are')} too few, it takes {LEAST_STEPS}"
    return None


def _fit(columns: "Floats", ms: "Floats") -> "tuple[Floats, Floats, Floats]":
    """Coefficients (1 + STRETCHES, columns), first of all steps; the weighted products of columns; fitted times (steps,)."""
    import numpy as np

    unit, size = float(np.median(ms)), columns.max(axis=0)
    x, y = columns / size, np.minimum(ms / unit, LARGEST_RATIO)
    cuts = np.arange(STRETCHES) * len(y) // STRETCHES
    relative = np.clip(y, LEAST_TIME, 1 / LEAST_TIME)
    best = np.zeros(len(size))
    for _ in range(30):  # least absolute relative errors
        of_step = 1 / np.maximum(np.abs(1 - x @ best / relative), 1e-4) / relative**2
        best = _solve(x.T @ (x * of_step[:, None]), x.T @ (of_step * y))

    def products_about(best: "Floats") -> "tuple[Floats, Floats]":
        fitted = np.maximum(x @ best, LEAST_TIME)
        target = fitted * (1 + pseudo_values(y / fitted - 1))
        scaled = x / fitted[:, None]
        products = np.stack([part.T @ part for part in np.split(scaled, cuts[1:])])
        return products, np.add.reduceat(scaled * (target / fitted)[:, None], cuts)

    products, right = products_about(best)
    for _ in range(ROUNDS - 1):
        products, right = products_about(_solve(products.sum(0), right.sum(0)))
    best = _solve(products.sum(0), right.sum(0))
    without = [_solve(products.sum(0) - out, right.sum(0) - gone) for out, gone in zip(products, right, strict=True)]
    fitted = np.maximum(x @ best, LEAST_TIME) * unit
    return np.vstack([best, *without]) * unit / size, products.sum(0), fitted


def _solve(left: "Floats", right: "Floats") -> "Floats":
    """Normal equations; what a column shares with the constant is the constant's."""
    import numpy as np

    size = np.sqrt(np.maximum(np.diagonal(left), 1e-300))
    scaled = left / np.outer(size, size) + np.diag([0.0] + [1e-11] * (len(left) - 1))
    found: Floats = np.linalg.solve(scaled, right / size) / size
    return found


def _dependencies(gram: "Floats") -> "tuple[Floats, Floats]":
    """Condition indices, and of each coefficient the share of its variance that comes from indices above LARGEST_INDEX."""
    import numpy as np

    size = np.sqrt(np.diagonal(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    values = np.maximum(values, 1e-14)
    indices = np.sqrt(values.max() / values)
    variance = vectors**2 / values
    return indices, variance[:, indices > LARGEST_INDEX].sum(axis=1) / variance.sum(axis=1)


def _without_spread(steps: PhaseSteps, known: Any, varies: Any) -> Iterator[tuple[int, str | None]]:
    for place, name in enumerate(WORK.values(), start=1):
        value = float(steps.work[0, place - 1])
        if not known[place - 1]:
            yield place, f"{name} are not recorded"
        elif not varies[place - 1]:
            yield place, f"every step has {value:.0f} {name}"
            if value > 0:
                yield 0, f"the floor holds what {value:.0f} {name} cost"


def _untold(steps: PhaseSteps, estimates: Sequence[FittedParameter], used: Any) -> Iterator[tuple[int, str]]:
    """Places whose interval is too wide, or below 0."""
    import numpy as np

    median = float(np.median(steps.ms))
    for place in map(int, used):
        column, scale = (steps.work[:, place - 1], 1e-3) if place else (np.ones(1), 1.0)
        reach = scale * float(np.quantile(column, 0.99) - column.min() if place else 1.0)
        reach = reach or scale * float(np.ptp(column))
        half = reach * (estimates[place].high - estimates[place].low) / 2
        if half > FLAT * median:
            yield place, f"the interval of {NAMES[place]} leaves open ±{percent(half / median, 0)} of a median step"
        elif estimates[place].high < 0:
            yield place, f"the time falls as {NAMES[place]} grow" if place else "the floor is below 0"
