"""Damage stays where it is: a damaged journal costs the events of the pages it touches, and says how many."""

import json
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.warehouse import journal
from bench.warehouse.console.numbers import counted
from bench.warehouse.database import Warehouse
from bench.warehouse.events import Event, Outcome, ScheduleChunk, Timing
from bench.warehouse.journal import HEAD, HEADER, SMALLEST, STRING, Journal
from bench.warehouse.journals.parts import NeverBegun, Unreadable
from bench.warehouse.journals.reader import Contents, read
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ...exhaustive import exhaustive, first_of, in_parts
from ..strategies import rows_of

WAREHOUSE = str(Path(journal.__file__).parent)
COUNT = 20_000
FRAMES = 2 * journal.WINDOW_BYTES + 8192  # begin before
PAGE_OF_EVENTS = 4096 // 57 + 2  # those of which a byte lies in a page

Damage = Callable[[bytearray, int], None]


@pytest.fixture(scope="module", params=["closed", "killed"])
def journal_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """How its writer ended, and a journal of so many timings of one case."""
    path = tmp_path_factory.mktemp(request.param)
    run = bench.run("damaged", store=path)
    case = run.case("case")
    for number in range(COUNT):
        case.timing(number)
    if request.param == "closed":
        run._journal.close()
    data = run._journal.path.read_bytes()
    run._journal.close()
    run._closed = True  # so that it is not sealed
    return request.param, data


def zeroed(length: int) -> Damage:
    def damage(data: bytearray, at: int) -> None:
        data[at : at + length] = bytes(len(data[at : at + length]))

    return damage


def flipped(data: bytearray, at: int) -> None:
    data[at] ^= 1 << at % 8


def cut(data: bytearray, at: int) -> None:
    del data[at:]


def after(data: bytes, damage: Damage, at: int, path: Path) -> tuple[Contents, list[int], dict[str, int]]:
    """The journal as it is read after a damage: durations of its timings, and rows of the other tables."""
    damaged = bytearray(data)
    damage(damaged, at)
    path.write_bytes(damaged)
    contents = read(path)
    durations, others = [], dict[str, int]()
    for part in contents.parts():
        for rows in part:
            if rows.layout.table == "timings":
                durations += rows.columns["duration_ns"].values.tolist()
            else:
                others[rows.layout.table] = others.get(rows.layout.table, 0) + len(rows.places)
    return contents, durations, others


