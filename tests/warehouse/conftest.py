"""A bucket on loopback, and machines that share a store in it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from bench.warehouse.log import EventLog
from bench.warehouse.remote import mirror, object_store
from bench.warehouse.remote.mirror import pull, push
from bench.warehouse.store import Store

from ..builders import stored
from ..object_server import ObjectServer

SECRET = "planted/Secret+Key"


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    pytest.importorskip("obstore")
    pytest.importorskip("moto")
    server = ObjectServer()
    yield server
    server.stop()


@pytest.fixture
def server(object_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    """The server, reached by what the environment says."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", object_server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("BENCH_MIRRORS", str(tmp_path / "mirrors"))
    monkeypatch.delenv("BENCH_STORE", raising=False)
    monkeypatch.setitem(
        object_store.RETRY, "backoff", {**object_store.RETRY["backoff"], "init_backoff": timedelta(milliseconds=5)}
    )
    monkeypatch.setattr(mirror, "_away", {})
    monkeypatch.setattr(mirror, "_notified", set())
    yield object_server
    object_server.fault = None


@pytest.fixture
def url(server: ObjectServer, tmp_path: Path) -> str:
    """The address of a store that nobody wrote to yet."""
    return f"s3://bucket/{tmp_path.parent.name}/{tmp_path.name}"


@pytest.fixture
def machine(url: str, tmp_path: Path) -> Callable[[str], Store]:
    """The store as one of several machines has it, with a mirror of its own."""
    return lambda name: Store(tmp_path / "machines" / name, url)


def durations(store: Store) -> list[int]:
    """The durations of all timings, as a query finds them."""
    return [duration for (duration,) in stored("SELECT duration_ns FROM timings ORDER BY 1", store)]


def held(store: Store) -> list[int]:
    """The durations in a store's files of timings, with a pull before and a push behind, as a load has, and cheaper."""
    import pyarrow.parquet as pq

    with store.lock():
        pull(store)
        push(store)
    files = [file.path for file in EventLog(store).files() if file.table == "timings"]
    return sorted(n for path in files for n in pq.read_table(path).column("duration_ns").to_pylist())
