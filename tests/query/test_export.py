"""`bench export`: what other tools read of our runs, and what comes back of it."""

import csv
import io
import json
import math
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench.ingest.registry import find_format
from bench.ingest.run import ingest
from bench.ingest.user_formats.format_files import MappedTable
from bench.query.export.command import COLUMNS
from bench.query.export.runs import ExportedRun, Omitted, label, read_run
from bench.query.export.targets import TARGETS, text
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.events import CaseRecord, Environment, Event, Instant, Metric, Outcome
from bench.warehouse.store import Store
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from .. import builders
from ..builders import Builder, case, memory, metric, outcome, timing
from ..exhaustive import first_of
from ..ingest.formats.reading import Read, lay, read_file, recognised
from .conftest import Bench

ONE_RUN = [name for name, target in TARGETS.items() if not target.several]


def warehouse(*events: Event, **facts: Any) -> Builder:
    """A warehouse of one run."""
    facts = {"started_at": Instant(1767225600_000000), "git_commit": "abc123", **facts}
    return Builder().add(builders.run("run", "main", **facts), *events)


def measured(built: Builder, places: tuple[str, ...] = ()) -> ExportedRun:
    """Its run as it is exported; asking derives what it is read from."""
    built.rows("FROM cells")
    return read_run(built, "run", Omitted(), places=places)


def written(target: str, built: Builder, metric: str = "latency") -> tuple[Any, list[str], str]:
    """The document of a target, what is said to be left out, and the file."""
    left, kind = Omitted(), TARGETS[target]
    runs = [row[0] for row in built.rows("SELECT run_id FROM runs ORDER BY 1")]
    exported = [read_run(built, run, left, places=kind.places) for run in runs]
    _, document = kind.write(exported, metric, left)
    return document, left.sentences(), text(kind, document)


def back(target: str, file: str, folder: Path) -> Read:
    """What our own reader makes of the file."""
    lay(folder, {"x": file})
    assert recognised(folder / "x") == [target]
    return read_file(find_format(target), folder / "x")


PLAIN = case("test_a[8]", parameters={"n": 8})
FULL = case(
    "resnet50", suite="torch", mode="inference", device="cuda", dtype="float32", backend="inductor", batch_size=8,
    parameters={"tp": 2},
)  # fmt: skip


def latencies(of: CaseRecord, *durations: int, **fields: Any) -> list[Event]:
    """Samples of a case that ended well, unless it is said otherwise."""
    return [
        outcome(of, line=1),
        *(timing(of, duration, sample=index, **fields) for index, duration in enumerate(durations)),
    ]


# -- names


@pytest.mark.parametrize(
    ("named", "axes", "said"),
    first_of(2, [
        ("f", {}, "f"),
        ("f", {"backend": "eager", "batch_size": 8}, "f[backend=eager,batch_size=8]"),
        ("test_a[8]", {"parameters": {"n": 8}}, "test_a[8]"),
        ("resnet50", {"batch_size": 50}, "resnet50[batch_size=50]"),
        ("f", {"parameters": {"shape": [2, 3], "tp": "a b"}}, 'f[shape=[2, 3],tp=a b]'),
    ]),
)  # fmt: skip
def test_a_label_says_what_the_name_does_not(named: str, axes: dict[str, Any], said: str) -> None:
    """Of the case alone, so that it is the same in every run."""
    a = case(named, **axes)
    run = measured(warehouse(a, outcome(a)))
    assert [each.label for each in run.cases] == [said]


def test_two_cases_never_share_a_label() -> None:
    """Both say all their axes then."""
    a, b = case("f 8", parameters={"n": 8}), case("f 8", parameters={"m": 8})
    run = measured(warehouse(a, b, outcome(a), outcome(b)))
    assert sorted(each.label for each in run.cases) == ["f 8[m=8]", "f 8[n=8]"]
    assert label(run.cases[0], (), ()).startswith("f 8[")


# -- what each tool reads


