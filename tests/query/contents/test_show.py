"""`bench show`: each case of a run with its number and its doubt."""

import datetime as dt
import json
import math
from pathlib import Path

import bench as package
import pytest
from bench.cli import cli
from bench.query.contents.command import Show
from bench.query.contents.results import calls_of, render, results
from bench.query.question import Asker
from bench.warehouse.errors import UnknownName
from bench.warehouse.events import Json, Metric
from bench.warehouse.store import Store
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, case, memory, metric, outcome, run, timing
from ...exhaustive import exhaustive

BEGAN = dt.datetime(2026, 1, 1)
HYPERFINE = {
    "results": [
        {"command": name, "mean": mean, "stddev": 0.001, "median": mean, "user": 0.1, "system": 0.1, "min": mean, "max": mean,
         "times": [mean + 0.001 * i for i in range(8)], "exit_codes": [0] * 8}
        for name, mean in (("sleep 0.1", 0.1), ("sleep 0.2", 0.2))
    ]
}  # fmt: skip


def typed(*words: str) -> Result:
    return CliRunner().invoke(cli, [*words])


def two_cases() -> Builder:
    """One with samples, memory and a metric, one that ran out of memory."""
    fast, slow = case("net-2", batch_size=8), case("net-10")
    samples = [timing(fast, 1_000_000 + 10_000 * i) for i in range(9)]
    return Builder().add(
        run(), fast, slow, *samples, memory(fast, 2**20), metric(fast, "throughput", 5.0, unit="items/s", better="higher"),
        metric(fast, "loss", 0.5), outcome(fast), outcome(slow, "OOM", reason="out of memory at batch 8"),
    )  # fmt: skip


def test_other_files_of_the_night_are_said() -> None:
    """A name means the newest of a night's shards; an id means that run alone."""
    night = Builder().add(*(run(name, "c", "hyperfine", started_at=at) for at, name in enumerate(("one", "two"))))

    def said(*runs: str) -> list[str]:
        sentences = [*Show(runs).answer(night, Asker(print)).sentences()]
        return [sentence for sentence in sentences if "night" in sentence]

    assert said() == ["1 more run of its night: bench show two one --store 'the store'"] and said("two") == []


def test_a_case_is_one_row_with_its_doubt() -> None:
    """Latency stands for it; what failed has a row without a number."""
    fast, slow = results(two_cases(), ["run"]).rows

    assert (fast["metric"], fast["value"], fast["n"]) == ("latency", 1_040_000, 9)
    assert fast["low"] < fast["value"] < fast["high"] and 0.02 < fast["spread"] < 0.03
    assert (fast["peak_memory_bytes"], fast["status"]) == (2**20, "ok")
    assert (slow["name"], slow["value"], slow["status"], slow["reason"]) == (
        "net-10", None, "OOM", "out of memory at batch 8",
    )  # fmt: skip


def test_a_parameter_that_the_table_shows_chooses_cases() -> None:
    """By its own name, as a column does; a wrong one names the nearest."""
    cases = [
        case("net", parameters={"a/b 'c'": size, "variant": text}) for size, text in ((1, "x"), (2, "x"), (2, "y"))
    ]
    warehouse = Builder().add(run(), *cases, *(timing(each, 1_000_000) for each in cases))

    chosen = results(warehouse, ["run"], {"a/b 'c'": ["2"], "variant": ["x", "y"]}).rows

    assert sorted(json.loads(row["parameters"])["variant"] for row in chosen) == ["x", "y"]
    with pytest.raises(UnknownName, match=r"no variant 'z' in case_results\. Known: 'x', 'y'\."):
        results(warehouse, ["run"], {"variant": ["z"]})
    with pytest.raises(UnknownName, match=r"Nearest: 'variant'"):
        results(warehouse, ["run"], {"varant": ["x"]})


