"""The lottery of hosted runners: nights on whichever of two processors was drawn, 60 % apart, under a new host name each.

The code never changes in the quiet stores: every row that says otherwise, and every night that would end a job with 1, is false.
Nights are judged one by one, by those before (`bench regressions`), or by the merge base, measured in turns on the machine of the night
(`bench ci`), of whose turns three in a hundred are 10 to 50 % slower. The gate calls no row and fails no night. Within a class of
machine noise alone may call what the false discovery rate allows, of a night 5 %: the one row of the 684 where the model is known
is 3.3 % against nine nights of the same class, at q = 0.02. What the machine does would be far beyond 10 %. In the other stores one
case of twelve becomes 25 % slower in the last night, on a processor that was drawn before.

The gate measures on while no time is settled or a case is likely worse, and so looks several times: jobs as one look after the first
rounds judges them, and as all looks do; among them runs of five processes at two speeds, whose medians are at one or the other.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bench.measure.ci.command import MORE_ROUNDS, Looks, doubt
from bench.query.comparison import compare
from bench.query.comparison.sides import Side
from bench.query.regression import regressions
from bench.query.regression.regressions import RegressionRule
from bench.sql.rules import FLOOR
from bench.warehouse.errors import Exit
from bench.warehouse.events import Environment, Event, Instant, Json

from ...builders import Builder, case, outcome, run, timing
from ..figures import Figures
from .alarms import Array, judge

NIGHTS, CASES, STORES, DAY = 20, 12, 3, 86_400_000_000
ROUNDS = 5  # of `bench ci`
APART, NOISE, STEP = 1.6, 0.01, 1.25
LARGE = 1.1  # a change that noise does not make
JOBS, LOOKS = 400, Looks(ROUNDS)  # of `bench ci`, of rounds that take so little time that it takes as many as it may
SPEEDS_APART, FASTER_SHARE, PROCESSES = 0.15, 0.6, 5
QUIET = 5.0  # % of nights that may fail by chance: that of --fdr
KNOWN = ("the model", "cores and caches", "nothing")  # of the processors
CHANGED = ("SLOWER", "WORSE", "FASTER", "BETTER", "REMOVED", "BROKEN")

Row = Mapping[str, Any]


def measure(figures: Figures) -> None:
    """False rows and nights where nothing changed, and steps found where the processor is known."""
    _gate(figures)
    _looks(figures)
    for known in KNOWN:
        nights: list[Sequence[Row]] = []
        for seed in range(STORES):
            with Builder() as warehouse:
                _fill(warehouse, np.random.default_rng(seed), known, step=1.0)
                nights += [_judged(warehouse, night) for night in range(1, NIGHTS)]
        world = f"regressions within classes, two processors 60 % apart, {known} known"
        _add(figures, world, nights, sum(map(_fails, nights)), "change", chance=QUIET)
    for known in KNOWN[:2]:
        missed = 0
        for seed in range(STORES):
            with Builder() as warehouse:
                _fill(warehouse, np.random.default_rng(seed), known, step=STEP)
                missed += not any(row["verdict"] == "SLOWER" for row in _judged(warehouse, NIGHTS - 1))
        figures.add(f"+25 % of one case, {known} known: of {STORES} missed", missed, "count", most=0)


def _add(
    figures: Figures, world: str, nights: Sequence[Sequence[Row]], failed: int, column: str, *, chance: float
) -> None:
    """`chance`: the % of nights that may fail without a change; where that is none, no row may be called changed."""
    called = [row for rows in nights for row in rows if row["verdict"] in CHANGED]
    large = [row for row in called if row[column] is None or not 1 / LARGE < row[column] + (column == "change") < LARGE]
    figures.add(
        f"{world}: rows of {len(nights) * CASES} called changed", len(called), "count", most=None if chance else 0
    )
    figures.add(f"{world}: of these by more than 10 %", len(large), "count", most=0)
    figures.add(f"{world}: of {len(nights)} nights fail", 100 * failed / len(nights), "%", most=chance)


def _gate(figures: Figures) -> None:
    """Nights of `bench ci`, each judged by the runs of both sides in its own job alone."""
    with Builder() as warehouse:
        for processor in (0, 1):
            warehouse.add(_environment(processor, KNOWN[0]))
        quiet = [_turns(warehouse, f"quiet-{seed}", seed, 1.0) for seed in range(STORES * NIGHTS)]
        slower = [_turns(warehouse, f"slower-{seed}", seed, STEP) for seed in range(NIGHTS)]
        nights = [_ended(warehouse, *sides) for sides in quiet]
        failed = sum(compare.exit_code(night) == Exit.FAILED for night in nights)
        _add(
            figures, "bench ci, two processors 60 % apart", [night.rows for night in nights], failed, "ratio", chance=0
        )
        missed = sum(compare.exit_code(_ended(warehouse, *sides)) != Exit.FAILED for sides in slower)
    figures.add(f"bench ci, +25 % of one case: of {NIGHTS} nights missed", missed, "count", most=0)


def _ended(warehouse: Builder, base: Side, head: Side) -> compare.Comparison:
    """The last look of a job whose rounds take too long for more than four times as many."""
    more = LOOKS.after(0, math.inf)
    while True:
        sides = (Side(side.name, side.runs[: more.stop]) for side in (base, head))
        found = compare.compare(warehouse, *sides, fdr=LOOKS.fdr(more.stop))
        more = LOOKS.after(more.stop, math.inf)
        if not more or not doubt(found):
            return found


def _looks(figures: Figures) -> None:
    """Jobs of equal sides of which a case is called worse, and jobs that miss one that became 25 % slower."""
    for world in ("mixed noise", "noise of 10 %", "bad minutes", "heavy tails", "two speeds"):
        for cases in (1, CASES):
            rng = np.random.default_rng(1)
            jobs = [_sides(rng, world, cases) for _ in range(JOBS)]
            first, last = 100 * np.mean([_job(sides, world == "two speeds") for sides in jobs], axis=0)
            figures.add(
                f"bench ci, {world}, {cases} cases: of {JOBS} jobs called worse", float(last), "%", reference=float(first),
                against="one look", most=QUIET,
            )  # fmt: skip
            for _, head in jobs:
                head[:, 0] += np.log(STEP)
            first, last = 100 - 100 * np.mean([_job(sides, world == "two speeds") for sides in jobs], axis=0)
            figures.add(
                f"bench ci, {world}, +25 % of one of {cases} cases: of {JOBS} jobs missed", float(last), "%", reference=float(first),
                against="one look", most=QUIET,
            )  # fmt: skip


def _job(sides: tuple[Array, Array], is_of_processes: bool) -> tuple[bool, bool]:
    """Whether anything is called worse at the first look, and when the job ends."""
    sampling = (SPEEDS_APART**2 * FASTER_SHARE * (1 - FASTER_SHARE) + NOISE**2) / PROCESSES if is_of_processes else 0.0
    looks, more = list[bool](), LOOKS.after(0, 0)
    while more:
        base, head = (np.exp(side[: more.stop]) for side in sides)
        rule = RegressionRule(fdr=LOOKS.fdr(more.stop))
        found = judge(base, head, rule, is_history=False, is_session=False, sampling=sampling)
        looks.append(bool((found.called & (found.change > 0)).any()))
        is_settled = (found.called | (np.maximum(-found.low, found.high) <= math.log1p(FLOOR))).any()
        if looks[-1] or (is_settled and not (found.likely & (found.change > 0)).any()):
            break
        more = LOOKS.after(more.stop, 0)
    return looks[0], looks[-1]


def _sides(rng: np.random.Generator, world: str, cases: int) -> tuple[Array, Array]:
    """Logarithms of the runs of two equal sides, measured in turns."""
    turns = np.arange(2 * LOOKS.most)
    noise = rng.normal(size=(len(turns), cases))
    match world:
        case "mixed noise":
            runs = np.exp(rng.uniform(np.log(0.003), np.log(0.05), cases)) * noise
        case "bad minutes":  # of three turns on average, a quarter of all
            slower, level = np.zeros(len(turns)), 0.0
            for turn in turns:
                if rng.random() < (1 / 3 if level else 0.1):
                    level = 0.0 if level else np.log1p(rng.uniform(0.1, 0.5))
                slower[turn] = level
            runs = 0.02 * noise + slower[:, None]
        case "heavy tails":
            runs = 0.05 * rng.standard_t(2, (len(turns), cases))
        case "two speeds":
            slow = rng.random((PROCESSES, len(turns), cases)) > FASTER_SHARE
            runs = np.median(NOISE * rng.normal(size=slow.shape) + SPEEDS_APART * slow, axis=0)
        case _:
            runs = 0.1 * noise
    is_base = np.isin(turns % 4, (0, 3))
    return runs[is_base], runs[~is_base]


def _turns(warehouse: Builder, night: str, seed: int, step: float) -> list[Side]:
    """Both sides of a night, measured in turns on the processor that was drawn."""
    rng, runs = np.random.default_rng(seed), dict[str, list[str]]()
    processor = int(rng.integers(0, 2))
    for turn in range(2 * MORE_ROUNDS * ROUNDS):
        name, side = f"{night}-{turn}", "base" if turn % 4 in (0, 3) else "head"
        runs.setdefault(side, []).append(name)
        slow = 1 + rng.uniform(0.1, 0.5) * (rng.random() < 0.03)
        warehouse.add(_run(name, f"{night}-{side}", f"runner-{night}", turn, processor))
        warehouse.add(*_cases(rng, name, (APART if processor else 1.0) * slow, step if side == "head" else 1.0))
    return [Side(side, tuple(runs[side])) for side in ("base", "head")]


def _fill(warehouse: Builder, rng: np.random.Generator, known: str, *, step: float) -> None:
    """Nights of a store; the processor of the last was drawn at least three times before."""
    drawn = [0, 0, 0, 1, 1, 1, *rng.integers(0, 2, NIGHTS - 6)]
    drawn = [*rng.permutation(drawn[:-1]), drawn[-1]]
    for each in (0, 1):
        warehouse.add(_environment(each, known))
    for night, processor in enumerate(drawn):
        name = f"night-{night:02}"
        warehouse.add(_run(name, "nightly", f"{rng.integers(2**48):012x}", night * DAY, processor))
        warehouse.add(*_cases(rng, name, APART if processor else 1.0, step if night == NIGHTS - 1 else 1.0))


def _run(name: str, config: str, host: str, at: int, processor: int) -> Event:
    fields: dict[str, Any] = {"source": "google-benchmark", "host": host, "environment_id": f"env{processor}"}
    return run(name, config, started_at=Instant(at), **fields)


def _environment(processor: int, known: str) -> Environment:
    caches = Json(json.dumps({"caches": [{"level": 3, "size": 2**25 * (1 + processor)}]}))
    return Environment(
        environment_id=f"env{processor}", cpu=f"Processor {processor}" if known == KNOWN[0] else None,
        logical_cores=4, extra=caches if known == KNOWN[1] else None,
    )  # fmt: skip


def _cases(rng: np.random.Generator, run_id: str, slower: float, step: float) -> list[Event]:
    events: list[Event] = []
    for number in range(CASES):
        it = case(f"BM_{number}", run=run_id)
        ns = 1e6 * (number + 1) * slower * (step if number == 0 else 1.0) * np.exp(rng.normal(0, NOISE))
        events += [it, outcome(it), timing(it, round(ns))]
    return events


def _judged(warehouse: Builder, night: int) -> list[dict[str, Any]]:
    return warehouse.dicts("FROM regression_findings([?])", [f"night-{night:02}"])


def _fails(rows: Sequence[Row]) -> bool:
    """True if a job that judges this night ends with 1."""
    return regressions.exit_code(rows) == Exit.FAILED
