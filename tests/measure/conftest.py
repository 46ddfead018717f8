import mmap
import os
from pathlib import Path
from typing import Any

import pytest
from bench.measure.engine.workload import Workload


@pytest.fixture(autouse=True)
def workers_find_the_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are fresh processes: they import the fake program by this path."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    monkeypatch.delenv("BENCH_STORE", raising=False)


@pytest.fixture
def workload() -> Any:
    """A workload of the fake program; keyword arguments become its parameters."""

    def make(*backends: str, name: str = "fake", **parameters: Any) -> Workload:
        return Workload(
            suite="tests", name=name, target="", mode="inference", device="cpu", dtype="float32", batch_size=1,
            sequence_length=None, backends=backends or ("eager", "candidate"), parameters=parameters,
        )  # fmt: skip

    return make


def spike(size: int) -> None:
    """Touch so much memory, and give it back at once."""
    with mmap.mmap(-1, size) as memory:
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1
