"""Times of a function by itself, measured twice: how often the printed intervals cover the difference of the two.

A process that is laid out at random is one of several, some of which are slower for as long as they live. So the spread of
processes stands beside it, with and without that randomness, and with one hash seed for all.
"""

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .figures import BENCH, Figures, weigh

WORK = """
def parse():
    found = {}
    for number in range(300):
        key = f"k{number % 37}"
        found[key] = found.get(key, 0) + number * number
    return sorted(found.items())
"""
# Processor time of a call: the median of 60 blocks.
ONE = """
import statistics, time
from work import parse
def block():
    start = time.process_time_ns()
    for _ in range(20):
        parse()
    return (time.process_time_ns() - start) / 20
block()
print(statistics.median(block() for _ in range(60)))
"""
PAIRS, PROCESSES = 40, 40


def measure(figures: Figures) -> None:
    """Pairs of runs, one directly after the other; `BENCH_TRIALS` is the share to make."""
    share = float(os.environ.get("BENCH_TRIALS", "1"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work.py").write_text(WORK)
        pairs = [(_time(folder), _time(folder)) for _ in range(max(2, round(PAIRS * share)))]
        covered = statistics.fmean(_is_covered(one, other) for one, other in pairs)
        width = statistics.median(math.log(high / low) / 2 for pair in pairs for _, low, high in pair)
        figures.add("lone times: pairs whose difference is not covered", 100 * (1 - covered), "%", most=7.0)
        figures.add("lone times: half of the interval", 100 * width, "%")
        _spreads(figures, folder, max(3, round(PROCESSES * share)))


def _time(folder: str) -> tuple[float, float, float]:
    """The time of a call and its interval, as `bench measure function` gives them."""
    words = [
        "measure",
        "function",
        "work:parse",
        "--budget",
        "3",
        "--lock",
        "off",
        "--store",
        "store",
        "--format",
        "json",
    ]
    (row,) = json.loads(weigh([*BENCH, *words], cwd=Path(folder)).stdout)
    return row["time_ns"], row["time_low_ns"], row["time_high_ns"]


def _is_covered(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    (fast, _, top), (slow, bottom, _) = sorted((one, other))
    return math.log(slow / fast) <= math.hypot(math.log(top / fast), math.log(slow / bottom))


def _spreads(figures: Figures, folder: str, processes: int) -> None:
    """Standard deviations of the time from process to process, in turns."""
    fixed = ["setarch", platform.machine(), "-R"]
    ways: dict[str, tuple[list[str], dict[str, str]]] = {
        "as it is": ([], {}), "one hash seed": ([], {"PYTHONHASHSEED": "0"}), "one memory layout": (fixed, {}),
    }  # fmt: skip
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(processes):
        for way, (before, more) in ways.items():
            words = [*before, sys.executable, "-c", ONE]
            done = subprocess.run(
                words, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, check=True
            )
            found[way].append(math.log(float(done.stdout)))
    for way, logs in found.items():
        figures.add(f"lone times: spread of processes, {way}", 100 * statistics.stdev(logs), "%")