def test_errors_about_a_file_are_not_about_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without results is not a lack of runs here, and no command is proposed that would look here for its values."""
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    Path("two.json").write_text(json.dumps(HYPERFINE))

    assert str(typed("show", "empty.csv").exception) == "empty.csv holds no result"
    said = str(typed("show", "two.json", "--models", "sleep 1").exception)
    assert said.endswith("Nearest: 'sleep 0.1', 'sleep 0.2'.")


@pytest.mark.exhaustive
def test_failed_requests_are_counted_beside_the_status() -> None:
    """A case that was measured is ok though some of its calls failed; where none did, there is no column."""
    served, idle = case("served"), case("idle")
    filled = Builder().add(run(), served, idle, *(timing(each, 1_000_000) for each in (served, idle)))
    assert "failed" not in render(results(filled, ["run"]))[0]
    filled.add(metric(served, "failed", 2.0, unit="count"), metric(idle, "failed", 0.0, unit="count"))
    columns, rows, _ = render(results(filled, ["run"]))

    assert [(row[columns.index("name")], row[columns.index("failed")]) for row in rows] == [
        ("idle", None),
        ("served", "2"),
    ]


def test_a_parameter_that_is_called_as_a_column_has_its_own() -> None:
    """Such as n, which is also the number of samples: the cases would look alike."""
    cases = [case("net", parameters={"n": n}) for n in (1, 2)]
    filled = Builder().add(run(), *cases, *[timing(each, 1_000_000) for each in cases])
    columns, rows, _ = render(results(filled, ["run"]))

    assert [row[columns.index("n (parameter)")] for row in rows] == [1, 2]
    assert [row[columns.index("n")] for row in rows] == [1, 1]


def test_the_calls_of_a_measurement_are_one_row() -> None:
    """Their median with what calls differ by; a case that failed in one has a row for that, and further metrics are medians."""
    filled = Builder()
    for number, value in enumerate((1_000_000, 1_100_000, 1_050_000)):
        own = case("served", run=f"call-{number}")
        filled.add(
            run(f"call-{number}", "called", tags=Json('{"calls":"m"}'), started_at=BEGAN + dt.timedelta(minutes=number)), own,
            timing(own, value), metric(own, "rate", float(number)), outcome(own, "OOM" if number == 1 else "ok"),
        )  # fmt: skip
    calls = calls_of(filled, ["call-2"])
    ok, failed = sorted(results(filled, ["call-2"], metrics=["rate"], calls=calls).rows, key=lambda row: -row["n"])

    assert calls == {"call-2": ["call-0", "call-1", "call-2"]} and calls_of(filled, ["call-1"]) == {}
    assert (ok["n"], ok["value"], ok["rate"], ok["status"]) == (2, 1_025_000, 1.0, "ok")
    assert ok["low"] == pytest.approx(1_025_000 / math.exp(12.706 * math.log(1.05) / 2), rel=1e-3)
    assert (failed["n"], failed["value"], failed["status"]) == (1, 1_100_000, "OOM")


def test_timings_that_do_not_count_are_said() -> None:
    """On a busy machine those that lost their processor are left out, so n is less than what was measured."""
    crowded, calm = case("crowded"), case("calm")
    filled = Builder().add(run(), crowded, calm, outcome(crowded), outcome(calm))
    filled.add(*[timing(crowded, 1_000_000 + i, involuntary_switches=int(i > 2)) for i in range(9)])
    filled.add(*[timing(calm, 1_000_000, involuntary_switches=0) for _ in range(9)])
    reply = Show(["run"]).answer(filled, Asker(print))

    assert [row["n"] for row in reply.rows] == [9, 3]
    assert [*reply.sentences()] == ["crowded: 6 of 9 timings lost their processor, and do not count"]


@pytest.mark.exhaustive
def test_parameters_sort_by_the_size_of_their_numbers() -> None:
    """Be they texts, such as bins of tokens."""
    cases = [case("step", parameters={"tokens": bin}) for bin in ("all", "16–31", "2–3", "1")]
    filled = Builder().add(run(), *cases, *[timing(each, 1_000_000) for each in cases])

    found = [json.loads(row["parameters"])["tokens"] for row in results(filled, ["run"]).rows]
    assert found == ["1", "2–3", "16–31", "all"]


def test_reasons_are_those_of_failures_and_rows_are_cases() -> None:
    """Only other formats tell why measuring stopped, and what measuring says of itself."""
    own = case("net")
    filled = Builder().add(
        run(),
        own,
        timing(own, 1_000_000),
        outcome(own, reason="precision reached"),
        Metric(run_id="run", metric="seed", value=1.0),
    )
    columns, rows, _ = render(results(filled, ["run"]))

    assert len(rows) == 1 and "reason" not in columns


def test_people_see_values_with_units() -> None:
    """And no column that is empty."""
    columns, rows, _ = render(results(two_cases(), ["run"]))

    assert columns == ["name", "batch", "metric", "value", "95 %", "n", "spread", "peak memory", "status", "reason"]
    assert rows[0][3:8] == ["1.04 ms", "1.010–1.070 ms", 9, "2.6 %", "1 MiB"]


def test_further_metrics_are_columns_and_sort() -> None:
    """A case without one comes last, either way."""
    found = results(two_cases(), ["run"], metrics=["loss"], sort="-loss")

    assert [row["loss"] for row in found.rows] == [0.5, None]
    assert render(found)[0][-3:] == ["loss", "status", "reason"]


def test_a_metric_that_is_the_value_has_no_second_column() -> None:
    """As where the project's settings name it."""
    columns, _, _ = render(results(two_cases(), ["run"], metrics=["latency", "loss"]))

    assert columns.count("latency") == 0 and "loss" in columns and "value" in columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["los"]}, "no metric 'los' in the store. Nearest: 'loss'"),
        ({"where": {"nam": ["x"]}}, "no column 'nam' in case_results. Nearest: 'name'"),
        ({"where": {"name": ["net-3"]}}, "no model 'net-3'"),
        ({"sort": "valu"}, "no order 'valu'. Nearest: 'value'"),
    ],
)
def test_what_is_not_there_is_said(arguments: dict[str, object], message: str) -> None:
    """With the nearest that is."""
    with pytest.raises(UnknownName, match=message):
        results(two_cases(), ["run"], **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metrics", "headline"),
    [
        (["latency_mean", "latency_median", "latency_p99"], "latency_median"),
        (["throughput", "latency_mean"], "latency_mean"),
        (["rss", "throughput"], "throughput"),
        (["loss"], "loss"),
    ],
)
def test_the_metric_nearest_to_the_latency_stands_for_a_case(metrics: list[str], headline: str) -> None:
    """A case without latency by samples has it (`_headline_rank`)."""
    own = case()
    better = {"throughput": "higher", "loss": None}
    numbers = [
        metric(own, name, 1.0, unit="bytes" if name == "rss" else "ns", better=better.get(name, "lower"))
        for name in metrics
    ]
    warehouse = Builder().add(run(), own, *numbers)

    assert results(warehouse, ["run"]).rows[0]["metric"] == headline


