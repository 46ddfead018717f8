"""What measuring adds to a sample: the minimum of five functions by bench beside those of a bare loop and of timeit.

All three time the same calls in one process, in turn and in random order, so that the machine's speed is the same for all.
Where code and data lie in memory makes one loop 1 % faster than another in one process and slower in the next, so the median
over several processes counts.
"""

import asyncio
import gc
import itertools
import json
import random
import statistics
import time
import timeit
from collections.abc import Callable

from bench.measure.engine.sampling import loops_for
from bench.measure.functions.program import Calls, Here

from .figures import Figures, python

PROCESSES = 7
SECONDS = 3.0  # for each function in each of them
LEAST = 40  # samples of each way
MOST = 0.5  # percent that the minimum may lie above the bare loop's
ABOVE = "import json; from tests.benchmarks.clock import above_bare_loop; print(json.dumps(above_bare_loop()))"
NUMBERS = [(i * 7919) % 10_007 for i in range(10_007)]
FUNCTIONS: dict[str, Callable[[], object]] = {
    "100 ns": lambda: len(NUMBERS),
    "10 µs": lambda: sum(range(800)),
    "1.4 ms": lambda: [sorted(NUMBERS) for _ in range(3)],
    "10 ms": lambda: [sorted(NUMBERS) for _ in range(21)],
    "100 ms": lambda: [sorted(NUMBERS) for _ in range(210)],
}


def measure(figures: Figures) -> None:
    """How far the minimum of bench, and that of timeit, lie above that of a bare loop."""
    found = [json.loads(python(ABOVE).stdout) for _ in range(PROCESSES)]
    for name in FUNCTIONS:
        above, usual = (statistics.median(of_process[name][way] for of_process in found) for way in ("bench", "timeit"))
        figures.add(f"minimum above a bare loop's: {name}", above, "%", reference=usual, against="timeit", most=MOST)


def above_bare_loop() -> dict[str, dict[str, float]]:
    """Percent by which the minimum of bench and of timeit lies above the bare loop's in this process, by function."""
    gc.collect()
    gc.freeze()
    return {name: _above(function) for name, function in FUNCTIONS.items()}


def _above(function: Callable[[], object]) -> dict[str, float]:
    device, order = Here(), random.Random()
    calls, timer = Calls(function, (), {}, loop := asyncio.new_event_loop()), timeit.Timer(function)
    calls()
    loops = loops_for(min(bare(function, 1) for _ in range(5)))
    ways: dict[str, Callable[[], float]] = {
        "bare": lambda: bare(function, loops),
        "timeit": lambda: timer.timeit(loops) * 1e9,
        "bench": lambda: device.time(calls, loops).duration_ns,
    }
    least = dict.fromkeys(ways, float("inf"))
    end, taken = time.monotonic() + SECONDS, 0
    while time.monotonic() < end or taken < LEAST:
        for way in order.sample(list(ways), len(ways)):
            least[way] = min(least[way], ways[way]())
        taken += 1
    loop.close()
    return {way: 100 * (least[way] / least["bare"] - 1) for way in ways}


def bare(function: Callable[[], object], loops: int) -> int:
    """Nanoseconds of so many calls."""
    repeats, clock = itertools.repeat(None, loops), time.perf_counter_ns
    start = clock()
    for _ in repeats:
        function()
    return clock() - start
