"""Fixtures that every room's tests share."""

import os
from pathlib import Path

import pytest

from .builders import Builder


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
