"""Median times of models by `bench measure models`, beside plain scripts that time the same step in a loop.

The cases are some of docs/cpu-report.md, at the sizes it has. A process has its own luck with memory and caches, so each side
has several, in turn, and the medians of both are compared.
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
ROUNDS = 3
SECONDS = 4.0  # of a script


def measure(figures: Figures) -> None:
    """Times and memory of each case beside its script."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (suite, script, batch, length) in MODELS.items():
            ours: dict[tuple[str, str], list[dict[str, Any]]] = {}
            theirs: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for _ in range(ROUNDS):
                for row in _measured(folder, suite, name):
                    ours.setdefault((row["mode"], row["backend"]), []).append(row)
                for mode, backend in ours:
                    numbers = plain_numbers(folder, script, mode, backend, batch=batch, length=length, seconds=SECONDS)
                    theirs.setdefault((mode, backend), []).append(numbers)
            for case in ours:
                of = " ".join((name, *case))
                _add(
                    figures,
                    f"time of {of}, off a plain script",
                    ours[case],
                    theirs[case],
                    "median_ns",
                    "median_ns",
                    NEAR,
                )
                _add(figures, f"memory of {of}, off a plain script", ours[case], theirs[case], "process_bytes", "peak_bytes",
                     NEAR_MEMORY)  # fmt: skip


def _measured(folder: str, suite: str, model: str) -> list[dict[str, Any]]:
    options = ["--suites", suite, "--models", model, "--modes", *MODES, "--backends", *BACKENDS, "--budget", "8"]
    done = weigh([*BENCH, "measure", "models", *options, "--store", folder, "--format", "json"])
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def _add(
    figures: Figures,
    name: str,
    ours: list[dict[str, Any]],
    theirs: list[dict[str, Any]],
    own: str,
    other: str,
    near: float,
) -> None:
    value, reference = statistics.median(row[own] for row in ours), statistics.median(row[other] for row in theirs)
    against = f"the script: {reference / 1e6:.3f} {'ms' if own == 'median_ns' else 'MB'}"
    figures.add(name, 100 * abs(value / reference - 1), "%", most=near, against=against)
