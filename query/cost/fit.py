"""The fit of the cost of a scheduler step: robust least squares over a bent line, with intervals from stretches of time.

    ms = base + slope · bend(tokens) + request · requests        bend = (tokens^(1/s) + knee^(1/s))^s

`bend` is the knee below the knee and the tokens above it; s, the softness, says how gently one becomes the other: 0 is the
plain maximum of a roofline (Williams, Waterman and Patterson, Communications of the ACM 52, 2009), where reading the
weights hides all computing or the other way round, and 1/2 a hyperbola. Given knee and softness the rest is linear, so both
are searched for (variable projection) over sums of the steps by tokens, which makes the search independent of their number:
all 63 fits to 100,000 steps take 0.3 s, where scipy's `least_squares` takes 13 s for the 21 of one shape.

Errors count relative to the fitted time, and by Tukey's bisquare: steps beyond 4.685 robust standard deviations have no
say. Their residuals become pseudo-values, ψ(r) divided by the mean of ψ', so that least squares over these is the
M-estimate and has its variance (Huber, Robust Statistics, 7.6).

Neighbouring steps resemble each other, so the unit of evidence is a stretch: the steps in order of time are cut into 20.
Each is left out once; the spread of the 20 fits is the standard error (the delete-a-group jackknife; Künsch, Annals of
Statistics 17, 1989), and how well each predicts the stretch it did not see decides whether a bend is there at all.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STRETCHES = 20
LEAST_STEPS = 10 * STRETCHES
T975 = 2.0930  # quantile of Student's t, STRETCHES - 1 degrees of freedom
CUTOFF = 4.685  # robust standard deviations; 95 % efficient where errors are normal
SOFTEST = 0.5  # softer than a hyperbola cannot be told from a line with another base
LEAST_TIME = 1e-3  # of the median, that a fitted time may be, as errors count relative to it
NEGLIGIBLE = 1e-12  # squared relative error of a step that is rounding, not evidence
ROUNDS = 6  # of robust reweighting
BASE, SLOPE, KNEE, SOFTNESS, REQUEST = range(5)  # columns of an array of coefficients: ms, ms, tokens, 1, ms


def bend(tokens: Any, knee: Any, softness: Any) -> Any:
    """The bent line, in tokens: arrays or numbers that broadcast; a knee of 0 leaves the tokens as they are."""
    import numpy as np

    soft = np.maximum(softness, 1e-6)  # 0 stands for the limit
    with np.errstate(divide="ignore"):  # of the logarithm of a knee of 0
        return np.exp(soft * np.logaddexp(np.log(tokens) / soft, np.log(knee) / soft))


def run_ms(coefficients: "Floats | tuple[float, ...]", tokens: Any, batch_size: Any) -> Any:
    """The fitted time in ms; coefficients as (5,) or (5, n) against tokens and requests as (n,)."""
    base, slope, knee, softness, request = coefficients
    return base + slope * bend(tokens, knee, softness) + request * batch_size


@dataclass(frozen=True, slots=True)
class StepFit:
    """The fit of one config's steps. `kind` is 'bent', 'straight' or 'flat'."""

    kind: str
    coefficients: "Floats"  # (5,)
    replicates: "Floats"  # (STRETCHES, 5): fitted without each stretch
    growth: "Floats"  # (2,) 95 % interval of the slope if a straight line is laid through all steps, ms a token
    separable: bool  # whether requests vary apart from tokens
    spread: float  # robust standard deviation of the relative residuals
    ms: "Floats"  # (steps,) fitted times


