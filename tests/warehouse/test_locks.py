"""Disks without file locks, full ones and read-only ones: what works there, and what is said."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from bench import cli
from bench.measure.system import machine_lock
from bench.warehouse import locks, snapshot
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, DiskFull, Exit, NoLocks, NotWritable, StoreBusy
from bench.warehouse.interruption import breakable
from bench.warehouse.load import load, rebuild
from bench.warehouse.locks import claim, claim_of, claimed, holder_lives, process_of
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import run
from bench.warehouse.store import HOLDER, Store
from bench.warehouse.upkeep import healing

from ..exhaustive import exhaustive, first_of
from ..ingest.records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")

# What is loaded before all libraries, and refuses locks of files in one folder: DuckDB takes locks of its own.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuses(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (strncmp(path, getenv("NO_LOCKS_IN"), strlen(getenv("NO_LOCKS_IN")))) return 0;
    errno = atoi(getenv("NO_LOCKS_ERRNO"));
    return 1;
}
int flock(int file, int how) {
    return refuses(file) ? -1 : ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(file, how);
}
#define CONTROL(name) int name(int file, int what, ...) { \\
    va_list rest; va_start(rest, what); void *argument = va_arg(rest, void *); va_end(rest); \\
    if ((what == F_SETLK || what == F_SETLKW || what == F_GETLK) && refuses(file)) return -1; \\
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #name))(file, what, argument); }
CONTROL(fcntl)
CONTROL(fcntl64)
"""


class Lockless:
    """A connection that attaches no file of a folder, because its disk has no locks."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)

    def execute(self, statement: str, *arguments: object) -> object:
        if statement.startswith(f"ATTACH '{self._folder}"):
            reason = os.strerror(errno.ENOLCK)
            raise duckdb.IOException(f'IO Error: Could not set lock on file "{self._folder}/x": {reason}.')
        return self._connection.execute(statement, *arguments)


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every lock of a file fails as on NFS without lockd, here, in DuckDB and in what is forked."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    monkeypatch.setattr(snapshot, "breakable", lambda connection: Lockless(breakable(connection), tmp_path))


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("code", first_of(1, [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP]))
def test_commands_work_where_the_disk_refuses_every_lock(code: int, tmp_path: Path) -> None:
    """Measured, asked, loaded, merged, copied and derived anew: also what DuckDB opens, which takes locks by itself."""
    source, shim, store = tmp_path / "shim.c", tmp_path / "shim.so", tmp_path / "disk" / "store"
    source.write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    store.parent.mkdir()
    (tmp_path / "steps.jsonl").write_text(lines(*map(step, range(3))))
    variables = {"LD_PRELOAD": str(shim), "NO_LOCKS_IN": str(store.parent), "NO_LOCKS_ERRNO": str(code)}

    def tell(*words: str) -> str:
        line = [sys.executable, "-m", "bench", *words]
        done = subprocess.run(line, cwd=store.parent, env={**os.environ, **variables}, capture_output=True, text=True)
        assert done.returncode == 0 and " lock" not in done.stderr, (line, done.stderr)
        return done.stdout

    for line in (
        "measure command --repeat 2 --config a --store store -- true", "show --store store",
        f"ingest B:{tmp_path / 'steps.jsonl'} --store store", "store compact --store store", "forget a --yes --store store",
        "store rebuild --store store", "store sync store other", "store verify --store other",
    ):  # fmt: skip
        tell(*line.split())

    query = ("sql", "SELECT count(*) FROM schedule_chunks", "--format", "csv", "--store")
    assert [tell(*query, name).split()[-1] for name in ("store", "other")] == ["3", "3"]
    assert [path.name for path in store.rglob("*") if path.name.startswith(".warehouse")] == []


def test_a_folder_for_temporary_files_without_locks_has_its_code_and_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole warehouse was taken for a damaged one and removed, or the error was one of bench's own."""
    store = Store(tmp_path / "store")
    with run("main", store=store.root):
        pass
    load(store)
    whole = store.database.read_bytes()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(snapshot, "breakable", lambda connection: Lockless(breakable(connection), tmp_path))
    with run("other", store=store.root):
        pass

    for ask in (load, rebuild, Warehouse.open):
        with pytest.raises(NoLocks, match="set TMPDIR") as error:
            ask(store)
        assert error.value.exit_code == Exit.NO_LOCKS
    assert store.database.read_bytes() == whole


def forked(work: Callable[[], None]) -> int:
    """A child that works and then waits to be killed; it is at work when this returns."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # where the test fails nobody ends it
        with contextlib.suppress(BaseException):
            work()
            os.write(writer, b"x")
            signal.pause()
        os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    return child


def end(child: int) -> None:
    """Kill a child, and wait for its end."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def durations(store: Store) -> list[int]:
    """What was recorded."""
    with Warehouse.open(store) as warehouse:
        return [ns for (ns,) in warehouse.rows("SELECT duration_ns FROM timings ORDER BY 1")]


@pytest.mark.usefixtures("no_locks")
def test_a_disk_without_locks_records_and_answers(tmp_path: Path) -> None:
    """Run after run, each question with what was recorded before it; nothing is left of the files that stand for locks."""
    store = Store(tmp_path / "store")
    for number in (1, 2):
        with run("main", store=store.root) as recorder:
            recorder.case("m").timing(number)
        assert durations(store) == [*range(1, number + 1)]

    left = {path.name for path in store.root.rglob("*") if path.is_file()}
    assert not left & {HOLDER, *(name for name in left if name.endswith((".writer", ".journal")))}


