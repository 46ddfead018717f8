"""hyperfine: times, parameters, memory, and calls that failed."""

from pathlib import Path
from typing import Any

from bench.warehouse.events import CaseRecord, MemorySample, Outcome

from ..conftest import Load
from .reading import lay, read


def result(command: str = "sleep 1", **fields: Any) -> dict[str, Any]:
    """One command."""
    return {
        "command": command, "mean": 1.5, "stddev": 0.5, "median": 1.5, "user": 0.25, "system": 0.125, "min": 1.0,
        "max": 2.0, "times": [1.0, 2.0], "exit_codes": [0, 0],
    } | fields  # fmt: skip


def test_times_are_timings_of_one_call() -> None:
    """And the statistics are aggregates beside them."""
    got = read("hyperfine", {"results": [result()]})

    assert got.samples() == [(1_000_000_000, 1), (2_000_000_000, 1)]
    assert got.metrics()["latency_mean"] == (1.5e9, "ns")
    assert got.metrics()["user_time_mean"] == (2.5e8, "ns")
    assert (got.names, got.outcomes(), got.runs) == (["sleep 1"], [("ok", None)], [])


def test_parameters_are_axes() -> None:
    """As `--parameter-scan` made them."""
    got = read("hyperfine", {"results": [result("sleep 1", parameters={"n": "1"}), result(parameters={"n": "2"})]})

    assert [case.parameters for case in got.of(CaseRecord)] == ['{"n": "1"}', '{"n": "2"}']


def test_a_command_that_failed_says_so() -> None:
    """hyperfine measured it all the same (-i): it is a count, and the outcome says how many calls failed and how."""
    got = read("hyperfine", {"results": [result(exit_codes=[0, 2]), result("b", exit_codes=[None, 0])]})

    first, second = got.of(Outcome)
    assert (first.status, first.exit_code) == ("ok", 2)
    assert first.reason == "1 of 2 calls failed, which hyperfine was told to ignore (-i): exit code 2"
    assert second.reason == "1 of 2 calls failed, which hyperfine was told to ignore (-i): killed by a signal"
    assert len(got.samples()) == 4


def test_memory_is_one_peak_a_call() -> None:
    """New versions write it."""
    got = read("hyperfine", {"results": [result(memory_usage_byte=[1000, 2000])]})

    assert [(sample.source, sample.statistic, sample.size_bytes) for sample in got.of(MemorySample)] == [
        ("rss", "peak", 1000), ("rss", "peak", 2000),
    ]  # fmt: skip


def test_a_single_call_has_no_deviation() -> None:
    """null is absent, not zero."""
    got = read("hyperfine", {"results": [result(stddev=None, times=[1.0])]})

    assert "latency_stddev" not in got.metrics()


TABLE = """command,mean,stddev,median,user,system,min,max,parameter_n
sleep 1,1.5,,1.5,0.25,0.125,1.0,2.0,1
"a, b",2,0.5,2,0,0,1,3,2
"""


def test_a_csv_has_the_statistics_of_the_json() -> None:
    """And no times; the columns of parameters are axes, and an empty deviation is none."""
    got = read("hyperfine", TABLE, name="x.csv")

    assert got.names == ["sleep 1", "a, b"]
    assert [case.parameters for case in got.of(CaseRecord)] == ['{"n": "1"}', '{"n": "2"}']
    assert got.metrics()["latency_mean"] == (2e9, "ns") and got.metrics()["latency_stddev"] == (0.5e9, "ns")
    assert got.metrics()["user_time_mean"] == (0.0, "ns") and got.samples() == []
    assert (got.accounting, "fields" in got.metrics()) == ((2, 2, 0), False)


def test_a_short_row_of_a_csv_is_a_reject() -> None:
    """Nobody can say which cell is missing; the row after it loads."""
    got = read("hyperfine", TABLE.replace(",1.0,2.0,1\n", "\n"), name="x.csv")

    assert (got.rejects(), got.names) == ([(1, "6 columns under a header of 9")], ["a, b"])


def test_a_csv_beside_its_json_is_left_out(tmp_path: Path, load: Load) -> None:
    """hyperfine writes both in one call; twice the same would count twice."""
    lay(tmp_path / "e", {"x.csv": TABLE, "x.json": {"results": [result()]}, "y.csv": TABLE})

    report = load(tmp_path / "e")

    assert sorted(line.path.name for line in report.lines) == ["x.json", "y.csv"]
    assert any(
        "x.csv repeats x.json, which lies beside it, without its times; left out" in note for note in report.notes
    )