def fit_steps(tokens: "Floats", batch_size: "Floats", ms: "Floats") -> StepFit:
    """Fit one config.

    Args:
        tokens: Tokens of each step, above 0, at least two values; steps in order of time, LEAST_STEPS or more.
        batch_size: Requests of each step.
        ms: Time of each step, between 1e-100 and 1e100: squares of ratios must be numbers.
    """
    import numpy as np

    unit = float(np.median(ms))
    ms = ms / unit
    values, value_of = np.unique(tokens, return_inverse=True)
    _, bin_of = np.unique(_bins(values), return_inverse=True)
    cell = bin_of[value_of] * STRETCHES + np.arange(len(ms)) * STRETCHES // len(ms)
    size = (bin_of.max() + 1, STRETCHES)
    bin_tokens = np.bincount(bin_of[value_of], tokens) / np.bincount(bin_of[value_of])
    low, high = np.partition(tokens, (STRETCHES, -STRETCHES - 1))[[STRETCHES, -STRETCHES - 1]]  # where a knee may lie
    request = "b" if batch_size.min() < batch_size.max() else ""  # else what requests cost is part of the base

    def at(coefficients: "Floats") -> "Floats":
        """Fitted times, far from 0; the powers are taken once for each number of tokens."""
        fitted: Floats = run_ms(coefficients, values, 0.0)[value_of] + coefficients[REQUEST] * batch_size
        return np.maximum(fitted, LEAST_TIME)

    def sums_about(coefficients: "Floats") -> "Floats":
        fitted = at(coefficients)
        return _sums(cell, size, 1 / fitted**2, batch_size, fitted * (1 + pseudo_values(ms / fitted - 1)))

    sums = sums_about(_search(*_medians(tokens, batch_size, ms), low, high, request)[0])
    for _ in range(ROUNDS - 1):
        sums = sums_about(_search(bin_tokens, sums.sum(-1, keepdims=True), low, high, request)[0])
    all_but = np.concatenate([sums.sum(-1, keepdims=True), sums.sum(-1, keepdims=True) - sums], axis=-1)
    separable = _separable(tokens, batch_size)
    straight = _lines(bin_tokens, all_but, "gb" if separable else "g")
    fits = {
        "flat": _lines(bin_tokens, all_but, request),
        "straight": straight,
        "bent": _search(bin_tokens, all_but, low, high, request),
    }
    kind = _simplest({name: _unseen(fit[1:], bin_tokens, sums) for name, fit in fits.items()}, len(ms))
    fitted = at(fits[kind][0])
    to_ms = np.array([unit, unit, 1, 1, unit])
    growth = straight[0, SLOPE] + T975 * jackknife_error(straight[1:, SLOPE]) * np.array([-1, 1])
    spread = robust_scale(ms / fitted - 1)
    return StepFit(
        kind, fits[kind][0] * to_ms, fits[kind][1:] * to_ms, growth * unit, separable, spread, fitted * unit
    )  # fmt: skip


def jackknife_error(replicates: "Floats") -> Any:
    """Standard error of an estimate from its values without each stretch, along the first axis."""
    import numpy as np

    return np.sqrt((STRETCHES - 1) * np.var(replicates, axis=0))


def _bins(tokens: "Floats") -> "Floats":
    """Numbers of bins: every token count to 64 its own, then 32 to the doubling, about 2 % wide."""
    import numpy as np

    return np.where(tokens <= 64, tokens, 64 + np.floor(32 * np.log2(tokens / 64) + 1))


def _separable(tokens: "Floats", batch_size: "Floats") -> bool:
    """True if the cost of a request can be told from that of a token: not where every request has one token."""
    import numpy as np

    if batch_size.min() == batch_size.max():
        return False
    return bool(np.corrcoef(tokens, batch_size)[0, 1] ** 2 < 1 - 1e-4)


