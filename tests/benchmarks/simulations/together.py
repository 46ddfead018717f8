"""The mean of cases whose sides come from the same run: how often its interval misses the truth, and what it finds."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from bench import sql

from ...builders import Builder
from ..figures import Figures

TRIALS = 2000
ASSUMED = 0.078  # half of the 95 % interval of a case with one run, as `_assumed_reach` has it
# How far the ratio of two backends of one night is from that of the next, of 145 models on public dashboards: see `_assumed_reach`
QUANTILES = [0, 0.5, 0.75, 0.9, 0.95, 0.98, 1], [0, 0.003, 0.013, 0.043, 0.092, 0.149, 0.3]
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Numbers]


def _public(rng: np.random.Generator, size: tuple[int, int]) -> Numbers:
    drawn: Numbers = np.interp(rng.random(size), *QUANTILES) * rng.choice([-1.0, 1.0], size)
    return drawn


def _heavy(rng: np.random.Generator, size: tuple[int, int], shared: float = 0.0) -> Numbers:
    return rng.standard_t(2, size) * ASSUMED / 4.3 + rng.normal(0, 1, (size[0], 1)) * shared


# World: errors of cases; and the most of the intervals that may miss the truth, in %.
WORLDS: dict[str, tuple[Draw, float]] = {
    "public nights": (_public, 5),
    "t with 2 degrees": (_heavy, 5),
    "one side favoured by 1 %": (partial(_heavy, shared=0.01), 5),
    "one side favoured by 1.5 %": (partial(_heavy, shared=0.015), 7.5),
}
CASES = (2, 3, 5, 8, 12, 20, 50)


def measure(figures: Figures) -> None:
    """The share of means that exclude the truth, in the worst number of cases; and of 12 cases 7 % apart, how many are told."""
    for seed, (world, (draw, most)) in enumerate(WORLDS.items()):
        rng = np.random.default_rng(seed)
        missed = {cases: _excluded(draw(rng, (TRIALS, cases))) for cases in CASES}
        cases = max(missed, key=missed.__getitem__)
        figures.add(f"means together, {world}: missed, worst at {cases} cases", missed[cases], "%", most=most)
    rng = np.random.default_rng(99)
    found = _excluded(0.0677 + rng.normal(0, 0.02, (TRIALS, 12)))
    figures.add("means together, 12 cases 7 % apart: not told", 100 - found, "%", most=5)


def _excluded(effects: Numbers) -> float:
    """The percentage of trials, a row of cases each, whose interval excludes no change."""
    trials, cases = effects.shape
    logs = effects.ravel()
    rows = {
        "metric": ["latency"] * logs.size, "phase": ["steady"] * logs.size, "unit": ["ns"] * logs.size,
        "better": ["lower"] * logs.size, "suite": np.repeat(np.arange(trials), cases).astype(str), "backend": ["x"] * logs.size,
        "ratio": np.exp(logs), "low": np.exp(logs - ASSUMED), "high": np.exp(logs + ASSUMED), "verdict": ["UNSURE"] * logs.size,
        "name": ["m"] * logs.size, "parameters": ["{}"] * logs.size, "is_of_same_runs": [True] * logs.size,
    }  # fmt: skip
    builder = Builder()
    builder.connection.register("headline_rows", pa.table(rows))
    ((excluded,),) = builder.rows(
        f"SELECT 100 * avg((NOT 1 BETWEEN low AND high)::DOUBLE) FROM ({sql.view('comparison_means').last_select})"
    )
    return float(excluded)