def test_pytest_benchmark_reads_it(tmp_path: Path) -> None:
    """Its statistics are those of the samples; the machine, the commit and other metrics are there."""
    built = warehouse(
        *(FULL, *latencies(FULL, 2000, 4000, 9000)), metric(FULL, "loss", 0.5), git_dirty=False, host="h", environment_id="e",
    ).add(Environment(environment_id="e", os="Linux 6.1", cpu="EPYC", logical_cores=8))  # fmt: skip
    document, left, _ = written("pytest-benchmark", built)

    (benchmark,) = document["benchmarks"]
    x = [2e-6, 4e-6, 9e-6]
    assert (
        benchmark["fullname"] == "resnet50[mode=inference,device=cuda,dtype=float32,backend=inductor,batch_size=8,tp=2]"
    )
    assert benchmark["group"] == "torch"
    assert benchmark["stats"]["data"] == pytest.approx(x)
    for name, value in {
        "min": min(x), "max": max(x), "mean": statistics.fmean(x), "stddev": statistics.stdev(x), "median": 4e-6,
        "ops": 1 / statistics.fmean(x), "rounds": 3, "iterations": 1, "iqr": 3.5e-6, "total": sum(x),
    }.items():  # fmt: skip
        assert benchmark["stats"][name] == pytest.approx(value), name
    assert benchmark["extra_info"] == {"loss": 0.5}
    assert document["commit_info"]["id"] == "abc123"
    assert document["machine_info"]["cpu"] == {"brand_raw": "EPYC", "count": 8}
    assert left == []
    assert {"outliers", "q1", "q3", "ld15iqr", "hd15iqr", "stddev_outliers"} < set(benchmark["stats"])


def changes(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[float]]:
    """What google-benchmark's compare.py makes of two files: by name, the change of each pair of entries."""
    found = {}
    for name in dict.fromkeys(entry["name"] for entry in old["benchmarks"]):
        sides = [[entry for entry in side["benchmarks"] if entry["name"] == name] for side in (old, new)]
        unit = sides[0][0]["time_unit"]
        pairs = zip(*([entry for entry in side if entry["time_unit"] == unit] for side in sides), strict=False)
        found[name] = [(b["real_time"] - a["real_time"]) / a["real_time"] for a, b in pairs if a["real_time"]]
        assert all("cpu_time" in entry for side in sides for entry in side)
    return found


def test_google_benchmark_compares_it() -> None:
    """By name, entry by entry; failures stand there as it writes them."""
    broken = case("broken")
    old, _, _ = written("google-benchmark", warehouse(PLAIN, *latencies(PLAIN, 1000, 2000)))
    new, left, _ = written(
        "google-benchmark",
        warehouse(PLAIN, *latencies(PLAIN, 1100, 2000), broken, outcome(broken, "OOM", reason="too big")),
    )
    assert changes(old, new) == {"test_a[8]": pytest.approx([0.1, 0.0])}
    (failed,) = [entry for entry in new["benchmarks"] if "error_occurred" in entry]
    assert (failed["name"], failed["error_message"], failed["iterations"]) == ("broken", "too big", 0)
    assert left == ["2 entries whose unknown cpu_time repeats real_time, because compare.py reads both"]


def test_hyperfine_has_exit_codes_for_failures() -> None:
    """Only cases with samples have a place; a failure without any is counted."""
    flaky, broken = case("flaky"), case("broken")
    built = warehouse(
        flaky, *latencies(flaky, 10**9, 2 * 10**9), outcome(flaky, "fail_to_run", exit_code=3, line=2), memory(flaky, 4096),
        broken, outcome(broken, "OOM"),
    )  # fmt: skip
    document, left, _ = written("hyperfine", built)
    (result,) = document["results"]
    assert (result["command"], result["times"], result["exit_codes"]) == ("flaky", [1.0, 2.0], [3, 3])
    assert (result["mean"], result["memory_usage_byte"]) == (1.5, [4096])
    (one,) = written("hyperfine", warehouse(PLAIN, *latencies(PLAIN, 6)))[0]["results"]
    assert (one["times"], one["stddev"]) == ([6e-9], None)
    assert left == ["1 failed cases without samples"]


