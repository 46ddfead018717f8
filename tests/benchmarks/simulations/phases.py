"""The cost by phase in simulated servers: how often the intervals miss the truth, and what is refused.

Noise resembles its neighbours' by 0.5, the context grows and shrinks over a thousand steps, and some steps are hiccups.
"""

from dataclasses import replace

import numpy as np
from bench.query.cost.phases import COST_PARAMETERS, WORK, phase_model_of
from bench.query.cost.residuals import residuals_by_region

from ...query.cost.phase_steps import COSTS, phases
from ..figures import Figures

SERVERS = 300
MOST_MISSED = 10.0  # %, of 95 % intervals from 20 stretches of correlated noise
SCALES = (1, 1e3, 1e3, 1e3)  # ms to the unit of each of PARAMETERS


def measure(figures: Figures) -> None:
    """Intervals of the costs, refusals, and intervals of regions where nothing changed."""
    for steps in (500, 1000, 4000):
        models = [phase_model_of("A", phases(steps, seed, hiccups=0.1)) for seed in range(SERVERS)]
        for name, cost, scale in zip(COST_PARAMETERS, COSTS, SCALES, strict=True):
            told = [estimate for model in models if (estimate := getattr(model, name)) is not None]
            missed = [not each.low <= cost * scale <= each.high for each in told]
            figures.add(f"{steps} steps: {name}, truth missed", 100 * float(np.mean(missed)), "%", most=MOST_MISSED)
        refused = [model.status != "ok" for model in models]
        figures.add(f"{steps} steps: something refused", 100 * float(np.mean(refused)), "%", most=5.0)
    for hiccups in (0.0, 0.05):
        missed = [miss for seed in range(SERVERS) for miss in _unchanged(seed, hiccups)]
        name = f"{100 * hiccups:g} % hiccups, nothing changed: a region is said to differ"
        figures.add(name, 100 * float(np.mean(missed)), "%", most=MOST_MISSED)
    for tied in (0.1, 0.01, 0.001):
        shares = [_tied(seed, tied) for seed in range(SERVERS // 3)]
        name = f"KV tokens follow the requests to {100 * tied:g} %"
        figures.add(f"{name}: a cost of them told", 100 * float(np.mean([told for told, _ in shares])), "%")
        figures.add(f"{name}: a told one misses the truth", 100 * float(np.mean([missed for _, missed in shares])), "%")


def _unchanged(seed: int, hiccups: float) -> list[bool]:
    """Of each region with an interval, whether 0 is outside."""
    model = phase_model_of("A", phases(1000, seed, hiccups=hiccups))
    regions = residuals_by_region("A", phases(1000, seed + SERVERS, hiccups=hiccups), "A", model)
    return [not each.low <= 0 <= each.high for each in regions if each.low is not None and each.high is not None]


def _tied(seed: int, share: float) -> tuple[bool, bool]:
    """Context as good as constant: whether the cost of requests or of KV tokens is told, and whether a told one is wrong."""
    steps = phases(1000, seed, hiccups=0.05)
    work = steps.work.copy()
    rng = np.random.default_rng(seed)
    work[:, 2] = (600 * work[:, 1] * (1 + share * rng.normal(size=len(work)))).round()
    ms = steps.ms + (work - steps.work) @ np.array(COSTS[1:])
    model = phase_model_of("A", replace(steps, work=work, ms=ms))
    places = range(len(WORK) - 1, len(COST_PARAMETERS))  # of requests and KV tokens
    told = [(place, estimate) for place in places if (estimate := getattr(model, COST_PARAMETERS[place])) is not None]
    return bool(told), any(not each.low <= COSTS[place] * SCALES[place] <= each.high for place, each in told)
