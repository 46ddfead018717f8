"""Residuals of steps from a fit by phase to other steps, say today's from yesterday's, region by region.

A region is a phase, or a phase and a range of tokens. Its residual is the middle of (time - expected) / expected by Tukey's
bisquare, as the fit's errors count, so hiccups do not move it; a median would move with how many there are. Its interval has two
parts, added as variances: the steps of the region in order of time are cut into 20, and the middles of these blocks scatter
(batch means; Schmeiser, Operations Research 30, 1982); and each of the 20 fits without a stretch of yesterday's steps gives
another middle (jackknife). Fewer than 5 steps to a block give no interval.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .fit import ROUNDS, STRETCHES, T975, jackknife_error, pseudo_values
from .phases import PhaseModel, PhaseSteps, predicted_ms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .fit import Floats

    Mask = NDArray[np.bool_]

PHASES = ("decode-only", "mixed", "prefill-heavy")
LEAST_STEPS = 5 * STRETCHES


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionResidual:
    """One region of the steps of a config, against a fit."""

    config: str
    against: str
    phase: str  # one of PHASES, or all
    low_tokens: int | None  # None: any
    high_tokens: int | None
    steps: int
    outside: int  # of them, with less or more work of a kind than any step of the fit
    median_ms: float
    expected_ms: float  # median of what the fit expects
    residual: float  # robust middle of (time - expected) / expected
    low: float | None
    high: float | None


def residuals_by_region(config: str, steps: PhaseSteps, against: str, model: PhaseModel) -> list[RegionResidual]:
    """Hold steps against a fit.

    Steps are in order of time, one at least, with KV tokens if the fit has them; the model must have a curve.

    Returns:
        A row for all steps, then for each phase that occurs a row for all of it and one for each range of tokens, from 4^n + 1 to
        4^(n + 1).
    """
    import numpy as np

    if model.curve is None or model.replicates is None:
        raise ValueError(f"there is no fit of {against}: {model.reason}")
    expected = predicted_ms(model.curve, steps.work)
    relative = steps.ms / expected - 1
    without = [steps.ms / predicted_ms(curve, steps.work) - 1 for curve in model.replicates]
    outside = np.zeros(len(steps.ms), dtype=bool)
    for column, ends in zip(steps.work.T, model.ranges, strict=True):
        if ends is not None:
            outside |= (column < ends[0]) | (column > ends[1])
    found = []
    for phase, low, high, inside in _regions(steps):
        value = _middle(relative[inside])
        half = _half_width(relative[inside], np.array([_middle(one[inside]) for one in without]))
        interval = (None, None) if half is None else (value - half, value + half)
        found.append(
            RegionResidual(
                config=config, against=against, phase=phase, low_tokens=low, high_tokens=high, steps=int(inside.sum()),
                outside=int(outside[inside].sum()), median_ms=float(np.median(steps.ms[inside])),
                expected_ms=float(np.median(expected[inside])), residual=value, low=interval[0], high=interval[1],
            )
        )  # fmt: skip
    return found


def _regions(steps: PhaseSteps) -> "Iterator[tuple[str, int | None, int | None, Mask]]":
    """Phase, range of tokens, and which steps are in it. Prefill-heavy: more than half of the tokens are prefill."""
    import numpy as np

    prefill, tokens = steps.work[:, 0], steps.tokens
    number = np.where(prefill == 0, 0, np.where(2 * prefill > tokens, 2, 1))
    power = np.maximum(np.ceil(np.log(tokens) / math.log(4) - 1e-12) - 1, 0).astype(int)
    yield "all", None, None, np.ones(len(tokens), dtype=bool)
    for place, phase in enumerate(PHASES):
        inside = number == place
        if inside.any():
            yield phase, None, None, inside
        for n in np.unique(power[inside]):
            yield phase, 4 ** int(n) + 1 if n else 1, 4 ** (int(n) + 1), inside & (power == n)


def _middle(residuals: "Floats") -> float:
    """Location of the residuals by Tukey's bisquare, from their median on."""
    import numpy as np

    middle = float(np.median(residuals))
    for _ in range(ROUNDS):
        middle += float(pseudo_values(residuals - middle).mean())
    return middle


def _half_width(residuals: "Floats", replicates: "Floats") -> float | None:
    import numpy as np

    if len(residuals) < LEAST_STEPS:
        return None
    blocks = [_middle(part) for part in np.array_split(residuals, STRETCHES)]
    error = math.hypot(float(np.std(blocks, ddof=1)) / math.sqrt(STRETCHES), float(jackknife_error(replicates)))
    return T975 * error
