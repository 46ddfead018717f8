"""Ingest: what is known is known by content, what grew is followed, and every line is accounted for."""

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import bench
import pytest
from bench.ingest.accounting import Line
from bench.ingest.plan import SourceOptions
from bench.ingest.run import IngestReport, ingest
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ..exhaustive import exhaustive
from .conftest import Load, Rows
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")


def counts(report: IngestReport) -> list[tuple[str, int, int, int]]:
    """Of every file, by name: name, loaded, rejected, known."""
    return sorted((line.path.name, line.loaded, line.rejected, line.known) for line in report.lines)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A folder of two profiles of three steps each."""
    folder = tmp_path / "server"
    folder.mkdir()
    for number in (9, 10):
        (folder / f"p_{number}.jsonl").write_text(lines(*(step(number * 100 + index) for index in range(3))))
    return folder


def test_a_folder_becomes_one_run_named_after_it(load: Load, rows: Rows, profile: Path) -> None:
    """Its files are read in the order of FEATURES A2, and a second ingest finds all of it known."""
    report = load(profile)
    assert [line.path.name for line in report.lines] == ["p_9.jsonl", "p_10.jsonl"]
    assert counts(report) == [("p_10.jsonl", 3, 0, 0), ("p_9.jsonl", 3, 0, 0)]
    assert counts(load(profile)) == [("p_10.jsonl", 0, 0, 3), ("p_9.jsonl", 0, 0, 3)]

    assert rows("SELECT config, source, count(*) FROM runs GROUP BY ALL") == [("server", "scheduler", 1)]
    assert rows("SELECT count(*), count(DISTINCT run_id) FROM schedule_chunks") == [(6, 1)]


def test_the_same_bytes_under_another_name_are_known(load: Load, profile: Path) -> None:
    """Names, dates and places do not matter."""
    load(profile)
    moved = profile.parent / "moved"
    profile.rename(moved)
    (moved / "p_9.jsonl").rename(moved / "q_9.jsonl")

    assert counts(load(moved)) == [("p_10.jsonl", 0, 0, 3), ("q_9.jsonl", 0, 0, 3)]


@pytest.mark.exhaustive
def test_a_label_of_its_own_loads_known_content_again(load: Load, rows: Rows, profile: Path) -> None:
    """NAME:PATH asks for the content under that config, and the other is named."""
    load(f"A:{profile}")
    again = load(f"B:{profile}")

    assert counts(again) == [("p_10.jsonl", 3, 0, 0), ("p_9.jsonl", 3, 0, 0)]
    assert any("also there as 'A'" in note for note in again.notes)
    assert counts(load(f"A:{profile}")) == counts(load(profile)) == [("p_10.jsonl", 0, 0, 3), ("p_9.jsonl", 0, 0, 3)]
    assert rows("SELECT config, count(*) FROM runs JOIN schedule_chunks USING (run_id) GROUP BY 1 ORDER BY 1") == [
        ("A", 6),
        ("B", 6),
    ]


@exhaustive
def test_a_grown_file_loads_its_new_lines_only(load: Load, rows: Rows, profile: Path) -> None:
    """Lines are numbered on, even when the file was renamed meanwhile."""
    load(profile)
    grown = profile / "renamed_9.jsonl"
    (profile / "p_9.jsonl").rename(grown)
    with grown.open("a") as file:
        file.write(lines(step(903), "", step(904)))

    assert counts(load(profile)) == [("p_10.jsonl", 0, 0, 3), ("renamed_9.jsonl", 2, 1, 3)]
    assert rows("SELECT line, batch_id FROM schedule_chunks WHERE batch_id BETWEEN 900 AND 999 ORDER BY 1") == [
        (1, 900), (2, 901), (3, 902), (4, 903), (6, 904),
    ]  # fmt: skip
    assert rows("SELECT part, first_line, lines, loaded, rejected FROM sources WHERE part = 1") == [(1, 4, 3, 2, 1)]
    assert rows("SELECT count(DISTINCT source_id), count(DISTINCT run_id) FROM sources") == [(2, 1)]


def test_a_last_line_still_being_written_waits(load: Load, rows: Rows, tmp_path: Path) -> None:
    """At every byte: a whole record without line feed loads, a part of one is left, and nothing is ever lost."""
    path = tmp_path / "p_1.jsonl"
    data = lines(step(1), step(2), step(3)).encode()
    known = 0
    for end in sorted({*range(1, len(data), 41), data.find(b"\n"), data.find(b"\n") + 1, len(data) - 1, len(data)}):
        path.write_bytes(data[:end])
        for line in load(path).lines:
            assert (line.known, line.rejected) == (known, 0)
            known += line.loaded

    assert known == 3
    assert rows("SELECT line, batch_id FROM schedule_chunks ORDER BY 1") == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.exhaustive
def test_a_first_line_of_many_megabytes_is_not_taken_for_one_still_being_written(load: Load, tmp_path: Path) -> None:
    """The file was passed over with exit code 0; with --format its other lines are loaded."""
    path = tmp_path / "long.jsonl"
    path.write_text(lines({**step(0), "note": "x" * (17 << 20)}, step(1)))

    with pytest.raises(BenchError, match=r"(?s)long\.jsonl is JSON with the keys .*--format"):
        load(path)
    assert counts(load(path, sources=SourceOptions(format="scheduler"))) == [("long.jsonl", 1, 1, 0)]


@exhaustive
def test_a_rewritten_file_is_a_run_of_its_own(load: Load, rows: Rows, profile: Path) -> None:
    """A file of a known name with another beginning is not the file known."""
    load(profile)
    (profile / "p_9.jsonl").write_text(lines(step(1), step(2)))

    assert counts(load(profile)) == [("p_10.jsonl", 0, 0, 3), ("p_9.jsonl", 2, 0, 0)]
    assert rows("SELECT count(*) FROM runs") == [(2,)]


@pytest.mark.exhaustive
def test_a_file_added_later_joins_the_run(load: Load, rows: Rows, profile: Path) -> None:
    """If one file of a folder is known, the others belong to its run."""
    load(profile)
    (profile / "p_1.jsonl").write_text(lines(step(5)))

    assert counts(load(profile)) == [("p_1.jsonl", 1, 0, 0), ("p_10.jsonl", 0, 0, 3), ("p_9.jsonl", 0, 0, 3)]
    assert rows("SELECT count(DISTINCT run_id) FROM sources") == [(1,)]
    assert rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.exhaustive
def test_a_copy_in_the_same_folder_counts_as_known(load: Load, rows: Rows, profile: Path) -> None:
    """The same steps are not counted twice."""
    (profile / "copy_9.jsonl").write_bytes((profile / "p_9.jsonl").read_bytes())

    assert counts(load(profile)) == [("copy_9.jsonl", 3, 0, 0), ("p_10.jsonl", 3, 0, 0), ("p_9.jsonl", 0, 0, 3)]
    assert rows("SELECT count(*) FROM schedule_chunks") == [(6,)]


def test_one_run_per_path_however_many_batches(
    load: Load, rows: Rows, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are read in parallel share one `runs` row."""
    monkeypatch.setattr("bench.ingest.run.BATCH_BYTES", 1)
    load(profile)

    assert rows("SELECT count(*) FROM runs") == [(1,)]
    assert rows("SELECT count(DISTINCT run_id), count(*) FROM sources") == [(1, 2)]


