"""The command that measures a case again, and when it cannot."""

import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from bench.cli import _measure_again, cli
from bench.query.regression.remeasure import command_for, commands_for, measure_again, obstacle
from bench.warehouse import environment
from bench.warehouse.console.options import Command, Values, spell_option
from bench.warehouse.errors import BenchError
from bench.warehouse.events import Json
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..builders import Builder, case, options, run
from ..exhaustive import first_of

AXES: dict[str, Any] = {
    "suite": "builtin", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "eager", "batch_size": 8,
}  # fmt: skip
RECORDED = options(
    "measure models", ("what", "--models", "mlp", "lstm"), ("how", "--quick"), ("how", "--seed", "-3"),
    ("how", "--threads", "1"), ("where", "--config", "other"), ("where", "--tag", "a=b"),
)  # fmt: skip


@pytest.fixture
def measured(warehouse: Builder) -> Any:
    """A run of `bench measure` of three cases: mlp, lstm of two lengths."""
    cases = [case("mlp", **AXES), *(case("lstm", **AXES, sequence_length=length) for length in (16, 32))]
    warehouse.add(run(config="main", source="measure", options=RECORDED, host=socket.gethostname()), *cases)
    store: Any = warehouse
    store.store = Store(Path("/srv/my bench"))
    store.ids = [it.case_id for it in cases]
    return store


def test_the_command_gives_every_axis_and_setting(measured: Any) -> None:
    """Those of the case, and how the run was told to measure; recorded under the same config into the same store."""
    assert command_for(measured, "run", measured.ids[2:]) == [
        "bench", "measure", "models", "--suites", "builtin", "--models", "lstm", "--backends", "eager",
        "--modes", "inference", "--batch-sizes", "8", "--sequence-lengths", "32", "--dtypes", "float32", "--devices", "cpu",
        "--quick", "--seed=-3", "--threads", "1", "--config", "main", "--store", "/srv/my bench",
    ]  # fmt: skip


def test_bench_measure_understands_the_command(measured: Any) -> None:
    """Word by word, it plans the case that was asked for."""
    command = command_for(measured, "run", measured.ids[:1])
    assert isinstance(command, list)

    done = CliRunner().invoke(cli, [*command[1:], "--print", "--format", "csv"], catch_exceptions=False)
    assert done.stdout.splitlines()[1:] == ['builtin,mlp,inference,cpu,float32,8,,"{""threads"": 1}",eager,']


def test_cases_of_different_sizes_take_a_command_each(measured: Any) -> None:
    """Otherwise every model would be measured at every size."""
    commands = commands_for(measured, "run", measured.ids)

    assert isinstance(commands, list)
    assert sorted(command[command.index("--models") + 1] for command in commands) == ["lstm", "lstm", "mlp"]
    assert all(command[3:5] == ["--suites", "builtin"] and "--threads" in command for command in commands)


@pytest.mark.parametrize(
    ("fields", "axes", "reason"),
    first_of(
        2,
        [
            ({"source": "pytest-benchmark"}, {}, "was measured by pytest-benchmark, not by bench"),
            (
                {"source": "measure", "command": "x y"},
                {},
                "run run keeps no options to measure it again by, as runs of older",
            ),
            (
                {"source": "measure", "options": RECORDED},
                {"suite": "net.py"},
                "the models are in a file, net.py, which only",
            ),
            (
                {"source": "measure", "options": options("measure function", ("how", "--arg", "token=***"))},
                {},
                "an option of run run is a secret, which is not stored",
            ),
        ],
    ),
)
def test_why_there_is_no_command_is_said(warehouse: Builder, fields: Any, axes: Any, reason: str) -> None:
    """In a sentence."""
    it = case("mlp", **{**AXES, **axes})
    warehouse.add(run(**fields), it)
    store: Any = warehouse
    store.store = Store(Path("store"))

    assert reason in str(command_for(store, "run", [it.case_id]))


