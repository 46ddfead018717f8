"""github-action-benchmark: a history of runs, and what tools said in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format
from bench.warehouse.events import Metric

from .reading import Read, lay, read, read_file


def bench(**fields: Any) -> dict[str, Any]:
    """One benchmark of an entry."""
    return {"name": "t.py::test_a", "value": 2000.0, "unit": "iter/sec", "range": "stddev: 0.001"} | fields


def entry(
    commit: str = "abc", date: int = 1714979289500, tool: str = "pytest", benches: object = None
) -> dict[str, Any]:
    """One entry of a history."""
    about = {"id": commit, "message": "why", "timestamp": "2024-05-05T00:00:00Z"}
    return {"commit": about, "date": date, "tool": tool, "benches": [bench()] if benches is None else benches}


def script(*entries: object, **suites: object) -> str:
    """The file as it is published."""
    document = {"lastUpdate": 1, "repoUrl": "u", "entries": {"Suite": list(entries)} | suites}
    return f"window.BENCHMARK_DATA = {json.dumps(document, indent=2)}"


def load(text: str) -> Read:
    """Read a script."""
    return read("github-action-benchmark", text, name="data.js")


def test_an_entry_is_a_run_with_its_commit_and_date() -> None:
    """So that a history is a series; the rest of the commit is kept as tags."""
    got = load(script(entry("abc"), entry("def", date=1714979299500)))

    assert [(run.git_commit, run.started_at, run.suite) for run in got.runs] == [
        ("abc", 1714979289500000, "Suite"), ("def", 1714979299500000, "Suite"),
    ]  # fmt: skip
    assert json.loads(got.runs[0].tags or "") == {
        "tool": "pytest", "lastUpdate": 1, "repoUrl": "u", "commit": {"message": "why", "timestamp": "2024-05-05T00:00:00Z"},
    }  # fmt: skip
    assert len({event.run_id for event in got.of(Metric)}) == 2


def test_the_plain_json_is_read_too() -> None:
    """The action can keep its data without the assignment."""
    assert load(script(entry()).partition("=")[2]).accounting == (1, 1, 0)


@pytest.mark.parametrize(
    ("tool", "fields", "expected"),
    [
        ("pytest", {"extra": "mean: 500 usec\nrounds: 7"},
         {"throughput_mean": (2000.0, "ops/s"), "latency_stddev": (1e6, "ns"), "latency_mean": (5e5, "ns"),
          "rounds": (7.0, "count")}),
        ("cargo", {"unit": "ns/iter", "value": 12, "range": "± 3"},
         {"latency_median": (12.0, "ns"), "latency_range": (3.0, "ns")}),
        ("go", {"unit": "ns/op", "value": 12, "range": None, "extra": "30000 times\n8 procs"},
         {"latency_mean": (12.0, "ns"), "times": (30000.0, "count"), "procs": (8.0, "count")}),
        ("googlecpp", {"unit": "ns/iter", "value": 12, "range": None, "extra": "iterations: 5\ncpu: 2 ns\nthreads: 1"},
         {"latency_mean": (12.0, "ns"), "cpu_time_mean": (2.0, "ns"), "iterations": (5.0, "count"), "threads": (1.0, "count")}),
        ("benchmarkjs", {"unit": "ops/sec", "range": "±1.2%", "extra": "86 samples"},
         {"throughput_mean": (2000.0, "ops/s"), "range": "±1.2%", "samples": (86.0, "count")}),
        ("customSmallerIsBetter", {"unit": "MB", "value": "3", "range": "", "extra": "as built by x"},
         {"value": (3e6, "bytes"), "range": "", "extra": "as built by x"}),
    ],
)  # fmt: skip
def test_what_tools_say(tool: str, fields: dict[str, Any], expected: dict[str, object]) -> None:
    """Values by their unit, spreads and numbers in words as metrics, other words as they are."""
    assert load(script(entry(tool=tool, benches=[bench(**fields)]))).metrics() == expected


def test_the_direction_is_the_tools() -> None:
    """customBiggerIsBetter has nothing else to go by."""
    got = load(script(entry(tool="customBiggerIsBetter", benches=[bench(unit="points", range=None)])))

    assert got.better() == {"value": "higher"}


def test_broken_entries_leave_the_others() -> None:
    """An entry without a commit object, a suite that is no list, a benchmark without a value."""
    got = load(script(entry(benches=[bench(value=None), bench()]), {"commit": 5, "benches": []}, Other=7))

    assert got.accounting == (4, 1, 3)
    assert got.rejects() == [
        (1, "value is null, not a number"), (3, "commit is 5, not an object"), (4, "Other is 7, not a list"),
    ]  # fmt: skip


def test_entries_that_are_known_are_counted_and_not_loaded_again(tmp_path: Path) -> None:
    """data.js grows by an entry a day: the old ones are known by their content."""
    claimed: set[str] = set()
    kind = find_format("github-action-benchmark")
    counts = []
    for text in (script(entry("a")), script(entry("a"), entry("b", benches=[bench(), bench(name="x")]))):
        lay(tmp_path, {"data.js": text})
        got = read_file(kind, tmp_path / "data.js", claimed=claimed)
        counts.append((got.tally.loaded, got.tally.known, len(got.runs)))

    assert counts == [(1, 0, 1), (2, 1, 1)]


def test_a_range_may_be_a_number() -> None:
    """Tools that write the JSON themselves do so; it is in the unit of the value."""
    got = load(script(entry(tool="customSmallerIsBetter", benches=[bench(unit="s", value=2, range=0.5)])))

    assert got.metrics() == {"latency": (2e9, "ns"), "latency_range": (0.5e9, "ns")}


def test_the_custom_json_is_read_before_the_action_has_it() -> None:
    """The unit says what a value is; where it does not say which direction is better, a note does."""
    got = read("github-action-custom", [
        {"name": "a", "unit": "ms", "value": 1.5, "range": "0.5", "extra": "rounds: 3\nas built"},
        {"name": "b", "unit": "Percent", "value": "50"}, {"name": "c", "unit": "ms", "value": None},
    ])  # fmt: skip

    assert got.names == ["a", "b"] and got.rejects() == [(3, "value is null, not a number")]
    assert got.metrics() == {
        "latency": (1.5e6, "ns"), "latency_range": (5e5, "ns"), "rounds": (3.0, "count"), "extra": "as built",
        "value": (50.0, "%"),
    }  # fmt: skip
    assert got.better()["latency"] == "lower" and got.better()["value"] is None
    (note,) = got.tally.notes
    assert 'a unit such as "Percent" does not say which direction is better' in note
