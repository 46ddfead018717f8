"""What measuring adds to a sample: the minimum of five functions by bench beside those of a bare loop and of timeit.

All three time the same calls in one process, in turn and in random order, so that the machine's speed is the same for all.
"""

import asyncio
import gc
import itertools
import random
import time
import timeit
from collections.abc import Callable

from bench.measure.engine.sampling import loops_for
from bench.measure.functions.program import Calls, Here

from .figures import Figures

SECONDS = 6.0  # for each function
MOST = 0.5  # percent that the minimum may lie above the bare loop's
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
    device, order = Here(), random.Random(1)
    gc.collect()
    gc.freeze()
    for name, function in FUNCTIONS.items():
        calls, timer = Calls(function, (), {}, loop := asyncio.new_event_loop()), timeit.Timer(function)
        calls()
        loops = loops_for(min(bare(function, 1) for _ in range(5)))
        ways: dict[str, Callable[[], float]] = {
            "bare": lambda: bare(function, loops),  # noqa: B023
            "timeit": lambda: timer.timeit(loops) * 1e9,  # noqa: B023
            "bench": lambda: device.time(calls, loops).duration_ns,  # noqa: B023
        }
        least = dict.fromkeys(ways, float("inf"))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for way in order.sample(list(ways), len(ways)):
                least[way] = min(least[way], ways[way]())
        loop.close()
        above, usual = (100 * (least[way] / least["bare"] - 1) for way in ("bench", "timeit"))
        figures.add(f"minimum above a bare loop's: {name}", above, "%", reference=usual, against="timeit", most=MOST)
    gc.unfreeze()


def bare(function: Callable[[], object], loops: int) -> int:
    """Nanoseconds of so many calls."""
    repeats, clock = itertools.repeat(None, loops), time.perf_counter_ns
    start = clock()
    for _ in repeats:
        function()
    return clock() - start
