"""Fixtures that every room's tests share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .builders import Builder

# No property claims how long it takes: on a busy machine that differs.
settings.register_profile("bench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bench")


def pytest_configure() -> None:
    """Have Ctrl-C mean the same to what tests start, wherever they run: a job in the background is begun without."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # xdist need not be there
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, since many tests wait for a process of theirs; more than eight only start up longer."""
    return min(8, (os.cpu_count() or 1) + 1)


@pytest.fixture(autouse=True)
def measurements_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that measure run on all cores at once; the machine's lock has tests of its own."""
    monkeypatch.setenv("BENCH_LOCK", "off")


@pytest.fixture
def warehouse() -> Builder:
    """An empty warehouse in memory."""
    return Builder()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real result files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("BENCH_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("real result files are absent; set BENCH_SHARED_DATA to their folder")
    return folder