def test_a_command_that_ended_unseen_has_no_memory_in_hyperfine() -> None:
    """Zero is the lower bound of its peak: as a size it would be wrong."""
    document, left, _ = written("hyperfine", warehouse(PLAIN, *latencies(PLAIN, 6), memory(PLAIN, 0)))

    assert "memory_usage_byte" not in document["results"][0]
    assert left == ["1 cases whose memory is known only by an upper bound"]


def test_hyperfine_has_commands_as_they_ran() -> None:
    """Without the suite that all of them have; with the means of their processor times, computed or given."""
    timed, given = (case("sleep {n}; echo {m}", suite="command", parameters={"n": n}) for n in (0.5, 1))
    built = warehouse(
        *(timed, *latencies(timed, 10**9)), *(timing(timed, ns, metric="user_time") for ns in (10**6, 3 * 10**6)),
        *(given, *latencies(given, 10**9), metric(given, "system_time", 4e6, unit="ns", statistic="mean")),
    )  # fmt: skip
    document, left, _ = written("hyperfine", built)

    assert {x["command"]: (x["parameters"], x["user"], x["system"]) for x in document["results"]} == {
        "sleep 0.5; echo {m}": ({"n": "0.5"}, 0.002, None), "sleep 1; echo {m}": ({"n": "1"}, None, 0.004),
    }  # fmt: skip
    assert left == ["2 samples of user_time, of which there is the mean"]


@pytest.mark.exhaustive
def test_cases_of_a_name_come_in_the_order_of_their_parameters() -> None:
    """As numbers, not as the hashes of their cases, since what reads a sweep draws it in the order of the file."""
    cases = [case("sleep {n}", suite="command", parameters={"n": n}) for n in (100, 2, 30, 1, 10)]
    built = warehouse(*(event for each in cases for event in (each, *latencies(each, 1000))))

    results = written("hyperfine", built)[0]["results"]

    assert [x["parameters"]["n"] for x in results] == ["1", "2", "10", "30", "100"]


def test_github_action_benchmark_draws_it() -> None:
    """An entry a run, in order of time; a tool a direction; what its page reads of a commit is there."""
    b = case("b")
    built = warehouse(
        *(b, *latencies(b, 1000, 2000, 6000)), metric(b, "rate", 5.0, unit="req/s", better="higher"), metric(b, "loss", 1.0),
    ).add(
        builders.run("earlier", "main", started_at=Instant(1767000000_000000)), case("b", run="earlier"),
        timing(case("b", run="earlier"), 900), outcome(case("b", run="earlier")),
    )  # fmt: skip
    document, left, file = written("github-action-benchmark", built)

    assert file.startswith("window.BENCHMARK_DATA = {")
    entries = document["entries"]
    assert list(entries) == ["main", "main (bigger is better)"]
    assert [entry["commit"]["id"] for entry in entries["main"]] == ["earlier", "abc123"]
    assert entries["main"][1]["benches"] == [
        {"name": "b", "value": 2000.0, "unit": "ns", "range": f"± {statistics.stdev([1000.0, 2000.0, 6000.0])!r}",
         "extra": "3 samples"},
    ]  # fmt: skip
    (rate,) = entries["main (bigger is better)"][0]["benches"]
    assert (rate["name"], rate["value"]) == ("b rate", 5.0)
    for history in entries.values():
        for entry in history:
            commit = entry["commit"]
            assert all(isinstance(commit[field], str) for field in ("id", "message", "timestamp", "url"))
            assert commit["committer"]["username"] == ""
            assert entry["tool"] in ("customSmallerIsBetter", "customBiggerIsBetter")
    assert left == [
        "2 values written as their median",
        "1 commits unknown: the tool needs one, so the run's id is written",
        "1 values without a direction of better (loss)",
    ]