@exhaustive
@pytest.mark.usefixtures("derived")
def test_what_is_named_last_is_the_newest(
    load: Load, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of imports that do not say when they began the last is `latest`, however much longer the others took to read."""
    monkeypatch.setattr("bench.ingest.run.BATCH_BYTES", 1)
    for name, steps in ("b", 3000), ("a", 1):
        (tmp_path / name).write_text(lines(*map(step, range(steps))))
    load(f"long:{tmp_path / 'b'}", f"short:{tmp_path / 'a'}")

    assert rows("SELECT config FROM run_summaries ORDER BY began_at") == [("long",), ("short",)]


def test_rejects_are_kept(load: Load, rows: Rows, tmp_path: Path) -> None:
    """With file, line, reason and text."""
    path = tmp_path / "p.jsonl"
    path.write_text(lines(step(1), "", "broken"))

    assert counts(load(path)) == [("p.jsonl", 1, 2, 0)]
    assert rows("SELECT name, line, reason, text FROM rejects JOIN sources USING (source_id) ORDER BY line") == [
        ("p.jsonl", 2, "blank line", ""),
        ("p.jsonl", 3, "not valid JSON: Expecting value at character 1", "broken"),
    ]


def test_tags_and_config_name_the_run(load: Load, rows: Rows, profile: Path) -> None:
    """--config and --tag are written with the run."""
    load(profile, sources=SourceOptions(config="fused"), tags={"gpu": "h200"})

    assert rows("SELECT config, tags FROM runs") == [("fused", '{"gpu": "h200"}')]


@pytest.mark.exhaustive
def test_a_colon_in_a_name_is_no_label(load: Load, tmp_path: Path) -> None:
    """The split is at the first colon that an existing path follows."""
    folder = tmp_path / "a:b"
    folder.mkdir()
    (folder / "p.jsonl").write_text(lines(step()))

    assert load(folder).lines[0].config == "a:b"
    assert load(f"x:y:{folder}").lines[0].config == "x:y"


def test_a_dry_run_writes_nothing(tmp_path: Path, profile: Path) -> None:
    """It only says what would be done."""
    report = ingest(Store(tmp_path / "none"), [str(profile)], dry_run=True)

    assert [item.new is not None for item in report.plan.items] == [True, True]
    assert not (tmp_path / "none").exists()


def test_a_path_that_does_not_exist_names_the_nearest(load: Load, profile: Path) -> None:
    """A slip of the finger is answered with the right name."""
    with pytest.raises(BenchError, match=r"Nearest: .*server"):
        load(profile.parent / "sever")


def test_an_empty_path_is_not_the_folder_here(load: Load) -> None:
    """As of a variable of the shell that is not set."""
    with pytest.raises(BenchError, match=r"the path is empty. Give PATH"):
        load("")


def test_what_is_left_out_of_the_folder_here_has_its_name(
    load: Load, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder `.` has no name to put before it."""
    (profile / "notes.bin").write_bytes(b"\0")
    monkeypatch.chdir(profile)

    assert "notes.bin is binary; left out. How to read it: bench ingest notes.bin" in load(".").notes


def test_what_is_not_recognised_is_described(load: Load, tmp_path: Path) -> None:
    """The error says what each file looks like and what could be read."""
    (tmp_path / "notes.txt").write_text("hello \x1b[31m")
    (tmp_path / "x.bin").write_bytes(b"\0\1\2")
    (tmp_path / "x.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(BenchError) as caught:
        load(tmp_path)

    assert "notes.txt begins with" in str(caught.value)
    assert "x.bin is binary" in str(caught.value)
    assert "x.gz is packed, and empty" in str(caught.value)
    assert "name it with --format; the error about an unknown name lists them all" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_unknown_json_is_answered_with_its_keys_and_the_nearest_formats(load: Load, tmp_path: Path) -> None:
    """Each with what the file lacks; a list of all formats says nothing about this file."""
    document = {"tool": "x", "\x1bodd": 1, "results": [{"cmd": "sleep 1", "mean": 1.5, "stats": {"n": 2}}]}
    (tmp_path / "x.json").write_text(json.dumps(document).replace("\\u001b", "\x1b"))
    with pytest.raises(BenchError) as caught:
        load(tmp_path / "x.json")

    said = str(caught.value).splitlines()[1]
    assert (
        "x.json is JSON with the keys tool, �odd, results. The nearest formats: hyperfine (lacks results[].command), "
        in said
    )
    assert said.count("(lacks ") == 3
    assert "nvbench" not in str(caught.value)


def test_unknown_json_lines_are_described_by_their_keys(load: Load, tmp_path: Path) -> None:
    """Twelve of them; no format has any of these."""
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({f"key{key}": key for key in range(14)}) + "\n" for _ in "ab"))
    keys = ", ".join(f"key{key}" for key in range(12))

    with pytest.raises(BenchError, match=f"is JSON with the keys {keys} and 2 more, which no format has"):
        load(tmp_path / "x.jsonl")


