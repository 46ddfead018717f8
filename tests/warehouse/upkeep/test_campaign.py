"""Random damage to a store: what is read was written, and what is missing is told. `-s` shows the counts of each trial."""

import hashlib
import random
import shutil
from collections import Counter
from pathlib import Path

import bench
import pytest
from bench import warehouse
from bench.ingest.run import ingest
from bench.warehouse import schema
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError
from bench.warehouse.load import rebuild
from bench.warehouse.store import Store
from bench.warehouse.upkeep import healing
from bench.warehouse.upkeep.compaction import compact
from bench.warehouse.upkeep.verify import verify

from ...exhaustive import sampled
from ...ingest.records import lines, step

TABLES = ("timings", "schedule_chunks", "cases", "runs", "sources")
Rows = dict[str, Counter[str]]


def read(store: Store) -> Rows:
    """Every row of some tables, as text, but for derived ones."""
    with Warehouse.open(store) as warehouse:
        return {
            table: Counter(text for (text,) in warehouse.rows(f"SELECT to_json(t)::VARCHAR FROM {table} AS t"))
            for table in TABLES
        }


def total(rows: Rows) -> int:
    return sum(each.total() for each in rows.values())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Rows]:
    """Runs recorded, merged and imported, in small row groups, and what they hold."""
    folder = tmp_path_factory.mktemp("campaign")
    store = Store(folder / "store").create()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "ROWS_IN_GROUP", 100)
        for number in range(4):
            with bench.run(f"c{number}", store=store) as run:
                for index in range(3):
                    case = run.case(f"case {index}")
                    for sample in range(120):
                        case.timing(1000 + number + 7 * sample + index)
            if number == 1:
                compact(store, below_bytes=1 << 20, target_bytes=1 << 20)
        (folder / "prof").mkdir()
        (folder / "prof" / "p_1.jsonl").write_text(lines(*map(step, range(200))))
        ingest(store, [str(folder / "prof")])
    return store, read(store)


def hurt(path: Path, draw: random.Random) -> str:
    """Damage a file in one of the ways that disks, copies and people do; returns which."""
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data))
    how = draw.choice(("flip", "flip", "zeros", "cut", "tail", "swap"))
    if how == "flip":
        data[at] ^= 1 << draw.randrange(8)
    elif how == "zeros":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif how == "cut":
        del data[at:]
    elif how == "tail":
        data += draw.randbytes(100)
    else:
        data[at : at + 16] = draw.randbytes(len(data[at : at + 16]))
    path.unlink()  # whoever has it open keeps what it had
    path.write_bytes(data)
    return how


def targets(store: Store) -> list[Path]:
    """Every event file, the index of imports, and the warehouse, as often as all others together."""
    files = [*sorted(store.events.glob("*/*.parquet")), store.root / "sources.json"]
    return [*files, *[store.database] * len(files)]


def by_the_code(lots: int) -> int:
    """A number that another state of the room's code changes: so a commit passes or fails always, and each tries others."""
    files = sorted(Path(warehouse.__file__).parent.rglob("*.py"))
    return int(hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest(), 16) % lots


ROTATING = range(100 + by_the_code(20), 500, 20)  # of the others, which CI tries in turn: pytest -m noisy tries all
TRIALS = [
    *sampled(range(100), 0, 50),
    *(
        pytest.param(trial, marks=pytest.mark.exhaustive if trial in ROTATING else pytest.mark.noisy)
        for trial in range(100, 500)
    ),
]


@pytest.mark.parametrize("trial", TRIALS)
def test_no_damage_is_silent(
    trial: int, whole: tuple[Store, Rows], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of rows that are missing an answer and `verify` say so, none is there that was not written; a whole copy brings all."""
    original, expected = whole
    store = Store(tmp_path / "store")
    shutil.copytree(original.root, store.root)
    draw = random.Random(trial)
    path = draw.choice(targets(store))
    how, anew = hurt(path, draw), draw.random() < 0.5
    healing._noted.clear()
    capfd.readouterr()
    try:
        if anew:
            store.database.unlink(missing_ok=True)
        found = read(store)
        told = capfd.readouterr().err
    except BenchError as error:
        found, told = {table: Counter() for table in TABLES}, str(error)
    problems = verify(store).problems
    added = {table: found[table] - expected[table] for table in TABLES}
    counts = f"{total(expected)} written, {total(found)} read, told: {told[:200]!r}"
    print(f"{trial} {how} {path.name} {'anew' if anew else ''}: {counts}")

    if path == store.database:
        assert found == expected and problems == {}
    if found != expected:
        assert path.name in told and path.name in problems
    assert not any(added[table] for table in TABLES if table != "runs"), added  # a run's row may be part of what it was
    shutil.copy(original.root / path.relative_to(store.root), path)
    rebuild(store)
    assert read(store) == expected
