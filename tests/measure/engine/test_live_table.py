"""What a person sees while a plan is measured: a table on a terminal, lines elsewhere."""

import io
import math
import re
from typing import Any

import pytest
from bench.measure.engine import live_table
from bench.measure.engine.live_table import LiveTable
from bench.measure.engine.progress import ProgressLines
from bench.warehouse.console.numbers import clock


class Terminal(io.StringIO):
    """Interprets what is written: lines, and the two sequences that go up and erase."""

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> list[str]:
        lines = [""]
        for part in re.split(r"(\x1b\[\d+F\x1b\[J|\n)", self.getvalue()):
            if part == "\n":
                lines.append("")
            elif part.startswith("\x1b"):
                del lines[len(lines) - 1 - int(part[2:].partition("F")[0]) :]
                lines.append("")
            else:
                lines[-1] += part
        return lines[:-1] if lines[-1] == "" else lines


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "12")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_the_table_fills_as_a_worker_tells(terminal: Terminal, workload: Any) -> None:
    """Status of each backend, its memory, its speedup with interval; how many of how many, and the time left."""
    seconds = [0.0]
    table = LiveTable(terminal, lambda: seconds[0])
    table.plan(3)
    table.begin(workload(name="mlp"))
    table.enter("cold", "eager")
    assert [line.split() for line in terminal.screen] == [
        ["model", "backend", "status", "speedup", "memory"],
        ["mlp", "inference", "b1", "eager", "cold"],
        ["mlp", "inference", "b1", "candidate"],
        ["0", "of", "3", "workloads", "in", "0", "s"],
    ]

    table.found("candidate", {"peak_bytes": 3 << 20})
    table.enter("steady", None)
    table.found("candidate", {"speedup": (1.184, 1.12, 1.24, 30)})
    table.found("candidate", {"status": "ok"})
    assert terminal.screen[2].split("  ")[-2:] == ["1.18x (95 % 1.12–1.24, n=30)", "3.00 MiB"]
    seconds[0] = 60.0
    table.end({"eager": "ok", "candidate": "fail_accuracy"})
    table.begin(workload(name="cnn"))
    seconds[0] = 80.0
    table.enter("load", None)

    shown = terminal.screen
    assert "x (95 %" not in shown[2], "what is wrong is compared with nothing"
    assert [line.split()[4] for line in shown[1:3]] == ["ok", "fail_accuracy"]
    assert [line.split()[4] for line in shown[3:5]] == ["load", "load"]
    assert shown[-1] == "1 of 3 workloads in 1:20 min, about 1:40 min left"


def test_a_row_names_its_revision(terminal: Terminal, workload: Any) -> None:
    """Several revisions are measured in turn."""
    table = LiveTable(terminal)
    for table.revision in ("base", "main"):
        table.begin(workload("eager", name="mlp"))

    assert [line.split() for line in terminal.screen[1:3]] == [
        ["mlp", "inference", "b1", f"@{x}", "eager"] for x in ("base", "main")
    ]


def test_a_side_that_has_ended_keeps_its_status(terminal: Terminal, workload: Any) -> None:
    """Though the others go on, in another worker perhaps."""
    table = LiveTable(terminal)
    table.begin(workload())
    table.found("candidate", {"status": "crashed"})
    table.enter("load", None)

    assert [line.split()[4] for line in terminal.screen[1:3]] == ["load", "crashed"]


