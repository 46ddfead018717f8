"""Ctrl-C while DuckDB is at work ends the query, whatever it is at."""

import os
import signal
import subprocess
import sys
from pathlib import Path

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


def test_ctrl_c_before_the_command_line_is_there_is_a_sentence_too(tmp_path: Path) -> None:
    """While `bench` is imported."""
    (tmp_path / "click.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "bench", "runs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": path})

    assert (done.returncode, done.stderr) == (130, "Error: interrupted; everything recorded so far is kept\n")