@pytest.mark.exhaustive
@given(st.floats(1e-3, 1e12), st.floats(1e-6, 2))
def test_the_ends_of_an_interval_are_told_apart(low: float, width: float) -> None:
    """In one unit, the smaller first."""
    from bench.warehouse.console.numbers import interval

    ends = (interval(low, low * (1 + width), "ns") or "").split()[0].split("–")
    assert float(ends[0]) <= float(ends[1])
    assert len(ends) == 2


def test_an_ingest_ends_with_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first task of a new user: two commands of hyperfine, and their times."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    (tmp_path / "two.json").write_text(json.dumps(HYPERFINE))
    done = typed("ingest", "two.json")

    assert done.exit_code == 0, done.output
    assert "sleep 0.1  103.5 ms  " in done.stdout and "sleep 0.2  203.5 ms  " in done.stdout
    assert "bench show " in done.stderr.splitlines()[-1]
    assert "sleep 0.2  203.5 ms  " in typed("show").stdout


def test_an_ingest_shows_ten_cases_and_counts_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command for all of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    (tmp_path / "many.csv").write_text("name,ms\n" + "".join(f"case-{i},{i}\n" for i in range(1, 15)))
    done = typed("ingest", "many.csv", "--map", "name=name,value=ms,unit=ms")

    assert done.stdout.count("case-") == 10
    assert "4 more cases: bench show " in done.stderr


@pytest.mark.exhaustive
def test_the_statistic_is_that_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heading says which it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.toml").write_text('headline = "minimum"\nstore = ".bench"\n')
    monkeypatch.delenv("BENCH_STORE", raising=False)
    with package.run("main") as own:
        for duration in (3_000_000, 1_000_000, 2_000_000):
            own.case("sort").timing(duration)
    done = typed("show")

    assert "minimum" in done.stdout and "1 ms" in done.stdout
    assert Store.find().root == tmp_path / ".bench"


@exhaustive
def test_a_report_without_a_baseline_shows_what_show_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And speaks of no speedup over eager."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    (tmp_path / "two.json").write_text(json.dumps(HYPERFINE))
    typed("ingest", "two.json")
    text = typed("report").stdout

    assert "| sleep 0.1 | 103.5 ms |" in text
    assert "eager" not in text


@exhaustive
def test_a_file_is_shown_where_there_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in place: nothing is written. A name that is no file is said to be none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.json").write_text(json.dumps(HYPERFINE))

    shown = typed("show", "two.json", "--format", "json")

    assert [row["name"] for row in json.loads(shown.stdout)] == ["sleep 0.1", "sleep 0.2"]
    assert [path.name for path in tmp_path.iterdir()] == ["two.json"]
    assert "Nearest: 'two.json'" in str(typed("show", "twoo.json").exception)
    assert "there is no file gone.csv, and no store at" in str(typed("show", "gone.csv").exception)