def test_a_case_nobody_announced_has_no_command(measured: Any) -> None:
    """A scheduler step, say, or a value of the whole run."""
    assert command_for(measured, "run", ["nothing"]) == commands_for(measured, "run", ["nothing"]) == (
        "run run announced no such case"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("recorded", "again"),
    [
        (options("measure command", ("what", "", "gzip -1 x"), ("how", "--repeat", "5"), ("what", "--", "ls", "--tag")),
         "bench measure command --config main --store store 'gzip -1 x' --repeat 5 -- ls --tag"),
        (options("measure function", ("what", "", "f:g"), ("where", "--config", "mine"), ("where", "--store", "/a")),
         "bench measure function --config main --store store f:g"),
        (options("measure function", ("what", "", "f:g"), ("sides", "--revisions", "a", "b"), ("where", "--config", "mine")),
         "bench measure function --config mine --revisions a b --store store f:g"),
        (options("pytest", ("what", "", "--bench", "tests")), "pytest --bench-config main --bench-store store --bench tests"),
        (
            options("pytest", ("what", "", "--bench", "tests", "--bench-config=main", "--bench-store", "elsewhere")),
            "pytest --bench-config main --bench-store store --bench tests",
        ),
    ],
)  # fmt: skip
def test_commands_functions_and_tests_are_measured_again_as_they_were(
    warehouse: Builder, recorded: Json, again: str
) -> None:
    """Into the same store and config; sides that took turns take turns again, under the config that was given."""
    it = case("x")
    warehouse.add(run(config="main", source="measure", options=recorded), it)
    store: Any = warehouse
    store.store = Store(Path("store"))

    assert commands_for(store, "run", [it.case_id]) == [shlex.split(again)]


@pytest.mark.parametrize("name", ["a b", "a,b", "-x", "--models", "it's", "$(rm -rf .)", "ünïcode 模型"])
def test_no_name_is_taken_for_something_else(name: str) -> None:
    """The command line reads back the value that the option was given, beside another value."""
    read: list[tuple[str, ...]] = []
    command = Command(
        "c",
        params=[Values(["--models"]), click.Option(["--quick"], is_flag=True)],
        callback=lambda models, quick: read.append(models),
    )

    done = CliRunner().invoke(command, [*spell_option("--models", [name, "other"]), "--quick"], catch_exceptions=False)
    assert (done.exit_code, set(read[0])) == (0, {name, "other"})


def here(**fields: Any) -> dict[str, Any]:
    """What a run recorded that could be repeated here."""
    usual = {
        "source": "measure", "host": socket.gethostname(), "git_commit": "c1" * 20, "git_dirty": False,
        "environment_id": environment.capture().environment_id,
    }  # fmt: skip
    return {**usual, **fields}


@pytest.mark.parametrize(
    ("fields", "git", "reason"),
    first_of(
        3,
        [
            ({}, ("c1" * 20, "main", False), None),
            ({"host": "elsewhere"}, ("c1" * 20, "main", False), "it was measured on elsewhere, and this is "),
            ({"host": None}, ("c1" * 20, "main", False), "it was measured on an unknown machine"),
            ({"git_commit": None}, (None, None, None), "its commit was not recorded"),
            ({}, ("d2" * 20, "main", False), "it measured commit c1c1c1c1c, and d2d2d2d2d is checked out"),
            ({}, (None, None, None), "and none is checked out"),
            ({"git_dirty": True}, ("c1" * 20, "main", False), "differed from commit c1c1c1c1c then"),
            ({}, ("c1" * 20, "main", True), "differed from commit c1c1c1c1c now"),
            ({"environment_id": "other"}, ("c1" * 20, "main", False), "see bench env-diff"),
        ],
    ),
)
def test_a_run_is_repeated_only_where_it_would_be_the_same(
    warehouse: Builder, monkeypatch: pytest.MonkeyPatch, fields: Any, git: Any, reason: str | None
) -> None:
    """Same machine, same software, same clean commit; else what differs is said."""
    monkeypatch.setattr(environment, "git", lambda: git)
    warehouse.add(run(**here(**fields)))

    found = obstacle(warehouse, "run")
    assert found is None if reason is None else found is not None and reason in found


def test_measuring_again_runs_no_shell_and_tags_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words stay words; what it prints goes to stderr; a failed case is no error, a wrong command is."""
    calls: list[Any] = []

    def fake(words: list[str], **options: Any) -> Any:
        calls.append((words, options))
        return type("Done", (), {"returncode": 2 if "wrong" in words else 1})

    monkeypatch.setattr(subprocess, "run", fake)
    measure_again(["bench", "measure", "models", "--models", "a b; c"], "confirms=run-1", _measure_again)

    ((words, options),) = calls
    assert words[-8:] == ["-m", "bench", "measure", "models", "--tag", "confirms=run-1", "--models", "a b; c"]
    assert options == {"stdout": 2}
    with pytest.raises(BenchError, match="exit code 2: bench measure wrong"):
        measure_again(["bench", "measure", "wrong"], "confirms=run-1", _measure_again)
