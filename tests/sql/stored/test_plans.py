"""Plans: what DuckDB makes of the views once there are rows to be clever with."""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from bench import sql
from bench.warehouse.events import CaseRecord, Outcome, RunRecord, Timing
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from bench.warehouse.views import TOUCH

from ...builders import case, outcome, run, timing

RUNS, WORKS, BLOCKS = 2, 150, 12
ROWS = RUNS * WORKS * 2 * BLOCKS


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse of two runs of 150 models on two backends, each timed in 12 blocks."""
    store = Store.find(tmp_path_factory.mktemp("plans") / "store").create()
    log = EventLog(store)
    runs = [f"run-{number}" for number in range(RUNS)]
    cases = [
        case(f"model-{work}", run=run_id, backend=backend)
        for run_id in runs for work in range(WORKS) for backend in ("eager", "inductor")
    ]  # fmt: skip
    log.write(RunRecord, [run(run_id) for run_id in runs], "runs")
    log.write(CaseRecord, cases, "cases")
    log.write(Outcome, [outcome(each) for each in cases], "ends")
    timings = [timing(each, 1_000_000 + 7 * block, block=block) for each in cases for block in range(BLOCKS)]
    log.write(Timing, timings, "timings")
    load(store)
    with duckdb.connect(str(store.database)) as connection:
        connection.execute(TOUCH, [runs])
        yield connection


@pytest.mark.parametrize(
    "name", [*sql.tables(), *(name for name, view in sql.views().items() if view.arguments is None)]
)
def test_no_step_holds_many_times_the_rows_there_are(measured: duckdb.DuckDBPyConnection, name: str) -> None:
    """A join by the number of a block alone would hold the square of the cases: 10 million timings filled a disk so."""
    body = sql.tables()[name].body if name in sql.tables() else f"FROM {name}"
    ((_, text),) = measured.execute(f"EXPLAIN (ANALYZE, FORMAT json) {body}").fetchall()
    assert most_rows(json.loads(text)) <= 8 * ROWS


def most_rows(plan: Any) -> int:
    """The rows of the operator that has the most, in the words of any version of DuckDB."""
    if not isinstance(plan, dict):
        return max(map(most_rows, plan), default=0) if isinstance(plan, list) else 0
    own = [plan.get(word) or 0 for word in ("intermediate_rows", "operator_cardinality")]
    return max(*own, *map(most_rows, plan.values()))