def _medians(tokens: "Floats", batch_size: "Floats", ms: "Floats") -> "tuple[Floats, Floats]":
    """The point where the search begins: medians of 8 or more steps of like tokens. Returns their tokens and sums."""
    import numpy as np

    chunks = min(64, len(tokens) // 8)
    order = np.argsort(tokens, kind="stable")[: len(tokens) // chunks * chunks].reshape(chunks, -1)
    middle = np.maximum(np.median(ms[order], axis=1), LEAST_TIME)
    sums = _sums(np.arange(chunks), (chunks, 1), 1 / middle**2, batch_size[order].mean(1), middle)
    return tokens[order].mean(1), sums


def robust_scale(residuals: "Floats") -> float:
    """Robust standard deviation: the median absolute residual, scaled to the normal."""
    import numpy as np

    return float(max(1.4826 * np.median(np.abs(residuals)), 1e-6))


def pseudo_values(residuals: "Floats") -> "Floats":
    """Pseudo-values that least squares may average in place of relative residuals."""
    import numpy as np

    u = residuals / (CUTOFF * robust_scale(residuals))
    inside = np.maximum(1 - u * u, 0)
    slope = np.where(inside > 0, inside * (1 - 5 * u * u), 0).mean()
    pseudo: Floats = residuals * inside**2 / max(slope, 0.2)
    return pseudo


def _sums(cell: Any, size: tuple[int, int], weight: "Floats", batch: "Floats", ms: "Floats") -> "Floats":
    """Sufficient statistics of the steps for least squares: six sums for each bin of tokens and stretch."""
    import numpy as np

    of = (weight, weight * batch, weight * batch**2, weight * ms, weight * ms * batch, weight * ms * ms)
    return np.array([np.bincount(cell, x, size[0] * size[1]).reshape(size) for x in of], dtype=np.float64)


def _solve(g: "Floats", sums: "Floats", terms: str) -> "tuple[Floats, Floats]":
    """Weighted least squares of ms on 1, g ('g' in terms) and requests ('b' in terms).

    g is (…, fits or 1, bins), sums (6, bins, fits).

    Returns:
        Coefficients (…, fits, 3) of 1, g and requests, and the sum of squared errors (…, fits).
    """
    import numpy as np

    w, wb, wbb, wt, wtb, wtt = sums.transpose(0, 2, 1)
    gw = g * w
    one = np.ones(gw.shape[:-1])
    rows = [
        [w.sum(-1) * one, gw.sum(-1), wb.sum(-1) * one, wt.sum(-1) * one],
        [gw.sum(-1), (g * gw).sum(-1), (g * wb).sum(-1), (g * wt).sum(-1)],
        [wb.sum(-1) * one, (g * wb).sum(-1), wbb.sum(-1) * one, wtb.sum(-1) * one],
    ]
    keep = [i for i, term in enumerate("1gb") if term in "1" + terms]
    left = np.moveaxis(np.array([[rows[i][j] for j in keep] for i in keep]), (0, 1), (-2, -1))
    right = np.moveaxis(np.array([rows[i][3] for i in keep]), 0, -1)
    size = np.sqrt(np.maximum(np.diagonal(left, axis1=-2, axis2=-1), 1e-300))
    scaled = left / (size[..., :, None] * size[..., None, :])
    scaled += np.diag([0.0, 1e-11, 1e-11][: len(keep)])  # what a regressor shares with the base is the base's
    found = np.linalg.solve(scaled, (right / size)[..., None])[..., 0] / size
    coefficients = np.zeros((*one.shape, 3))
    coefficients[..., keep] = found
    return coefficients, wtt.sum(-1) - (found * right).sum(-1)


def _lines(bin_tokens: "Floats", sums: "Floats", terms: str) -> "Floats":
    """Coefficients (fits, 5) without a knee."""
    import numpy as np

    found, _ = _solve(bin_tokens, sums, terms)
    zero = np.zeros(len(found))
    return np.column_stack([found[:, 0], found[:, 1], zero, zero, found[:, 2]])


def _search(bin_tokens: "Floats", sums: "Floats", low: float, high: float, request: str) -> "Floats":
    """Coefficients (fits, 5) with the knee, from low to high tokens, and the softness that fit best.

    A coarse grid for all, then for each fit a grid of seven by seven about its best, finer by half whenever that lies inside.
    """
    import numpy as np

    first, last = np.log([low, high])
    step = np.tile([[(last - first) / 47], [SOFTEST / 5]], sums.shape[-1])
    knee, soft = (x.reshape(-1, 1) for x in np.meshgrid(np.linspace(first, last, 48), np.linspace(0, SOFTEST, 6)))
    offset = np.array([[i, j] for i in range(-3, 4) for j in range(-3, 4)]) / 2
    result = np.empty((0, 5))  # until the first round
    for _ in range(13):
        found, error = _solve(bend(bin_tokens, np.exp(knee)[..., None], soft[..., None]), sums, "g" + request)
        best = error.argmin(0)
        at = np.arange(len(best))
        knee, soft, found = (np.broadcast_to(x, (*error.shape, *x.shape[2:]))[best, at] for x in (knee, soft, found))
        result = np.column_stack([found[:, 0], found[:, 1], np.exp(knee), soft, found[:, 2]])
        if len(error) == len(offset):
            step = np.where(np.abs(offset[best].T) < 1.5, step / 2, step)
        knee = np.clip(knee + offset[:, :1] * step[0], first, last)
        soft = np.clip(soft + offset[:, 1:] * step[1], 0, SOFTEST)
    return result


def _unseen(replicates: "Floats", bin_tokens: "Floats", sums: "Floats") -> "Floats":
    """Squared error of each stretch, predicted by the fit that left it out: (stretches,)."""
    w, wb, wbb, wt, wtb, wtt = sums
    base, slope, knee, softness, request = replicates.T
    at = base + slope * bend(bin_tokens[:, None], knee, softness)
    error: Floats = (wtt - 2 * (at * wt + request * wtb) + at**2 * w + 2 * at * request * wb + request**2 * wbb).sum(0)
    return error


def _simplest(errors: "dict[str, Floats]", steps: int) -> str:
    """The first, simplest kind which no other predicts better beyond doubt; stretches are compared in pairs."""
    import numpy as np

    best = min(errors.values(), key=lambda error: float(error.sum()))
    for kind, error in errors.items():
        worse = error - best
        if worse.mean() <= T975 * np.std(worse, ddof=1) / np.sqrt(STRETCHES) + NEGLIGIBLE * steps / STRETCHES:
            return kind
    raise AssertionError("the best is no worse than itself")
