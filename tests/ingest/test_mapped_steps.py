"""Scheduler steps by what their fields are called."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.command import ingest as ingest_command
from bench.ingest.formats import scheduler
from bench.ingest.plan import SourceOptions
from bench.ingest.user_formats.mapped_steps import mapped_format
from bench.ingest.user_formats.proposal import propose
from bench.warehouse.errors import BenchError
from click.testing import CliRunner

from ..builders import stored
from ..exhaustive import exhaustive, first_of
from .conftest import Load, Rows

pytestmark = pytest.mark.usefixtures("nothing_derived")

STEP = {
    "iter": 3, "ts_ms": 1760000000250.0, "n_prefill_tokens": 500, "n_decode_tokens": 12, "batch_size": 13, "forward_us": 20500,
    "queue_len": 2, "kv_usage": 0.5, "policy": "fcfs",
}  # fmt: skip
MAPPING = (
    "batch_id=iter,clock_s=ts_ms,prefill_tokens=n_prefill_tokens,decode_tokens=n_decode_tokens,waiting=queue_len,"
    "running=batch_size,kv_cache_usage=kv_usage,model_run_ms=forward_us"
)
COLUMNS = "batch_id, clock_s, recorded_at::VARCHAR, total_tokens, waiting, running, kv_cache_usage, model_run_ms, extra"


def log(folder: Path, *steps: dict[str, Any] | str, name: str = "log.jsonl") -> Path:
    """A log of these steps, or lines."""
    path = folder / name
    path.write_text("".join(f"{step if isinstance(step, str) else json.dumps(step)}\n" for step in steps))
    return path


def by(mapping: str) -> SourceOptions:
    """To read by this mapping."""
    return SourceOptions(own=mapped_format([mapping]))


@pytest.mark.parametrize("bulk", first_of(1, [False, True]))
def test_steps_of_any_writer_are_those_of_a_scheduler(
    bulk: bool, load: Load, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their columns' units, with the sum of their tokens; what is not named is kept, and a line without a time rejected."""
    monkeypatch.setattr(scheduler, "BULK_BYTES", 0 if bulk else 1 << 60)
    without = {key: value for key, value in STEP.items() if key != "forward_us"}
    path = log(tmp_path, STEP, {**STEP, "iter": 4, "n_prefill_tokens": None}, without, "{")
    report = load(path, sources=by(MAPPING))

    third = (0.5, 20.5, '{"policy":"fcfs"}')
    assert rows(f"SELECT {COLUMNS} FROM schedule_chunks ORDER BY line") == [
        (3, 1760000000.25, "2025-10-09 08:53:20.25", 512, 2, 13, *third),
        (4, 1760000000.25, "2025-10-09 08:53:20.25", 12, 2, 13, *third),
    ]
    assert [(line.lines, line.loaded, line.rejected) for line in report.lines] == [(4, 2, 2)]
    assert rows("SELECT line, reason FROM rejects ORDER BY line")[0] == (3, "no forward_us")


@exhaustive
def test_a_log_that_grew_brings_its_new_steps(load: Load, rows: Rows, tmp_path: Path) -> None:
    """As one of a known writer does; under another mapping it is another source."""
    load(log(tmp_path, STEP), sources=by(MAPPING))
    load(log(tmp_path, STEP, {**STEP, "iter": 4}), sources=by(MAPPING))

    assert rows("SELECT count(*), count(DISTINCT run_id) FROM schedule_chunks") == [(2, 1)]


@pytest.mark.parametrize(
    ("field", "unit", "factor"),
    first_of(
        2, [("latency", "", 1.0), ("latency_s", ",unit=ms", 1.0), ("latency", ",unit=us", 1e-3), ("latency_s", "", 1e3)]
    ),
)
def test_the_unit_is_what_the_user_says_else_what_the_name_says(
    field: str, unit: str, factor: float, load: Load, rows: Rows, tmp_path: Path
) -> None:
    """A name without a unit is taken at its column's word."""
    load(log(tmp_path, {field: 8.0, "tokens": 1}), sources=by(f"model_run_ms={field}{unit},total_tokens=tokens"))

    assert rows("SELECT model_run_ms, total_tokens FROM schedule_chunks") == [(8.0 * factor, 1)]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("model_run_ms=a,decode_tokns=b", r"no column 'decode_tokns' in schedule_chunks\. Nearest: 'decode_tokens'"),
        ("model_run_ms=a,name=b", "no column 'name' in schedule_chunks"),
        ("model_run_ms=a,running:=3", "running is a field of each step, not a text: running=3"),
        ("model_run_ms=a,model_run_ms=b", "the mapping says model_run_ms twice"),
        ("decode_tokens=a", "nothing says how long a step took. Map model_run_ms=FIELD or step_ms=FIELD"),
        ("model_run_ms=a,unit=GB", "unit=GB is no unit of model_run_ms, which is a time: ns, us, ms, s"),
        ("model_run_ms=a,decode_tokens=b,unit=ms", "unit=ms is no unit of decode_tokens"),
    ],
)
def test_a_mapping_that_cannot_be_of_steps_is_an_error(mapping: str, message: str) -> None:
    """It names the word, and the nearest that there is."""
    with pytest.raises(BenchError, match=message):
        mapped_format([mapping])


def test_a_file_that_cannot_be_of_steps_says_why(load: Load, tmp_path: Path) -> None:
    """A field that no line has, and a table that is not JSON lines."""
    path = log(tmp_path, STEP)
    with pytest.raises(BenchError, match=r"has no field 'forward_ms'\. Nearest: 'forward_us'"):
        load(path, sources=by("model_run_ms=forward_ms"))
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BenchError, match="is csv, and steps are read from JSON lines"):
        load(path, sources=by("model_run_ms=a"))


@exhaustive
@pytest.mark.usefixtures("derived")
def test_the_line_proposed_for_a_log_of_steps_loads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fields are told by their names; a log of training steps, which has tokens and times, too, is a table of values."""
    monkeypatch.chdir(tmp_path)
    log(tmp_path, *({**STEP, "iter": number} for number in range(40)))
    result = CliRunner().invoke(ingest_command, ["log.jsonl", "--store", "s"])
    words = shlex.split(str(result.exception).splitlines()[-1])
    assert sorted(words[4].split(",")) == sorted(MAPPING.split(","))
    CliRunner().invoke(ingest_command, [*words[2:], "--store", "s"], catch_exceptions=False)

    assert stored("SELECT count(*), min(tokens) FROM runtime_vs_tokens()", tmp_path / "s") == [(20, 512)]
    assert "value=" in (propose(log(tmp_path, {"step": 1, "tokens": 5, "loss": 0.1, "time_ms": 3.5})) or "")
