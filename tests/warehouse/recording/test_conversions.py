"""What runs while a value is converted may record, too: each window still defines the texts that its rows name."""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.warehouse.events import Outcome
from bench.warehouse.journals.parts import find_parts
from bench.warehouse.journals.reader import Contents
from bench.warehouse.recorder import Case, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...exhaustive import at_most, first_of
from .interrupting import interrupted_at

Act = Callable[[], None]


class Number:
    """A number whose conversion does something else first."""

    def __init__(self, value: int, act: Act) -> None:
        self.value, self.act = value, act

    def __index__(self) -> int:
        self.act()
        return self.value

    def __float__(self) -> float:
        self.act()
        return float(self.value)


class Text(str):
    """A text that does something else when it is looked up."""

    act: Act

    def __hash__(self) -> int:
        self.act()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


def text(value: str, act: Act) -> Text:
    made = Text(value)
    made.act = act
    return made


Way = Callable[[Run, Case, Act], object]
WAYS: dict[str, Way] = {
    "timing": lambda _, case, act: case.timing(Number(1, act)),  # type: ignore[arg-type]
    "timing with details": lambda _, case, act: case.timing(1, details={"block": Number(2, act)}),  # type: ignore[dict-item]
    "timing of a metric": lambda _, case, act: case.timing(1, metric=text("copy", act)),
    "timings": lambda _, case, act: case.timings({"latency": Number(1, act), "wait": Number(2, act)}),  # type: ignore[dict-item]
    "metric": lambda _, case, act: case.metric("loss", Number(1, act), unit="nats"),  # type: ignore[arg-type]
    "metric of a unit": lambda _, case, act: case.metric("loss", 1, unit=text("nats", act)),
    "memory": lambda _, case, act: case.memory(Number(1, act), source="rss"),  # type: ignore[arg-type]
    "outcome": lambda _, case, act: case.outcome("ok", exit_code=Number(0, act), reason=text("none", act)),
    "event": lambda run, case, act: run.emit(
        Outcome(run_id=run.run_id, case_id=text(case.case_id, act), status="ok")  # said once a run
    ),
    "case": lambda run, _, act: run.case("another", mode=text("training", act), batch_size=Number(8, act)),  # type: ignore[arg-type]
    "scheduler step": lambda run, _, act: run.schedule_chunk([Number(4, act)], schedule_ms=Number(1, act)),  # type: ignore[list-item,arg-type]
}


def unreadable_alone(run: Run) -> dict[str, int]:
    """By part of the run's journals, the rows that name a text which this part does not define."""
    found = {}
    for journal in (*run._rotated, run._journal):
        with journal.path.open("rb") as file:
            parts = find_parts(file, journal.path)
        for number, part in parts.parts.items():
            alone = Contents(journal.path, dataclasses.replace(parts, parts={number: part}))
            list(alone.parts())
            if alone.lost:
                found[f"{journal.path.name} {number}"] = alone.lost
    return found


def busy(run: Run, emptied: int) -> Act:
    """What records rows of other texts and empties windows, once in a row."""
    is_at_work = False

    def act() -> None:
        nonlocal is_at_work
        if is_at_work:
            return
        is_at_work = True
        for _ in range(emptied):
            run.case("other").metric("of the other", 1)
            run._journal.drain()
        is_at_work = False

    return act


CALLS = st.tuples(st.sampled_from(sorted(WAYS)), st.integers(0, 4))


@settings(max_examples=at_most(100), suppress_health_check=list(HealthCheck), deadline=None)
@given(calls=st.lists(CALLS, min_size=1, max_size=12))
def test_windows_emptied_while_a_value_is_converted_define_their_texts(
    calls: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A row lay in a frame whose texts stood in an earlier one: where that was damaged, so was the row."""
    run = bench.run("busy", store=tmp_path_factory.mktemp("store"))
    case = run.case("c")
    for name, emptied in calls:
        WAYS[name](run, case, busy(run, emptied))
    run.close(seal=False)

    assert unreadable_alone(run) == {}


@pytest.mark.parametrize("every", first_of(1, [7, 1]))
@pytest.mark.parametrize(
    "name", first_of(3, ["timing", "metric", "timings", *sorted({*WAYS} - {"timing", "metric", "timings"})])
)
def test_a_handler_that_empties_windows_leaves_each_its_texts(name: str, every: int, tmp_path: Path) -> None:
    """A signal handler, or another thread, comes between any two instructions of the recorder."""
    run = bench.run("busy", store=tmp_path)
    case = run.case("c")
    nothing: Any = lambda: None  # noqa: E731
    for number in itertools.count(0, every):
        act = busy(run, 2 + number % 2)
        if is_short := number % 4 > 0:
            WAYS[name](run, case, nothing)  # so that the next one goes the short way, which is over sooner
        if not interrupted_at(number, lambda: WAYS[name](run, case, nothing), act) and not is_short:
            break
    run.close(seal=False)

    assert number > 6
    assert unreadable_alone(run) == {}
