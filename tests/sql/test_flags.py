"""flags and newly_flagged: what is beyond a limit, and since when, with nothing lost on the way."""

import json
from typing import Any

import pytest
from bench.warehouse.events import CaseRecord, Event, Json

from ..builders import Builder, case, metric, outcome, run
from ..exhaustive import first_of

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "inductor"}
FLAGS = "SELECT name, metric, unit, value, threshold, why FROM flags({}) ORDER BY name, metric"
NEW = "SELECT run_id, name, metric, before, value_before, fine_since, fine_runs FROM newly_flagged() ORDER BY ALL"


def result(name: str = "m", run: str = "run", **metrics: float) -> list[Event]:
    """A case that an import reports as ok, with its numbers: speedup, compile_latency, compression_ratio."""
    it = imported(name, run)
    units = {"compile_latency": "ns"}
    return [it, outcome(it), *(metric(it, key, value, unit=units.get(key, "ratio")) for key, value in metrics.items())]


def imported(name: str, run: str = "run", **fields: Any) -> CaseRecord:
    return case(name, run=run, source_id="file", **AXES, **fields)


def day(number: int) -> int:
    """An instant: noon of that January day of 2026."""
    return 1_767_268_800_000_000 + (number - 1) * 86_400_000_000


def nightly(*runs: str) -> list[Event]:
    """Runs of one config, one a day."""
    return [run(run_id, config="nightly", started_at=day(i)) for i, run_id in enumerate(runs, 1)]


def test_each_limit_flags_what_is_beyond_it(warehouse: Builder) -> None:
    """Speedup below 0.95, compiling above 120 s, compression below 0.9; exactly at a limit is within."""
    beyond = result("bad", speedup=0.949, compile_latency=120.1e9, compression_ratio=0.89)
    warehouse.add(run(), *beyond, *result("edge", speedup=0.95, compile_latency=120e9, compression_ratio=0.9))

    assert warehouse.rows(FLAGS.format("")) == [
        ("bad", "compile_latency", "s", 120.1, 120.0, "compiling took 120.1 s, above 120 s"),
        ("bad", "compression_ratio", "ratio", 0.89, 0.9, "memory compression 0.890 is below 0.9"),
        ("bad", "speedup", "ratio", 0.949, 0.95, "speedup 0.949 is below 0.95"),
    ]


@pytest.mark.parametrize(
    ("limits", "flagged"),
    first_of(
        2,
        [
            ("min_speedup := 1.2", ["speedup"]),
            ("max_compile_seconds := 10", ["compile_latency"]),
            ("min_compression := 1.5", ["compression_ratio"]),
            ("min_speedup := NULL, max_compile_seconds := NULL, min_compression := NULL", []),
        ],
    ),
)
def test_limits_are_arguments(warehouse: Builder, limits: str, flagged: list[str]) -> None:
    """Any of them may be moved; NULL flags nothing."""
    warehouse.add(run(), *result(speedup=1.1, compile_latency=60e9, compression_ratio=1.2))

    assert [row[1] for row in warehouse.rows(FLAGS.format(limits))] == flagged


def test_a_failed_case_is_flagged_for_its_status(warehouse: Builder) -> None:
    """It has no numbers to flag; what was skipped or never said is no failure."""
    warehouse.add(run())
    for status in ("OOM", "skipped", "unknown", "ok"):
        warehouse.add(it := imported(status), outcome(it, status, reason="the reason"))
    warehouse.add(case("interrupted", **AXES))

    assert warehouse.rows("SELECT name, metric, value, why FROM flags() ORDER BY name") == [
        ("OOM", "status", None, "OOM: the reason"),
        ("interrupted", "status", None, "interrupted: its run ended before it did"),
    ]


def test_accuracy_that_is_no_pass_is_flagged(warehouse: Builder) -> None:
    """Also where it was not judged and that of others was, and where it was skipped."""
    for status in ("pass", "pass_due_to_skip", "fail_accuracy", "skipped"):
        warehouse.add(*result(status, speedup=1.5), outcome(imported(status), status, kind="accuracy", reason="why"))
    warehouse.add(run(), *result("unjudged", speedup=1.5))

    assert warehouse.rows("SELECT name, metric, why FROM flags() ORDER BY name") == [
        ("fail_accuracy", "accuracy", "fail_accuracy: why"),
        ("skipped", "accuracy", "skipped: why"),
        ("unjudged", "accuracy", "no accuracy"),
    ]