@pytest.mark.exhaustive
def test_test_infra_has_a_place_for_most_axes(tmp_path: Path) -> None:
    """Those it has come back as they were, the others as parameters with its prefix."""
    found = back("test-infra", written("test-infra", warehouse(FULL, *latencies(FULL, 1000, 2000)))[2], tmp_path)
    (one,) = found.of(CaseRecord)
    assert (one.name, one.suite, one.mode, one.device, one.dtype, one.backend) == (
        "resnet50", "torch", "inference", "cuda", "float32", "inductor",
    )  # fmt: skip
    assert json.loads(one.parameters or "") == {"benchmark.batch_size": 8, "benchmark.tp": 2}
    assert [(m.metric, m.value, m.unit) for m in found.of(Metric)] == [("latency", 1000, "ns"), ("latency", 2000, "ns")]
    assert found.runs[0].git_commit == "abc123"


@pytest.mark.parametrize("target", first_of(2, TARGETS))
def test_what_has_no_place_is_counted(target: str) -> None:
    """Failures, judgements of accuracy, texts, other phases: each with its number."""
    a, b, c = case("a"), case("b"), case("c")
    built = warehouse(
        a, *latencies(a, 1000), timing(a, 9000, phase="cold"), metric(a, "note", None, original_value="x"),
        outcome(a, "pass", kind="accuracy"), b, outcome(b, "timeout"), c, outcome(c, "skipped", reason="why"),
    )  # fmt: skip
    document, left, _ = written(target, built)
    said = "\n".join(left)
    assert "1 judgements of accuracy" in said
    assert "1 texts and values that are no number (note)" in said
    if target == "google-benchmark":
        assert [entry["name"] for entry in document["benchmarks"]] == ["a", "b", "c"]
    else:
        assert "1 failed cases" in said
    if target == "pytest-benchmark":
        assert document["benchmarks"][0]["extra_info"] == {"latency_cold": 9000.0}
    elif target != "github-action-benchmark":
        assert "1 values of other metrics (latency cold)" in said
    if target in ("pytest-benchmark", "github-action-benchmark", "test-infra"):
        assert "1 skipped cases" in said


# -- there and back

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
DURATIONS = st.lists(st.integers(1, 10**12), min_size=1, max_size=8)


@settings(max_examples=3, phases=[Phase.generate])
@given(
    cases=st.dictionaries(
        st.tuples(NAMES, st.sampled_from([None, "eager", "x;]"]), st.sampled_from([None, 0, 8, 2**40])),
        st.tuples(DURATIONS, st.integers(1, 10**5)), min_size=1, max_size=4,
    ),
)  # fmt: skip
@pytest.mark.exhaustive
def test_samples_come_back(
    tmp_path_factory: pytest.TempPathFactory, cases: dict[tuple[Any, ...], tuple[list[int], int]]
) -> None:
    """Of any names and axes: every sample of latency, by its label; of github-action-benchmark the median."""
    built = warehouse()
    for (name, backend, batch_size), (durations, loops) in cases.items():
        a = case(name, backend=backend, batch_size=batch_size)
        built.add(a, *latencies(a, *(duration * loops for duration in durations), loops=loops))
    for target in TARGETS:
        run = measured(built, TARGETS[target].places)
        wanted = {case.label: case.series["latency", None, "steady"].values for case in run.cases}
        found = back(target, written(target, built)[2], tmp_path_factory.mktemp("x"))

        assert found.rejects() == []
        names = {case.case_id: case.name for case in found.of(CaseRecord)}
        if target == "test-infra":
            assert sorted(names.values()) == sorted(name for name, _, _ in cases)
            names = dict(zip(names, (each.label for each in _in_order(run, found)), strict=True))
        got: dict[str, list[float]] = {}
        for case_id, value in values(found):
            got.setdefault(names[case_id], []).append(value)
        if target == "github-action-benchmark":
            wanted = {name: [statistics.median(values)] for name, values in wanted.items()}
        assert {name: pytest.approx(sorted(values), rel=2e-3) for name, values in wanted.items()} == {
            name: sorted(values) for name, values in got.items()
        }


