"""Ctrl-C while DuckDB is at work ends the query, whatever it is at."""

import os
import signal
import subprocess
import sys

import duckdb
import pytest
from bench.warehouse import interruption

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
PAIRS = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"


@pytest.mark.parametrize("query", [PAIRS, f"COPY ({PAIRS}) TO '/dev/null' (FORMAT csv)"])
def test_a_long_query_ends(query: str) -> None:
    """DuckDB looks for signals in neither: it would go on for hours."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, query], capture_output=True, text=True, timeout=60)

    assert "Interrupt" in done.stdout + done.stderr or "RuntimeError" in done.stdout


def test_a_query_after_the_signal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cleans up after Ctrl-C may ask the warehouse. The second signal of `timeout` is no second Ctrl-C."""
    monkeypatch.setattr(interruption, "_heard", (0.0, None, None))
    before = signal.getsignal(signal.SIGINT)
    interruption.watch()
    connection = interruption.breakable(duckdb.connect())
    try:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert connection.execute("SELECT sum(range) FROM range(20000000)").fetchone() == (199999990000000,)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(-1)
        connection.close()
