"""asv: both versions of its results, parameters, statistics, failures, and the folder around them."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.readers.files import find_files
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Timing

from .reading import Read, lay, read, read_file, recognised

MACHINE = {"machine": "box", "arch": "x86_64", "cpu": "A CPU", "num_cpu": "4", "os": "Linux", "ram": "8G", "version": 1}
BENCHMARKS = {
    "time_a": {"name": "time_a", "param_names": ["n"], "params": [["1", "2"]], "type": "time", "unit": "seconds"},
    "track_b": {"name": "track_b", "param_names": [], "params": [], "type": "track", "unit": "points"},
    "version": 2,
}


def document(results: object, **fields: Any) -> dict[str, Any]:
    """A file of results."""
    return {
        "commit_hash": "abc", "date": 1714979289000, "params": {**MACHINE, "python": "3.12"}, "python": "3.12",
        "requirements": {"numpy": "2.0", "Cython": ""}, "results": results, "version": 1,
    } | fields  # fmt: skip


def second(results: object) -> dict[str, Any]:
    """A file of version 2."""
    columns = [
        "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
        "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
    ]  # fmt: skip
    return document(results, result_columns=columns, env_name="e", env_vars={"X": "1"}, durations={}, version=2)


def load(content: object, **beside: object) -> Read:
    """Read a file of results that has these beside it."""
    return read("asv", content, beside=beside)


def parameters(got: Read) -> list[dict[str, Any]]:
    """Of each case."""
    return [json.loads(case.parameters or "{}") for case in got.of(CaseRecord)]


def test_a_file_is_a_run_of_its_commit() -> None:
    """Ordered by the date of the commit, on the machine it says."""
    got = load(document({"time_a": 0.5}))

    (run,) = got.runs
    assert (run.git_commit, run.started_at, run.host) == ("abc", 1714979289000000, "box")
    assert (got.environment.cpu, got.environment.python) == ("A CPU", "3.12")
    assert parameters(got) == [{"env.numpy": "2.0", "env.python": "3.12"}]
    assert got.metrics() == {"latency_estimate": (5e8, "ns")}


def test_version_1_has_bare_results_and_objects() -> None:
    """A combination of parameters is a case; statistics stand beside the median."""
    stats = {"ci_99": [0.5, 1.5], "q_25": 0.9, "q_75": 1.1, "repeat": 3, "number": 5}
    entry = {"params": [["1", "2"]], "result": [1, None], "stats": [stats, None], "samples": [[0.2, 0.4], None]}
    got = load(document({"time_a": entry}))

    assert [axes["param1"] for axes in parameters(got)] == ["1", "2"]
    assert got.samples() == [(1_000_000_000, 5), (2_000_000_000, 5)]
    assert got.metrics()["latency_median"] == (1e9, "ns")
    assert (got.metrics()["latency_ci99_low"], got.metrics()["latency_q3"]) == ((5e8, "ns"), (1.1e9, "ns"))
    assert [status for status, _ in got.outcomes()] == ["fail_to_run", "ok"]


def test_version_2_has_columns() -> None:
    """Rows may end early; the version of a benchmark is an axis, for asv compares none of another."""
    row = [[0.5], [], "0123456789abcdef", 1714979289500, 2.5, [0.4], [0.6], [0.45], [0.55], [10], [2], [[0.5, 0.25]]]
    got = load(second({"time_a": row, "time_b": [[0.5], []]}))

    assert [axes.get("version") for axes in parameters(got)] == ["0123456789ab", None]
    assert parameters(got)[1]["env.X"] == "1"
    assert got.samples() == [(5_000_000_000, 10), (2_500_000_000, 10)]
    assert got.of(Timing)[0].recorded_at == 1714979289500000
    assert got.metrics()["benchmark_duration"] == (2.5e9, "ns")


def test_nan_is_a_skip_and_null_a_failure() -> None:
    """asv has no other word for them; neither is a value."""
    got = load(document({"time_a": float("nan"), "time_b": None}))

    assert [status for status, _ in got.outcomes()] == ["skipped", "fail_to_run"]
    assert got.metrics() == {}


def test_units_come_from_benchmarks_json_or_the_prefix() -> None:
    """Names of parameters too."""
    results = {"time_a": {"params": [["1"]], "result": [1]}, "track_b": 7, "x.peakmem_c": 5, "track_d": 3}
    got = load(document(results), **{"benchmarks.json": BENCHMARKS})

    assert parameters(got)[0]["n"] == "1"
    assert got.metrics() == {"latency_estimate": (1e9, "ns"), "memory": (5.0, "bytes"), "value": (3.0, None)}
    assert got.better()["memory"] == "lower"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"params": [["1", "2"]], "result": [1]}, "1 result for 2 combinations of parameters"),
        (
            {"params": [list(range(1000))] * 4, "result": None},
            "1 result for 1,000,000,000,000 combinations of parameters",
        ),
        ({"params": ["ab"], "result": [1]}, "params is not a list of lists"),
        ({"params": 5, "result": [1]}, "params is 5, not a list"),
        ({"params": [], "result": []}, "0 results for 1 combination of parameters"),
    ],
)
def test_results_that_fit_no_parameters_are_rejects(entry: object, reason: str) -> None:
    """Their neighbours load."""
    got = load(document({"time_a": entry, "time_b": 1}))

    assert (got.rejects(), got.accounting) == ([(1, reason)], (2, 1, 1))


def test_no_field_is_dropped() -> None:
    """A field without a place becomes text of the case, or a tag of the run."""
    entry = {"result": 1, "stats": [{"q_25": 1, "n": 7}], "note": "x"}
    got = load(document({"time_a": entry}, params={**MACHINE, "compiler": "gcc"}, durations={"build": 2}))

    assert json.loads(got.metrics()["fields"]) == {"n": 7, "note": "x"}
    assert got.tags == {"params": {"compiler": "gcc"}, "durations": {"build": 2}, "version": 1}


def test_what_describes_results_is_no_result(tmp_path: Path) -> None:
    """machine.json and benchmarks.json are known for what they are, and left out with a reason."""
    lay(tmp_path, {"machine.json": MACHINE, "benchmarks.json": BENCHMARKS})
    for name in ("machine.json", "benchmarks.json"):
        assert recognised(tmp_path / name) == ["asv"]


def test_a_results_folder_is_walked_one_level_down(tmp_path: Path) -> None:
    """Each machine is a config of its own; a link out of the folder is not followed."""
    lay(tmp_path, {"secret/c.json": document({"time_a": 3})})
    files = {"box/a.json": document({"time_a": 1}), "box/machine.json": MACHINE, "benchmarks.json": BENCHMARKS}
    lay(tmp_path / "results", files)
    (tmp_path / "results" / "box" / "link.json").symlink_to(tmp_path / "secret" / "c.json")
    (tmp_path / "results" / "other").symlink_to(tmp_path / "secret")
    notes: list[str] = []
    kind = find_format("asv")
    found = find_files(tmp_path / "results", lambda: [kind], notes)

    assert [place.name for place in found] == ["benchmarks.json", "box/a.json"]
    assert kind.group("box/a.json") == "box"
    assert len([note for note in notes if "leads out of its folder" in note]) == 3


def test_a_broken_companion_is_no_reason_to_fail(tmp_path: Path) -> None:
    """It is a reject of the file that needs it, with the companion's name."""
    lay(tmp_path, {"a.json": document({"time_a": 1}), "machine.json": "{"})
    got = read_file(find_format("asv"), tmp_path / "a.json")

    assert got.accounting == (1, 0, 1)
    assert got.rejects()[0][1].startswith("machine.json: not valid JSON")
