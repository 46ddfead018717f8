"""Users who share a store: what one leaves another can use, and what he cannot use stops nobody."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ANNA, BERT, TEAM = 61_234, 61_235, 61_236  # users and their group; the system knows none of them
COUNT = ("sql", "SELECT count(*) AS n FROM timings", "--format", "csv")
LINES = [
    COUNT, ("runs",), ("cases",), ("views",), ("show", "one"), ("report", "one"), ("sources",), ("recover",),
    ("compact",),
]  # fmt: skip
RECORD = "record"  # a run, and die: of the words to run

# Does what its input says as the user whom it names. Python's own files may be hidden from that user, so all is imported first,
# by doing it.
RUNNER = f"""
import contextlib, io, json, os, sys, tempfile
import bench, bench.cli

def do(words):
    if words[0] == {RECORD!r}:
        bench.run(words[1], store=words[3]).case("c").timing(5)
        os._exit(1)
    sys.argv = ["bench", *words]
    try:
        bench.cli.main()
    except SystemExit as error:
        return int(error.code or 0)

quiet = io.StringIO()
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
    with bench.run("one", store=folder) as run:
        run.case("c").timing(5)
    if not os.fork():
        do([{RECORD!r}, "one", "--store", folder])
    os.wait()
    for line in {[list(line) for line in LINES]!r}:
        do([*line, "--store", folder])
