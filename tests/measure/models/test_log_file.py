"""`--log-file`: what a command prints is in a file, too."""

import io
import sys
from pathlib import Path

import click
import pytest
from bench.cli import cli
from bench.measure.log_file import LoggedStream, logged
from bench.warehouse.errors import BenchError
from click.testing import CliRunner


def test_both_streams_are_appended_under_a_heading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And printed as ever; a second run comes after the first."""
    path = tmp_path / "bench.log"
    for number in (1, 2):
        with logged(path):
            click.echo(f"table {number}")
            click.echo(f"note {number}", err=True)

    assert capsys.readouterr() == ("table 1\ntable 2\n", "note 1\nnote 2\n")
    heading, *lines, again, _, _ = path.read_text().splitlines()
    assert lines == ["table 1", "note 1"]
    assert heading[:3] == again[:3] == "# 2"


def test_a_line_rewritten_in_place_is_logged_once() -> None:
    """As a terminal shows it at last, without its control sequences."""
    file, terminal = io.StringIO(), io.StringIO()
    stream = LoggedStream(terminal, file)
    for text in ("\r\x1b[K1 of 2", "\r\x1b[K2 of 2", "\r\x1b[K", "done\n", "half"):
        stream.write(text)

    assert file.getvalue() == "done\n"
    assert terminal.getvalue().endswith("done\nhalf")


def test_an_error_is_the_last_line(tmp_path: Path) -> None:
    """It is printed outside of the command."""
    with pytest.raises(BenchError), logged(tmp_path / "log"):
        raise BenchError("no such model")

    assert (tmp_path / "log").read_text().splitlines()[1:] == ["Error: no such model"]
    assert not isinstance(sys.stdout, LoggedStream)


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Before anything is measured."""
    with pytest.raises(BenchError, match="cannot write the log"), logged(tmp_path / "nowhere" / "log"):
        pass


def test_the_command_takes_it(tmp_path: Path) -> None:
    """The cases of a plan stand in the file as they do on stdout."""
    log = tmp_path / "log"
    done = CliRunner().invoke(cli, ["measure", "models", "--models", "mlp", "--print", "--log-file", str(log)])

    assert done.exit_code == 0
    assert log.read_text().split("\n", 1)[1] == done.output
