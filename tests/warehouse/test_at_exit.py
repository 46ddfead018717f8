"""A run that is left open when its process ends is sealed and uploaded, whichever way it ends and whatever is installed."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ..exhaustive import first_of, sampled
from .conftest import held
from .test_remote_store import Machine

BEGIN = """
import os, sys, threading, time
from sys import exit as leave
from pathlib import Path
import bench
from bench.warehouse.store import Store
run = bench.run("open", store=Store(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
case = run.case("c")
case.timing(1)
"""

UNKNOWN_CODE = "SystemExit: its code is not known; sys.exit or `with bench.run()` would tell it"

# How a process may end: its last lines, the run's outcome and the timings that are there.
ENDS = {
    "falls off the end": ("", ("ok", None), [1]),
    "sys.exit": ("sys.exit(3)", ("failed", "SystemExit: 3"), [1]),
    "sys.exit with words": ("def main(): sys.exit('no')\nmain()", ("failed", "SystemExit: no"), [1]),
    "sys.exit of success": ("sys.exit()", ("ok", None), [1]),
    "sys.exit past finally and with": (
        "try:\n  with open(os.devnull): sys.exit(3)\nfinally: print()", ("failed", "SystemExit: 3"), [1],
    ),
    "sys.exit that is caught": ("try: sys.exit(3)\nexcept SystemExit: pass", ("ok", None), [1]),
    "sys.exit that a function catches": (
        "def work():\n  try: sys.exit(3)\n  except SystemExit: raise ValueError from None\n"
        "try: work()\nexcept ValueError: pass", ("ok", None), [1],
    ),
    "sys.exit of a thread": (
        "thread = threading.Thread(target=sys.exit, args=(3,)); thread.start(); thread.join()", ("ok", None), [1],
    ),
    "exit": ("exit(3)", ("failed", "SystemExit: 3"), [1]),
    "quit of success": ("quit()", ("ok", None), [1]),
    "exit that was imported before": ("leave(3)", ("failed", "SystemExit: 3"), [1]),
    "raise SystemExit": ("if case:\n  raise SystemExit(\n    3)", ("failed", "SystemExit: 3"), [1]),
    "raise SystemExit of success": ("raise SystemExit", ("ok", None), [1]),
    "raise SystemExit with words": ("raise SystemExit(f'no {case}')", ("failed", UNKNOWN_CODE), [1]),
    "raise SystemExit of a function": ("def main(): raise SystemExit(3)\nmain()", ("failed", UNKNOWN_CODE), [1]),
    "raise SystemExit that is caught": (
        "def main(): raise SystemExit(3)\ntry: main()\nexcept SystemExit: pass", ("ok", None), [1],
    ),
    "raise SystemExit of what main returns": ("raise SystemExit(int('0'))", ("ok", None), [1]),
    "an exception": ("1 / 0", ("failed", "ZeroDivisionError: division by zero"), [1]),
    "Ctrl-C": ("raise KeyboardInterrupt", ("interrupted", "KeyboardInterrupt"), [1]),
    "sys.exit within with": ("with run: sys.exit(3)", ("failed", "SystemExit: 3"), [1]),
    "success within with": ("with run: sys.exit()", ("ok", None), [1]),
    "another thread ends last": (
        "threading.Thread(target=lambda: (time.sleep(0.2), case.timing(2))).start()", ("ok", None), [1, 2],
    ),
    "a daemon records on": (
        "go = threading.Event()\ndef work():\n  case.timing(2)\n  go.set()\n  time.sleep(100)\n"
        "threading.Thread(target=work, daemon=True).start(); go.wait()", ("ok", None), [1, 2],
    ),
    "a thread fails": (
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()", ("ok", None), [1],
    ),
    "a forked child ends as well": (
        "child = os.fork()\nif not child:\n  case.timing(2)\n  sys.exit()\nos.waitpid(child, 0)", ("ok", None), [1, 2],
    ),
    "a forked child outlives it": (
        "child = os.fork()\nif not child:\n  time.sleep(0.3)\n  case.timing(2)\n  sys.exit()", ("ok", None), [1, 2],
    ),
    "forgotten by a function": (
        "def work(): bench.run('again', store=sys.argv[1]).case('c').timing(2)\nwork()", ("ok", None), [1, 2],
    ),
    "begun at exit": (
        "import atexit\natexit.register(lambda: bench.run('late', store=sys.argv[1]).case('c').timing(2))",
        ("ok", None), [1, 2],
    ),
}  # fmt: skip


@pytest.fixture
def pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pandas that cannot be imported while the interpreter ends, as the real one cannot: it begins a pool of threads."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "pandas.py").write_text('raise RuntimeError("can\'t register atexit after shutdown")')
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")


def end(last_lines: str, root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a script that records into this folder."""
    script = root.with_name("script.py")
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(BEGIN + last_lines)
    return subprocess.run([sys.executable, script, root, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.usefixtures("pandas")
@pytest.mark.parametrize(
    "last_lines, outcome, durations",
    sampled([*ENDS.values()], ENDS["falls off the end"]),
    ids=ENDS,
)
def test_a_run_left_open_is_sealed(
    last_lines: str, outcome: tuple[str, str | None], durations: list[int], tmp_path: Path
) -> None:
    """Every event is in the log, the run has its outcome, and nothing is said but what Python itself says."""
    store = Store.find(tmp_path / "store")
    done = end(last_lines, store.root)

    assert EventLog(store).journals() == []
    assert "bench" not in done.stderr
    load(store)
    with Warehouse.open(store) as warehouse:
        assert [(value,) for value in durations] == warehouse.rows("SELECT duration_ns FROM timings ORDER BY 1")
        query = "SELECT DISTINCT status, reason FROM outcomes WHERE case_id IS NULL"
        assert [outcome] == warehouse.rows(query)


@pytest.mark.usefixtures("pandas", "nothing_derived")
@pytest.mark.parametrize("last_lines", sampled(["", "sys.exit(1)", "1 / 0"], ""), ids=["end", "sys.exit", "exception"])
def test_a_run_left_open_is_uploaded(last_lines: str, machine: Machine, url: str) -> None:
    """Others find it in the bucket at once, though at exit no thread can be started any more."""
    end(last_lines, machine("a").root, url)

    assert held(machine("b")) == [1]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "problem", first_of(1, ["RuntimeError('no import now')", "KeyboardInterrupt", "OSError(28, 'No space left')"])
)
def test_a_journal_that_cannot_be_sealed_at_exit_stays_for_the_next_command(problem: str, tmp_path: Path) -> None:
    """The process says so in one line without a traceback, and no event is lost."""
    store = Store.find(tmp_path / "store")
    fail = f"from bench.warehouse import log\ndef fail(*_): raise {problem}\nlog.seal_journal = fail"
    done = end(fail, store.root)

    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "could not be ended at exit" in done.stderr
    assert len(EventLog(store).journals()) == 1
    load(store)
    with Warehouse.open(store) as warehouse:
        assert warehouse.rows("SELECT duration_ns FROM timings") == [(1,)]
        assert warehouse.rows("SELECT status FROM outcomes") == [("ok",)]
