"""`bench measure command`: real processes, however they end, and what is recorded of them."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.commands.process import Launcher, NotStarted, launcher
from bench.warehouse.errors import BenchError
from bench.warehouse.load import load
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ...builders import stored
from ...exhaustive import exhaustive, first_of, sampled

MB = 1 << 20
BENCH = (sys.executable, "-m", "bench", "measure", "command")
PYTHON = (sys.executable, "-I", "-S", "-c")


def measure(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["measure", "command", *arguments], standalone_mode=False)


def rows(query: str) -> list[tuple[Any, ...]]:
    load(Store.find(None))
    return stored(query)


def gone(pid: int) -> bool:
    """Whether a process has ended, at most half a minute from now."""
    for _ in range(3000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


@exhaustive
def test_a_large_parent_lends_a_command_nothing() -> None:
    """The kernel reports for ever what a process held before it called exec; ours starts from a small one."""
    ballast = bytearray(b"x") * (300 * MB)
    with launcher() as starter:
        assert starter.run(["true"]).peak_bytes < 12 * MB
    assert len(ballast) == 300 * MB


def test_a_large_run_lends_the_next_nothing() -> None:
    """And what it held itself is exact."""
    with launcher() as starter:
        large = starter.run([*PYTHON, f"bytearray({200 * MB})"]).peak_bytes
        small = starter.run(["true"]).peak_bytes

    assert 200 * MB < large < 215 * MB
    assert small < 12 * MB


def test_a_command_smaller_than_what_starts_it_is_looked_at() -> None:
    """The kernel tells of the launcher then: the peak is between what was seen and that. Elsewhere the two are one."""
    with launcher() as starter:
        large = starter.run([*PYTHON, f"bytearray({100 * MB})"])
        small = starter.run(["sh", "-c", "x=$(head -c 3000000 /dev/zero | tr '\\0' x); sleep 0.3"])

    assert large.seen_bytes == large.peak_bytes > 100 * MB
    assert 3000000 < small.seen_bytes <= small.peak_bytes < 14 * MB


# Both hold their memory before either goes on.
BOTH = f"""
import os, time
ends = os.pipe(), os.pipe()
(reading, _), (_, writing) = ends if os.fork() else ends[::-1]
held = bytearray({40 * MB})
os.write(writing, b".")
os.read(reading, 1)
time.sleep(1)
"""


def test_a_peak_that_is_gone_is_seen_in_a_child_too() -> None:
    """Of descendants that were waited for; together, where several held memory at once."""
    with launcher() as starter:
        once = starter.run(["sh", "-c", f"{sys.executable} -I -S -c 'bytearray({80 * MB})'; true"])
        both = starter.run([*PYTHON, BOTH])

    assert once.peak_bytes > 80 * MB
    assert both.tree_bytes is not None
    assert both.tree_bytes > 80 * MB
    assert 40 * MB < both.peak_bytes < 60 * MB


def test_a_run_says_what_it_took() -> None:
    """Time of the wall and of the processor, faults, switches, code, the end of stderr."""
    with launcher() as starter:
        ran = starter.run(
            [*PYTHON, "import sys, time; time.sleep(0.05); sys.stderr.write('x' * 9000 + 'end'); sys.exit(3)"]
        )

    assert 50e6 < ran.duration_ns < 60e9
    assert 0 < ran.user_ns + ran.system_ns < ran.duration_ns
    assert ran.minor_faults > 0
    assert ran.voluntary_switches > 0
    assert ran.code == 3
    assert (len(ran.stderr), ran.stderr[-3:]) == (4096, b"end")


def test_a_writer_left_behind_holds_nothing_up() -> None:
    """A grandchild may keep stderr open, and write to it."""
    with launcher() as starter:
        ran = starter.run(["sh", "-c", "(sleep 30; echo late >&2) & echo early >&2"])

    assert ran.duration_ns < 25e9
    assert ran.stderr == b"early\n"


@exhaustive
def test_processes_that_a_command_leaves_behind_are_told(here: Path) -> None:
    """They slow the runs after them."""
    leaving = "sleep 30 & echo $! >> left"
    result = measure("--shell", "--repeat", "3", leaving)
    for pid in (here / "left").read_text().split():
        os.kill(int(pid), signal.SIGKILL)

    assert f"{leaving}: processes that 3 runs started are still running" in result.output
    assert rows("SELECT value FROM metrics WHERE metric = 'left_running'") == [(3.0,)]


def test_commands_find_signals_as_a_shell_would_give_them() -> None:
    """Python ignores SIGPIPE, the launcher SIGINT; what they start does not."""
    with launcher() as starter:
        assert starter.run(["sh", "-c", "kill -PIPE $$"]).code == -signal.SIGPIPE
        assert starter.run(["sh", "-c", "kill -INT $$"]).code == -signal.SIGINT


def test_a_run_out_of_time_is_killed_with_all_it_started(here: Path) -> None:
    """Those that left its process group, too."""
    with launcher() as starter:
        ran = starter.run(["sh", "-c", "setsid sleep 60 & echo $! > pid; sleep 60; true"], timeout_s=0.3)

    assert ran.timed_out
    assert ran.duration_ns < 50e9
    assert gone(int((here / "pid").read_text()))


def test_what_cannot_be_started_is_said() -> None:
    """No such program; one that the kernel refuses."""
    Path("program").write_text("")
    Path("program").chmod(0o755)
    with launcher() as starter:
        with pytest.raises(NotStarted, match="no program 'nothing-like-it'"):
            starter.run(["nothing-like-it"])
        with pytest.raises(NotStarted, match="Exec format error"):
            starter.run(["./program"])
        assert starter.run(["true"]).code == 0


def test_a_launcher_that_dies_is_said() -> None:
    """Rather than waited for."""
    starter = Launcher()
    starter.run(["true"])
    starter._process.kill()
    with pytest.raises(BenchError, match="SIGKILL"):
        starter.run(["true"])
    starter.close()


def test_one_command_in_words() -> None:
    """Every run is there: time, processor time, memory, and what disturbed it."""
    result = measure("--repeat", "3", "--warmup", "1", "--", "sh", "-c", "exit 0")

    assert result.return_value == 0, result.output
    assert rows("SELECT phase, count(*) FROM timings WHERE metric = 'latency' GROUP BY ALL ORDER BY 1") == [
        ("steady", 3),
        ("warmup", 1),
    ]
    assert rows("SELECT metric FROM timings GROUP BY 1 ORDER BY 1") == [("latency",), ("system_time",), ("user_time",)]
    assert rows(
        "SELECT bool_and(minor_faults > 0 AND voluntary_switches >= 0) FROM timings WHERE metric = 'latency'"
    ) == [(True,)]
    assert rows("SELECT count(*), max(size_bytes) < 12e6 FROM memory_samples WHERE source = 'rss'") == [(4, True)]
    assert rows("SELECT name, suite, status FROM case_outcomes") == [("sh -c 'exit 0'", "command", "ok")]
    assert rows("SELECT status FROM outcomes WHERE case_id IS NULL") == [("ok",)]


def test_counted_instructions_stand_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a second command beside the first one's; they are a metric as well."""
    counts = {"true": 1_000_000, "sleep": 1_250_000}

    @contextlib.contextmanager
    def counting(self: Launcher, kind: str) -> Iterator[Callable[[Sequence[str], float], int]]:
        yield lambda words, timeout_s: counts[words[0]]

    monkeypatch.setattr(Launcher, "counting", counting)
    done = measure("--instructions=callgrind", "--repeat", "5", "true", "sleep 0.001")

    assert "true: 1,000,000 instructions (n=3, within 0 %)\n" in done.stderr
    assert "sleep 0.001: 1,250,000 instructions, 1.25x those of the first (n=3, within 0 %)\n" in done.stderr


