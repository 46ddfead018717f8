"""Two measurements on one machine: the second waits, fails, or goes on, as told."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.cli import cli
from bench.measure.system.machine_lock import HELD, PLACE, MachineBusy, alone
from bench.warehouse.errors import BenchError, Exit
from click.testing import CliRunner

HOLD = """
import sys
from bench.measure.system.machine_lock import alone
with alone():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(PLACE, str(tmp_path / "lock"))
    return tmp_path / "lock"


@pytest.fixture
def holder() -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock until its stdin closes."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_measurement_waits_and_says_for_whom(holder: "subprocess.Popen[str]") -> None:
    """Once; and begins when the first is done."""
    said: list[str] = []

    def notify(text: str) -> None:
        said.append(text)
        assert holder.stdin is not None
        holder.stdin.close()

    with alone(notify=notify):
        assert holder.wait(120) == 0

    (text,) = said
    assert text.startswith(f"waiting for 24 h 0 min at most: process {holder.pid} of ")
    assert " measures since 20" in text


def test_a_second_measurement_may_fail_instead(holder: "subprocess.Popen[str]") -> None:
    """With the exit code of what is busy, and the cure; and so may a third, who is told of the same holder."""
    for _ in range(2):
        with pytest.raises(MachineBusy, match=rf"process {holder.pid} .* --lock off") as error, alone("fail"):
            pass
        assert error.value.exit_code == Exit.BUSY


def test_a_wait_has_an_end(holder: "subprocess.Popen[str]") -> None:
    """After the seconds that were given it fails as one that does not wait."""
    said: list[str] = []

    late = pytest.raises(MachineBusy, match=rf"waited for 0 s, and process {holder.pid} .* --lock off")
    with late, alone("0.3", notify=said.append):
        pass

    assert len(said) == 1


@pytest.mark.parametrize("text", ["never", "-1", "0", "nan", ""])
def test_what_is_no_wait_is_refused(text: str) -> None:
    """With what can be said instead."""
    said = CliRunner().invoke(cli, ["measure", "command", "--lock", text, "--", "true"])

    assert isinstance(said.exception, BenchError)
    assert said.exception.exit_code == Exit.USAGE
    assert "must be one of wait, fail, off, or the number of seconds" in str(said.exception)


def test_or_measure_beside_it(holder: "subprocess.Popen[str]") -> None:
    """No lock is asked for; nor does what is started within wait."""
    with alone("off"), alone("fail"):
        pass


def test_the_lock_goes_with_its_holder(holder: "subprocess.Popen[str]") -> None:
    """Killed, it leaves no lock behind."""
    holder.kill()
    holder.wait()

    with alone("fail"):
        pass


def test_what_a_measurement_starts_runs_under_its_lock(lock_file: Path) -> None:
    """Else it would wait for itself, for ever."""
    with alone("fail"):
        inner = subprocess.run([sys.executable, "-c", HOLD], input="", capture_output=True, text=True, timeout=120)
        with alone("fail"):
            assert lock_file.read_text()
    assert inner.stdout == "held\n"
    assert HELD not in os.environ
    assert lock_file.read_text() == ""


def test_where_there_can_be_no_lock_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And the measurement goes on: a folder that is missing is no reason not to measure. Links are not followed."""
    said: list[str] = []
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for place in (tmp_path / "missing" / "lock", tmp_path / "link"):
        monkeypatch.setenv(PLACE, str(place))
        with alone(notify=said.append):
            pass
    assert len(said) == 2
    assert all("cannot" in text for text in said)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("kind", ["pipe", "second name"])
def test_what_is_no_lock_file_is_left_alone(kind: str, lock_file: Path, tmp_path: Path) -> None:
    """Others can write to the lock's folder: a pipe is no lock, and somebody's file by this name keeps what it has."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    if kind == "pipe":
        os.mkfifo(lock_file)
    else:
        os.link(victim, lock_file)
    said: list[str] = []
    with alone(notify=said.append):
        pass

    assert said == [f"{lock_file} is not a lock file: another measurement may run at the same time"]
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"pid": 1, "user": "\\u001b[2J", "since": "\\u001b]0;x\\u0007", "command": "a\\nb"}', r"\x1b[2J"),
        ("[" * 4000, "another process measures"),
        ('{"pid": 1}', "another process measures"),
    ],
)
def test_no_text_of_others_steers_the_terminal(
    content: str, expected: str, holder: "subprocess.Popen[str]", lock_file: Path
) -> None:
    """Whatever stands in the file is shown as printable text."""
    lock_file.write_text(content)
    with pytest.raises(MachineBusy) as refused, alone("fail"):
        pass

    assert expected in str(refused.value)
    assert str(refused.value).isprintable()
