"""`bench measure memory`: a real program in a process of its own, however it ends, and what is recorded of it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.annotate import AnnotatedSource
from bench.measure.line_memory.meters import host
from bench.measure.line_memory.report import NOTE_HEADINGS, MemoryNote
from bench.measure.system.host_memory import error_bound_bytes
from bench.warehouse.load import load
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive, first_of

MB = 1 << 20

PROGRAM = """
import sys

def used_for_a_moment():
    return len(bytearray(64 << 20))

def main():
    size = used_for_a_moment()
    kept = bytearray(32 << 20)
    del kept
    print("printed", sys.argv[1:], __name__)

main()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs lie in a folder, which is the present one; the store is another."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return folder


def measure(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["measure", "memory", *arguments], standalone_mode=False)


def test_lines_of_a_script_have_exact_sizes(here: Path) -> None:
    """Within the kernel's bound: the transient on the line that called, what was kept and given back on its lines."""
    if host()[0].source != "rss":
        pytest.skip("the kernel does not let this process reset its high-water mark")
    (here / "program.py").write_text(PROGRAM)

    result = measure("program.py", "--epochs", "1")

    assert result.return_value == 0, result.output
    found = {
        line: sizes for line, *sizes in stored("SELECT line, transient_bytes, growth_bytes, hits FROM line_memory")
    }
    bound = error_bound_bytes()
    assert abs(found[8][0] - 64 * MB) <= bound + MB // 2
    assert abs(found[9][1] - 32 * MB) <= bound
    assert abs(found[10][1] + 32 * MB) <= bound
    assert found[8][2] == 1
    assert stored("SELECT status, exit_code FROM case_outcomes") == [("ok", 0)]
    assert stored("SELECT name, parameters FROM cases") == [("program.py", '{"arguments": ["--epochs", "1"]}')]
    assert [text for (text,) in stored("SELECT text FROM memory_lines WHERE line = 9")] == [
        "kept = bytearray(32 << 20)"
    ]
    (peak,) = stored("SELECT peak_bytes, peak_place FROM memory_totals")
    assert peak[1] == "program.py:5"
    assert stored("SELECT max(size_bytes) FROM memory_samples WHERE statistic = 'peak'") == [(peak[0],)]


