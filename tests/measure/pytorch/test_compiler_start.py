"""The start of the compiler: what one worker leaves of it is there for the next, and nothing that a model compiled is."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from bench.measure.pytorch.compiler_start import KEPT, shared
from torch._inductor import codecache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bench" / "compiler-start"


def worker(folder: Path, monkeypatch: pytest.MonkeyPatch, leaves: dict[str, str]) -> set[str]:
    """Start a compiler in a worker's empty folder, which writes files beside those that it finds; what it found."""
    monkeypatch.setattr(codecache, "_HEADER_DIR", str(folder / "headers"))
    with shared(folder / "start"):
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        for name, text in leaves.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return found


def test_the_next_worker_finds_probes_and_headers(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But no cached graph, and nothing of what was compiled later or elsewhere."""
    first, second = tmp_path / "first", tmp_path / "second"
    kept = {"start/a/probe.cpp": "1", "start/a/probe.so": "2", "headers/x.h": "3", "headers/x.h.gch": "4"}
    graphs = {"start/fxgraph/g/key": "5", "headers/locks/x.lock": "", "inductor/b/kernel.so": "6"}

    assert worker(first, monkeypatch, kept | graphs) == set()
    (first / "headers" / "later.h").write_text("by a model")
    worker(first, monkeypatch, {})  # for another backend
    assert worker(second, monkeypatch, {}) == set(kept)
    assert (second / "start/a/probe.so").read_text() == "2"
    assert not list(cache.rglob(".*")), "no file is left half"


def test_old_versions_give_way(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header is 150 MB, so those of a few versions of torch are kept, and a user without a cache has none."""
    for number in range(9):
        monkeypatch.setattr("torch.__version__", f"2.{number}")
        worker(tmp_path / str(number), monkeypatch, {"headers/x.h": "1"})
    assert len(list(cache.iterdir())) == KEPT

    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert worker(tmp_path / "homeless", monkeypatch, {"headers/x.h": "1"}) == set()
