"""A small store, recorded once: two runs of a config, one of another, with failures and scheduler steps."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.cli import cli
from bench.warehouse.recorder import run
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

AXES = {"suite": "builtin", "mode": "inference", "device": "cpu", "dtype": "float32", "batch_size": 8}


def record(store: Path, config: str, run_id: str, slowest_ns: int = 1000) -> None:
    """A run of two models; the second fails on inductor."""
    with run(config, store=store, run_id=run_id, suite="builtin") as recorder:
        for name in ("mlp", "lstm"):
            for backend, each in (("eager", slowest_ns), ("inductor", slowest_ns // 2)):
                case = recorder.case(name, backend=backend, **AXES)  # type: ignore[arg-type]
                for block in range(10):
                    case.timing((each + block) * 1000, details={"block": block, "process": 0})
                failed = (name, backend) == ("lstm", "inductor")
                case.outcome("OOM" if failed else "ok", reason="out of memory" if failed else None)
        for _ in range(25):
            recorder.schedule_chunk([512, 1, 1], schedule_ms=0.5, model_run_ms=20.0)


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The store."""
    folder = tmp_path_factory.mktemp("query") / ".bench"
    for config, run_id in (("main", "aaaa-1"), ("main", "aaaa-2"), ("fuse", "bbbb-1")):
        record(folder, config, run_id)
    return Store(folder)


Bench = Callable[..., Result]


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run a command line against that store."""
    monkeypatch.setenv("BENCH_STORE", str(store.root))

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, arguments, input=stdin, catch_exceptions=True)
        if result.exception is not None:  # beside a failed assertion of the output
            print(f"bench {arguments[0]} raised {result.exception!r}")
        return result

    return invoke
