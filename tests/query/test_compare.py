"""Sides and comparisons: names mean runs and their repeats, folders are loaded, and people read what matters first."""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.command import ingest_in_place
from bench.query.comparison.compare import compare, exit_code
from bench.query.comparison.pull_request import document
from bench.query.comparison.render import machines, render, sentences, shown, verdict
from bench.query.comparison.sides import Side, find_sides, sides_in_place
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, Exit, UnknownName
from bench.warehouse.events import Environment, Event
from bench.warehouse.load import load
from bench.warehouse.recorder import run as record
from bench.warehouse.store import Store

from ..builders import Builder, case, metric, outcome, run, timing
from ..exhaustive import exhaustive, first_of

CLEAN: dict[str, Any] = {"git_commit": "c0ffee00", "git_dirty": False}
HOSTILE = "'; DROP TABLE runs; --"


def built(*events: Event) -> Any:
    """A warehouse of these events."""
    warehouse = Builder().add(*events)
    warehouse.store = Store.find("nowhere")
    return warehouse


def measured(run_id: str, factor: float, name: str = "m", backend: str = "eager") -> list[Event]:
    """A case of ten steady samples of about 1 ms × factor, in three runs whose ids begin so."""
    events: list[Event] = []
    for number in range(3):
        it = case(name, run=f"{run_id}{number}", suite="s", backend=backend)
        ns = (factor * (1_000_000 + 1000 * number + 100 * i) for i in range(10))
        events += [it, outcome(it), *(timing(it, int(each)) for each in ns)]
    return events


def once(run_id: str, name: str = "m") -> list[Event]:
    """A case of one sample of 1 ms in one run."""
    it = case(name, run=f"{run_id}0", suite="s", backend="eager")
    return [it, outcome(it), timing(it, 1_000_000)]


RUNS = [run(f"{side}{number}", side) for side in "ab" for number in range(3)]


def sides(warehouse: Builder, base: str = "a", candidate: str = "b", **options: Any) -> list[tuple[str, ...]]:
    return [side.runs for side in find_sides(warehouse, base, candidate, **options)]


def test_a_name_means_its_newest_run_and_its_repeats() -> None:
    """Runs of the same config and the same clean commit; neither others of the commit nor of the config."""
    warehouse = built(
        run("a1", "a", started_at=1, **CLEAN), run("a2", "a", started_at=2, **CLEAN), run("a3", "a", started_at=3, **CLEAN),
        run("a4", "a", started_at=4, git_commit="c0ffee00", git_dirty=True), run("a0", "a", started_at=0, git_commit="beef"),
        run("x", "x", started_at=5, **CLEAN), run("b1", "b", started_at=6), run("b2", "b", started_at=7),
    )  # fmt: skip

    assert sides(warehouse, "a~1", "b") == [("a3", "a2", "a1"), ("b2",)]
    assert sides(warehouse, "a", "b~1") == [("a4",), ("b1",)]
    assert sides(warehouse, "a", "b", all_runs=True) == [("a4", "a3", "a2", "a1", "a0"), ("b2", "b1")]


@pytest.mark.exhaustive
def test_what_a_config_has_beyond_its_side_is_counted() -> None:
    """A week of logs is a run a day, and a name means the newest: the others are said, unless they are the other side's."""
    warehouse = built(*(run(f"{config}{i}", config, started_at=i) for config in "ab" for i in range(3)))

    def others(*names: str, **options: Any) -> list[int]:
        return [side.others for side in find_sides(warehouse, *names, **options)]

    assert others("a", "b+b~1") == [2, 1]
    assert others("a~1", "a") == others("a", "b", all_runs=True) == [0, 0]
    [first, *_] = sentences(compare(mixed(), Side("a", ("a",), 2), B))
    assert first.startswith("a (run a; 2 more with --all-runs) against b (3 runs): ")


def test_runs_that_repeat_each_other_are_compared_alone() -> None:
    """latest~1 against latest of one config and commit: neither side may hold the other's run."""
    warehouse = built(*(run(f"a{i}", "a", started_at=i, **CLEAN) for i in range(4)))
    said: list[str] = []

    assert sides(warehouse, "latest~1", "latest", notify=said.append) == [("a2",), ("a3",)]
    assert said == [
        "latest~1 and latest repeat each other (same config, same commit or night): only the runs named are compared"
    ]


