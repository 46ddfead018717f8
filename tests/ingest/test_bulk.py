"""Many samples at once become what they would become one by one."""

from typing import Any

import numpy as np
import pytest
from bench.ingest.readers import bulk
from bench.ingest.registry import formats
from bench.warehouse.events import CaseRecord, Timing
from bench.warehouse.log import ROWS_TOGETHER, EventLog
from bench.warehouse.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..exhaustive import at_most
from .formats.reading import lay, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

NUMBERS = st.one_of(
    st.floats(0, 1e-3, allow_subnormal=False), st.floats(0, 1e6), st.integers(0, 10**6), st.just(1e300), st.just(-1.0),
    st.just(float("nan")), st.just(10**400), st.sampled_from([None, "0.5", True]),
)  # fmt: skip


@settings(max_examples=at_most(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=8),
    clean=st.booleans(),
    loops=st.sampled_from([1, 7, None, 0, 10**30]),
)
def test_it_is_the_same_row_by_row(tmp_path: Any, values: list[Any], clean: bool, loops: int | None) -> None:
    """Values, units, texts, sample numbers and tables, for whatever values."""
    if clean:
        values = [value for value in values if type(value) is float and 0 <= value < 1e6]
    lay(tmp_path, {"x.json": {"benchmarks": [{"name": "a", "fullname": "a", "stats": {
        "min": 1, "mean": 1, "data": values, "iterations": loops,
    }}], "machine_info": {}, "commit_info": {}, "datetime": "2024-01-01"}})  # fmt: skip
    kind = formats()["pytest-benchmark"]
    with pytest.MonkeyPatch.context() as patch:
        one_by_one = read_file(kind, tmp_path / "x.json")
        patch.setattr(bulk, "MANY", 1)
        at_once = read_file(kind, tmp_path / "x.json")

    assert sorted(map(repr, one_by_one.events)) == sorted(repr_of(event) for event in at_once.events)


def repr_of(event: Any) -> str:
    """An event as text, with plain numbers for those of numpy."""
    values = {name: getattr(event, name) for name in type(event).__dataclass_fields__}
    return repr(
        type(event)(**{key: value.item() if isinstance(value, np.generic) else value for key, value in values.items()})
    )


def test_rows_and_events_are_written_together(tmp_path: Any) -> None:
    """Few or many, one value stands for all, also one that is no Unicode; what is not named is NULL."""
    log = EventLog(Store(tmp_path / "store").create())
    with log.batch("x") as batch:
        batch.add(CaseRecord(run_id="r", case_id="c", name="n"))
        batch.add(Timing(run_id="r", case_id="c", duration_ns=1))
        for count in (2, ROWS_TOGETHER, 1):
            columns = {"run_id": "r", "case_id": "\ud800", "metric": "m", "phase": "steady", "loops": 2}
            batch.add_rows(Timing, {**columns, "duration_ns": np.arange(3, 3 + count)}, count)
        batch.finish()
    import pyarrow.parquet as pq

    (file,) = [file for file in log.files() if file.table == "timings"]
    table = pq.read_table(file.path).select(["case_id", "metric", "loops", "duration_ns", "sample"])
    rows = sorted((tuple(row.values()) for row in table.to_pylist()), key=lambda row: row[3])
    assert rows[:5] == [("c", "latency", 1, 1, None), *[("\\ud800", "m", 2, 3, None)] * 3, ("\\ud800", "m", 2, 4, None)]
    assert len(rows) == 1 + 2 + ROWS_TOGETHER + 1
