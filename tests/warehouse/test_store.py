"""The store: found where one expects it, locked by one loader at a time, begun with an empty warehouse that is made once."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.warehouse import snapshot
from bench.warehouse.errors import BenchError, StoreBusy
from bench.warehouse.store import Store


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_STORE", raising=False)


def test_the_store_is_the_option_else_the_variable_else_the_nearest_upward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--store wins over $BENCH_STORE, that over a .bench above, and without any it is .bench here."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert Store.find().root == deep / ".bench"
    (tmp_path / ".bench").mkdir()
    assert Store.find().root == tmp_path / ".bench"
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "variable"))
    assert Store.find().root == tmp_path / "variable"
    assert Store.find(tmp_path / "option").root == tmp_path / "option"
    assert not (tmp_path / "option").exists()


def test_what_cannot_be_a_store_is_an_error(tmp_path: Path) -> None:
    """It says what is there and how to choose another; an empty path, of an unset variable, does not mean the nearest store."""
    with pytest.raises(BenchError, match="is empty"):
        Store.find("")
    with pytest.raises(BenchError, match=r"has a '\?' in its path"):
        Store.find(tmp_path / "what?" / "store")
    with pytest.raises(BenchError, match=r"has a '\\' in its path"):
        Store.find(tmp_path / "back\\slash" / "store")
    (tmp_path / "file").touch()
    with pytest.raises(BenchError, match=r"is a file.*--store"):
        Store.find(tmp_path / "file")
    with pytest.raises(BenchError, match="cannot create the store"):
        Store.find(tmp_path / "file" / "below").create()


def test_a_lock_that_cannot_be_written_is_an_error_with_its_place(tmp_path: Path) -> None:
    """No traceback where the store is not ours to write."""
    store = Store.find(tmp_path).create()
    (store.root / "lock").mkdir()
    with pytest.raises(BenchError, match=f"cannot write to the store {tmp_path}"), store.lock():
        pass


def test_a_pipe_is_no_lock(tmp_path: Path) -> None:
    """It is refused by its name; its descriptor is closed once, so that no other file is closed in its place."""
    store = Store(tmp_path / ".bench").create()
    os.mkfifo(store.root / "lock")
    with pytest.raises(BenchError, match="lock: it is not a regular file"), store.lock():
        pass


def test_one_loader_at_a_time(tmp_path: Path) -> None:
    """Who does not wait is told which process holds the lock; after the holder's death it is free."""
    script = (
        "import sys, time; from bench.warehouse.store import Store\n"
        f"with Store.find({str(tmp_path)!r}).lock(): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    store = Store.find(tmp_path)
    with pytest.raises(StoreBusy, match=f"process {holder.pid} is loading .* --no-wait"), store.lock(wait=False):
        pass
    said: list[str] = []

    def notify(sentence: str) -> None:
        said.append(sentence)
        holder.kill()

    with store.lock(notify=notify):
        assert (store.root / "lock").read_text() == str(os.getpid())
    holder.wait()
    holder.stdout.close()

    assert said == [f"waiting for process {holder.pid}, which is loading {tmp_path}"]


def test_who_has_not_said_who_it_is_is_another_process(tmp_path: Path) -> None:
    """Between its lock and its number there is a moment."""
    store = Store.find(tmp_path)
    with store.lock():
        (store.root / "lock").write_text("")
        with pytest.raises(StoreBusy, match=f"^another process is loading {tmp_path}"), store.lock(wait=False):
            pass


remade = snapshot._empty.__wrapped__  # the empty warehouse, as in a process of its own


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(snapshot, "_make_empty", [b"first", b"second"][::-1].pop)
    return tmp_path / "bench" / "empty"


def test_an_empty_warehouse_is_made_once_for_all_processes(cache: Path) -> None:
    """Another process reads what the first one made."""
    assert (remade(), remade()) == (b"first", b"first")


def test_a_damaged_empty_warehouse_is_made_anew(cache: Path) -> None:
    """A flipped bit is not copied into every new store."""
    remade()
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    assert (remade(), remade()) == (b"second", b"second")


def test_another_version_has_an_empty_warehouse_of_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of bench that take turns do not make it each time."""
    remade()
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "_made_by", lambda: "a newer bench")
        assert remade() == b"second"

    assert remade() == b"first"


def test_a_cache_that_cannot_be_written_is_done_without(cache: Path) -> None:
    """Each process makes its own."""
    cache.parent.write_text("in its place")

    assert (remade(), remade()) == (b"first", b"second")


def test_old_empty_warehouses_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache does not grow with every change of a view."""
    monkeypatch.setattr(snapshot, "CACHED", 2)
    monkeypatch.setattr(snapshot, "_make_empty", lambda: b"made")
    for version in range(4):
        monkeypatch.setattr(snapshot, "_made_by", lambda version=version: version)
        remade()

    assert len(list(cache.iterdir())) == 2


def test_a_full_disk_is_named_by_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that a command uses, such as one that is archived and its archive, either may be full."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)

    message = f"the store {tmp_path}: lock: No space left on device. Free some space"
    with pytest.raises(BenchError, match=message), Store(tmp_path).lock():
        pass