def test_a_speedup_that_ought_to_be_there_is_flagged(warehouse: Builder) -> None:
    """The baseline failed, or the report left it out: no case that does not pass goes without a flag."""
    eager, inductor = (case("m", **{**AXES, "backend": backend}) for backend in ("eager", "inductor"))
    warehouse.add(run(), eager, inductor, outcome(eager, "OOM"), outcome(inductor))
    warehouse.add(run("import", source="torch-compile"), *result("a", "import", speedup=2.0), *result("b", "import"))

    query = "SELECT name, backend, metric, value, why FROM flags() ORDER BY ALL"
    assert warehouse.rows(query) == [
        ("b", "inductor", "speedup", None, "no speedup"),
        ("m", "eager", "status", None, "OOM"),
        ("m", "inductor", "speedup", None, "baseline OOM"),
    ]
    unflagged = "SELECT * FROM case_summaries ANTI JOIN flags() USING (run_id, case_id) WHERE NOT passing"
    assert warehouse.rows(unflagged) == []


def test_the_first_run_has_nothing_newly_flagged(warehouse: Builder) -> None:
    """There is no run before it to be fine in."""
    warehouse.add(*nightly("1"), *result(run="1", speedup=0.5))

    assert warehouse.rows(NEW) == []


def test_a_flag_is_new_if_the_run_before_did_not_have_it(warehouse: Builder) -> None:
    """It says what the value was, and since when it was fine; the day after it is old."""
    warehouse.add(*nightly("1", "2", "3", "4", "5"))
    for run_id, speedup in zip("12345", (0.9, 1.1, 1.2, 0.8, 0.8), strict=True):
        warehouse.add(*result(run=run_id, speedup=speedup))

    query = (
        "SELECT run_id, previous_run, before, value_before, value, epoch_us(fine_since), fine_runs FROM newly_flagged()"
    )
    assert warehouse.rows(query) == [("4", "3", "fine", 1.2, 0.8, day(2), 2)]


def test_how_long_it_was_fine_is_followed_over_the_last_runs(warehouse: Builder) -> None:
    """Ten unless told otherwise: a question about today does not read the store's whole past."""
    names = [f"{i:02}" for i in range(1, 14)]
    warehouse.add(*nightly(*names))
    for run_id in names:
        warehouse.add(*result(run=run_id, speedup=0.5 if run_id == "13" else 2.0))

    query = "SELECT fine_runs, epoch_us(fine_since) FROM newly_flagged(last := {})"
    assert [warehouse.rows(query.format(last)) for last in (10, 2, 50)] == [
        [(10, day(3))],
        [(2, day(11))],
        [(12, day(1))],
    ]


def test_metrics_are_flagged_apart(warehouse: Builder) -> None:
    """A case that was slow already and now needs memory too is newly flagged for memory alone."""
    warehouse.add(*nightly("1", "2"), *result(run="1", speedup=0.5, compression_ratio=1.0))
    warehouse.add(*result(run="2", speedup=0.5, compression_ratio=0.5))

    assert [row[:5] for row in warehouse.rows(NEW)] == [("2", "m", "compression_ratio", "fine", 1.0)]


@pytest.mark.parametrize("earlier", [[], ["skipped"]], ids=["absent", "skipped"])
def test_a_case_the_run_before_did_not_measure_is_said_to_be_absent(warehouse: Builder, earlier: list[str]) -> None:
    """A new model that is slow did not get slow: a column says so."""
    warehouse.add(*nightly("1", "2"), *result("other", "1", speedup=2.0), *result("m", "2", speedup=0.5))
    for status in earlier:
        warehouse.add(it := imported("m", "1"), outcome(it, status))

    assert warehouse.rows(NEW) == [("2", "m", "speedup", "absent", None, None, 0)]


