"""Nights judged one by one, by `bench regressions` as it stands: 200 cases, 60 nights, of which the last 15 are judged.

What is false, in 1,000 judged numbers, where nothing changes: noise that is white, autocorrelated, heavy-tailed, a slow drift, a weekly
rhythm, bad machines, and levels between which a case flips. And when a step of 10 of the cases is told: in the first night,
by the third, later, never. Worlds marked `untuned` were added after the rule was settled.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, Instant, Metric, Outcome, RunRecord
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import case_ids
from bench.warehouse.store import Store

from ..figures import Figures
from .dashboards import write_table

CASES, NIGHTS, JUDGED, STEPPING = 200, 60, 15, 10
FIRST = NIGHTS - JUDGED  # the first night that is judged, and that has a step
DAY = 86_400_000_000
FOUND_BY = 3  # nights within which a small step must be told
WORSE = "('SLOWER', 'WORSE')"

Array = np.ndarray[Any, np.dtype[Any]]


class World(NamedTuple):
    """A world, as logarithms of nights × cases; and its bars."""

    name: str
    draw: Callable[[np.random.Generator], Array]
    most_false: float | None = None  # worse verdicts in 1,000 numbers
    step: float = 0.0  # of the last STEPPING cases, from night FIRST on
    first_night: int | None = None  # of the steps, so many in the first night at least
    third_night: int | None = None
    apart: float = 0.0  # of two levels: their distance; then worse verdicts are counted by whether an earlier stretch had the level


def white(sd: float) -> Callable[[np.random.Generator], Array]:
    """Independent nights."""
    return lambda rng: rng.normal(0, sd, (NIGHTS, CASES))


def autoregressive(rho: float, sd: float = 0.02) -> Callable[[np.random.Generator], Array]:
    """Each night is like the one before."""

    def draw(rng: np.random.Generator) -> Array:
        x = rng.normal(0, sd, (NIGHTS + 50, CASES))
        for night in range(1, len(x)):
            x[night] = rho * x[night - 1] + np.sqrt(1 - rho**2) * x[night]
        return np.asarray(x[50:])

    return draw


def drifting(slope: float, sd: float = 0.01) -> Callable[[np.random.Generator], Array]:
    """Every case gets slower by a little every night."""
    return lambda rng: rng.normal(0, sd, (NIGHTS, CASES)) + slope * np.arange(NIGHTS)[:, None]


def flipping(
    chance: float, gap: float = 0.06, sd: float = 0.005, back: float | None = None
) -> Callable[[np.random.Generator], Array]:
    """Two levels, left with a chance each night; the upper one with another chance, if given."""

    def draw(rng: np.random.Generator) -> Array:
        level = rng.integers(0, 2, CASES)
        levels = []
        for _ in range(NIGHTS):
            leaves = rng.random(CASES) < np.where(level == 1, chance if back is None else back, chance)
            level = np.where(leaves, 1 - level, level)
            levels.append(level)
        return np.asarray(gap * np.array(levels) + rng.normal(0, sd, (NIGHTS, CASES)))

    return draw


def rhythm(rng: np.random.Generator) -> Array:
    """Every seventh night is 8 % slower."""
    return np.asarray(rng.normal(0, 0.01, (NIGHTS, CASES)) + 0.08 * (np.arange(NIGHTS) % 7 == 3)[:, None])


def three_levels(rng: np.random.Generator) -> Array:
    """Three levels 6 % apart, another one with a chance of 0.15."""
    level = np.cumsum((rng.random((NIGHTS, CASES)) < 0.15) * rng.integers(1, 3, (NIGHTS, CASES)), axis=0) % 3
    return np.asarray(0.06 * level + rng.normal(0, 0.005, (NIGHTS, CASES)))


def heavy(rng: np.random.Generator) -> Array:
    """Student's t of 3 degrees."""
    return np.asarray(0.01 * rng.standard_t(3, (NIGHTS, CASES)))


WORLDS = (
    World("white, 1 %", white(0.01), 0.5),
    World("white, 3 %", white(0.03), 0.5),
    World("AR(1) 0.5", autoregressive(0.5), 0.5),
    World("AR(1) 0.8", autoregressive(0.8), 0.5),
    World("drift of 0.1 % a night", drifting(0.001), 0.5),
    World("drift of 0.3 % a night", drifting(0.003)),
    # with 5 % often to a level that was never seen: a step as any
    *(
        World(f"levels 6 % apart, left with {chance:.0%}", flipping(chance), 5 if chance > 0.05 else None, apart=0.06)
        for chance in (0.05, 0.1, 0.2, 0.5)
    ),
    *(
        World(f"+{step:.0%} of white noise of 1 %", white(0.01), None, step, first, third)
        for step, first, third in ((0.05, None, 9), (0.1, 10, 10), (0.25, 10, 10))
    ),
    World("+5% of white noise of 1.5 %", white(0.015), None, 0.05, None, 9),
    World("+25% on levels 6 % apart, left with 10%", flipping(0.1), None, 0.25, 9),
    World("+10% on levels 6 % apart, left with 10%", flipping(0.1), None, 0.1),
    # untuned
    World("heavy tails (t, 3 degrees)", heavy),
    World("a weekly rhythm of 8 %", rhythm),
    World("three levels", three_levels),
    World("levels 20 % apart, left with 10%", flipping(0.1, gap=0.2), apart=0.2),
    World("levels 6 % apart, noise of 1.5 %", flipping(0.1, sd=0.015), 5),
    World("levels 6 % apart, the upper one rare", flipping(0.05, back=0.3), apart=0.06),
    World("+5% of AR(1) 0.5 of 1 %", autoregressive(0.5, 0.01), None, 0.05),
)