def test_strangers_among_the_files_are_noted(load: Load, profile: Path) -> None:
    """A README in the folder is no error, and no secret."""
    (profile / "README").write_text("about")
    (profile / "empty.jsonl").write_text("")

    report = load(profile)

    assert len(report.lines) == 2
    assert any("README" in note for note in report.notes)
    assert any("empty.jsonl is empty" in note for note in report.notes)


def test_links_out_of_the_folder_and_special_files_are_not_followed(load: Load, profile: Path, tmp_path: Path) -> None:
    """A folder brings its own files only."""
    (tmp_path / "secret.jsonl").write_text(lines(step(666)))
    (profile / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    os.mkfifo(profile / "pipe")

    report = load(profile)

    assert {line.path.name for line in report.lines} == {"p_9.jsonl", "p_10.jsonl"}
    assert any("link.jsonl leads out" in note for note in report.notes)
    assert any("pipe is a special file" in note for note in report.notes)


def test_a_forced_format_must_exist(load: Load, profile: Path) -> None:
    """--format names the nearest."""
    with pytest.raises(UnknownName, match="'scheduler'"):
        load(profile, sources=SourceOptions(format="schedule"))


@pytest.mark.exhaustive
def test_names_with_patterns_are_names(load: Load, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """*, ?, [ and quotes in a name mean themselves, in bulk too."""
    monkeypatch.setattr("bench.ingest.formats.scheduler.BULK_BYTES", 0)
    folder = tmp_path / "run=1 'it'"
    folder.mkdir()
    for name in ("p[1]*_1.jsonl", "p1_2.jsonl", "p?_3.jsonl"):
        (folder / name).write_text(lines(step(int(name[-7]))))

    load(folder)

    assert rows("SELECT name, batch_id FROM schedule_chunks JOIN sources USING (source_id) ORDER BY 2") == [
        ("p[1]*_1.jsonl", 1), ("p1_2.jsonl", 2), ("p?_3.jsonl", 3),
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_an_error_in_the_middle_leaves_the_file_out(
    load: Load, rows: Rows, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files before it are kept whole, the file that failed is left out, and the next ingest loads it."""
    monkeypatch.setattr("bench.ingest.run.BATCH_BYTES", 1)
    monkeypatch.setattr("bench.ingest.run.THREADS", 1)
    from bench.ingest.formats import scheduler

    original = scheduler._chunk

    def fail(record: dict[str, int], *rest: object) -> object:
        if record["batch_id"] == 1001:
            raise RuntimeError("boom")
        return original(record, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(scheduler, "_chunk", fail)
    with pytest.raises(BenchError, match="boom"):
        load(profile)
    assert rows("SELECT name, loaded FROM sources") == [("p_9.jsonl", 3)]

    monkeypatch.setattr(scheduler, "_chunk", original)
    assert counts(load(profile)) == [("p_10.jsonl", 3, 0, 0), ("p_9.jsonl", 0, 0, 3)]
    assert rows("SELECT count(*), count(DISTINCT run_id) FROM schedule_chunks") == [(6, 1)]


@pytest.mark.exhaustive
def test_a_killed_ingest_can_be_repeated(load: Load, rows: Rows, store: Store, profile: Path) -> None:
    """SIGKILL between the files of a batch leaves nothing that counts; the next ingest loads every line once."""
    script = """
        import os, signal, sys
        from bench.ingest.run import ingest
        from bench.warehouse import log
        from bench.warehouse.store import Store
        from pathlib import Path

        publish = log.publish
        def die(temporary, folder, stem):
            if folder.name == "sources":
                os.kill(os.getpid(), signal.SIGKILL)
            return publish(temporary, folder, stem)
        log.publish = die
        ingest(Store(Path(sys.argv[1])), [sys.argv[2]])
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(store.root), str(profile)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(file.table == "schedule_chunks" for file in EventLog(store).files())

    assert counts(load(profile)) == [("p_10.jsonl", 3, 0, 0), ("p_9.jsonl", 3, 0, 0)]
    assert rows("SELECT count(*) FROM schedule_chunks") == [(6,)]
    assert rows("SELECT count(*) FROM runs") == [(1,)]


@exhaustive
def test_another_store_is_copied(load: Load, rows: Rows, profile: Path, tmp_path: Path) -> None:
    """Its events come over as they are, once."""
    other = Store(tmp_path / "other").create()
    from bench.ingest.run import ingest

    ingest(other, [str(profile)])

    assert load(other.root).copied == 3
    assert load(other.root).copied == 0
    assert rows("SELECT count(*) FROM schedule_chunks") == [(6,)]
    assert counts(load(profile)) == [("p_10.jsonl", 0, 0, 3), ("p_9.jsonl", 0, 0, 3)]


@pytest.mark.exhaustive
def test_a_file_of_another_store_is_known_by_its_name(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Copied once; renamed it would count twice, and is refused."""
    with bench.run("a", store=tmp_path / "other") as run:
        run.case("c").timing(1)
    (file,) = (tmp_path / "other" / "events" / "timings").iterdir()

    assert [load(file).copied, load(file).copied] == [1, 0]
    with pytest.raises(BenchError, match=r"mine\.parquet has another name than the log gave it"):
        load(file.rename(tmp_path / "mine.parquet"))
    assert rows("SELECT duration_ns FROM timings") == [(1,)]


def test_an_address_is_no_file(load: Load) -> None:
    """It is not repeated, for it may hold a credential; the command that copies from buckets is named."""
    with pytest.raises(BenchError, match="bench store sync SRC DST") as error:
        load("s3://key:secret@bucket/x")
    assert "secret" not in str(error.value)


@pytest.mark.exhaustive
def test_a_store_cannot_be_ingested_into_itself(load: Load, store: Store, profile: Path) -> None:
    """It would wait for its own lock."""
    load(profile)
    with pytest.raises(BenchError, match="the store itself"):
        load(store.root)


def test_lines_are_loaded_rejected_or_known() -> None:
    """The identity that every ingest prints."""
    assert Line(Path("x"), "c", "f", loaded=3, rejected=2, known=4).lines == 9


def notes_of(load: Load, *paths: object) -> list[str]:
    """What is said of loading some paths."""
    return load(*paths).notes


def test_results_beside_the_layout_of_a_tool_come_with_the_command_that_loads_them(load: Load, tmp_path: Path) -> None:
    """Files that the layout leaves out itself, or that no format knows, are told as that."""
    machine = tmp_path / "results" / "Linux-CPython-3.11-64bit"
    machine.mkdir(parents=True)
    suite = {
        "machine_info": {},
        "datetime": "2026-11-01",
        "version": "4",
        "benchmarks": [{"name": "f", "fullname": "t::f", "stats": {"data": [1.0]}}],
    }
    (machine / "0001_a.json").write_text(json.dumps(suite))
    (machine / "notes.txt").write_text("nothing")
    told = f"1 file in subfolders of {machine.parent} is not loaded"
    assert notes_of(load, machine.parent) == [f"{told}: they belong to the layout, or are of no format"]

    for folder in ("days", "docs"):
        (machine.parent / folder).mkdir()
    (machine.parent / "docs" / "read.me").write_text("nothing")
    (machine.parent / "days" / "p.jsonl").write_text(lines(step(1)))

    (note,) = notes_of(load, machine.parent)
    assert note.endswith(
        f"not loaded. 1 folder beside the layout can be loaded with: bench ingest {machine.parent}/days"
    )


def test_files_in_subfolders_are_counted_with_the_command_that_loads_them(load: Load, profile: Path) -> None:
    """Also when something was loaded; hidden folders are passed over."""
    for folder in ("day1", "day2", ".hidden"):
        (profile / folder).mkdir()
        (profile / folder / "p.jsonl").write_text(lines(step(1)))

    command = f"bench ingest {profile}/day1 {profile}/day2"
    (note,) = notes_of(load, profile)
    assert (
        note == f"2 files in subfolders of {profile} are not loaded. Load each folder as a result set with: {command}"
    )
    for folder in ("day3", "day4"):
        (profile / folder).mkdir()
        (profile / folder / "p.jsonl").write_text(lines(step(1)))
    assert notes_of(load, profile)[0].endswith(f"bench ingest {profile}/*/")
    (profile / "day1" / "deep").mkdir()
    (profile / "day1" / "deep" / "p.jsonl").write_text(lines(step(1)))
    assert "find" in notes_of(load, profile)[0]


def test_what_a_folder_leaves_out_comes_with_the_command_that_says_how_to_read_it(load: Load, profile: Path) -> None:
    """Of a file alone the answer is longer."""
    (profile / "t 1.csv").write_text("name,kbytes\na,1\n")

    (note,) = load(profile).notes

    assert note == (
        f"{profile.name}/t 1.csv looks like CSV: name,kbytes; left out. How to read it: bench ingest '{profile / 't 1.csv'}'"
    )


def test_a_link_that_leads_nowhere_is_a_note(load: Load, profile: Path) -> None:
    """The rest of the folder is loaded."""
    (profile / "gone.jsonl").symlink_to(profile / "never-there")

    report = load(profile)

    assert report.notes == [f"{profile / 'gone.jsonl'} leads nowhere; left out"]
    assert len(report.lines) == 2


@pytest.mark.exhaustive
def test_two_sources_of_one_name_do_not_share_a_config_in_silence(load: Load, tmp_path: Path) -> None:
    """Neither in one command nor a day later; a name that was given is meant."""
    folders = [tmp_path / day / "prof" for day in ("e1", "e2", "e3")]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "p.jsonl").write_text(lines(step(number)))

    note = "{0}: config 'prof' is that of {1}, too. Give it another one with: bench ingest NAME:{0}"
    assert notes_of(load, folders[0], folders[1]) == [note.format(folders[1], "another PATH here")]
    assert notes_of(load, folders[0], folders[1]) == []
    assert notes_of(load, folders[2]) == [note.format(folders[2], "2 earlier runs")]
    assert notes_of(load, f"prof:{folders[2]}") == []