def test_the_run_before_is_the_last_that_ran_the_same_suite_and_backend(warehouse: Builder) -> None:
    """A run of other suites lies between, and one of another config: neither is the run before."""
    other = case("x", run="2", **{**AXES, "suite": "other"})
    warehouse.add(*nightly("1", "2", "3"), run("foreign", config="foreign", started_at=day(2)))
    warehouse.add(*result(run="1", speedup=2.0), other, outcome(other), *result(run="3", speedup=0.5))
    warehouse.add(*result(run="foreign", speedup=0.5))

    assert [row[:4] for row in warehouse.rows(NEW)] == [("3", "m", "speedup", "fine")]
    assert warehouse.rows("SELECT previous_run FROM newly_flagged()") == [("1",)]


def test_a_failure_is_newly_flagged(warehouse: Builder) -> None:
    """Coverage lost is a finding: fine yesterday, out of memory today, without any axis but the name."""
    good, bad = case("m", run="1"), case("m", run="2")
    warehouse.add(*nightly("1", "2"), good, bad, outcome(good), outcome(bad, "OOM"))

    assert [row[:4] for row in warehouse.rows(NEW)] == [("2", "m", "status", "fine")]


def test_accuracy_alone_has_a_run_before_too(warehouse: Builder) -> None:
    """A report of accuracies without performance is one that ran the suite."""
    warehouse.add(*nightly("1", "2"))
    for run_id, status in (("1", "pass"), ("2", "fail_accuracy")):
        warehouse.add(it := imported("m", run_id), outcome(it, status, kind="accuracy"))

    assert [row[:4] for row in warehouse.rows(NEW)] == [("2", "m", "accuracy", "fine")]


def test_hostile_names_are_harmless(warehouse: Builder) -> None:
    """Braces, quotes and percent signs in names and reasons are text."""
    name = "{:d}'; DROP TABLE runs; -- %s {}"
    it = imported(name)
    warehouse.add(run(), it, outcome(it, "OOM", reason=name))

    assert warehouse.rows("SELECT name, why FROM flags()") == [(name, f"OOM: {name}")]


@pytest.mark.exhaustive
def test_a_model_that_fails_without_its_batch_size_is_the_same_case(warehouse: Builder) -> None:
    """It was measured at a batch size, it failed without one, twice: lost, broken and flagged once, by one rule."""
    warehouse.add(
        *nightly("1", "2", "3"), good := imported("m", "1", batch_size=8), outcome(good), metric(good, "speedup", 2.0)
    )
    for run_id in ("2", "3"):
        warehouse.add(it := imported("m", run_id), outcome(it, "OOM"), metric(it, "graph_breaks", 3.0, unit="count"))
    warehouse.add(metric(good, "graph_breaks", 2.0, unit="count"))

    assert warehouse.rows("SELECT DISTINCT same_id FROM _same_cases") == [(good.case_id,)]
    query = "SELECT run_id, metric, before, previous_run FROM newly_flagged() ORDER BY ALL"
    assert warehouse.rows(query) == [("2", "status", "fine", "1")]
    assert warehouse.rows("SELECT run_id, status FROM coverage_losses") == [("2", "OOM")]
    query = "SELECT DISTINCT metric, candidate_status, verdict FROM comparisons(['1'], ['2']) ORDER BY ALL"
    assert warehouse.rows(query) == [("graph_breaks", "OOM", "BROKEN"), ("speedup", "OOM", "BROKEN")]
    for view in ("series", "history_series"):
        query = f"SELECT case_id, batch_size, position, run_id, value FROM {view} WHERE metric = 'graph_breaks' ORDER BY position"
        values = [(1, "1", 2.0), (2, "2", 3.0), (3, "3", 3.0)]
        assert warehouse.rows(query) == [(good.case_id, 8, *it) for it in values]
    query = "SELECT finding, run_id, case_id, batch_size, verdict FROM regression_findings(['2'])"
    assert warehouse.rows(query) == [("coverage", "2", good.case_id, 8, "BROKEN")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [4, 8])