def values(found: Read) -> Iterable[tuple[str, float]]:
    """Every sample of latency."""
    from bench.warehouse.events import Timing

    for timed in found.of(Timing):
        if timed.metric == "latency":
            yield timed.case_id, timed.duration_ns / timed.loops
    for one in found.of(Metric):
        if (one.metric, one.statistic) == ("latency", None) and one.value is not None and one.case_id is not None:
            yield one.case_id, one.value


def _in_order(run: ExportedRun, found: Read) -> list[Any]:
    """The cases of a run in the order of those read back, by name, backend and batch size."""
    by = {(each.name, each.axes.get("backend"), each.axes.get("batch_size")): each for each in run.cases}
    return [
        by[one.name, one.backend, json.loads(one.parameters or "{}").get("benchmark.batch_size")]
        for one in found.of(CaseRecord)
    ]


CELLS = """
    SELECT name, suite, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, phase, unit, better, n,
        minimum, median, maximum, stdev
    FROM cells ORDER BY ALL
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", first_of(1, ["csv", "parquet"]))
def test_a_table_comes_back_whole(bench: Bench, store: Store, tmp_path: Path, kind: str) -> None:
    """Every cell and ending, axes and all; loaded once."""
    (tmp_path / "x").mkdir()
    result = bench("export", "main", "fuse", "--all", "--as", kind, "-o", str(tmp_path / "x" / f"all.{kind}"))
    assert (result.exit_code, result.stderr) == (0, f"no place in {kind}: 75 scheduler steps\n")

    other = Store(tmp_path / "other")
    (line,) = ingest(other, [str(tmp_path / "x")]).lines
    assert (line.format, line.rejected, line.loaded) == ("bench-table", 0, 3 * 44)
    assert ingest(other, [str(tmp_path / "x")]).lines[0].known == line.loaded
    endings = "SELECT name, backend, status, reason FROM case_outcomes ORDER BY ALL"
    with Warehouse.open(store) as a, Warehouse.open(other) as b:
        assert a.rows(CELLS) == b.rows(CELLS)
        assert a.rows(endings) == b.rows(endings)
        assert len(b.rows("FROM runs")) == 3


def test_csv_is_a_row_a_sample_and_one_an_ending() -> None:
    """Golden."""
    a = case("a", parameters={"x": 'q"'})
    built = warehouse(a, timing(a, 300, loops=2), memory(a, 10), outcome(a, "OOM", reason="big, too"), host="h")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ", ".join(f'"{column}"' for column in COLUMNS)
    writer.writerows(built.rows(f"SELECT {columns} FROM _exported ORDER BY case_id, ending, metric"))
    start = "run,abc123,,h,2026-01-01 00:00:00,a,,,,,,,,"
    assert out.getvalue() == (
        f'{start}"{{""x"": ""q\\""""}}",latency,,steady,ns,lower,150.0,2,,\n'
        f'{start}"{{""x"": ""q\\""""}}",rss,peak,,bytes,lower,10.0,,,\n'
        f'{start}"{{""x"": ""q\\""""}}",,,,,,,,OOM,"big, too"\n'
    )


def test_the_reader_knows_the_columns_that_are_written() -> None:
    """Two rooms say them, for neither may import the other."""
    kind = find_format("bench-table")
    assert isinstance(kind, MappedTable) and kind.columns == set(COLUMNS) == kind.mapping.columns.keys()


# -- the command


