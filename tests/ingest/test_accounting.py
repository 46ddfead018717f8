"""Files of one ingest are planned like those of several, and every line that was read is in one of the counts."""

import gzip
import json
import random
from pathlib import Path

import pytest
from bench.ingest import plan
from bench.ingest.format import Tally
from bench.ingest.formats.gungraun import Gungraun
from bench.ingest.formats.scheduler import SchedulerSteps
from bench.ingest.load_notes import folded
from bench.ingest.plan import SourceOptions
from bench.ingest.registry import find_format
from bench.ingest.run import ingest
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.ingest.user_formats.pattern import Pattern
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, Exit
from bench.warehouse.store import Store
from bench.warehouse.upkeep.verify import verify

from ..exhaustive import exhaustive, first_of, in_parts
from .conftest import Load, Rows
from .formats.reading import lay, read_file
from .formats.samples import SAMPLES
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")


def profile(path: Path, count: int, end: str = "\n") -> Path:
    """A profile of so many steps, the same whatever follows them."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(lines(*map(step, range(count))).removesuffix("\n") + end)
    return path


@pytest.mark.parametrize("end", first_of(1, ["\n", ""]))
@pytest.mark.parametrize(
    "alone_bytes", first_of(1, [0, plan.SIDE_BY_SIDE_BYTES]), ids=["hashed side by side", "one by one"]
)
def test_a_file_that_grew_into_another_of_the_same_call(
    load: Load, rows: Rows, tmp_path: Path, end: str, alone_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten of sixty lines were left out in silence: the longer file was taken for a copy of the shorter one."""
    monkeypatch.setattr(plan, "SIDE_BY_SIDE_BYTES", alone_bytes)
    files = [profile(tmp_path / f"e{n}" / "prof", count, end) for n, count in enumerate((50, 60, 60, 75), 1)]
    report = load(*files)

    assert [(line.lines, line.loaded, line.known) for line in report.lines] == [
        (50, 50, 0), (60, 10, 50), (60, 0, 60), (75, 15, 60),
    ]  # fmt: skip
    assert rows("SELECT count(*), count(DISTINCT line), max(line) FROM schedule_chunks") == [(75, 75, 75)]
    assert [line.known for line in load(*files).lines] == [50, 60, 60, 75]