@exhaustive
def test_files_named_as_modules_of_python_trouble_only_the_program(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bench imports late, when the folder of the program is looked in first, only modules that it has loaded."""
    monkeypatch.delenv("PYTHONPATH")  # which asks Python itself to take them
    for name in ("json", "random", "tempfile"):
        (here / f"{name}.py").write_text("")
    (here / "program.py").write_text("import random\nrandom.choice\n")

    measure("program.py")

    reason = "AttributeError: module 'random' has no attribute 'choice'"
    assert [told.startswith(reason) for (told,) in stored("SELECT reason FROM case_outcomes")] == [True]


@pytest.mark.exhaustive
def test_a_large_parent_lends_the_program_nothing(here: Path) -> None:
    """getrusage would report what the parent had: the worker starts small."""
    (here / "program.py").write_text("a = 1\n")
    ballast = bytearray(b"x") * (200 * MB)

    assert measure("program.py").return_value == 0
    assert len(ballast) == 200 * MB
    assert stored("SELECT start_bytes < 60000000 FROM memory_totals") == [(True,)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (
            "raise RuntimeError('no kernel\\nsecond line')",
            ("fail_to_run", "RuntimeError: no kernel", 1, None, "RuntimeError"),
        ),
        ("raise MemoryError('all of it')", ("OOM", "MemoryError: all of it", 1, None, "MemoryError")),
        ("import sys; sys.exit(3)", ("fail_to_run", "the program ended with exit code 3", 3, None, None)),
        ("import os; os.kill(os.getpid(), 9)", ("killed", None, None, signal.SIGKILL, None)),
        ("import ctypes; ctypes.string_at(0)", ("crashed", "the program ended by SIGSEGV", None, signal.SIGSEGV, None)),
        ("import time; time.sleep(60)", ("timeout", "longer than the 4 s allowed", None, None, None)),
        ("def (", ("fail_to_run", None, 1, None, "SyntaxError")),
    ],
)
def test_what_was_measured_before_a_failure_is_kept(here: Path, last: str, expected: tuple[Any, ...]) -> None:
    """With the outcome's reason; the command ends with 1."""
    (here / "program.py").write_text(f"kept = bytearray(8 << 20)\n{last}\n")

    result = measure("--timeout", "4" if expected[0] == "timeout" else "60", "program.py")

    assert result.return_value == 1
    ((status, reason, *rest),) = stored("SELECT status, reason, exit_code, signal, exception FROM case_outcomes")
    assert (status, *rest) == (expected[0], *expected[2:])
    assert expected[1] in (None, reason)
    if "def (" not in last:
        assert stored("SELECT growth_bytes > 7000000 FROM line_memory WHERE line = 1") == [(True,)]


@pytest.mark.exhaustive
def test_modules_and_callables_are_run_too(here: Path) -> None:
    """A package by its `__main__`, a function by module:callable, to its end; both traced from their import."""
    (here / "package").mkdir()
    (here / "package" / "__init__.py").write_text("")
    (here / "package" / "__main__.py").write_text(
        "import sys\nkept = bytearray(4 << 20)\nsys.exit(len(sys.argv) - 1)\n"
    )
    (here / "functions.py").write_text("async def main():\n    yield bytearray(4 << 20)\n")

    assert measure("-m", "package").return_value == 0
    assert measure("functions:main").return_value == 0
    found = stored("SELECT name, file, line, hits FROM line_memory WHERE line = 2 ORDER BY name DESC")
    assert found == [("package", "package/__main__.py", 2, 1), ("functions:main", "functions.py", 2, 1)]


@pytest.mark.exhaustive
def test_modules_can_be_chosen_and_excluded(here: Path) -> None:
    """Comma-separated; a library too."""
    (here / "other.py").write_text("import json\ndef f():\n    return json.loads('[1]')\n")
    (here / "program.py").write_text("import other\nother.f()\n")

    measure("--exclude", "other", "--config", "without", "program.py")
    measure("--modules", "other,json", "--config", "chosen", "program.py")

    files = stored("SELECT config, parse_filename(file) FROM line_memory GROUP BY ALL ORDER BY ALL")
    assert [file for config, file in files if config == "without"] == ["program.py"]
    assert {file for config, file in files if config == "chosen"} >= {"other.py", "decoder.py"}
    assert ("chosen", "program.py") not in files


@exhaustive
def test_a_forked_child_is_not_counted(here: Path) -> None:
    """Its lines are another process's, and it leaves no outcome."""
    (here / "program.py").write_text(
        "import os\ndef child():\n    return 1\npid = os.fork()\nif pid == 0:\n    child()\n    raise SystemExit(3)\n"
        "os.waitpid(pid, 0)\n"
    )

    assert measure("program.py").return_value == 0
    assert stored("SELECT line FROM line_memory WHERE line IN (3, 6, 7)") == []
    assert stored("SELECT status FROM case_outcomes") == [("ok",)]


@pytest.mark.exhaustive
def test_a_forked_child_writes_nothing_in_its_parent_s_ledger(here: Path) -> None:
    """Not even where all is traced, and what threading and others do in every child is Python code."""
    (here / "program.py").write_text(
        "import os\nif pid := os.fork():\n    os.waitpid(pid, 0)\nkept = bytearray(4 << 20)\n"
    )

    assert measure("--modules", "*", "program.py").return_value == 0
    found = stored(
        "SELECT line, hits, decrease_bytes > 0, increase_bytes > 3e6 FROM line_memory WHERE file = 'program.py'"
    )
    assert sorted(found) == [(1, 1, False, False), (2, 1, False, False), (3, 1, False, False), (4, 1, False, True)]


@pytest.mark.exhaustive
def test_who_leaves_by_exit_code_zero_has_not_failed(here: Path) -> None:
    """Without a word to anybody: os._exit, and exec."""
    (here / "program.py").write_text("import os\nkept = bytearray(8 << 20)\nos._exit(0)\n")

    result = measure("program.py")
    assert result.return_value == 0
    assert "left by os._exit, or for another by exec" in result.stderr
    assert stored("SELECT status, exit_code FROM case_outcomes") == [("ok", 0)]


@exhaustive
def test_a_program_ends_as_any_other(here: Path) -> None:
    """Its threads are waited for and followed, and what it registered for the end is run."""
    (here / "program.py").write_text(
        "import atexit, threading, time\n"
        "def late():\n    time.sleep(0.2)\n    kept.append(bytearray(8 << 20))\n"
        "kept = []\natexit.register(lambda: open('end.txt', 'w').write('well'))\nthreading.Thread(target=late).start()\n"
    )

    assert measure("program.py").return_value == 0
    assert stored("SELECT hits, increase_bytes > 7e6 FROM line_memory WHERE line = 4") == [(1, True)]
    assert (here / "end.txt").read_text() == "well"


@pytest.mark.exhaustive
def test_a_program_that_takes_the_trace_away_is_said(here: Path) -> None:
    """A debugger or coverage would."""
    (here / "program.py").write_text(
        "import sys\nif hasattr(sys, 'monitoring'):\n    sys.monitoring.free_tool_id(4)\nsys.settrace(None)\nb = 1\n"
    )

    assert "the trace was taken away" in measure("program.py").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.py"], "no script 'nothing.py'"),
        (["no-module.py:main"], "no-module.py cannot be imported from here"),
        (["functions:main", "3"], "is called without arguments; leave out: 3"),
        (["-o", "x.pdf", "program.py"], "written as .html or .txt"),
        (["-o", "nowhere/x.txt", "program.py"], "no folder 'nowhere'"),
        (
            ["--show", "source", "--format", "json", "program.py"],
            "annotated source is text, not json: leave out --format",
        ),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is(here: Path, arguments: list[str], words: str) -> None:
    """With the cure."""
    (here / "program.py").touch()
    (here / "no-module.py").touch()
    result = measure(*arguments)

    assert result.exit_code != 0
    assert words in str(result.exception)


@exhaustive
def test_steps_and_annotated_source(here: Path) -> None:
    """Memory in sequence; and the source with what its lines did, as text and as a page in which nothing runs."""
    (here / "program.py").write_text(PROGRAM + "hostile = '<script>alert(1)</script>\x1b[2J'\n")

    steps = measure("--show", "steps", "--format", "csv", "-o", "a.html", "-o", "a.txt", "program.py").stdout
    source = measure("--show", "source", "program.py").stdout

    assert "program.py:9," in steps
    assert "alert(1)</script>\\x1b[2J'" in source
    assert "kept = bytearray(32 << 20)" in source
    assert re.search(r"6[34]\.\d MiB +8 +size = used_for_a_moment\(\)", source)  # the kernel's counters are not exact
    page = (here / "a.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    assert re.search(r"\+3[12]\.\d MiB", (here / "a.txt").read_text())


@pytest.mark.parametrize("target", first_of(1, [["-m", "nowhere.train"], ["nowhere:main"]]))
def test_a_target_that_is_not_there_is_a_sentence(target: list[str], here: Path) -> None:
    """Nothing of the program ran, so a traceback would be of Python's own code."""
    result = measure(*target)

    assert "fail_to_run" in result.stderr and "module" in result.stderr and "'nowhere'" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.exhaustive
def test_a_program_without_a_traced_line_has_its_peak(here: Path) -> None:
    """A module spelt wrong: what it held is not what was there before it, and that nothing was traced is said."""
    (here / "program.py").write_text("kept = bytearray(32 << 20)\n")

    result = measure("--modules", "progam", "program.py")

    assert "no line was traced: nothing that ran belongs to the modules to trace" in result.stderr
    assert stored("SELECT peak_bytes - start_bytes > 31000000, peak_place FROM memory_totals") == [(True, "elsewhere")]


def test_source_stands_beside_its_numbers(tmp_path: Path) -> None:
    """A form feed or a line separator ends no line of Python, and a file says itself how it is encoded."""
    file = tmp_path / "a.py"
    file.write_bytes(b'# coding: latin-1\n\x0c\nx = "\x85"\ny = 1  # \xe9\n')

    notes = {(str(file), "rss"): {4: MemoryNote(1, 5, 0, 0)}}
    text = AnnotatedSource("", [], NOTE_HEADINGS, notes).as_text()

    assert text.rstrip().endswith("+5.00 B         0 B                 4  y = 1  # \u00e9")


@pytest.mark.exhaustive
def test_ctrl_c_keeps_what_was_measured(here: Path) -> None:
    """The program gets it, too, terminal or not; the command ends as any interrupted one."""
    (here / "program.py").write_text(
        "import time\nkept = bytearray(8 << 20)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "bench", "measure", "memory", "program.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "ready" in process.stderr.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert "kept = bytearray(8 << 20)" in process.communicate(timeout=120)[0]
        assert process.returncode == 130

    load(Store.find(None))
    assert stored("SELECT status, reason FROM case_outcomes") == [("interrupted", "Ctrl-C")]
    assert stored("SELECT growth_bytes > 7000000 FROM line_memory WHERE line = 2") == [(True,)]
