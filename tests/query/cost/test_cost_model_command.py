"""`bench cost-model`: tables with doubt, data for programs, and a record that can be selected."""

import json
from pathlib import Path

import pytest
from bench import sql
from bench.query.cost.command import format_estimate
from bench.query.cost.model import CostModel, FittedParameter
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.recorder import run
from bench.warehouse.store import Store

from ...exhaustive import exhaustive
from ...generate_profiles import steps
from .conftest import Bench, rows

HOSTILE = "\x1b[31m'; DROP TABLE runs; --"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three configs: a whole profile, one of decodes alone, and one too short, of a hostile name."""
    folder = tmp_path_factory.mktemp("cost") / ".bench"
    for config, count, budget in (("A", 1500, 2048), ("decode", 400, 64), (HOSTILE, 30, 64)):
        with run(config, store=folder, run_id=f"run-{count}") as recorder:
            for step in steps(count, token_budget=budget, seed=1):
                recorder.schedule_chunk(
                    step["chunk_sizes"], schedule_ms=step["schedule_duration_ms"], model_run_ms=step["model_run_duration_ms"]
                )  # fmt: skip
    return Store(folder)


def test_people_see_each_estimate_with_its_doubt(bench: Bench) -> None:
    """An unknown estimate is blank, with a status; the sentences account for every line and say why."""
    result = bench("--configs", "A", "decode")

    header, _, *lines = result.stdout.splitlines()
    assert header.split("  ")[0] == "config" and "compute-bound from" in header
    assert lines[0].startswith("A        1480  7.") and " ms (95 % 7." in lines[0] and " tokens (95 % 3" in lines[0]
    assert lines[0].endswith("ok") and " µs (95 % 21." in lines[0]
    assert "memory-bound" in lines[1] and "tokens (95 %" not in lines[1]
    assert "A: 1500 lines read, 20 trimmed, 0 rejected, 0 filtered, 0 incomplete, 1480 steps, " in result.stderr
    assert "decode: 400 lines read" in result.stderr and "compute-bound" in result.stderr
    assert result.return_value == 0


def test_too_little_data_has_its_exit_code(bench: Bench) -> None:
    """4 where nothing could be told of any config; a name cannot steer the terminal."""
    result = bench("--configs", HOSTILE)

    assert result.return_value == 4
    assert "10 steps are too few" in result.stderr
    assert "\x1b" not in result.output


@pytest.mark.exhaustive
def test_json_is_an_object_for_simulators(bench: Bench, tmp_path: Path) -> None:
    """On standard output or into a file of that ending, the same."""
    text = bench("--format", "json").stdout
    bench("-o", str(tmp_path / "model.json"))

    assert (tmp_path / "model.json").read_text() == text
    told = json.loads(text)
    assert [model["config"] for model in told["models"]] == [HOSTILE, "A", "decode"]
    assert told["models"][0]["curve"] is None
    assert set(told["models"][1]["floor_ms"]) == {"value", "low", "high"}


def test_rows_have_the_columns_of_the_view(bench: Bench) -> None:
    """But for those of the record itself."""
    found = rows(bench("--format", "csv", "--configs", "A").stdout)

    recorded = {"run_id", "fitted_at", "parameters"}
    assert list(found[0]) == [column for column in sql.views()["step_cost_models"].columns if column not in recorded]


@exhaustive
def test_the_line_is_rows_to_draw(bench: Bench) -> None:
    """Of the configs that have one."""
    found = rows(bench("--line", "--format", "csv").stdout)

    assert {row["config"] for row in found} == {"A", "decode"}
    assert all(float(row["low_ms"]) < float(row["model_run_ms"]) < float(row["high_ms"]) for row in found)


def test_limits_leave_steps_out(bench: Bench) -> None:
    """And are counted."""
    result = bench("--configs", "A", "--trim", "0", "--max-model-run-ms", "20")

    assert "A: 1500 lines read, 0 trimmed, 0 rejected, " in result.stderr
    assert " 0 filtered" not in result.stderr


@exhaustive
def test_two_sides_are_fitted_as_compare_takes_them(bench: Bench) -> None:
    """A config, a run, a path: each a row of its own, by the name it was given, in that order; configs of --configs follow."""
    result = bench("latest", "run-1500", "decode", "--configs", "A", "--format", "csv")

    assert [(row["config"], row["steps"]) for row in rows(result.stdout)] == [
        ("latest", "10"), ("run-1500", "1480"), ("decode", "380"), ("A", "1480")
    ]  # fmt: skip
    assert "run-1500: 1500 lines read" in result.stderr


@exhaustive
def test_files_of_steps_are_fitted_in_place(bench: Bench, tmp_path: Path) -> None:
    """By the names of the files, beside a config of the store."""
    for name, floor in (("old", 8.0), ("new", 6.0)):
        lines = (json.dumps(step) for step in steps(300, token_budget=64, floor_ms=floor, seed=1))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    found = rows(bench(*(str(tmp_path / f"{name}.jsonl") for name in ("old", "new")), "A", "--format", "csv").stdout)

    assert [row["config"] for row in found] == ["old.jsonl", "new.jsonl", "A"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("A", "decdoe"), "Nearest: 'decode'"),
        (("A", "--runs", "latest"), "the sides name the runs"),
        (("A", "--record"), "name them with --configs"),
    ],
)
def test_sides_that_cannot_be_meant_are_refused(bench: Bench, words: tuple[str, ...], said: str) -> None:
    """With the errors of `compare`, and a way out."""
    error = bench(*words).exception

    assert isinstance(error, BenchError) and said in str(error)


def test_a_config_nobody_has_names_the_nearest(bench: Bench) -> None:
    """No empty table."""
    assert isinstance(bench("--configs", "decod").exception, UnknownName)


def test_a_file_that_cannot_be_written_is_a_sentence(bench: Bench) -> None:
    """It names the file and the reason."""
    error = bench("--configs", "A", "-o", "/nowhere/model.json").exception

    assert isinstance(error, BenchError) and "cannot write /nowhere/model.json" in str(error)


@pytest.mark.exhaustive
def test_what_is_recorded_can_be_selected_and_has_history(store: Store, bench: Bench) -> None:
    """The view gives back every number; SQL predicts as Python does; the configs' own newest runs stay what they were."""
    data = [json.loads(line) for line in bench("--format", "jsonl", "--record").stdout.splitlines()]
    bench("--configs", "A", "--max-model-run-ms", "150", "--record")

    with Warehouse.open(store) as warehouse:
        names = ", ".join(data[0])
        first = "run_id = (SELECT min_by(run_id, fitted_at) FROM step_cost_models)"
        found = warehouse.rows(f"SELECT {names} FROM step_cost_models WHERE {first} ORDER BY config")
        near = [[v if isinstance(v, str | None) else pytest.approx(v, rel=1e-12) for v in row.values()] for row in data]
        assert [list(row) for row in found] == near
        history = warehouse.rows("SELECT parameters FROM step_cost_models WHERE config = 'A' ORDER BY fitted_at")
        assert [json.loads(text) for (text,) in history] == [{"trim": 10}, {"max_model_run_ms": 150.0, "trim": 10}]
        assert warehouse.rows("SELECT DISTINCT config FROM runs WHERE source = 'cost-model'") == [("cost-model",)]
        floors = "SELECT count(*) FROM series WHERE suite = 'step-cost' AND metric = 'floor' AND better = 'lower'"
        assert warehouse.rows(floors) == [(3,)]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (FittedParameter(7.3748, 7.3373, 7.4126), "7.375 ms (95 % 7.337–7.413)"),
        (FittedParameter(343.2, 280, 410), "343 ms (95 % 280–410)"),
        (FittedParameter(5.0, 5.0, 5.0), "5.000 ms (95 % 5.000–5.000)"),
        (None, None),
    ],
)
def test_an_estimate_is_told_to_two_digits_of_its_doubt(estimate: FittedParameter | None, text: str | None) -> None:
    """No more digits than it deserves."""
    assert format_estimate(estimate, "ms") == text


def test_a_model_of_nothing_is_a_row_all_the_same() -> None:
    """With NULLs, never 0."""
    row = CostModel(config="A", status="too-few-steps", reason="few", steps=3).row()

    assert {row[name] for name in ("floor_ms", "floor_low_ms", "r2", "max_tokens", "curve_base_ms")} == {None}