def test_a_model_whose_accuracy_fails_at_some_batch_size_is_the_same_case(warehouse: Builder, size: int) -> None:
    """It was measured at 8, and in the next run has a row without one: broken, and flagged once again when it is slow."""
    sizes = {"1": 8, "2": None, "3": 8}
    cases = {run_id: imported("m", run_id, batch_size=at) for run_id, at in sizes.items()}
    judged = {run_id: imported("m", run_id, batch_size=size) for run_id in sizes}
    status = {"1": "pass", "2": "fail_to_run", "3": "pass"}
    warehouse.add(*nightly(*sizes), *{*cases.values(), *judged.values()})
    warehouse.add(outcome(cases["2"], "fail_to_run"), *(outcome(cases[run_id]) for run_id in "13"))
    warehouse.add(*(outcome(judged[run_id], status[run_id], kind="accuracy") for run_id in sizes))
    warehouse.add(metric(cases["1"], "speedup", 2.0), metric(cases["3"], "speedup", 0.9))

    assert warehouse.rows("FROM _same_cases") == [("2", cases["2"].case_id, cases["1"].case_id)]
    query = "SELECT batch_size, candidate_status, verdict FROM comparisons(['1'], ['2']) WHERE verdict IS NOT NULL"
    assert warehouse.rows(query) == [(8, "fail_to_run", "BROKEN")]
    assert warehouse.rows("SELECT batch_size, verdict FROM regression_findings(['2'])") == [(8, "BROKEN")]
    query = "SELECT run_id, metric, before FROM newly_flagged() ORDER BY ALL"
    assert warehouse.rows(query) == [("2", "accuracy", "fine"), ("2", "status", "fine"), ("3", "speedup", "fine")]


def test_a_case_that_may_be_several_is_none_of_them(warehouse: Builder) -> None:
    """Two batch sizes are known, or the run has the known one too: nothing is guessed."""
    for name, sizes, failed_in in (("two", (8, 16), "2"), ("both", (8,), "1")):
        for size in sizes:
            warehouse.add(it := imported(name, "1", batch_size=size), outcome(it))
        warehouse.add(it := imported(name, failed_in), outcome(it, "OOM"))
    warehouse.add(*nightly("1", "2"))

    assert warehouse.rows("FROM _same_cases") == []


def test_a_confirming_run_is_not_the_run_before(warehouse: Builder) -> None:
    """Two full nights, one confirming run of a part, another full night with nothing changed: no flag is new."""
    warehouse.add(*nightly("1", "2"), run("3", "nightly", started_at=day(3), tags=Json('{"confirms": "2"}')))
    warehouse.add(run("4", "nightly", started_at=day(4)), *result("other", "3", speedup=2.0))
    for run_id in ("1", "2", "4"):
        warehouse.add(*result("a", run_id, speedup=0.5), *result("b", run_id, speedup=0.6))

    assert [run_id for (run_id,) in warehouse.rows("SELECT run_id FROM _report_runs ORDER BY ALL")] == ["1", "2", "4"]
    assert warehouse.rows(NEW) == []
    assert warehouse.rows("SELECT run_id, run_id_before FROM summary_diff()") == [("4", "2")]
    assert warehouse.rows("SELECT DISTINCT run_id FROM history() ORDER BY ALL") == [("1",), ("2",), ("4",)]


def test_milliseconds_are_not_read_as_nanoseconds(warehouse: Builder) -> None:
    """A latency in another unit is another series: it is no latency of 5 ns."""
    warehouse.add(run(), *result("m", speedup=2.0), metric(imported("m"), "absolute_latency", 5.0, unit="ms"))

    assert warehouse.rows("SELECT speedup, candidate_ns FROM speedups") == [(2.0, None)]


def part(run_id: str, number: int, speedups: dict[str, float], hour: int = 0, **tags: str) -> list[Event]:
    """A run of some hour of a day, with tags, and what it reports of some models."""
    began = day(number) + hour * 3_600_000_000
    it = run(
        run_id, "nightly", started_at=began, git_commit=f"c{number}", tags=Json(json.dumps(tags)) if tags else None
    )
    return [it, *(event for name, speedup in speedups.items() for event in result(name, run_id, speedup=speedup))]


REPORTS = "SELECT run_id, report_id, part, parts, selection FROM _report_runs ORDER BY run_id"
DIFF = (
    "SELECT run_id, run_id_before, n, n_before, rate, round(speedup, 6), round(speedup_before, 6) FROM summary_diff()"
)
LOST = "SELECT run_id, name, status, before_run_id FROM coverage_losses"


