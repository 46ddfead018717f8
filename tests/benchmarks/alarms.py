"""False alarms and power of the rule of `bench regressions` beside other rules, on the same simulated series.

The noise of a shared machine: samples within a run vary by a half-normal 2 %, runs by 1.5 %, and 3 % of the runs of a
series hit a bad machine that adds 10 to 50 %. A step, where there is one, begins with the newest commit and moves 4 of the
400 series: hardly anything else that would lower the hurdle for them (Benjamini and Hochberg) is real.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from bench.query.regression.regressions import RegressionRule
from scipy import stats

from .figures import Figures

WORLDS, SERIES, COMMITS, SAMPLES, STEPPING = 30, 400, 60, 15, 4
STEPS = (0.0, 0.05, 0.1)
OURS = "bench, one run"
CONFIRMED = "bench, one confirming run"
BARS = {(CONFIRMED, 0.0): 0.5, (CONFIRMED, 0.05): 55.0, (CONFIRMED, 0.1): 5.0}

Array = np.ndarray[Any, np.dtype[Any]]


def measure(figures: Figures) -> None:
    """The alarms of each rule per commit without a change, and what it misses of two steps, in percent."""
    found: dict[tuple[str, float], list[float]] = {}
    rng = np.random.default_rng(1)
    for _ in range(WORLDS):
        runs = simulate(rng, COMMITS)
        for commit in range(RegressionRule().last, COMMITS):
            again = simulate(rng, 1)[0]
            for step in STEPS:
                factor = 1 + step * (np.arange(SERIES) < STEPPING)[:, None]
                for rule, alarms in _alarms(runs[:commit], runs[commit] * factor, again * factor):
                    found.setdefault((rule, step), []).append(alarms[:STEPPING].mean() if step else alarms.sum())
    for (rule, step), values in found.items():
        mean = float(np.mean(values))
        name, value, unit = (
            (f"missed at +{step:.0%}", 100 - 100 * mean, "%") if step else ("false alarms in 400", mean, "a commit")
        )
        figures.add(f"{name}: {rule}", value, unit, most=BARS.get((rule, step)))


def simulate(rng: np.random.Generator, runs: int) -> Array:
    """Samples in ns of so many runs of every series: runs × series × samples."""
    shape = (runs, SERIES)
    bad = np.where(rng.random(shape) < 0.03, 1 + rng.uniform(0.1, 0.5, shape), 1)
    level = 1e6 * np.exp(rng.normal(0, 0.015, shape)) * bad
    samples: Array = level[..., None] * (1 + np.abs(rng.normal(0, 0.02, (*shape, SAMPLES))))
    return samples


def _alarms(before: Array, now: Array, again: Array) -> Iterator[tuple[str, Array]]:
    """Which series each rule calls worse, by its name."""
    history, value = np.median(before, axis=2), np.median(now, axis=1)
    yield "200 % of the run before", value > 2 * history[-1]
    yield "z > 5", value - history.mean(axis=0) > 5 * history.std(axis=0, ddof=1)
    error = history.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(history))
    yield "t-test 0.99", value - history.mean(axis=0) > stats.t.ppf(0.99, len(history) - 1) * error
    differs = stats.mannwhitneyu(now, before[-1], axis=1, method="asymptotic").pvalue < 0.05
    yield "U-test, p < 0.05", differs & (value > history[-1])
    first = judge(history, value[None])
    yield OURS, first.called & (first.effect > 0)
    once_more = np.where(first.doubtful & (first.effect > 0), np.median(again, axis=1), np.nan)
    second = judge(history, np.stack([value, once_more]))
    yield CONFIRMED, second.called & (second.effect > 0) & ~np.isnan(once_more)


class Judgement(NamedTuple):
    """What `judge` says of each series."""

    effect: Array  # change of ln(value) in the run that shows it least; 0 where runs disagree about its sign
    noise: Array
    p: Array
    q: Array
    called: Array  # REGRESSED, SUSPECTED or IMPROVED
    doubtful: Array  # SUSPECTED, or UNSURE for being one of many


def judge(history: Array, now: Array, rule: RegressionRule = RegressionRule()) -> Judgement:  # noqa: B008 (frozen)
    """The macro `regressions` once more, for series of one metric of which lower is better; a test holds the two together.

    Args:
        history: Medians, runs × series, oldest first.
        now: Medians of the judged runs, runs × series; NaN where one did not measure a series.
        rule: Its parameters.
    """
    logs = np.log(history[-rule.last :])
    n, series = logs.shape
    level = np.median(logs, axis=0)
    deviations = np.abs(logs - level)
    spread = np.median(deviations, axis=0)
    equal = spread == 0  # most values are
    own = (
        np.maximum(np.where(equal, 1.2533 * deviations.mean(axis=0), 1.4826 * spread) * n / (n - 0.8), rule.floor / 10)
        ** 2
    )
    degrees = 0.37 * (n - 1)
    excess = np.log(own).var(ddof=1) - 2 / degrees - 2 / degrees**2
    pool = min((series - 1) * degrees, (1 + np.sqrt(1 + 2 * excess)) / excess if excess > 0 else np.inf)
    moderated = (degrees * own + pool * np.median(own) * n / (n - 0.8)) / (degrees + pool)
    noise = np.sqrt(np.maximum(moderated, own / (1 + 2 * np.sqrt(2 / degrees))))
    effects = np.log(now) - level
    least, most = np.nanmin(effects, axis=0), np.nanmax(effects, axis=0)
    effect = np.where(least > 0, least, np.where(most < 0, most, 0))
    runs = (~np.isnan(now)).sum(axis=0)
    p = 2 * stats.t.sf(np.abs(effect) / noise / np.sqrt(1 + np.pi / 2 / n), degrees + pool)
    p = np.where(equal, np.maximum(p, (deviations >= np.abs(effect)).mean(axis=0)), p) ** np.minimum(runs, 2)
    q = stats.false_discovery_control(p)
    beyond = np.abs(effect) >= np.log1p(rule.floor)
    called = beyond & (q <= rule.fdr)
    return Judgement(effect, noise, p, q, called, beyond & (p <= rule.fdr) & (runs == 1))