for line in sys.stdin:
    user, group, umask, words = json.loads(line)
    out, err = os.memfd_create("out"), os.memfd_create("err")
    child = os.fork()
    if not child:
        os.dup2(out, 1), os.dup2(err, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        os.umask(umask), os.setgroups([]), os.setgid(group), os.setuid(user)
        code = 99
        try:
            code = do(words)
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = [os.pread(file, 1 << 20, 0).decode() for file in (out, err)]
    os.close(out), os.close(err)
    print(json.dumps([code, *said]), flush=True)
os._exit(0)
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def store() -> Iterator[Path]:
    """A folder that all can reach, which pytest's own are not, and that the team may write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    root = folder / "store"
    root.mkdir()
    os.chown(root, ANNA, TEAM)
    root.chmod(0o2775)
    yield root
    shutil.rmtree(folder)


Told = tuple[int, str, str]  # exit code, stdout, stderr


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., Told]]:
    """Run a command line as another user, or record a run and die; the usual mask would keep all from others."""
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as runner:
        assert runner.stdin and runner.stdout

        def run(user: int, store: Path, *words: str, umask: int = 0o077) -> Told:
            assert runner.stdin and runner.stdout
            runner.stdin.write(json.dumps([user, TEAM, umask, [*words, "--store", str(store)]]) + "\n")
            runner.stdin.flush()
            code, out, err = json.loads(runner.stdout.readline())
            return code, out, err

        yield run
        runner.stdin.close()


def modes(store: Path) -> set[tuple[bool, str, int]]:
    """Of all files and folders of a store: whether it is a folder, its permissions, and its group."""
    about = [path.stat() for path in store.rglob("*")]
    return {(stat.S_ISDIR(each.st_mode), f"{stat.S_IMODE(each.st_mode):o}", each.st_gid) for each in about}


@pytest.mark.exhaustive
def test_new_files_take_after_the_folder_of_the_store(store: Path, ask: Callable[..., Told]) -> None:
    """Permissions and group, whatever the mask of the user says, and for the next user who loads and merges."""
    assert ask(ANNA, store, RECORD, "one")[0] == 1
    assert modes(store) == {(True, "2775", TEAM), (False, "664", TEAM)}
    assert ask(BERT, store, *COUNT)[1:] == ("n\n1\n", "")
    assert ask(BERT, store, RECORD, "two")[0] == 1
    assert ask(ANNA, store, "compact")[0] == 0

    assert ask(BERT, store, *COUNT)[1:] == ("n\n2\n", "")
    assert modes(store) == {(True, "2775", TEAM), (False, "664", TEAM)}
    assert not list((store / "journal").iterdir())


def test_a_private_store_stays_private(store: Path, ask: Callable[..., Told]) -> None:
    """A mask that lets all read makes no file of it readable."""
    store.chmod(0o700)
    ask(ANNA, store, RECORD, "one", umask=0o022)
    assert ask(ANNA, store, *COUNT, umask=0o022)[1] == "n\n1\n"
    assert modes(store) == {(True, "700", TEAM), (False, "600", TEAM)}


@pytest.mark.exhaustive
def test_a_store_that_may_not_be_read_says_so(store: Path, ask: Callable[..., Told]) -> None:
    """And does not speak of a file in it that need not be there."""
    store.chmod(0o700)
    code, out, err = ask(BERT, store, *COUNT)

    assert (code, out) == (2, "")
    assert err.startswith(f"Error: cannot read the store {store}: Permission denied. Ask who may read it")


@pytest.mark.exhaustive
def test_who_may_only_read_can_ask_everything(store: Path, ask: Callable[..., Told]) -> None:
    """From what was loaded last; that a dead journal waits for another is a sentence on stderr."""
    store.chmod(0o755)
    ask(ANNA, store, RECORD, "one")
    assert ask(ANNA, store, *COUNT)[1] == "n\n1\n"
    ask(ANNA, store, RECORD, "two")
    for line in LINES[:-2]:
        code, out, err = ask(BERT, store, *line)
        assert (code, bool(out)) == (0, True), (line, out, err)
        assert err.startswith("note: what was recorded last is not in this answer: cannot write to the store")
    assert ask(ANNA, store, *COUNT)[1:] == ("n\n2\n", "")


@pytest.mark.exhaustive
def test_who_may_only_read_can_ask_what_nobody_has_loaded(store: Path, ask: Callable[..., Told]) -> None:
    """From a warehouse of his own, which is gone afterwards; what is said says so."""
    store.chmod(0o755)
    ask(ANNA, store, RECORD, "one")
    ask(ANNA, store, "recover")
    ask(ANNA, store, RECORD, "two")
    (store / "warehouse.duckdb").unlink()
    left = sorted(store.rglob("*"))
    for line in LINES[:-2]:
        code, out, err = ask(BERT, store, *line)
        assert (code, bool(out)) == (0, True), (line, out, err)
        assert err.startswith(
            f"note: {store} cannot be written: it is loaded anew for each question, without what is in 1 j"
        )
    assert ask(BERT, store, *COUNT)[1] == "n\n1\n"
    code, out, err = ask(BERT, store, "verify")
    assert (code, out.splitlines()[-1]) == (0, "what was checked is well")
    assert "note: what was recorded last is not checked" in err
    assert sorted(store.rglob("*")) == left


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("folder", "mode"), [("journal", 0o600), ("journal", 0o644), ("sticky", 0o600), ("sticky", 0o666)]
)
def test_a_dead_journal_of_another_user_blocks_nobody(
    folder: str, mode: int, store: Path, ask: Callable[..., Told]
) -> None:
    """A file that cannot be read, or not removed, is named; all else is loaded, and the events count once."""
    ask(BERT, store, RECORD, "mine")
    ask(ANNA, store, RECORD, "hers")
    for path in (store / "journal").iterdir():
        if path.stat().st_uid == ANNA:
            hers = path
    hers.chmod(mode)
    if folder == "sticky":
        os.chown(store / "journal", 0, TEAM)
        (store / "journal").chmod(0o1777)
    found = "2" if folder == "sticky" and mode == 0o666 else "1"
    for unchecked in (
        True,
        found == "2",
    ):  # his at the first question, hers at each one for as long as she leaves it there
        code, out, err = ask(BERT, store, *COUNT)
        assert (code, out) == (0, f"n\n{found}\n"), err
        assert err.startswith(f"note: {hers.name} ") and err.count("\n") == 1 + unchecked
        assert ("recovered without a checksum" in err) == unchecked
    assert ask(BERT, store, "recover")[0] == 1
    assert ask(BERT, store, RECORD, "again")[0] == 1
    assert ask(BERT, store, *COUNT)[1] == f"n\n{int(found) + 1}\n"
    code, out, err = ask(0, store, *COUNT)
    assert (out, err.count("\n")) == ("n\n3\n", 1) and "recovered without a checksum" in err
