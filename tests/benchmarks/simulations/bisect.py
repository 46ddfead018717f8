"""`bench bisect` in simulated worlds: how often the right commit is named, and after how many runs.

The first world is the one it is made for: +5 % at one of 256 commits, 1.5 % noise from run to run, and 3 % of runs on a bad machine, 10 to
50 % slower. The others are not: noise that wanders from run to run, heavier tails, a second culprit, and a machine that slows down.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from bench.query.bisect.findings import BisectFindings, BisectQuestion, RevisionRun, conclude

from ..figures import Figures

COMMITS = 256
SEARCHES = 500  # of the worlds that have a bar
FEWER = 100  # of the others
MOST = 64  # runs: the default of the command
REVISIONS = 3 * math.log2(COMMITS)  # that may be measured
EFFECT, NOISE, BAD = 0.05, 0.015, 0.03

Run = Callable[[int], float]  # place → ln(value)
World = Callable[[np.random.Generator], tuple[set[int], Run]]  # the culprits, the largest alone; and a run


@dataclass
class Outcome:
    """How one search ended."""

    named: bool
    right: bool
    runs: int
    revisions: int
    others: int


def measure(figures: Figures) -> None:
    """The bars, then the worlds it was not made for."""
    began = time.process_time()
    found = [_search(np.random.default_rng([1, i]), _one_culprit) for i in range(SEARCHES)]
    figures.add("+5 %: another commit, or none named", _percent(not one.right for one in found), "%", most=5.0)
    figures.add("+5 %: a wrong commit named", _percent(one.named and not one.right for one in found), "%")
    figures.add("+5 %: not named right after 24 revisions", _percent(not (one.right and one.revisions <= REVISIONS) for one in found),
                "%", most=5.0)  # fmt: skip
    figures.add(
        "+5 %: not named right after 24 runs", _percent(not (one.right and one.runs <= REVISIONS) for one in found), "%"
    )
    for name, values in (("runs", [one.runs for one in found]), ("revisions", [one.revisions for one in found])):
        for share in (0.5, 0.95):
            figures.add(
                f"+5 %: {name}, {100 * share:g} % of searches need at most", float(np.quantile(values, share)), ""
            )
    figures.add("a search of 256 commits", (time.process_time() - began) / SEARCHES, "s")
    quiet = [_search(np.random.default_rng([2, i]), _nothing) for i in range(SEARCHES)]
    figures.add("nothing changed: a commit named", _percent(one.named for one in quiet), "%", most=2.0)
    few = [_search(np.random.default_rng([3, i]), _nothing, commits=4) for i in range(FEWER)]
    figures.add("nothing changed in 4 commits: a commit named", _percent(one.named for one in few), "%")
    for number, (name, world) in enumerate(WORLDS.items()):
        ended = [_search(np.random.default_rng([4, number, i]), world) for i in range(FEWER)]
        figures.add(f"{name}: named right, of all", _percent(one.right for one in ended), "%")
        figures.add(f"{name}: a wrong commit named", _percent(one.named and not one.right for one in ended), "%")
        figures.add(f"{name}: runs, median", float(np.median([one.runs for one in ended])), "")
        if name == "two culprits":
            figures.add(f"{name}: the other one not told", _percent(one.named and not one.others for one in ended), "%")


def _percent(of: object) -> float:
    return 100 * float(np.mean(list(of)))  # type: ignore[call-overload]


def _search(rng: np.random.Generator, world: World, *, commits: int = COMMITS) -> Outcome:
    culprits, run = world(rng)
    question = BisectQuestion(
        search="", good="0", bad=str(commits), commits=[str(place) for place in range(commits + 1)]
    )
    runs: list[RevisionRun] = []
    findings: BisectFindings | None = None
    while findings is None or (findings.following and len(runs) < MOST):
        findings = conclude(question, runs, count=2 if not runs else 1, host="")
        runs += [RevisionRun(place, "", "ok", math.exp(run(place))) for place in findings.following]
    named = findings.status == "found" and findings.change is not None
    bracket = findings.change.bracket if findings.change else None
    right = named and bracket is not None and bracket.first == bracket.last and bracket.first in culprits
    return Outcome(named, right, findings.measured, findings.revisions, len(findings.others))


def _run(rng: np.random.Generator, levels: dict[int, float], noise: Callable[[], float], bad: float = BAD) -> Run:
    """A run of a place: the steps up to there, its noise, and a bad machine now and then."""

    def run(place: int) -> float:
        level = sum(math.log1p(step) for at, step in levels.items() if place >= at)
        return level + noise() + (math.log1p(rng.uniform(0.1, 0.5)) if rng.random() < bad else 0.0)

    return run


def _culprit(rng: np.random.Generator) -> int:
    return int(rng.integers(1, COMMITS + 1))


def _one_culprit(rng: np.random.Generator) -> tuple[set[int], Run]:
    at = _culprit(rng)
    return {at}, _run(rng, {at: EFFECT}, lambda: rng.normal(0, NOISE))


def _nothing(rng: np.random.Generator) -> tuple[set[int], Run]:
    return set(), _run(rng, {}, lambda: rng.normal(0, NOISE))


def _correlated(rng: np.random.Generator) -> tuple[set[int], Run]:
    """Noise of one run is half of that of the run before, and its own."""
    at, last = _culprit(rng), [0.0]

    def noise() -> float:
        last[0] = 0.5 * last[0] + rng.normal(0, NOISE * math.sqrt(0.75))
        return last[0]

    return {at}, _run(rng, {at: EFFECT}, noise)


def _heavy_tails(rng: np.random.Generator) -> tuple[set[int], Run]:
    at = _culprit(rng)
    return {at}, _run(rng, {at: EFFECT}, lambda: NOISE / math.sqrt(3) * rng.standard_t(3))


def _two_culprits(rng: np.random.Generator) -> tuple[set[int], Run]:
    """The second one, of +3 %, is at least 16 commits away."""
    while True:
        at, other = _culprit(rng), _culprit(rng)
        if abs(at - other) >= 16:
            return {at}, _run(rng, {at: EFFECT, other: 0.03}, lambda: rng.normal(0, NOISE))


def _drift(rng: np.random.Generator) -> tuple[set[int], Run]:
    """The machine slows down by 0.1 % a run."""
    at, count = _culprit(rng), [0]

    def noise() -> float:
        count[0] += 1
        return 0.001 * count[0] + rng.normal(0, NOISE)

    return {at}, _run(rng, {at: EFFECT}, noise)


WORLDS: dict[str, World] = {
    "correlated noise": _correlated, "Student's t, 3 degrees": _heavy_tails, "two culprits": _two_culprits, "a drift": _drift,
}  # fmt: skip
