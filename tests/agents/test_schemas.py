"""The JSON Schemas: published as generated, and what every command writes fits its own."""

import copy
import json
import os
import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from bench import cli as command_line
from bench.agents.answers import ANSWERS
from bench.agents.schemas import broken_promises, file_name, schema, text, write_schemas
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..exhaustive import exhaustive, first_of
from ..measure.serving.test_follow import line
from ..viz.stores import search
from .conftest import store_of

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"
NEEDS = {"viz": "altair"}
SHORT = ("list", "store", "programs")  # groups whose commands answer by their own name

# What is typed for each answer, in the folder of the store; those of `measure` are below.
TYPED = {
    "sql": ["sql", "SELECT 1 AS a, 'x' AS b, NULL AS c, [1] AS d"],
    "views": ["views"],
    "views NAME": ["views", "comparisons"],
    "speedups": ["speedups"],
    "compare": ["compare", "base", "candidate"],
    "why": ["why", "base", "candidate", "geomean"],
    "regressions": ["regressions", "night-10"],
    "history": ["history"],
    "history --all": ["history", "mlp", "--all"],
    "history --summary": ["history", "--summary"],
    "runs": ["runs"],
    "runs --forgotten": ["runs", "--forgotten"],
    "configs": ["configs"],
    "cases": ["cases"],
    "sources": ["sources"],
    "rejects": ["rejects"],
    "show": ["show", "night-10"],
    "show --details": ["show", "night-10", "--details"],
    "explain": ["explain", "mlp", "--backend", "eager"],
    "env-diff": ["env-diff", "base", "candidate"],
    "plan": ["plan"],
    "cost-model": ["cost-model", "--configs", "base"],
    "cost-model --line": ["cost-model", "--configs", "base", "--line"],
    "cost-model --by phase": ["cost-model", "--configs", "base", "--by", "phase"],
    "cost-model --against": ["cost-model", "--configs", "candidate", "--against", "base"],
    "settings": ["settings"],
    "schemas": ["schemas"],
    "sync --dry-run": ["sync", ".bench", "elsewhere", "--dry-run"],
}
EXPLAINED = {  # the other rows that `explain` may write
    "values": ["explain", "mlp", "--backend", "inductor", "--metric", "request_throughput"],
    "memory": ["explain", "mlp", "--backend", "inductor", "--metric", "rss_peak"],
    "steps": ["explain", "step", "--run", "base", "--metric", "model_run_mean"],
    "outcomes": ["explain", "epsilon", "--run", "candidate"],
    "mean of a run": ["explain", "geomean", "--run", "night-10"],
    "mean of two sides": ["explain", "base", "candidate", "geomean"],
    "samples of two sides": ["explain", "base", "candidate", "alpha"],
}
MEASURED = {
    "measure command": ["measure", "command", "--repeat", "2", "--parameter", "n=0,1", "--", "sleep", "0.00{n}"],
    "measure function": ["measure", "function", "json:dumps", "--arg", "obj=1", "--repeat", "2", "--processes", "1"],
    "measure memory": ["measure", "memory", "program.py"],
    "measure memory --show steps": ["measure", "memory", "--show", "steps", "program.py"],
    "measure models --print": ["measure", "models", "--models", "mlp", "--print"],
    "measure serving": ["measure", "serving", "--from", "passes.jsonl", "--idle", "0.1"],
    "doctor": ["doctor", "--budget", "0.01"],
    "compare TRACE": ["compare", "a.json", "b.json"],
}


def strict(node: Any) -> Any:
    """The schema without the liberty to gain columns."""
    if isinstance(node, dict):
        node = {key: strict(value) for key, value in node.items()}
        return {**node, "additionalProperties": False} if node.get("properties") else node
    return [strict(item) for item in node] if isinstance(node, list) else node


def answered(*words: str) -> Any:
    """What a command writes on standard output, as JSON."""
    found = CliRunner().invoke(command_line.cli, [*words], standalone_mode=False)
    assert found.exception is None, found.exception
    return json.loads(found.stdout)


def checked(name: str, document: Any) -> None:
    """Hold a document against the strict schema of an answer; it must not be empty."""
    assert document
    jsonschema.validate(document, strict(schema(name)), cls=jsonschema.Draft202012Validator)


def test_the_published_schemas_are_those_generated() -> None:
    """Write them with: bench programs schemas -o docs/schemas."""
    assert {path.name for path in PUBLISHED.iterdir()} == {file_name(name) for name in ANSWERS}
    assert [name for name in ANSWERS if (PUBLISHED / file_name(name)).read_text(encoding="utf-8") != text(name)] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_a_schema_is_one(name: str) -> None:
    """JSON Schema, draft 2020-12, with an identity that has its version."""
    found = schema(name)

    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$id"].endswith(f":{ANSWERS[name].version}")


def test_every_command_that_writes_json_has_a_schema() -> None:
    """Charts have none here: what they write as JSON is Vega-Lite, whose schema Vega publishes."""

    def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
        for name in group.list_commands(click.Context(group)):
            if not path and find_spec(NEEDS.get(name, "click")) is None:
                continue
            command = group.get_command(click.Context(group), name)
            assert command is not None
            yield (name if path in SHORT else f"{path} {name}".strip()), command
            if isinstance(command, click.Group):
                yield from commands(command, name)

    writes = {
        name
        for name, command in commands(command_line.cli)
        for option in command.params
        if "--format" in option.opts and isinstance(option.type, click.Choice) and "json" in option.type.choices
        if not name.startswith("viz ") or name == "viz list"
    }
    known = {" ".join(word for word in name.split() if word.islower() and not word.startswith("-")) for name in ANSWERS}
    assert writes == {name.removesuffix(" steps").removesuffix(" phase") for name in known} - {"errors"}


