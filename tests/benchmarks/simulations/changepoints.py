"""Change points: how soon they are found, how often rightly, and how often wrongly; beside E-divisive with 199 permutations.

The worlds are not those the method assumes: noise that wanders, heavy tails, noise that grows within a series, machines that
are slow now and then, modes that hold for a while, holes of any length, and levels that alternate.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bench.query.change.changepoints import SIGNIFICANCE, change_points, examine
from bench.query.change.levels import ChangePoint
from numpy.typing import NDArray

from ..figures import Figures

LONG = 10_000
SHUFFLES = 199
NOISE = 0.015  # of a run
BAD = 0.03  # of all runs meet a bad machine, which is 10 to 50 % slower
RUNS, CHANGED = 60, 50  # a series, and the first run that is slower
SERIES = 400
POINTS = 100  # a series in which nothing changes
HOLES = (1, 2, 3, 4, 8)  # runs
CHANGES = {"iid": 0.5, "AR 0.5": 1.5, "AR 0.8": 4.0}  # at most, in 1,000 values

Floats = NDArray[np.float64]


def measure(figures: Figures) -> None:
    """Cost, false changes, holes, dates and levels."""
    rng = np.random.default_rng(2026)
    _long_series(figures, rng)
    _stores(figures, rng)
    for name, world in _quiet_worlds(rng):
        found = _changes([world() for _ in range(SERIES)])
        for kinds, what in ((("step", "drift"), "steps and drifts"), (("excursion",), "excursions")):
            count = sum(change.kind in kinds for changes in found for change in changes)
            most = CHANGES[name] / 2 if name in CHANGES else None  # half of the bar each
            figures.add(f"{name}: {what} in 1,000 runs", 1e3 * count / SERIES / POINTS, "", most=most)
    for sigmas, least in ((5, 90.0), (10, 99.0)):
        shares = [_holes_found(rng, runs, sigmas) for runs in HOLES]
        for runs, share in zip(HOLES, shares, strict=True):
            figures.add(f"hole of {runs} at {sigmas} sigma: not found exactly", 100 - share, "%")
        figures.add(f"holes at {sigmas} sigma: not found exactly", 100 - float(np.mean(shares)), "%", most=100 - least)
    for before, after in ((20, 20), (40, 10), (100, 15)):
        stepped = _changes(
            [_noise(rng, before + after) + 5 * (np.arange(before + after) >= before) for _ in range(SERIES)]
        )
        missed = sum([c.index for c in changes if c.kind == "step"] != [before] for changes in stepped)
        figures.add(f"step of 5 sigma, {before} + {after} runs: another date", 100 * missed / SERIES, "%", most=5)
    walks = [100 * np.exp(np.cumsum(0.01 * _noise(rng, POINTS))) for _ in range(SERIES)]
    weekly = [100 * (1 + 0.01 * _noise(rng, POINTS)) * np.where(np.arange(POINTS) % 7, 1, 1.1) for _ in range(SERIES)]
    for name, series, height in (("15 % in a walk of 1 %", walks, 1.15), ("5 % in a rhythm of 10 %", weekly, 1.05)):
        stepped = _changes([values * np.where(np.arange(POINTS) < CHANGED, 1, height) for values in series])
        missed = sum([c.index for c in changes if c.kind == "step"] != [CHANGED] for changes in stepped)
        figures.add(f"step of {name}: another date, or others", 100 * missed / SERIES, "%", most=10)
    missed = sum(not _alternation_found(rng) for _ in range(100))
    figures.add("nine stretches of two levels: some change not within 2 runs", missed, "%", most=1)
    for chance in (0.05, 0.1, 0.2):
        found = _changes(
            [_noise(rng, POINTS) + 6 * (np.cumsum(rng.random(POINTS) < chance) % 2) for _ in range(SERIES)]
        )
        steps = sum(change.kind == "step" for changes in found for change in changes)
        figures.add(
            f"two modes, left with a chance of {chance}: steps in 1,000 runs", 1e3 * steps / SERIES / POINTS, ""
        )
        said = sum(any(change.kind == "two levels" for change in changes) for changes in found)
        figures.add(f"two modes, left with a chance of {chance}: not said", 100 - 100 * said / SERIES, "%")


def _long_series(figures: Figures, rng: np.random.Generator) -> None:
    """Long series, quiet ones, and those of a benchmark that runs every night."""
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


def _stores(figures: Figures, rng: np.random.Generator) -> None:
    """All series of a store, and those that wander."""
    quiet = [_nightly(rng, 1.0 + 0.2 * (place % 3 == 0), 115) for place in range(2600)]
    wandering = [100 * np.exp(np.cumsum(0.01 * _noise(rng, 200))) for _ in range(100)]
    wandering += [
        100 + 5 * np.sin(np.arange(200) / rng.uniform(8, 30)) + 0.05 * np.arange(200) + _noise(rng, 200)
        for _ in range(100)
    ]
    wandering += [
        100 + np.repeat(6.0 * (np.arange(10) % 2), rng.integers(20, 61, 10))[:200] + _noise(rng, 200)
        for _ in range(100)
    ]
    peer = _seconds(_e_divisive, quiet[0])
    for name, series, most in (
        ("2,600 series of 115 runs", quiet, 10.0),
        ("300 wandering series of 200", wandering, 6.0),
    ):
        cost = _seconds(_changes, series)
        figures.add(name, cost, "s", reference=len(series) * peer, most=most, against="E-divisive of 115, one test")


def _noise(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_normal(n)


def _quiet_worlds(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Floats]]]:
    """Worlds in which nothing changes."""
    yield "iid", lambda: 100 + _noise(rng, POINTS)
    for rho in (0.5, 0.8):
        yield f"AR {rho}", lambda rho=rho: 100 + _autoregressive(rng, rho)  # type: ignore[misc]
    yield "random walk", lambda: 100 * np.exp(np.cumsum(0.01 * _noise(rng, POINTS)))
    yield "Student's t, 3 degrees", lambda: 100 + rng.standard_t(3, POINTS)
    yield "Cauchy", lambda: 100 + rng.standard_cauchy(POINTS)
    yield "lognormal", lambda: rng.lognormal(0, 1, POINTS)
    yield "noise that triples halfway", lambda: 100 + _noise(rng, POINTS) * np.repeat([1, 3], POINTS // 2)
    yield "3 % bad machines", lambda: _nightly(rng, 1.0, POINTS)


def _autoregressive(rng: np.random.Generator, rho: float) -> Floats:
    values = _noise(rng, 2 * POINTS)
    for i in range(1, len(values)):
        values[i] += rho * values[i - 1]
    return np.asarray(values[POINTS:] * np.sqrt(1 - rho**2))


def _changes(series: list[Floats]) -> list[list[ChangePoint]]:
    return [one.changes() for one in examine([values.tolist() for values in series])]


def _holes_found(rng: np.random.Generator, runs: int, sigmas: float) -> float:
    """Percent of holes between twenty runs on either side that are found with both ends."""
    hole = np.repeat([0.0, 1.0, 0.0], [20, runs, 20])
    found = _changes([100 + _noise(rng, 40 + runs) - sigmas * hole for _ in range(SERIES)])
    exact = [any((c.kind, c.index, c.end) == ("excursion", 20, 19 + runs) for c in changes) for changes in found]
    return 100 * float(np.mean(exact))


def _alternation_found(rng: np.random.Generator) -> bool:
    """Whether all eight changes between nine stretches of 18 to 60 runs, six sigma apart, are found within 2 runs."""
    sizes = rng.integers(18, 61, 9)
    (found,) = _changes([np.repeat(6.0 * (np.arange(9) % 2), sizes) + _noise(rng, sizes.sum())])
    steps = [change.index for change in found if change.kind == "step"]
    return all(any(abs(step - start) <= 2 for step in steps) for start in np.cumsum(sizes)[:-1])


def _seconds(work: Callable[[Any], object], values: object) -> float:
    start = time.process_time()  # others may be at work
    work(values)
    return time.process_time() - start


def _nightly(rng: np.random.Generator, factor: float, runs: int = RUNS) -> Floats:
    bad = np.where(rng.random(runs) < BAD, 1 + rng.uniform(0.1, 0.5, runs), 1)
    return np.asarray(np.exp(NOISE * rng.standard_normal(runs)) * bad * np.where(np.arange(runs) < CHANGED, 1, factor))


def _finds(values: Floats) -> bool:
    return any(change.kind in ("step", "drift") for change in change_points(list(values)))


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
