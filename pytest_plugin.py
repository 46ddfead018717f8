"""The pytest plugin: a fixture that measures a call, records it, and fails a test that has become slower.

    def test_sort(bench):
        assert bench(sorted, [3, 1, 2]) == [1, 2, 3]

Without `--bench` the call is made once and nothing else happens: no measuring code is imported.
Under xdist nothing is measured, because its processes would disturb each other.
"""

import math
import os
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .pytest_session import Measurements

BESIDE = "bench: nothing is measured beside xdist's processes. Measure with: -n 0"
MEASUREMENTS: "pytest.StashKey[Measurements]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that all begin with --bench."""
    group = parser.getgroup("bench", "bench: measure what tests give to the fixture `bench`")
    group.addoption("--bench", action="store_true", help="Measure and record it, rather than call it once.")
    group.addoption("--bench-only", action="store_true", help="The same, and run no other tests.")
    group.addoption("--bench-against", metavar="RUN", help="The same, and fail tests that are slower than in this run: a run "
                    "id, config or commit; `previous` for the run before of the same config.")  # fmt: skip
    group.addoption("--bench-floor", metavar="SHARE", help="Smallest change that counts. [the project's, else 5%%]")
    group.addoption("--bench-precision", metavar="SHARE", default="1%",
                    help="Half-width of the 95 %% interval of a time at which to stop. [1%%]")  # fmt: skip
    group.addoption(
        "--bench-budget", metavar="SECONDS", type=seconds, default=1.0, help="Most time to sample a test. [1]"
    )
    group.addoption("--bench-config", metavar="LABEL", help="Label to compare this run by. [the git branch]")
    group.addoption("--bench-store", metavar="DIR", help="Store to record into. [as for every command of bench]")


def seconds(text: str) -> float:
    """A budget, as an option says it; the name is in pytest's message."""
    if not 0 < float(text) < math.inf:  # nan would never be spent
        raise ValueError
    return float(text)


def _wanted(config: pytest.Config) -> bool:
    return bool(config.getoption("bench") or config.getoption("bench_only") or config.getoption("bench_against"))


def _beside_others(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput") or config.getoption("dist", "no") != "no"


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure if `--bench` was given."""
    if _wanted(config) and not _beside_others(config):
        from .pytest_session import Measurements

        config.stash[MEASUREMENTS] = Measurements(config)
        config.pluginmanager.register(config.stash[MEASUREMENTS], "bench-measurements")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report the settings if `--bench` was given."""
    if not _wanted(config):
        return None
    if _beside_others(config):
        return BESIDE
    return f"bench: measuring into {config.stash[MEASUREMENTS].store}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With -q there is no header."""
    if _wanted(config) and _beside_others(config) and config.get_verbosity() < 0:
        terminalreporter.write_line(BESIDE)


class Bench:
    """The fixture: calls a function, and returns what it returned."""

    def __init__(self, measure: Callable[..., Any]) -> None:
        """Set the function that makes the call."""
        self._measure = measure
        self._used = False

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Measure `function(*args, **kwargs)`; its arguments are the same objects at every call.

        A coroutine is awaited; a generator is run to its end, and what it yields is returned as a list.

        Raises:
            RuntimeError: It was called before in this test.
        """
        __tracebackhide__ = True
        if self._used:
            raise RuntimeError("`bench` measures one call a test. Write a test for each, or parametrize it.")
        self._used = True
        try:
            return self._measure(function, args, kwargs)
        except BaseException as error:  # sys.exit and pytest.fail among them
            raise error.with_traceback(_theirs(error.__traceback__)) from error.__cause__


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Generator[Bench, None, None]:
    """Measure a call: `result = bench(function, *args, **kwargs)`. Without --bench it is made once."""
    measurements = request.config.stash.get(MEASUREMENTS, None)
    if measurements is None:
        yield Bench(_once)
    else:
        node = request.node
        yield Bench(lambda *call: measurements.measure(node, *call))


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from where the function begins."""
    while trace and trace.tb_frame.f_code.co_filename.startswith(os.path.dirname(__file__) + os.sep):
        trace = trace.tb_next
    return trace


def _once(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .measure.functions.awaiting import finished

    return finished(function(*args, **kwargs), keep=True)