@exhaustive
def test_a_file_that_grew_into_another_of_the_same_folder(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Sixty lines, not 110, as where the shorter one came with an ingest of its own."""
    profile(tmp_path / "e" / "prof_1", 50)
    profile(tmp_path / "e" / "prof_2", 60)

    assert [(line.lines, line.loaded, line.known) for line in load(tmp_path / "e").lines] == [(50, 50, 0), (60, 10, 50)]
    assert rows("SELECT count(*) FROM schedule_chunks") == [(60,)]


@exhaustive
def test_an_older_copy_behind_a_longer_one_is_known(load: Load, rows: Rows, tmp_path: Path) -> None:
    """In any order of one call, and again in the next: 14 of 35 lines were in the store twice, under the same numbers."""
    files = [profile(tmp_path / f"e{count}" / "prof", count) for count in (7, 21, 14, 35, 28)]
    assert [(line.loaded, line.known) for line in load(*files).lines] == [(7, 0), (14, 7), (0, 14), (14, 21), (0, 28)]
    assert [line.known for line in load(*files).lines] == [7, 21, 14, 35, 28]
    assert rows("SELECT count(*), count(DISTINCT line), count(DISTINCT run_id) FROM schedule_chunks") == [(35, 35, 1)]


@pytest.mark.exhaustive
def test_an_older_copy_that_comes_alone_is_a_run_of_its_own(
    load: Load, rows: Rows, store: Store, tmp_path: Path
) -> None:
    """Nobody can tell it from a file that goes on in another way: a note says so, and no row is twice in a run."""
    for count in (7, 21, 14):
        report = load(profile(tmp_path / f"e{count}" / "prof", count))

    assert any("an older state of it; it becomes a new run" in note for note in report.notes)
    assert rows("SELECT count(*), count(DISTINCT line) FROM schedule_chunks GROUP BY run_id ORDER BY 1") == [
        (14, 14),
        (21, 21),
    ]
    assert verify(store).problems == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("alone_bytes", [0, plan.SIDE_BY_SIDE_BYTES], ids=["hashed side by side", "one by one"])
@pytest.mark.parametrize("trials", in_parts(range(8), every=5))
def test_one_call_loads_what_several_would(
    trials: list[int], alone_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs and profiles that begin alike, in any order and any folders, plain or with a pattern: as if each came as it grew."""
    monkeypatch.setattr(plan, "SIDE_BY_SIDE_BYTES", alone_bytes)
    for trial in trials:
        draw = random.Random(trial)
        folder = tmp_path / str(trial)
        folder.mkdir()
        files = [
            profile(folder / draw.choice("ab") / f"p_{number}", draw.choice((3, 5, 5, 8)), draw.choice(("\n", "")))
            for number in range(4)
        ]
        own = Pattern(r'"batch_id": (?P<batch>\d+)', ["name:=s,value=batch"]) if trial % 2 else None
        options = SourceOptions(own=own)
        together, apart = Store(folder / "together"), Store(folder / "apart")
        ingest(together, list(map(str, files)), sources=options)
        for file in sorted(files, key=lambda file: file.stat().st_size):
            ingest(apart, [str(file)], sources=options)

        assert counts(together) == counts(apart), files
        assert verify(together).problems == verify(apart).problems == {}


def counts(store: Store) -> list[tuple[int, ...]]:
    """Lines, and what became of them."""
    with Warehouse.open(store) as warehouse:
        return warehouse.rows(
            "SELECT sum(lines), sum(loaded), sum(left_out), (SELECT count(*) FROM schedule_chunks),"
            " (SELECT count(*) FROM timings), (SELECT count(*) FROM metrics) FROM sources"
        )


def test_a_reader_that_loses_a_line_is_an_error(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a reader forgets to count a line, or its outcome; nothing of the file is loaded."""
    path = profile(tmp_path / "x" / "prof", 5)
    read = SchedulerSteps.read
    for field in ("lines", "loaded"):

        def forget(self: SchedulerSteps, part: object, batch: object, field: str = field) -> Tally:
            tally = read(self, part, batch)  # type: ignore[arg-type]
            setattr(tally, field, getattr(tally, field) - 1)
            return tally

        monkeypatch.setattr(SchedulerSteps, "read", forget)
        with pytest.raises(
            BenchError, match=r"5 lines read, but accounted for are . loaded.* Please report it"
        ) as error:
            load(path)
        assert error.value.exit_code == Exit.INTERNAL
    monkeypatch.setattr(SchedulerSteps, "read", read)
    assert load(path).lines[0].loaded == 5


def raise_key_error(*_: object) -> None:
    raise KeyError("a key")


@exhaustive
def test_a_bug_in_a_reader_costs_its_file_alone(
    load: Load, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and behind it in the same batch all is loaded, runs that files name by their content too; later it is, too."""
    names = ("github-action-benchmark", "gungraun", "hyperfine")
    files = [tmp_path / kind / next(iter(SAMPLES[kind])) for kind in names]
    for path, kind in zip(files, names, strict=True):
        lay(path.parent, SAMPLES[kind])
    whole = [
        read_file(find_format(kind), path, path.name).tally.loaded for path, kind in zip(files, names, strict=True)
    ]
    with monkeypatch.context() as patch:
        patch.setattr(Gungraun, "load", raise_key_error)
        with pytest.raises(
            BenchError, match=r"the reader of gungraun failed, KeyError: 'a key'.*2 other files are"
        ) as error:
            load(*files)
    loaded: dict[str, int] = dict(rows("SELECT format, sum(loaded)::INTEGER FROM source_files GROUP BY format"))

    assert (error.value.exit_code, loaded) == (Exit.INTERNAL, {names[0]: whole[0], names[2]: whole[2]})
    assert [line.loaded for line in load(*files).lines] == [0, whole[1], 0]


def test_lines_that_no_pattern_matches_are_counted(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The log has four lines; two are rows."""
    log = tmp_path / "train.log"
    log.write_text("start\nloss 1.5\nnoise\nloss 2.5\n")
    (line,) = load(log, sources=SourceOptions(own=Pattern(r"loss (?P<loss>\S+)", ["name:=train,value=loss"]))).lines

    assert (line.lines, line.loaded, line.left_out) == (4, 2, 2)
    assert rows("SELECT lines, loaded, known, left_out FROM source_files") == [(4, 2, 0, 2)]


@pytest.mark.exhaustive
def test_a_packed_file_whose_lines_are_megabytes_long(load: Load, tmp_path: Path) -> None:
    """Its complete lines stayed unread: its first 64 KiB hold no line end, which was taken for a writer at work."""
    path = tmp_path / "long.jsonl.gz"
    long = "x" * (1 << 20)
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(json.dumps({"name": "a", "value": number, "log": long}) + "\n" for number in range(3))
    with pytest.raises(BenchError, match=r"long.jsonl.gz is JSON with the keys name, value, log"):
        load(path)
    mapped = SourceOptions(own=MappedFormat(parse_mapping(["name=name,value=value,ignore=log"])))
    assert load(path, sources=mapped).lines[0].loaded == 3


@pytest.mark.parametrize(
    "broken", ['{"a":' * 200_000, '{"a":' * 100_000 + "x" + "}" * 100_000, '{"a": 1} b', '{"a": 1, b: 2}']
)
def test_a_broken_document_is_no_line_that_is_being_written(load: Load, tmp_path: Path, broken: str) -> None:
    """One nested 200,000 times ended with 0 and "no complete line yet"."""
    (tmp_path / "deep.json").write_text(broken)
    with pytest.raises(BenchError, match=r"(?s)nothing in .*deep\.json is recognised"):
        load(tmp_path / "deep.json")


def test_every_part_of_a_line_waits_for_its_writer(load: Load, tmp_path: Path) -> None:
    """Wherever the line is cut, also within a word, an escape and a character."""
    data = json.dumps({"a": True, "n": [None, -1.5e-7, "\\é\n\u2028"], "é": {"x": False}}, ensure_ascii=False).encode()
    for end in range(1, len(data)):
        (tmp_path / "log").write_bytes(data[:end])
        (note,) = load(tmp_path / "log").notes
        assert "no complete line yet" in note


def test_a_note_on_several_files_is_said_once() -> None:
    """Of the first, with the number of the others; sentences that differ stay."""
    notes = ["a/1.jsonl is empty", "a/2.jsonl is empty", "b.csv: config 'm' is known. See b.csv", "3 runs were forgotten",
             "c.csv: config 'm' is known. See c.csv", "2 runs were forgotten", "a/3.jsonl is broken"]  # fmt: skip

    assert folded(notes) == [
        "a/1.jsonl (and 1 more) is empty", "b.csv (and 1 more): config 'm' is known. See b.csv", "3 runs were forgotten",
        "2 runs were forgotten", "a/3.jsonl is broken",
    ]  # fmt: skip
