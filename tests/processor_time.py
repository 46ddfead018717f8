"""A report of the tests that use much processor time: wall time says little on a machine that others use, too."""

import os
from typing import Any

import pytest

LIMIT_S = 2.0
_begun = pytest.StashKey[float]()
_NAME = "processor_s"


def used_s() -> float:
    """Processor time of this process, and of all that it started and waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_begun] = used_s()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    """Processes of xdist hand over what a test notes about itself."""
    try:
        return (yield)
    finally:
        item.user_properties.append((_NAME, used_s() - item.stash[_begun]))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """List them, where rare edges are left out; nothing fails, for a busy machine makes every test dearer."""
    ended = [report for several in terminalreporter.stats.values() for report in several if _is_last(report)]
    costs = sorted(((dict(report.user_properties).get(_NAME, 0.0), report.nodeid) for report in ended), reverse=True)
    if ended and "not exhaustive" in config.option.markexpr:
        terminalreporter.write_line(f"processor time of the tests: {sum(cost for cost, _ in costs):.0f} s")
        for cost, name in costs:
            if cost > LIMIT_S:
                terminalreporter.write_line(f"{cost:5.1f} s, above {LIMIT_S:.0f} s: cheaper, or exhaustive? {name}")


def _is_last(report: object) -> bool:
    return isinstance(report, pytest.TestReport) and report.when == "teardown"
