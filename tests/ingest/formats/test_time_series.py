"""Time series in CSV: a run a row, whatever separates the cells."""

from pathlib import Path

import pytest
from bench.ingest.run import ingest
from bench.warehouse.events import Metric
from bench.warehouse.store import Store
from bench.warehouse.upkeep.verify import verify

from ...exhaustive import exhaustive
from .reading import Read, read, recognised

TEXT = "time,commit,latency,size\n2024.01.01 3:00:00 +0100,a1,10,1.5\n2024.01.02 3:00:00 +0100,a2,11,1.25\n"


def load(text: str | bytes, name: str = "api.csv") -> Read:
    """Read a CSV."""
    return read("time-series", text, name=name)


def test_a_row_is_a_run_with_time_and_commit() -> None:
    """Columns of numbers are metrics of a case named after the file."""
    got = load(TEXT)

    assert [(run.started_at, run.git_commit) for run in got.runs] == [
        (1704074400000000, "a1"),
        (1704160800000000, "a2"),
    ]
    assert set(got.names) == {"api"}
    assert [(m.metric, m.value, m.line) for m in got.of(Metric)] == [
        ("latency", 10.0, 2), ("size", 1.5, 2), ("latency", 11.0, 3), ("size", 1.25, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_too(separator: str) -> None:
    """Whichever the header has most of."""
    assert load(TEXT.replace(",", separator)).accounting == (2, 2, 0)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_other_encodings_and_line_ends(encoding: str) -> None:
    """A byte order mark, UTF-16 and CRLF are no part of a name or value."""
    got = load(TEXT.replace("\n", "\r\n").encode(encoding))

    assert [metric.metric for metric in got.of(Metric)] == ["latency", "size"] * 2


def test_columns_of_text_are_tags() -> None:
    """So are those that name a thing, though it looks like a number."""
    got = load("timestamp,version,branch,os,x\n2024-01-01,1.5,main,linux,3\n")

    (run,) = got.runs
    assert (run.git_branch, run.tags) == ("main", '{"os": "linux", "version": "1.5"}')
    assert [metric.metric for metric in got.of(Metric)] == ["x"]


def test_missing_values_are_null_or_absent() -> None:
    """NaN is kept as a value that is none; an empty cell is nothing; neither is zero."""
    got = load("time,x\n2024-01-01,1\n2024-01-02,NaN\n2024-01-03,\n2024-01-04,oops\n")

    assert [(m.value, m.original_value) for m in got.of(Metric)] == [(1.0, None), (None, "NaN"), (None, "oops")]
    assert got.accounting == (4, 4, 0)


@exhaustive
def test_a_row_that_stands_there_twice_is_read_once(tmp_path: Path) -> None:
    """Of a history that grew; the whole file was not recognised for it, which it was the day before."""
    path, store = tmp_path / "api.csv", Store(tmp_path / "store")
    for text, counts in (
        (TEXT + TEXT.splitlines(keepends=True)[-1], (3, 2, 0, 1)),
        (TEXT + TEXT.partition("\n")[2], (4, 0, 0, 4)),
    ):
        path.write_text(text)
        (line,) = ingest(store, [str(path)]).lines
        assert (line.lines, line.loaded, line.rejected, line.known) == counts
        assert verify(store).problems == {}


def test_comments_and_broken_rows() -> None:
    """Comments are a note; a row of another length, without a time, or blank is a reject with its line."""
    got = load("# about\n# this\ntime,x\n2024-01-01,1\n2024-01-02\nyesterday,3\n\n2024-01-05,5\n")

    assert got.tally.notes == ["api.csv: 2 lines are comments: # about # this"]
    assert got.rejects() == [
        (5, "1 column under a header of 2"), (6, "time is 'yesterday', which cannot be read as a time"),
        (7, "blank line"),
    ]  # fmt: skip
    assert got.accounting == (5, 2, 3)


@pytest.mark.parametrize(
    "text", ["time,x\n1.5,2\n", "when,x\n2024-01-01,2\n", "time\n2024-01-01\n", "time,x\n2024-01-01,y\n", "time,x\n"]
)
def test_other_csv_is_not_taken(tmp_path: Path, text: str) -> None:
    """A column called time does not make a series: it must hold moments, beside numbers."""
    (tmp_path / "x.csv").write_text(text)

    assert recognised(tmp_path / "x.csv") == []


def test_a_name_says_unit_and_direction() -> None:
    """As in any table: times become ns; what says neither has neither."""
    got = read("time-series", "time,lat_ms,tok_s,ttft,n\n2026-05-01,1.5,100,0.2,3\n2026-05-02,1.6,99,0.2,3\n")

    assert {event.metric: (event.unit, event.better) for event in got.of(Metric)} == {
        "lat_ms": ("ns", "lower"), "tok_s": ("tokens/s", "higher"), "ttft": (None, "lower"), "n": (None, None),
    }  # fmt: skip
    assert [event.value for event in got.of(Metric) if event.metric == "lat_ms"] == [1.5e6, 1.6e6]