def test_the_shards_of_a_night_are_compared_together() -> None:
    """A tool that writes a file for each shard: the newest file alone hid what was slower in the others."""
    minute = 60_000_000
    nights = [
        (f"{shard}{day}", (day * 1440 + at) * minute) for day in (1, 2) for at, shard in enumerate(("one", "two"))
    ]
    warehouse = built(*(run(name, "a", started_at=at, source="hyperfine") for name, at in nights))
    warehouse.add(*(run(f"own{at}", "b", started_at=at * minute, source="measure") for at in (1, 2)))

    assert sides(warehouse, "a~2", "a") == [("two1", "one1"), ("two2", "one2")]
    assert sides(warehouse, "a", "b") == [("two2", "one2"), ("own2",)]


def test_names_joined_by_a_plus_are_pooled() -> None:
    """Unless the whole is a name: a config may hold a plus."""
    warehouse = built(run("r1", "a"), run("r2", "b"), run("r3", "a+b"), run("r4", "c"))

    assert sides(warehouse, "a+c+a", "b") == [("r1", "r4"), ("r2",)]
    assert sides(warehouse, "a+b", "c") == [("r3",), ("r4",)]


@pytest.mark.parametrize(
    ("base", "candidate", "message"),
    first_of(
        2,
        [
            ("a", "a", "run a is on both sides"),
            ("a", "latest~9", "latest has 2"),
            ("a", "bb", "Nearest"),
            ("a", HOSTILE, "no run"),
        ],
    ),
)
def test_sides_that_are_none_are_said(base: str, candidate: str, message: str) -> None:
    """The same run twice, too far back, misspelt, hostile."""
    warehouse = built(run("a"), run("b"))

    with pytest.raises(BenchError, match=message):
        find_sides(warehouse, base, candidate)
    assert warehouse.rows("SELECT count(*) FROM runs") == [(2,)]


def profile(folder: Path, factor: float) -> Path:
    """A scheduler profile of 64 steps, in a folder."""
    folder.mkdir(parents=True)
    steps = (
        f'{{"batch_id": {i}, "chunk_sizes": [64], "model_run_duration_ms": {factor * (10 + i % 3)}}}' for i in range(64)
    )
    (folder / "steps_0.jsonl").write_text("\n".join(steps) + "\n")
    return folder


def found_in_place(
    store: Store, *texts: str, **options: Any
) -> tuple[list[str], tuple[Side, Side], list[tuple[Any, ...]]]:
    """What is said, the sides, and the configs of the store in which they were found."""
    said: list[str] = []
    with (
        sides_in_place(store, texts, said.append, ingest_in_place, **options) as held,
        Warehouse.open(held) as warehouse,
    ):
        found = find_sides(warehouse, *texts, **options)
        return said, found, warehouse.rows("SELECT config FROM runs ORDER BY config")


def test_folders_are_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PATH and NAME:PATH, without a store, and nothing is made. Odd names are harmless."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.py").write_text("raise SystemExit('a module of the working directory ran')")
    store = Store.find(tmp_path / "store")
    base, candidate = str(profile(tmp_path / "it's; --$(x)", 1)), f"-B:{profile(tmp_path / 'b', 2)}"

    said, found, configs = found_in_place(store, base, candidate)

    assert [(side.name, len(side.runs)) for side in found] == [("it's; --$(x)", 1), ("-B", 1)]
    assert configs == [("-B",), ("it's; --$(x)",)]
    assert said == []
    assert not store.root.exists()


