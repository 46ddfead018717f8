"""What is printed of a function."""

import math
from pathlib import Path

import bench
import pytest
from bench.measure.functions.report import FunctionResult, results
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.store import Store


def measured(folder: Path, processes: list[int]) -> FunctionResult:
    """A function of which each process gives this time, give or take 1 ns."""
    store = Store(folder)
    with bench.run("a", suite="function", store=store, source="measure") as run:
        case = run.case("work:parse", suite="function", backend="work:parse")
        for process, each_ns in enumerate(processes):
            for block in range(10):
                case.timing(each_ns + block % 3 - 1, details={"process": process, "block": block})
        case.outcome("ok")
    load(store)
    with Warehouse.open(store) as warehouse:
        (found,) = results(warehouse, run.run_id)
    return found


def test_processes_of_two_kinds_widen_the_interval(tmp_path: Path) -> None:
    """The median is that of the kind which is in the majority; the interval covers a second run, which differs by 12 %."""
    one, other = (measured(tmp_path / str(slow), [10_000] * (10 - slow) + [11_200] * slow).time for slow in (4, 6))

    assert (one.ratio, other.ratio) == pytest.approx((10_000, 11_200), rel=1e-4)
    assert one.processes == other.processes == 10
    assert one.high > 10_000 * 1.12**0.4 and other.low < 10_000 * 1.12**0.6
    assert math.log(other.ratio / one.ratio) < math.hypot(
        math.log(one.high / one.ratio), math.log(other.ratio / other.low)
    )