@pytest.mark.parametrize("name", first_of(6, TYPED))
def test_what_a_command_writes_fits_its_schema(here: Path, name: str) -> None:
    """With every column that the schema has, and no other."""
    checked(name, answered(*TYPED[name], "--format", "json"))


@pytest.mark.exhaustive
def test_what_a_search_found_fits_its_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commits of a search that is known, with nothing measured."""
    monkeypatch.setenv("BENCH_STORE", str(store_of(tmp_path, search(random.Random(7), "bisect", "work")).root))

    checked("bisect", answered("bisect", "--show", "5ea4c4", "--format", "json"))


@pytest.mark.parametrize("rows", first_of(1, EXPLAINED))
def test_whatever_is_explained_fits_the_schema(here: Path, rows: str) -> None:
    """Samples, values, memory, steps, outcomes and means have columns of their own."""
    checked("explain", answered(*EXPLAINED[rows], "--format", "json"))


@pytest.mark.parametrize("name", first_of(1, MEASURED))
def test_what_is_measured_fits_its_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The commands that measure write rows of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / ".bench"))
    (tmp_path / "program.py").write_text("kept = []\nfor size in range(20):\n    kept.append(bytearray(10**6))\n")

    (tmp_path / "passes.jsonl").write_bytes(b"".join(map(line, range(3))))
    for took, trace in enumerate(("a.json", "b.json")):
        spans = [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": took}]
        (tmp_path / trace).write_text(json.dumps({"traceEvents": spans}))

    place = 1 + (MEASURED[name][0] == "measure")  # after the name of the command
    checked(name, answered(*MEASURED[name][:place], "--format", "json", *MEASURED[name][place:]))


@exhaustive
def test_what_is_measured_of_models_and_processes_fits_its_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These take seconds."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / ".bench"))
    models = ["measure", "models", "--models", "mlp", "--backends", "eager", "--repeat", "2", "--no-memory"]
    checked("measure models", answered(*models, "--format", "json"))
    lines = ["measure", "lines", "json:dumps", "--arg", "obj=1", "--budget", "0.1", "--processes", "1"]
    checked("measure lines", answered(*lines, "--format", "json"))
    checked("measure attach", answered("measure", "attach", str(os.getpid()), "--duration", "0.5", "--format", "json"))


def test_the_list_of_charts_fits_its_schema(here: Path) -> None:
    """It needs altair."""
    pytest.importorskip("altair")

    checked("viz list", answered("viz", "list", "--format", "json"))


def test_every_answer_is_tried() -> None:
    """No schema without a real answer that is held against it."""
    apart = {"bisect", "viz list", "measure models", "measure lines", "measure attach", "errors"}

    assert TYPED.keys() | MEASURED.keys() | apart == ANSWERS.keys()


def test_a_wrong_answer_does_not_fit(store: Store) -> None:
    """A number as text, a column that is missing, one too many, and a verdict that there is not."""
    shape = strict(schema("compare"))
    (row,) = [dict.fromkeys(shape["items"]["properties"])]
    validate = jsonschema.Draft202012Validator(shape).is_valid

    assert validate([row]) and validate([{**row, "ratio": 1.5, "verdict": "UNSURE"}])
    wrong: list[dict[str, Any]] = [{**row, "ratio": "1.5"}, {**row, "new": 1}, {**row, "verdict": "MAYBE"}, {}]
    assert [validate([each]) for each in wrong] == [False] * 4


def test_a_version_only_gains_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose column would go or change its type is not overwritten, unless the version is raised."""
    write_schemas(tmp_path)
    path = tmp_path / "cases.json"
    published = json.loads(path.read_text())
    published["items"]["properties"]["older"] = {"type": ["string", "null"]}
    path.write_text(json.dumps(published))

    with pytest.raises(
        BenchError, match=r"cases.json has the same version, and 'older' is gone. Raise the version of 'cases'"
    ):
        write_schemas(tmp_path)
    published["$id"] = "urn:bench:cases:0"
    path.write_text(json.dumps(published))
    assert write_schemas(tmp_path) == ["cases.json"]


def test_a_folder_that_cannot_be_made_is_no_bug(tmp_path: Path) -> None:
    """It ended with the exit code of an internal error."""
    (tmp_path / "file").touch()
    with pytest.raises(BenchError, match=r"cannot write .*file/x: Not a directory. Choose another folder.") as error:
        write_schemas(tmp_path / "file" / "x")
    assert error.value.exit_code == 2


def test_what_breaks_a_promise() -> None:
    """A column that is gone or of another type, wherever it stands; a new one does not."""
    old = schema("explain")
    gone, retyped, gained = copy.deepcopy(old), copy.deepcopy(old), copy.deepcopy(old)
    del gone["items"]["anyOf"][1]["properties"]["value"]
    retyped["items"]["anyOf"][0]["properties"]["loops"]["type"] = ["string", "null"]
    gained["items"]["anyOf"][0]["properties"]["new"] = {"type": ["string", "null"]}

    assert broken_promises(old, gone) == ["'value' is gone"]
    assert broken_promises(old, retyped) == ["'loops' is ['string', 'null'] instead of ['integer', 'null']"]
    assert broken_promises(old, gained) == []


def test_an_unknown_answer_is_an_error_with_the_nearest() -> None:
    """As any other unknown name."""
    with pytest.raises(UnknownName, match=r"no schema 'comapre'\. Nearest: 'compare'"):
        schema("comapre")


def test_a_schema_is_printed_by_the_words_of_its_command() -> None:
    """Options that make another answer included."""
    assert answered("schemas", "history", "--all") == schema("history --all")
    assert answered("schemas", "measure", "models") == schema("measure models")
