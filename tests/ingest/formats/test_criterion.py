"""Criterion.rs: the folder of a benchmark, its samples and estimates."""

from pathlib import Path
from typing import Any

import pytest
from bench.ingest.registry import find_format
from bench.warehouse.events import CaseRecord, Metric

from .reading import Read, lay, read_file, recognised


def estimate(point: float) -> dict[str, Any]:
    """One estimate."""
    interval = {"confidence_level": 0.95, "lower_bound": point - 1, "upper_bound": point + 1}
    return {"confidence_interval": interval, "point_estimate": point, "standard_error": 0.5}


OLD = {
    "Mean": estimate(10),
    "Median": estimate(9),
    "MedianAbsDev": estimate(1),
    "Slope": estimate(8),
    "StdDev": estimate(2),
}
NEW = {
    "mean": estimate(10),
    "median": estimate(9),
    "median_abs_dev": estimate(1),
    "slope": None,
    "std_dev": estimate(2),
}
ABOUT = {
    "group_id": "Fib", "function_id": "fast", "value_str": "20", "throughput": {"Bytes": 64}, "full_id": "Fib/fast/20",
    "directory_name": "Fib/fast/20", "title": "Fib/fast/20",
}  # fmt: skip
SAMPLE = {"sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [100.0, 180.0]}
FOLDER = {
    "Fib/fast/20/new/benchmark.json": ABOUT, "Fib/fast/20/new/estimates.json": NEW, "Fib/fast/20/new/sample.json": SAMPLE,
    "Fib/fast/20/change/estimates.json": {"mean": estimate(0.5), "median": estimate(0.25)},
}  # fmt: skip


def load(folder: Path, name: str = "Fib/fast/20/new/estimates.json", **files: object) -> Read:
    """Read one file of the folder, in which some are replaced."""
    lay(folder, {**FOLDER, **{f"Fib/fast/20/new/{key}.json": content for key, content in files.items()}})
    assert recognised(folder / name) == ["criterion"]
    return read_file(find_format("criterion"), folder / name, name)


def test_samples_are_timings_of_their_iterations(tmp_path: Path) -> None:
    """The folder says what the benchmark is."""
    got = load(tmp_path)

    (case,) = got.of(CaseRecord)
    assert (case.name, case.suite, case.parameters) == ("Fib/fast/20", "Fib", '{"value": "20"}')
    assert got.samples() == [(100, 10), (180, 20)]
    assert got.metrics()["work"] == (64.0, "bytes")
    assert got.metrics()["sampling_mode"] == "Linear"


@pytest.mark.parametrize("estimates", [OLD, NEW])
def test_estimates_are_aggregates_with_their_interval(tmp_path: Path, estimates: object) -> None:
    """Whichever way the version spells them; the mean is one of means, which is noted."""
    got = load(tmp_path, estimates=estimates)

    assert got.metrics()["latency_mean"] == (10.0, "ns")
    assert got.metrics()["latency_mad"] == (1.0, "ns")
    assert (got.metrics()["latency_mean_low"], got.metrics()["latency_mean_high"]) == ((9.0, "ns"), (11.0, "ns"))
    assert (got.better()["latency_mean"], got.better()["latency_mean_low"]) == ("lower", None)
    assert any("means of means" in note for note in got.tally.notes)


def test_old_samples_are_two_lists(tmp_path: Path) -> None:
    """Iterations, then times."""
    assert load(tmp_path, sample=[[1.0, 2.0], [5.0, 8.0]]).samples() == [(5, 1), (8, 2)]


def test_change_is_a_ratio_and_no_duration(tmp_path: Path) -> None:
    """It has no benchmark.json of its own, and takes that of the latest measurement."""
    got = load(tmp_path, "Fib/fast/20/change/estimates.json")

    assert got.names == ["Fib/fast/20"]
    assert got.metrics()["change_mean"] == (0.5, "ratio")
    assert {metric.metric for metric in got.of(Metric)} >= {"change"}
    assert not any(metric.metric == "latency" for metric in got.of(Metric))


def test_baselines_are_configs_of_their_own() -> None:
    """`new` and `change` are the latest; what else there is was saved under a name."""
    kind = find_format("criterion")

    assert [kind.group(f"Fib/fast/{name}/estimates.json") for name in ("new", "change", "base", "main")] == [
        "",
        "",
        "base",
        "main",
    ]


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ({"iters": [1], "times": []}, "sample.json has 0 times for 1 count of iterations"),
        ({"iters": [0], "times": [1]}, "sample.json: sample 0 took 1 for 0 iterations"),
        ({"iters": [1], "times": ["x"]}, 'sample.json: sample 0 took "x" for 1 iterations'),
        (5, "sample.json holds no lists of iterations and times"),
        ("[1", "sample.json: not valid JSON: Expecting ',' delimiter at line 1, character 3"),
    ],
)
def test_broken_samples_reject_the_benchmark(tmp_path: Path, sample: object, reason: str) -> None:
    """Half of a measurement is not passed off as all of it."""
    got = load(tmp_path, sample=sample)

    assert got.rejects() == [(1, reason)]
    assert not got.of(Metric)


def test_without_samples_and_description_the_estimates_stand(tmp_path: Path) -> None:
    """The folder's name is the benchmark's then."""
    lay(tmp_path, {"fib/new/estimates.json": NEW})
    got = read_file(find_format("criterion"), tmp_path / "fib/new/estimates.json", "estimates.json")

    assert got.names == ["fib"]
    assert got.accounting == (1, 1, 0)
