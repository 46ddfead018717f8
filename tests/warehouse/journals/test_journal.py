"""Journals: what was acknowledged is read back, whatever happened to the tail."""

import contextlib
import errno
import gzip
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from bench.warehouse import journal
from bench.warehouse.errors import BenchError, Exit
from bench.warehouse.events import EVENTS, CaseRecord, Event, Metric, Outcome, ScheduleChunk, Timing
from bench.warehouse.journal import Journal, JournalClosed, StoreFull, _Window
from bench.warehouse.journals.parts import NeverBegun, Unreadable
from bench.warehouse.journals.reader import Contents, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...exhaustive import at_most, first_of, in_parts, sampled
from ..strategies import any_events, as_dict, events_of, plain, rows_of

pytestmark = pytest.mark.usefixtures("nothing_derived")

RUN = "0198a000-0000-7000-8000-000000000001"
HEADER = {"run_id": RUN, "writer": "w"}
OLD = Path(__file__).parents[2] / "data" / "journals"
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_numbers = itertools.count()


def written(folder: Path, *events: Event) -> Path:
    """A closed journal of these events."""
    path = folder / f"{next(_numbers)}.journal"
    opened = Journal(path, HEADER)
    for event in events:
        opened.add(event)
    opened.close()
    return path


def read_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """All rows with their tables, the run's id restored, values plain."""
    return [
        (table, {"run_id": RUN, **{name: plain(value) for name, value in row.items()}})
        for table, rows in rows_of(read(path)).items()
        for row in rows
    ]


def records_begin(opened: Journal) -> int:
    """Where the records of the first window begin."""
    return journal.pages(len(opened._header)) + journal.COPIES_BYTES + journal.WINDOW_NUMBER.size


def durations(contents: Contents) -> list[int]:
    return [row["duration_ns"] for row in rows_of(contents).get("timings", [])]


