"""The run of the tests itself: its report of dear tests, and the shares of the exhaustive ones."""

from collections import Counter
from pathlib import Path

import pytest

from . import processor_time
from .conftest import Clone
from .exhaustive import share_of

pytest_plugins = ["pytester"]

DEAR_AND_CHEAP = """
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
    pytester.makepyfile(test_a=DEAR_AND_CHEAP)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-m", marks, plugins=[processor_time])

    done.assert_outcomes(passed=2)
    assert [line.rpartition(" ")[2] for line in done.outlines if " s, above " in line] == [
        "test_a.py::test_dear"
    ] * count


RARE_AND_USUAL = """
import pytest
@pytest.mark.exhaustive
@pytest.mark.parametrize("value", range(40))
def test_rare(value): pass
def test_usual(): pass
"""


def test_the_shares_together_are_all_tests_once(pytester: pytest.Pytester) -> None:
    """A test that is not exhaustive runs with each of them."""
    pytester.syspathinsert(Path(__file__).parents[1])
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_collection_modifyitems")
    pytester.makepyfile(test_a=RARE_AND_USUAL)
    ran = Counter[str]()
    for share in (1, 2, 3):
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", "--share", f"{share}/3")
        passed = [line.split()[0].rpartition("::")[2] for line in done.outlines if " PASSED" in line]
        assert 5 < len(passed) < 25
        ran.update(passed)

    assert ran == {"test_usual": 3} | {f"test_rare[{value}]": 1 for value in range(40)}


def test_a_test_keeps_its_share() -> None:
    assert [share_of(f"tests/test_a.py::test_{name}", 4) for name in "abcd"] == [2, 4, 2, 3]


def test_a_clone_may_have_any_name(pytester: pytest.Pytester) -> None:
    """The package in its root is imported as `bench` alone: what is called `bench-warehouse` is no package."""
    clone = pytester.mkdir("bench-warehouse")
    (clone / "tests").mkdir()
    (clone / "__init__.py").write_text("from .none import nothing")
    (clone / "tests" / "test_a.py").write_text("def test_a(): pass")
    options = ("-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={clone}", clone / "tests")

    pytester.runpytest_inprocess(*options, plugins=[Clone()]).assert_outcomes(passed=1)
    pytester.runpytest_inprocess(*options).assert_outcomes(errors=1)