def measure(figures: Figures) -> None:
    """False verdicts in quiet worlds, and when steps are told."""
    for world in WORLDS:
        told = judge(world)
        _add(figures, world, told)


class Told(NamedTuple):
    """What was called worse."""

    worse: Array  # JUDGED × CASES
    exits: int  # nights with any among the cases that do not step
    known: int  # of two levels: numbers that are worse at the level that an earlier stretch of nights had
    fresh: int  # of two levels: judged numbers in the first nights at an upper level that no earlier night had


def judge(world: World, seed: int = 1) -> Told:
    """Judge the last nights of a world one by one."""
    rng = np.random.default_rng(seed)
    logs = world.draw(rng)
    logs[FIRST:, CASES - STEPPING :] += np.log1p(world.step)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / ".bench").create()
        names = write(store, np.exp(logs))
        load(store)
        worse = np.zeros((JUDGED, CASES), dtype=bool)
        with Warehouse.open(store) as warehouse:
            for night in range(JUDGED):
                rows = warehouse.rows(
                    f"SELECT name FROM regressions([?]) WHERE verdict IN {WORSE}", [names[FIRST + night]]
                )
                for (name,) in rows:
                    worse[night, int(name.removeprefix("case-"))] = True
    quiet = worse[:, : CASES - STEPPING] if world.step else worse
    is_upper = logs > world.apart / 2
    known, fresh = (_at_known_levels(is_upper, worse), _at_fresh_levels(is_upper)) if world.apart else (0, 0)
    return Told(worse, int(quiet.any(axis=1).sum()), known, fresh)


def _at_known_levels(is_upper: Array, worse: Array) -> int:
    """How many numbers are worse at a level that was left before, and returned to."""
    same = [is_upper[: FIRST + night + 1, case] == is_upper[FIRST + night, case] for night, case in np.argwhere(worse)]
    return sum(int((~nights[np.argmax(nights) :]).any()) for nights in same)


def _at_fresh_levels(is_upper: Array) -> int:
    """How many judged numbers a step's bar asks for: of the first nights at an upper level that no earlier night had."""
    begins = np.diff(is_upper.astype(int), axis=0, prepend=is_upper[:1].astype(int)) == 1
    first = is_upper & ~is_upper[0] & (np.cumsum(begins, axis=0) == 1)
    return int((first & (np.cumsum(is_upper, axis=0) <= FOUND_BY))[FIRST:].sum())


def write(store: Store, values: Array) -> list[str]:
    """A run a night, a number a case."""
    log = EventLog(store)
    names = [f"night-{night:02}" for night in range(len(values))]
    ids = [case_ids(name=f"case-{case:03}") for case in range(CASES)]
    runs = [
        RunRecord(run_id=name, config="main", source="measure", host="h", started_at=Instant(DAY * (night + 1)))
        for night, name in enumerate(names)
    ]
    log.write(RunRecord, runs, "runs")
    of_runs = {"run_id": np.repeat(names, CASES), "case_id": np.tile([case_id for case_id, _ in ids], len(names))}
    titles = np.tile([f"case-{case:03}" for case in range(CASES)], len(names))
    work = np.tile([hashed for _, hashed in ids], len(names))
    write_table(log, CaseRecord, "cases", {**of_runs, "name": titles, "work_hash": work})
    write_table(
        log,
        Outcome,
        "ends",
        {**of_runs, "kind": np.repeat("performance", len(titles)), "status": np.repeat("ok", len(titles))},
    )
    text = {"metric": "time", "unit": "ns", "better": "lower"}
    columns = {key: np.repeat(value, len(titles)) for key, value in text.items()}
    write_table(log, Metric, "times", {**of_runs, **columns, "value": 1e6 * values.ravel()})
    return names


def _add(figures: Figures, world: World, told: Told) -> None:
    if not world.step:
        rate, fresh = 1000 * float(told.worse.mean()), 1000 * told.fresh / told.worse.size
        figures.add(
            f"{world.name}: false in 1,000",
            rate,
            "",
            reference=fresh if world.apart else None,
            against=f"new levels in their first {FOUND_BY} nights" if world.apart else "",
            most=world.most_false,
        )
        figures.add(f"{world.name}: quiet nights that fail", told.exits, f"of {JUDGED}")
        if world.apart:
            figures.add(
                f"{world.name}: false at a level that it had before, in 1,000",
                1000 * told.known / told.worse.size,
                "",
                most=5,
            )
            begun = told.worse[1:] & ~told.worse[:-1]
            figures.add(
                f"{world.name}: false that the night before had not, in 1,000", 1000 * float(begun.mean()), "", most=5
            )
        return
    stepped = told.worse[:, CASES - STEPPING :]
    first = int(stepped[0].sum())
    third = int(stepped[:FOUND_BY].any(axis=0).sum())
    figures.add(f"{world.name}: not told in the first night", STEPPING - first, f"of {STEPPING}",
        most=None if world.first_night is None else STEPPING - world.first_night)  # fmt: skip
    figures.add(f"{world.name}: not told by the third night", STEPPING - third, f"of {STEPPING}",
        most=None if world.third_night is None else STEPPING - world.third_night)  # fmt: skip
    figures.add(f"{world.name}: never told", STEPPING - int(stepped.any(axis=0).sum()), f"of {STEPPING}")
    figures.add(f"{world.name}: false in 1,000", 1000 * float(told.worse[:, : CASES - STEPPING].mean()), "")