@pytest.mark.exhaustive
def test_parts_of_one_night_are_one_report(warehouse: Builder) -> None:
    """Two machines, two nights: nothing is absent from either part, and what is slow is new against the night before."""
    warehouse.add(*part("1a", 1, {"a": 2.0}, partition="1/2"), *part("1b", 1, {"b": 8.0}, 1, partition="2/2"))
    warehouse.add(*part("2a", 2, {"a": 0.5}, partition="1/2"))
    assert warehouse.rows(LOST) == []  # the other part may still come

    warehouse.add(*part("2b", 2, {"b": 0.5, "c": 0.5}, 1, partition="2/2"))
    assert warehouse.rows(REPORTS) == [
        ("1a", "1b", 1, 2, None), ("1b", "1b", 2, 2, None), ("2a", "2b", 1, 2, None), ("2b", "2b", 2, 2, None),
    ]  # fmt: skip
    assert warehouse.rows(DIFF) == [("2b", "1b", 3, 2, "100%, 3/3", 0.5, 4.0)]
    assert [(*row[:5], row[-1]) for row in warehouse.rows(NEW)] == [
        ("2a", "a", "speedup", "fine", 2.0, 1), ("2b", "b", "speedup", "fine", 8.0, 1),
        ("2b", "c", "speedup", "absent", None, 0),
    ]  # fmt: skip
    assert warehouse.rows(LOST) == []
    assert warehouse.rows("SELECT run_id, n, position FROM history() ORDER BY position") == [("1b", 2, 1), ("2b", 3, 2)]


def test_what_resumes_a_run_is_part_of_its_report(warehouse: Builder) -> None:
    """Even on another day: what was interrupted counts as it was measured then; what is gone is absent from both."""
    warehouse.add(*part("1", 1, {"a": 2.0, "b": 2.0, "gone": 2.0}), *part("2", 2, {"a": 2.0}))
    warehouse.add(it := imported("b", "2"), outcome(it, "interrupted"))
    warehouse.add(*part("3", 3, {"b": 0.5}, resumes="2"))

    assert [row[:4] for row in warehouse.rows(REPORTS)] == [("1", "1", 1, 1), ("2", "3", 1, 2), ("3", "3", 2, 2)]
    assert warehouse.rows(LOST) == [("3", "gone", "absent", "1")]
    assert [row[:4] for row in warehouse.rows(NEW)] == [("3", "b", "speedup", "fine")]
    assert warehouse.rows(DIFF) == [("3", "1", 2, 3, "100%, 2/2", 1.0, 2.0)]


@pytest.mark.exhaustive
def test_a_selection_is_compared_with_the_same_selection(warehouse: Builder) -> None:
    """A run of --only between two whole ones: nothing is absent from it, and it is not what the next is compared with."""
    whole = {"a": 2.0, "b": 2.0}
    warehouse.add(*part("1", 1, whole), *part("2", 2, {"a": 0.5}, only="a"), *part("3", 3, whole))
    assert (warehouse.rows(LOST), warehouse.rows(NEW)) == ([], [])
    assert warehouse.rows(DIFF) == [("3", "1", 2, 2, "100%, 2/2", 2.0, 2.0)]
    assert warehouse.rows("SELECT run_id FROM history() ORDER BY position") == [("1",), ("3",)]

    warehouse.add(*part("4", 4, {"a": 2.0}, only="a"), *part("5", 5, {"a": 0.5}, only="a"))
    assert [row[:4] for row in warehouse.rows(NEW)] == [("5", "a", "speedup", "fine")]


def test_flags_of_chosen_runs_are_what_they_are_among_all(warehouse: Builder) -> None:
    """`runs` leaves rows out and changes none: the reports before are looked at all the same."""
    warehouse.add(*nightly("1", "2", "3", "4", "5"))
    for run_id, speedup in zip("12345", (0.9, 1.1, 0.8, 1.2, 0.7), strict=True):
        warehouse.add(*result(run=run_id, speedup=speedup))
    columns = "run_id, name, metric, before, value_before, fine_since, fine_runs, why"

    found = warehouse.rows(f"SELECT {columns} FROM newly_flagged() ORDER BY ALL")
    assert [row[0] for row in found] == ["3", "5"]
    for run_id, row in zip("35", found, strict=True):
        assert warehouse.rows(f"SELECT {columns} FROM newly_flagged(runs := [?])", [run_id]) == [row]
    assert warehouse.rows("SELECT count(*) FROM newly_flagged(runs := ['4'])") == [(0,)]
