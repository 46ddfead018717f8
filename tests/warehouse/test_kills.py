"""A command that is killed at any change to a file loses nothing, and what it left the next command puts right.

Each command dies before and after the renames, links, unlinks, fsyncs, truncations, new folders and new files of an
undisturbed run, wherever the state of the files is another than at the point before. Then a reader of the warehouse as it
lies, other engines, the next question and the same command again each find what was there before the command, or what is
there after one that nobody disturbed.
"""

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.ingest.run import ingest
from bench.warehouse import snapshot
from bench.warehouse.events import TABLES
from bench.warehouse.journal import FRAME
from bench.warehouse.load import load, readable_files
from bench.warehouse.store import Store
from bench.warehouse.upkeep.compaction import compact
from bench.warehouse.upkeep.verify import verify

from ..exhaustive import exhaustive, sampled
from ..ingest.records import lines, step
from .killing import ProcessEnded, command, run
from .test_archive import FIRST, NOVEMBER, OCTOBER, imported, write

MB = 1 << 20
DIFFERS = {"files", "change_id"}  # names of columns whose values differ from one time to the next
State = dict[str, list[str]]  # of each table its rows, as text


@dataclass(frozen=True, slots=True)
class Scenario:
    """A folder with stores, and a command that changes them."""

    furnish: Callable[[Path], None]
    command: tuple[str, ...]
    stores: tuple[str, ...] = ("store",)
    partly: tuple[str, ...] = ()  # stores that may be found with a part of what they get
    every: int = 1  # point of so many is tried
    problems: int = 0  # damaged files, which are named and kept


def _base(root: Path) -> Store:
    store = Store.find(root / "store").create()
    for index, began in enumerate((OCTOBER, NOVEMBER, OCTOBER)):
        write(store, f"{'old' if began == OCTOBER else 'new'}-{index}", began)
    imported(store, "both", ("old-3", OCTOBER), ("new-4", NOVEMBER))
    (root / "steps.jsonl").write_text(lines(step(0), "no json", step(1)))
    ingest(store, [f"A:{root / 'steps.jsonl'}"])
    return store


def _record(store: Store, run_id: str, *, damaged: bool = False) -> None:
    """A run whose process died before it was sealed."""
    dying = bench.run("dead", store=store, run_id=run_id)
    case = dying.case("c")
    for sample in range(6000 if damaged else 3):  # more than a window holds, which then is used again
        case.timing(sample)
    case.memory(1)
    dying.close(seal=False)
    if damaged:
        path = dying._journal.path
        content = bytearray(path.read_bytes())
        middle = content.index(FRAME) + 20_000
        content[middle : middle + 64] = bytes(64)
        path.write_bytes(content)


def _to_ingest(root: Path) -> None:
    store = _base(root)
    _record(store, "dead-0")
    load(store)
    _record(store, "dead-1")
    (root / "steps.jsonl").write_text(lines(step(0), "no json", step(1), step(2), "nor this"))
    (root / "more.jsonl").write_text(lines(*map(step, range(5))))


def _to_recover(root: Path) -> None:
    store = _base(root)
    load(store)
    _record(store, "dead-0")
    _record(store, "dead-1", damaged=True)


def _to_compact(root: Path) -> None:
    store = _base(root)
    load(store)
    compact(store, below_bytes=MB, target_bytes=MB)
    for index in (5, 6):
        write(store, f"new-{index}", NOVEMBER)
    load(store)


def _to_archive(root: Path) -> None:
    store = _base(root)
    for run_id in ("old-0", "new-1"):
        (store.artefacts / run_id).mkdir(parents=True)
        (store.artefacts / run_id / "trace.json").write_text("{}")
    load(store)


def _to_sync(root: Path) -> None:
    _to_archive(root)
    store, other = Store.find(root / "store"), Store.find(root / "other").create()
    compact(store, below_bytes=MB, target_bytes=MB)
    write(store, "new-7", NOVEMBER)
    load(store)
    _record(store, "dead-0")
    write(other, "new-8", NOVEMBER)
    load(other)


def _to_rebuild(root: Path) -> None:
    load(_base(root))


STORE = ("--store", "store")
SCENARIOS = {
    "ingest": Scenario(_to_ingest, ("ingest", "A:steps.jsonl", "B:more.jsonl", *STORE), every=2),
    "recover": Scenario(_to_recover, ("recover", *STORE), every=2, problems=1),
    "compact": Scenario(_to_compact, ("compact", *STORE), every=2),
    "archive": Scenario(
        _to_archive, ("archive", "other", "--before", "2025-11-01", *STORE), ("store", "other"), ("other",), 15
    ),
    "sync": Scenario(_to_sync, ("sync", "store", "other"), ("store", "other"), ("other",), 15),
    "rebuild": Scenario(_to_rebuild, ("rebuild", *STORE)),
    "forget": Scenario(_to_rebuild, ("forget", "old-0", "new-1", "--yes", *STORE)),
}


def state_of(database: Path) -> State:
    """What a warehouse file holds in all of its tables: all views follow from these."""
    with snapshot.connect(database) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name NOT IN ('_files', '_meta')")
        state = {}
        for (table,) in names.fetchall():
            rows = connection.execute(f"FROM {table}")
            columns = [column[0] for column in rows.description or ()]
            kept = [index for index, column in enumerate(columns) if column not in DIFFERS]
            texts = (repr([_rounded(row[index]) for index in kept]) for row in rows.fetchall())
            state[table] = sorted(text.replace(f"{Path.cwd()}", ".") for text in texts)
        return state