@exhaustive
def test_several_take_turns() -> None:
    """Each equally often in each place; the slower is found to be so."""
    result = measure("--repeat", "6", "--format", "json", "sleep 0.01", "sleep 0.2")

    assert result.return_value == 0, result.output
    query = (
        "SELECT name, position, count(*) FROM timings JOIN cases USING (case_id) WHERE metric = 'latency' GROUP BY ALL"
    )
    assert {(name, place): n for name, place, n in rows(query)} == dict.fromkeys(
        itertools.product(("sleep 0.01", "sleep 0.2"), (0, 1)), 3
    )
    first, second = json.loads(result.stdout)
    assert first["ratio"] is None
    assert second["ratio"] < 1
    assert 0 < second["difference_ns"] < 60e9


@exhaustive
def test_failed_runs_are_kept_apart(here: Path) -> None:
    """A run that fails now and then: its time is another metric, its outcome has code and stderr; and the command ends with 1."""
    (here / "flaky.sh").write_text("echo x >> log\n[ $(wc -l < log) != 2 ] || { echo broken >&2; exit 7; }\n")

    result = measure("--repeat", "4", "--", "sh", "flaky.sh")

    assert result.return_value == 1
    assert rows("SELECT metric, count(*) FROM timings WHERE metric LIKE 'latency%' GROUP BY ALL ORDER BY 1") == [
        ("latency", 3),
        ("latency_errored", 1),
    ]
    assert rows("SELECT reason, exit_code, stderr_tail FROM outcomes WHERE reason LIKE 'run %'") == [
        ("run 2: ended with exit code 7: broken", 7, "broken\n")
    ]
    assert rows("SELECT status, reason FROM case_outcomes") == [
        ("fail_to_run", "1 of 4 runs failed, the last: ended with exit code 7: broken")
    ]
    assert "3 + 1 failed" in result.stdout