@pytest.mark.parametrize("places", in_parts(range(200), every=20))
def test_64_zeroed_bytes_anywhere_lose_two_pages_at_most(
    places: Sequence[int], journal_of: tuple[str, bytes], tmp_path: Path
) -> None:
    """At 200 places over the whole file; never the run, its case or its machine, and the number that is told is right."""
    _, data = journal_of
    for place in places:
        contents, durations, others = after(data, zeroed(64), place * len(data) // 200, tmp_path / "a.journal")
        lost = COUNT - len(durations)
        assert lost <= 2 * PAGE_OF_EVENTS
        assert (durations == sorted(set(durations))) is True
        assert others == {"runs": 1, "cases": 1, "environments": 1}, place
        assert contents.damage == ([f"{counted(lost, 'event', 'is', 'are')} lost"] if lost else [])


@pytest.mark.parametrize("places", in_parts(range(200), every=20))
def test_a_flipped_bit_anywhere_loses_a_page_at_most(
    places: Sequence[int], journal_of: tuple[str, bytes], tmp_path: Path
) -> None:
    """None where the bit lies in what was written behind, in unused space, or in what stands elsewhere, too; then no alarm."""
    how, data = journal_of
    draw = random.Random(how)
    for _ in places:
        at = draw.randrange(len(data))
        contents, durations, others = after(data, flipped, at, tmp_path / "a.journal")
        lost = COUNT - len(durations)
        assert lost <= PAGE_OF_EVENTS
        assert others == {"runs": 1, "cases": 1, "environments": 1}
        assert contents.damage == ([f"{counted(lost, 'event', 'is', 'are')} lost"] if lost else []), at
        changed = sum(number != place for place, number in enumerate(sorted(durations))) if not lost else 0
        assert not changed or contents.unchecked  # a value in a window of a killed process, which is marked


@pytest.mark.parametrize("places", in_parts(range(1, 60), every=10))
def test_a_cut_file_loses_its_tail(places: Sequence[int], journal_of: tuple[str, bytes], tmp_path: Path) -> None:
    """No more events than bytes for them are gone, and about as many are told; the run stays while a window is there."""
    _, data = journal_of
    for place in places:
        at = place * len(data) // 60
        contents, durations, others = after(data, cut, at, tmp_path / "a.journal")
        lost = COUNT - len(durations)
        assert lost <= (len(data) - at) / 57 + PAGE_OF_EVENTS
        assert (durations == sorted(set(durations))) is True
        assert others.get("runs") == 1
        assert bool(contents.damage) == bool(lost)
        assert abs(contents.lost - lost) <= max(PAGE_OF_EVENTS, lost // (50 if at > FRAMES else 2)), (at, lost)


def test_a_file_cut_behind_the_head_of_its_only_frame_is_told(tmp_path: Path) -> None:
    """No record of the frame is whole, so none tells how long they are; the copies of run and case made up for "one" lost."""
    run = bench.run("damaged", store=tmp_path)
    case = run.case("case")
    for number in range(6000):
        case.timing(number)
    data, begin = run._journal.path.read_bytes(), run._journal._begin
    run.close(seal=False)
    for at in (begin + 300, begin + 600):
        contents, durations, _ = after(data, cut, at, tmp_path / "a.journal")

        lost = 6000 - len(durations)
        assert lost > 4000 and contents.damage and abs(contents.lost - lost) < 0.2 * lost


def test_the_run_stands_in_a_window_that_has_nothing_else(tmp_path: Path) -> None:
    """All that was recorded was written behind just before, and is cut off."""
    run = bench.run("damaged", store=tmp_path)
    run.case("case").timing(1)
    run._journal.sync()
    data = run._journal.path.read_bytes()
    run.close(seal=False)
    for at in (20_000, run._journal._begin - 10, run._journal._begin):
        contents, durations, others = after(data, cut, at, tmp_path / "a.journal")

        assert (durations, others) == ([], {"runs": 1, "cases": 1, "environments": 1})
        assert contents.damage


@pytest.mark.parametrize("at", [6000, 12_000, 12_288])
def test_a_file_cut_before_its_first_record_keeps_the_run(
    at: int, journal_of: tuple[str, bytes], tmp_path: Path
) -> None:
    """The copies stand before; it was said that 0 events are lost, of 20,000."""
    contents, durations, others = after(journal_of[1], cut, at, tmp_path / "a.journal")

    assert (durations, others) == ([], {"runs": 1, "cases": 1, "environments": 1})
    assert contents.damage[1:] == ["nothing tells how many events are lost"]


@pytest.mark.parametrize("byte", range(4))
def test_a_flipped_bit_in_a_length_loses_that_record(byte: int, tmp_path: Path) -> None:
    """A length that points past the end is no sign of a kill, where whole records follow."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    for number in range(1000):
        opened.add(Timing(run_id="r", case_id="c", duration_ns=number))
    begin = journal.pages(len(opened._header)) + journal.COPIES_BYTES + journal.WINDOW_NUMBER.size
    data, at = opened.path.read_bytes(), begin
    for _ in range(600):
        at += int.from_bytes(data[at : at + 4], "little")

    contents, durations, _ = after(data, lambda d, a: d.__setitem__(a, d[a] ^ 0x40), at + byte, tmp_path / "b.journal")

    assert (len(durations), contents.damage) == (999, ["1 event is lost"])


@pytest.mark.parametrize("bit", range(32))
@pytest.mark.parametrize(
    "last",
    [Timing(run_id="r", case_id="c", duration_ns=9), ScheduleChunk(run_id="r", chunk_sizes=[7] * 3000)],
    ids=["short", "longer than a page"],
)
def test_a_flipped_bit_in_the_length_of_the_last_record_is_told(last: Event, bit: int, tmp_path: Path) -> None:
    """13 of 32 bits made one that was begun of it, and the journal was deleted; the trailer at its end tells."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    begin = journal.pages(len(opened._header)) + journal.COPIES_BYTES + journal.WINDOW_NUMBER.size
    opened.add(Timing(run_id="r", case_id="c", duration_ns=8))
    at = begin + opened._active.used_bytes
    opened.add(last)

    def flip(data: bytearray, at: int) -> None:
        while data[at + 4] == STRING:
            at += int.from_bytes(data[at : at + 4], "little")
        data[at + bit // 8] ^= 1 << bit % 8

    contents, durations, _ = after(opened.path.read_bytes(), flip, at, tmp_path / "b.journal")

    assert (durations, contents.lost) == ([8], 1)


def test_a_record_that_was_being_written_is_no_damage(tmp_path: Path) -> None:
    """Its call had not returned; nothing stands behind it."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    for number in range(3):
        opened.add(Timing(run_id="r", case_id="c", duration_ns=number))
    end = (
        journal.pages(len(opened._header))
        + journal.COPIES_BYTES
        + journal.WINDOW_NUMBER.size
        + opened._active.used_bytes
    )

    def unwritten(data: bytearray, at: int) -> None:
        data[at : at + 20] = journal.FILL * 20

    contents, durations, _ = after(opened.path.read_bytes(), unwritten, end - 20, tmp_path / "b.journal")

    assert (durations, contents.damage) == ([0, 1], [])


@pytest.mark.parametrize("records", [1, 2, 5])
@pytest.mark.parametrize("into", [0, 30], ids=["from the beginning of one", "from within one"])
@pytest.mark.parametrize("beyond", [0, 100], ids=["to their end", "and beyond"])
def test_zeros_over_the_last_records_of_a_killed_process_are_told(
    records: int, into: int, beyond: int, tmp_path: Path
) -> None:
    """Nothing stood behind them and no checksum was made yet, so they were lost in silence."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    for number in range(1000):
        opened.add(Timing(run_id="r", case_id="c", duration_ns=number))
    end = (
        journal.pages(len(opened._header))
        + journal.COPIES_BYTES
        + journal.WINDOW_NUMBER.size
        + opened._active.used_bytes
    )
    size = opened._active.used_bytes // 1000
    lost = records * size - into

    contents, durations, _ = after(opened.path.read_bytes(), zeroed(lost + beyond), end - lost, tmp_path / "b.journal")

    assert len(durations) == 1000 - records
    assert contents.lost >= records and bool(contents.damage)
    assert contents.lost == records or beyond


@pytest.mark.parametrize("place", range(1, 6))
def test_the_loss_of_events_with_texts_of_their_own_is_estimated_with_these(place: int, tmp_path: Path) -> None:
    """A text takes more than the event that names it: "about 127" were lost of 16."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    for number in range(2000):
        opened.add(Outcome(run_id="r", status="fail_to_run", message=f"{number} {'x' * (97 * number % 400)}"))
    data = opened.path.read_bytes()

    contents, _, others = after(data, zeroed(4096), len(data) * place // 6, tmp_path / "b.journal")

    lost = 2000 - others["outcomes"]
    assert bool(contents.damage) == bool(lost)
    assert abs(contents.lost - lost) <= 6


@exhaustive
def test_a_damaged_journal_is_told_with_its_loss_and_kept(tmp_path: Path) -> None:
    """The command ends with 1, the rest is loaded, and the file lies in `damaged/`."""
    store = Store.find(tmp_path / "store")
    run = bench.run("damaged", store=store)
    for number in range(COUNT):
        run.case("case").timing(number)
    run.close(seal=False)
    data = bytearray(run._journal.path.read_bytes())
    zeroed(64)(data, len(data) * 3 // 4)
    run._journal.path.write_bytes(data)

    done = subprocess.run(
        [sys.executable, "-m", "bench", "store", "recover", "--store", store.root], capture_output=True, text=True
    )
    with Warehouse.open(store) as warehouse:
        ((count, runs),) = warehouse.rows("SELECT count(*), (SELECT count(*) FROM runs) FROM timings")

    assert done.returncode == 1
    assert f"{counted(COUNT - count, 'event', 'is', 'are')} lost" in done.stderr
    assert runs == 1 and COUNT - 200 <= count < COUNT
    assert (store.damaged / run._journal.path.name).read_bytes() == data


@pytest.mark.parametrize("data", [b"", bytes(600_000)], ids=["no bytes", "zeros"])
def test_a_journal_that_the_file_system_left_empty_is_told(data: bytes, tmp_path: Path) -> None:
    """One line; it holds nothing to keep."""
    store = Store.find(tmp_path / "store").create()
    path = store.journals / "empty.journal"
    path.write_bytes(data)
    loaded = load(store)

    assert [note.split(":")[0] for note in loaded.notes] == ["empty.journal held no events and was removed"]
    assert not path.exists() and load(store).notes == []


@pytest.mark.parametrize("when", ["take_after_folder", "os.posix_fallocate"])
def test_a_journal_that_was_interrupted_while_it_was_made_is_gone(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's handler raised: the next command would take an empty file for one that a loss of power left."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    store = Store.find(tmp_path / "store").create()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"bench.warehouse.journal.{when}", interrupt)
        bench.run("main", store=store)

    assert list(store.journals.iterdir()) == []


def rewritten(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The journal with another header, whose checksum is right."""
    magic, length, _ = HEADER.unpack_from(data)
    header = json.loads(zlib.decompress(data[HEADER.size :][:length]))
    change(header)
    packed = zlib.compress(json.dumps(header).encode())
    head = HEADER.pack(magic, len(packed), zlib.crc32(packed)) + packed
    return head.ljust(journal.pages(len(head)), b"\0") + data[journal.pages(HEADER.size + length) :]


@pytest.mark.parametrize(
    "change",
    [
        {"window": 1 << 60}, {"window": -1}, {"copies": 1 << 40}, {"tables": None}, {"tables": [[1, 2, 3]]},
        {"tables": [["timings", 1, [["a", "zz", True]]]]}, {"run_id": 7}, {"window": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_a_header_made_to_harm_is_one_sentence(change: dict[str, Any], tmp_path: Path) -> None:
    """Sizes beyond the file, tables that are none: neither memory nor time, no traceback."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    path = tmp_path / "b.journal"
    path.write_bytes(rewritten(opened.path.read_bytes(), lambda header: header.update(change)))

    with pytest.raises(Unreadable, match="damaged header"):
        read(path)


def hostile(kind: str) -> bytes:
    """Records whose numbers lie: a list of four billion items, a text's number beyond all, lengths within lengths."""
    timing = next(k for k, x in enumerate(journal.LAYOUTS) if x.table == "schedule_chunks")
    if kind == "list":
        body = HEAD.pack(SMALLEST + 8, timing, 0) + (0xFFFFFFFF).to_bytes(4, "little") + bytes(4)
        return journal.with_trailer(body) * 100
    if kind == "text":
        return journal.with_trailer(HEAD.pack(SMALLEST + 1, STRING, 0xFFFFFFFF) + b"x") * 100
    return b"".join(HEAD.pack(200_000 - 13 * n, STRING, 1) + b"\1\0\0\0" for n in range(10_000))


@pytest.mark.parametrize("where", ["frame", "window"])
@pytest.mark.parametrize("kind", ["list", "text", "lengths"])
def test_records_made_to_harm_cost_neither_memory_nor_time(kind: str, where: str, tmp_path: Path) -> None:
    """They are lost, and told; what else is there is read."""
    opened = Journal(tmp_path / "a.journal", {"run_id": "r", "writer": "w"})
    opened.add(Timing(run_id="r", case_id="c", duration_ns=1))
    if where == "frame":
        opened._write_frame(3, hostile(kind))
    else:
        opened.write(hostile(kind))
    start = time.process_time()
    contents = read(opened.path)
    rows = rows_of(contents)

    assert [row["duration_ns"] for row in rows["timings"]] == [1]
    assert max(contents.strings, default=0) < 100
    assert contents.damage or (kind, where) in {
        ("text", "frame"),
        ("lengths", "window"),
    }  # nothing names it; nothing is whole
    assert time.process_time() - start < 20  # seconds: quadratic time would be minutes


@exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_a_campaign_of_random_damages_is_never_silent(seed: int, journal_of: tuple[str, bytes], tmp_path: Path) -> None:
    """Missing events are reported, nothing is twice, and nothing that checksums hold for has changed."""
    how, data = journal_of
    draw = random.Random(seed)
    kinds = [zeroed(64), zeroed(4096), flipped, cut, zeroed(1)]
    written = told = 0
    for _ in range(125):
        damage, at = draw.choice(kinds), draw.randrange(len(data))
        try:
            contents, durations, _ = after(data, damage, at, tmp_path / "a.journal")
        except (Unreadable, NeverBegun):
            assert damage is cut and at < 4096
            continue
        lost = COUNT - len(durations)
        written, told = written + lost, told + contents.lost
        assert len(set(durations)) == len(durations) or contents.unchecked
        assert bool(lost) <= bool(contents.damage), (at, lost)
    print(f"{how}: {125 * COUNT:,} events written, {written:,} lost, {told:,} told lost")


SIGNALS = """
import itertools, signal, sys
from pathlib import Path
import bench

class Alarm({base}):
    pass

numbers = itertools.count()
count, armed = 0, False

def ring(*_):
    global count, armed
    if armed:
        count, armed = count + 1, False
        raise Alarm("time is up")

signal.signal(signal.SIGALRM, ring)
run = bench.run("signals", store=Path(sys.argv[1]))
case = run.case("case")
seen = calls = 0
signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
while count < 100:
    try:
        armed = True
        while True:
            number = next(numbers)
            {call}
            calls += 1
    except Alarm:
        seen += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(count, seen, calls)
run.close(seal=False)
"""


@pytest.mark.parametrize("base", first_of(1, ["ValueError", "TypeError", "Exception"]))
@pytest.mark.parametrize(
    "call",
    [
        "case.timing(number)",
        "case.timing(number, details={'block': 1})",
        "case.metric('m', number)",
        "run.schedule_chunk([number])",
    ],
)
def test_what_a_signal_handler_raises_reaches_its_caller(base: str, call: str, tmp_path: Path) -> None:
    """Each time, whatever its class; the event of the call that it interrupts is there once, or not at all."""
    script = SIGNALS.format(base=base, call=call)
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    count, seen, calls = map(int, done.stdout.split())
    rows = [row for path in EventLog(Store(tmp_path)).journals() for row in written_values(read(path))]

    assert seen == count
    assert len(rows) == len(set(rows))
    assert calls <= len(rows) <= calls + count


@pytest.mark.parametrize("base", [ValueError, TypeError, AttributeError, BufferError, OSError])
def test_what_is_raised_at_any_line_of_a_call_reaches_its_caller(base: type[Exception], tmp_path: Path) -> None:
    """One `except ValueError` around `mmap.tell` took an alarm for a journal that was closed: the loop never ended."""
    calls: list[Callable[[bench.Case], object]] = [
        lambda case: case.timing(1),
        lambda case: case.timing(1, details={"block": 1}),
        lambda case: case.metric("m", 1),
        lambda case: case.metric("m", 1.5, unit="x", text="a"),
    ]
    with bench.run("lines", store=tmp_path) as run:
        case = run.case("case")
        for call in calls:
            call(case)
            at, reached = 0, True
            while reached:
                at, reached = at + 1, False
                try:
                    with Raising(base("an alarm"), at):
                        call(case)
                except base as error:
                    reached = str(error) == "an alarm"
            assert at > 5 and not Raising.armed, at
        case.timing(2)


class Raising:
    """For a `with` block: raises an error at so many lines of bench from its beginning."""

    armed = False  # whether one was raised that nobody saw

    def __init__(self, error: Exception, at: int) -> None:
        self._error, self._left = error, at

    def __enter__(self) -> None:
        Raising.armed = False
        sys.settrace(self._trace)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        sys.settrace(None)
        Raising.armed &= error is not self._error

    def _trace(self, frame: Any, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(WAREHOUSE):
            return None
        self._left -= event == "line"
        if not self._left:
            self._left = -1
            Raising.armed = True
            raise self._error
        return self._trace


def written_values(contents: Contents) -> list[int]:
    found = list[int]()
    for part in contents.parts():
        for rows in part:
            for name in ("duration_ns", "value", "chunk_sizes"):
                if rows.layout.table in ("timings", "metrics", "schedule_chunks") and name in rows.columns:
                    found += map(int, rows.columns[name].values.tolist())
    return found


def test_a_handler_that_raises_inside_a_write_does_not_double_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By position: the record is there once the C function has returned, so the exception is passed on, and no more."""
    run = bench.run("a", store=tmp_path)
    case = run.case("c")
    case.timing(0)
    write = case._last[3]

    def interrupted(record: bytes) -> None:
        write(record)
        raise ValueError("from a handler that ran when it returned")

    case._last = (*case._last[:3], interrupted, case._last[4])
    with pytest.raises(ValueError, match="from a handler"):
        case.timing(1)
    run.close(seal=False)

    assert written_values(read(run._journal.path)) == [0, 1]


KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
import bench

run = bench.run("killed", store=Path(sys.argv[1]))
counters = open(sys.argv[2], "r+b")
import mmap
shared = mmap.mmap(counters.fileno(), 0)

def record(thread):
    case = run.case(f"case {thread}")
    number = 0
    while True:
        case.timing(number, loops=thread + 1)
        number += 1
        shared[8 * thread : 8 * thread + 8] = number.to_bytes(8, "little")

if sys.argv[3] == "traced":
    def tracer(*_):
        return tracer
    threading.settrace(tracer)
for thread in range(4):
    threading.Thread(target=record, args=(thread,), daemon=True).start()
time.sleep(float(sys.argv[4]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@exhaustive
@pytest.mark.parametrize("how", ["plain", "traced"])
@pytest.mark.parametrize("seed", range(10))
def test_a_campaign_of_kills_loses_nothing(how: str, seed: int, tmp_path: Path) -> None:
    """Four threads, killed at any time: each event whose call returned is there, once."""
    counters = tmp_path / "counters"
    counters.write_bytes(bytes(32))
    pause = 0.05 + random.Random(f"{how}{seed}").random() / 3
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "store", counters, how, str(pause)], check=False)
    acknowledged = [int.from_bytes(counters.read_bytes()[8 * n : 8 * n + 8], "little") for n in range(4)]
    rows: dict[int, list[int]] = {thread: [] for thread in range(4)}
    for path in EventLog(Store(tmp_path / "store")).journals():
        contents = read(path)
        for row in rows_of(contents).get("timings", []):
            rows[row["loops"] - 1].append(row["duration_ns"])
        assert contents.damage == []

    for thread, durations in rows.items():
        assert (sorted(durations) == list(range(len(durations)))) is True
        assert len(durations) - acknowledged[thread] in (0, 1)
    print(f"{how}: {sum(acknowledged):,} events acknowledged, {sum(map(len, rows.values())):,} read")
