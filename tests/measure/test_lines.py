"""`bench measure lines`: the lines of a call with their time, as a table, as JSON and beside the source."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.functions import line_times
from bench.measure.functions.apart import NoAnswer
from click.testing import CliRunner

from ..builders import stored
from ..exhaustive import exhaustive

WORK = "import time\n\n\ndef waits(s):\n    time.sleep(s)\n    return [s]\n\n\ndef fails(s):\n    raise ValueError(s)\n"
FOUND = ((5, "time.sleep(s)", (0.75, 0.85)), (6, "return [s]", (0.15, 0.10)))


def line(number: int, text: str) -> dict[str, Any]:
    """A line of the module."""
    return {"file": "bench_test_waits.py", "function": "waits", "line": number, "text": text}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's, whose lines are sampled by a double: their shares in two processes are those of FOUND."""
    answers = iter(range(100))

    def ask(*_: object, **__: object) -> list[Any]:
        process = next(answers) % 2
        rest = {"file": "", "function": "", "line": 0, "text": ""}
        found = [(line(number, text), 100 * shares[process]) for number, text, shares in FOUND]
        return [1.01, *found, (rest, 100 - sum(spent for _, spent in found))]

    (tmp_path / "bench_test_waits.py").write_text(WORK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(line_times, "ask", ask)
    monkeypatch.setattr(line_times, "REPLICAS", 2)


def measure(*words: str, function: str = "waits") -> Any:
    usual = [f"bench_test_waits:{function}", "--arg", "s=0.001", "--processes", "1", "--budget", "0.1"]
    return CliRunner().invoke(cli, ["measure", "lines", *usual, *words], standalone_mode=False)


def test_lines_add_up_to_the_call() -> None:
    """A line's time is its share of a call, with an interval of both; lines beyond --top are one row."""
    done = measure("--format", "json")
    cells = stored("SELECT median, suite FROM cells WHERE metric = 'latency' AND phase = 'steady'")
    table = measure("--top", "1")

    assert done.return_value == table.return_value == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["line"], row["text"], round(row["share"], 3)) for row in rows] == [
        (5, "time.sleep(s)", 0.8), (6, "return [s]", 0.125), (0, "", 0.075),
    ]  # fmt: skip
    assert cells == [(pytest.approx(sum(row["time_ns"] for row in rows)), "function")]  # as measure function records it
    assert all(row["time_low_ns"] <= row["time_ns"] <= row["time_high_ns"] for row in rows)
    shown = table.stdout.splitlines()
    assert [row.split()[0] for row in shown[2:4]] == ["bench_test_waits.py:5", "2"]
    assert "80.0 %" in shown[2] and shown[3].split()[1] == "others" and "20.0 %" in shown[3]
    assert "sampled, which changed the processor time of a call by +1.0 %" in table.stderr


def test_source_stands_beside_its_time(tmp_path: Path) -> None:
    """As text, and as a page."""
    done = measure("--show", "source", "-o", "a.html", "-o", "a.txt")

    assert done.return_value == 0, done.stderr
    (beside,) = [text for text in done.stdout.splitlines() if text.endswith("time.sleep(s)")]
    assert "80.0 %" in beside and "    5  " in beside
    assert [text.split() for text in done.stdout.splitlines() if "def fails" in text] == [["9", "def", "fails(s):"]]
    assert "<td>80.0 %</td><td>5</td><td>    time.sleep(s)</td>" in (tmp_path / "a.html").read_text()
    assert "80.0 %" in (tmp_path / "a.txt").read_text()


@exhaustive
def test_why_takes_the_difference_of_two_such_runs_apart() -> None:
    """They are cases of measure function with their lines."""
    runs = ["--config", "a"], ["--config", "b"]
    assert [measure(*words).return_value for words in runs] == [0, 0]
    done = CliRunner().invoke(
        cli, ["why", "a", "b", "bench_test_waits:waits", "--format", "json"], standalone_mode=False
    )

    (found,) = json.loads(done.stdout)
    parts = [*found["parts"], found["unattributed"]]
    assert {part["line"] for part in found["parts"]} >= {5, 6}
    assert sum(part["difference"] for part in parts) == pytest.approx(found["difference"], abs=1e-6)


@exhaustive
def test_a_function_that_fails_or_cannot_be_sampled_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; no lines are none, not a table of others."""
    failed = measure(function="fails")

    def ask(*_: object, **__: object) -> list[Any]:
        raise NoAnswer("no timer here")

    monkeypatch.setattr(line_times, "ask", ask)
    unsampled = measure("--format", "json")

    assert failed.return_value == 1 and "fail_to_run: ValueError: 0.001" in failed.stderr
    assert unsampled.return_value == 1 and "lines were not sampled: no timer here" in unsampled.stderr
    assert json.loads(unsampled.stdout) == []
