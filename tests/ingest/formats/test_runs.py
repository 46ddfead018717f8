"""Results in a store: what becomes a run, what is known already, what joins."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ingest.readers.folders import date_in
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store

from ...exhaustive import exhaustive, first_of
from ..conftest import Load, Rows
from .reading import lay
from .samples import ASV, JMH, SAMPLES, TESTINFRA


def history(*commits: str) -> str:
    """A data.js with an entry a commit."""
    entries = [
        {"commit": {"id": commit}, "date": 1714979289000 + at * 1000, "tool": "pytest",
         "benches": [{"name": "t.py::a", "value": 5.0 + at, "unit": "iter/sec"}]}
        for at, commit in enumerate(commits)
    ]  # fmt: skip
    return f"window.BENCHMARK_DATA = {json.dumps({'lastUpdate': len(commits), 'entries': {'S': entries}})}"


def saved(commit: str, when: str) -> bytes:
    """A saved run of pytest-benchmark."""
    document = json.loads(SAMPLES["pytest-benchmark"]["results.json"])
    return json.dumps(document | {"commit_info": {"id": commit}, "datetime": when}).encode()


@pytest.mark.exhaustive
def test_a_history_that_grew_loads_its_new_entries(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The old ones are known, run by run; the series has a point a commit, in order."""
    lay(tmp_path / "ci", {"data.js": history("a", "b")})
    load(tmp_path / "ci")
    lay(tmp_path / "ci", {"data.js": history("a", "b", "c")})
    report = load(tmp_path / "ci")

    assert [(line.lines, line.loaded, line.known) for line in report.lines] == [(3, 1, 2)]
    assert rows("SELECT lines, loaded, rejected, known FROM source_files ORDER BY lines") == [
        (2, 2, 0, 0),
        (3, 1, 0, 2),
    ]
    assert rows("SELECT git_commit, status, files, cases FROM run_summaries ORDER BY 1") == [
        ("a", "imported", 2, 1), ("b", "imported", 2, 1), ("c", "imported", 1, 1),
    ]  # fmt: skip
    assert rows("SELECT git_commit, value FROM series WHERE metric = 'throughput_mean' ORDER BY position") == [
        ("a", 5.0), ("b", 6.0), ("c", 7.0),
    ]  # fmt: skip
    assert load(tmp_path / "ci").lines[0].known == 3


