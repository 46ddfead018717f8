"""`bench ingest --pattern`: logs whose lines a regular expression describes."""

import gzip
import random
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ingest.command import ingest as command
from bench.ingest.plan import SourceOptions
from bench.ingest.run import IngestReport
from bench.ingest.user_formats import pattern as module
from bench.ingest.user_formats.pattern import Pattern
from bench.warehouse.errors import BenchError
from bench.warehouse.events import CaseRecord, Reject, Timing
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ..exhaustive import at_most, exhaustive
from .conftest import Rows
from .formats import fuzz
from .formats.reading import Read, lay, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

TOOK = r"(?P<name>\w+) took (?P<value>[\d.]+) ?(?P<unit>ms|s)"
LOG = "starting\nforward took 2.5 ms\nbackward took 1s\nok\nforward took 2.75 ms\n"


def read(tmp_path: Path, content: bytes | str, pattern: str = TOOK, *maps: str) -> Read:
    """What a log becomes by a pattern."""
    lay(tmp_path, {"x.log": content})
    return read_file(Pattern(pattern, maps), tmp_path / "x.log")


def test_a_line_that_matches_is_a_row(tmp_path: Path) -> None:
    """Its named groups are the fields of the same name; lines of the file are numbered; others are counted and said."""
    found = read(tmp_path, LOG)

    assert found.samples() == [(2_500_000, 1), (10**9, 1), (2_750_000, 1)]
    assert [timing.line for timing in found.of(Timing)] == [2, 3, 5]
    assert found.names == ["forward", "backward"]
    assert found.accounting == (5, 3, 0)
    assert "x.log: 2 lines do not match the pattern" in found.tally.notes


def test_other_groups_by_a_mapping(tmp_path: Path) -> None:
    """They are its columns; those without a field are parameters."""
    found = read(tmp_path, "rank=3 loss=0.5\n", r"rank=(?P<rank>\d+) loss=(?P<loss>\S+)", "name:=train,value=loss")
    (case,) = found.of(CaseRecord)
    assert (case.name, case.parameters) == ("train", '{"rank": 3}')
    assert found.metrics() == {"loss": (0.5, None)}


def test_a_group_that_took_no_part_says_nothing(tmp_path: Path) -> None:
    """It is no empty text."""
    found = read(tmp_path, "a 1\nb 2 cuda\n", r"(?P<name>\w+) (?P<value>\d+)(?: (?P<device>\w+))?")
    assert [case.device for case in found.of(CaseRecord)] == [None, "cuda"]


def test_moments(tmp_path: Path) -> None:
    """As loggers write them; the run begins with the first; one that cannot be read is a reject."""
    text = "2026-01-01 00:00:01,500 a took 1 s\n2026-13-01 00:00:02,500 a took 1 s\n"
    found = read(tmp_path, text, r"^(?P<time>\S+ \S+) " + TOOK)
    assert [timing.recorded_at for timing in found.of(Timing)] == [1767225601_500000]
    assert found.runs[0].started_at == 1767225601_500000
    assert found.rejects() == [(2, 'time is "2026-13-01 00:00:02,500", which cannot be read as a time')]
    assert found.of(Reject)[0].text == text.splitlines()[1]


@pytest.mark.parametrize(
    "data",
    [
        LOG.encode(),
        LOG.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + LOG.encode(),
        LOG.encode("utf-16"),
        LOG.encode("utf-16-be").replace(b"\0s", b"\xfe\xff\0s", 1),
        gzip.compress(LOG.encode()),
        LOG.rstrip("\n").encode(),
        LOG.replace("starting", "d\u00e9marrage").encode("latin-1"),
    ],
    ids=["lf", "crlf", "mark", "utf-16", "big-endian", "gzip", "no end", "latin-1"],
)
def test_any_encoding(tmp_path: Path, data: bytes) -> None:
    """Anchors hold at the ends of lines, and bytes that are no UTF-8 disturb no match."""
    found = read(tmp_path, data, f"^{TOOK}$")
    assert [timing.line for timing in found.of(Timing)] == [2, 3, 5]


