"""history: the last runs of a config, gaps visible."""

from typing import Any

from bench.warehouse.events import Event

from ..builders import Builder, case, metric, outcome, run, source

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}
QUERY = "SELECT suite, position, run_id, ran, round(speedup, 9), n, passing, total FROM history({}) ORDER BY suite, position"


def report(run: str, speedup: float, suite: str = "s") -> list[Event]:
    """A suite of one case, which an import reports."""
    it = case("m", run=run, backend="inductor", source_id="file", **{**AXES, "suite": suite})
    return [it, outcome(it), metric(it, "speedup", speedup, unit="ratio")]


def test_the_last_k_runs_are_numbered_from_the_oldest(warehouse: Builder) -> None:
    """In order of time, not of their ids; older runs are left out, and so are runs that judged nothing."""
    for i, run_id in enumerate("zyxw"):
        warehouse.add(run(run_id, config="nightly", started_at=i), *report(run_id, 1.0 + i))
    warehouse.add(run("profile", config="nightly", started_at=9))

    assert warehouse.rows(QUERY.format("k := 3")) == [
        ("s", 1, "y", True, 2.0, 1, 1, 1), ("s", 2, "x", True, 3.0, 1, 1, 1), ("s", 3, "w", True, 4.0, 1, 1, 1),
    ]  # fmt: skip
    assert len(warehouse.rows(QUERY.format(""))) == 4


def test_a_gap_is_a_row(warehouse: Builder) -> None:
    """If one suite did not run, its panel has a place without a number; the others' positions are the same."""
    for i, run_id in enumerate("abc"):
        warehouse.add(run(run_id, config="nightly", started_at=i), *report(run_id, 2.0))
    warehouse.add(*report("a", 3.0, "other"), *report("c", 5.0, "other"))

    assert warehouse.rows(QUERY.format(""))[:3] == [
        ("other", 1, "a", True, 3.0, 1, 1, 1),
        ("other", 2, "b", False, None, None, None, None),
        ("other", 3, "c", True, 5.0, 1, 1, 1),
    ]


def test_configs_have_histories_of_their_own(warehouse: Builder) -> None:
    """Runs of another config are no gaps of this one; an import has the time it was loaded."""
    warehouse.add(run("a", config="A", started_at=1), *report("a", 2.0))
    for name, loaded_at in (("b2", 5), ("b1", 7)):
        warehouse.add(run(name, config="B"), source(name, run=name, recorded_at=loaded_at), *report(name, 2.0))

    query = "SELECT config, position, run_id, epoch_us(began_at) FROM history() ORDER BY ALL"
    assert warehouse.rows(query) == [("A", 1, "a", 1), ("B", 1, "b2", 5), ("B", 2, "b1", 7)]


def test_a_run_in_which_nothing_passes_has_no_mean(warehouse: Builder) -> None:
    """It ran: 0 of 1 passes, and there is no number rather than 0."""
    it = case("m", backend="inductor", source_id="file", **AXES)
    warehouse.add(run(), it, outcome(it, "OOM"))

    assert warehouse.rows(QUERY.format("")) == [("s", 1, "run", True, None, 0, 0, 1)]
