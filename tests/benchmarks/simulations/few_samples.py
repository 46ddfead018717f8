"""Sides of few samples beside many: what is called changed though nothing changed, and what is missed.

Cases are timed 30 times in each of 5 runs, and so many times by the candidate. A sample varies by 10 %, a run by 2 %, and 3 samples in a
hundred take three times as long. The steps of a scheduler, 5 in a hundred of which are preempted, resemble their neighbours; their
tokens are of any size, so that bins at the end have few.
"""

from collections.abc import Iterator

import numpy as np
from bench.warehouse.console.numbers import counted

from ...builders import Builder, case, run, steps, timing
from ..figures import Figures

WORLDS, CASES, STEPS = 20, 10, 300
FALSE = 2.0  # %
MISSED = 50.0  # %, of cases that are 25 % slower, six samples beside 150


def measure(figures: Figures) -> None:
    """Of equal costs the share that is called changed, of 25 % more the share that is missed."""
    for samples, runs in ((1, 1), (3, 1), (1, 6), (6, 1)):
        found = _called(verdict for seed in range(WORLDS) for verdict in _cases(seed, samples, runs, 1.0))
        figures.add(
            f"equal costs, {counted(runs, 'run')} of {counted(samples, 'sample')}: cases called changed",
            found,
            "%",
            most=FALSE,
        )
    slower = _called(verdict for seed in range(WORLDS) for verdict in _cases(seed, 6, 1, 1.25))
    figures.add("25 % slower, 1 run of 6 samples: cases missed", 100 - slower, "%", most=MISSED)
    for runs in (1, 3):
        found = _called(verdict for seed in range(2 * WORLDS) for verdict in _bins(seed, runs))
        figures.add(f"equal costs, {counted(runs, 'run')} a side: bins of steps called changed", found, "%", most=FALSE)


def _called(verdicts: Iterator[str]) -> float:
    """The share of these that say changed, in percent."""
    return 100 * float(np.mean([verdict in ("SLOWER", "FASTER") for verdict in verdicts]))


def _cases(seed: int, samples: int, runs: int, factor: float) -> list[str]:
    rng, builder = np.random.default_rng(seed), Builder()
    for config, count, times, cost in (("A", 5, 30, 1.0), ("B", runs, samples, factor)):
        for number in range(count):
            run_id = f"{config}{number}"
            builder.add(run(run_id, config, host="h", started_at=number))
            night = cost * np.exp(0.02 * rng.normal())
            for index in range(CASES):
                of = case(f"model{index}", run_id)
                drawn = np.exp(0.1 * rng.normal(size=times)) * np.where(rng.random(times) < 0.03, 3, 1)
                builder.add(of, *(timing(of, int(1e7 * night * x), sample=i) for i, x in enumerate(drawn)))
    return _verdicts(builder, 5, runs, "latency")


def _bins(seed: int, runs: int) -> list[str]:
    rng, builder = np.random.default_rng(seed), Builder()
    for config in "AB":
        for number in range(runs):
            run_id = f"{config}{number}"
            builder.add(run(run_id, config, host="h", started_at=number))
            tokens = np.minimum(rng.lognormal(3.5, 1.3, STEPS).astype(int) + 1, 16384)
            night = np.exp(0.02 * rng.normal()) * (1.1 if rng.random() < 0.1 else 1)
            drift = np.zeros(STEPS)
            for step in range(1, STEPS):
                drift[step] = 0.9 * drift[step - 1] + 0.44 * rng.normal()
            noise = np.exp(0.07 * (rng.normal(size=STEPS) + drift)) * np.where(rng.random(STEPS) < 0.05, 3, 1)
            times = (4 + 0.02 * tokens) * night * noise
            builder.add(*steps(run_id, tokens, times))
    return _verdicts(builder, runs, runs, "model_run")


def _verdicts(builder: Builder, base: int, candidate: int, metric: str) -> list[str]:
    """Those of what both sides have."""
    sides = f"{[f'A{number}' for number in range(base)]}, {[f'B{number}' for number in range(candidate)]}"
    query = f"SELECT verdict FROM comparisons({sides}) WHERE metric = ? AND base_value > 0 AND candidate_value > 0"
    return [verdict for (verdict,) in builder.rows(query, [metric])]