def test_the_root_of_all_folders_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no last component; its files are refused or read as those of any folder."""
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    root = "/".join([".."] * len(Path.cwd().parts))
    read: list[str] = []

    with sides_in_place(Store.find(tmp_path / "s"), [root], read.append, lambda store, paths: read.extend(paths)):
        assert read == [f"/:{root}"]


@pytest.mark.exhaustive
def test_what_the_store_knows_by_content_is_found_there(tmp_path: Path) -> None:
    """A folder that was ingested, also as another config, is its run; one that was not is read beside the store's runs."""
    store = Store.find(tmp_path / "store")
    one, two, new = (str(profile(tmp_path / name, factor)) for factor, name in enumerate(("one", "two", "new"), 1))
    ingest_in_place(store, [f"A:{one}"])
    ingest_in_place(store, [two])
    before = contents(store.root)

    _, found, configs = found_in_place(store, one, "two")
    _, with_new, more = found_in_place(store, "A", new)

    assert configs == [("A",), ("two",)]
    assert found[0].runs == with_new[0].runs
    assert more == [("A",), ("new",), ("two",)]
    assert contents(store.root) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def recorded(folder: Path, *runs: str) -> Store:
    """A store with runs of the config `main`, one after the other, outside of any repository."""
    folder.mkdir(parents=True)
    for run_id in runs:
        with contextlib.chdir(folder), record("main", store=folder, run_id=run_id) as recorder:
            for i in range(10):
                recorder.case("m").timing(1000 + i)
    return Store(folder)


@pytest.mark.exhaustive
def test_other_stores_are_read_in_place(tmp_path: Path) -> None:
    """A store is its newest run, NAME:STORE a run there; runs of one name in both are told apart. No store is written."""
    mine, base, candidate = (tmp_path / name / ".bench" for name in ("mine", "a", "b"))
    stores = [recorded(mine, "m1"), recorded(base, "a1", "a2"), recorded(candidate, "a1", "b1")]
    load(stores[0])
    before = [contents(store.root) for store in stores]

    _, found, _ = found_in_place(stores[0], str(base), str(candidate))
    _, named, _ = found_in_place(stores[0], f"main~1:{base}", f"main:{base}")
    _, of_folders, _ = found_in_place(stores[0], str(base.parent), "main")
    _, every, _ = found_in_place(Store(tmp_path / "none"), f"main:{base}", f"b1:{candidate}", all_runs=True)

    assert [(side.name, side.runs) for side in found] == [("a", ("a2",)), ("b", ("b1",))]
    assert [(side.name, side.runs) for side in named] == [("main~1", ("a1",)), ("main", ("a2",))]
    assert [(side.name, side.runs) for side in of_folders] == [("a", ("a2",)), ("main", ("m1",))]
    assert [(side.name, side.runs) for side in every] == [("main of a", ("a2", "a1")), ("b1 of b", ("b1",))]
    assert [contents(store.root) for store in stores] == before
    assert not (tmp_path / "none").exists()


@pytest.mark.exhaustive
def test_a_side_of_another_store_says_what_else_there_is(tmp_path: Path) -> None:
    """More runs of its config, and which runs there are where none answers to the name."""
    base = recorded(tmp_path / "a" / ".bench", "a1", "a2").root
    store = recorded(tmp_path / "mine", "m1")

    for side in (f"main:{base}", str(base)):  # its only config is meant without its name, too
        _, found, _ = found_in_place(store, side, "main")
        assert [side.others for side in found] == [1, 0]
    with pytest.raises(UnknownName, match=r"no run 'mian' in .*a/\.bench\. Nearest: 'main'"):
        found_in_place(store, f"mian:{base}", "main")


@pytest.mark.exhaustive
def test_what_a_killed_process_left_in_another_store_counts(tmp_path: Path) -> None:
    """Its journal is read, and stays where it is."""
    base = tmp_path / "a"
    if not (child := os.fork()):
        recorder = record("main", store=base, run_id="a1")
        recorder.case("m").timing(1000)
        os._exit(9)
    os.waitpid(child, 0)
    before = contents(base)
    _, found, _ = found_in_place(recorded(tmp_path / "mine", "m1"), str(base), "main")

    assert before and contents(base) == before
    assert [side.runs for side in found] == [("a1",), ("m1",)]


@pytest.mark.exhaustive
def test_a_file_that_grew_is_known_by_its_beginning(tmp_path: Path) -> None:
    """Its loaded part is its side, also while its writer is at work; other files beside it do no harm."""
    store = Store.find(tmp_path / "store")
    folders = [profile(tmp_path / name, factor) for name, factor in (("a", 1), ("b", 2))]
    texts = list(map(str, folders))
    for text in texts:
        ingest_in_place(store, [text])
    with (folders[0] / "steps_0.jsonl").open("a") as file:
        file.write('{"batch_id": 64, "chunk')
    (folders[0] / "notes.txt").write_text("no benchmark")

    with Warehouse.open(store) as warehouse:
        named = [side.runs for side in find_sides(warehouse, "a", "b")]
        assert [side.runs for side in find_sides(warehouse, *texts)] == named


