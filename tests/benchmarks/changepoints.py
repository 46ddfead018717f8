"""How soon change points are found in long series, and how often wrongly, beside E-divisive with 199 permutations."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.query.change.changepoints import SIGNIFICANCE, change_points
from numpy.typing import NDArray

from .figures import Figures

LONG = 10_000
SHUFFLES = 199
NOISE = 0.015  # of a run
BAD = 0.03  # of all runs meet a bad machine, which is 10 to 50 % slower
RUNS, CHANGED = 60, 50  # a series, and the first run that is slower
SERIES = 400

Floats = NDArray[np.float64]


def measure(figures: Figures) -> None:
    """Long series, quiet ones, and those of a benchmark that runs every night."""
    rng = np.random.default_rng(2026)
    steps = rng.standard_normal(LONG) + np.repeat(rng.normal(0, 5, 100), LONG // 100)
    peer = _seconds(_e_divisive, steps[:500])
    figures.add(
        "500 values, 4 steps", _seconds(change_points, steps[:500].tolist()), "s", reference=peer, ratio_least=3,
        against="E-divisive, one test",
    )  # fmt: skip
    for name, values in (("100 steps", steps), ("a random walk", np.cumsum(rng.standard_normal(LONG)))):
        figures.add(
            f"10,000 values, {name}", _seconds(change_points, values.tolist()), "s", reference=peer, most=5,
            against="E-divisive of 500, one test",
        )  # fmt: skip

    quiet = [_nightly(rng, 1.0) for _ in range(SERIES)]
    slower = [_nightly(rng, 1.05) for _ in range(SERIES)]
    ours, peer = (1e3 * sum(_seconds(work, values) for values in quiet) / SERIES for work in (_finds, _e_divisive))
    figures.add("60 quiet nightly runs", ours, "ms", reference=peer, ratio_least=3, against="E-divisive, one test")
    for name, series, found, most in (("false alarms", quiet, True, 5.0), ("missed at +5 %", slower, False, None)):
        share, peers = (
            100 * float(np.mean([finds(values) is found for values in series]))
            for finds in (_finds, lambda values: _e_divisive(values) <= SIGNIFICANCE)
        )
        figures.add(f"60 nightly runs: {name}", share, "%", reference=peers, most=most, against="E-divisive, one test")


def _seconds(work: Callable[[Any], object], values: object) -> float:
    start = time.process_time()  # others may be at work
    work(values)
    return time.process_time() - start


def _nightly(rng: np.random.Generator, factor: float) -> Floats:
    bad = np.where(rng.random(RUNS) < BAD, 1 + rng.uniform(0.1, 0.5, RUNS), 1)
    return np.asarray(np.exp(NOISE * rng.standard_normal(RUNS)) * bad * np.where(np.arange(RUNS) < CHANGED, 1, factor))


def _finds(values: Floats) -> bool:
    return any(change.kind != "spike" for change in change_points(list(values)))


def _e_divisive(values: Floats) -> float:
    """p of the first division of E-divisive with alpha = 1 (Matteson and James, JASA 109, 2014)."""
    rng = np.random.default_rng(0)
    distances = np.abs(values[:, np.newaxis] - values)
    observed = _energy(distances)
    orders = (rng.permutation(len(values)) for _ in range(SHUFFLES))
    beyond = sum(_energy(distances[np.ix_(order, order)]) >= observed for order in orders)
    return (1 + beyond) / (1 + SHUFFLES)


def _energy(distances: Floats) -> float:
    """The largest scaled energy distance between what comes before a place and what comes after it."""
    n = len(distances)
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    before = np.arange(3, n - 2)
    after = n - before
    first = sums[before - 1, before - 1]
    across = sums[before - 1, n - 1] - first
    last = sums[n - 1, n - 1] - first - 2 * across
    apart = 2 * across / (before * after) - first / (before * (before - 1)) - last / (after * (after - 1))
    return float((before * after / n * apart).max())
