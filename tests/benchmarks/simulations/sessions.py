"""How often a verdict on few runs is wrong, and what it misses: one run a side, where how sessions differ is assumed, and a few.

The rule was learnt on public nights of one fleet (`_assumed_reach`). The worlds here are others: sessions that vary as
Student's t of 2 degrees or by normal noise of 1 to 5 %, mixed noise, bad machines, slow stretches of a session, few cases of which half
changed, cases that all changed by factors of their own, and the public nights themselves where their files are at hand. What is lost:
where runs differ by 10 %, and nothing of the store told so.
"""

import csv
import os
import re
import warnings
from pathlib import Path

import numpy as np
from bench.sql.rules import FLOOR
from scipy import stats

from ..figures import Figures
from .alarms import Array, Judgement, assumed_reach, judge

WORLDS = 200


def measure(figures: Figures) -> None:
    """Shares of unchanged cases that are called, and of changed ones that are missed."""
    one_case(figures)
    for noise, most_missed in ((0.01, 1.0), (0.03, 5.0), (0.05, 25.0)):
        many_cases(figures, noise, most_missed)
    other_worlds(figures)
    all_different(figures)
    many_processes(figures)
    few_runs(figures)
    public_nights(figures)


def _draw(rng: np.random.Generator, noise: float, cases: int, shape: str) -> Array:
    match shape:
        case "t2":
            return np.asarray(noise * rng.standard_t(2, cases))
        case "t3":
            return np.asarray(noise * rng.standard_t(3, cases) / np.sqrt(3))
        case "bad machines":
            slow = np.where(rng.random(cases) < 0.03, np.log1p(rng.uniform(0.1, 0.5, cases)), 0)
            return np.asarray(noise * rng.normal(0, 1, cases) + slow)
        case "slow stretches":  # a case is disturbed as the one before it was, by 0.9
            own, stretch = rng.normal(0, 1, cases), np.zeros(cases)
            for index in range(cases):
                stretch[index] = 0.9 * stretch[index - 1] + np.sqrt(1 - 0.9**2) * own[index] if index else own[0]
            return np.asarray(noise * stretch)
        case "mixed":
            return np.asarray(np.exp(rng.uniform(np.log(0.003), np.log(0.05), cases)) * rng.normal(0, 1, cases))
    return np.asarray(noise * rng.normal(0, 1, cases))


def _judged(
    rng: np.random.Generator,
    runs: int,
    steps: Array,
    noise: float,
    shape: str = "normal",
    processes: float | None = None,
    counted: int = 3,
) -> Judgement:
    """The verdicts on so many runs a side, of which the candidate has these steps."""
    base, candidate = (np.stack([_draw(rng, noise, len(steps), shape) for _ in range(runs)]) for _ in range(2))
    return judge(np.exp(base), np.exp(candidate + steps), is_history=False, processes=processes, counted=counted)


def one_case(figures: Figures) -> None:
    """60 pairs of one case whose sessions vary as t of 2 degrees and a scale of 0.6 %."""
    rng = np.random.default_rng(1)
    pairs = 60 * WORLDS
    unchanged = sum(bool(_judged(rng, 1, np.zeros(1), 0.006, "t2").likely[0]) for _ in range(pairs)) / WORLDS
    slower = sum(bool(_judged(rng, 1, np.log([1.6]), 0.006, "t2").likely[0]) for _ in range(pairs)) / WORLDS
    figures.add("one case, one run a side, unchanged and called likely", unchanged, "of 60", most=3)
    figures.add("one case, one run a side, 60 % slower and missed", 60 - slower, "of 60", most=3)


def many_cases(figures: Figures, noise: float, most_missed: float) -> None:
    """420 cases of one run a side, of which 20 are 25 % slower."""
    rng = np.random.default_rng(1)
    steps = np.where(np.arange(420) < 20, np.log(1.25), 0)
    found = [_judged(rng, 1, steps, noise) for _ in range(WORLDS)]
    likely = np.array([judged.likely for judged in found])
    called = np.array([judged.called for judged in found])
    name = f"420 cases, one run a side, noise {noise:.0%}"
    figures.add(f"{name}, +25% missed", 100 - 100 * float((likely | called)[:, :20].mean()), "%", most=most_missed)
    figures.add(f"{name}, unchanged and called likely", float(likely[:, 20:].sum(axis=1).mean()), "of 400", most=8)
    figures.add(
        f"{name}, unchanged and called slower or faster", float(called[:, 20:].sum(axis=1).mean()), "of 400", most=2
    )


