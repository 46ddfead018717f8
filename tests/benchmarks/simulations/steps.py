"""The mean time of a scheduler's steps: how often its interval misses the truth, in logs of which no two stretches are alike."""

import numpy as np

from ...builders import Builder, run, steps
from ..figures import Figures

RUNS, STEPS = 200, 1600  # 50 steps in each of 32 stretches
# World: the most of the 95 % intervals that may miss, in %. Steps alike by 0.9 make stretches of 50 alike, too; and a log of
# three hiccups tells little of how many there are in the mean.
WORLDS = {
    "independent": 7.0, "alike by 0.5": 7.0, "alike by 0.9": 12.0, "prefills in bursts": 7.0, "a hiccup in 500": 20.0,
}  # fmt: skip


def measure(figures: Figures) -> None:
    """The share of runs whose interval is beside the mean of the world they were drawn from."""
    for seed, (world, most) in enumerate(WORLDS.items()):
        rng = np.random.default_rng(seed)
        logs = [_times_ms(world, rng) for _ in range(RUNS)]
        truth = 1e6 * float(np.mean([_times_ms(world, rng) for _ in range(20 * RUNS)]))
        warehouse = Builder()
        for number, times in enumerate(logs):
            warehouse.add(run(f"run {number}"), *steps(f"run {number}", np.ones(STEPS), times))
        told = warehouse.rows("SELECT median_low, median_high FROM step_cells WHERE metric = 'model_run_mean'")
        missed = 100 * float(np.mean([not low <= truth <= high for low, high in told]))
        figures.add(f"steps {world}: their mean missed", missed, "%", most=most)


def _times_ms(world: str, rng: np.random.Generator) -> np.ndarray:
    """Times of a log."""
    noise = rng.normal(size=STEPS)
    if world.startswith("alike"):
        alike = float(world.rpartition(" ")[2])
        for at in range(1, STEPS):
            noise[at] = alike * noise[at - 1] + np.sqrt(1 - alike**2) * noise[at]
    times = 10 * np.exp(0.05 * noise)
    if world == "prefills in bursts":  # one in twenty steps begins one of 1 to 10
        for start in np.flatnonzero(rng.random(STEPS) < 0.05):
            times[start : start + rng.integers(1, 11)] = 40 * np.exp(0.05 * noise[start])
    if world == "a hiccup in 500":
        times[rng.random(STEPS) < 1 / 500] += 200
    return times
