"""Pairs of functions that do the same, beside two busy loops: how many `bench measure function` tells apart."""

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure.engine.estimate import doubt

from .figures import BENCH, Figures, weigh

ROUNDS = 12
LOOPS = 2  # processes that take processors from what is measured
MOST_APART, MOST_MISSED = 1, 5.0  # pairs, percent of intervals
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
    """Each of four functions against its double, ROUNDS times."""
    apart, missed, precision = 0, 0, list[float]()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for _ in range(LOOPS):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(loop.kill)
        Path(folder, "work.py").write_text(WORK)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
        for _ in range(ROUNDS):
            for name in NAMES:
                said = ["--budget", "3", "--store", f"{folder}/store", "--format", "json"]
                pair = [f"work:{name}", f"work:{name}_again"]
                done = weigh([*BENCH, "measure", "function", *pair, *said], env=environment)
                row = json.loads(done.stdout)[1]
                apart += doubt(row["ratio"], row["low"], row["high"]) is None
                missed += not row["low"] <= 1 <= row["high"]
                precision.append(math.sqrt(row["high"] / row["low"]) - 1)
    pairs = ROUNDS * len(NAMES)
    figures.add(f"identical pairs told apart, of {pairs}", apart, "pairs", most=MOST_APART)
    figures.add("intervals of identical pairs that miss", 100 * missed / pairs, "%", most=MOST_MISSED)
    figures.add("half-width of their intervals, median", sorted(precision)[len(precision) // 2] * 100, "%")
