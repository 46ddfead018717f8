"""The report of tests that use much processor time."""

import pytest

from . import processor_time

pytest_plugins = ["pytester"]

TESTS = """
import time
def test_dear():
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
def test_cheap(): time.sleep(0.1)
"""


@pytest.mark.parametrize(("marks", "count"), [("not exhaustive", 1), ("", 0)])
def test_a_test_above_the_limit_is_listed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, marks: str, count: int
) -> None:
    """By processor time, and where rare edges are left out."""
    monkeypatch.setattr(processor_time, "LIMIT_S", 0.15)  # far from both: the clock of `os.times` has ticks of 10 ms
    pytester.makepyfile(test_a=TESTS)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-m", marks, plugins=[processor_time])

    done.assert_outcomes(passed=2)
    assert [line.rpartition(" ")[2] for line in done.outlines if " s, above " in line] == [
        "test_a.py::test_dear"
    ] * count
