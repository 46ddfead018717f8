"""Fixtures that every room's tests share."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.warehouse.database import Warehouse
from hypothesis import HealthCheck, settings

from .builders import Builder, Tables, derived_in
from .exhaustive import share_of
from .processor_time import pytest_runtest_setup, pytest_runtest_teardown, pytest_terminal_summary  # noqa: F401 - hooks
from .warm import Warm, server

# A file runs whole in one process of xdist, for its tests share what takes long to make, and files of a group likewise.
TOGETHER = {
    "tests/sql/test_spark.py": "spark",  # one Java
    "tests/sql/test_dialects.py": "spark",  # one translation of all views
}

# A commit passes or fails always: examples follow from the code. No property claims how long it takes, which differs.
settings.register_profile("exhaustive", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("bench", settings.get_profile("exhaustive"), max_examples=12)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer a share of the exhaustive tests: all of them take too long for every commit."""
    parser.addoption("--share", metavar="K/N", help="of the exhaustive tests only the Kth of N equal shares")


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples of a property where all exhaustive tests run.

    Ctrl-C means the same to what tests start, wherever they run: a job in the background is begun without.
    """
    is_sample = "not exhaustive" in config.option.markexpr or config.option.share
    settings.load_profile("bench" if is_sample else "exhaustive")
    Builder.optimizes = not is_sample  # as large warehouses do
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # while thousands of tests are collected, none of which is garbage
    config.pluginmanager.register(Clone())  # the hook of a conftest.py is called for what lies below it only


class Clone:
    """The folder of a clone holds the package, and is none itself: its name may be `bench-warehouse`."""

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == parent.config.rootpath else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the exhaustive tests of other shares."""
    if config.option.share:
        share, shares = map(int, config.option.share.split("/"))
        left_out = {
            item for item in items if item.get_closest_marker("exhaustive") and share_of(item.nodeid, shares) != share
        }
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Collections of garbage pass over what all tests share: modules and thousands of tests stay to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let go of all that pytest knows when the process ends.

    Hypothesis times the garbage collector by a callback, which is among the last things that the interpreter lets go. It
    leads to pytest's configuration, and so to every fixture; DuckDB would report its classes among them as leaked.
    """
    gc.callbacks.clear()
    Tables.spare.clear()
    Tables.lent.clear()


@pytest.hookimpl(optionalhook=True)  # xdist need not be there
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, since many tests wait for a process of theirs; more than eight only start up longer."""
    return min(8, (os.cpu_count() or 1) + 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give out files, those of most tests first, so that no core is left with a long one at the end.

    `--dist loadgroup` would read marks, which pytest 9.2 no longer lets it (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return TOGETHER.get(file, file)

    return Scheduler(config, log)


@pytest.fixture(autouse=True)
def measurements_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that measure run on all cores at once; the machine's lock has tests of its own."""
    monkeypatch.setenv("BENCH_LOCK", "off")


@pytest.fixture
def warehouse() -> Builder:
    """An empty warehouse."""
    return Builder()


@pytest.fixture
def derived() -> None:
    """Loads compute the derived tables all the same, in a module with `nothing_derived`."""


@pytest.fixture
def nothing_derived(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads compute no table from the events, which is half of their time; a question that reads one fails.

    Exhaustive tests load as users do.
    """
    if "derived" in request.fixturenames or request.node.get_closest_marker("exhaustive"):
        return
    monkeypatch.setattr("bench.warehouse.load.compute_derived", lambda connection, run_ids: None)
    rows = Warehouse.rows

    def of_events(warehouse: Warehouse, query: str, parameters: object = ()) -> list[tuple[Any, ...]]:
        assert not derived_in(query), f"{query} reads {', '.join(derived_in(query))}, of which this test has nothing"
        return rows(warehouse, query, parameters)

    monkeypatch.setattr(Warehouse, "rows", of_events)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Run `bench` or a script in a process of its own, without the imports that every start would do again."""
    with server() as run:
        yield run


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real result files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("BENCH_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("real result files are absent; set BENCH_SHARED_DATA to their folder")
    return folder
