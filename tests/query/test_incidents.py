"""Incidents: cases that moved together are one finding, after the suite whose number moved."""

import json
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from bench.cli import cli
from bench.query.change.history import COLUMNS, History
from bench.query.change.incidents import find_incidents, order_runs
from bench.query.change.render import render_incidents
from bench.query.change.series import Series, SeriesRun
from bench.warehouse.events import Event
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ..builders import case, outcome, run, timing

DAY = 86_400_000_000
SPREAD = (0, 4, -3, 2, -4, 1, -1, 3, -2, 0)  # per mille
MODELS = [f"m{number}" for number in range(8)]
MOVED = {"m0": 1.5, "m1": 1.2, "m2": 1.3, "m3": 1.4, "m7": 0.8}  # of inductor's times, from day 14 on
BROKEN = ("m5", "m6")  # on inductor, on days 20 and later


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Thirty days of eight models on two backends, in each of which an event log has a file a table."""
    store = Store(tmp_path_factory.mktemp("incidents") / ".bench").create()
    for day in range(30):
        run_id = f"run-{day:02}"
        events: list[Event] = [run(run_id, "main", started_at=day * DAY, git_commit=f"{day:02}" + "0" * 38)]
        for place, model in enumerate(MODELS):
            for backend, ms in (("eager", 2.0), ("inductor", 1.0)):
                one = case(model, run_id, suite="s", mode="inference", device="cpu", dtype="float32", backend=backend)
                broken = backend == "inductor" and day >= 20 and model in BROKEN
                ms *= 1 + SPREAD[(day + place) % 10] / 1000
                ms *= MOVED.get(model, 1.0) if backend == "inductor" and day >= 14 else 1
                events += [one, outcome(one, "OOM" if broken else "ok")]
                events += [] if broken else [timing(one, round(ms * 1e6))]
        for kind in {type(event) for event in events}:
            EventLog(store).write(kind, [event for event in events if type(event) is kind], f"{run_id}.{kind.TABLE}")
    return store


def ask(store: Store, *words: str) -> Result:
    return CliRunner().invoke(cli, [*words, "--store", str(store.root)], standalone_mode=False, catch_exceptions=False)


TABLE = """\
verdict  since       what             change   cases  where  commits               from     to       also
───────  ──────────  ───────────────  ───────  ─────  ─────  ────────────────────  ───────  ───────  ────────────────────────────────────────────────
WORSE    1970-01-21  suite_pass_rate  -25.0 %      8  s      190000000..200000000  -25.0 %  -25.0 %  suite_speedup -3.9 %
SLOWER   1970-01-15  latency          +34.6 %      4  s      130000000..140000000  +20.0 %  +49.9 %  suite_speedup -11.3 %; latency -20.0 % in 1 case
"""  # noqa: E501


def test_an_incident_is_a_line_the_costliest_first(store: Store) -> None:
    """Of day 20 two models that broke; of day 14 four that got slower and one that got faster, and their suite's speedup."""
    result = ask(store, "history", "--backends", "inductor", "--wide")

    assert [line.rstrip() for line in result.stdout.splitlines()] == TABLE.splitlines()
    assert "8 steps in 7 of 10 series judged" in result.stderr
    assert "8 changes in 2 incidents; list the changes with: --members" in result.stderr


def test_members_are_listed_if_asked_for(store: Store) -> None:
    """Each on a line of its own, by incident; and nothing is said of incidents."""
    result = ask(store, "history", "--backends", "inductor", "--members")

    lines = [line.split() for line in result.stdout.splitlines()[2:]]
    assert [line[0] for line in lines] == sorted(line[0] for line in lines)
    assert sorted(line[2] for line in lines) == sorted([*MOVED, *["(suite)"] * 3])
    assert "incident" not in result.stderr