@pytest.mark.exhaustive
def test_a_history_with_nothing_new_makes_no_run(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Though the bytes of the file are others."""
    lay(tmp_path / "ci", {"data.js": history("a")})
    load(tmp_path / "ci")
    lay(tmp_path / "ci", {"data.js": history("a").replace('"lastUpdate": 1', '"lastUpdate": 9')})

    assert load(tmp_path / "ci").lines[0].known == 1
    assert rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.exhaustive
def test_the_same_benchmark_from_two_tools_joins_by_name(load: Load, rows: Rows, tmp_path: Path) -> None:
    """pytest-benchmark and what github-action-benchmark made of it."""
    lay(tmp_path, {"a/x.json": saved("abc", "2024-05-06"), "b/data.js": history("abc")})
    load(tmp_path / "a", tmp_path / "b")

    assert rows("""
        SELECT DISTINCT ours.name FROM cells AS ours JOIN cells AS theirs USING (name, metric, unit)
        WHERE ours.config = 'a' AND theirs.config = 'b'
    """) == [("t.py::a",)]  # fmt: skip


def test_saved_runs_are_runs_of_their_machine(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Of a storage folder with its subfolders; each has its commit and time, and a new one is only added."""
    files = {
        ".benchmarks/linux/0001_a.json": saved("a", "2024-05-06"),
        ".benchmarks/linux/0002_b.json": saved("b", "2024-05-07"),
    }
    lay(tmp_path, files | {".benchmarks/mac/0001_a.json": saved("a", "2024-05-08")})
    load(tmp_path / ".benchmarks")
    lay(tmp_path, {".benchmarks/linux/0003_c.json": saved("c", "2024-05-09")})
    report = load(tmp_path / ".benchmarks")

    assert sum(line.known for line in report.lines) == 6
    assert rows("SELECT config, git_commit FROM series WHERE metric = 'latency' ORDER BY ALL") == [
        (".benchmarks/linux", "a"), (".benchmarks/linux", "b"), (".benchmarks/linux", "c"), (".benchmarks/mac", "a"),
    ]  # fmt: skip


@exhaustive
def test_the_folder_of_a_project_has_its_saved_runs(load: Load, rows: Rows, tmp_path: Path) -> None:
    """They are found though the storage folder is hidden, and the config is named by the project and the machine."""
    lay(
        tmp_path, {"mine/.benchmarks/linux/0001_a.json": saved("a", "2024-05-06"), "mine/setup.py": "import setuptools"}
    )
    load(tmp_path / "mine")

    assert rows("SELECT config, git_commit FROM runs") == [("mine/linux", "a")]


@exhaustive
def test_folders_of_nights_are_runs_of_one_config(load: Load, rows: Rows, tmp_path: Path) -> None:
    """A folder that is named by its date, a job or a commit is no machine: its files are further runs of the folder above."""
    folders = {"c6": "2024-05-06", "c7": "2024-05-07", "c8": "17234567890", "c9": "4f0c1de"}
    lay(
        tmp_path,
        {f"nightly/{folder}/shard1.json": saved(commit, f"2024-05-0{commit[1]}") for commit, folder in folders.items()},
    )
    load(tmp_path / "nightly")

    assert rows("SELECT config, git_commit FROM runs ORDER BY 2") == [("nightly", commit) for commit in folders]


GO = "goos: linux\ngoarch: amd64\npkg: x/y\nBenchmarkFoo-8\t1000\t{} ns/op\nPASS\n"


@exhaustive
def test_files_named_by_their_day_are_runs_that_began_then(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Of a tool that writes no date; shards of a day are one run, and a note says where the time comes from."""
    names = ("2026-11-01", "2026-11-02-shard1", "2026-11-02-shard2", "nightly_20261103_0215")
    lay(tmp_path, {f"n/{name}.txt": GO.format(100 + at) for at, name in enumerate(names)})
    report = load(tmp_path / "n")

    assert rows("SELECT strftime(began_at, '%d %H:%M') FROM run_summaries ORDER BY 1") == [
        ("01 00:00",), ("02 00:00",), ("03 02:15",),
    ]  # fmt: skip
    note = "began on the day in the name: the run of 2026-11-01.txt and 2 others; --set time=… says otherwise"
    assert note in report.notes
    assert [line.known for line in load(tmp_path / "n").lines] == [line.loaded for line in report.lines]


def test_a_case_that_its_file_names_is_the_same_each_night(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The day in the name is no part of it, nor is a packed file's ending; what is only a day is named by its format."""
    table = b"N,Triton (GB/s)\n256,51.2\n"
    names = ("softmax_2026-11-01.csv", "softmax-20261102_021500Z.csv.gz", "2026-11-03.csv", "softmax_20261399.csv")
    lay(tmp_path / "n", {name: gzip.compress(table) if name.endswith("gz") else table for name in names})
    load(tmp_path / "n")

    assert rows("SELECT name, count(DISTINCT run_id) FROM cases GROUP BY 1 ORDER BY 1") == [
        ("softmax", 2), ("softmax_20261399", 1), ("triton-report", 1),
    ]  # fmt: skip


@exhaustive
def test_the_day_of_a_folder_counts_where_no_file_says_one(load: Load, rows: Rows, tmp_path: Path) -> None:
    """And what a file says of itself before both; a folder farther up counts if the day is all that its name says."""
    files = {"2026-11-01/go.txt": GO.format(100), "2026-11-02/x_2026-11-05.json": saved("c", "2024-05-06")}
    lay(
        tmp_path,
        files | {"n-2026-11-03/checkpoint-5/go.txt": GO.format(101), "2026-11-04-mine/in/x/go.txt": GO.format(102)},
    )
    for name in ("2026-11-01", "2026-11-02", "n-2026-11-03", "2026-11-04-mine"):
        load(tmp_path / name)

    days = rows("SELECT began_at::DATE::VARCHAR FROM run_summaries ORDER BY 1")
    assert days[:-1] == [("2024-05-06",), ("2026-11-01",), ("2026-11-03",)]
    assert len(days) == 4 and "2026-11-04" not in days[-1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-11-01.csv", "2026-11-01T00:00:00"),
        ("run_20261101T235959.json", "2026-11-01T23:59:59"),
        ("x 2026.11.01 07h30.log", "2026-11-01T07:30:00"),
        ("2026-13-01.csv", None),
        ("2026-02-30.csv", None),
        ("b87b20261101a.json", None),
        ("120261101.csv", None),
        ("2026-1101.csv", None),
    ],
)
def test_a_date_in_a_name_is_a_day_of_the_calendar(name: str, expected: str | None) -> None:
    """A part of a checksum or of a longer number is none."""
    found = date_in(name)

    assert (found and found.isoformat()[:19]) == expected


@pytest.mark.exhaustive
def test_a_label_is_the_beginning_of_the_config(load: Load, rows: Rows, tmp_path: Path) -> None:
    """NAME:PATH names the whole folder; its machines stay apart, and are known again."""
    lay(tmp_path, {f"r/{name}/x.json": json.dumps(ASV | {"commit_hash": name}) for name in ("box", "bax")})
    load(f"A:{tmp_path / 'r'}")
    report = load(f"A:{tmp_path / 'r'}")

    assert rows("SELECT DISTINCT config FROM runs ORDER BY 1") == [("A/bax",), ("A/box",)]
    assert [line.loaded for line in report.lines] == [0, 0]


def test_asv_is_a_history_by_commit(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Whatever the order of the files."""
    dates = {"c1": 1714979289000, "c2": 1604979289000, "c3": 1804979289000}
    lay(
        tmp_path,
        {f"m/{name}.json": json.dumps(ASV | {"commit_hash": name, "date": date}) for name, date in dates.items()},
    )
    load(tmp_path / "m")

    series = "SELECT git_commit FROM series WHERE name = 'time_a' AND metric = 'latency_estimate' ORDER BY position"
    assert rows(series) == [("c2",), ("c1",), ("c3",)]


@pytest.mark.exhaustive
def test_files_that_say_no_run_are_of_one_round(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Also those that join later; a run begins when it was loaded, for want of anything better."""
    hyperfine = SAMPLES["hyperfine"]["results.json"]
    lay(tmp_path, {"h/a.json": hyperfine})
    load(tmp_path / "h")
    lay(tmp_path, {"h/b.json": hyperfine.replace(b"sleep", b"true")})
    load(tmp_path / "h")

    assert rows("SELECT count(*) FROM runs") == [(2,)]
    assert rows("SELECT count(DISTINCT run_id), count(DISTINCT case_id) FROM cells") == [(2, 2)]
    assert rows("SELECT count(DISTINCT round_id) FROM _rounds") == [(1,)]
    assert rows("SELECT DISTINCT began_at > TIMESTAMP '2024-01-01' FROM run_summaries") == [(True,)]


@exhaustive
def test_files_of_one_run_must_not_contradict_each_other(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Two JVMs in one folder are said; both are kept as environments."""
    lay(tmp_path, {"j/a.json": json.dumps([JMH]), "j/b.json": json.dumps([JMH | {"jdkVersion": "8"}])})
    report = load(tmp_path / "j")

    assert any("b.json: says another environment" in note for note in report.notes)
    assert rows("SELECT count(*) FROM environments") == [(2,)]


@pytest.mark.exhaustive
def test_a_sentence_about_many_files_is_said_once(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Each source keeps it all the same."""
    lay(tmp_path, {f"j/{index}.json": json.dumps([JMH | {"benchmark": f"b{index}"}]) for index in range(5)})
    report = load(tmp_path / "j")

    (note,) = [note for note in report.notes if "means of means" in note]
    assert note.startswith("0.json, 1.json, 2.json and 2 more: ")
    assert rows("SELECT count(*) FROM sources WHERE notes IS NOT NULL") == [(5,)]


@pytest.mark.exhaustive
def test_tags_of_the_user_come_on_top(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Of what the file says of its run."""
    lay(tmp_path, {"a/x.json": saved("abc", "2024-05-06")})
    load(tmp_path / "a", tags={"gpu": "h200"})

    assert rows("SELECT tags ->> 'gpu' FROM runs") == [("h200",)]


@pytest.mark.exhaustive
def test_records_of_no_job_share_the_folders_run(load: Load, rows: Rows, tmp_path: Path) -> None:
    """A file a benchmark, as pr_time_benchmarks writes them."""
    bare = {key: TESTINFRA[key] for key in ("benchmark", "model", "metric")}
    other = bare | {"model": {"name": "other"}}
    lay(tmp_path, {"t/a.json": json.dumps([bare]), "t/b.json": json.dumps([other])})
    load(tmp_path / "t")

    assert rows("SELECT count(*) FROM runs") == [(1,)]
    assert rows("SELECT count(DISTINCT run_id) FROM cells") == [(1,)]


@pytest.mark.exhaustive
def test_a_thousand_files_of_one_first_line_are_not_compared_with_each_other(
    load: Load, store: Store, tmp_path: Path
) -> None:
    """Only what may have grown is looked up by its beginning."""
    from bench.ingest.source_index import read_log

    lay(tmp_path, {f"p/{index}.json": b"{\n" + saved(str(index), "2024-05-06")[1:] for index in range(20)})
    load(tmp_path / "p")
    known = read_log(store)

    assert (len(known.rows()), known.by_head) == (20, {})


def _raise(path: Path) -> Path:
    raise RuntimeError(f"Symlink loop from {path}")


@exhaustive
@pytest.mark.parametrize("resolved", first_of(1, [_raise, lambda path: path]), ids=["until 3.12", "from 3.13 on"])
def test_links_that_lead_round_in_a_circle_are_said(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resolved: Callable[[Path], Path]
) -> None:
    """In the folder itself and where a format looks below it, whatever Python makes of such a link."""
    resolve = Path.resolve
    monkeypatch.setattr(Path, "resolve", lambda path, strict=False: (resolved if path.is_symlink() else resolve)(path))
    lay(tmp_path, {"p/x.json": saved("a", "2024-05-06"), "p/sub/y.json": saved("b", "2024-05-06")})
    (tmp_path / "p" / "self").symlink_to("self")
    (tmp_path / "p" / "sub" / "back.json").symlink_to("back.json")
    report = load(tmp_path / "p")

    assert sum(line.loaded for line in report.lines) == 4
    astray = sorted(note.partition(" leads ")[2] for note in report.notes if " leads " in note)
    assert astray == ["round in a circle; not followed"] * 2


def test_a_link_that_leads_to_no_file_is_named(load: Load, tmp_path: Path) -> None:
    """It is there, so no nearest name helps."""
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "gone").symlink_to("nowhere")

    with pytest.raises(BenchError, match=r"self is a link that leads round in a circle\.$"):
        load(tmp_path / "self")
    with pytest.raises(BenchError, match=r"gone is a link that leads nowhere\.$"):
        load(tmp_path / "gone")