def test_only_the_last_cases_are_shown_and_lines_are_cut(terminal: Terminal, workload: Any, monkeypatch: Any) -> None:
    """Longer lines would tear the table apart; names cannot steer the terminal."""
    monkeypatch.setenv("COLUMNS", "40")
    table = LiveTable(terminal)
    for number in range(20):
        table.begin(workload(name=f"\x1b[2Jm{number}" + "x" * number))
        table.end({})

    shown = terminal.screen
    assert len(shown) == 11
    assert all(len(line) < 40 for line in shown)
    assert shown[-2].startswith("\\x1b[")


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (100, "attention inference b1  candidate  fail_accuracy  1.18x (95 % 1.12–1.24, n=30)  3.00 MiB"),
        (85, "attention inference b1  candidate  fail_accuracy  1.18x (95 % 1.12–1.24)  3.00 MiB"),
        (80, "attention inference b1  candidate  fail_accuracy  1.12–1.24x  3.00 MiB"),
        (60, "atten…ce b1  candidate  fail_accuracy  1.12–1.24x  3.00 MiB"),
        (50, "atten…e b1  candidate  fail_accuracy  1.12–1.24x"),
    ],
)
def test_on_a_narrow_terminal_a_speedup_is_its_interval_and_a_title_lacks_its_middle(
    terminal: Terminal, workload: Any, monkeypatch: pytest.MonkeyPatch, columns: int, line: str
) -> None:
    """The memory, which is last, is seen at 60 columns, too."""
    monkeypatch.setenv("COLUMNS", str(columns))
    table = LiveTable(terminal)
    table.begin(workload(name="attention"))
    table.found("candidate", {"status": "fail_accuracy", "peak_bytes": 3 << 20, "speedup": (1.184, 1.12, 1.24, 30)})

    assert re.sub("  +", "  ", terminal.screen[2]) == line

    table.found("candidate", {"speedup": (3.51, 0.0, math.inf, 2)})
    assert "infx" not in terminal.screen[2], "an interval that tells nothing is none"


def test_it_wipes_itself(terminal: Terminal, workload: Any) -> None:
    """The whole table follows on stdout."""
    terminal.write("before\n")
    table = LiveTable(terminal)
    table.begin(workload())
    table.close()
    table.close()

    assert terminal.screen == ["before"]


def test_elsewhere_there_are_lines(
    terminal: Terminal, workload: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a file, on a terminal that cannot be drawn on, or on one too small; one for each workload and failure."""
    assert isinstance(live_table.watch(terminal), LiveTable)
    assert isinstance(live_table.watch(io.StringIO()), ProgressLines)
    monkeypatch.setenv("LINES", "4")
    assert isinstance(live_table.watch(terminal), ProgressLines)
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "dumb")
    lines = live_table.watch(terminal)

    lines.plan(2)
    for name in ("mlp", "cnn"):
        lines.begin(workload(name=name))
        lines.enter("cold", None)
        lines.end({"eager": "ok", "candidate": "timeout" if name == "cnn" else "skipped"})
    lines.close()

    assert capsys.readouterr().err.splitlines() == [
        "1 of 2 mlp inference b1", "2 of 2 cnn inference b1", "cnn inference b1 candidate: timeout",
    ]  # fmt: skip


def test_a_function_that_fails_is_named_once(workload: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It stands where models have a backend, and the workload has the name of the first function."""
    lines = ProgressLines()
    lines.plan(1)
    lines.begin(workload(name="work:parse"))
    lines.end({"work:parse": "fail_to_run", "work:scan": "OOM"})

    assert capsys.readouterr().err.splitlines()[1:] == [
        "work:parse inference b1: fail_to_run",
        "work:scan inference b1: OOM",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (60, "1:00 min"), (187, "3:07 min"), (7380, "2:03 h")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    """As one says them."""
    assert clock(seconds) == text


def test_a_busy_machine_is_said_while_it_is_measured(
    terminal: Terminal, workload: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the share of disturbed samples, in the table's last line, or as a line of its own, once; a quiet one is not."""
    table, lines = LiveTable(terminal), ProgressLines()
    for share in (0.05, 0.47, 0.5):
        for watch in (table, lines):
            watch.begin(workload())
            watch.found("eager", {"disturbed": share})
        assert share > 0.1 or "busy" not in "".join(terminal.screen)

    assert terminal.screen[-1].endswith("; the machine is busy: 50 % of samples were disturbed")
    assert capsys.readouterr().err.count("the machine is busy: 47 % of samples were disturbed") == 1
