"""`bench history` of a store like that of the public dashboards: its seconds, how many rows a person reads, and what is in them.

115 nights of 3 suites × 2 modes × 90 models: 540 cases of 4 metrics, and 18 numbers of suites. On one night in four some of the cases move
by a few percent together; single cases step, alternate or drift on their own; machines are slow for a night. Two things happened
that everybody should see first: all speedups fell by 97.7 % for four nights, and all compile times rose by 119 % for good.
"""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from bench.query.change.history import find_all
from bench.warehouse import schema
from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, Event, Instant, Metric, Outcome, RunRecord
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import case_ids
from bench.warehouse.store import Store

from ..figures import BENCH, Figures, weigh

NIGHTS = 115
SUITES, MODES, MODELS = ("huggingface", "timm_models", "torchbench"), ("inference", "training"), 90
DAY = 86_400_000_000
COLLAPSE, COMPILED = range(40, 44), 80  # nights of the speedups' collapse, first night of slow compilation
COLLAPSED, COMPILE_FACTOR = 0.023, 2.19
NOISE = {"speedup": 0.008, "absolute_latency": 0.008, "compile_latency": 0.03, "compression_ratio": 0.002}
UNITS = {"speedup": "ratio", "absolute_latency": "ns", "compile_latency": "ns", "compression_ratio": "ratio"}
HIGHER = ("speedup", "compression_ratio")
MOST_ROWS, FIRST_ROWS = 40, 5

Array = np.ndarray[Any, np.dtype[Any]]


class World(NamedTuple):
    """Which cases there are, and how large each of their metrics is on each night: metric -> nights × cases."""

    axes: list[dict[str, Any]]
    values: dict[str, Array]


def simulate(seed: int = 1, nights: int = NIGHTS) -> World:
    """Draw the nights."""
    rng = np.random.default_rng(seed)
    axes = [
        {"suite": suite, "name": f"model-{model:02}", "mode": mode, "device": "cuda", "dtype": "amp", "backend": "inductor"}
        for suite in SUITES for mode in MODES for model in range(MODELS)
    ]  # fmt: skip
    cases = len(axes)
    logs = {metric: rng.normal(0, 0.4, cases) + _wander(rng, noise, nights, cases) for metric, noise in NOISE.items()}
    for night in np.flatnonzero(rng.random(nights) < 0.25).tolist():  # a change of the compiler
        metric = str(rng.choice([*NOISE]))
        moved = rng.random(cases) < rng.uniform(0.01, 0.25)
        logs[metric][night:, moved] += rng.normal(rng.normal(0, 0.03), 0.02, moved.sum())
    for metric in NOISE:
        for one in np.flatnonzero(rng.random(cases) < 0.5).tolist():  # on its own
            logs[metric][rng.integers(nights) :, one] += rng.normal(0, 0.08)
        for one in np.flatnonzero(rng.random(cases) < 0.04).tolist():
            logs[metric][:, one] += 0.06 * (np.cumsum(rng.random(nights) < 0.15) % 2)
        for one in np.flatnonzero(rng.random(cases) < 0.03).tolist():
            logs[metric][:, one] += np.linspace(0, rng.normal(0, 0.1), nights)
    logs["speedup"][list(COLLAPSE)] += np.log(COLLAPSED)
    logs["absolute_latency"][list(COLLAPSE)] -= np.log(COLLAPSED)
    logs["compression_ratio"][list(COLLAPSE)] += np.log(1.5)  # what does not run takes no memory
    logs["compile_latency"][COMPILED:] += np.log(COMPILE_FACTOR)
    logs["absolute_latency"] += np.log(1e7)
    logs["compile_latency"] += np.log(3e10)
    return World(axes, {metric: np.exp(log) for metric, log in logs.items()})


def _wander(rng: np.random.Generator, noise: float, nights: int, cases: int) -> Array:
    """Noise whose tails are heavy and whose size differs from case to case, and nights on a machine that is slower."""
    sizes = noise * np.exp(rng.normal(0, 0.5, cases))
    slow = np.where(rng.random((nights, 1)) < 0.03, rng.uniform(0, 0.05, (nights, 1)), 0)
    return np.asarray(sizes * rng.standard_t(4, (nights, cases)) + slow)


def write(store: Store, world: World) -> None:
    """Write the nights into a store, a run each."""
    log, ids = EventLog(store), [case_ids(**axes) for axes in world.axes]
    nights, cases = next(iter(world.values.values())).shape
    names = [f"night-{night:03}" for night in range(nights)]
    log.write(
        RunRecord,
        [
            RunRecord(run_id=name, config="nightly", source="measure", host="h", started_at=Instant(DAY * (night + 1)),
                git_commit=f"{night:040x}")
            for night, name in enumerate(names)
        ],
        "runs",
    )  # fmt: skip
    run = np.repeat(names, cases)
    shared = {"run_id": run, "case_id": np.tile([case_id for case_id, _ in ids], nights)}
    each = {key: np.tile([axes[key] for axes in world.axes], nights) for key in world.axes[0]}
    write_table(log, CaseRecord, "cases", {**shared, **each, "work_hash": np.tile([work for _, work in ids], nights)})
    for kind in ("performance", "accuracy"):
        ended = {
            "kind": np.repeat(kind, len(run)),
            "status": np.repeat("ok" if kind == "performance" else "pass", len(run)),
        }
        write_table(log, Outcome, kind, {**shared, **ended})
    for metric, values in world.values.items():
        text = {"metric": metric, "unit": UNITS[metric], "better": "higher" if metric in HIGHER else "lower"}
        if metric == "compile_latency":
            text["phase"] = "compile"
        columns = {key: np.repeat(value, len(run)) for key, value in text.items()}
        write_table(log, Metric, metric, {**shared, **columns, "value": values.ravel()})


def write_table(log: EventLog, event: type[Event], stem: str, columns: dict[str, Array]) -> None:
    """Write events from columns; what is not among them is NULL."""
    wanted, rows = schema.arrow_schema(event), len(columns["run_id"])
    filled = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in wanted
    ]
    log.write(event, pa.Table.from_arrays(filled, schema=wanted), stem)


def measure(figures: Figures) -> None:
    """Seconds of `bench history`, the rows that a person reads, and where in them is what everybody should see first."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / ".bench").create()
        write(store, simulate())
        load(store)
        lines = weigh([*BENCH, "history", "--store", str(store.root)], env={"COLUMNS": "100"}).stdout.splitlines()
        with Warehouse.open(store) as warehouse:
            start = time.perf_counter()
            found = find_all(warehouse)
            seconds = time.perf_counter() - start
    figures.add(f"history of {len(found.series)} series, 115 nights", seconds, "s", most=3)
    figures.add("its rows for a person", len(lines) - 2, "", most=MOST_ROWS)
    figures.add("their width on a terminal of 100 characters", max(map(len, lines)), "characters", most=100)
    for name, night, metric in (
        ("the collapse of speedups", COLLAPSE.start, "speedup"),
        ("compile times up by 119 %", COMPILED, "compile_latency"),
    ):
        place = next(
            row["incident"] for row in found.incidents
            if row["since_run_id"] == f"night-{night:03}" and metric in f"{row['metric']} {row['also']}"
        )  # fmt: skip
        figures.add(f"place of {name}", place, "", most=FIRST_ROWS)
