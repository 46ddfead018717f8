"""Servers measured once: what is called changed though nothing changed, and which slower ones are missed.

A run is 400 requests in 200 s, whose times to the last token vary by 30 %. In some worlds neighbours share more: half of the runs have a
slow minute, or the load is correlated over 10 s or 33 s. How much whole runs differ is assumed of one run a side, and told by several
runs of the other side.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...builders import Builder, case, run
from ..figures import Figures

PAIRS, REQUESTS, SECONDS = 60, 400, 200.0
FALSE: dict[str, float | None] = {
    "independent": 10.0,
    "slow minute": 10.0,
    "correlated over 10 s": 15.0,
    "correlated over 33 s": 30.0,
    "whole runs differ by 2 %": 5.0,
    "whole runs differ by 5 %": None,
}  # % of pairs
CALLED = {"FASTER", "SLOWER", "LIKELY FASTER", "LIKELY SLOWER"}
MISSED = {"independent": 5.0, "correlated over 10 s": 60.0}  # % of pairs

Load = Callable[[np.random.Generator], NDArray[np.float64]]


def measure(figures: Figures) -> None:
    """Of equal servers the share of pairs with any verdict, of servers 20 % slower the share without one for the worse."""
    for name, most in FALSE.items():
        called = [bool(found & CALLED) for found in _verdicts(LOADS[name], 1.0)]
        figures.add(f"equal servers, {name}: pairs called changed", 100 * float(np.mean(called)), "%", most=most)
    for name, most in MISSED.items():
        missed = [not found & {"SLOWER", "LIKELY SLOWER"} for found in _verdicts(LOADS[name], 1.2)]
        figures.add(f"20 % slower, {name}: pairs missed", 100 * float(np.mean(missed)), "%", most=most)
    for name in ("slow minute", "whole runs differ by 5 %"):
        called = [bool(found & CALLED) for found in _verdicts(LOADS[name], 1.0, base_runs=4)]
        figures.add(
            f"equal servers, 4 runs against 1, {name}: pairs called changed", 100 * float(np.mean(called)), "%", most=10
        )


def _independent(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.zeros(REQUESTS)


def _slow_minute(rng: np.random.Generator) -> NDArray[np.float64]:
    since = np.linspace(0, SECONDS, REQUESTS) - rng.uniform(0, SECONDS - 60)
    return np.where((since > 0) & (since < 60) & (rng.random() < 0.5), 0.3, 0.0)


def _whole_runs(deviation: float) -> Load:
    return lambda rng: np.full(REQUESTS, deviation * rng.normal())


def _correlated(over_s: float) -> Load:
    def load(rng: np.random.Generator) -> NDArray[np.float64]:
        keep = np.exp(-SECONDS / REQUESTS / over_s)
        steps = 0.15 * np.sqrt(1 - keep**2) * rng.normal(size=REQUESTS)
        found = np.empty(REQUESTS)
        found[0] = 0.15 * rng.normal()
        for i in range(1, REQUESTS):
            found[i] = keep * found[i - 1] + steps[i]
        return found

    return load


LOADS: dict[str, Load] = {
    "independent": _independent, "slow minute": _slow_minute, "correlated over 10 s": _correlated(10),
    "correlated over 33 s": _correlated(33), "whole runs differ by 2 %": _whole_runs(0.02),
    "whole runs differ by 5 %": _whole_runs(0.05),
}  # fmt: skip


def _verdicts(load: Load, factor: float, base_runs: int = 1) -> list[set[str]]:
    """The verdicts of each pair, the second of which takes so many times as long."""
    rng, builder = np.random.default_rng(7), Builder()
    sides = [(pair, [*(f"a{pair}.{i}" for i in range(base_runs))], [f"b{pair}"]) for pair in range(PAIRS)]
    runs = [
        (run_id, scale)
        for _, base, candidate in sides
        for one, scale in ((base, 1.0), (candidate, factor))
        for run_id in one
    ]
    builder.add(*(run(run_id, run_id.partition(".")[0]) for run_id, _ in runs), llama := case("llama", suite="serving"))
    builder.rows("SELECT 1")
    names = [run_id for run_id, _ in runs for _ in range(REQUESTS)]
    drawn = [scale * 1000 * np.exp(load(rng) + 0.3 * rng.normal(size=REQUESTS)) for _, scale in runs]
    table = pa.table({
        "run_id": names, "config": [name.partition(".")[0] for name in names], "case_id": [llama.case_id] * len(names),
        "sample": np.tile(np.arange(REQUESTS), len(runs)),
        "arrival_s": np.tile(np.linspace(0, SECONDS, REQUESTS), len(runs)), "e2e_ms": np.concatenate(drawn),
        "outcome": ["ok"] * len(names),
    })  # fmt: skip
    builder.connection.register("made", table)
    builder.connection.execute("INSERT INTO requests BY NAME SELECT * FROM made")
    query = (
        "SELECT verdict FROM serving_comparisons(?, ?, e2e := 1300) WHERE metric IN ('goodput', 'e2e_p50', 'e2e_p90')"
    )
    return [{verdict for (verdict,) in builder.rows(query, [base, candidate])} for _, base, candidate in sides]
