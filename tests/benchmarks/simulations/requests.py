"""The parts of the time of requests: how often their interval misses the truth, where neighbouring requests resemble each other."""

import numpy as np
from bench.query.why.serving import Columns, SideMeans, part_between

from ..figures import Figures

PAIRS = 400
TERMS = {"queue": lambda of: of["queue"], "prefill": lambda of: of["ttft"] - of["queue"]}
# World: how alike the queue is for neighbours, requests of a run, quantile, runs of a side; and the most of the 95 % intervals that may
# leave out 0, in %: both sides are of one world.
WORLDS = {
    "independent": (0.0, 300, 0.5, 1, 7.0), "alike by 0.5": (0.5, 300, 0.5, 1, 7.0), "alike by 0.9": (0.9, 1000, 0.5, 1, 9.0),
    "p90 alike by 0.5": (0.5, 1000, 0.9, 1, 9.0), "three runs a side": (0.5, 300, 0.5, 3, 7.0),
}  # fmt: skip


def measure(figures: Figures) -> None:
    """The share of pairs whose interval of the queue is beside what makes them differ: nothing."""
    for seed, (world, (alike, size, place, runs, most)) in enumerate(WORLDS.items()):
        rng, missed = np.random.default_rng(seed), 0
        for _ in range(PAIRS):
            one, other = (
                SideMeans.of([_requests(rng, alike, size) for _ in range(runs)], TERMS, "ttft", place) for _ in range(2)
            )
            part = part_between("queue", lambda base, candidate: candidate["queue"] - base["queue"], one, other)
            missed += part.low is None or part.high is None or not part.low <= 0 <= part.high
        figures.add(f"requests {world}: their queue missed", 100 * missed / PAIRS, "%", most=most)


def _requests(rng: np.random.Generator, alike: float, size: int) -> Columns:
    """A run: each request queues as long as neighbours do, in logarithms."""
    noise = rng.normal(size=size)
    for at in range(1, size):
        noise[at] = alike * noise[at - 1] + np.sqrt(1 - alike**2) * noise[at]
    queue, prefill = 20 * np.exp(0.7 * noise), 40 * np.exp(0.2 * rng.normal(size=size))
    return {"queue": queue, "ttft": queue + prefill, "tokens": np.full(size, 30.0)}
