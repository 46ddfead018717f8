"""Options of a run: what a measuring command keeps of its own, and that the same command comes out of it again."""

import importlib
import json
import shlex
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.cli import cli
from bench.measure.models.planning import plan_request
from bench.measure.recorded_options import recorded_options
from bench.query.recorded_options import options_of
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..exhaustive import sampled

FOLDERS = {
    "models": "models",
    "function": "functions",
    "command": "commands",
    "lines": "lines",
    "memory": "line_memory",
}


def context_of(kind: str, line: str) -> Any:
    """The context of a command line after `bench measure KIND`."""
    command = importlib.import_module(f"bench.measure.{FOLDERS[kind]}.command").command
    return command.make_context(kind, shlex.split(line))


def words_of(rows: Any, tmp_path: Path, *roles: str) -> list[str]:
    """The words of a run that was recorded with these rows, but for those of other roles."""
    with bench.run("c", store=tmp_path / "s", source="measure", options=rows) as run:
        pass
    with Warehouse.open(Store(tmp_path / "s")) as warehouse:
        found = options_of(warehouse, run.run_id)
    assert not isinstance(found, str) and found.command[0] == "measure"
    return found.words(*roles)


LINES = [
    ("function", "json:dumps --arg obj='[1, 2]' --arg skipkeys=true --instructions --precision 2%"),
    ("function", "work:f work:g --revisions a b --rounds 2 --config c --tag a=b --lines --seed -3"),
    ("command", "--warmup 1 'sort x' --name a --name b -- sort --tag x"),
    ("command", "--parameter n=1,2 'echo {n}' --ignore-exit-codes 1,2 --instructions"),
    ("lines", "work:f --arg n=3 --setup work:make --top 3 --show source -o a.html --processes 2"),
    ("memory", "--modules a,b --top 3 -m pkg.train --epochs 1 --top 9"),
    ("models", "--models 'a,b' c --batch-sizes auto 2 --suites path:net.py,class:Net --no-memory --quick"),
    ("models", "--dynamo-config x=1 --dynamo-config y=2 --threads 2 --partition 1/2 --resume --fleet f"),
]


@pytest.mark.parametrize(("kind", "line"), sampled(LINES, LINES[1], LINES[2]))
def test_what_was_given_comes_out_again(kind: str, line: str, tmp_path: Path) -> None:
    """All words that were recorded, in their order, are read to the same values as what was typed."""
    with context_of(kind, line) as typed:
        rows = recorded_options()
    again = context_of(kind, shlex.join(words_of(rows, tmp_path, "what", "how", "sides", "where")))

    others = ("store", "keep", "leave")  # objects
    assert {name: value for name, value in again.params.items() if name not in others} == {
        name: value for name, value in typed.params.items() if name not in others
    }
    assert [*again.meta.values()][-1:] == [*typed.meta.values()][-1:]


@pytest.mark.exhaustive
def test_roles_say_what_how_which_sides_and_where(tmp_path: Path) -> None:
    """Options of rows and of sides that took turns are no part of the measurement."""
    where = "--config c --tag a=b --store s --format csv --commit abcdef1 --wide"
    with context_of("function", f"work:f --arg n=1 --repeat 5 --revisions a b --rounds 2 {where}"):
        rows = recorded_options()

    assert words_of(rows, tmp_path, "what", "how") == ["work:f", "--arg", "n=1", "--repeat", "5"]
    assert words_of(rows, tmp_path, "sides") == ["--revisions", "a", "b", "--rounds", "2"]


def test_settings_of_a_plan_file_are_kept(tmp_path: Path) -> None:
    """They say how, and no word of the command line does; what is the default says nothing."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'models = ["mlp"]\nprecision = "2%"\nmemory = false\nchannels-last = true\ndynamo-config = ["suppress_errors=True"]\n'
    )
    with context_of("models", f"{plan} --seed 3 --print") as context:
        rows = recorded_options(plan_request(context, context.params).values)

    assert words_of(rows, tmp_path, "how") == shlex.split(
        "--seed 3 --print --precision 0.02 --no-memory --channels-last --dynamo-config suppress_errors=True"
    )


def test_a_run_keeps_them_and_no_secret(tmp_path: Path) -> None:
    """From the command to the rows of the view."""
    words = [
        "measure",
        "command",
        "--store",
        str(tmp_path / "s"),
        "--repeat",
        "1",
        "--",
        "echo",
        "--token",
        "hunter2hunter2",
    ]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0

    with Warehouse.open(Store(tmp_path / "s")) as warehouse:
        rows = warehouse.rows("SELECT role, option, arguments::VARCHAR FROM run_options ORDER BY position")
    assert [(role, option, json.loads(texts)) for role, option, texts in rows] == [
        ("command", None, ["measure", "command"]), ("where", "--store", [str(tmp_path / "s")]), ("how", "--repeat", ["1"]),
        ("what", "--", ["echo", "--token", "***"]),
    ]  # fmt: skip