@exhaustive
@pytest.mark.parametrize(
    ("options", "words", "expected"),
    sampled([
        ([], "exit 3", ("fail_to_run", 3, None)),
        ([], "kill -9 $$", ("killed", None, 9)),
        ([], "kill -SEGV $$", ("crashed", None, 11)),
        (["--timeout", "0.1"], "sleep 60", ("timeout", None, None)),
    ], ([], "exit 3", ("fail_to_run", 3, None))),
)  # fmt: skip
def test_a_command_that_only_fails_is_given_up(options: list[str], words: str, expected: tuple[Any, ...]) -> None:
    """After three runs; the other goes on."""
    result = measure(*options, "--shell", "--repeat", "5", words, ":")

    assert result.return_value == 1
    found = rows("SELECT name, status, exit_code, signal FROM case_outcomes")
    assert sorted(found) == sorted([(words, *expected), (":", "ok", None, None)])
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency_errored'") == [(3,)]
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency'") == [(5,)]


@pytest.mark.parametrize("codes", first_of(1, ["all", "3,4"]))
def test_exit_codes_can_be_fine(codes: str) -> None:
    """They are recorded then, too."""
    assert measure("--ignore-exit-codes", codes, "--repeat", "2", "sh -c 'exit 3'").return_value == 0
    assert rows("SELECT value FROM metrics WHERE metric = 'exit_code'") == [(3.0,), (3.0,)]


def test_commands_around_the_runs(here: Path) -> None:
    """Setup and cleanup once, the others around each run, warm-ups included; a shell runs them, though not what is measured."""
    result = measure(
        "--repeat", "2", "--warmup", "1", "--setup", "echo setup-{n} >> log", "--prepare", "echo prepare >> log",
        "--conclude", "echo conclude >> log", "--cleanup", "echo cleanup >> log", "--parameter", "n=1",
        "--", *PYTHON, "open('log', 'a').write('run ')",
    )  # fmt: skip

    assert result.return_value == 0, result.output
    assert (here / "log").read_text().split() == ["setup-1", *["prepare", "run", "conclude"] * 3, "cleanup"]


@pytest.mark.exhaustive
def test_a_preparation_that_fails_ends_its_command(here: Path) -> None:
    """Later samples would measure something else; the cleanup runs all the same."""
    result = measure(
        "--repeat", "2", "--prepare", "false", "--prepare", "true", "--cleanup", "touch cleaned", "sleep 0", "true"
    )

    assert result.return_value == 1
    assert rows("SELECT name, status, reason FROM case_outcomes WHERE status <> 'ok'") == [
        ("sleep 0", "fail_to_run", "the prepare command ended with 1")
    ]
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency'") == [(2,)]
    assert (here / "cleaned").exists()


@pytest.mark.exhaustive
def test_what_comes_after_a_run_comes_after_failed_ones_too(here: Path) -> None:
    """Also after the last that a command is given; if it fails itself, the command ends there."""
    assert measure("--shell", "--repeat", "9", "--conclude", "echo x >> log", "exit 1").return_value == 1
    assert (here / "log").read_text().split() == ["x"] * 3

    assert measure("--repeat", "9", "--conclude", "false", "true").return_value == 1
    reason = "SELECT reason FROM case_outcomes WHERE case_id IN (SELECT case_id FROM cases WHERE name = 'true')"
    assert rows(reason) == [("the conclude command ended with 1",)]