def expected(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    order = list(dict.fromkeys(event.TABLE for event in events))
    said = [(event.TABLE, {"run_id": RUN, **as_dict(event)}) for event in events]
    return sorted(said, key=lambda row: order.index(row[0]))


def timing(number: int, **fields: Any) -> Timing:
    return Timing(run_id=RUN, case_id="c", duration_ns=number, **fields)


@pytest.mark.parametrize("kind", first_of(3, EVENTS), ids=lambda kind: kind.TABLE)
@settings(max_examples=at_most(25), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_event_comes_back_as_it_was(kind: type[Event], data: st.DataObject, tmp_path: Path) -> None:
    """Any event of any table, with any values its columns can hold, survives the journal."""
    events = data.draw(st.lists(events_of(kind, run_id=RUN), min_size=1, max_size=4))

    assert expected(events) == read_rows(written(tmp_path, *events))


@pytest.mark.parametrize("writer", ["closed", "killed"])
@pytest.mark.parametrize("layout", [1, 2, 3])
def test_every_layout_there_was_is_read(layout: int, writer: str, tmp_path: Path) -> None:
    """Sixty timings, a metric and a step, by the versions that wrote these layouts; the files are kept for ever."""
    path = tmp_path / "old.journal"
    path.write_bytes(gzip.decompress((OLD / f"j{layout}-{writer}.journal.gz").read_bytes()))
    contents = read(path)
    rows = rows_of(contents)

    assert contents.damage == []
    assert [(row["duration_ns"], row["case_id"], row["metric"]) for row in rows["timings"]] == [
        (number, "c", "latency") for number in range(60)
    ]
    assert [(row["metric"], row["value"], row["unit"]) for row in rows["metrics"]] == [("m", 0.5, "s")]
    assert [(row["chunk_sizes"], row["schedule_ms"]) for row in rows["schedule_chunks"]] == [([3, 4], 1.5)]


@settings(max_examples=at_most(30), suppress_health_check=list(HealthCheck))
@given(events=st.lists(any_events(run_id=RUN), max_size=12), repeat=st.integers(1, 3))
def test_tables_and_repeated_shapes_mix(events: list[Event], repeat: int, tmp_path: Path) -> None:
    """Rows of all tables interleaved, and runs of rows of one shape, decode to the same."""
    events = [event for event in events for _ in range(repeat)]

    assert expected(events) == read_rows(written(tmp_path, *events))


def test_text_larger_than_a_page_and_than_the_file(tmp_path: Path) -> None:
    """A string of a megabyte is one record, checked by its CRC."""
    text = "stderr ☃ " * 120_000
    event = Outcome(run_id=RUN, status="failed", stderr_tail=text)

    assert expected([event, timing(1)]) == read_rows(written(tmp_path, event, timing(1)))


@pytest.mark.parametrize("cuts", in_parts(range(4097), every=16))
@pytest.mark.parametrize("writer", ["gone", "killed"])
def test_a_journal_cut_at_any_byte_keeps_every_whole_record(writer: str, cuts: Sequence[int], tmp_path: Path) -> None:
    """Cut at each byte of its last 4 KB, it yields exactly the events that ended before the cut."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    begins = records_begin(opened)
    ends, events = [], []
    for number in range(40):
        event: Event = timing(number, phase=f"phase {number}") if number % 3 else timing(number)
        if number % 6 == 5:
            event = ScheduleChunk(run_id=RUN, chunk_sizes=list(range(3 * number)), schedule_ms=number / 7)
        opened.add(event)
        events.append(event)
        ends.append(begins + opened.size_bytes)
    if writer == "gone":  # the frame behind the window has all that the window has
        opened.close()
    data = opened.path.read_bytes()[: ends[-1] if writer == "killed" else None]
    path = tmp_path / "cut.journal"

    assert ends[-1] > begins + 4096
    path.write_bytes(data)
    for cut in (len(data) - lost for lost in cuts):
        os.truncate(path, cut)
        whole = sum(end <= cut for end in ends)
        assert whole == sum(len(rows) for rows in rows_of(read(path)).values()), cut
        if cut % 97 == 0 or cut in ends:
            assert expected(events[:whole]) == read_rows(path)


def test_a_long_record_cut_at_any_page_is_dropped_alone(tmp_path: Path) -> None:
    """After power loss the first and last page of a record may be there without those between: the CRC tells."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    for event in (timing(1), ScheduleChunk(run_id=RUN, chunk_sizes=list(range(4000))), timing(2)):
        opened.add(event)
    data = bytearray(opened.path.read_bytes())
    end = records_begin(opened) + opened.size_bytes
    data[end - 20_000 : end - 12_000] = bytes(8000)
    path = tmp_path / "damaged.journal"
    path.write_bytes(data)
    contents = read(path)

    assert durations(contents) == [1, 2]
    assert contents.damage == ["1 event is lost"]


@pytest.mark.parametrize("tail", [bytes(10_000), b"\xff" * 5000, b"\x01" * 5000, random.Random(7).randbytes(9000)])
def test_what_follows_the_last_record_is_ignored(tail: bytes, tmp_path: Path) -> None:
    """Reserved space, zeros or garbage after the last whole record add nothing."""
    path = written(tmp_path, timing(1), timing(2))
    path.write_bytes(path.read_bytes() + tail)

    assert expected([timing(1), timing(2)]) == read_rows(path)


@pytest.mark.parametrize("data", [b"", bytes(100), bytes(600_000), bytes(16) + b"{}" + bytes(600_000)], ids=len)
def test_a_journal_without_a_header_never_began(data: bytes, tmp_path: Path) -> None:
    """Killed before its header was written, which is the last of all, a journal held nothing yet."""
    path = tmp_path / "a.journal"
    path.write_bytes(data)

    with pytest.raises(NeverBegun):
        read(path)


@pytest.mark.parametrize("cut", [4, 8, 11, 12, 100, 6000, 100_000])
def test_a_journal_that_was_cut_says_so(cut: int, tmp_path: Path) -> None:
    """No kill does that: a file has its size before it has a header."""
    path = written(tmp_path, timing(1))
    path.write_bytes(path.read_bytes()[:cut])

    with contextlib.suppress(Unreadable):
        contents = read(path)
        rows_of(contents)
        assert "it was cut" in contents.damage[0]


def test_a_contradicting_journal_is_said_to_be_damaged(tmp_path: Path) -> None:
    """A header that is damaged is read where it stands again; without that: no traceback, no guess."""
    path = written(tmp_path, timing(1))
    data = path.read_bytes()

    path.write_bytes(data[:16] + b"?" * 50 + data[66:])
    assert durations(read(path)) == [1]
    path.write_bytes(path.read_bytes().replace(journal.HEADER_COPY, b"????????"))
    with pytest.raises(Unreadable, match="damaged"):
        read(path)


class Contrary:
    """What a tensor of floats does when asked for an integer."""

    def __repr__(self) -> str:
        return "Contrary()"

    def __index__(self) -> int:
        raise TypeError("only integers")


@pytest.mark.parametrize("wrong", [1 << 63, -(1 << 63) - 1, 1.5, "1", Contrary()], ids=repr)
def test_a_value_that_does_not_fit_loses_nothing_around_it(wrong: Any, tmp_path: Path) -> None:
    """An integer beyond 64 bits, a float where an integer belongs: an error, and a journal without a hole.

    What a value's own class raises is passed on.
    """
    opened = Journal(tmp_path / "a.journal", HEADER)
    opened.add(timing(1))
    with pytest.raises((BenchError, TypeError), match=r"timings|only integers"):
        opened.add(timing(wrong))
    with pytest.raises((BenchError, TypeError), match=r"schedule_chunks|only integers"):
        opened.add(ScheduleChunk(run_id=RUN, chunk_sizes=[1, wrong, 3]))
    with pytest.raises((BenchError, TypeError), match=r"schedule_chunks|only integers"):
        opened.add(ScheduleChunk(run_id=RUN, chunk_sizes=[wrong] * 1000))
    opened.add(timing(2))
    opened.close()

    assert expected([timing(1), timing(2)]) == read_rows(opened.path)


def test_the_error_names_the_value_and_what_its_column_holds(tmp_path: Path) -> None:
    """Seconds given for nanoseconds are the usual mistake."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    with pytest.raises(BenchError, match=r"duration_ns is 0\.00103, and must be a whole number of ns within 64 bits"):
        opened.add(timing(cast(int, 0.00103)))
    with pytest.raises(BenchError, match=r"chunk_sizes is 1\.5, and must be a whole number"):
        opened.add(ScheduleChunk(run_id=RUN, chunk_sizes=cast(list[int], [1, 1.5])))
    opened.close()


NUMBER: Any = 3


@pytest.mark.parametrize(
    "event", [timing(1, phase=7), timing(1, metric=None), ScheduleChunk(run_id=RUN, chunk_sizes=NUMBER)]
)
def test_a_value_of_the_wrong_type_is_named(event: Event, tmp_path: Path) -> None:
    """The error names the table's field, and nothing is written."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    with pytest.raises(BenchError, match=r"(Timing\.(phase|metric)|ScheduleChunk\.chunk_sizes)"):
        opened.add(event)
    opened.close()

    assert read_rows(opened.path) == []


def test_a_closed_journal_takes_no_more(tmp_path: Path) -> None:
    """Closing twice is harmless; adding afterwards is an error, also when it would have fitted."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    opened.close()
    opened.close()
    opened.sync()

    assert opened.size_bytes > 0  # asked for by a thread that has not noticed yet
    with pytest.raises(JournalClosed):
        opened.add(timing(1))


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_journal_that_another_thread_closes_within_an_event_loses_nothing(
    at: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After the definition of a text, of the next, after the record: it is in this journal, or told to go into another."""
    opened, puts = Journal(tmp_path / "a.journal", HEADER), 0
    put = _Window.put

    def closing(window: _Window, record: bytes, defined: Mapping[str, int]) -> None:
        nonlocal puts
        put(window, record, defined)
        puts += 1
        if puts == at:
            opened.close()

    monkeypatch.setattr(_Window, "put", closing)
    event = CaseRecord(case_id="case", run_id=RUN, name="name")
    try:
        opened.add(event)
        kept = 1
    except JournalClosed:
        kept = 0

    assert puts == at and len(read_rows(opened.path)) == kept


@pytest.mark.parametrize("writer", sampled(["gone", "killed"], "killed"))
def test_a_full_disk_is_an_error_and_what_was_written_stays(
    writer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """When the disk takes half of it and then no more, each further event raises; those before are readable."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    room = [300_000]

    def filling(file: int, blobs: Sequence[bytes], offset: int) -> int:
        if not room[0]:
            raise FULL
        count = os.pwrite(file, b"".join(blobs)[: room[0]], offset)
        room[0] -= count
        return count

    monkeypatch.setattr(os, "pwritev", filling)
    count = 0
    with pytest.raises(StoreFull, match="No space left"):
        for count in range(100_000):
            opened.add(timing(count))
    with pytest.raises(StoreFull, match="recorded before is safe"):
        opened.add(timing(count))
    with pytest.raises(StoreFull, match="recorded before is safe"):
        opened.add(Outcome(run_id=RUN, status="failed", stderr_tail="x" * 400_000))
    if writer == "gone":
        opened.close()

    assert list(range(count)) == durations(read(opened.path))
    assert count > 4000


@pytest.mark.parametrize(
    ("code", "exit_code", "cure"),
    [
        (errno.EROFS, Exit.NOT_WRITABLE, "ask who may write there"),
        (errno.EACCES, Exit.NOT_WRITABLE, "ask who may write there"),
        (errno.ENOSPC, Exit.FULL, "free some space"),
        (errno.EIO, Exit.INTERNAL, "look at what is there, and who may write it"),
    ],
)
def test_a_store_that_is_read_only_is_no_internal_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, exit_code: Exit, cure: str
) -> None:
    """Its user chose it, unlike a disk that is full or broken."""
    monkeypatch.setattr(os, "open", lambda *_, **__: _raise(OSError(code, os.strerror(code))))

    with pytest.raises(StoreFull, match=f"{cure}, or choose another store") as error:
        Journal(tmp_path / "a.journal", HEADER)

    assert error.value.exit_code == exit_code


def test_a_disk_with_room_again_takes_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An event that a full disk refused is an error; later events are recorded once it has room again, and nothing is twice."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    opened.add(timing(1))
    monkeypatch.setattr(
        os, "pwritev", lambda file, blobs, offset: os.pwrite(file, b"".join(blobs)[:1000], offset) and _raise(FULL)
    )
    with pytest.raises(StoreFull):
        opened.add(Outcome(run_id=RUN, status="failed", stderr_tail="x" * 400_000))
    opened.add(timing(2))
    killed_now = read_rows(opened.path)
    monkeypatch.undo()
    opened.add(Outcome(run_id=RUN, status="ok", stderr_tail="y" * 400_000))
    opened.add(timing(3))
    after = [row["duration_ns"] for table, row in read_rows(opened.path) if table == "timings"]
    opened.close()

    assert expected([timing(1), timing(2)]) == killed_now
    assert [1, 2, 3] == after == [row["duration_ns"] for table, row in read_rows(opened.path) if table == "timings"]


def _raise(error: Exception) -> int:
    raise error


def test_a_journal_that_finds_no_space_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that tries again with every event runs out of neither descriptors nor names."""

    monkeypatch.setattr(os, "posix_fallocate", lambda *_: _raise(FULL))
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        with pytest.raises(StoreFull):
            Journal(tmp_path / f"{number}.journal", HEADER)

    assert (before, []) == (len(os.listdir("/proc/self/fd")), list(tmp_path.iterdir()))


@pytest.mark.parametrize("long", sampled([10, 400_000], 400_000))
def test_a_signal_handler_may_record_while_the_window_is_written(
    long: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An event recorded inside the writing of others, be it larger than the window, is there once, and they are."""
    write_all, inside = journal._write_all, iter(range(3))

    def interrupted(file: int, blobs: Sequence[bytes | memoryview], offset: int) -> None:
        write_all(file, blobs, offset)
        if (number := next(inside, None)) is not None:
            opened.add(Metric(run_id=RUN, metric="x" * long, value=number))

    monkeypatch.setattr(journal, "_write_all", interrupted)
    opened = Journal(tmp_path / "a.journal", HEADER)
    for number in range(20_000):
        opened.add(timing(number))
    opened.close()
    contents = read(opened.path)

    assert list(range(20_000)) == durations(contents)
    assert sorted(row["value"] for row in rows_of(contents)["metrics"]) == [0, 1, 2]


def test_killed_anywhere_within_a_drain_every_record_is_there_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever part of the window is written behind it when the writer dies, readers count it once."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    for number in range(500):
        opened.add(timing(number))
    copies = []

    def in_pieces(file: int, blobs: Sequence[bytes], offset: int) -> int:
        copies.append(opened.path.read_bytes())
        return os.pwrite(file, b"".join(blobs)[:1111], offset)

    monkeypatch.setattr(os, "pwritev", in_pieces)
    opened.drain()
    copies.append(opened.path.read_bytes())
    opened.add(timing(500))
    copies.append(opened.path.read_bytes())
    monkeypatch.undo()
    opened.close()
    path = tmp_path / "copy.journal"
    found = []
    for copy in copies:
        path.write_bytes(copy)
        found.append(durations(read(path)))

    assert [list(range(500))] * (len(copies) - 1) + [list(range(501))] == found
    assert len(copies) > 10


def test_a_journal_may_be_longer_than_its_strings_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Strings beyond those worth remembering are defined again, and come back right."""
    monkeypatch.setattr(journal, "REMEMBERED_STRINGS", 3)
    events: list[Event] = [timing(n, phase=f"phase {n % 7}") for n in range(100)]

    assert expected(events) == read_rows(written(tmp_path, *events))


def test_lists_of_very_many_lengths_cost_no_memory(tmp_path: Path) -> None:
    """The packers of 20,000 shapes are not all kept."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    for count in range(20_000):
        opened.struct(journal.KIND_OF_EVENT[ScheduleChunk], 2, (count,))
    opened.close()

    assert len(opened._structs) <= 10_001


def test_the_header_says_how_every_table_lies(tmp_path: Path) -> None:
    """A later bench reads an older journal by its own header, not by today's declarations."""
    path = written(tmp_path, timing(1))
    data = path.read_bytes()
    header = json.loads(zlib.decompress(data[16 : 16 + struct.unpack_from("<I", data, 8)[0]]))

    narrow = ["schedule_chunks"]  # a second layout, for chunks that fit 16 bits
    assert [kind.TABLE for kind in EVENTS] + narrow == [table for table, _, _ in header["tables"]]
    assert header["run_id"] == RUN


TRACED = """
import sys, threading
from pathlib import Path
from bench.warehouse.journal import Journal
from bench.warehouse.events import Timing

how, path, threads, each = sys.argv[1], Path(sys.argv[2]), 4, int(sys.argv[3])
opened = Journal(path, {"run_id": "r", "writer": "w"})


class Slow:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        for _ in range(3):
            pass
        return self.number


def record(first):
    for number in range(first, first + each):
        value = Slow(number) if how == "conversion" else number
        opened.add(Timing(run_id="r", case_id="c", duration_ns=value))
        if how == "drain" and number % 7 == 0:
            opened.drain()


def tracer(*_):
    return tracer


sys.setswitchinterval(1e-6)
if how == "settrace":
    threading.settrace(tracer)
    sys.settrace(tracer)
elif how == "setprofile":
    threading.setprofile(tracer)
    sys.setprofile(tracer)
started = [threading.Thread(target=record, args=(number * each,)) for number in range(threads)]
for thread in started:
    thread.start()
for thread in started:
    thread.join()
sys.settrace(None)
sys.setprofile(None)
opened.close()
"""


@pytest.mark.parametrize(("each", "rounds"), sampled([(1000, 1), (15_000, 10)], (1000, 1)))
@pytest.mark.parametrize("how", first_of(1, ["settrace", "setprofile", "conversion", "drain"]))
def test_threads_that_anything_may_interrupt_lose_nothing(how: str, each: int, rounds: int, tmp_path: Path) -> None:
    """A tracer, a profiler or a value's own conversion lets threads switch at any line: every event is there once."""
    for number in range(rounds):
        path = tmp_path / f"{number}.journal"
        subprocess.run([sys.executable, "-c", TRACED, how, str(path), str(each)], check=True)
        contents = read(path)
        assert sorted(durations(contents)) == list(range(4 * each))
        assert contents.damage == []


def test_without_the_gil_a_lock_takes_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A build of Python whose threads run at once records, too."""
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    opened = Journal(tmp_path / "a.journal", HEADER)

    def record() -> None:
        for number in range(2000):
            opened.add(timing(number))

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened.close()

    assert sorted(durations(read(opened.path))) == sorted([*range(2000)] * 4)


@pytest.mark.parametrize("damages", sampled([20, 1000], 20))
@pytest.mark.parametrize("writer", sampled(["gone", "killed"], "killed"))
def test_damage_is_seen_and_costs_no_more_than_its_part(writer: str, damages: int, tmp_path: Path) -> None:
    """Flipped bits, zeroed runs, holes and cuts: what is read was written, and what is missing is said."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    count = 5 * journal.WINDOW_BYTES // 77 // 2
    for number in range(count):
        opened.add(timing(number, phase=f"phase {number % 5}"))
    if writer == "gone":
        opened.close()
    data, draw, path = opened.path.read_bytes(), random.Random(writer), tmp_path / "damaged.journal"
    frames = data.index(journal.FRAME)
    silent, wrong = [], []
    for attempt in range(damages):
        damaged, kind = bytearray(data), attempt % 4
        at = draw.randrange(len(data)) if writer == "gone" else draw.randrange(frames, len(data))
        if kind == 0:
            damaged[at] ^= 1 << draw.randrange(8)
        elif kind in (1, 2):
            length = 64 if kind == 1 else 4096
            damaged[at : at + length] = bytes(len(damaged[at : at + length]))
        else:
            del damaged[at:]
        path.write_bytes(damaged)
        try:
            contents = read(path)
            rows = [(row["duration_ns"], row["phase"]) for row in rows_of(contents).get("timings", [])]
        except Unreadable:
            continue
        except NeverBegun:
            silent += [(attempt, at)] if at else []  # an empty file is none
            continue
        wrong += [(attempt, at) for row in rows if row != (row[0], f"phase {row[0] % 5}") or not 0 <= row[0] < count]
        if len(rows) < count and not contents.damage:
            silent.append((attempt, at))
        wrong += [(attempt, at)] if len(set(rows)) < len(rows) else []

    assert (silent, wrong) == ([], [])


def test_a_journal_that_somebody_removes_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next window that is written notices; what was recorded is there under the same name, and the writer is told."""
    opened = Journal(tmp_path / "a.journal", HEADER)
    opened.add(timing(1))
    opened.path.unlink()
    with pytest.raises(JournalClosed):
        opened.drain()

    assert expected([timing(1)]) == read_rows(opened.path)
    assert "a.journal was removed" in capsys.readouterr().err
