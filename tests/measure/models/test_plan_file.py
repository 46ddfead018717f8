"""Plan files and the command line: what they plan together, and what they say of a mistake."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.models import planning
from bench.warehouse.errors import BenchError, UnknownName
from click.testing import CliRunner

PLAN = """
precision = "2%"
modes = ["inference", "training"]
tag = {team = "compilers, too"}

[[product]]
models = ["mlp", "cnn"]
batch-sizes = [1, 8]

[[product]]
models = "mlp"
batch-sizes = 8
modes = "inference"
backends = ["eager", "aot_eager"]
"""


@pytest.fixture
def plan_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def printed(*words: Any, how: str = "--print") -> list[str]:
    """What is planned, a line each."""
    arguments = ["measure", "models", *map(str, words), how, *(["--format", "csv"] if how == "--print" else [])]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    return done.stdout.splitlines()[how == "--print" :]


def test_a_file_holds_several_products(plan_file: Path) -> None:
    """Work that two of them name is one, with the backends of both."""
    cases = [line.split(",") for line in printed(plan_file)]

    assert len(cases) == 2 * 2 * 2 * 2 + 1
    assert [case[8] for case in cases if case[1:6] == ["mlp", "inference", "cpu", "float32", "8"]] == [
        "eager", "inductor", "aot_eager",
    ]  # fmt: skip


def test_options_stand_above_the_file(plan_file: Path) -> None:
    """In every product; what is not given is the file's."""
    cases = [line.split(",") for line in printed(plan_file, "--modes", "inference", "--batch-sizes", "2")]

    assert {(case[2], case[5]) for case in cases} == {("inference", "2")}


def test_a_command_for_each_workload_plans_that_workload(plan_file: Path) -> None:
    """With its axes and settings, so that other machines can share the work; hostile values keep to their word."""
    commands = printed(plan_file, "--config", "x; rm -rf /", "--quick", how="--print-commands")
    planned = [case for command in commands for case in printed(*shlex.split(command)[3:])]

    assert planned == printed(plan_file)
    assert all("--precision 0.02 --quick --config 'x; rm -rf /' --tag 'team=compilers, too'" in one for one in commands)


def test_a_file_of_models_stays_a_file_in_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its cases are named after the file alone."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("class Net:\n    def get_example_inputs(self, batch_size=4): ...\n")

    (command,) = printed("--suites", "path:mine.py,class:Net", how="--print-commands")

    assert f"--suites path:{tmp_path}/mine.py --models Net" in command
    assert printed(*shlex.split(command)[3:]) == printed("--suites", "path:mine.py,class:Net")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modells = ['mlp']", "no key 'modells' in {}. Nearest: 'models'"),
        ("[[product]]\nbatch_sizes = 1", "no key 'batch_sizes' in {}, [[product]] 1. Nearest: 'batch-sizes'"),
        ("[[product]]\nprecision = 0.1", "{}, [[product]] 1, precision: it holds for all products"),
        ("modes = 'train'", "{}, modes: 'train' is not one of 'inference', 'training'"),
        ("batch-sizes = [1, 0]", "{}, batch-sizes: '0' is not a batch size"),
        ("precision = [1]", "{}, precision: takes one value, not a list"),
        ("precision = 'a lot'", "{}, precision: 'a lot' is not a share"),
        ("modes = []", "{}, modes: an empty list asks for nothing"),
        ("models = [['mlp']]", "{}, models: takes plain values"),
        ("config = {a = 1}", "{}, config: takes one value, not a table"),
        ("[product]\nmodels = 'mlp'", "{}: product is a table of axes. Write it as [[product]]."),
        ("models = mlp", "{} is not valid TOML: Invalid value (at line 1"),
        ("[[product]]\nmodels = 'mlpp'", "{}, [[product]] 1: no model 'mlpp' in suite 'builtin'. Nearest: 'mlp'"),
        ("resume = true", "{}, resume: it belongs to one measurement, not to a plan. Give it as --resume."),
    ],
)
def test_a_mistake_is_named_with_file_and_key(plan_file: Path, text: str, said: str) -> None:
    """And with the nearest key there is."""
    plan_file.write_text(text)

    with pytest.raises((BenchError, UnknownName)) as error:
        printed("plan.toml")
    assert said.format("plan.toml") in str(error.value)


def test_a_model_may_be_in_any_of_the_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all that have it; one that none has is unknown."""
    suites: Any = {"a": {"x": 1, "y": 2}, "b": {"y": 3, "z": 4}}
    monkeypatch.setattr(planning, "models_of", lambda suite: suites[suite])

    found: Any = planning._models(["a", "b"], ["y", "z"])
    assert found == [("a", {"y": 2}), ("b", {"y": 3, "z": 4})]
    with pytest.raises(UnknownName, match="no model 'w' in suite 'a' and 'b'"):
        planning._models(["a", "b"], ["w"])
