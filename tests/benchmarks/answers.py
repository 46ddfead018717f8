"""How soon a store of ten million timings answers: a report's questions, a compare of two runs, and the shell's first word.

The store holds 200 nightly runs of 4 suites × 160 models × 5 backends, each case timed 16 times, with its compile time, its
memory and its accuracy. Questions are asked warm, in one process, all rows fetched; beside them pandas (if it is there)
computes the same from the raw rows, which it holds in memory as categories and numbers already. `bench sql` is cold.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from bench.warehouse import schema
from bench.warehouse.database import Warehouse, load
from bench.warehouse.events import Case, Event, Instant, MemorySample, Metric, Outcome, Run, Timing
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import case_ids
from bench.warehouse.store import Store

from .figures import BENCH, Figures, python, weigh

SUITES, MODELS, BACKENDS = 4, 160, ("eager", "inductor", "aot_eager", "cudagraphs", "onnx")
RUNS, SAMPLES = 200, 16
AT_ONCE = 20  # runs written at a time
DAY = 86_400_000_000
ROUNDS = 5
NEWEST, BEFORE = f"run-{RUNS - 1:05}", f"run-{RUNS - 2:05}"
REPORT = (
    f"FROM executive_summary() WHERE run_id = '{NEWEST}'",
    f"FROM geomean_speedups() WHERE run_id = '{NEWEST}'",
    f"FROM flags() WHERE run_id = '{NEWEST}'",
    f"FROM newly_flagged() WHERE run_id = '{NEWEST}'",
    "FROM summary_diff()",
    "FROM history()",
)
COMPARE = (
    f"CREATE OR REPLACE TEMP TABLE compared AS FROM comparisons(['{BEFORE}'], ['{NEWEST}'])"  # what bench compare asks
)
ATTACH = """
import sys, duckdb
connection = duckdb.connect()
connection.execute(f"ATTACH '{sys.argv[1]}' AS warehouse (READ_ONLY)")
print(connection.execute("select 1").fetchall())
"""


def measure(figures: Figures) -> None:
    """Fill a store, then ask."""
    with tempfile.TemporaryDirectory() as name:
        store = Store.find(Path(name) / "store").create()
        _fill(store, np.random.default_rng(1))
        load(store)
        with Warehouse.open(store) as warehouse:
            report = _best(lambda: [warehouse.rows(query) for query in REPORT])
            compare = _best(lambda: warehouse.rows(COMPARE))
        references = _pandas(store) if find_spec("pandas") else {}
        for what, seconds, most in (("a report's questions", report, 300), ("a compare of two runs", compare, 50)):
            figures.add(
                f"{what}, 10M timings", seconds * 1000, "ms", most=most, ratio_least=10,
                reference=references[what] * 1000 if references else None, against="pandas from raw rows",
            )  # fmt: skip
        first = min(weigh([*BENCH, "sql", "select 1", "--store", str(store.root)]).seconds for _ in range(ROUNDS))
        bare = min(python(ATTACH, str(store.database)).seconds for _ in range(ROUNDS))
        figures.add('bench sql "select 1", 10M timings', first * 1000, "ms", most=300, reference=bare * 1000,
                    against="duckdb alone")  # fmt: skip


def _best(ask: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds, after one that does not count."""
    ask()
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask()
        took.append(time.perf_counter() - began)
    return min(took)


def _pandas(store: Store) -> dict[str, float]:
    """Seconds pandas takes for the same, from raw rows in memory. Its speedups are plain ratios of medians, its intervals none."""
    import pandas as pd
    import pyarrow.parquet as pq

    def raw(event: type[Event], *columns: str) -> Any:
        texts = [field.name for field in event.fields() if field.name in columns and field.type is str]
        table = pq.read_table(store.events / event.TABLE, columns=list(columns), read_dictionary=texts)
        return table.unify_dictionaries().to_pandas()

    timings = raw(Timing, "run_id", "case_id", "duration_ns")
    compiles = raw(Metric, "run_id", "case_id", "value")
    peaks = raw(MemorySample, "run_id", "case_id", "size_bytes")
    outcomes = raw(Outcome, "run_id", "case_id", "kind", "status")
    cases = raw(Case, "case_id", "suite", "name", "backend").drop_duplicates("case_id").set_index("case_id")

    def wide(rows: Any, column: str) -> Any:
        """One row per run, in order, and one column per case."""
        table = rows.groupby(["run_id", "case_id"], observed=True)[column].median().unstack("case_id")
        return table.set_axis(table.index.astype(str)).set_axis(table.columns.astype(str), axis=1).sort_index()

    def report() -> list[Any]:
        medians, compile_ns, peak = wide(timings, "duration_ns"), wide(compiles, "value"), wide(peaks, "size_bytes")
        eager = cases[cases["backend"] == "eager"].reset_index().set_index(["suite", "name"])["case_id"]
        keys = cases.loc[medians.columns, ["suite", "name"]]
        base = eager.loc[pd.MultiIndex.from_frame(keys)].to_numpy()
        speedup, ratio = medians[base].to_numpy() / medians, peak[base].to_numpy() / peak
        good = wide(outcomes.assign(good=outcomes["status"].isin(["ok", "pass"])), "good").reindex_like(medians) == 1
        passing = good & (speedup > 0)
        panels = [cases.loc[medians.columns, axis].to_numpy() for axis in ("suite", "backend")]
        logs = np.log(speedup.clip(lower=1)).where(passing)
        shared = logs.T.groupby([keys["suite"].to_numpy(), keys["name"].to_numpy()]).transform("count").T
        summaries = [
            np.exp(logs.T.groupby(panels).mean()), np.exp(logs.where(shared == len(BACKENDS)).T.groupby(panels).mean()),
            passing.T.groupby(panels).mean(), compile_ns.where(passing).T.groupby(panels).mean(),
            ratio.where(passing).T.groupby(panels).mean(),
        ]  # fmt: skip
        flags = [speedup < 0.95, compile_ns > 120e9, ratio < 0.9, ~passing]
        fresh = [flag.loc[NEWEST] & ~flag.loc[BEFORE] for flag in flags]
        fine_since = [flag.loc[:BEFORE].iloc[::-1].cumsum().eq(0).sum() for flag in flags]
        return [*summaries, *fresh, *fine_since]

    def compare() -> Any:
        last = timings[timings["run_id"].isin([f"run-{number:05}" for number in range(RUNS - 50, RUNS)])]
        logs = np.log(wide(last, "duration_ns"))
        noise = 1.4826 / np.sqrt(2) * logs.diff().abs().median()
        effect = logs.loc[BEFORE] - logs.loc[NEWEST]
        return pd.DataFrame({"ratio": np.exp(effect), "z": effect / noise})

    return {"a report's questions": _best(report), "a compare of two runs": _best(compare)}