@pytest.mark.exhaustive
@pytest.mark.usefixtures("no_locks")
def test_without_locks_a_journal_is_sealed_when_its_writer_is_gone_and_no_sooner(tmp_path: Path) -> None:
    """A process that lives is told by its number and when it began."""
    store = Store(tmp_path / "store")
    with run("first", store=store.root):
        pass

    def record() -> None:
        recorder = run("main", store=store.root)
        recorder.case("m").timing(7)

    child = forked(record)
    assert durations(store) == []
    assert len(EventLog(store).journals()) == 1

    end(child)
    assert durations(store) == [7]
    assert not [*store.journals.iterdir()]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("no_locks")
def test_without_locks_one_process_loads_at_a_time(tmp_path: Path) -> None:
    """The other is told who does, asks from the last load, and takes over when that one was killed."""
    store = Store(tmp_path / "store")
    with run("main", store=store.root) as recorder:
        recorder.case("m").timing(7)
    assert durations(store) == [7]

    held = store.lock()

    child = forked(held.__enter__)
    with run("main", store=store.root) as recorder:
        recorder.case("m").timing(8)
    with pytest.raises(StoreBusy, match=f"process {child} is loading"):
        load(store, wait=False)
    assert durations(store) == [7]

    end(child)
    assert durations(store) == [7, 8]


def test_a_holder_on_another_machine_is_judged_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It touches its file; one that nobody touched for ten minutes is free."""
    path = tmp_path / HOLDER
    path.write_text(json.dumps({"host": "far", "boot": "x", "processes": "y", "pid": 1, "started": "5"}))
    assert process_of(path) == "process 1 on far"
    with pytest.raises(BlockingIOError):
        claim(path)

    os.utime(path, (0, 0))
    claim(path)
    with claimed(path):
        assert holder_lives(path, path)
        monkeypatch.setattr(locks, "_started", lambda _: None)
        assert not holder_lives(path, path)
    assert [*tmp_path.iterdir()] in ([], [path])


def test_the_file_of_a_holder_that_is_damaged_is_free_when_it_is_old(tmp_path: Path) -> None:
    """Killed between making and writing it."""
    path = tmp_path / HOLDER
    path.write_text("")
    assert holder_lives(path, path)

    os.utime(path, (0, 0))
    claim(path)
    assert claim_of(tmp_path / "a.journal") == tmp_path / "a.writer"


@pytest.mark.usefixtures("no_locks")
def test_measuring_says_where_the_lock_may_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's lock is on a disk that ought to have locks."""
    monkeypatch.delenv("BENCH_LOCK_HELD", raising=False)
    monkeypatch.setenv("BENCH_LOCK_FILE", str(tmp_path / "machine.lock"))
    with pytest.raises(NoLocks, match="BENCH_LOCK_FILE") as error, machine_lock.alone("wait"):
        pass

    assert error.value.exit_code == Exit.NO_LOCKS


@pytest.mark.parametrize("code", first_of(1, [errno.ENOSPC, errno.EDQUOT, errno.EROFS]))
def test_a_store_that_takes_nothing_more_answers_from_its_last_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    """With a waiting journal, on a full disk as on a read-only one; a note says what is missing."""
    store = Store(tmp_path / f"store{code}")
    with run("main", store=store.root) as recorder:
        recorder.case("m").timing(7)
    assert durations(store) == [7]
    with run("main", store=store.root) as recorder:
        recorder.case("m").timing(8)

    def full(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(shutil, "copyfile", full)  # of the warehouse
    assert durations(store) == [7]
    assert (
        f"not in this answer: cannot build the warehouse in {store.root}: {os.strerror(code)}"
        in capsys.readouterr().err
    )

    monkeypatch.undo()
    assert durations(store) == [7, 8]


@exhaustive
def test_a_copied_store_on_a_read_only_disk_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files have other times than when they were loaded, and nothing new; one that is damaged is told."""
    store = Store(tmp_path / "store")
    with run("main", store=store.root) as recorder:
        recorder.case("m").timing(7)
    assert durations(store) == [7]
    (path,) = (store.events / "timings").iterdir()
    os.utime(path, (1, 1))

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(shutil, "copyfile", refused)
    assert (durations(store), capsys.readouterr().err) == ([7], "")
    whole = path.read_bytes()
    for damaged in (whole[:100], bytes([*whole[:100], whole[100] ^ 1, *whole[101:]])):
        path.write_bytes(damaged)
        healing._noted.clear()
        assert durations(store) == [7]
        assert f"{path.name} was damaged after it was loaded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [(errno.ENOSPC, DiskFull, 74), (errno.EDQUOT, DiskFull, 74), (errno.EROFS, NotWritable, 77)],
)
def test_a_disk_that_cannot_be_written_has_a_class_and_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[BenchError], exit_code: int
) -> None:
    """The same for making a store, locking it and building its warehouse."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        with pytest.raises(kind) as made:
            Store(tmp_path / "new").create()
    store = Store(tmp_path / "store").create()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(kind) as locked, store.lock():
            pass
    built = snapshot.cannot_build(store, os.strerror(code))

    assert {made.value.exit_code, locked.value.exit_code, built.exit_code} == {exit_code}
    assert isinstance(built, kind)


def test_the_command_line_ends_with_that_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever says that the disk is full: Python, Arrow or DuckDB."""

    def full(**_: object) -> None:
        raise RuntimeError(f"IO Error: {os.strerror(errno.ENOSPC)}")

    monkeypatch.setattr(cli.cli, "main", full)
    monkeypatch.setattr(sys, "argv", ["bench"])
    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == Exit.FULL
    assert "Free some space" in capsys.readouterr().err
