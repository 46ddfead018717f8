"""What is printed of a function."""

import math
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.measure.engine.estimate import combined, process_estimate
from bench.measure.functions.report import FunctionResult, results
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.store import Store

from ...exhaustive import exhaustive


def recorded(
    folder: Path, *functions: tuple[str, str, list[int]]
) -> tuple[list[FunctionResult], list[tuple[Any, ...]]]:
    """Functions by name and how they ended, of which each process gives this time, give or take 1 ns.

    Returns:
        What is printed of them, and what can be selected.
    """
    store = Store(folder)
    with bench.run("a", suite="function", store=store, source="measure") as run:
        for name, status, processes in functions:
            case = run.case("work", suite="function", backend=name)
            for process, each_ns in enumerate(processes):
                for block in range(10):
                    case.timing(each_ns + block % 3 - 1, details={"process": process, "block": block})
            case.outcome(status)
    load(store)
    with Warehouse.open(store) as warehouse:
        query = "SELECT backend, ratio, low, high, blocks FROM function_results ORDER BY announced_at, line"
        return results(warehouse, run.run_id), warehouse.rows(query)


def measured(folder: Path, processes: list[int]) -> FunctionResult:
    """A function of which each process gives this time."""
    ((found,), _) = recorded(folder, ("work:parse", "ok", processes))
    return found


@exhaustive
def test_processes_of_two_kinds_widen_the_interval(tmp_path: Path) -> None:
    """The median is that of the kind which is in the majority; the interval covers a second run, which differs by 12 %."""
    one, other = (measured(tmp_path / str(slow), [10_000] * (10 - slow) + [11_200] * slow).time for slow in (4, 6))

    assert (one.ratio, other.ratio) == pytest.approx((10_000, 11_200), rel=1e-4)
    assert one.processes == other.processes == 10
    assert one.high > 10_000 * 1.12**0.4 and other.low < 10_000 * 1.12**0.6
    assert math.log(other.ratio / one.ratio) < math.hypot(
        math.log(one.high / one.ratio), math.log(other.ratio / other.low)
    )


def test_the_ratio_to_the_first_function_can_be_selected(tmp_path: Path) -> None:
    """It is what is printed; the interval is that of the processes, by the estimate that ends the sampling."""
    times = [10_000, 10_100, 10_300]
    found, rows = recorded(tmp_path, ("z:first", "ok", times), ("a:second", "ok", [each * 2 for each in times]))
    logs = [math.log((each + block % 3 - 1) / (2 * each + block % 3 - 1)) for each in times for block in range(10)]
    expected = combined([process_estimate(logs[start : start + 10]) for start in (0, 10, 20)])

    assert rows[0] == ("z:first", None, None, None, None)
    assert rows[1][1:] == found[1].values()[-4:]
    assert rows[1][1:4] == pytest.approx((expected.ratio, expected.low, expected.high), rel=1e-6)
    assert rows[1][4] == expected.n == 30


@exhaustive
@pytest.mark.parametrize("failed", ["first", "second"])
def test_where_a_function_failed_nothing_is_compared_with_it(tmp_path: Path, failed: str) -> None:
    """The next one does not take its place: a ratio would be to another function than that which the command names."""
    functions = [(name, "fail_to_run" if name == failed else "ok", [1000, 1010]) for name in ("first", "second")]
    found, rows = recorded(tmp_path, *functions, ("third", "ok", [500, 505]))

    assert [row[1] is None for row in rows] == [True, True, failed == "first"]
    assert [one.against is None for one in found] == [row[1] is None for row in rows]


@exhaustive
def test_a_function_that_failed_before_its_first_sample_stays_the_reference(tmp_path: Path) -> None:
    """Others have no ratio, rather than one to each other."""
    _, rows = recorded(tmp_path, ("first", "fail_to_run", []), ("b", "ok", [1000]), ("c", "ok", [500]))

    assert [row[1] for row in rows] == [None, None, None]
