"""Plans, suites and backends: what can be known without torch."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.measure.command import measure
from bench.measure.engine.workload import Job, Settings, Workload
from bench.measure.models.product import merged, product
from bench.measure.pytorch import Backend
from bench.measure.pytorch import registry as backends
from bench.measure.suites import registry as suites
from bench.measure.suites.model import Model
from bench.measure.suites.registry import models_of
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.recorder import case_ids
from click.testing import CliRunner

FLAT = Model("m:Flat", batch_size=8)
LONG = Model("m:Long", batch_size=4, sequence_length=128)
AXES: dict[str, Any] = {"modes": ["inference"], "devices": ["cpu"], "dtypes": ["float32"]}


def test_the_baseline_is_always_there_and_first() -> None:
    """And nothing twice, however often it is named."""
    (workload,) = product("s", {"flat": FLAT}, backends=["inductor", "eager", "inductor"], **AXES)

    assert workload.backends == ("eager", "inductor")


def test_a_model_without_sequences_is_not_repeated_for_lengths() -> None:
    """The product skips an axis the model does not have."""
    plan = product(
        "s", {"flat": FLAT, "long": LONG}, backends=[], batch_sizes=[1, 2], sequence_lengths=[16, 32], **AXES
    )

    assert [str(workload) for workload in plan] == [
        "flat inference b1", "flat inference b2",
        "long inference b1 s16", "long inference b1 s32", "long inference b2 s16", "long inference b2 s32",
    ]  # fmt: skip


def test_without_sizes_a_model_runs_at_its_own() -> None:
    """Those of the suite."""
    plan = product("s", {"flat": FLAT, "long": LONG}, backends=[], **AXES)

    assert [(w.batch_size, w.sequence_length) for w in plan] == [(8, None), (4, 128)]


def test_sides_of_a_workload_share_its_work() -> None:
    """Same work hash, different cases; that is what makes them comparable."""
    (workload,) = product("s", {"long": LONG}, backends=["inductor"], parameters={"threads": 2}, **AXES)
    (eager, work), (inductor, same_work) = (case_ids(**workload.axes(name)) for name in workload.backends)

    assert work == same_work
    assert eager != inductor


def test_a_job_survives_its_journey_to_the_worker() -> None:
    """As one line of JSON."""
    (workload,) = product("s", {"long": LONG}, backends=["inductor"], parameters={"note": "né\n✓"}, **AXES)
    job = Job(run_id="r", store="/s", process=3, workload=workload, settings=Settings(repeat=5), program="m:P")

    line = json.dumps(job.to_dict())

    assert "\n" not in line
    assert Job.from_dict(json.loads(line)) == job


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """For suites and backends."""
    with pytest.raises(UnknownName, match="Nearest: 'builtin'"):
        models_of("buildin")
    with pytest.raises(UnknownName, match="Nearest: 'inductor'"):
        backends.check(("inducter",))


def test_another_package_can_offer_a_suite_and_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """By entry points; and it cannot take the place of one of ours."""

    class Point:
        def __init__(self, name: str, offered: Any) -> None:
            self.name, self._offered = name, offered

        def load(self) -> Any:
            return lambda: self._offered

    offered = {
        suites.GROUP: [Point("theirs", {"flat": FLAT}), Point("builtin", {})],
        backends.GROUP: [Point("fast", Backend("fast", lambda module, example: module)), Point("eager", None)],
    }
    monkeypatch.setattr(suites, "entry_points", lambda group: offered[group])
    monkeypatch.setattr(backends, "entry_points", lambda group: offered[group])

    assert models_of("theirs") == {"flat": FLAT}
    assert "mlp" in models_of("builtin")
    assert backends.backend("fast").name == "fast"
    assert backends.backend("eager").name == "eager"


def test_inductor_without_a_compiler_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """It is a skip with a cure, not an error in the midst of a run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)

    missing = backends.backend("inductor").missing("cpu")

    assert missing is not None
    assert "apt install g++" in missing
    assert backends.backend("eager").missing("cpu") is None


