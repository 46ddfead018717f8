"""An exception of a signal handler reaches its caller, wherever it comes; each event is there once and no part is missing."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.warehouse import journal, recorder
from bench.warehouse.journals.reader import read
from bench.warehouse.recorder import Run

from ...exhaustive import first_of, sampled
from .interrupting import interrupted_at


class Raised(Exception):
    """What a signal handler raises."""


def raises_at(number: int, call: Callable[[], Any]) -> bool:
    """Call a function, and raise at one of the places of the journal and the recorder; False if it ends before."""
    try:
        interrupted_at(number, call, _raise)
    except Raised:
        return True
    return False


def _raise() -> None:
    raise Raised


def drain_twice(run: Run) -> None:
    """Either window."""
    run._journal.drain()
    run._journal.drain()


def rotate(run: Run) -> None:
    """Record into a journal that is full."""
    recorder.ROTATE_BYTES = 0  # type: ignore[attr-defined]
    run.case("c").timing(-1)


WAYS: dict[str, Callable[[Run], object]] = {  # what may be interrupted
    "drain": lambda run: run._journal.drain(),
    "drain twice": drain_twice,
    "rotate": rotate,
    "close": lambda run: run.close(seal=False),
}


@pytest.mark.parametrize("every", first_of(1, [7, 1]))
@pytest.mark.parametrize("name", sampled([*WAYS], "rotate"))
def test_an_exception_at_any_place_loses_nothing(
    name: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2,154 a window in 266 was told lost, and a journal stayed locked."""
    rotate_bytes = journal.ROTATE_BYTES
    for number in itertools.count(0, every):
        monkeypatch.setattr(recorder, "ROTATE_BYTES", rotate_bytes)
        run = bench.run("a", store=tmp_path)
        case = run.case("c")
        for sample in range(3):
            case.timing(sample)
        is_over = not raises_at(number, lambda: WAYS[name](run))  # noqa: B023
        monkeypatch.setattr(recorder, "ROTATE_BYTES", rotate_bytes)
        if name != "close":
            for sample in range(3, 6):
                run.case("c").timing(sample)
                run._journal.drain()
        run.close(seal=False)
        for each in (*run._rotated, run._journal):
            each.close()
        found = sorted(durations(run))
        expected = list(range(3 if name == "close" else 6))

        assert [duration for duration in found if duration >= 0] == expected, number
        assert found.count(-1) <= 1
        if is_over:
            break
    assert number > 30


def durations(run: Run) -> Iterator[int]:
    """The durations in the journals of a run, none of them damaged."""
    for each in (*run._rotated, run._journal):
        contents = read(each.path)
        for rows in itertools.chain.from_iterable(contents.parts()):
            if rows.layout.table == "timings":
                yield from rows.columns["duration_ns"].values.tolist()
        assert contents.damage == []
