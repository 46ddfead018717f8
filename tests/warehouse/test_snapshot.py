"""The empty warehouse: made once for all processes of a user, and never taken from a cache that may be wrong."""

from pathlib import Path

import pytest
from bench.warehouse import snapshot

remade = snapshot._empty.__wrapped__  # as in a process of its own


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(snapshot, "_make_empty", [b"first", b"second"][::-1].pop)
    return tmp_path / "bench" / "empty"


def test_it_is_made_once_for_all_processes(cache: Path) -> None:
    """Another process reads what the first one made."""
    assert (remade(), remade()) == (b"first", b"first")


def test_a_damaged_one_is_made_anew(cache: Path) -> None:
    """A flipped bit is not copied into every new store."""
    remade()
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    assert (remade(), remade()) == (b"second", b"second")


def test_another_version_has_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of bench that take turns do not make it each time."""
    remade()
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "_made_by", lambda: "a newer bench")
        assert remade() == b"second"

    assert remade() == b"first"


def test_a_cache_that_cannot_be_written_is_done_without(cache: Path) -> None:
    """It is an error of nobody's."""
    cache.parent.write_text("in its place")

    assert (remade(), remade()) == (b"first", b"second")


def test_old_ones_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache does not grow with every change of a view."""
    monkeypatch.setattr(snapshot, "CACHED", 2)
    monkeypatch.setattr(snapshot, "_make_empty", lambda: b"made")
    for version in range(4):
        monkeypatch.setattr(snapshot, "_made_by", lambda version=version: version)
        remade()

    assert len(list(cache.iterdir())) == 2
