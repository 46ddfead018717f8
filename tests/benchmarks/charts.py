"""How soon a scatter of a million steps, and of ten million, is a PNG at 300 DPI."""

import tempfile
from pathlib import Path

import bench
import numpy as np
import pyarrow as pa
from bench.warehouse import schema
from bench.warehouse.database import load
from bench.warehouse.events import ScheduleChunk
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from .figures import BENCH, Figures, python, weigh

MATPLOTLIB = """
import sys, duckdb, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(6, 4), dpi=300)
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for config in ("A", "B", "C"):
        drawn = connection.execute("SELECT tokens, model_run_ms FROM runtime_vs_tokens([?])", [config]).fetchnumpy()
        axes.scatter(drawn["tokens"], drawn["model_run_ms"], s=4, label=config)
axes.legend()
figure.savefig(sys.argv[2], dpi=300)
"""


def measure(figures: Figures) -> None:
    """Cold processes, whole commands."""
    for steps, seconds in ((1_000_000, 3.0), (10_000_000, 6.0)):
        with tempfile.TemporaryDirectory() as name:
            store = Store.find(Path(name) / "store")
            _fill(store, steps)
            load(store)
            png = str(Path(name) / "chart.png")
            command = [
                *BENCH,
                "viz",
                "runtime-vs-tokens",
                "--configs",
                "A",
                "B",
                "C",
                "-o",
                png,
                "--store",
                str(store.root),
            ]
            ours = weigh(command)
            peer = python(MATPLOTLIB, str(store.database), str(Path(name) / "peer.png"))
            million = f"{steps // 1_000_000}M"
            figures.add(
                f"PNG of {million} steps", ours.seconds, "s", reference=peer.seconds, most=seconds, against="matplotlib"
            )
            figures.add(f"PNG of {million} steps, peak memory", ours.peak_bytes / 1e6, "MB", reference=peer.peak_bytes / 1e6,
                        most=600 if steps == 1_000_000 else None, against="matplotlib")  # fmt: skip


def _fill(store: Store, steps: int) -> None:
    rng = np.random.default_rng(1)
    for index, config in enumerate(("A", "B", "C")):
        run = bench.run(config, store=store)
        rows = steps // 3
        tokens = np.minimum(rng.gamma(1.2, 400, rows).astype("int64") + 1, 4096)
        runtime = (8 + index) + tokens * (0.010 + 0.002 * index) + rng.gamma(2, 0.8, rows)
        outliers = rng.random(rows) < 0.002
        runtime[outliers] += rng.exponential(40, outliers.sum())
        wanted = schema.arrow_schema(ScheduleChunk)
        given = {
            "run_id": pa.array([run.run_id]).take(pa.array(np.zeros(rows, "int64"))),
            "batch_id": pa.array(np.arange(rows)),
            "chunk_sizes": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype="int32")), pa.array(tokens)),
            "schedule_ms": pa.array(rng.random(rows)),
            "model_run_ms": pa.array(runtime),
            "line": pa.array(np.arange(rows) + 1),
        }
        columns = [given.get(field.name, pa.nulls(rows, field.type)) for field in wanted]
        EventLog(store).write(ScheduleChunk, pa.Table.from_arrays(columns, schema=wanted), f"{run.run_id}.0")
        run.close()
