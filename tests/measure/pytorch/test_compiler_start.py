"""The start of the compiler: what one worker leaves of it is there for the next, and nothing that a model compiled is."""

import functools
import platform
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

from bench.measure.pytorch.compiler_start import KEPT, load, shared
from torch._inductor import codecache, config, cpu_vec_isa


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
    kept = {"start/a/probe.cpp": "1", "start/a/probe.so": "2", "headers/x.h": "3"}
    kept |= {"headers/x.h.gch": "4", "headers/x.h.pch": "5"}  # of gcc and of clang
    graphs = {"start/fxgraph/g/key": "6", "headers/locks/x.lock": "", "inductor/b/kernel.so": "7"}

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


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("broken", "asked", "found"),
    [
        ("", ["avx512 new"], ["avx512 new", "avx512", "avx2"]),
        ("avx512 new", ["avx512 new", "avx512", "avx2"], ["avx512", "avx2"]),
    ],
)
def test_older_instructions_are_tried_only_where_the_best_do_not_compile(
    broken: str, asked: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the processor lacks are never tried, and Inductor finds the same as without bench, in the same order."""
    compiled: list[str] = []

    @dataclass(frozen=True)
    class Instructions:
        name: str

        def __str__(self) -> str:
            return self.name

        def __bool__(self) -> bool:
            if config.cpp.vec_isa_ok is None and self.name not in compiled:
                compiled.append(self.name)
            return bool(config.cpp.vec_isa_ok) or self.name != broken

    valid = functools.cache(cpu_vec_isa.valid_vec_isa_list.__wrapped__)
    known = [Instructions(name) for name in ("avx512 newest", "avx512 new", "avx512", "avx2", "asimd")]
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", valid)
    monkeypatch.setattr(cpu_vec_isa, "supported_vec_isa_list", known)
    monkeypatch.setattr(cpu_vec_isa, "x86_isa_checker", lambda: ["avx2", "avx512", "new"])
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    load()

    assert [str(one) for one in valid()] == found
    assert compiled == asked
    assert config.cpp.vec_isa_ok is None


def test_a_torch_without_these_instructions_loads_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names within torch may change; then Inductor looks for itself, as it would without bench."""
    monkeypatch.delattr(cpu_vec_isa, "x86_isa_checker")

    load()