@pytest.mark.exhaustive
def test_incidents_can_be_selected(store: Store) -> None:
    """With all members, the run before, and what happened beside; each change has the number of its incident."""
    query = "SELECT * FROM incidents WHERE metric = 'latency'"
    (found,) = json.loads(ask(store, "sql", query, "--format", "json").stdout)

    assert (found["members"], found["names"], found["suites"]) == (4, ["m0", "m1", "m2", "m3"], ["s"])
    assert (found["good_run_id"], found["since_run_id"], found["verdict"], found["lasts"]) == (
        "run-13",
        "run-14",
        "SLOWER",
        True,
    )
    assert found["also"] == "suite_speedup -11.3 %; latency -20.0 % in 1 case"
    geometric = (1.5 * 1.2 * 1.3 * 1.4) ** (1 / 4) - 1
    assert (found["change"], found["most_change"]) == (
        pytest.approx(geometric, abs=0.002),
        pytest.approx(0.5, abs=0.002),
    )
    query = f"SELECT count(*) AS n FROM change_points WHERE incident = {found['incident']}"
    assert json.loads(ask(store, "sql", query, "--format", "json").stdout) == [{"n": found["changes"]}]


@pytest.mark.exhaustive
def test_suites_are_series_like_others(store: Store) -> None:
    """By metric, as data, and not where models are chosen."""

    def told(*words: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(ask(store, "history", *words, "--format", "json").stdout)
        return rows

    rates = told("--metrics", "suite_pass_rate")
    assert [(row["name"], row["before"], row["after"], row["since_run_id"]) for row in rates] == [
        (None, 1, 0.75, "run-20")
    ]
    assert {row["name"] for row in told("m")} == {"m0", "m1", "m2", "m3", "m7"}
    values = told("--metrics", "suite_speedup", "--all", "--since", "1970-01-30")
    assert [(row["n"], row["value"]) for row in values] == [(6, pytest.approx(1.703, abs=0.001))]


def moved(name: str | None, change: float, run: str = "run-20", **columns: Any) -> dict[str, Any]:
    """A row of `change_points` of which incidents are made."""
    shared = dict.fromkeys(COLUMNS) | {
        "config": "main", "case_id": name, "kind": "step", "metric": "latency", "better": "lower",
        "good_run_id": f"run-{int(run[4:]) - 1}",
        "since_run_id": run, "verdict": "SLOWER" if change > 0 else "FASTER", "p": 0.0, "lasts": True,
    }  # fmt: skip
    return {**shared, "name": name, "change": change, "before": 1.0, "after": 1 + change, **columns}


PLACES = {("main", f"run-{number}"): number for number in range(60)}


def summed(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The incidents."""
    return find_incidents(changes, PLACES, {})


CHANGES = st.builds(
    moved,
    st.sampled_from([None, "a", "b", "c", "d"]),
    st.sampled_from([-1.0, -0.5, -0.1, 0.1, 0.5]),
    st.sampled_from(["run-20", "run-21", "run-40"]),
    kind=st.sampled_from(["step", "excursion", "two levels"]),
    metric=st.sampled_from(["latency", "suite_speedup", "graph_breaks"]),
    better=st.sampled_from(["lower", "higher", None]),
    lasts=st.sampled_from([True, False, None]),
)


@given(st.lists(CHANGES, max_size=40))
def test_every_change_is_in_one_incident(changes: list[dict[str, Any]]) -> None:
    """None is lost, and incidents are numbered by their order."""
    incidents = summed(*changes)

    assert sum(row["changes"] for row in incidents) == len(changes)
    assert [row["incident"] for row in incidents] == [*range(1, len(incidents) + 1)]
    assert {row["incident"] for row in changes} == {row["incident"] for row in incidents}


def test_the_costliest_is_first() -> None:
    """Many cases by little before one by much, worse before better, what lasts before what is over, no direction last."""
    many = [moved(f"m{number}", 0.05, "run-10") for number in range(20)]
    one, better = moved("one", 0.9, "run-20"), moved("better", -0.9, "run-30")
    over = moved("over", 9.0, "run-40", lasts=False)
    count = moved("count", 5.0, "run-50", better=None, verdict=None)

    runs = [row["since_run_id"] for row in summed(count, over, better, one, *many)]
    assert runs == ["run-10", "run-20", "run-40", "run-30", "run-50"]


def test_a_suites_number_costs_as_much_as_its_cases_where_none_of_them_moved() -> None:
    """A mean that one case moved is no change of a hundred; a row is ranked by the cases that it counts."""
    panel = ("main", "s", None, None, None, None)
    one = [moved("a", 0.5, suite="s"), moved(None, 0.05, suite="s", metric="suite_speedup", better="higher")]
    compiled = [moved(name, 0.5, suite="s", metric="compile_latency") for name in "a"]
    mean = moved(None, 0.1, suite="s", metric="suite_compile_time")
    two = [moved(name, 0.3, "run-30", suite="s", metric="compile_latency") for name in "bc"]

    def first(*changes: dict[str, Any]) -> Any:
        return find_incidents(changes, PLACES, {panel: 100})[0]["since_run_id"]

    assert first(*compiled, mean, *two) == "run-30"
    assert first(mean, *two) == first(mean, *one, *two) == "run-20"


def test_cases_without_suites_are_counted_as_models() -> None:
    """A function of one's own is of no suite."""
    history = SimpleNamespace(incidents=summed(moved("a", 0.5), moved("b", 0.4)))
    columns, (row,) = render_incidents(cast(History, history))

    assert row[columns.index("where")] == "2 models"


def test_a_consequence_is_no_incident_of_its_own() -> None:
    """Gains of a run in which nothing works stand beside its losses."""
    (incident,) = summed(
        moved("a", 40.0), moved("a", 0.5, metric="compression_ratio", better="higher", verdict="BETTER")
    )

    assert (incident["metric"], incident["also"]) == ("latency", "compression_ratio +50.0 % in 1 case")


def test_a_change_that_is_dated_a_run_apart_belongs_to_the_larger_one() -> None:
    """If metric and direction are the same; so does one of a series that was not measured in between."""
    larger = [moved("a", 0.5), moved("b", 0.5)]
    late, gap = moved("c", 0.2, "run-21"), moved("d", 0.2, "run-25", good_run_id="run-18")
    another = moved("e", 0.2, "run-21", metric="compile_latency")

    assert [(row["since_run_id"], row["changes"]) for row in summed(*larger, late, gap, another)] == [
        ("run-20", 4), ("run-21", 1)
    ]  # fmt: skip


def test_speed_and_time_of_the_same_calls_are_one_incident_of_the_night_that_costs_most() -> None:
    """Of two cases the time is dated a night before that of their speedups; the row begins where most of it did."""
    speedups = [
        moved(name, change, "run-21", metric="speedup", better="higher") for name, change in (("a", -0.2), ("b", -0.2))
    ]
    times = [moved("a", 0.2, "run-20"), moved("b", 0.3, "run-21"), moved("c", 0.2, "run-21"), moved("d", 0.2, "run-21")]

    (found,) = summed(*speedups, *times)

    assert (found["metric"], found["members"], found["since_run_id"], found["also"]) == (
        "latency", 4, "run-21", "speedup -20.0 % in 2 cases",
    )  # fmt: skip


def test_what_always_drifted_is_one_incident() -> None:
    """A drift since the first run of a series did not begin with other changes of that run."""
    always = [moved(name, 0.1, "run-1", kind="drift", good_run_id=None) for name in "abc"]

    assert [row["changes"] for row in summed(*always, moved("d", 0.5, "run-1"))] == [1, 3]


def test_the_shards_of_a_night_have_one_place() -> None:
    """Runs of one round are one moment, whichever of them a series is of; rounds are counted, not the runs between."""

    def series(shard: str, *nights: int) -> Series:
        runs = [SeriesRun(f"{shard}-{night}", None, None, None, None, 10 * night) for night in nights]
        return Series({"config": "main"}, runs, np.ones(len(runs)))

    places = order_runs([series("a", 0, 1, 3), series("b", 0, 3)])
    assert {run: place for (_, run), place in places.items()} == {"a-0": 0, "b-0": 0, "a-1": 1, "a-3": 2, "b-3": 2}
