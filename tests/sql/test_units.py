"""A metric is known by its unit, too; a name that a user gives one changes nothing else."""

import pytest

from ..builders import Builder, case, metric, outcome, run


def test_two_units_of_one_metric_stay_apart(warehouse: Builder) -> None:
    """5 ms are no 5 ns: a row each in cells and comparisons, a mean each, and one row of results, with the time in ns."""
    warehouse.add(run("a"), run("b"))
    for run_id, ns in (("a", 4e6), ("b", 8e6)):
        it = case("m", run_id, backend="inductor")
        warehouse.add(it, outcome(it), metric(it, "compile_latency", ns / 1e6, unit="ms", better="lower"))
        for name in ("latency", "compile_latency"):
            warehouse.add(metric(it, name, ns, unit="ns", better="lower", phase="steady"))
        warehouse.add(metric(it, "latency", ns / 1e6, unit="ms", better="lower", phase="steady"))

    kept = [("compile_latency", "ms"), ("compile_latency", "ns"), ("latency", "ms"), ("latency", "ns")]
    assert warehouse.rows("SELECT metric, unit FROM cells WHERE run_id = 'a' ORDER BY ALL") == kept
    assert warehouse.rows("SELECT metric, unit FROM comparisons(['a'], ['b']) ORDER BY ALL") == kept
    means = "SELECT metric, unit, ratio, n FROM comparison_means(['a'], ['b']) ORDER BY ALL"
    assert warehouse.rows(means) == [(*it, pytest.approx(0.5), 1) for it in kept]
    results = "SELECT run_id, median_ns, compile_ns FROM model_results ORDER BY run_id"
    assert warehouse.rows(results) == [("a", 4e6, 4e6), ("b", 8e6, 8e6)]


def test_a_metric_of_the_user_called_speedup_changes_nobodys_passing(warehouse: Builder) -> None:
    """A program records it of one case: neither that case nor another of its backend needs a speedup to pass."""
    recorded, plain = (case(name, backend="inductor") for name in ("recorded", "plain"))
    warehouse.add(run(), recorded, plain, outcome(recorded), outcome(plain), metric(recorded, "speedup", 0.5))

    query = "SELECT name, passing, speedup, origin FROM case_summaries ORDER BY name"
    assert warehouse.rows(query) == [("plain", True, None, None), ("recorded", True, None, None)]
    assert warehouse.rows("SELECT * FROM flags()") == []


def test_an_import_reports_a_speedup_of_the_cases_that_have_one(warehouse: Builder) -> None:
    """Of results of torch.compile a case without one does not pass; of any other file it does."""
    for run_id, source in (("a", "csv"), ("b", "torch-compile")):
        fast, plain = (case(name, run_id, backend="inductor", source_id="f") for name in ("fast", "plain"))
        warehouse.add(run(run_id, source=source), fast, plain, outcome(fast), outcome(plain))
        warehouse.add(metric(fast, "speedup", 1.5, unit="ratio"), metric(plain, "speedup", 150.0, unit="%"))

    query = "SELECT run_id, name, passing, speedup FROM case_summaries ORDER BY ALL"
    assert warehouse.rows(query) == [
        ("a", "fast", True, 1.5), ("a", "plain", True, None), ("b", "fast", True, 1.5), ("b", "plain", False, None),
    ]  # fmt: skip