def test_listing_models_imports_no_torch() -> None:
    """Nor does printing the plan: it takes milliseconds."""
    code = """
import sys
from click.testing import CliRunner
from bench.measure.command import measure
result = CliRunner().invoke(measure, "models --print --models mlp --format csv".split(), standalone_mode=False)
print(result.output, [name for name in ("torch", "duckdb", "pyarrow", "scipy", "numpy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[1:] == [
        "builtin,mlp,inference,cpu,float32,32,,,eager,", "builtin,mlp,inference,cpu,float32,32,,,inductor,", " []",
    ]  # fmt: skip


def test_work_that_is_asked_for_twice_is_measured_once() -> None:
    """By all the backends that were asked for; else one case would have the samples of two."""
    plans = [product("s", {"flat": FLAT}, backends=[name], **AXES) for name in ("inductor", "aot_eager", "inductor")]

    assert [w.backends for w in merged(itertools.chain(*plans))] == [("eager", "inductor", "aot_eager")]


def test_models_that_would_be_one_case_are_told(tmp_path: Path) -> None:
    """Two files of one name, of which one would not be measured; one file by two names of its folder is one."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "net.py").write_text("class Net:\n    def get_example_inputs(self): ...\n")
    (tmp_path / "link").symlink_to(here)

    def plan(*folders: Path) -> list[Workload]:
        axes: Any = {"backends": [], "modes": ["inference"], "devices": ["cpu"], "dtypes": ["float32"]}
        files = [f"path:{folder}/net.py" for folder in folders]
        return merged(itertools.chain(*(product(file, models_of(file), **axes) for file in files)))

    assert len(plan(here, tmp_path / "link", there / ".." / "here")) == 1
    with pytest.raises(BenchError, match=f"{here}/net.py:Net and {there}/net.py:Net would be one case"):
        plan(here, there)


def test_a_model_says_where_not_to_run_it() -> None:
    """All words of the condition must hold: of mode, kind of device, dtype and backend."""
    skips = {"training": "no gradient", "cuda float16": "overflows", "inductor": "takes an hour"}
    model = Model("m:Flat", batch_size=8, skips=skips)

    def reasons(**axes: Any) -> dict[str, str]:
        (workload,) = product("s", {"flat": model}, backends=["inductor"], **{**AXES, **axes})
        return dict(workload.skips)

    assert reasons() == {"inductor": "takes an hour"}
    assert reasons(modes=["training"]) == {"eager": "no gradient", "inductor": "no gradient"}
    assert reasons(devices=["cuda:1"], dtypes=["float16"]) == {"eager": "overflows", "inductor": "overflows"}
    assert reasons(dtypes=["float16"]) == {"inductor": "takes an hour"}


def test_sizes_that_a_model_does_not_take_are_said() -> None:
    """If others take them it is a note; if none does, an error before anything runs."""

    def ask(*models: str) -> Any:
        words = [
            "models",
            "--models",
            *models,
            "--backends",
            "eager",
            "--sequence-lengths",
            "8",
            "--print",
            "--format",
            "json",
        ]
        return CliRunner().invoke(measure, words)

    both = ask("mlp", "attention")
    assert [row["length"] for row in json.loads(both.stdout)] == [None, 8]
    assert both.stderr == "mlp takes no sequence length: --sequence-lengths is for the others\n"
    alone = ask("mlp")
    assert isinstance(alone.exception, BenchError) and "mlp takes no sequence length. Leave" in str(alone.exception)


@pytest.mark.parametrize("suite", ["huggingface", "builtin"])
def test_a_checkpoint_of_a_hub_is_no_model_of_a_suite(suite: str) -> None:
    """Suite huggingface has its architecture with random weights, which the error says, and how to pass a configuration."""
    arguments = ["models", "--suites", suite, "--models", "bert-base-uncased", "--print"]

    with pytest.raises(UnknownName, match=r"architecture 'bert'.*random weights.*--model-config FILE.json"):
        CliRunner().invoke(measure, arguments, catch_exceptions=False)


def test_a_configuration_is_a_model_called_like_its_file(tmp_path: Path) -> None:
    """It replaces the usual suite, and its command can be printed; vision has no sequences."""
    (tmp_path / "tiny.json").write_text('{"model_type": "bert", "max_position_embeddings": 64}')
    (tmp_path / "eye.json").write_text('{"model_type": "vit"}')
    files = [str(tmp_path / name) for name in ("tiny.json", "eye.json")]

    plan = CliRunner().invoke(measure, ["models", "--model-config", *files, "--print", "--format", "json"])
    commands = CliRunner().invoke(measure, ["models", "--model-config", *files, "--print-commands"])

    rows = {(row["suite"], row["model"], row["batch"], row["length"]) for row in json.loads(plan.stdout)}
    assert rows == {("tiny.json", "tiny", 4, 64), ("eye.json", "eye", 4, None)}
    assert f"--suites path:{files[0]} --models tiny" in commands.stdout


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[]", "does not name its architecture"),
        ('{"model_type": "brt"}', r"no architecture 'brt'.*Nearest: .*\"architectures\""),
    ],
)
def test_a_configuration_that_says_no_model_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    """Before anything runs, with the cure."""
    (tmp_path / "tiny.json").write_text(text)
    arguments = ["models", "--model-config", str(tmp_path / "tiny.json"), "--print"]

    with pytest.raises(BenchError, match=problem):
        CliRunner().invoke(measure, arguments, catch_exceptions=False)
