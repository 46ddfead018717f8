"""Unchanged sides: how often `bench why` finds parts of commands and of scheduler steps to differ where nothing does.

Commands are recorded as folded stacks: counts around the same profile, whose sessions are apart as public nights are. Steps are
those of a server of steady load, to which either the same requests come again or others. Lines of functions and operators of
models are measured by the study `why`, for they take real processes.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.query.comparison.sides import Side
from bench.query.why.parts import NOTHING_DIFFERS
from bench.query.why.why import STEP, why

from ...builders import Builder, case, metric, outcome, run, steps
from ..figures import Figures

PAIRS, MOST = 50, 5.0  # percent that may differ
Sides = tuple[Side, Side]
FUNCTIONS, SAMPLES, APART = (
    40,
    3000,
    0.078 / 1.96,
)  # sd of ln(ratio) of two sessions: as is assumed of those of public nights
STEPS, ALIKE = 2000, 0.8


def measure(figures: Figures) -> None:
    """The share of pairs of which anything is said but that nothing differs."""
    worlds: dict[str, Callable[[int], tuple[Any, ...]]] = {
        "commands, recorded once": _recorded,
        "commands, recorded four times": functools.partial(_recorded, times=4),
        "steps of the same requests": functools.partial(_served, is_same_load=True),
        "steps of other requests": _served,
    }
    for name, world in worlds.items():
        told = [NOTHING_DIFFERS not in why(*world(seed)).notes for seed in range(PAIRS)]
        figures.add(f"unchanged {name}: differ", 100 * float(np.mean(told)), "%", most=MOST)


def _recorded(seed: int, times: int = 1) -> tuple[Builder, Sides]:
    """A pair of recordings of a command, whose functions take shares as unequal as in programs."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(FUNCTIONS, 0.3))
    warehouse, sides = Builder(), []
    for name in ("base", "candidate"):
        runs = tuple(f"{name} {number}" for number in range(times))
        sides.append(Side(name, runs))
        for run_id in runs:
            warehouse.add(run(run_id, name, source="folded-stacks"))
            factor = np.exp(rng.normal(0, APART / np.sqrt(2)))
            for number, count in enumerate(rng.poisson(SAMPLES * factor * shares)):
                if count:
                    it = case(f"main (job.py:1);f{number} (job.py:{number + 2})", run=run_id)
                    warehouse.add(it, outcome(it), metric(it, "samples", int(count), unit="count"))
    return warehouse, (sides[0], sides[1])


def _served(seed: int, *, is_same_load: bool = False) -> tuple[Builder, Sides, str]:
    """A pair of logs of one server; neighbouring steps have like tokens, and one in 500 a hiccup."""
    warehouse = Builder()
    for at, name in enumerate(("base", "candidate")):
        load = np.random.default_rng([seed, 0, 0 if is_same_load else at])
        noise = np.random.default_rng([seed, 1, at])
        level = load.normal(size=STEPS)
        for step in range(1, STEPS):
            level[step] = ALIKE * level[step - 1] + np.sqrt(1 - ALIKE**2) * level[step]
        tokens = np.clip(np.round(np.exp(5 + 1.2 * level)), 1, 2048)
        times = (7.2**3 + (0.021 * tokens) ** 3) ** (1 / 3) * np.exp(noise.normal(0, 0.025, STEPS))
        times[noise.random(STEPS) < 1 / 500] += 50
        warehouse.add(run(name), *steps(name, tokens, times))
    return warehouse, (Side("base", ("base",)), Side("candidate", ("candidate",))), STEP
