"""What `bench measure command` costs beyond the runs themselves, and what a run takes, beside a bare loop of posix_spawn."""

import json
import os
import shutil
import statistics
import tempfile
import time

from .figures import BENCH, Figures, python, weigh

ROUNDS = 7
RUNS = 20


def measure(figures: Figures) -> None:
    """`bench measure command -- true`, and the same program started and waited for in a loop."""
    true = shutil.which("true") or "/bin/true"
    beyond, runs, bare, floor = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        # as where it is installed
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        options = ["--store", folder, "--format", "json", "--repeat", str(RUNS)]
        command = [*BENCH, "measure", "command", *options, "--", true]
        weigh(command, env=compiled)
        for _ in range(ROUNDS):
            measured = weigh(command, env=compiled)
            (row,) = json.loads(measured.stdout)
            beyond.append(measured.seconds - row["mean_ns"] * row["runs"] / 1e9)
            runs.append(row["median_ns"])
            bare.append(_bare(true))
            floor.append(python("import click").seconds)
    figures.add("bench measure command -- true, beyond its runs", min(beyond) * 1000, "ms", reference=min(floor) * 1000,
                most=150, against="python -c 'import click'")  # fmt: skip
    usual, reference = statistics.median(runs), statistics.median(bare)  # the best of each may come from other minutes
    figures.add("a run of true", usual / 1e3, "µs", reference=reference / 1e3, ratio_most=1.25,
                against="posix_spawn and waitpid in a loop")  # fmt: skip
    figures.add("peak of true, started by bench", _peak(true) / 1e6, "MB", reference=_inherited(true) / 1e6, most=12,
                against="wait4 of a 300 MB parent")  # fmt: skip


def _bare(program: str) -> float:
    """The median of some runs, in ns."""
    found = []
    for _ in range(RUNS):
        start = time.perf_counter_ns()
        os.waitpid(os.posix_spawn(program, [program], os.environ), 0)
        found.append(time.perf_counter_ns() - start)
    return statistics.median(found)


_MEASURED = """
import sys
from bench.measure.commands.process import launcher
ballast = bytearray(b"x") * (300 << 20)
with launcher() as starter:
    print(starter.run([sys.argv[1]]).peak_bytes)
"""
_WAITED = """
import os, sys
ballast = bytearray(b"x") * (300 << 20)
print(os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[2].ru_maxrss * 1024)
"""


def _peak(program: str) -> int:
    """What bench says a program's peak is, from a process of 300 MB."""
    return int(python(_MEASURED, program).stdout)


def _inherited(program: str) -> int:
    """What the kernel says of it there."""
    return int(python(_WAITED, program).stdout)