def test_no_expression_hangs(tmp_path: Path) -> None:
    """A backtracking engine would take longer than the universe is old; this one takes a moment."""
    found = read(
        tmp_path, "a" * 100_000 + "!\nx took 1 s\n", r"(?P<name>(?:(?:a+)+|x)) took (?P<value>\d+)$| (?P<unit>s)$"
    )
    assert (found.tally.lines, found.tally.left_out) == (2, 1)


def test_a_line_without_an_end_in_sight_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted, never held in memory, and the lines after it keep their numbers."""
    monkeypatch.setattr(module, "LONGEST", 1000)
    found = read(tmp_path, LOG + "x" * 5000 + "\na took 1 s\n" + "y" * 1000)
    assert [timing.line for timing in found.of(Timing)] == [2, 3, 5, 7]
    assert "x.log: 2 lines are longer than 1 MiB and not looked at" in found.tally.notes


def test_many_lines_are_matched_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is lost between them."""
    monkeypatch.setattr(module, "LINES", 7)
    text = "".join(f"line {i}\na took {i} s\n" for i in range(50))
    assert [timing.line for timing in read(tmp_path, text).of(Timing)] == list(range(2, 101, 2))


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        (r"(\w+) (?P<value>\d+)", r"has a group without a name. Name it \(\?P<name>…\), or write \(\?:…\)"),
        (r"(?=a)(?P<value>\d+)", r"refused: invalid perl operator: \(\?=. The syntax is RE2's"),
        (r"(?P<value>\d+", "refused: missing"),
        (r"(?P<value>(?:a{1000}){1000})", "refused"),
        ("took", "has no named group"),
        (r"(?P<value>a)(?P<value>b)", "names one group twice|refused"),
        (r"(?P<value>\d+)", r"nothing says what is measured. .*, or a group \(\?P<name>…\)"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_why(pattern: str, error: str) -> None:
    """Before any file is opened."""
    with pytest.raises(BenchError, match=error):
        Pattern(pattern, [])


@settings(max_examples=at_most(100))
@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_an_error(text: str) -> None:
    """Nothing else comes of it."""
    try:
        Pattern(text, ["name:=a"])
    except BenchError:
        return


# -- the store


def ingest(load: Callable[..., IngestReport], path: Path, pattern: str = TOOK, *maps: str) -> IngestReport:
    """Load a file by a pattern."""
    return load(path, sources=SourceOptions(own=Pattern(pattern, maps)))


@exhaustive
def test_a_log_that_grew(load: Callable[..., IngestReport], rows: Rows, tmp_path: Path) -> None:
    """Only its new whole lines are read, numbered on, into the same run; a number that is being written waits."""
    lay(tmp_path, {"x/x.log": LOG + "tail took 1"})
    first = ingest(load, tmp_path / "x")
    assert first.lines[0].loaded == 3
    ((note,),) = rows("SELECT notes ->> 0 FROM sources")
    *_, pattern, _, mapping = shlex.split(note)
    assert ingest(load, tmp_path / "x", pattern, mapping).lines[0].known == 5  # what a note says can be pasted
    assert any("ends in an incomplete line" in note for note in first.notes)
    assert ingest(load, tmp_path / "x").lines[0].known == 5

    lay(tmp_path, {"x/x.log": LOG + "tail took 12 s\nnoise\nmore took 1 s\n"})
    (line,) = ingest(load, tmp_path / "x").lines
    assert (line.loaded, line.known, line.left_out) == (2, 5, 1)
    assert rows("SELECT line, duration_ns FROM timings ORDER BY line DESC LIMIT 2") == [(8, 10**9), (6, 12 * 10**9)]
    assert rows("SELECT count(DISTINCT run_id) FROM timings") == [(1,)]
    assert rows("SELECT lines, loaded, rejected, known, left_out FROM source_files") == [(8, 5, 0, 0, 3)]


@pytest.mark.exhaustive
def test_logs_that_begin_alike_are_runs_of_their_own(
    load: Callable[..., IngestReport], rows: Rows, tmp_path: Path
) -> None:
    """Every process says "starting" first."""
    lay(tmp_path, {f"{name}.log": f"starting\nx took {i} s\n" for i, name in enumerate(("x/a", "x/b", "y/a"))})
    ingest(load, tmp_path / "x")
    load(f"x:{tmp_path / 'y'}", sources=SourceOptions(own=Pattern(TOOK, [])))
    assert rows("SELECT config, count(DISTINCT run_id) FROM runs JOIN timings USING (run_id) GROUP BY 1") == [("x", 3)]


@pytest.mark.exhaustive
def test_another_pattern_is_another_reading(load: Callable[..., IngestReport], tmp_path: Path) -> None:
    """And what another has read is known to none."""
    lay(tmp_path, {"x/x.log": LOG})
    ingest(load, tmp_path / "x")
    report = ingest(load, tmp_path / "x", r"(?P<name>forward) took (?P<value>\S+)")
    assert report.lines[0].loaded == 2
    assert any("is in the store already" in note for note in report.notes)


@exhaustive
@pytest.mark.usefixtures("derived")
def test_lines_may_say_their_run(load: Callable[..., IngestReport], rows: Rows, tmp_path: Path) -> None:
    """As rows of tables may."""
    lay(tmp_path, {"x/x.log": "abc a 1\ndef a 2\nabc b 3\n"})
    ingest(load, tmp_path / "x", r"^(?P<commit>\w+) (?P<name>\w+) (?P<value>\d+)")
    assert rows("SELECT git_commit, cases FROM run_summaries ORDER BY 1") == [("abc", 2), ("def", 1)]


def test_a_log_without_a_match_is_an_error(load: Callable[..., IngestReport], tmp_path: Path) -> None:
    """It shows how the log begins; in a folder beside others it is a note."""
    lay(tmp_path, {"x/x.log": "Starting up\nno more\n", "y/a.log": LOG, "y/b.log": "nothing"})
    with pytest.raises(BenchError, match='has no line that the pattern matches; it begins with: "Starting up"'):
        ingest(load, tmp_path / "x")
    report = ingest(load, tmp_path / "y")
    assert len(report.lines) == 1
    assert any("y/b.log has no line" in note for note in report.notes)
    with pytest.raises(
        BenchError, match="cannot have a column 'vaule': the groups of the pattern are name, value, unit"
    ):
        ingest(load, tmp_path / "y", TOOK, "value=vaule")


@pytest.mark.usefixtures("derived")
def test_the_command(tmp_path: Path) -> None:
    """As the help shows it."""
    (tmp_path / "train.log").write_text(LOG)
    arguments = [str(tmp_path / "train.log"), "--pattern", TOOK, "--config", "A", "--store", str(tmp_path / "s")]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)

    assert result.stdout.splitlines()[2].split()[2:] == ["1", "5", "3", "0", "0", "2"]
    assert "note: train.log: 2 lines do not match the pattern\n" in result.stderr


# -- damage


@pytest.mark.exhaustive
def test_a_damaged_log_is_accounted_for(tmp_path: Path) -> None:
    """A few hundred ways, packed or not."""
    for seed in range(300):
        rng = random.Random(seed)
        data = rng.choice(fuzz.MUTATIONS)(rng.choice([LOG.encode(), gzip.compress(LOG.encode())]), rng) or b" "
        (tmp_path / "x.log").write_bytes(data)
        kind = Pattern(
            TOOK if seed % 2 else r"(?P<commit>\S+) took (?P<time>\S+) (?P<status>\S*)", ["name:=a"][: 1 - seed % 2]
        )
        assert isinstance(kind.unfit(tmp_path / "x.log"), str | None)
        assert isinstance(kind.whole(data), bool)
        fuzz.check(kind, tmp_path / "x.log", "x.log")
