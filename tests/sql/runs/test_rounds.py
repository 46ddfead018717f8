"""Rounds: what one night measured of a config is judged together, be it one file or one for each shard."""

from typing import Any

from bench.warehouse.events import Instant

from ...builders import Builder, case, chunk, metric, outcome, run, source
from ...exhaustive import exhaustive

MINUTE = 60_000_000  # in µs


def _measured(warehouse: Builder, run_id: str, minute: int, *names: str, value: float = 1.0, **fields: Any) -> None:
    """A run that began at this minute and measured these cases."""
    fields = {"source": "google-benchmark", **fields}
    warehouse.add(run(run_id, "c", started_at=Instant(minute * MINUTE), **fields))
    for name in names:
        it = case(name, run=run_id)
        warehouse.add(it, metric(it, "latency", value, unit="ns", better="lower"), outcome(it))


def _rounds(warehouse: Builder) -> list[list[str]]:
    query = "SELECT list(run_id ORDER BY began_at, run_id) FROM _rounds GROUP BY round_id ORDER BY min(began_at), 1"
    return [runs for (runs,) in warehouse.rows(query)]


def test_files_within_half_an_hour_are_one_round(warehouse: Builder) -> None:
    """Shards and a rerun of one; what began later is another night."""
    for run_id, minute, name in (("core", 0, "a"), ("algo", 5, "b"), ("again", 20, "b"), ("next", 1440, "a")):
        _measured(warehouse, run_id, minute, name)

    assert _rounds(warehouse) == [["core", "algo", "again"], ["next"]]


def test_one_commit_is_one_round(warehouse: Builder) -> None:
    """However long its night takes, and with a file that does not say the commit; another commit is another round."""
    for run_id, minute, commit in (("core", 0, "c1"), ("algo", 300, "c1"), ("mute", 290, None), ("later", 310, "c2")):
        _measured(warehouse, run_id, minute, run_id, git_commit=commit)
    assert _rounds(warehouse) == [["core", "algo"], ["mute"], ["later"]]

    _measured(warehouse, "beside", 5, "d")
    assert _rounds(warehouse)[0] == ["core", "beside", "algo"]


def test_what_bench_measures_again_begins_a_round(warehouse: Builder) -> None:
    """A change tried by hand is no repeat of what was before it, where no clean commit says so; other cases join the round."""
    for run_id, minute, name in (("one", 0, "a"), ("more", 1, "b"), ("changed", 2, "a"), ("rest", 3, "b")):
        _measured(warehouse, run_id, minute, name, source="measure", git_dirty=True, git_commit="c1")

    assert _rounds(warehouse) == [["one", "more"], ["changed", "rest"]]


def test_a_log_of_steps_began_with_its_first_step(warehouse: Builder) -> None:
    """A week of logs is in order of its days, however it was loaded, and each is a round, also two of one half hour."""
    for loaded, (run_id, minute) in enumerate((("tuesday", 1440), ("evening", 20), ("monday", 0), ("mute", None))):
        at = None if minute is None else Instant(minute * MINUTE)
        warehouse.add(
            run(run_id, "c", source="scheduler"), source(run_id, run=run_id, recorded_at=Instant(5000 * MINUTE + loaded)),
            chunk(1, run=run_id, source_id=run_id, recorded_at=at and Instant(at + MINUTE)),
            chunk(2, run=run_id, source_id=run_id, recorded_at=at),
        )  # fmt: skip

    assert _rounds(warehouse) == [["monday"], ["evening"], ["tuesday"], ["mute"]]
    query = "SELECT run_id FROM run_summaries ORDER BY began_at"
    assert warehouse.rows(query) == [("monday",), ("evening",), ("tuesday",), ("mute",)]


@exhaustive
def test_a_night_of_several_files_is_judged_whole(warehouse: Builder) -> None:
    """A slower case of an earlier file is found, and no case of it is REMOVED; a missing shard is."""
    for night in range(8):
        at = night * 1440
        _measured(warehouse, f"algo-{night}", at, "b0", "b1", "b2", value=(1.5 if night == 7 else 1) + night % 3 / 200)
        _measured(warehouse, f"core-{night}", at + 2, "a0", "a1", "a2", value=1 + night % 3 / 200)
    runs = [run_id for (run_id,) in warehouse.rows("SELECT run_id FROM run_repeats('core-7') ORDER BY run_id")]
    assert runs == ["algo-7", "core-7"]
    query = "SELECT DISTINCT verdict, name FROM regression_findings(?::VARCHAR[]) WHERE verdict NOT IN ('SAME') ORDER BY ALL"
    found = warehouse.rows(query, [runs])
    assert {name for _, name in found} == {"b0", "b1", "b2"} and not {"REMOVED"} & {verdict for verdict, _ in found}

    _measured(warehouse, "core-8", 8 * 1440, "a0", "a1", "a2")
    assert ("REMOVED", "b0") in warehouse.rows(query, [["core-8"]])


def test_rounds_are_listed_with_their_runs(warehouse: Builder) -> None:
    """A round of several runs stands above them; a round of one is its run."""
    for run_id, minute in (("core", 0), ("algo", 5), ("next", 1440)):
        _measured(warehouse, run_id, minute, run_id)

    assert warehouse.rows("SELECT run_ids, runs, cases FROM rounds ORDER BY began_at") == [
        (["core", "algo"], 2, 2),
        (["next"], 1, 1),
    ]
    assert sorted(text for (text,) in warehouse.rows("SELECT run FROM listed_runs")) == [
        "next", "round of 2", "· algo", "· core",
    ]  # fmt: skip


@exhaustive
def test_where_no_processor_is_known_all_cases_together_are_no_alarm(warehouse: Builder) -> None:
    """Four cases 60 % slower may be another machine; three of them would not be."""
    for night in range(8):
        for name in "abcd":
            _measured(
                warehouse, f"{name}-{night}", night * 1440, name, value=(1.6 if night == 7 else 1) + night % 3 / 200
            )
    query = "SELECT verdict, p, reason FROM regressions(?::VARCHAR[])"
    found = warehouse.rows(query, [[f"{name}-7" for name in "abcd"]])
    assert {verdict for verdict, *_ in found} == {"UNSURE"} and all(p is None for _, p, _ in found)
    assert all("no processor is known" in reason for *_, reason in found)
