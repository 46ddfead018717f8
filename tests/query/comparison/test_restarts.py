"""A folder of several servers' logs is one run; the comparison says how they become runs."""

import json
from pathlib import Path

import pytest
from bench.cli import cli
from click.testing import CliRunner


def write_logs(folder: Path, factor: float, *, first_batches: tuple[int, ...]) -> None:
    """A log for each first batch number, of 100 steps."""
    folder.mkdir()
    for day, first in enumerate(first_batches):
        steps = [
            {
                "batch_id": first + step, "timestamp": 1e5 * day + step, "chunk_sizes": [1 + step % 2],
                "total_scheduled_tokens": 1 + step % 2, "model_run_duration_ms": factor * (10 + day / 100 + step % 5 / 50),
            }
            for step in range(100)
        ]  # fmt: skip
        (folder / f"part_{day}.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))


def compared(*words: str) -> str:
    result = CliRunner().invoke(cli, ["compare", *words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.exhaustive
def test_logs_that_count_anew_are_named_with_the_command(tmp_path: Path) -> None:
    """The proposed command loads them as runs, which decide."""
    for name, factor in (("a b", 1.0), ("new", 1.06)):
        write_logs(tmp_path / name, factor, first_batches=(0, 0, 0, 0))
    said = compared("a b", "new")

    assert "UNSURE" in said and "LOWER" not in said.replace("slower", "")
    assert "load them as runs and compare these: bench ingest --config 'a b-runs' 'a b'/*.jsonl" in said
    for name in ("a b", "new"):
        files = [str(path) for path in sorted(Path(name).glob("*.jsonl"))]
        CliRunner().invoke(cli, ["ingest", "--config", f"{name}-runs", *files], catch_exceptions=False)
    said = compared("a b-runs", "new-runs", "--all-runs")
    assert "SLOWER" in said and "load them" not in said


def test_the_logs_of_one_server_are_one_run(tmp_path: Path) -> None:
    """Their steps count on."""
    for name, factor in (("old", 1.0), ("new", 1.06)):
        write_logs(tmp_path / name, factor, first_batches=(0, 100, 200))

    assert "UNSURE" in (said := compared("old", "new")) and "load them" not in said
