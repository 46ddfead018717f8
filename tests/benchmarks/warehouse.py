"""How a store grows: a small run into one that holds ten million timings, and questions to it."""

import sys
import tempfile
from pathlib import Path

import bench
import numpy as np
import pyarrow as pa
from bench.warehouse import schema
from bench.warehouse.events import Timing
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from .figures import BENCH, Figures, weigh

TIMINGS, CASES = 10_000_000, 1_000

LOAD = "import sys; from bench.warehouse.database import load; from bench.warehouse.store import Store; load(Store.find(sys.argv[1]))"


def measure(figures: Figures) -> None:
    """Fill a store with ten million timings of a thousand cases, then add one run."""
    with tempfile.TemporaryDirectory() as name:
        store = Store.find(Path(name) / "store")
        _fill(store)
        load(store)
        with bench.run("small", store=store) as run:
            case = run.case("case", backend="eager")
            for number in range(100):
                case.timing(1_000_000 + number)
        small = weigh([sys.executable, "-c", LOAD, str(store.root)])
        start = weigh([sys.executable, "-c", "import bench.warehouse.database, duckdb, pyarrow"])
        figures.add("a small run into a store of 10M timings", small.seconds, "s", most=1.0, reference=start.seconds,
                    against="start of the process")  # fmt: skip
        asked = weigh(
            [*BENCH, "sql", "SELECT name, median FROM cells ORDER BY ALL LIMIT 5", "--store", str(store.root)]
        )
        raw = weigh([*BENCH, "sql", "SELECT case_id, median(duration_ns) FROM timings GROUP BY 1 ORDER BY ALL LIMIT 5",
                     "--store", str(store.root)])  # fmt: skip
        figures.add(
            "medians of 10M timings, from cells", asked.seconds, "s", reference=raw.seconds, against="from raw timings"
        )


def _fill(store: Store) -> None:
    run = bench.run("large", store=store)
    cases = [run.case(f"case-{number}", backend="eager").case_id for number in range(CASES)]
    rng = np.random.default_rng(1)
    wanted = schema.arrow_schema(Timing)
    for part in range(10):
        rows = TIMINGS // 10
        given = {
            "run_id": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, "int32")), [run.run_id]).cast(pa.string()),
            "case_id": pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype="int32") % CASES), cases).cast(
                pa.string()
            ),
            "metric": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, "int32")), ["latency"]).cast(pa.string()),
            "phase": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, "int32")), ["steady"]).cast(pa.string()),
            "duration_ns": pa.array(rng.gamma(9, 1e5, rows).astype("int64")),
            "loops": pa.array(np.ones(rows, "int64")),
            "sample": pa.array(np.arange(rows) // CASES + part * (rows // CASES)),
        }
        columns = [given.get(field.name, pa.nulls(rows, field.type)) for field in wanted]
        EventLog(store).write(Timing, pa.Table.from_arrays(columns, schema=wanted), f"{run.run_id}.{part}")
    run.close()
