"""Twenty pairs of functions that do the same, measured as any others: how many `bench measure function` tells apart."""

import json
import math
import os
import tempfile
from pathlib import Path

from bench.measure.engine.estimate import doubt

from .figures import BENCH, Figures, weigh

ROUNDS = 5
MOST = 1  # of twenty
WORK = """
import zlib

import numpy as np

DATA = bytes(4 << 20)
MATRIX = np.ones((192, 192))
NUMBERS = [(i * 7919) % 10_007 for i in range(10_007)]


def loop():
    total = 0
    for i in range(20_000):
        total += i * i
    return total


def checksum():
    return zlib.crc32(DATA)


def product():
    return MATRIX @ MATRIX


def sort():
    return sorted(NUMBERS)


loop_again, checksum_again, product_again, sort_again = (
    type(f)(f.__code__, f.__globals__, f.__name__ + "_again") for f in (loop, checksum, product, sort)
)
"""
NAMES = ("loop", "checksum", "product", "sort")


def measure(figures: Figures) -> None:
    """Each of four functions against its double, five times."""
    apart, precision = 0, list[float]()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "work.py").write_text(WORK)
        environment = {**os.environ, "PYTHONPATH": folder}
        for _ in range(ROUNDS):
            for name in NAMES:
                said = ["--budget", "3", "--store", f"{folder}/store", "--format", "json"]
                pair = [f"work:{name}", f"work:{name}_again"]
                done = weigh([*BENCH, "measure", "function", *pair, *said], env=environment)
                row = json.loads(done.stdout)[1]
                apart += doubt(row["ratio"], row["low"], row["high"]) is None
                precision.append(math.sqrt(row["high"] / row["low"]) - 1)
    figures.add(f"identical pairs told apart, of {ROUNDS * len(NAMES)}", apart, "pairs", most=MOST)
    figures.add("half-width of their intervals, median", sorted(precision)[len(precision) // 2] * 100, "%")
