"""A store to ingest into, and questions to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.run import IngestReport, ingest
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

Load = Callable[..., IngestReport]
Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "store").create()


@pytest.fixture
def load(store: Store) -> Load:
    """Ingest paths into the store."""
    return lambda *paths, **options: ingest(store, [str(path) for path in paths], **options)


@pytest.fixture
def rows(store: Store) -> Rows:
    """Ask the store's warehouse."""

    def ask(query: str) -> list[tuple[Any, ...]]:
        with Warehouse.open(store) as warehouse:
            return warehouse.rows(query)

    return ask