@pytest.mark.parametrize("target", TARGETS)
def test_the_command_writes_a_file_or_to_stdout(bench: Bench, tmp_path: Path, target: str) -> None:
    """The same either way; failures are said on stderr."""
    result = bench("export", "fuse", "--as", target, "-o", str(tmp_path / "x"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert bench("export", "fuse", "--as", target).stdout == (tmp_path / "x").read_text(encoding="utf-8")
    assert recognised(tmp_path / "x") == [target]
    if target != "google-benchmark":  # which has a place for them; hyperfine too, beside the samples
        assert ("failed cases" in result.stderr) == (target != "hyperfine")


@pytest.mark.parametrize("target", ONE_RUN)
def test_several_runs_in_a_file_of_one(bench: Bench, target: str) -> None:
    """It is an error that says so."""
    error = bench("export", "main", "fuse", "--as", target).exception
    assert isinstance(error, BenchError)
    assert str(error).startswith(f"a file of {target} is one run, and these are 2.")


def test_the_metric_must_be_a_time(bench: Bench, tmp_path: Path) -> None:
    """And be there; nothing is written else."""
    a = case("a")
    built = warehouse(a, metric(a, "rate", 5.0, unit="req/s"), outcome(a))
    assert written("hyperfine", built)[0] == {"results": []}
    error = bench("export", "fuse", "--as", "hyperfine", "--metric", "rate").exception
    assert isinstance(error, NothingToShow)
    assert re.search(r"as hyperfine: .*3 cases without samples.*Metrics there are: latency", str(error))
    assert isinstance(bench("export", "nobody", "--as", "csv").exception, UnknownName)
    error = bench("export", "fuse", "--as", "hyperfine", "-o", str(tmp_path / "no" / "x")).exception
    assert "cannot write" in str(error)


def test_hostile_metrics_and_names_stay_inside() -> None:
    """A counter called as a field of the format does not take its place; no number is anything but finite JSON."""
    a = case('</script>"\u202e\n')
    built = warehouse(
        a, *latencies(a, 1000), metric(a, "name", 5.0, better="lower"), metric(a, "real_time", 6.0, better="lower"),
        metric(a, "huge", 1e308, better="lower"), metric(a, "none", math.nan, better="lower"),
    )  # fmt: skip
    for target in TARGETS:
        document, _, file = written(target, built)
        assert json.loads(file.removeprefix(TARGETS[target].before)) == document
    entry = written("google-benchmark", built)[0]["benchmarks"][0]
    assert (entry["name"], entry["real_time"]) == (a.name, 1000.0)


def test_metrics_that_differ_in_their_phase_only() -> None:
    """One has the name; the other is counted."""
    a = case("a")
    two = [metric(a, "loss", 1.0, phase="steady"), metric(a, "loss", 2.0)]
    built = warehouse(a, *latencies(a, 1000), *two)
    for target in ("pytest-benchmark", "google-benchmark"):
        document, left, _ = written(target, built)
        assert "1 values of other metrics (loss)" in left
        (record,) = document["benchmarks"]
        assert record.get("extra_info", record)["loss"] in (1.0, 2.0)


def test_values_of_two_units_are_two_series() -> None:
    """Those in ns have the metric's name, whatever order they were recorded in; the others are named by theirs."""
    a = case("a")
    two = [metric(a, "wait", 5.0, unit="ms", better="lower"), metric(a, "wait", 7e6, unit="ns", better="lower")]
    document, *_ = written("google-benchmark", warehouse(a, *latencies(a, 1000), *two))

    (record,) = document["benchmarks"]
    assert record["wait"] == 7e6
    assert record["wait (ms)"] == 5.0


def test_parquet_has_types(bench: Bench, tmp_path: Path) -> None:
    """A moment is a moment, a number a number."""
    bench("export", "fuse", "--as", "parquet", "-o", str(tmp_path / "x.parquet"))
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert tuple(schema.names) == COLUMNS
    assert [str(schema.field(name).type) for name in ("value", "batch_size", "recorded_at")] == [
        "double",
        "int64",
        "timestamp[us]",
    ]
    assert isinstance(outcome(case()), Outcome)
