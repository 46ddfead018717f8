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
    from .measure.functions.pytest_session import Measurements

BESIDE = "bench: nothing is measured beside xdist's processes. Measure with: -n 0"
MEASUREMENTS: "pytest.StashKey[Measurements]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that all begin with --bench."""
    group = parser.getgroup("bench", "bench: measure what tests give to the fixture `bench`")
    group.addoption("--bench", action="store_true", help="Measure and record it, rather than call it once.")
    group.addoption("--bench-only", action="store_true", help="The same, and run no other tests.")
    group.addoption("--bench-against", metavar="RUN", help="The same, and fail tests that are slower than in this run: a run "
                    "id, config or commit; `previous` for the run before of the same config.")  # fmt: skip
    group.addoption(
        "--bench-floor", metavar="SHARE", help="Smallest change that counts. [the project's for the test, else 3%%]"
    )
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
    """Begin to measure if `--bench` was given; take the place of pytest-benchmark where it is not there."""
    if not config.pluginmanager.hasplugin("benchmark"):
        config.pluginmanager.register(BenchmarkFixture(), "bench-benchmark")
        config.addinivalue_line("markers", "benchmark: what tests of pytest-benchmark say; bench reads `group`.")
    if _wanted(config) and not _beside_others(config):
        from .measure.functions.pytest_session import Measurements

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
    """Say it below the results under -q, which prints no header."""
    if _wanted(config) and _beside_others(config) and config.get_verbosity() < 0:
        terminalreporter.write_line(BESIDE)


class Bench:
    """The fixture: calls a function, and returns what it returned.

    It has what tests of pytest-benchmark use: `pedantic`, `extra_info`, `group`, `name`, `stats` and `enabled`.
    """

    def __init__(self, node: pytest.Item, measurements: "Measurements | None") -> None:
        """Set the test, and what measures; without it each call is made once."""
        self._node, self._measurements = node, measurements
        self._used = False
        self.name, self.fullname = node.name, node.nodeid
        self.extra_info: dict[str, Any] = {}  # numbers become metrics of the case, texts labels
        mark = node.get_closest_marker("benchmark")
        self.group: str | None = mark.kwargs.get("group") if mark else None  # a parameter of the case
        self.params: dict[str, Any] | None = getattr(getattr(node, "callspec", None), "params", None)
        self.stats: CallStats | None = None  # after the call, if it was measured
        self.enabled = measurements is not None
        self.disabled = not self.enabled

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Measure `function(*args, **kwargs)`; its arguments are the same objects at every call.

        A coroutine is awaited; a generator is run to its end, and what it yields is returned as a list.

        Raises:
            RuntimeError: It was called before in this test.
        """
        __tracebackhide__ = True
        if self._measurements is None:
            return self._made(lambda: _once(function, args, kwargs))
        measurements = self._measurements
        return self._made(lambda: self._kept(measurements.measure(self._node, self.group, function, args, kwargs)))

    def pedantic(
        self, target: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
        setup: Callable[[], Any] | None = None, teardown: Callable[..., Any] | None = None, rounds: int = 1,
        warmup_rounds: int = 0, iterations: int = 1,
    ) -> Any:  # fmt: skip
        """Measure exactly so many rounds of so many iterations, with a set-up and a tear-down around each round.

        Raises:
            RuntimeError: It was called before in this test.
            ValueError: There is a set-up, which may give arguments, and more than one iteration; or no round.
        """
        __tracebackhide__ = True
        if setup is not None and iterations != 1:
            raise ValueError("a set-up is made for each round: leave iterations at 1")
        if min(rounds, iterations) < 1 or warmup_rounds < 0:
            raise ValueError("rounds and iterations are 1 or more, warmup_rounds 0 or more")
        if self._measurements is None:
            return self._made(lambda: _once_prepared(target, args, kwargs or {}, setup, teardown))
        measurements = self._measurements
        return self._made(
            lambda: self._kept(
                measurements.measure(
                    self._node, self.group, target, args, kwargs or {}, rounds=rounds, loops=iterations,
                    warmup=warmup_rounds, prepare=setup, clean=teardown,
                )
            )
        )  # fmt: skip

    def _made(self, call: Callable[[], Any]) -> Any:
        __tracebackhide__ = True
        if self._used:
            raise RuntimeError("the fixture measures one call a test. Write a test for each, or parametrize it.")
        self._used = True
        try:
            return call()
        except BaseException as error:  # sys.exit and pytest.fail among them
            raise error.with_traceback(_theirs(error.__traceback__)) from error.__cause__

    def _kept(self, measured: Any) -> Any:
        self.stats = CallStats([each / 1e9 for each in measured.times])
        return measured.result


class CallStats:
    """Statistics in seconds, by the names of pytest-benchmark."""

    def __init__(self, data: list[float]) -> None:
        """Sum up the times of single calls."""
        import statistics

        self.data, self.rounds = data, len(data)
        self.min, self.max = min(data), max(data)
        self.mean, self.median = statistics.fmean(data), statistics.median(data)
        self.stddev = statistics.stdev(data) if len(data) > 1 else 0.0
        self.ops = 1 / self.mean if self.mean else math.inf
        self.stats = self

    def __getitem__(self, name: str) -> float:
        """A statistic by its name."""
        value: float = getattr(self, name)
        return value


def _fixture(request: pytest.FixtureRequest) -> Generator[Bench, None, None]:
    measurements = request.config.stash.get(MEASUREMENTS, None)
    made = Bench(request.node, measurements)
    yield made
    if measurements is not None:
        measurements.note(request.node, made.extra_info)


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Generator[Bench, None, None]:
    """Measure a call: `result = bench(function, *args, **kwargs)`. Without --bench it is made once."""
    yield from _fixture(request)


class BenchmarkFixture:
    """The fixture by the name that pytest-benchmark has for it, where that plugin is not there."""

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> Generator[Bench, None, None]:
        """Measure a call, as the fixture `bench` does."""
        yield from _fixture(request)


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from where the function begins."""
    while trace and trace.tb_frame.f_code.co_filename.startswith(os.path.dirname(__file__) + os.sep):
        trace = trace.tb_next
    return trace


def _once_prepared(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], setup: Callable[[], Any] | None,
    teardown: Callable[..., Any] | None,
) -> Any:  # fmt: skip
    args, kwargs = (setup() if setup else None) or (args, kwargs)
    result = _once(function, args, kwargs)
    if teardown is not None:
        teardown(*args, **kwargs)
    return result


def _once(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .measure.functions.awaiting import finished

    return finished(function(*args, **kwargs), keep=True)
