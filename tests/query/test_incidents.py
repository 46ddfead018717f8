"""Incidents: cases that moved together are one finding, after the suite whose number moved."""

import json
from typing import Any

import pytest
from bench.cli import cli
from bench.query.change.history import COLUMNS
from bench.query.change.incidents import LEAST_MEMBERS, find_incidents, without_members
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
verdict  model                           metric           kind  since       commits               before         after          change
───────  ──────────────────────────────  ───────────────  ────  ──────────  ────────────────────  ─────────────  ─────────────  ─────────────────────────────
WORSE    (suite)                         suite_pass_rate  step  1970-01-21  190000000..200000000  1 (n=20)       0.75 (n=10)    -25.0 % (95 % -25.0 to -25.0)
WORSE    (suite)                         suite_speedup    step  1970-01-21  190000000..200000000  1.77307 (n=6)  1.7033 (n=10)  -3.9 % (95 % -3.9 to -3.9)
WORSE    (suite)                         suite_speedup    step  1970-01-15  130000000..140000000  2 (n=14)       1.77307 (n=6)  -11.3 % (95 % -11.3 to -11.3)
SLOWER   4 cases: m0, m1, m2 and 1 more  latency          step  1970-01-15  130000000..140000000  999.9 µs       1.345 ms       +34.6 % (+20.0 to +49.9)
FASTER   m7                              latency          step  1970-01-15  130000000..140000000  1 ms (n=14)    800 µs (n=16)  -20.0 % (95 % -20.2 to -19.9)
"""  # noqa: E501


def test_a_suite_comes_first_and_then_what_moved_together(store: Store) -> None:
    """Four models got slower and one faster: one incident with its members, and one change of its own."""
    result = ask(store, "history", "--backends", "inductor", "--wide")
    until = TABLE.index("change\n") + len("change")

    assert [line[:until].rstrip() for line in result.stdout.splitlines()] == [
        line[:until].rstrip() for line in TABLE.splitlines()
    ]
    assert [line.partition("  > 99.99 %")[0].rstrip() for line in result.stdout.splitlines()[2:]] == TABLE.splitlines()[
        2:
    ]
    assert "8 steps in 7 of 10 series judged" in result.stderr
    assert "4 changes in 1 incident; list them with: --members" in result.stderr


def test_members_are_listed_if_asked_for(store: Store) -> None:
    """Each on a line of its own; and nothing is said of incidents."""
    result = ask(store, "history", "--backends", "inductor", "--members")

    assert [line.split()[1] for line in result.stdout.splitlines()[2:5]] == ["(suite)"] * 3
    assert {line.split()[1] for line in result.stdout.splitlines()[5:]} == set(MOVED)
    assert "incident" not in result.stderr


def test_incidents_can_be_selected(store: Store) -> None:
    """With all members, and the run before."""
    query = "SELECT members, names, good_run_id, since_run_id, verdict, change, most_change FROM incidents"
    (found,) = json.loads(ask(store, "sql", query, "--format", "json").stdout)

    assert (found["members"], found["names"]) == (4, ["m0", "m1", "m2", "m3"])
    assert (found["good_run_id"], found["since_run_id"], found["verdict"]) == ("run-13", "run-14", "SLOWER")
    geometric = (1.5 * 1.2 * 1.3 * 1.4) ** (1 / 4) - 1
    assert (found["change"], found["most_change"]) == (
        pytest.approx(geometric, abs=0.002),
        pytest.approx(0.5, abs=0.002),
    )


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


def moved(name: str | None, change: float | None, **columns: Any) -> dict[str, Any]:
    """A row of `change_points` by which an incident is told."""
    shared = dict.fromkeys(COLUMNS) | {
        "kind": "step",
        "metric": "latency",
        "since_run_id": "r",
        "verdict": "SLOWER",
        "p": 0.0,
    }
    return {**shared, "name": name, "change": change, "before": 1.0, "after": 1 + (change or 0), **columns}


CHANGES = st.builds(
    moved,
    st.sampled_from([None, "a", "b", "c", "d"]),
    st.sampled_from([None, -0.5, -0.1, 0.1, 0.5]),
    kind=st.sampled_from(["step", "excursion", "two levels"]),
    since_run_id=st.sampled_from(["r", "s"]),
    before=st.sampled_from([0.0, 1.0]),
)


@given(st.lists(CHANGES, max_size=40))
def test_every_change_is_in_one_incident_or_stands_alone(changes: list[dict[str, Any]]) -> None:
    """None is lost; what has no direction, and suites, belong to none."""
    incidents = find_incidents(changes)
    alone = list(without_members(changes, incidents))

    assert sum(row["members"] for row in incidents) + len(alone) == len(changes)
    assert all(row["members"] >= LEAST_MEMBERS for row in incidents)
    assert all(
        row in alone for row in changes if row["name"] is None or row["change"] is None or row["kind"] == "two levels"
    )


def test_what_always_drifted_did_not_begin_together() -> None:
    """Three drifts since the first run are no incident; three since another run are one."""
    always = [moved(name, 0.1, kind="drift") for name in "abc"]
    later = [{**row, "good_run_id": "q"} for row in always]

    assert find_incidents(always) == []
    assert [row["members"] for row in find_incidents(later)] == [3]
