"""`bench measure command --results`: what a tool writes in each run becomes a run of its side; what is old never does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.ingest.command import ingest_result
from bench.measure.result_files import NoResult, ResultFiles
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive


def measure(*words: str) -> Result:
    """`bench measure command` with results in out.json."""
    return CliRunner().invoke(cli, ["measure", "command", "--results", "out.json", *words], standalone_mode=False)


def tool(value: float) -> str:
    """A command that writes a time in the format of github-action-benchmark; the same in each run."""
    text = json.dumps([{"name": "load", "unit": "ms", "value": value}])
    return f"sh -c 'echo {json.dumps(text)} > out.json'"


def runs_of_results() -> list[tuple[Any, ...]]:
    """Config and values of what was loaded."""
    query = "SELECT config, list(value ORDER BY value) FROM metrics JOIN runs USING (run_id)"
    return stored(f"{query} WHERE metric = 'latency' GROUP BY config ORDER BY config")


@exhaustive
def test_each_run_of_a_side_is_a_run_of_its_config_though_it_wrote_the_same() -> None:
    """The sides are compared over these runs at the end; the last file stays where the tool wrote it."""
    done = measure("--repeat", "3", "--name", "A", "--name", "B", tool(10), tool(20))

    assert done.return_value == 0, done.output
    assert runs_of_results() == [("A", [1e7] * 3), ("B", [2e7] * 3)]
    assert "2.000x slower" in done.stdout and "SLOWER" in done.stdout
    assert "bench compare A B --all-runs" in done.stderr
    assert Path("out.json").exists()


@pytest.mark.exhaustive
def test_a_lone_tool_is_run_five_times_and_shown() -> None:
    """As runs of the config of the measurement."""
    done = measure("--config", "main", "--", *[word.strip("'") for word in tool(10).split(" ", 2)])

    assert done.return_value == 0, done.output
    assert runs_of_results() == [("main", [1e7] * 5)]
    assert "10 ms" in done.stdout and "caches were cold" not in done.stderr
    assert stored("SELECT count(*) FROM timings WHERE metric = 'latency'") == [(5,)]


@pytest.mark.exhaustive
def test_the_calls_of_a_measurement_are_shown_as_one_and_compared_together() -> None:
    """A row a case over all of them; one that is asked for by its id is alone. The next measurement is another."""
    for value in (11, 10):
        assert measure("--repeat", "2", "--name", "A", "--name", "B", tool(value), tool(2 * value)).return_value == 0
    shown = CliRunner().invoke(cli, ["show", "A", "--format", "json"])
    (row,) = json.loads(shown.stdout)
    (alone,) = json.loads(CliRunner().invoke(cli, ["show", row["run_id"][:13], "--format", "json"]).stdout)
    heading = CliRunner().invoke(cli, ["show", "A"]).stderr

    assert (row["value"], row["n"], alone["n"]) == (1e7, 2, 1)
    assert "A · 2 calls, the last run" in heading and "1 case" in heading
    assert "2 against 2 runs" in CliRunner().invoke(cli, ["compare", "A", "B", "--all"]).output


@pytest.mark.exhaustive
def test_parameters_have_their_place_in_the_names_of_files() -> None:
    """And are told apart by their configs."""
    command = [
        "measure", "command", "--repeat", "1", "--shell", "--results", "out-{n}.json", "--config", "sweep",
        "--parameter", "n=1,2",
        """echo '[{"name": "load", "unit": "ms", "value": {n}}]' > out-{n}.json""",
    ]  # fmt: skip
    assert CliRunner().invoke(cli, command, standalone_mode=False).return_value == 0
    assert runs_of_results() == [("sweep@n=1", [1e6]), ("sweep@n=2", [2e6])]


@pytest.mark.exhaustive
def test_a_run_without_results_failed() -> None:
    """Though a file of before is there: it stays, and is not taken for new."""
    old = json.dumps([{"name": "old", "unit": "ms", "value": 1}])
    Path("out.json").write_text(old)
    bad = {
        "silent": ("true", "wrote no out.json"),
        "full": ("sh -c 'echo full disk >&2'", "wrote no out.json: full disk"),
        "ended": ("sh -c 'exit 3'", "exit code 3"),
        "garbled": ("sh -c 'echo so it is > out.json'", "is recognised; out.json begins with: 'so it is'"),
        "unknown": (
            """sh -c 'echo "[{\\"op\\":\\"a\\",\\"ms\\":1}]" > out.json'""",
            "; try --map name=op,value=ms,unit:=ms",
        ),
    }

    names = [word for name in (*bad, "good") for word in ("--name", name)]
    done = measure("--repeat", "2", *names, *(command for command, _ in bad.values()), tool(10))

    assert done.return_value == 1
    told = {name: (status, reason) for name, status, reason in stored("SELECT name, status, reason FROM case_outcomes")}
    for name, (_, reason) in bad.items():
        assert told[name][0] == "fail_to_run" and reason in told[name][1], told[name]
    assert stored("SELECT DISTINCT config, name FROM cases JOIN runs USING (run_id) WHERE source <> 'measure'") == [
        ("good", "load")
    ]


def test_results_of_several_commands_need_names() -> None:
    """Before anything runs."""
    assert "--name once for each" in str(measure(tool(1), tool(2)).exception)
    assert "--results" in str(CliRunner().invoke(cli, ["measure", "command", "--map", "a=b", "true"]).exception)


def loaded(files: ResultFiles, paths: Sequence[Path]) -> list[str]:
    """The text of what is loaded."""
    return [path.read_text() for path in paths]


def test_a_file_counts_only_if_this_call_wrote_it(here: Path) -> None:
    """Neither one of before, nor what an earlier call wrote; one that was added to holds old results, too."""
    files = ResultFiles(["*.json"], lambda *_, **__: ([], []), print)
    Path("there.json").write_text("old")
    files.clear()
    with pytest.raises(NoResult, match="wrote no"):
        files.written()

    files.clear()
    Path("new.json").write_text("new")
    assert loaded(files, files.written()) == ["new"]

    files.clear()
    assert not Path("new.json").exists() and Path("there.json").exists()
    Path("there.json").write_text("old")
    os.utime("there.json", ns=(1, 1))
    assert loaded(files, files.written()) == ["old"], "it was written again"

    Path("lines.json").write_text("old")
    files.clear()
    with Path("lines.json").open("a") as added:
        added.write(" and more")
    with pytest.raises(NoResult, match=r"added to lines\.json"):
        files.written()


def test_known_content_is_a_new_run_and_unknown_an_error(here: Path, tmp_path: Path) -> None:
    """Of the commit and host that are said, as the files say neither."""
    store = Store(tmp_path / "store").create()
    Path("out.json").write_text(json.dumps([{"name": "load", "unit": "ms", "value": 1}]))
    for _ in range(2):
        ingest_result(store, [Path("out.json")], "main", tags={"k": "v"}, facts={"host": "here"})

    assert stored("SELECT config, host, tags, count(*) FROM runs GROUP BY ALL", store) == [
        ("main", "here", '{"k": "v"}', 2)
    ]
    Path("out.json").write_text("what is that")
    with pytest.raises(BenchError, match="recognised"):
        ingest_result(store, [Path("out.json")], "main", tags={}, facts={})


@pytest.mark.exhaustive
def test_ctrl_c_keeps_what_was_loaded(here: Path) -> None:
    """Each run is loaded when it ended, not at the end of all."""
    write = """echo '[{"name": "load", "unit": "ms", "value": 1}]' > out.json; echo x >> log"""
    long = f"{write}; [ $(wc -l < log) -lt 3 ] || {{ echo $$ > pid; sleep 60; }}"
    command = [sys.executable, "-m", "bench", "measure", "command", "--config", "A", "--shell", "--results", "out.json"]
    with subprocess.Popen([*command, "--", long], stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while not ((here / "pid").exists() and (here / "pid").read_text()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130

    assert runs_of_results() == [("A", [1e6] * 2)]
