"""How soon a store of ten million timings answers: a report's questions, a compare of two runs, and the shell's first word.

The store holds 200 nightly runs of 4 suites × 160 models × 5 backends, each case timed 16 times; for the report then its
compile time, its memory and its accuracy, too. Questions are asked warm, in one process, all rows fetched; beside them
pandas (if it is there) computes the same from the raw rows, which it reads from Parquet as a script does: only the columns
it needs, texts as categories, all runs. (Told which runs to read, it compares in a fifth less.) `bench sql` is cold.
What a question costs where there is nothing to read is the time of its plan: beside that of views as their files say.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from bench import sql
from bench.warehouse.database import Warehouse
from bench.warehouse.events import CaseRecord, Event, MemorySample, Metric, Outcome, Timing
from bench.warehouse.load import load
from bench.warehouse.snapshot import empty
from bench.warehouse.store import Store
from bench.warehouse.views import WHOLE, definition

from .figures import BENCH, Figures, python, weigh
from .nights import BACKENDS, COMPARE, REPORT, SAMPLES, Nights

RUNS = 200
AT_ONCE = 20  # runs written at a time
ROUNDS = 5
AXES = ("suite", "name", "mode", "device", "dtype", "backend", "batch_size")
NEWEST, BEFORE = f"run-{RUNS - 1:05}", f"run-{RUNS - 2:05}"
ATTACH = """
import sys, duckdb
connection = duckdb.connect()
connection.execute(f"ATTACH '{sys.argv[1]}' AS warehouse (READ_ONLY)")
print(connection.execute("select 1").fetchall())
"""


def measure(figures: Figures) -> None:
    """Ask an empty warehouse; fill a store, then ask that."""
    _plan(figures)
    against = "pandas from raw rows"
    with tempfile.TemporaryDirectory() as name:
        store = Store.find(Path(name) / "store").create()
        nights = Nights(store, RUNS, at_once=AT_ONCE)
        nights.time()
        reports, compares = _pandas(store) if find_spec("pandas") else (None, None)

        def ask(
            what: str, queries: tuple[str, ...], reference: Callable[[], object] | None, most: float | None
        ) -> None:
            load(store)
            with Warehouse.open(store) as warehouse:
                took = _best(lambda: [warehouse.rows(query) for query in nights.asked(queries)])
            figures.add(f"{what}, 10M timings", took * 1000, "ms", most=most, ratio_least=most and 10, against=against,
                        reference=_best(reference) * 1000 if reference else None)  # fmt: skip

        ask("a compare of two runs of 3,200 cases", COMPARE, compares, 50)
        nights.judge()
        ask("a report's questions", REPORT, reports, 300)
        ask("a compare of two runs, with compile times and memory", COMPARE, None, None)
        first = min(weigh([*BENCH, "sql", "select 1", "--store", str(store.root)]).seconds for _ in range(ROUNDS))
        bare = min(python(ATTACH, str(store.database)).seconds for _ in range(ROUNDS))
        figures.add('bench sql "select 1", 10M timings', first * 1000, "ms", most=300, reference=bare * 1000,
                    against="duckdb alone")  # fmt: skip


def _plan(figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "warehouse.duckdb"
        file.write_bytes(empty())
        with duckdb.connect(str(file)) as connection:
            asked = {
                view: _best(partial(_all_of, connection, view))
                for view in ("comparisons([], [])", "regression_findings([])")
            }
            for view in WHOLE:
                connection.execute(definition(sql.views()[view]).replace("CREATE", "CREATE OR REPLACE", 1))
            for view, seconds in asked.items():
                by_files = _best(partial(_all_of, connection, view))
                figures.add(f"{view}, empty store", seconds * 1000, "ms", reference=by_files * 1000, ratio_most=0.75,
                            against="by the files")  # fmt: skip


def _all_of(connection: duckdb.DuckDBPyConnection, view: str) -> object:
    return connection.execute(f"FROM {view}").fetchall()


def _best(ask: Callable[[], object]) -> float:
    """Seconds of the fastest of a few rounds, after one that does not count."""
    ask()
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask()
        took.append(time.perf_counter() - began)
    return min(took)


def _pandas(store: Store) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same in pandas, from Parquet: a report, a compare. Its speedups are plain ratios of medians, without intervals."""
    import pandas as pd
    import pyarrow.parquet as pq

    def raw(event: type[Event], *columns: str) -> Any:
        texts = [field.name for field in event.fields() if field.name in columns and field.type is str]
        table = pq.read_table(store.events / event.TABLE, columns=list(columns), read_dictionary=texts)
        return table.unify_dictionaries().to_pandas()

    def wide(rows: Any, column: str) -> Any:
        """One row per run, in order, and one column per case."""
        table = rows.groupby(["run_id", "case_id"], observed=True)[column].median().unstack("case_id")
        return table.set_axis(table.index.astype(str)).set_axis(table.columns.astype(str), axis=1).sort_index()

    def report() -> list[Any]:
        outcomes = raw(Outcome, "run_id", "case_id", "kind", "status")
        cases = raw(CaseRecord, "case_id", "suite", "name", "backend").drop_duplicates("case_id").set_index("case_id")
        medians = wide(raw(Timing, "run_id", "case_id", "duration_ns"), "duration_ns")
        compile_ns = wide(raw(Metric, "run_id", "case_id", "value"), "value")
        peak = wide(raw(MemorySample, "run_id", "case_id", "size_bytes"), "size_bytes")
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
        last, sides = [f"run-{number:05}" for number in range(RUNS - 50, RUNS)], [BEFORE, NEWEST]
        timings = raw(Timing, "run_id", "case_id", "duration_ns")
        logs = np.log(wide(timings[timings["run_id"].isin(last)], "duration_ns"))
        own, runs = 1.4826 / np.sqrt(2) * logs.diff().abs().median(), logs.count()
        noise = np.sqrt(((runs - 1) * own**2 + 8 * (own**2).median()) / (runs + 7))
        ours = timings[timings["run_id"].isin(sides)].sort_values("duration_ns")
        place = ours.groupby(["run_id", "case_id"], observed=True).cumcount()
        k = int((SAMPLES + 1 - 1.96 * np.sqrt(SAMPLES)) / 2)  # bounds of the median, as in cells
        bounds = [wide(ours[place == each], "duration_ns") for each in (k - 1, SAMPLES - k)]
        within = np.log(bounds[1] / bounds[0]) / (2 * 1.96)
        effect = logs.loc[BEFORE] - logs.loc[NEWEST]
        error = np.sqrt((within.clip(lower=noise, axis=1) ** 2).sum())
        low, high, margin = effect - 1.96 * error, effect + 1.96 * error, np.log(1.02)
        found = pd.DataFrame({"ratio": np.exp(effect), "low": np.exp(low), "high": np.exp(high), "z": effect / error})
        found["verdict"] = np.select(
            [(low >= -margin) & (high <= margin), (low > 0) & (effect >= margin), (high < 0) & (effect <= -margin)],
            ["SAME", "FASTER", "SLOWER"], "UNSURE",
        )  # fmt: skip
        axes = raw(CaseRecord, "case_id", *AXES).drop_duplicates("case_id").set_index("case_id")
        ended = raw(Outcome, "run_id", "case_id", "status")
        ended = ended[ended["run_id"].isin(sides)].astype(str).set_index(["case_id", "run_id"])
        return axes.join(found).join(ended["status"].unstack("run_id"))

    return report, compare