def _fill(store: Store, rng: np.random.Generator) -> None:
    """Write the events of all runs, many runs to a file."""
    axes = [
        {"suite": f"suite-{suite}", "name": f"model-{model}", "mode": "inference", "device": "cpu", "dtype": "float32",
         "backend": backend, "batch_size": 8}
        for suite in range(SUITES) for model in range(MODELS) for backend in BACKENDS
    ]  # fmt: skip
    ids = [case_ids(**each) for each in axes]  # type: ignore[arg-type]
    eager = np.arange(len(axes)) % len(BACKENDS) == 0
    works = SUITES * MODELS

    def gained(mean: float, spread: float) -> npt.NDArray[np.float64]:  # by each case over its baseline
        return np.where(eager, 1.0, rng.lognormal(mean, spread, len(axes)))

    each_ns = np.repeat(rng.lognormal(14, 1.5, works), len(BACKENDS)) / gained(0.25, 0.2)
    each_bytes = np.repeat(rng.lognormal(17, 1, works), len(BACKENDS)) / gained(0.2, 0.15)
    compile_ns = rng.lognormal(24, 0.7, len(axes))
    names = [f"run-{number:05}" for number in range(RUNS)]
    log = EventLog(store)
    log.write(
        Run,
        [
            Run(
                run_id=name,
                config="nightly",
                source="measure",
                host="host",
                started_at=Instant(DAY * number),
                git_commit=f"{number:040x}",
            )
            for number, name in enumerate(names)
        ],
        "runs",
    )
    for first in range(0, RUNS, AT_ONCE):
        run = np.repeat(np.arange(first, first + AT_ONCE), len(axes))
        case = np.tile(np.arange(len(axes)), AT_ONCE)
        good = rng.random(len(run)) > 0.01
        drift = rng.normal(0, 0.015, RUNS)

        def write(event: type[Event], run: Any, case: Any, stem: str = str(first), /, **given: Any) -> None:
            columns: dict[str, pa.Array] = {
                "run_id": pa.array(names).take(pa.array(run)), "case_id": pa.array([i for i, _ in ids]).take(pa.array(case)),
                **{key: _repeated(value, len(run)) for key, value in given.items()},
            }  # fmt: skip
            wanted = schema.arrow_schema(event)
            filled = [columns.get(field.name, pa.nulls(len(run), field.type)) for field in wanted]
            log.write(event, pa.Table.from_arrays(filled, schema=wanted), stem)

        write(
            Case,
            run,
            case,
            work_hash=[ids[i][1] for i in case],
            **{key: [axes[i][key] for i in case] for key in axes[0]},
        )
        write(Outcome, run, case, kind="performance", status=np.where(good, "ok", "fail_to_run"))
        accuracy = np.where(rng.random(len(run)) > 0.01, "pass", "fail_accuracy")
        write(Outcome, run, case, f"accuracy{first}", kind="accuracy", status=accuracy)
        run, case = run[good], case[good]
        noise = {
            key: rng.lognormal(0, spread, len(run))
            for key, spread in (("run", 0.01), ("compile", 0.05), ("memory", 0.03))
        }
        write(
            Metric,
            run,
            case,
            metric="compile_latency",
            unit="ns",
            better="lower",
            value=compile_ns[case] * noise["compile"],
        )
        sizes = (each_bytes[case] * noise["memory"]).astype("int64")
        write(MemorySample, run, case, source="rss_growth", statistic="peak", size_bytes=sizes)
        median = np.repeat(each_ns[case] * noise["run"] * np.exp(drift[run]), SAMPLES)
        block = np.tile(np.arange(SAMPLES), len(run))
        write(Timing, np.repeat(run, SAMPLES), np.repeat(case, SAMPLES), metric="latency", phase="steady", loops=1,
              duration_ns=(median * rng.lognormal(0, 0.02, len(median))).astype("int64"), block=block, sample=block, process=0)  # fmt: skip


def _repeated(value: Any, rows: int) -> pa.Array:
    """A column of one value, or of these values."""
    return (
        pa.array([value]).take(pa.array(np.zeros(rows, "int64"))) if isinstance(value, str | int) else pa.array(value)
    )
