"""Folders of folders: what `bench ingest profiling_dir/` makes of them."""

import itertools
import json
import shlex
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from bench.ingest.plan import SourceOptions
from bench.ingest.readers.folders import is_repeat
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.warehouse.errors import BenchError

from ..exhaustive import exhaustive, first_of
from .conftest import Load, Rows
from .formats.reading import lay
from .formats.samples import SAMPLES
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")


def write(folder: Path, number: int, name: str = "p_0") -> None:
    """A profile of one step in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text(lines(step(number)))


@pytest.fixture
def profiling_dir(tmp_path: Path) -> Path:
    """Two configs of two days each."""
    for number, place in enumerate(("A/day-1", "A/day-2", "B/day-1", "B/day-2")):
        write(tmp_path / "profiling_dir" / place, number)
    return tmp_path / "profiling_dir"


def test_folders_of_folders_are_configs_and_those_that_count_are_their_runs(
    load: Load, rows: Rows, profiling_dir: Path
) -> None:
    """The note says so, and how to have it otherwise; a second ingest finds all of it known."""
    report = load(profiling_dir)

    assert rows("SELECT config, count(*) FROM runs GROUP BY ALL ORDER BY ALL") == [("A", 2), ("B", 2)]
    assert report.notes == [
        f"{profiling_dir} holds folders of results: A (2 folders), B (2 folders). "
        f"To make them runs of one config: bench ingest NAME:{profiling_dir}"
    ]
    assert sum(line.known for line in load(profiling_dir).lines) == 4


@exhaustive
def test_logs_that_are_named_by_day_are_runs_and_parts_of_a_log_are_one(load: Load, rows: Rows, tmp_path: Path) -> None:
    """A night that is added later is a run more; what is there stays."""
    for number, name in enumerate(("2026-11-27", "2026-11-28", "part_0", "part_1")):
        write(tmp_path / "A", number, name)
    load(tmp_path / "A")
    write(tmp_path / "A", 7, "2026-11-29")
    report = load(tmp_path / "A")

    assert sum(line.known for line in report.lines) == 4
    assert rows("SELECT config, count(DISTINCT source_id) AS n FROM sources GROUP BY config, run_id ORDER BY n") == [
        ("A", 1), ("A", 1), ("A", 1), ("A", 2)
    ]  # fmt: skip


@exhaustive
def test_a_name_or_a_folder_of_days_makes_one_config(load: Load, rows: Rows, profiling_dir: Path) -> None:
    """The name that a user gives is kept; days are named by the folder that holds them."""
    assert load(profiling_dir / "A").notes == [f"{profiling_dir / 'A'} holds folders of results: A (2 folders)"]
    load(f"mine:{profiling_dir / 'B'}")

    assert rows("SELECT config, count(*) FROM runs GROUP BY ALL ORDER BY ALL") == [("A", 2), ("mine", 2)]


@exhaustive
def test_deeper_folders_are_named_by_all_that_do_not_count(load: Load, rows: Rows, tmp_path: Path) -> None:
    """A date between them or above them says nothing of the config."""
    write(tmp_path / "top" / "h100" / "2026-11-28" / "A", 1)
    write(tmp_path / "nights" / "2026-11-28" / "B", 2)
    load(tmp_path / "top", tmp_path / "nights")

    assert rows("SELECT config FROM runs ORDER BY config") == [("B",), ("h100/A",)]


def test_what_lies_beside_the_folders_is_told(load: Load, rows: Rows, profiling_dir: Path) -> None:
    """A README, an empty file and a folder of pictures leave the rest as it is."""
    (profiling_dir / "README.md").write_text("# What this is\n")
    (profiling_dir / "keep").write_text("")
    (profiling_dir / "pictures").mkdir()
    (profiling_dir / "pictures" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (profiling_dir / ".hidden").mkdir()

    notes = load(profiling_dir).notes

    assert rows("SELECT count(*) FROM runs") == [(4,)]
    assert notes[0] == f"{profiling_dir / 'keep'} is empty"
    assert notes[1].startswith("profiling_dir/README.md begins with") and "left out" in notes[1]
    assert notes[2] == f"nothing in {profiling_dir / 'pictures'} is recognised; left out"


def test_folders_without_any_result_are_an_error(load: Load, tmp_path: Path) -> None:
    """As an empty folder is."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    with pytest.raises(BenchError, match=r"the folder .*a holds no files"):
        load(tmp_path / "a")


