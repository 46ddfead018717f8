"""Forget, remember, rename, tag: events like all others, so that every way to a store gives the same."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench.ingest.plan import SourceOptions
from bench.ingest.run import ingest
from bench.query.edits.edits import forget, remember, rename, tag, untag
from bench.query.edits.selection import select_runs
from bench.query.resolve import resolve_run
from bench.warehouse import load as loading
from bench.warehouse.changes import RunChanges
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.events import TABLES, Instant, Metric, RunChange, RunRecord
from bench.warehouse.log import EventLog
from bench.warehouse.recorder import run as record_run
from bench.warehouse.remote.sync import sync
from bench.warehouse.store import Store
from bench.warehouse.upkeep.archive import archive
from bench.warehouse.upkeep.compaction import compact
from bench.warehouse.upkeep.verify import verify
from click.testing import CliRunner, Result

from ..builders import Builder, case, metric, run, stored
from ..exhaustive import exhaustive, first_of

MB = 1 << 20
OCTOBER, NOVEMBER = Instant(1_760_000_000_000_000), Instant(1_762_500_000_000_000)
RUNS = {"aaaa-1": ("main", OCTOBER), "aaaa-2": ("main", NOVEMBER), "bbbb-1": ("fuse", NOVEMBER)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of three runs, as if recorded, and one import."""
    folder = tmp_path_factory.mktemp("edits")
    store = Store(folder / "store")
    for run_id, (config, began) in RUNS.items():
        row = run(run_id, config, started_at=began, tags='{"gpu": "h100"}', git_commit="c0ffee")
        EventLog(store).write(RunRecord, [row], run_id)
        it = case("m", run_id)
        EventLog(store).write(type(it), [it], run_id)
        EventLog(store).write(Metric, [metric(it, "loss", 1.0)], run_id)
    (folder / "day.json").write_text('{"results": [{"command": "a", "mean": 0.1, "times": [0.1]}]}')
    ingest(store, [f"day:{folder / 'day.json'}"])
    return store


@pytest.fixture
def store(made: Store, tmp_path: Path) -> Store:
    """A copy of it."""
    shutil.copy(made.root.parent / "day.json", tmp_path / "day.json")
    return Store(Path(shutil.copytree(made.root, tmp_path / "store")))


def contents(store: Store) -> dict[str, list[str]]:
    """All rows of all tables, events and views of runs, but when each change was made."""
    found = {}
    with Warehouse.open(store) as warehouse:
        for table in [*TABLES, "run_summaries", "cells", "_selectable_runs", "samples", "_report_runs"]:
            found[table] = sorted(map(str, warehouse.rows(f"FROM {table}")))
    return found


def configs(store: Store) -> list[tuple[Any, ...]]:
    """The config of every run that is in view."""
    return stored("SELECT run_id[:6], config FROM run_summaries WHERE source = 'api' ORDER BY 1", store)


def ids(store: Store, *names: str, forgotten: bool = False) -> list[str]:
    """The runs that names mean."""
    with Warehouse.open(store) as warehouse:
        return [run.run_id for run in select_runs(warehouse, names, forgotten=forgotten)]


def test_a_forgotten_run_is_in_no_table_or_view_but_those_that_say_so(store: Store) -> None:
    """Its events stay in the log; nothing that is derived from them does."""
    forget(store, ["aaaa-1"], reason="fans off")

    with Warehouse.open(store) as warehouse:
        tables = [
            name for (name,) in warehouse.rows("SELECT table_name FROM duckdb_columns() WHERE column_name = 'run_id'")
        ]
        holding = {
            table
            for table in set(tables)
            if not table.startswith("__") and warehouse.rows(f"FROM {table} WHERE run_id = 'aaaa-1' LIMIT 1")
        }
        assert holding == {"run_changes", "forgotten_runs", "_selectable_runs"}
        assert warehouse.rows("SELECT run_id, config, reason, dropped FROM forgotten_runs") == [
            ("aaaa-1", "main", "fans off", False)
        ]
    assert verify(store).problems == {}


@pytest.mark.exhaustive
def test_a_tag_makes_a_run_part_of_another_report(store: Store) -> None:
    """A run that resumes another belongs to its report, until the tag is gone."""

    def parts() -> list[tuple[Any, ...]]:
        return stored("SELECT run_id, parts FROM _report_runs WHERE config = 'main' ORDER BY run_id", store)

    tag(store, ["aaaa-2"], {"resumes": "aaaa-1"})
    assert parts() == [("aaaa-1", 2), ("aaaa-2", 2)]
    untag(store, ["aaaa-2"], ["resumes"])
    assert parts() == [("aaaa-1", 1), ("aaaa-2", 1)]


