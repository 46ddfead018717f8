"""Views of a line trace: ranks, totals, the order of steps."""

from typing import Any

from bench.warehouse import events

from ..builders import Builder, case, memory, metric, run
from ..exhaustive import exhaustive

CASE = case("train.py")


def line(number: int, *, increase: int = 0, decrease: int = 0, transient: int = 0, **fields: Any) -> events.MemoryLine:
    """A line of train.py; 100 bytes were in use before it."""
    sizes: dict[str, Any] = {
        "start_bytes": 100,
        "peak_bytes": 100 + increase + transient,
        "end_bytes": 100 + increase - decrease,
    }
    return events.MemoryLine(
        run_id="run", case_id=CASE.case_id, file="train.py", line=number, hits=1, transient_bytes=transient,
        **{**sizes, "increase_bytes": increase, "decrease_bytes": decrease, **fields},
    )  # fmt: skip


def step(number: int, size: int, place: str | None = "train.py:1") -> events.MemorySample:
    """A reading of the trace."""
    return memory(CASE, size, statistic="reading", place=place, line=number)


def test_lines_are_ranked_by_growth_and_by_transient(warehouse: Builder) -> None:
    """Both ends of growth; a line without a transient has no rank among them."""
    warehouse.add(run(), CASE, line(1, increase=50), line(2, decrease=40), line(3, transient=30), line(4, increase=9))

    found = warehouse.rows(
        "SELECT line, growth_bytes, growth_rank, shrink_rank, transient_rank FROM line_memory ORDER BY 1"
    )

    assert found == [(1, 50, 1, 4, None), (2, -40, 4, 1, None), (3, 0, 3, 2, 1), (4, 9, 2, 3, None)]


def test_each_kind_of_memory_is_ranked_by_itself(warehouse: Builder) -> None:
    """A GPU's lines do not push the host's away; a line without source is the host's."""
    gpu: dict[str, Any] = {"source": "cuda_allocated", "device_index": 0}
    warehouse.add(run(), CASE, line(1, increase=5), line(1, increase=50, **gpu), line(2, increase=40, **gpu))

    found = warehouse.rows("SELECT source, device_index, line, growth_rank FROM line_memory ORDER BY source, line")

    assert found == [("cuda_allocated", 0, 1, 1), ("cuda_allocated", 0, 2, 2), ("rss", None, 1, 1)]


def test_a_line_of_another_writer_grew_from_start_to_end(warehouse: Builder) -> None:
    """It said no sums."""
    warehouse.add(run(), CASE, line(1, increase_bytes=None, decrease_bytes=None, start_bytes=10, end_bytes=13))

    assert warehouse.rows("SELECT growth_bytes FROM line_memory") == [(3,)]


def test_steps_are_in_order_with_their_changes(warehouse: Builder) -> None:
    """Readings that no trace made are none."""
    warehouse.add(run(), CASE, step(2, 30), step(1, 10), step(3, 25), step(4, 99, place=None))

    assert warehouse.rows("SELECT step, size_bytes, change_bytes FROM memory_steps ORDER BY step") == [
        (1, 10, None), (2, 30, 20), (3, 25, -5),
    ]  # fmt: skip


@exhaustive
def test_totals_hold_the_whole_trace(warehouse: Builder) -> None:
    """Also of a trace in which no line ran."""
    warehouse.add(run(), CASE, step(1, 10), step(2, 30, "train.py:7"), step(3, 25), line(1, increase=50, decrease=4))
    names = "start_bytes, peak_bytes, end_bytes, peak_place, increase_bytes, decrease_bytes"

    assert warehouse.rows(f"SELECT {names} FROM memory_totals") == [(10, 30, 25, "train.py:7", 50, 4)]
    none = Builder().add(run(), CASE, step(1, 10))
    assert none.rows(f"SELECT {names} FROM memory_totals") == [(10, 10, 10, "train.py:1", None, None)]


def test_cpu_and_gpus_are_added_up_by_line(warehouse: Builder) -> None:
    """Two GPUs count together; a line that used none has none; the sum ranks."""
    gpus: list[dict[str, Any]] = [{"source": "cuda_allocated", "device_index": index} for index in (0, 1)]
    warehouse.add(
        run(),
        CASE,
        line(1, increase=5, decrease=1),
        *(line(1, increase=10, **gpu) for gpu in gpus),
        line(2, increase=30),
    )

    found = warehouse.rows(
        "SELECT line, cpu_increase_bytes, gpu_increase_bytes, increase_bytes, cpu_growth_bytes, gpu_growth_bytes, growth_bytes,"
        " growth_rank FROM line_memory_sums ORDER BY 1"
    )

    assert found == [(1, 5, 20, 25, 4, 20, 24, 2), (2, 30, None, 30, 30, None, 30, 1)]


def test_a_trace_beside_a_measurement_is_none_of_its_peaks(warehouse: Builder) -> None:
    """Its readings are in sequence as those of a program's own trace; the peak is what was measured without it."""
    readings = [
        memory(CASE, size, statistic="reading", place="m.py:1", line=n, phase="traced")
        for n, size in ((1, 900), (2, 950))
    ]
    warehouse.add(run(), CASE, memory(CASE, 500), *readings)

    assert warehouse.rows("SELECT peak_bytes FROM peak_memory") == [(500,)]
    assert warehouse.rows("SELECT change_bytes FROM memory_steps ORDER BY step") == [(None,), (50,)]


def test_traces_are_listed_with_those_that_failed(warehouse: Builder) -> None:
    """With the reason; their lines are 0."""
    failed = case("other")
    warehouse.add(
        run(), CASE, failed, line(1, increase=5), metric(failed, "trace_lines", None, original_value="timeout: 5 s")
    )

    found = warehouse.rows("SELECT name, lines, growth_bytes, reason FROM line_traces ORDER BY 1")
    assert found == [("other", 0, 0, "timeout: 5 s"), ("train.py", 1, 5, None)]