def _rounded(value: Any) -> Any:
    if isinstance(value, datetime) and value > FIRST.replace(year=2026):
        return "now"  # when a file was loaded
    return float(f"{value:.9g}") if isinstance(value, float) else value  # sums depend on the order of rows


def look(stores: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is in each store: as a reader finds it, by the files for other engines, and after the next question."""
    import pyarrow.parquet as pq

    answers = []
    for store in filter(Store.exists, map(Store.find, stores)):
        reader = state_of(store.database) if store.database.exists() else None
        rows: Counter[str] = Counter()
        for file in readable_files(store)[0]:
            rows[file.table] += pq.read_metadata(file.path).num_rows
        left_out = load(store).left_out
        answers.append({"reader": reader, "rows": rows, "state": state_of(store.database), "left out": len(left_out)})
    return answers


def repeat(stores: tuple[str, ...], words: tuple[str, ...]) -> dict[str, Any]:
    """What is there before and after the command is given again, and what `bench store verify` says then."""
    first, code, then = look(stores), command(*words), look(stores)
    found = [Store.find(store) for store in stores]
    problems = [sentence for store in found for sentence in verify(store).problems.values()]
    left = [
        str(path)
        for store in found
        for path in store.root.rglob("*")
        if path.name[0] == "." or path.parent.name == "journal"
    ]
    return {"first": first, "code": code, "then": then, "problems": problems, "left": left}


def fresh(template: Path, work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(template, work)


def holds(more: State, less: State) -> bool:
    """Whether each table of events has all rows of another, and as often."""
    return all(not Counter(less[table]) - Counter(more[table]) for table in TABLES)


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What is found where nobody is killed: before the command, and after it."""

    before: list[dict[str, Any]]
    after: dict[str, Any]
    code: int  # of its exit

    def wrong(self, scenario: Scenario, found: dict[str, Any]) -> Iterator[str]:
        """What a kill changed, in sentences."""
        for index, now in enumerate(found["first"]):
            store = scenario.stores[index]
            old, new = self.before[index] if index < len(self.before) else None, self.after["first"][index]
            if store in scenario.partly:
                if not holds(new["state"], now["state"]) or not (old is None or holds(now["state"], old["state"])):
                    yield f"{store} is neither as before, nor as after, nor in between"
            elif old is not None:
                if now["reader"] not in (old["reader"], old["state"], new["reader"], new["state"]):
                    yield f"a reader finds {store} neither as before nor as after"
                if now["rows"] not in (old["rows"], new["rows"]):
                    yield f"other engines find {now['rows']} in {store}, neither as before nor as after"
                if now["state"] not in (old["state"], new["state"]):
                    yield f"the next question finds {store} neither as before nor as after"
        if [now["state"] for now in found["then"]] != [now["state"] for now in self.after["then"]]:
            yield "given again, the command comes to something else"
        if found["code"] not in (self.code, self.after["code"]) or found["left"] != self.after["left"]:
            yield f"given again, the command exits with {found['code']} and leaves {found['left']}"
        if len(found["problems"]) != scenario.problems:
            yield f"bench store verify finds {found['problems']}"


def undisturbed(scenario: Scenario, template: Path, work: Path) -> tuple[Undisturbed, ProcessEnded]:
    """Furnish the template; what the command does there where nobody is killed, and where it could be."""
    template.mkdir()
    scenario.furnish(template)
    fresh(template, work)
    before = run(look, scenario.stores, folder=work).result
    fresh(template, work)
    ended = run(command, *scenario.command, folder=work)
    again = run(repeat, scenario.stores, scenario.command, folder=work).result
    return Undisturbed(before, again, ended.result), ended


def given_again(
    scenario: Scenario, template: Path, work: Path, number: int | None = None, after_s: float | None = None
) -> ProcessEnded:
    """Give the command again where it was killed at a change to a file, or at some time."""
    fresh(template, work)
    ended = run(command, *scenario.command, folder=work, kill_at=number, kill_after_s=after_s)
    assert ended.exitcode == -signal.SIGKILL or after_s is not None
    found = run(repeat, scenario.stores, scenario.command, folder=work)
    shutil.rmtree(work)
    return found


@pytest.mark.parametrize("sample", [pytest.param(1, id="all", marks=exhaustive), pytest.param(101, id="some")])
@pytest.mark.parametrize("name", sampled([*SCENARIOS], "ingest"))
def test_a_kill_at_any_change_is_made_good_by_the_next_command(name: str, sample: int, tmp_path: Path) -> None:
    """Nothing is lost, nothing is there twice, and readers find what was there before or what is there after."""
    scenario, template, work = SCENARIOS[name], tmp_path / "template", tmp_path / "work"
    expected, ended = undisturbed(scenario, template, work)
    assert [*expected.wrong(scenario, expected.after)] == []
    assert (ended.result, expected.after["left"]) == (bool(scenario.problems), [])

    wrong = []
    for number, point in ended.points[:: scenario.every * sample]:
        found = given_again(scenario, template, work, number)
        said = expected.wrong(scenario, found.result) if found.result else [found.output]
        wrong += [f"killed {point}: {sentence}" for sentence in said]

    assert wrong == []
