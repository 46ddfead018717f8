"""Ctrl-C and SIGTERM end a command, whatever DuckDB is at, and what is half written goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ...exhaustive import exhaustive, first_of

SCRIPT = """
import os, signal, sys, threading
import duckdb
from bench.warehouse import interruption

interruption.watch()
connection = interruption.breakable(duckdb.connect(config={"threads": 2, "temp_directory": ""}))
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    connection.execute(sys.argv[1])
except (duckdb.Error, RuntimeError, KeyboardInterrupt) as error:
    print(type(error).__name__)
"""
TWICE = """
import os, signal
import duckdb
from bench.warehouse import interruption

interruption.watch()
connection = interruption.breakable(duckdb.connect())
connection.execute("SET enable_progress_bar = false")
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    interruption.TWICE_S = 60  # however busy the machine is
    os.kill(os.getpid(), signal.SIGINT)
    print(connection.execute("SELECT sum(range) FROM range(400000000)").fetchone()[0])
"""
BUILDING = """
import contextlib, os, signal, threading
import duckdb
from bench.warehouse import interruption

@contextlib.contextmanager
def building():
    try:
        yield
    finally:
        os.mkdir("half written")
        os.rmdir("half written")
        print("removed", flush=True)

interruption.watch()
connection = interruption.breakable(duckdb.connect(config={"temp_directory": ""}))
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    try:
        with building():
            connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")
    finally:
        print("ended", flush=True)
        interruption.raise_put_off()
except (KeyboardInterrupt, RuntimeError):  # the second is what DuckDB makes of the first
    print("interrupted", flush=True)
"""
PAIRS = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"


@pytest.mark.parametrize("query", first_of(1, [PAIRS, f"COPY ({PAIRS}) TO '/dev/null' (FORMAT csv)"]))
def test_a_long_query_ends(query: str) -> None:
    """DuckDB looks for signals in neither: it would go on for hours."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, query], capture_output=True, text=True, timeout=60)

    assert "Interrupt" in done.stdout + done.stderr or "RuntimeError" in done.stdout


@exhaustive
def test_a_query_after_the_signal_is_left_alone() -> None:
    """The cleanup after Ctrl-C may ask the warehouse. The second signal of `timeout` is no second Ctrl-C."""
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60)

    assert (done.stdout, done.stderr) == ("79999999800000000\n", "")


def test_an_import_comes_to_its_end(tmp_path: Path) -> None:
    """An extension that is interrupted while it begins aborts the process, or hides the interruption."""
    (tmp_path / "slow.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.1)\n")
    script = (
        f"import sys; sys.path.append({str(tmp_path)!r}); from bench.warehouse import interruption as i; i.watch()\n"
    )
    script += "try:\n    import slow; print('whole'); i.time.sleep(20)\nexcept KeyboardInterrupt: print('interrupted')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)

    assert (done.stdout.replace("\n", ""), done.stderr) == (
        "wholeinterrupted",
        "",
    )  # perhaps between the word and its line end


@exhaustive
def test_the_end_of_a_with_block_is_reached(tmp_path: Path) -> None:
    """Python gets to the signal as it enters `__exit__`, and a KeyboardInterrupt there would leave what the block made."""
    done = subprocess.run([sys.executable, "-c", BUILDING], capture_output=True, text=True, timeout=60, cwd=tmp_path)

    assert (done.stdout.split(), done.stderr) == (["removed", "ended", "interrupted"], "")


@pytest.mark.parametrize(("number", "how"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM")])
def test_a_signal_before_the_command_line_is_there_is_a_sentence_too(
    number: signal.Signals, how: str, tmp_path: Path
) -> None:
    """While `bench` is imported."""
    (tmp_path / "click.py").write_text(f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(20)\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "bench", "runs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": path})

    assert (done.returncode, done.stderr) == (128 + number, f"Error: {how}; everything recorded so far is kept\n")
