"""History's own search beside a kept method: least squares with a penalty for each change, as PELT finds, and a permutation test.

PELT (Killick, Fearnhead and Eckley, JASA 107, 2012) finds the cheapest of all partitions; here all are tried, with the penalty
3 ln n of a scaled series. Changes that a permutation test finds no surer than 0.002 are left out, the least sure first.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
from bench.query.change.changepoints import examine
from numpy.typing import NDArray

from ..figures import Figures

RUNS, SERIES, SHUFFLES = 100, 40, 999
LEAST, MARGIN = 3, 5  # runs of a level; runs by which a change may be dated wrongly
HEIGHT = 4.0  # of a step, in standard deviations
P = 0.002  # 0.02, of ten changes that a series may have
AGAINST = "least squares, permutation test"

Floats = NDArray[np.float64]


def measure(figures: Figures) -> None:
    """False changes in quiet series, the F-measure in series of one to three steps, and the cost, world by world."""
    rng = np.random.default_rng(40)
    spent = np.zeros(2)
    for name, world in _worlds(rng).items():
        quiet = [world() for _ in range(SERIES)]
        truths = [
            sorted(11 * int(place) for place in rng.choice(np.arange(1, 9), rng.integers(1, 4), replace=False))
            for _ in range(SERIES)
        ]
        stepped = [np.add(world(), _steps(rng, truth)) for truth in truths]
        false, score = [], []
        for place, search in enumerate((_ours, _kept)):
            start = time.process_time()
            found, missed = search(quiet), search(stepped)
            spent[place] += time.process_time() - start
            false.append(1e3 * sum(map(len, found)) / SERIES / RUNS)
            score.append(100 * float(np.mean([_f_measure(*pair) for pair in zip(truths, missed, strict=True)])))
        figures.add(f"{name}: changes in 1,000 quiet runs", false[0], "", reference=false[1], against=AGAINST)
        figures.add(f"{name}: F-measure missed", 100 - score[0], "%", reference=100 - score[1], against=AGAINST)
    ours, kept = 1e3 * spent / (2 * SERIES * len(_worlds(rng)))
    figures.add("a series of 100 runs", ours, "ms", reference=kept, against=AGAINST)


def _worlds(rng: np.random.Generator) -> dict[str, Callable[[], Floats]]:
    def autoregressive(rho: float) -> Floats:
        values = rng.standard_normal(2 * RUNS)
        for i in range(1, len(values)):
            values[i] += rho * values[i - 1]
        return np.asarray(100 + values[RUNS:] * np.sqrt(1 - rho**2))

    def nightly() -> Floats:
        bad = np.where(rng.random(RUNS) < 0.03, 1 + rng.uniform(0.1, 0.5, RUNS), 1)
        return np.asarray(100 * np.exp(0.0125 * rng.standard_normal(RUNS)) * bad)

    return {
        "iid": lambda: 100 + rng.standard_normal(RUNS),
        "AR 0.5": lambda: autoregressive(0.5),
        "AR 0.8": lambda: autoregressive(0.8),
        "Student's t, 3 degrees": lambda: 100 + rng.standard_t(3, RUNS),
        "noise that triples halfway": lambda: 100 + rng.standard_normal(RUNS) * np.repeat([1, 3], RUNS // 2),
        "3 % bad machines": nightly,
        "random walk": lambda: np.asarray(100 * np.exp(np.cumsum(0.01 * rng.standard_normal(RUNS)))),
        "rhythm of 7": lambda: 100 + rng.standard_normal(RUNS) + 10 * (np.arange(RUNS) % 7 == 0),
    }


def _steps(rng: np.random.Generator, places: Sequence[int]) -> Floats:
    heights = HEIGHT * rng.choice([-1.0, 1.0], len(places))
    after = np.arange(RUNS) >= np.array(places)[:, np.newaxis]
    return np.asarray(heights @ after, dtype=np.float64)


def _ours(series: Sequence[Floats]) -> list[list[int]]:
    found = [one.changes() for one in examine([values.tolist() for values in series])]
    return [[change.index for change in changes if change.kind in ("step", "drift")] for changes in found]


def _kept(series: Sequence[Floats]) -> list[list[int]]:
    return [_sure(values, _partition(values)) for values in series]


def _partition(values: Floats) -> list[int]:
    """Where the cheapest partition divides a series, which is scaled by its differences from run to run."""
    apart = np.diff(values)
    scaled = (values - np.median(values)) / (np.median(np.abs(apart - np.median(apart))) * 1.4826 / np.sqrt(2))
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (scaled, scaled**2))
    penalty = 3 * np.log(len(scaled))
    cheapest, before = np.full(len(scaled) + 1, np.inf), np.zeros(len(scaled) + 1, dtype=int)
    cheapest[0] = -penalty
    for end in range(LEAST, len(scaled) + 1):
        starts = np.arange(end - LEAST + 1)
        cost = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        total = cheapest[starts] + cost + penalty
        before[end] = int(total.argmin())
        cheapest[end] = total[before[end]]
    places, end = [], len(scaled)
    while before[end]:
        end = int(before[end])
        places.append(end)
    return places[::-1]


def _sure(values: Floats, places: list[int]) -> list[int]:
    while places:
        ends = [0, *places, len(values)]
        p = [_p(values[a:b], values[b:c]) for a, b, c in zip(ends, ends[1:], ends[2:], strict=False)]
        if max(p) <= P:
            break
        del places[int(np.argmax(p))]
    return places


def _p(before: Floats, after: Floats) -> float:
    """Of the difference of two means, by permutations."""
    both = np.concatenate([before, after])
    shuffled = both[np.argsort(np.random.default_rng(0).random((SHUFFLES, len(both))), axis=1)]
    apart = np.abs(shuffled[:, : len(before)].mean(axis=1) - shuffled[:, len(before) :].mean(axis=1))
    return float((1 + (apart >= abs(before.mean() - after.mean()) - 1e-12).sum()) / (1 + SHUFFLES))


def _f_measure(truth: Sequence[int], found: Sequence[int]) -> float:
    """Of van den Burg and Williams: the first run counts as a change of both."""
    left, right = {0, *found}, 0
    most = len(left)
    for place in sorted({0, *truth}):
        if near := [one for one in left if abs(one - place) <= MARGIN]:
            left.remove(min(near, key=lambda one: abs(one - place)))
            right += 1
    return 2 * right / (most + len(truth) + 1)