@exhaustive
def test_tables_that_lie_deeper_are_proposed_for_the_whole_path(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The command that is proposed reads every folder, whatever lies beside them."""
    for day in ("2026-11-27", "2026-11-28"):
        (tmp_path / "nights" / day / "A").mkdir(parents=True)
        (tmp_path / "nights" / day / "A" / "r.csv").write_text(f"kernel,took_ms\ngemm,1.{day[-1]}\n")
    (tmp_path / "nights" / "notes.md").write_text("# What this is\n")

    with pytest.raises(BenchError) as raised:
        load(tmp_path / "nights")
    proposed = shlex.split(str(raised.value).splitlines()[-1])
    load(proposed[2], sources=SourceOptions(own=MappedFormat(parse_mapping([proposed[4]]))))

    assert proposed[:3] == ["bench", "ingest", str(tmp_path / "nights")]
    assert rows("SELECT config, count(*) FROM runs GROUP BY ALL") == [("A", 2)]


@pytest.mark.parametrize(
    ("name", "repeats"),
    [
        ("day-1", True), ("run_02", True), ("seed3", True), ("2026-11-28", True), ("20261128", True),
        ("nightly-2026-11-28T03:00:10Z", True), ("2026-11-28_0300", True),
        ("A", False), ("1024", False), ("tokens-2048", False), ("v2", False), ("run", False), ("day-1-slow", False),
        ("rank0", False),
    ],
)  # fmt: skip
def test_a_repeat_is_told_by_its_name(name: str, repeats: bool) -> None:
    """By a word that counts, or a date; a bare number may be a setting."""
    assert is_repeat(name) is repeats


def served(began: str) -> bytes:
    """A result of vLLM, which says when it was measured; each is other content."""
    return json.dumps({
        "date": began, "model_id": "m", "backend": "vllm", "num_prompts": 10, "request_rate": "inf",
        "mean_ttft_ms": float(began[-6:]),
    }).encode()  # fmt: skip


def titled(began: str) -> bytes:
    """A report of BenchmarkDotNet, whose title says when it was measured."""
    named = {"Title": f"Parsers.Json-{began}", "HostEnvironmentInfo": {"ProcessorName": "P"}}
    return json.dumps(
        {**named, "Benchmarks": [{"FullName": "a", "Statistics": {"OriginalValues": [float(began[-6:])]}}]}
    ).encode()


def counted(began: str) -> bytes:
    """A table of perf stat -o, which begins with when it was measured."""
    moment = datetime.strptime(began, "%Y%m%d-%H%M%S").ctime()
    return f"# started on {moment}\n\n Performance counter stats for 'a':\n\n {int(began[-6:])} cycles\n".encode()


def summed(began: str) -> bytes:
    """A summary of k6 1.0."""
    metric = {"name": "http_reqs", "type": "counter", "values": {"count": int(began[-6:]), "rate": 1.5}}
    return json.dumps(
        {"version": "1.0.0", "metadata": {"generatedAt": began}, "results": {"metrics": [metric]}}
    ).encode()


def checked(began: str) -> bytes:
    """A report of GoogleTest."""
    test = {"name": "a", "status": "RUN", "time": f"{int(began[-6:])}s"}
    return json.dumps({"timestamp": began, "testsuites": [{"name": "s", "testsuite": [test]}]}).encode()


def test_equal_results_of_two_nights_are_two_runs(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Sizes and counts are equal bytes each quiet night, and again after a repair; a copy of bytes with a date is known."""
    sizes = {
        f"in/2026-11-0{day}/sizes.json": {"a": {"file-size": {"value": size}}}
        for day, size in enumerate((7, 7, 9, 7), 1)
    }
    lay(tmp_path, dict(itertools.islice(sizes.items(), 3)))
    load(tmp_path / "in")
    lay(tmp_path, sizes)
    (note, *_) = (note for note in load(tmp_path / "in").notes if "byte for byte" in note)
    assert note.startswith(f"{tmp_path}/in/2026-11-04/sizes.json: byte for byte")
    days = "SELECT started_at::DATE::VARCHAR, min(value) FROM runs JOIN metrics USING (run_id) GROUP BY ALL ORDER BY 1"

    assert [value for _, value in rows(days)] == [7.0, 7.0, 9.0, 7.0]
    assert sum(line.known for line in load(tmp_path / "in").lines) == 4
    (again,) = load(tmp_path / "in" / "2026-11-01" / "sizes.json", facts={"git_commit": "abc1234"}).lines
    assert again.known == 1  # the run that is there says no commit

    counted = {f"counts/n-2026-11-0{day}.json": {"a": {"instructions": {"value": 5}}} for day in range(1, 6)}
    lay(tmp_path, counted)
    assert [sum(line.known for line in load(tmp_path / "counts").lines) for _ in range(2)] == [0, 5]
    assert rows("SELECT count(DISTINCT run_id), count(DISTINCT source_id) FROM sources WHERE name LIKE 'n-%'") == [
        (5, 5)
    ]

    lay(tmp_path, {f"dated/2026-11-0{day}/x.json": served("20261101-233000") for day in (1, 2)})
    assert sum(line.known for line in load(tmp_path / "dated").lines) == 1


def test_bytes_that_say_when_they_were_measured_are_known_whatever_day_their_folder_says(
    load: Load, rows: Rows, tmp_path: Path
) -> None:
    """A job that began before midnight, a date after much else, a copy of a grown log: none is loaded again."""
    late = "20261101-233000"
    said = json.loads(served(late))
    date = said.pop("date")
    long = json.dumps({**said, "x": ["long"] * 20_000, "date": date}).encode()
    lay(tmp_path, {"in/2026-11-02/perf.txt": counted(late), "in/2026-11-02/x.json": long})
    assert [[line.known for line in load(tmp_path / "in").lines] for _ in range(3)] == [[0, 0], [1, 1], [1, 1]]

    for day, steps in ((1, 1), (2, 3), (3, 3)):
        lay(tmp_path, {f"log/2026-11-0{day}/s.jsonl": lines(*map(step, range(steps))).encode()})
    for day in (1, 2, 2, 3, 3, 1):
        load(f"main:{tmp_path}/log/2026-11-0{day}")
    assert rows("SELECT count(*), sum(loaded) FROM sources") == [(4, 5)]


@exhaustive
@pytest.mark.parametrize("result", first_of(1, [served, titled, counted, summed, checked]))
def test_files_that_say_they_are_of_several_nights_are_several_runs(
    load: Load, rows: Rows, tmp_path: Path, result: Callable[[str], bytes]
) -> None:
    """Nobody names them by their day; what comes later joins its night, and a night may begin before midnight."""

    def nights() -> list[tuple[str, int]]:
        return [(str(began), files) for began, files in rows("""
            SELECT r.started_at, count(DISTINCT source_id) FROM runs AS r JOIN sources USING (run_id) GROUP BY ALL ORDER BY 1
        """)]  # fmt: skip

    began = {"a0": "20260501-233000", "b0": "20260502-010000", "a1": "20260502-233100", "b1": "20260503-010100"}
    lay(tmp_path / "in", {f"{name}.json": result(moment) for name, moment in began.items()})
    load(tmp_path / "in")
    assert nights() == [("2026-05-01 23:30:00", 2), ("2026-05-02 23:31:00", 2)]

    lay(
        tmp_path / "in",
        {f"{name}.json": result(moment) for name, moment in (("c1", "20260503-020200"), ("a2", "20260503-233200"))},
    )
    load(tmp_path / "in")
    assert nights() == [("2026-05-01 23:30:00", 2), ("2026-05-02 23:31:00", 3), ("2026-05-03 23:32:00", 1)]
    assert not any(line.loaded for line in load(tmp_path / "in").lines)


@pytest.mark.parametrize("vanishing", [2, 10_000])
def test_folders_that_vanish_under_the_look_are_looked_at_again(
    tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch, vanishing: int
) -> None:
    """A job that removes its folders meanwhile costs no file that stays, though it never stops."""
    lay(tmp_path / "in", {"job/summary.json": SAMPLES["gungraun"]["summary.json"]})
    glob, looks = Path.glob, itertools.count()

    def vanish(self: Path, pattern: str) -> Iterator[Path]:
        if self == tmp_path / "in" and next(looks) < vanishing:
            raise FileNotFoundError(self)
        return glob(self, pattern)

    monkeypatch.setattr(Path, "glob", vanish)
    assert [line.loaded for line in load(tmp_path / "in").lines] == [1]


def test_a_folder_of_the_same_bytes_as_another_says_how_to_load_it(load: Load, rows: Rows, tmp_path: Path) -> None:
    """Equal counts of two configs: the second was missing without a word."""
    lay(tmp_path / "in", {f"{config}/sizes.json": {"a": {"file-size": {"value": 7}}} for config in "AB"})
    (said,) = (note for note in load(tmp_path / "in").notes if "byte for byte" in note)
    load(shlex.split(said.rpartition("bench ingest ")[2])[0])

    assert rows("SELECT config FROM runs ORDER BY 1") == [("A",), ("B",)]
    assert not any("byte for byte" in note for note in load(tmp_path / "in").notes)


@exhaustive
def test_a_folder_keeps_its_name_though_another_shares_a_file(load: Load, rows: Rows, tmp_path: Path) -> None:
    """The accuracy of both is byte for byte the same: it belongs to both, and the times are not those of the other config."""
    names = ["base", "candidate"]
    for name, took in zip(names, ("10.0", "20.0"), strict=True):
        (tmp_path / name).mkdir()
        for kind, text in (
            ("accuracy", "dev,name,batch_size,accuracy\ncuda,net,4,pass\n"),
            ("performance", f"dev,name,batch_size,speedup,abs_latency\ncuda,net,16,2.0,{took}\n"),
        ):
            (tmp_path / name / f"inductor_torchbench_amp_training_cuda_{kind}.csv").write_text(text)
    report = load(*(tmp_path / name for name in names))

    assert [line.loaded for line in report.lines] == [1, 1, 1, 1] and not report.notes
    found = "SELECT config, value FROM metrics JOIN cases USING (run_id, case_id) JOIN runs USING (run_id)"
    assert rows(f"{found} WHERE metric = 'absolute_latency' ORDER BY 1") == [("base", 10e6), ("candidate", 20e6)]
    assert rows("SELECT config, count(*) FROM sources GROUP BY 1 ORDER BY 1") == [("base", 2), ("candidate", 2)]