@pytest.mark.exhaustive
def test_a_name_that_is_a_path_too_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how to mean the path is said."""
    monkeypatch.chdir(tmp_path)
    profile(tmp_path / "a", 1)
    store = Store.find(tmp_path / "store")
    ingest_in_place(store, ["a"])
    profile(tmp_path / "b" / "a", 2)

    said, found, _ = found_in_place(store, "a", "b/a")

    assert said == ["a is taken for the name of a run; for the path write ./a"]
    assert [side.name for side in found] == ["a", "b/a"]


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """With what `bench ingest` says about it, whichever side it is; the others are not read again to find it."""
    (tmp_path / "empty").mkdir()
    sides = [str(profile(tmp_path / "a", 1)), str(tmp_path / "empty")]

    for order in (sides, sides[::-1]):
        with pytest.raises(
            BenchError, match=rf"^{re.escape(sides[1])} could not be read: the folder .* holds no files"
        ):
            found_in_place(Store.find(tmp_path / "store"), *order)


def test_a_mapping_proposed_for_a_file_in_place_names_the_file(tmp_path: Path) -> None:
    """As it was given, with a NAME of its own or none: not as the side is called."""
    table = tmp_path / "times of a.csv"
    table.write_text("name,ms\nnet,1.5\n")
    good = str(profile(tmp_path / "b", 1))

    for given in (str(table), f"A:{table}"):
        with pytest.raises(BenchError) as refused:
            found_in_place(Store.find(tmp_path / "store"), given, good)
        assert f"\n  bench ingest '{given}' --map " in str(refused.value)


def mixed() -> Any:
    """Six cases, each with a verdict of its own."""
    gone = case("gone", run="b0", suite="s", backend="eager")
    return built(
        *RUNS,
        *measured("a", 1, "slower"), *measured("b", 1.5, "slower"), *measured("a", 1, "slow"), *measured("b", 1.2, "slow"),
        *measured("a", 2, "faster"), *measured("b", 1, "faster"), *measured("a", 1, "same"), *measured("b", 1, "same"),
        *measured("a", 1, "gone"), gone, outcome(gone, "OOM", reason="out of memory"), *measured("b", 1, "new"),
        metric(case("gone", run="a0", suite="s", backend="eager"), "compile_latency", 5.0, unit="ns", better="lower"),
        metric(case("same", run="a0", suite="s", backend="eager"), "seed", 5.0),
    )  # fmt: skip


A, B = (Side(name, tuple(f"{name}{number}" for number in range(3))) for name in "ab")


@exhaustive
def test_what_matters_comes_first() -> None:
    """Newly failing, slower by size, faster, newly measured; the same is only counted; a failed case is one row."""
    comparison = compare(mixed(), A, B)
    columns, rows = render(comparison, shown(comparison))

    assert columns == ["name", "metric", "base", "candidate", "difference", "change", "verdict", "why"]
    assert [(row[0], row[1], row[6]) for row in rows] == [
        ("gone", "latency and 1 more", "BROKEN"), ("slower", "latency", "SLOWER"), ("slow", "latency", "SLOWER"),
        ("faster", "latency", "FASTER"), ("new", "latency", "ADDED"),
    ]  # fmt: skip
    assert rows[1][2:6] == ["1.001 ms", "1.502 ms", "+500.7 µs", "1.500x slower (95 % 1.490–1.510)"]
    assert (rows[0][7], rows[1][7]) == ("candidate OOM: out of memory", "q below 0.001; 3 against 3 runs, confirmed")


@pytest.mark.exhaustive
def test_of_many_unsure_rows_the_largest_are_shown() -> None:
    """Changes would scroll away; the rest is counted by reason, and --all shows it."""
    warehouse = built(*RUNS, *measured("a", 1), *measured("b", 2))
    for number in range(12):
        warehouse.add(*measured("a", 1, f"n{number}"), *once("b", f"n{number}"))
    found = compare(warehouse, A, B)

    assert [row["verdict"] for row in shown(found)] == ["SLOWER", *["UNSURE"] * 10]
    assert len(shown(found, everything=True)) == 13
    told = "not shown: 2 UNSURE (2: fewer than … samples on a side); --all shows them"
    assert told in sentences(found) and told not in sentences(found, everything=True)


def test_a_count_without_a_better_direction_is_shown_as_changed(warehouse: Builder) -> None:
    """Captured operators 6 → 8: a row and a sentence say so; neither the same count nor the rounds that a tool chose is there."""
    for name, value in (("a", 6.0), ("b", 8.0)):
        it = case("m", name, suite="s")
        counts = {"captured_ops": value, "graphs": 1.0, "rounds": 100 * value, "iterations": 10 * value}
        warehouse.add(run(name), it, *(metric(it, one, count, unit="count") for one, count in counts.items()))
    found = compare(warehouse, Side("a", ("a",)), Side("b", ("b",)))

    assert [(row["metric"], row["verdict"]) for row in found.rows] == [("captured_ops", "CHANGED")]
    assert verdict(found) == "b: captured_ops is 1.333x more"


def test_what_is_assumed_of_all_rows_is_said_once(warehouse: Builder) -> None:
    """Of 12 cases with one run each, it stands below the table; rows left out are cases, not their processor times, too."""
    for name, factor in (("a", 1.0), ("b", 1.01)):
        warehouse.add(run(name))
        for number in range(12):
            it = case(f"m{number:02}", name, suite="s")
            warehouse.add(
                it,
                outcome(it),
                *(metric(it, kind, factor * 1000, unit="ns", better="lower") for kind in ("latency", "cpu_time")),
            )
    found = compare(warehouse, Side("a", ("a",)), Side("b", ("b",)))
    assumed = "assumes that sessions differ as public nightly runs do, 95 % within 7.8 %"

    assert {row[-1] for row in render(found, shown(found))[1]} == {""}
    said = [*sentences(found)]
    assert f"all intervals: {assumed}; one run each" in said
    assert "not shown: 2 UNSURE (2: no more than sessions are assumed to differ); --all shows them" in said


def test_what_is_assumed_of_one_metric_is_not_said_of_all(warehouse: Builder) -> None:
    """Two latencies share it; a speedup, which has one row, is assumed to differ by more."""
    for name, factor in (("a", 1.0), ("b", 1.3)):
        warehouse.add(run(name))
        for number, kinds in enumerate((("latency", "speed"), ("latency",))):
            it = case(f"m{number}", name, suite="s")
            numbers = (
                metric(it, kind, 1000 * factor, unit="ratio" if kind == "speed" else "ns", better="lower")
                for kind in kinds
            )
            warehouse.add(it, outcome(it), *numbers)
    said = [*sentences(compare(warehouse, Side("a", ("a",)), Side("b", ("b",))))]

    assert "latency: assumes that sessions differ as public nightly runs do, 95 % within 7.8 %" in said
    assert "all intervals: one run each" in said


def test_what_is_assumed_of_a_metric_is_said_once(warehouse: Builder) -> None:
    """Of two metrics of two cases a line each, and of a third, which one case has, below its row."""
    for name, factor in (("a", 1.0), ("b", 1.3)):
        warehouse.add(run(name))
        for number, kinds in enumerate((("latency", "compile_latency", "speed"), ("latency", "compile_latency"))):
            it = case(f"m{number}", name, suite="s")
            units = {"speed": "ratio"}
            numbers = (metric(it, kind, factor * 1000, unit=units.get(kind, "ns"), better="lower") for kind in kinds)
            warehouse.add(it, outcome(it), *numbers)
    found = compare(warehouse, Side("a", ("a",)), Side("b", ("b",)))
    assumed = "assumes that sessions differ as public nightly runs do, 95 % within {} %"

    rows = shown(found)
    assert {(row["metric"], line[-1]) for row, line in zip(rows, render(found, rows)[1], strict=True)} == {
        ("latency", ""), ("compile_latency", ""), ("speed", assumed.format("9.2"))
    }  # fmt: skip
    said = [*sentences(found)]
    assert f"latency: {assumed.format('7.8')}" in said and f"compile_latency: {assumed.format('25.0')}" in said


@pytest.mark.parametrize(
    ("across", "said"),
    first_of(
        1,
        [
            (
                False,
                "fewer than 3 cases do not tell what is the machine's (--across-machines compares them as they stand)",
            ),
            (True, "compared as they stand"),
        ],
    ),
)
def test_other_machines_are_named_first(warehouse: Builder, across: bool, said: str) -> None:
    """With what is made of that; asked to compare them as they stand, no word of too few cases, nor of the option."""
    for name, cpu in (("a", "EPYC"), ("b", "Xeon")):
        it = case("m", name, suite="s")
        times = (timing(it, 1000 + block, process=0, block=block) for block in range(8))
        warehouse.add(Environment(environment_id=cpu, cpu=cpu), run(name, environment_id=cpu), it, *times)
    found = compare(warehouse, Side("a", ("a",)), Side("b", ("b",)), across=across)

    assert [*machines(found)] == [f"another machine: EPYC → Xeon; {said}"]


UNKNOWN = "other hosts, and no processor is known: h1 → h2; "
SHARED = "share 2.00x slower in latency; cases are judged by what is beyond it (--across-machines compares them as they stand)"


@exhaustive
@pytest.mark.parametrize(
    ("cpus", "cases", "moved", "said", "verdicts"),
    first_of(2, [
        ((None, None), 3, 3, f"{UNKNOWN}all 3 cases {SHARED}", {"UNSURE"}),
        (
            (None, None), 3, 2,
            f"{UNKNOWN}no metric has 3 cases that all moved one way by more than 5 %, so they are judged as they stand",
            {"SLOWER", "UNSURE"},
        ),
        ((None, "Xeon"), 21, 21, f"{UNKNOWN}all 21 cases {SHARED}", {"UNSURE"}),
        (("EPYC", "Xeon"), 21, 21, f"another machine: EPYC → Xeon; all 21 cases {SHARED}", {"UNSURE"}),
    ]),
    ids=["unknown", "a case stayed", "many cases", "known"],
)  # fmt: skip
def test_what_all_cases_share_on_another_machine_is_no_change(
    warehouse: Builder, cpus: tuple[str | None, ...], cases: int, moved: int, said: str, verdicts: set[str]
) -> None:
    """Another host of an unknown processor counts as one, if all cases moved one way; regressions ends with the same code."""
    for side, (name, cpu) in enumerate(zip("ab", cpus, strict=True), 1):
        warehouse.add(Environment(environment_id=name, cpu=cpu), run(name, environment_id=name, host=f"h{side}"))
        for number in range(cases):
            it = case(f"m{number}", name, suite="s")
            factor = side if number < moved else 1
            warehouse.add(
                it, *(timing(it, factor * (1000 + block), process=block // 2, block=block) for block in range(8))
            )
    found = compare(warehouse, Side("a", ("a",)), Side("b", ("b",)))

    assert [*machines(found)] == [said]
    assert {row["verdict"] for row in (*found.rows, *found.shifts)} == verdicts
    assert exit_code(found) == (Exit.TOO_LITTLE if verdicts == {"UNSURE"} else Exit.FAILED)


def test_sentences_tell_what_a_table_cannot() -> None:
    """Counts, what all have in common, means with their coverage, and what was not compared."""
    assert list(sentences(compare(mixed(), A, B))) == [
        "a (3 runs) against b (3 runs): 1 BROKEN, 2 SLOWER, 1 FASTER, 1 ADDED, 1 SAME (SAME is shown with --all)",
        "all cases: suite s, backend eager",
        "all intervals: noise of a run 0.3 %",
        "s eager latency: geomean 1.027x faster (95 % 1.020–1.034) over 4 of 6 matched; "
        "only the candidate has new; only the base has gone",
        "not judged: seed (1); show them with --all or --metrics",
    ]


@pytest.mark.exhaustive
def test_means_beyond_the_first_are_counted_with_the_command_that_lists_them() -> None:
    """A comment or a terminal holds twelve."""
    backends = [f"backend{number}" for number in range(14)]
    events = [
        event
        for side in "ab"
        for backend in backends
        for name in ("m", "n")
        for event in measured(side, 1, name, backend)
    ]
    warehouse = built(*RUNS, *events)

    (more,) = [text for text in sentences(compare(warehouse, A, B)) if text.startswith("…")]

    said, command = more.split(": bench sql ")
    assert said == "… and 2 more geometric means"
    assert len(warehouse.rows(command.strip('"'))) == 14


def test_a_document_is_ready_for_a_pull_request() -> None:
    """Heading, verdict, what changed; the rest folded; names cannot break out of it."""
    warehouse = built(
        *RUNS, *measured("a", 1, "<b>|x"), *measured("b", 2, "<b>|x"), *measured("a", 1), *measured("b", 1)
    )
    text = document(compare(warehouse, A, B), command="bench compare a b").markdown()

    assert text.startswith("## a → b\n\n❌ **1 slower (&lt;b&gt;\\|x 2.00x) of 2 comparisons; 1 the same**\n")
    assert "| &lt;b&gt;\\|x | latency | 1.001 ms | 2.003 ms |" in text
    assert "<details>\n<summary>The same within 3 %: 1</summary>" in text


@pytest.mark.parametrize(
    ("runs", "verdict"),
    first_of(
        1,
        [
            (3, "❌ **all cases together 1.25x slower in latency"),
            (1, "⚪ **all cases together 1.05x slower in latency (unsure)"),
        ],
    ),
)
def test_a_document_says_what_all_cases_share(runs: int, verdict: str) -> None:
    """It opens with it, as the exit code does, although each case beyond it is the same; a doubtful shift is no pass."""
    factor = 1.25 if runs == 3 else 1.05
    events = [
        event
        for number in range(20)
        for side, by in (("a", 1), ("b", factor))
        for event in measured(side, by, f"m{number}")
    ]
    pair = [Side(name, tuple(f"{name}{number}" for number in range(runs))) for name in "ab"]
    text = document(compare(built(*RUNS, *events), *pair), command="bench compare a b").markdown()

    assert text.startswith(f"## a → b\n\n{verdict}; beyond that 20 the same**\n")
    assert "### What changed\n\nall cases, latency: " in text
    assert "<summary>The same within 3 %: 20</summary>\n\nall cases: suite s, backend eager\n" in text


@exhaustive
def test_a_case_that_all_others_left_behind_is_told_beyond_them() -> None:
    """It takes as long as before, while all others got slower: faster by what they share, and its row says so."""
    slower = {f"m{number}": 1.25 if number else 1.0 for number in range(24)}
    events = [
        event
        for name, factor in slower.items()
        for side, by in (("a", 1.0), ("b", factor))
        for event in measured(side, by, name)
    ]
    found = compare(built(*RUNS, *events), A, B)

    assert verdict(found) == (
        "all cases together 1.25x slower in latency; beyond that 1 faster (m0 1.25x) of 24 comparisons; 23 the same"
    )
    (row,) = [row for row in found.rows if row["verdict"] == "FASTER"]
    assert "1.25x faster than all cases together (95 % 1.2" in row["reason"]


@pytest.mark.exhaustive
def test_a_document_does_not_call_ignorance_good() -> None:
    """Nothing but doubt is no pass; all the same is."""
    doubtful = built(
        *RUNS,
        *measured("a", 1),
        *measured("b", 1),
        *(
            metric(case("x", run=f"{side}{i}", suite="s"), "v", v, better="lower")
            for i, v in enumerate((1.0, 2.0, 9.0))
            for side in "ab"
        ),
    )
    same = built(*RUNS, *measured("a", 1), *measured("b", 1))

    assert (
        "⚪ **no change found; 1 the same, 1 unsure**"
        in document(compare(doubtful, A, B), command="bench compare a b").markdown()
    )
    assert (
        "✅ **b: latency is the same within 3 %, 1.000x (95 % 0.992–1.008)**"
        in document(compare(same, A, B), command="bench compare a b").markdown()
    )


def test_the_counts_of_the_first_sentence_add_up() -> None:
    """New cases, those that work again, and those that failed before and are gone now are comparisons, too."""
    found = compare(
        built(
            *RUNS, *measured("a", 1), *measured("b", 1), *measured("b", 1, "new"), *measured("b", 1, "mended"),
            *(
                event for run_id in ("a0", "a1", "a2") for name in ("mended", "gone")
                for it in [case(name, run=run_id, suite="s", backend="eager")] for event in (it, outcome(it, "fail_to_run"))
            ),
        ), A, B,
    )  # fmt: skip

    assert verdict(found) == "1 working again, 1 new of 4 comparisons; 1 the same, 1 that had failed before"


@exhaustive
def test_a_long_name_leaves_the_first_sentence_readable() -> None:
    """It is cut in the middle; the table has it whole."""
    found = compare(
        built(*RUNS, *measured("a", 1, "x" * 300), *measured("a", 1), *measured("b", 2, "x" * 300), *measured("b", 1)),
        A,
        B,
    )

    assert re.match(r"1 slower \(x{30}…x{29} 2\.00x\) of 2 comparisons; ", verdict(found))


@pytest.mark.exhaustive
def test_rows_are_chosen_by_any_column() -> None:
    """Values are checked against what both sides measured; a metric that is named is compared whatever it is."""
    warehouse = mixed()

    assert [row["name"] for row in compare(warehouse, A, B, where={"name": ["slow"]}).rows] == ["slow"]
    assert [row["verdict"] for row in compare(warehouse, A, B, where={"metric": ["seed"]}).rows] == ["REMOVED"]
    assert {row["name"] for row in compare(warehouse, A, B, where={"verdict": ["SLOWER"]}).rows} == {"slow", "slower"}
    with pytest.raises(UnknownName, match="Nearest: 'verdict'"):
        compare(warehouse, A, B, where={"verdikt": ["SLOWER"]})
    with pytest.raises(UnknownName, match="no model"):
        compare(warehouse, A, B, where={"name": [HOSTILE]})


@pytest.mark.parametrize(
    ("events", "code"),
    first_of(3, [
        ([*measured("a", 1), *measured("b", 2)], Exit.FAILED), ([*measured("a", 2), *measured("b", 1)], Exit.OK),
        ([*measured("a", 1), *measured("b", 1)], Exit.OK),
        ([*measured("a", 1), *measured("a", 1, "n"), *measured("b", 1)], Exit.NOTHING),
        ([*once("a"), *once("b")], Exit.TOO_LITTLE), ([*measured("b", 1)], Exit.TOO_LITTLE),
    ]),
)  # fmt: skip
def test_exit_codes_tell_worse_from_gone_from_unknown(events: list[Event], code: Exit) -> None:
    """1 slower, 3 no longer there, 4 nothing to judge."""
    assert exit_code(compare(built(*RUNS, *events), A, B)) == code


def test_environments_that_differ_are_said() -> None:
    """A fact that was not held constant may be the reason; the command line always differs."""
    warehouse = built(
        *(run(f"{side}{i}", side, host=host, command=side) for side, host in (("a", "one"), ("b", "two")) for i in range(3)),
        *measured("a", 1), *measured("b", 1),
    )  # fmt: skip

    assert list(sentences(compare(warehouse, A, B)))[-1] == "host differs: one → two"


def test_a_time_that_should_be_neither_long_nor_short_is_not_called_slower() -> None:
    """As the duration of a pyperf process, which follows its number of loops."""
    events = [
        metric(case(run=name), "duration", ns, unit="ns", better=None) for name, ns in (("a", 200.0), ("b", 100.0))
    ]
    found = compare(Builder().add(run("a"), run("b"), *events), Side("a", ("a",)), Side("b", ("b",)))

    (row,) = render(found, found.unusual)[1]
    assert "2.00x less (95 % " in str(row)


def test_values_without_a_direction_are_not_judged_and_say_how_they_would_be() -> None:
    """As of a table whose mapping names no unit: the comparison would be empty without a word."""
    warehouse = Builder()
    for name, value in (("old", 1.5), ("new", 1.2)):
        warehouse.add(run(name), case("conv", run=name), metric(case("conv", run=name), "ms", value))
    found = compare(warehouse, Side("old", ("old",)), Side("new", ("new",)))

    assert found.rows == []
    assert any("which way is better is not known: ingest with a unit" in sentence for sentence in sentences(found))