def change_all(store: Store) -> None:
    """One change of each kind."""
    forget(store, ["fuse", "aaaa-2"])
    remember(store, ["fuse"])
    rename(store, ["fuse", "day"], "base")
    tag(store, ["main", "base"], {"a": "1", "gpu": "x"})
    untag(store, ["base"], ["a", "gpu"])


@exhaustive
def test_a_rebuild_from_the_log_alone_gives_the_same_store(store: Store) -> None:
    """The log holds every change; the warehouse may be deleted."""
    change_all(store)
    before = contents(store)

    store.database.unlink()
    loading.rebuild(store)

    assert contents(store) == before
    assert configs(store) == [("aaaa-1", "main"), ("bbbb-1", "base")]
    assert verify(store).problems == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("other", ["new", "same", "compacted"])
def test_another_store_has_the_changes_after_a_sync(store: Store, tmp_path: Path, other: str) -> None:
    """Also one that had the runs before, and one that compacted them first."""
    target = Store(tmp_path / "target")
    if other != "new":
        shutil.copytree(store.root, target.root)
    if other == "compacted":
        compact(target, below_bytes=MB, target_bytes=MB)
    change_all(store)

    sync(store, target)

    assert contents(target) == contents(store)
    assert verify(target).problems == {}


@pytest.mark.exhaustive
def test_compaction_changes_no_answer(store: Store) -> None:
    """Forgotten runs, new names and tags stay; a rebuild agrees, and a second one has nothing to do."""
    change_all(store)
    before = contents(store)
    compact(store, below_bytes=MB, target_bytes=MB)
    after = contents(store)

    same = before.keys() - {"run_changes", "_selectable_runs"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert compact(store, below_bytes=MB, target_bytes=MB) == 0
    loading.rebuild(store)
    assert contents(store) == after
    assert verify(store).problems == {}


@pytest.mark.exhaustive
def test_compaction_removes_the_events_of_forgotten_runs_for_good(store: Store, tmp_path: Path) -> None:
    """From small files and from one that was merged before; a store that has the originals still drops them after a sync."""
    other = Store(Path(shutil.copytree(store.root, tmp_path / "other")))
    compact(store, below_bytes=MB, target_bytes=MB)
    forget(store, ["aaaa-1"])
    compact(store, below_bytes=MB, target_bytes=MB)

    holding = {file.table for file in EventLog(store).files() if "aaaa-1" in str(pq.read_table(file.path).to_pydict())}
    assert holding == {"run_changes"}
    with pytest.raises(
        BenchError, match="run aaaa-1 of main cannot be remembered: `bench store compact` has removed its events"
    ):
        remember(store, ["aaaa-1"])
    sync(store, other)
    assert contents(other) == contents(store)
    assert not any("aaaa-1" in row for row in contents(other)["cases"])


@pytest.mark.exhaustive
def test_a_drop_outlasts_a_remember_of_another_store(store: Store, tmp_path: Path) -> None:
    """Whichever was said last: events that are gone somewhere do not come back in part."""
    forget(store, ["aaaa-1"])
    other = Store(Path(shutil.copytree(store.root, tmp_path / "other")))
    compact(store, below_bytes=MB, target_bytes=MB)
    remember(other, ["aaaa-1"])

    sync(store, other)
    sync(other, store)

    assert contents(other)["cases"] == contents(store)["cases"]
    assert configs(other) == configs(store) == [("aaaa-2", "main"), ("bbbb-1", "fuse")]


@pytest.mark.exhaustive
def test_an_archive_takes_the_names_and_tags_of_its_runs_along(store: Store, tmp_path: Path) -> None:
    """Forgotten runs stay behind, and forgotten."""
    target = Store.find(tmp_path / "archive")
    rename(store, ["aaaa-1"], "base")
    tag(store, ["aaaa-1"], {"a": "1"})
    forget(store, ["aaaa-2"])

    archive(store, target, datetime(2025, 11, 1))

    assert configs(target) == [("aaaa-1", "base")]
    assert json.loads(stored("SELECT tags FROM runs", target)[0][0]) == {"gpu": "h100", "a": "1"}
    assert configs(store) == [("bbbb-1", "fuse")]
    assert ids(store, "main", forgotten=True) == ["aaaa-2"]
    assert verify(store).problems == {} == verify(target).problems


@pytest.mark.exhaustive
def test_a_remembered_run_is_what_it_was(store: Store) -> None:
    """To the last row."""
    before = contents(store)
    forget(store, ["main", "day"])
    assert configs(store) == [("bbbb-1", "fuse")]
    remember(store, ["main", "day"])

    after = contents(store)
    assert {name: after[name] for name in after if name != "run_changes"} == {
        name: before[name] for name in before if name != "run_changes"
    }


@pytest.mark.exhaustive
def test_the_change_made_last_counts_whatever_the_clock_says(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is behind can still undo."""
    forget(store, ["aaaa-1"])
    monkeypatch.setattr("bench.warehouse.changes.time.time_ns", lambda: 1)
    remember(store, ["aaaa-1"])

    assert ("aaaa-1", "main") in configs(store)


@exhaustive
def test_runs_are_named_by_id_config_commit_day_and_file(store: Store, tmp_path: Path) -> None:
    """A config means all its runs, `~N` one of them."""
    imported = str(tmp_path / "day.json")
    ((day,),) = [ids(store, "day")]

    assert ids(store, "aaaa-1") == ["aaaa-1"]
    assert ids(store, "main") == ["aaaa-2", "aaaa-1"]
    assert ids(store, "main~1", "fuse") == ["bbbb-1", "aaaa-1"]
    assert ids(store, "c0ff") == ["bbbb-1", "aaaa-2", "aaaa-1"]
    assert ids(store, "2025-10-09") == ["aaaa-1"]
    assert ids(store, "day.json") == [day]
    ((path,),) = stored("SELECT path FROM sources", store)
    assert ids(store, path) == ids(store, str(Path(path).parent)) == [day]
    assert imported != path


@exhaustive
def test_a_config_that_ends_in_a_number_back_is_that_config(store: Store) -> None:
    """`main~1` means the config of `--revisions HEAD~1` where there is one, so that nothing else is forgotten."""
    EventLog(store).write(RunRecord, [run("dddd-1", "main~1", started_at=OCTOBER)], "dddd-1")
    assert ids(store, "main~1") == ["dddd-1"]
    assert ids(store, "fuse~0") == ["bbbb-1"]


@pytest.mark.parametrize(
    ("name", "message"),
    first_of(
        2,
        [
            ("mian", r"no run 'mian' in .*\. Nearest: 'main'\. List them with: bench list runs"),
            ("2020-01-01", "no run '2020-01-01'"),
            ("main~5", "no run 'main~5': main has 2"),
            ("dya.json", "Nearest: .*day.json"),
        ],
    ),
)
def test_a_name_that_means_no_run_is_an_error_with_the_nearest(store: Store, name: str, message: str) -> None:
    """Nothing is written."""
    before = EventLog(store).files()
    with pytest.raises(BenchError, match=message):
        forget(store, ["main", name])

    assert EventLog(store).files() == before


@exhaustive
def test_a_run_that_is_being_recorded_is_not_forgotten(store: Store) -> None:
    """Its writer goes on; what it writes would be lost."""
    with record_run("live", store=store, run_id="live-1") as live:
        live.case("m")
        EventLog(store).write(RunRecord, [run("live-1", "live")], "early")
        with pytest.raises(BenchError, match="run live-1 is still being recorded"):
            forget(store, ["live-1"])


@pytest.mark.exhaustive
def test_a_forgotten_file_is_not_loaded_again_but_on_request(store: Store, tmp_path: Path) -> None:
    """It is said how; before and after compaction. What is loaded again is a new run, beside one that is remembered."""
    file, (old,) = str(tmp_path / "day.json"), ids(store, "day")
    forget(store, ["day"])

    report = ingest(store, [f"day:{file}"])
    assert [(line.loaded, line.known) for line in report.lines] == [(0, 1)]
    assert f"bench remember {old}" in report.notes[0]
    assert "bench ingest --again" in report.notes[0]
    report = ingest(store, [f"day:{file}"], sources=SourceOptions(again=True))
    assert [(line.loaded, line.known) for line in report.lines] == [(1, 0)]
    (new,) = ids(store, "day")
    assert new != old
    assert ingest(store, [f"day:{file}"]).lines[0].known == 1
    remember(store, [old])
    assert sorted(ids(store, "day")) == sorted([old, new])
    assert verify(store).problems == {}


@pytest.mark.exhaustive
def test_a_forgotten_file_is_known_after_compaction(store: Store, tmp_path: Path) -> None:
    """The tombstone says what was imported, though its events are gone."""
    forget(store, ["day"])
    compact(store, below_bytes=MB, target_bytes=MB)

    assert ingest(store, [f"day:{tmp_path / 'day.json'}"]).lines[0].known == 1


@pytest.mark.exhaustive
def test_new_files_beside_a_forgotten_one_do_not_join_its_run(store: Store, tmp_path: Path) -> None:
    """They would be forgotten with it."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    step = '{"batch_id": %d, "chunk_sizes": [1], "schedule_ms": 1.0, "model_run_ms": 2.0}\n'
    (folder / "steps_0.jsonl").write_text(step % 0)
    ingest(store, [str(folder)])
    forget(store, ["profiles"])
    (folder / "steps_1.jsonl").write_text(step % 1)
    ingest(store, [str(folder)])

    assert stored("SELECT batch_id, config FROM schedule_chunks JOIN runs USING (run_id)", store) == [(1, "profiles")]


@pytest.mark.exhaustive
def test_a_file_of_a_renamed_run_is_known_under_either_name(store: Store, tmp_path: Path) -> None:
    """It is the same file."""
    rename(store, ["day"], "night")

    for label in ("day", "night"):
        assert ingest(store, [f"{label}:{tmp_path / 'day.json'}"]).lines[0].known == 1


@exhaustive
def test_tags_are_set_replaced_and_removed(store: Store) -> None:
    """One key at a time; others stay."""
    tag(store, ["main"], {"a": "1", "b": "2"})
    tag(store, ["aaaa-1"], {"a": "3"})
    untag(store, ["aaaa-1"], ["b"])

    found = {
        run_id: json.loads(tags)
        for run_id, tags in stored("SELECT run_id, tags FROM runs WHERE tags IS NOT NULL", store)
    }
    assert found["aaaa-1"] == {"gpu": "h100", "a": "3"}
    assert found["aaaa-2"] == {"gpu": "h100", "a": "1", "b": "2"}
    with pytest.raises(UnknownName, match=r"no tag 'gpo' in these runs\. Nearest: 'gpu'"):
        untag(store, ["aaaa-1"], ["gpo"])


@pytest.mark.exhaustive
def test_tags_are_loaded_without_building_anew(store: Store) -> None:
    """Nothing is derived from them; a rebuild gives the same."""
    EventLog(store).write(RunChange, [_tagged("aaaa-1", "gpu", None), _tagged("aaaa-2", "a", "1")], "said")
    assert not loading.load(store).rebuilt

    before = contents(store)
    loading.rebuild(store)
    assert contents(store) == before
    assert stored("SELECT tags FROM runs WHERE run_id[:4] = 'aaaa' ORDER BY run_id", store) == [
        (None,),
        ('{"a": "1", "gpu": "h100"}',),
    ]


def _tagged(run_id: str, key: str, value: str | None) -> RunChange:
    action = "untag" if value is None else "tag"
    return RunChange(run_id=run_id, change_id="1", action=action, key=key, value=value, changed_at=NOVEMBER)


@pytest.mark.exhaustive
def test_what_is_recorded_after_a_change_keeps_it(store: Store) -> None:
    """A further file of a renamed run, with the old name in it, changes nothing; nor does one of a forgotten run."""
    rename(store, ["aaaa-1"], "base")
    forget(store, ["aaaa-2"])
    for run_id in ("aaaa-1", "aaaa-2"):
        EventLog(store).write(RunRecord, [run(run_id, "main", host="h")], f"late-{run_id}")
        EventLog(store).write(Metric, [Metric(run_id=run_id, metric="late", value=1.0)], f"late-{run_id}")

    assert configs(store) == [("aaaa-1", "base"), ("bbbb-1", "fuse")]
    before = contents(store)
    loading.rebuild(store)
    assert contents(store) == before


def test_secrets_in_tags_and_reasons_are_replaced(store: Store) -> None:
    """As in all that is recorded."""
    tag(store, ["main"], {"url": "https://user:hunter2secret@host/x"})
    forget(store, ["main"], reason="see https://user:hunter2secret@host/x")

    assert not any(b"hunter2secret" in file.path.read_bytes() for file in EventLog(store).files())


def test_run_labels_and_forgotten_runs(warehouse: Builder) -> None:
    """The last change of a kind counts (`_run_labels`); a dropped run is forgotten for good (`forgotten_runs`)."""
    number = iter(range(100))

    def change(run_id: str, action: str, **fields: Any) -> RunChange:
        at = next(number)
        return RunChange(run_id=run_id, change_id=str(at), action=action, changed_at=Instant(at), **fields)

    warehouse.add(
        change("a", "forget"), change("a", "remember"), change("b", "remember"), change("b", "forget", config="x")
    )
    warehouse.add(change("c", "forget"), change("c", "drop"), change("c", "remember"))
    warehouse.add(change("d", "rename", value="old"), change("d", "rename", value="new"))
    warehouse.add(
        change("d", "tag", key="k", value="v"), change("d", "untag", key="k"), change("d", "tag", key="j", value="w")
    )

    assert warehouse.rows("SELECT run_id, config, dropped FROM forgotten_runs ORDER BY 1") == [
        ("b", "x", False),
        ("c", None, True),
    ]
    changes = RunChanges.of(warehouse.connection)
    assert (changes.configs, changes.tags) == ({"d": "new"}, {"d": {"k": None, "j": "w"}})
    assert changes.retagged("d", '{"k": "1", "z": "2"}') == '{"j": "w", "z": "2"}'
    assert changes.retagged("d", "null") == '{"j": "w"}'


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command line against the store."""
    from bench.cli import cli

    monkeypatch.setenv("BENCH_STORE", str(store.root))
    return lambda *arguments: CliRunner().invoke(cli, arguments)


def test_a_proposed_command_asks_the_same_store(
    tmp_path: Path, bench: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says --store where it would ask another one: `forget latest` there would be of another run."""
    other, table = str(tmp_path / "an other"), tmp_path / "t.csv"
    table.write_text("op,ms\na,1\n")
    said = [
        bench("ingest", "--store", other, str(table), "--map", "name=op,value=ms,unit=ms").stderr.splitlines()[-1],
        bench("forget", "latest", "--store", other).stderr.strip(),
        bench("--store", other, "tag", "latest", "a=b").stderr.strip(),
    ]
    assert all(line.endswith(f" --store '{other}'") for line in said), said
    monkeypatch.setenv("BENCH_STORE", other)
    assert bench("forget", "latest").stderr.strip().endswith("bench forget latest --yes")
    assert bench("forget", "latest", "--store", other).stderr.strip().endswith("bench forget latest --yes")


@pytest.mark.exhaustive
def test_forget_and_rename_list_what_they_would_do_until_told_yes(store: Store, bench: Callable[..., Result]) -> None:
    """The command that does it is printed."""
    found = bench("forget", "main")
    assert [line.split()[:2] for line in found.stdout.splitlines()[2:]] == [["aaaa-2", "main"], ["aaaa-1", "main"]]
    assert "2 runs would be forgotten; nothing has changed. Do it with: bench forget main --yes" in found.stderr
    assert "nothing has changed. Do it with: bench rename main 'a b' --yes" in bench("rename", "main", "a b").stderr
    assert ids(store, "main") == ["aaaa-2", "aaaa-1"]

    found = bench("forget", "main", "--yes", "--reason", "fans")
    assert "this brings back: bench remember aaaa-2 aaaa-1" in found.stderr
    assert "2 runs are forgotten: list them with `bench list runs --forgotten`." in bench("runs").stderr
    assert [row["reason"] for row in json.loads(bench("runs", "--forgotten", "--format", "json").stdout)] == [
        "fans"
    ] * 2
    assert bench("remember", "aaaa-1").exit_code == 0
    assert bench("rename", "main", "base", "--yes").exit_code == 0
    assert configs(store) == [("aaaa-1", "base"), ("bbbb-1", "fuse")]
    assert "tagged" in bench("tag", "base", "k=v").stderr
    assert "labels removed" in bench("untag", "base", "k").stderr


@exhaustive
def test_samples_are_listed_where_they_are_known(store: Store, bench: Callable[..., Result]) -> None:
    """Those of runs that are forgotten are not: the column would be empty."""
    assert "samples" in bench("forget", "main", "--yes").stdout.splitlines()[0].split()
    assert "samples" not in bench("remember", "main").stdout.splitlines()[0].split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tag", "main", "novalue"], "'novalue' is not KEY=VALUE"),
        (["rename", "main", "latest"], "'latest' cannot be the name of a config"),
        (["remember", "main"], "there is no forgotten run in"),
    ],
)
def test_what_cannot_be_done_is_said(bench: Callable[..., Result], words: list[str], message: str) -> None:
    """And nothing is written."""
    found = bench(*words)

    assert message in str(found.exception)


@exhaustive
def test_a_command_that_names_a_forgotten_run_says_that_it_is(store: Store) -> None:
    """By id or config."""
    forget(store, ["main"])

    with Warehouse.open(store) as warehouse:
        with pytest.raises(BenchError, match="run aaaa-1 was forgotten"):
            resolve_run(warehouse, "aaaa-1")
        with pytest.raises(BenchError, match="the 2 runs of 'main' were forgotten"):
            resolve_run(warehouse, "main")
