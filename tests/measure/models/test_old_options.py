"""Names of the predecessors: options, metrics, backends and suites are answered with what they are called here."""

import os
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.commands.command import command as commands
from bench.measure.engine.worker import COLD
from bench.measure.models import planning
from bench.measure.models.command import command as models
from bench.measure.pytorch import registry
from bench.measure.pytorch.settings import Knobs, check_validation
from bench.measure.suites.registry import known
from bench.warehouse import environment, old_names
from bench.warehouse.console.options import PlainCommand
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.recorder import run
from click.testing import CliRunner

from ...builders import stored


@pytest.mark.parametrize(
    ("what", "option", "answer"),
    [
        ("models", "--training", "--modes training"),
        ("models", "--batch_size=8", "--batch-sizes"),
        ("models", "--cold-start-latency", "every worker begins with an empty compile cache"),
        ("models", "--skip-fp64-check", "--cosine"),
        ("models", "--use_warm_peak_memory", "memory is that of warm steps"),
        ("command", "--runs=10", "--repeat"),
        ("command", "-N", "no shell is used"),
        ("command", "--export-json=a.json", "bench export latest --as hyperfine -o FILE.json"),
    ],
)
def test_an_option_of_another_tool_is_answered_with_ours(what: str, option: str, answer: str) -> None:
    """As a usage error, whatever it was given."""
    done = CliRunner().invoke(cli, ["measure", what, option])

    assert done.exit_code == 2
    assert f"No such option: {option.partition('=')[0]}. Here it is: " in done.output
    assert answer in done.output


@pytest.mark.parametrize("command", [models, commands])
def test_every_answer_is_an_option_and_no_name_of_another_tool_is_one(command: PlainCommand) -> None:
    """A named option exists; an existing option needs no answer."""
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    named = {
        word.strip(",:;")
        for text in command.elsewhere.values()
        for word in text.split()
        if word.startswith("--") and "export" not in text
    }

    assert command.elsewhere and named <= own
    assert not {f"{'-' if len(name) == 1 else '--'}{name}" for name in command.elsewhere} & own


def test_an_unknown_option_is_answered_by_the_nearest() -> None:
    """As ever."""
    done = CliRunner().invoke(cli, ["measure", "models", "--modez", "training"])

    assert "--modes" in done.output


def test_old_names_of_metrics_backends_and_suites() -> None:
    """The first of today's that is known; an unknown one is answered by the nearest."""
    assert old_names.today("abs_latency", ["latency"]) == "latency"
    assert old_names.today("abs_latency", ["latency", "absolute_latency"]) == "absolute_latency"
    assert old_names.today("abs_latency", []) is None
    error = UnknownName("metric", "compilation_latency", ["latency", "compile_latency"], where="these runs")
    assert str(error) == "no metric 'compilation_latency' in these runs. It is called 'compile_latency' here."
    with pytest.raises(UnknownName, match="It is called 'aotinductor' here"):
        registry.check(("export_aot_inductor",))
    for found in old_names.TODAY.values():
        assert not {"timm", "torchscript"} & set(found) or set(found) <= {*known(), *registry.known()}


def test_a_commit_is_named_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in the run in place of that of the folder, as a clean one, and holds for this command only."""
    seen: list[Any] = []

    def look(values: Any) -> None:
        seen.append(environment.git())
        raise BenchError("stop")

    monkeypatch.setattr(planning, "_settings", look)
    CliRunner().invoke(cli, ["measure", "models", "--models", "mlp", "--commit", "ABCDEF0123"])
    assert [(commit, dirty) for commit, _, dirty in seen] == [("abcdef0123", False)]
    assert environment.COMMIT not in os.environ

    monkeypatch.setenv(environment.COMMIT, "0123456789")
    with run("t", store=tmp_path) as recorded:
        pass

    rows = stored("SELECT git_commit, git_dirty FROM run_details WHERE run_id = ?", tmp_path, [recorded.run_id])
    assert rows == [("0123456789", False)]


def test_revisions_name_their_commits_themselves() -> None:
    """One named by hand would be that of all of them."""
    words = ["measure", "models", "--models", "mlp", "--revisions", "a", "b", "--commit", "abcdef0"]
    done = CliRunner().invoke(cli, words)

    assert "leave out --commit" in str(done.exception)


@pytest.mark.exhaustive
def test_validation_without_a_prover_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch would go on and validate nothing; where it is there, torch is told to."""
    torch = pytest.importorskip("torch")
    import torch.fx.experimental._config as config

    check_validation(False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BenchError, match="pip install z3-solver"):
        check_validation(True)
    with config.patch(translation_validation=False):  # type: ignore[attr-defined]  # pytest's own way takes the setting out of torch afterwards
        Knobs(translation_validation=True).apply(torch, "cpu")
        assert config.translation_validation


def test_a_compile_latency_says_that_its_cache_was_empty() -> None:
    """In the row; that of a warm start is a metric of its own."""
    assert COLD == "cold: from an empty compile cache"
