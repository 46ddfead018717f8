"""Two scheduler settings of which one has another token budget: what is called slower or faster, and what is missed.

A step takes a base of 4 ms and so many µs a token, varied by 5 % from step to step and by 2 % from run to run; a tenth of the runs has
a bad night, 10 % slower. Tokens are exponential, and cut at the budget: many steps have exactly as many. A change multiplies both
parts of the cost, as another kernel or machine does.
"""

import numpy as np

from ...builders import Builder, run, steps
from ..figures import Figures

WORLDS, RUNS, STEPS = 20, 3, 800
BASE_MS, TOKEN_MS, MEAN_TOKENS = 4.0, 0.02, 700
FALSE = 2.0  # %, of bins that are equal, or missed though they are twice as slow
MISSED = {2048: 20.0, 1024: 60.0, 1400: 20.0, 1800: 30.0}  # %, of bins that are 25 % slower
LEAST = 512  # tokens of the smallest bin that counts


def measure(figures: Figures) -> None:
    """Of equal costs the share of bins that are called changed, of other costs the share that is missed."""
    for budget in (2048, 1024, 1400, 1800):
        for change in (0.0, 0.25, 1.0):
            bins = [verdict for seed in range(WORLDS) for verdict in _verdicts(seed, budget, 1 + change)]
            called = 100 * float(np.mean([verdict in ("SLOWER", "FASTER") for verdict in bins]))
            told = f"{change:.0%} slower: bins missed" if change else "equal costs: bins called changed"
            name = f"budgets 2048 and {budget}, {told}"
            figures.add(name, 100 - called if change else called, "%", most=MISSED[budget] if change == 0.25 else FALSE)


def _verdicts(seed: int, budget: int, factor: float) -> list[str]:
    """Those of the bins that both settings have."""
    rng, builder = np.random.default_rng(seed), Builder()
    for config, most, cost in (("A", 2048, 1.0), ("B", budget, factor)):
        for number in range(RUNS):
            run_id = f"{config}{number}"
            builder.add(run(run_id, config, host="h", started_at=number))
            tokens = np.minimum(rng.exponential(MEAN_TOKENS, STEPS).astype(int) + 1, most)
            night = cost * np.exp(0.02 * rng.normal()) * (1.1 if rng.random() < 0.1 else 1)
            times = (BASE_MS + TOKEN_MS * tokens) * night * np.exp(0.05 * rng.normal(size=STEPS))
            builder.add(*steps(run_id, tokens, times))
    sides = ", ".join(str([f"{config}{number}" for number in range(RUNS)]) for config in "AB")
    query = f"""
        SELECT verdict FROM comparisons({sides})
        WHERE metric = 'model_run' AND base_value IS NOT NULL AND candidate_value IS NOT NULL
            AND parameters ->> 'tokens' IN ('{LEAST}–{2 * LEAST - 1}', '{2 * LEAST}–{4 * LEAST - 1}', '{4 * LEAST}–{8 * LEAST - 1}')
    """
    return [verdict for (verdict,) in builder.rows(query)]