def other_worlds(figures: Figures) -> None:
    """Worlds that the rule was not made for, with a tenth of the cases 25 % slower, or half of few."""
    for shape, noise, most in (
        ("t3", 0.03, 7), ("bad machines", 0.02, 7), ("mixed", 0.0, 7), ("slow stretches", 0.03, 7), ("normal noise of 10 %", 0.1, None),
    ):  # fmt: skip
        for cases, changed in ((1, 1), (10, 5), (40, 4), (400, 40)):
            rng = np.random.default_rng(1)
            worlds = max(20, 2000 // cases)
            steps = np.where(np.arange(cases) < changed, np.log(1.25), 0)
            still = np.mean([_judged(rng, 1, np.zeros(cases), noise, shape).likely.mean() for _ in range(worlds)])
            found = np.mean([_judged(rng, 1, steps, noise, shape).likely[:changed].mean() for _ in range(worlds)])
            name = f"{shape}, {cases} cases, one run a side"
            figures.add(f"{name}: unchanged and called likely", 100 * float(still), "%", most=most)
            figures.add(f"{name}, {changed} of them +25%: missed", 100 - 100 * float(found), "%")


def all_different(figures: Figures) -> None:
    """Every case changed by a factor of its own: sweeps over sizes and unlike programs."""
    half, ends = np.log(2), np.log(1.5)
    for noise, processes, least in ((0.01, None, 1.4), (0.03, None, 1.4), (0.01, 0.01, 1.15)):
        of = f"noise {noise:.0%}{', several processes' if processes else ''}"
        for name, draw in (
            ("0.5x at 8 small sizes, 2x at 8 large ones", lambda rng: np.repeat([-half, half], 8)),
            ("a ratio that runs from 0.5 to 2 over 9 sizes", lambda rng: np.linspace(-half, half, 9)),
            ("three functions, 8 sizes each", lambda rng: np.concatenate([np.linspace(-half, end, 8) for end in (half, 0, ends)])),
            ("12 programs 1.5 to 6 times slower", lambda rng: rng.uniform(ends, np.log(6), 12)),
            ("60 programs 2 times slower to 2 times faster", lambda rng: rng.uniform(-half, half, 60)),
        ):  # fmt: skip
            rng, found = np.random.default_rng(1), list[float]()
            for _ in range(WORLDS):
                steps = draw(rng)
                judged, beyond = (
                    _judged(rng, 1, steps, noise, processes=processes),
                    steps - (np.median(steps) if len(steps) >= 20 else 0),
                )
                right = (judged.likely | judged.called) & (np.sign(judged.change) == np.sign(beyond))
                found.append(float(right[np.abs(beyond) >= np.log(least)].mean()))
            missed = 100 - 100 * float(np.mean(found))
            figures.add(f"{name}, {of}: missed of {least}x or more", missed, "%", most=10)


def many_processes(figures: Figures) -> None:
    """420 cases of one run of several processes a side, which agree within 1 %, while sessions differ by more.

    Beside what is missed stands what an oracle misses that knows how sessions differ and calls as many unchanged ones as the bar allows.
    """
    for counted, noise, step, most_missed, most_likely in (
        (3, 0.01, 0.6, 5, 8), (3, 0.03, 0.6, 5, 8), (3, 0.05, 0.6, 5, 8), (3, 0.1, 0.6, 40, 48),
        (20, 0.01, 0.11, 25, 8), (20, 0.03, 0.6, 5, 8), (20, 0.05, 0.6, 5, 8), (20, 0.1, 0.6, 40, 48),
    ):  # fmt: skip
        rng = np.random.default_rng(1)
        steps = np.where(np.arange(420) < 20, np.log1p(step), 0)
        found = [_judged(rng, 1, steps, noise, processes=0.01, counted=counted) for _ in range(WORLDS)]
        called, likely = (np.array([getattr(judged, name) for judged in found]) for name in ("called", "likely"))
        oracle = stats.norm.cdf(stats.norm.isf(1 / 400) - np.log1p(step) / (np.sqrt(2) * noise))
        name, slower = f"420 cases of {counted} processes, noise {noise:.0%}", f"{step:.0%} slower"
        figures.add(
            f"{name}, {slower} and not called",
            100 - 100 * float(called[:, :20].mean()),
            "%",
            reference=100 * float(oracle),
            against="oracle",
            most=most_missed,
        )
        found_likely = (called | likely)[:, :20].mean()
        figures.add(f"{name}, {slower} and not even likely", 100 - 100 * float(found_likely), "%", most=5)
        for what, calls, most in (("likely", likely, most_likely), ("slower or faster", called, 2)):
            figures.add(
                f"{name}, unchanged and called {what}", float(calls[:, 20:].sum(axis=1).mean()), "of 400", most=most
            )


def few_runs(figures: Figures) -> None:
    """420 cases of a few runs a side, of which 20 are slower."""
    for runs, noise, step, least, sure in (
        (3, 0.03, 0.1, 60.0, False),
        (5, 0.01, 0.05, 95.0, True),
        (5, 0.03, 0.1, 80.0, False),
    ):
        rng = np.random.default_rng(1)
        steps = np.where(np.arange(420) < 20, np.log1p(step), 0)
        found = [_judged(rng, runs, steps, noise) for _ in range(WORLDS // 4)]
        hits = np.array([judged.called if sure else judged.called | judged.likely for judged in found])
        name, what = f"{runs} runs a side, noise {noise:.0%}", "not called" if sure else "neither called nor likely"
        figures.add(f"{name}, +{step:.0%} {what}", 100 - 100 * float(hits[:, :20].mean()), "%", most=100 - least)
        wrong = np.array([judged.called for judged in found])[:, 20:].sum(axis=1).mean()
        figures.add(f"{name}, unchanged and called", float(wrong), "of 400", most=0.5)
        outside = [
            (judged.low > true) | (judged.high < true) for judged in found for true in [steps - np.median(steps)]
        ]
        figures.add(f"{name}, true change outside its 95 % interval", 100 * float(np.mean(outside)), "%", most=4)


def public_nights(figures: Figures) -> None:
    """Neighbouring nights of public dashboards, each pair of each model alone; real changes count as wrong.

    Of those unchanged, which the five nights before and the five after are within the floor of each other, how many would be called more
    than likely, had each night counted its processes and they agreed.
    """
    folder = (
        Path(os.environ.get("BENCH_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data") / "dynamo_nights"
    )
    for metric, column in COLUMNS.items():
        logs, is_unchanged = _neighbours(_levels(folder, column))
        if not logs.size:
            continue
        beyond, sure = (
            logs > assumed_reach(metric, None, UNITS[metric], processes) + np.log1p(FLOOR) for processes in (None, 3)
        )
        figures.add(f"public nights, {metric}, called likely", 100 * float(beyond.mean()), "%", most=5.05)
        figures.add(
            f"public nights, {metric}, unchanged, surely slower or faster if of several processes",
            100 * float(sure[is_unchanged].mean()), "%", most=0.5,
        )  # fmt: skip
        figures.add(
            f"public nights, {metric}, unchanged, 10 % apart",
            100 * float((logs > np.log(1.1))[is_unchanged].mean()),
            "%",
        )


COLUMNS = {
    "latency": "abs_latency", "speedup": "speedup", "compile_latency": "compilation_latency",
    "compression_ratio": "compression_ratio",
}  # fmt: skip
UNITS = {"latency": "ns", "speedup": "ratio", "compile_latency": "ns", "compression_ratio": "ratio"}
AROUND = 5  # nights before and after a pair that tell whether anything changed for good


def _levels(folder: Path, column: str) -> Array:
    """ln(value) of each night and model, the nights in order; NaN where one was not measured."""
    nights = []
    for night in folder.glob("day_*"):
        day = re.search(r"day_\d+_(\d\d)_(\d\d)_(\d\d)_", night.name)
        values = dict[tuple[str, str], float]()
        for file in night.glob("*_performance.csv"):
            for row in csv.DictReader(file.open(encoding="utf-8")):
                try:
                    values[file.name, row["name"]] = float(row[column] or 0)
                except (KeyError, TypeError, ValueError):
                    continue
        nights.append((day and day.groups()[::-1], values))
    nights.sort(key=lambda night: night[0] or ())
    models = sorted({model for _, values in nights for model in values})
    levels = np.array([[values.get(model, 0.0) for model in models] for _, values in nights])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.where(levels > 0, levels, np.nan)))


def _neighbours(levels: Array) -> tuple[Array, Array]:
    """|ln(ratio)| of each model in two neighbouring nights, and whether the nights around are alike on both sides."""
    if not levels.size:
        return np.array([]), np.array([], dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nights that no model was measured in have no median
        lasting = [
            np.nanmedian(levels[night : night + AROUND], axis=0)
            - np.nanmedian(levels[max(0, night - AROUND) : night], axis=0)
            for night in range(1, len(levels))
        ]
    logs = np.abs(np.diff(levels, axis=0))
    return logs[~np.isnan(logs)], (np.abs(lasting) <= np.log1p(FLOOR))[~np.isnan(logs)]
