"""Times of models by `bench measure models`, beside plain scripts that time the same step in a loop.

The cases are some of docs/cpu-report.md, at the sizes it has. A process has its own luck with memory and caches (medians of one
script differ by 40 % from process to process), and other tenants of the machine only slow it down: each side has several
processes, in turn, and the fastest call of each side counts.
"""

import json
import statistics
import tempfile
from typing import Any

from .figures import BENCH, Figures, weigh
from .model_memory import plain_numbers

MODELS = {
    "mlp": ("builtin", "mlp", 32, 8),
    "cnn": ("builtin", "cnn", 8, 8),
    "bert": ("huggingface-small", "bert-small", 4, 64),
}
MODES, BACKENDS = ("inference", "training"), ("eager", "inductor")
NEAR, NEAR_MEMORY = 2, 3  # % of the script
ROUNDS = 4
SECONDS = 3.0  # of a script


def measure(figures: Figures) -> None:
    """Times and memory of each case beside its script."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (suite, script, batch, length) in MODELS.items():
            ours: dict[tuple[str, str], list[dict[str, Any]]] = {}
            theirs: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for round_ in range(ROUNDS):
                for row in _measured(folder, suite, name, *(["--no-memory"] if round_ else [])):
                    ours.setdefault((row["mode"], row["backend"]), []).append(row)
                for mode, backend in ours:
                    numbers = plain_numbers(folder, script, mode, backend, batch=batch, length=length, seconds=SECONDS)
                    theirs.setdefault((mode, backend), []).append(numbers)
            for case in ours:
                of = " ".join((name, *case))
                fastest = [min(row["minimum_ns"] for row in rows) for rows in (ours[case], theirs[case])]
                _add(figures, f"time of {of}, off a plain script", *fastest, NEAR, "ms")
                memory = ours[case][0]["process_bytes"], statistics.median(row["peak_bytes"] for row in theirs[case])
                _add(figures, f"memory of {of}, off a plain script", *memory, NEAR_MEMORY, "MB")


def _measured(folder: str, suite: str, model: str, *more: str) -> list[dict[str, Any]]:
    options = ["--suites", suite, "--models", model, "--modes", *MODES, "--backends", *BACKENDS, "--budget", "5", *more]
    done = weigh([*BENCH, "measure", "models", *options, "--store", folder, "--format", "json"])
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def _add(figures: Figures, name: str, value: float, reference: float, near: float, unit: str) -> None:
    figures.add(
        name, 100 * abs(value / reference - 1), "%", most=near, against=f"the script: {reference / 1e6:.3f} {unit}"
    )