def test_parameters_are_axes_of_the_case() -> None:
    """Numbers as numbers."""
    assert measure("--repeat", "1", "--name", "nap", "--parameter", "n=0,0.01", "--", "sleep", "{n}").return_value == 0
    assert rows("SELECT name, parameters FROM cases ORDER BY recorded_at") == [
        ("nap", '{"n": 0}'),
        ("nap", '{"n": 0.01}'),
    ]


def test_a_file_is_read_and_output_is_not_shown_unless_asked(here: Path) -> None:
    """Commands read nothing else; stdout of bench is for its own rows."""
    (here / "in").write_text("5 words\n")

    assert measure("--repeat", "1", "--input", "in", "grep words").return_value == 0
    assert measure("--repeat", "1", "grep words").return_value == 1
    command = [*BENCH, "--repeat", "1", "--format", "csv", "--show-output", "--", "echo", "shown"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "shown" in done.stderr.splitlines()
    assert "shown" not in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sleep", "1"], "there is no program '1'. A command of several words is quoted, or follows --"),
        ([], "no command given"),
        (["--ignore-exit-codes", "x", "true"], "are not exit codes"),
        (["--prepare", "a", "--prepare", "b", "true"], "--prepare was given 2 times for 1 command"),
        (["--precision", "2", "true"], "not a share"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is(arguments: list[str], said: str) -> None:
    """With the cure; and nothing is recorded."""
    result = measure(*arguments)

    assert isinstance(result.exception, BenchError)
    assert said in str(result.exception)
    assert not Store.find(None).exists()


@pytest.mark.exhaustive
def test_hostile_names_are_harmless() -> None:
    """A terminal is not steered, nor SQL."""
    result = measure("--repeat", "1", "--name", "'; DROP TABLE cases; --\x1b[31m", "true")

    assert "\x1b" not in result.output
    assert rows("SELECT name FROM cases") == [("'; DROP TABLE cases; --\x1b[31m",)]


def test_ctrl_c_leaves_everything_consistent(here: Path) -> None:
    """The run at work is killed, what was set up is cleaned up, runs are kept, and cases not begun say so."""
    command = [
        sys.executable, "-m", "bench", "measure", "command", "--shell", "--cleanup", "touch cleaned", "--parameter",
        "n=1,2",
    ]  # fmt: skip
    long = "echo x >> log; [ $(wc -l < log) -lt 3 ] || { echo $$ > pid; sleep 60; }"
    with subprocess.Popen(
        [*command, f"{long}; : {{n}}", ": {n}"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        while not ((here / "pid").exists() and (here / "pid").read_text()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130

    assert gone(int((here / "pid").read_text()))
    assert (here / "cleaned").exists()
    found = rows("SELECT name[:4], parameters, status, reason FROM case_outcomes ORDER BY ALL")
    assert [status for _, _, status, _ in found] == ["interrupted"] * 4
    assert sum(reason == "Ctrl-C before its turn" for *_, reason in found) == 2
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency'")[0][0] >= 4
    assert rows("SELECT status FROM outcomes WHERE case_id IS NULL") == [("interrupted",)]


@pytest.mark.exhaustive
def test_a_killed_bench_takes_its_command_along(here: Path) -> None:
    """And leaves what it had recorded; the case counts as interrupted."""
    command = [*BENCH, "--shell"]
    with subprocess.Popen([*command, "--", "echo $$ > pid; sleep 60"], stderr=subprocess.DEVNULL) as process:
        while not ((here / "pid").exists() and (here / "pid").read_text()):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)

    assert gone(int((here / "pid").read_text()))
    assert rows("SELECT status FROM case_outcomes") == [("interrupted",)]


def test_it_comes_without_what_is_slow_to_import() -> None:
    """Nothing of Arrow, DuckDB or torch, from the first run to the last line."""
    script = (
        "import sys; sys.argv = ['bench', 'measure', 'command', '--repeat', '2', '--', 'true']\n"
        "from bench.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print({'duckdb', 'pyarrow', 'numpy', 'torch', 'scipy'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    assert rows("SELECT count(*) FROM timings WHERE metric = 'latency'") == [(2,)]


@exhaustive
def test_a_sampler_beside_it() -> None:
    """Over time, of the case."""
    assert measure("--repeat", "1", "--sample", "50", "sleep 0.5").return_value == 0
    assert rows(
        "SELECT count(*) > 3 FROM memory_samples JOIN cases USING (run_id, case_id) WHERE statistic = 'reading'"
    ) == [(True,)]
