"""`--errors json`: what is wrong, where, the cure, the nearest name and the exit code, on every command."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from bench import cli as command_line
from bench.agents.schemas import schema
from bench.warehouse.errors import Exit, error_fields

from ..exhaustive import first_of
from ..test_package import commands


def failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[dict[str, Any], int]:
    """The error of a command line, which fits its schema, and the exit code of the process."""
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    error = json.loads(capsys.readouterr().err.splitlines()[-1])
    jsonschema.validate(error, {**schema("errors"), "additionalProperties": False})
    assert error["exit_code"] == ended.value.code
    return error, error["exit_code"]


@pytest.mark.parametrize(
    ("words", "kind", "what", "cure", "nearest", "code"),
    first_of(4, [
        ("compare bas candidate", "UnknownName", "no run 'bas' in", "List them with: bench list runs", ["base"], 2),
        ("sql 'FROM speedup'", "BenchError", "no table or view 'speedup'.", "List them with: bench views", ["speedups"], 2),
        ("sql 'SELECT nam FROM speedups'", "BenchError", 'Binder Error: Referenced column "nam"', None, ["name"], 2),
        ("compare base", "MissingParameter", "Missing argument 'CANDIDATE'.", "See: bench compare --help", [], 2),
        ("runs --format jsn", "BadParameter", "Invalid value for '--format'", "See: bench list runs --help", ["json"], 2),
            (
                "export --as hyperfin", "BadParameter", "Invalid value for '--format' / '--as'", "See: bench export --help",
                ["hyperfine"], 2,
            ),
        ("runs --limt 3", "NoSuchOption", "No such option '--limt'.", "See: bench list runs --help", ["--limit"], 2),
        ("compair", "UnknownName", "no command 'compair'.", "List them with: bench --help", ["compare"], 2),
        ("viz speedup", "UnknownName", "no chart 'speedup'.", "List them with: bench viz list", ["speedups"], 2),
        ("measure model", "UnknownName", "no measure command 'model'.", "List them with:", ["models"], 2),
        ("history --metrics rss_peak --configs base", "NothingToShow", "nothing measured matches.", "See what there is", [], 3),
        ("compare zzz candidate", "UnknownName", "no run 'zzz' in", "List them with: bench list runs", [], 2),
        ("plan --configs imported", "NothingToShow", "config 'imported' has runs", "See what they recorded", None, 3),
    ]),
)  # fmt: skip
def test_an_error_in_its_parts(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: str, kind: str, what: str, cure: str | None, nearest: list[str] | None, code: int,
) -> None:  # fmt: skip
    """Of names, queries, and how a command is written; the option may stand before the command or in it."""
    for line in (["--errors", "json", *shlex.split(words)], [*shlex.split(words), "--errors=json"]):
        error, exit_code = failed(monkeypatch, capsys, *line)

        assert (error["kind"], exit_code) == (kind, code)
        assert error["what"].startswith(what)
        assert cure is None or error["cure"].startswith(cure)
        assert nearest is None or error["nearest"][:1] == nearest[:1]
        assert error["message"].startswith(error["what"])


def test_where_is_the_store_the_command_or_the_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is known apart from the message."""
    monkeypatch.setenv("BENCH_ERRORS", "json")
    places = [
        failed(monkeypatch, capsys, *words)[0]["where"]
        for words in (["compare", "bas", "candidate"], ["compare", "base"], ["sql", "SELECT 1 +"])
    ]

    assert [Path(places[0]).name, *places[1:]] == [".bench", "bench compare", "LINE 1: SELECT 1 +"]


def test_text_is_what_people_get(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the option, and where it says so in spite of the variable."""
    monkeypatch.setenv("BENCH_ERRORS", "json")
    monkeypatch.setattr(sys, "argv", ["bench", "compare", "bas", "candidate", "--errors", "text"])
    with pytest.raises(SystemExit):
        command_line.main()

    assert capsys.readouterr().err.startswith("Error: no run 'bas' in ")


@pytest.mark.exhaustive
def test_a_bug_is_an_error_in_its_parts(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, and how to see more."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr("bench.query.tables.catalog", fail)
    error, code = failed(monkeypatch, capsys, "views", "--errors", "json")

    assert (code, error["kind"]) == (Exit.INTERNAL, "InternalError")
    assert error["cure"] == "Set BENCH_DEBUG=1 to see where."


def test_options_of_a_program_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bench reads no option after a script, or after `--`."""
    monkeypatch.chdir(tmp_path)
    for words in (
        ["measure", "memory", "none.py", "--errors", "json"],
        ["measure", "command", "--", "none-such", "--errors=json"],
    ):
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        with pytest.raises(SystemExit):
            command_line.main()

        assert capsys.readouterr().err.splitlines()[-1].startswith("Error: ")


def test_every_command_takes_the_option() -> None:
    """Groups take it before the name of the command."""
    without = [
        name
        for name, command in commands()
        if not isinstance(command, click.Group) and not any("--errors" in option.opts for option in command.params)
    ]

    assert without == []


@pytest.mark.parametrize(
    ("message", "what", "cure"),
    [
        ("no store", "no store", None),
        ("cannot read a.csv: gone. Look at it. Or not.", "cannot read a.csv: gone.", "Look at it. Or not."),
        (
            "no run 'A. Do: x'. Nearest: \"it's. B\". List: bench list runs",
            "no run 'A. Do: x'.",
            "List: bench list runs",
        ),
        ("a model's name. Its cure", "a model's name.", "Its cure"),
        ("several:\n  one. Two\n  three", "several:", None),
    ],
)
def test_the_first_sentence_is_what_is_wrong(message: str, what: str, cure: str | None) -> None:
    """Those after it say what to do; lines below the first stay in the message."""
    found = error_fields(message, 2, "BenchError")

    assert (found["what"], found["cure"], found["message"]) == (what, cure, message)
