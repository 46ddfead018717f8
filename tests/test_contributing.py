"""CONTRIBUTING.md: each recipe is carried out as it is written, on a copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .exhaustive import sampled

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MOST_LINES = 16  # of code, blank ones left out, in a recipe
HYPERFINE = {"results": [{"command": "a", "mean": 2.0, "times": [1.0, 2.0, 3.0]}]}
_BLOCK = re.compile(r"^```(?:python|sql)\n(?:#|--) (\S+?)(?:, after: ([^\n]+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)

Tell = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package without its tests, where a recipe may change it."""
    tree = tmp_path / "tree"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "demo", "build", "*.egg-info")
    shutil.copytree(ROOT, tree, ignore=left_out)
    (tree / ".types").mkdir()
    (tree / ".types" / "bench").symlink_to("..")
    return tree


@pytest.fixture
def tell(copy: Path, tmp_path: Path) -> Tell:
    """Runs `bench` of the copy and gives what it prints."""

    def run(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(copy / ".types"), "BENCH_STORE": str(tmp_path / "store")}
        command = [sys.executable, "-m", "bench", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def carry_out(recipe: str, copy: Path) -> None:
    """Write what the recipe says into the copy: new files, or lines after a line that is there."""
    (section,) = re.findall(rf"^## {recipe}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    blocks = _BLOCK.findall(section)
    assert blocks
    assert sum(bool(line.strip()) for _, _, code in blocks for line in code.splitlines()) <= MOST_LINES
    for name, anchor, code in blocks:
        file = copy / name
        if not anchor:
            assert not file.exists()
            file.write_text(code, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        assert text.count(f"{anchor}\n") == 1
        file.write_text(text.replace(f"{anchor}\n", f"{anchor}\n{code}"), encoding="utf-8")


@pytest.mark.exhaustive
def test_a_format_is_added_as_written(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """The new format recognises its file and loads it."""
    carry_out("Add a format", copy)
    (tmp_path / "result.json").write_text(json.dumps({"mytool": [{"name": "a", "ns": [1, 2, 3]}]}))

    assert "mytool" in tell("ingest", "result.json")
    assert json.loads(tell("sql", "SELECT name, n, median FROM cells", "--format", "json")) == [
        {"name": "a", "n": 3, "median": 2.0}
    ]


@pytest.mark.parametrize("how", sampled(["--print-commands", "--quick"], "--print-commands"))
def test_a_backend_is_added_as_written(copy: Path, tell: Tell, how: str) -> None:
    """The new backend can be planned, and measured, beside eager."""
    carry_out("Add a backend", copy)

    assert "inductor-tuned" in tell(
        "measure", "models", "--models", "mlp", "--backends", "eager", "inductor-tuned", how
    )


@pytest.mark.exhaustive
def test_a_measurement_is_added_as_written(copy: Path, tell: Tell) -> None:
    """Every backend has the new metric."""
    carry_out("Add a measurement", copy)
    tell("measure", "models", "--models", "mlp", "--backends", "eager", "--repeat", "5")

    query = (
        "SELECT backend, value > 0 AS some FROM metrics JOIN cases USING (run_id, case_id) WHERE metric = 'parameters'"
    )
    assert json.loads(tell("sql", query, "--format", "json")) == [{"backend": "eager", "some": True}]


@pytest.mark.exhaustive
def test_a_chart_is_added_as_written(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """The new chart is listed, and draws every case."""
    carry_out("Add a chart", copy)
    (tmp_path / "a.json").write_text(json.dumps(HYPERFINE))
    tell("ingest", "a.json")

    assert "The median latency of every case." in tell("viz", "list")
    assert "latency [s]" in tell("viz", "cases")


@pytest.mark.exhaustive
def test_a_view_is_added_as_written(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """The new view is described, and gives its rows."""
    carry_out("Add a view", copy)
    (tmp_path / "a.json").write_text(json.dumps(HYPERFINE))
    tell("ingest", "a.json")

    assert "Its median latency." in tell("views", "slowest_cases")
    rows = json.loads(tell("sql", "SELECT name, median_ms FROM slowest_cases", "--format", "json"))
    assert rows == [{"name": "a", "median_ms": 2000.0}]


@pytest.mark.exhaustive
def test_an_export_target_is_added_as_written(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """The new target is offered, and writes what its function gives."""
    carry_out("Add an export target", copy)
    (tmp_path / "a.json").write_text(json.dumps(HYPERFINE))
    tell("ingest", "a.json")

    assert json.loads(tell("export", "latest", "--as", "medians")) == {"a": 2.0}


AXIS = {  # file -> text, and what takes its place
    "warehouse/events.py": [
        (
            "    parameters: Annotated[Json",
            '    topology: Annotated[str | None, Column("Links of the devices.")] = None\n',
        ),
    ],
    "sql/axes.txt": [("parameters       JSON     Further", "topology         VARCHAR  Links of the devices.\n")],
    "warehouse/recorder.py": [
        ("    parameters: Mapping[str, Any] | None = None,\n) -> tuple", "    topology: str | None = None,\n"),
        (
            "        parameters: Mapping[str, Any] | None = None,\n        announce",
            "        topology: str | None = None,\n",
        ),
        ("    return _digest([*work, backend])", "    work += [topology] if topology else []\n"),
        ("        parameters = masked_parameters({**self._axes", '        axes["topology"] = topology\n'),
    ],
}
SCRIPT = """
import bench
for config in ("a", "b"):
    with bench.run(config) as run:
        for topology in ("ring", "mesh"):
            case = run.case("m", topology=topology)
            for number in range(10):
                case.timing(1000 + number)
            case.outcome("ok")
"""


OPTION = {  # of `compare`: declared and used
    "query/comparison/command.py": [
        (
            "    where: Where = None\n    floor",
            '    modes: Annotated[Sequence[str], Option("Only these modes.")] = ()\n',
        ),
        ('"name": self.models, **(self.where', '"mode": self.modes, '),
    ],
}
COLUMN = {  # of `comparisons`: computed, then described and shown
    "sql/views/comparison/_compared_cases.sql": [
        ("    case_floor AS floor, detectable", "    candidate_value / base_value - 1 AS change_of_value,\n"),
    ],
    "sql/views/comparison/comparisons.sql": [
        ("-- low               DOUBLE   Lower", "-- change_of_value   DOUBLE   Candidate / base - 1.\n"),
        ("low, high, shift,\n    judged.floor", "change_of_value, "),
    ],
}
ASKED = """
import inspect, json
from bench.agents.schemas import schema
from bench.agents.tools import Questions
from bench.api import OpenStore
from bench.sql import view
print(json.dumps([*inspect.signature(OpenStore.compare).parameters, *inspect.signature(Questions.compare).parameters]))
print(json.dumps([*schema("compare")["items"]["properties"], *view("comparisons").columns]))
"""


def add(places_of: dict[str, list[tuple[str, str]]], copy: Path) -> None:
    """Write lines into files of the copy, each before a text that is there once."""
    for name, places in places_of.items():
        text = (copy / name).read_text(encoding="utf-8")
        for before, added in places:
            assert text.count(before) == 1, before
            text = text.replace(before, added + before)
        (copy / name).write_text(text, encoding="utf-8")


@pytest.mark.exhaustive
def test_an_option_of_compare_is_added_in_one_file_and_a_column_in_two(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """Help, Python, the tool of agents, rows and JSON schema follow."""
    add(OPTION | COLUMN, copy)
    (tmp_path / "a.json").write_text(json.dumps(HYPERFINE))
    tell("ingest", "base:a.json", "cand:a.json")
    environment = {**os.environ, "PYTHONPATH": str(copy / ".types")}
    told = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True)
    options, columns = map(json.loads, told.stdout.splitlines())

    assert (len(OPTION), len(COLUMN)) == (1, 2)
    assert "--modes" in tell("compare", "--help")
    assert (options.count("modes"), columns.count("change_of_value")) == (2, 2)
    rows = json.loads(tell("compare", "base", "cand", "--all", "--format", "json"))
    assert {row["change_of_value"] for row in rows} == {0.0}


@pytest.mark.exhaustive
def test_an_axis_is_added_in_three_files(copy: Path, tell: Tell, tmp_path: Path) -> None:
    """Its event, the group of axes, and the identity of a case: every view and command has it."""
    add(AXIS, copy)
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(copy / ".types"), "BENCH_STORE": str(tmp_path / "store")}
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, check=True)

    for query in ("FROM cells", "FROM case_results", "FROM samples", "FROM history_series"):
        found = json.loads(tell("sql", f"SELECT DISTINCT topology FROM ({query}) ORDER BY 1", "--format", "json"))
        assert [row["topology"] for row in found] == ["mesh", "ring"], query
    compared = json.loads(tell("compare", "a", "b", "--all-runs", "--where", "topology=ring", "--format", "json"))
    assert [row["topology"] for row in compared] == ["ring"]
    steps = ({"batch_id": i, "chunk_sizes": [5 + i], "model_run_ms": 1.0 + i % 3} for i in range(40))
    (tmp_path / "steps.jsonl").write_text("".join(f"{json.dumps(step)}\n" for step in steps))
    tell("ingest", "steps:steps.jsonl")
    assert "model_run_mean" in tell("show", "steps", "--wide")


def test_every_file_that_the_page_names_is_there() -> None:
    """A map of places that are gone leads nowhere."""
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|sql))`", PAGE))

    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
