"""Work shared out among processes: every item once, with its place; a process that fails leaves its share to this one."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bench.query import shared_work
from bench.query.shared_work import share_out

WORK = """
import os, signal

def squares(items):
    for item in items:
        yield item * item, os.getpid()

def deadly(items, parent):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does for want of memory
    yield from items

def failing(items):
    for item in items:
        if item == 5:
            raise ValueError("five")
        yield item
"""


@pytest.fixture(autouse=True)
def work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A module that other processes find, too; on a machine of three processors."""
    monkeypatch.setattr(shared_work, "_processors", lambda: 3)
    (tmp_path / "work_of_a_test.py").write_text(WORK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "work_of_a_test", raising=False)
    return __import__("work_of_a_test")


@pytest.mark.parametrize(
    ("items", "shares", "processes"), [(0, 3, 0), (1, 1, 1), (2, 3, 2), (100, 0, 1), (100, 2, 2), (100, 50, 3)]
)
def test_every_item_is_done_once_and_keeps_its_place(work: Any, items: int, shares: int, processes: int) -> None:
    found = list(share_out(work.squares, range(items), shares))
    assert sorted((place, square) for place, (square, _) in found) == [(n, n * n) for n in range(items)]
    assert len({process for _, (_, process) in found}) == processes


def test_the_share_of_a_killed_process_is_done_here(work: Any) -> None:
    found = share_out(functools.partial(work.deadly, parent=os.getpid()), range(10), 3)
    assert sorted(found) == [(n, n) for n in range(10)]


def test_an_error_is_raised_as_by_one_process(work: Any) -> None:
    with pytest.raises(ValueError, match="five"):
        list(share_out(work.failing, range(10), 3))


def test_a_reader_that_stops_leaves_no_process_behind(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    parts = share_out(work.squares, range(10), 3)
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    assert len(started) == 2
    assert all(process.wait(10) is not None for process in started)


def test_an_interpreter_that_does_not_know_itself_works_alone(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", "")
    assert {process for _, (_, process) in share_out(work.squares, range(10), 3)} == {os.getpid()}
