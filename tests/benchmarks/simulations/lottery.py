"""The lottery of hosted runners: nights on whichever of two processors was drawn, 60 % apart, under a new host name each.

The code never changes in the quiet stores: every row that says otherwise, and every night that would end a job with 1, is false.
Nights are judged one by one, each by those before it. In the others one case of twelve becomes 25 % slower in the last night, on
a processor that was drawn before.
"""

import json

import numpy as np
from bench.query.regression.regressions import exit_code
from bench.warehouse.errors import Exit
from bench.warehouse.events import Environment, Event, Instant, Json

from ...builders import Builder, case, outcome, run, timing
from ..figures import Figures

NIGHTS, CASES, STORES, DAY = 20, 12, 6, 86_400_000_000
APART, NOISE, STEP = 1.6, 0.01, 1.25
KNOWN = ("the model", "cores and caches", "nothing")  # of the processors
CHANGED = ("SLOWER", "WORSE", "FASTER", "BETTER", "REMOVED", "BROKEN")


def measure(figures: Figures) -> None:
    """False rows and nights where nothing changed, and steps found where the processor is known."""
    for known in KNOWN:
        rows = nights = 0
        for seed in range(STORES):
            with Builder() as warehouse:
                _fill(warehouse, np.random.default_rng(seed), known, step=1.0)
                for night in range(1, NIGHTS):
                    found = _judged(warehouse, night)
                    rows += sum(verdict in CHANGED for verdict in found)
                    nights += exit_code_of(warehouse, night) == Exit.FAILED
        of = STORES * (NIGHTS - 1)
        figures.add(
            f"two processors 60 % apart, {known} known: rows of {of * CASES} called changed", rows, "count", most=0
        )
        figures.add(f"two processors 60 % apart, {known} known: nights of {of} that fail", nights, "count", most=0)
    for known in KNOWN[:2]:
        missed = 0
        for seed in range(STORES):
            with Builder() as warehouse:
                _fill(warehouse, np.random.default_rng(seed), known, step=STEP)
                missed += "SLOWER" not in _judged(warehouse, NIGHTS - 1)
        figures.add(f"+25 % of one case, {known} known: of {STORES} missed", missed, "count", most=0)


def _fill(warehouse: Builder, rng: np.random.Generator, known: str, *, step: float) -> None:
    """Nights of a store; the processor of the last was drawn at least three times before."""
    drawn = [0, 0, 0, 1, 1, 1, *rng.integers(0, 2, NIGHTS - 6)]
    drawn = [*rng.permutation(drawn[:-1]), drawn[-1]]
    for each in (0, 1):
        warehouse.add(_environment(each, known))
    for night, processor in enumerate(drawn):
        name = f"night-{night:02}"
        warehouse.add(
            run(name, "nightly", source="google-benchmark", host=f"{rng.integers(2**48):012x}", started_at=Instant(night * DAY),
                environment_id=f"env{processor}")
        )  # fmt: skip
        warehouse.add(*_cases(rng, name, APART if processor else 1.0, step if night == NIGHTS - 1 else 1.0))


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


def _judged(warehouse: Builder, night: int) -> list[str]:
    query = "SELECT verdict FROM regression_findings([?])"
    return [verdict for (verdict,) in warehouse.rows(query, [f"night-{night:02}"])]


def exit_code_of(warehouse: Builder, night: int) -> Exit:
    """How a job that judges this night ends."""
    return exit_code(warehouse.dicts("FROM regression_findings([?])", [f"night-{night:02}"]))
