"""`bench ingest --map`: the words of a mapping, and what the rows of any table become by them."""

import gzip
import itertools
import json
import math
import random
import re
import shlex
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.cli import cli
from bench.ingest.command import ingest as command
from bench.ingest.plan import SourceOptions
from bench.ingest.readers.units import unit_of
from bench.ingest.run import IngestReport
from bench.ingest.user_formats.columns import measure_of
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import FIELDS, parse_mapping
from bench.ingest.user_formats.row_runs import PAUSE_S, run_starts
from bench.query.explain.command import explain
from bench.warehouse.errors import BenchError
from bench.warehouse.events import CaseRecord, Instant, Metric, Reject, Timing
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ..exhaustive import at_most, exhaustive, first_of, in_parts
from .conftest import Rows
from .formats import fuzz
from .formats.reading import Read, lay, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

RESULTS = "model,batch_size,result\nresnet,8,12.5\nresnet,8,12.75\nbert,4,3\n"


@pytest.mark.usefixtures("derived")
def test_a_mapping_does_not_import_the_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take as long as reading a small table does."""
    monkeypatch.setattr("bench.ingest.load_notes.formats", lambda: pytest.fail("all formats were asked for"))
    table = tmp_path / "t.csv"
    table.write_text(RESULTS)

    done = CliRunner().invoke(
        command, [str(table), "--map", "name=model,value=result,unit=ms", "--store", str(tmp_path / "s")]
    )
    assert done.exit_code == 0, done.output


def read(tmp_path: Path, content: Any, *maps: str, name: str = "t.csv") -> Read:
    """What a table becomes by a mapping."""
    lay(tmp_path, {name: content})
    kind = MappedFormat(parse_mapping(maps))
    assert kind.unfit(tmp_path / name) is None
    return read_file(kind, tmp_path / name)


def axes(read: Read) -> list[tuple[Any, ...]]:
    """Name, batch size, sequence length and parameters of each case."""
    return [
        (c.name, c.batch_size, c.sequence_length, json.loads(c.parameters) if c.parameters else None)
        for c in read.of(CaseRecord)
    ]


# -- the words


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (["name=model,value=result,unit=ms"], "name=model,value=result,unit:=ms"),
        (["name=m", "value=v"], "name=m,value=v"),
        ([" name = m , value = v "], "name=m,value=v"),
        ([r"name=m,value=Throughput\, tok/s,unit=tok/s"], r"name=m,value=Throughput\, tok/s,unit:=tok/s"),
        (["value=a=b,name:=x"], "name:=x,value=a=b"),
        (["name=m,value=v,unit=u,better=higher,statistic=p99,phase=cold"],
         "name=m,value=v,better:=higher,phase:=cold,statistic:=p99,unit=u"),
        (["unit=s,name=m,value=a,value=b"], "name=m,value=a,unit:=s,value=b,unit:=s"),
        (["name=m,value=a,unit=s,value=b,unit=MB"], "name=m,value=a,unit:=s,value=b,unit:=MB"),
        (["unit=s,name=m,melt=threads"], "name=m,melt=threads,unit:=s"),
        (["name=m,value=latency_ms"], "name=m,value=latency_ms,unit:=ms"),  # as such a column is called
        (["name=m,value=us,unit=ms"], "name=m,value=us,unit:=ms"),
        (["name=m,value=ttft_ms,value=p99_ms"],  # these keep their names
         "name=m,value=ttft_ms,metric:=ttft_ms,unit:=ms,value=p99_ms,metric:=p99_ms,unit:=ms"),
        (["name=m,value=tok_s"], "name=m,value=tok_s,metric:=tok_s,unit:=tokens/s"),
        (["name=m,value=p99_ms,statistic=p99"], "name=m,value=p99_ms,statistic:=p99,unit:=ms"),
        (["name=m,value=score,metric=of"], "name=m,value=score,metric=of"),  # whose rows are of several metrics
    ],
)  # fmt: skip
def test_a_mapping_is_understood(said: list[str], means: str) -> None:
    """Columns, texts, words that can be nothing else; what describes a value follows it or comes before the first."""
    assert str(parse_mapping(said)) == means
    assert str(parse_mapping([means])) == means


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("nam=model,value=x", "no field 'nam' in the mapping. Nearest: 'name'"),
        ("model", "not FIELD=COLUMN"),
        ("name=", "not FIELD=COLUMN"),
        ("name=a,name=b,value=c", "says name twice"),
        ("name=a,value=c,unit=s,unit=ms", "says unit twice"),
        ("name=a,unit=s,value=b,unit=MB,value=c", "belongs after it: value=b,unit=s,value=…"),
        ("value=a", "nothing says what is measured"),
        ("name=a", "nothing is measured"),
        ("name=a,value:=5", "value is a column"),
        ("name=a,value=b,rest=away", "no rest 'away'"),
        ("@/nowhere.toml", "cannot read the mapping"),
    ],
)
def test_a_mapping_that_cannot_be_understood_says_why(said: str, error: str) -> None:
    """With the cure."""
    with pytest.raises(BenchError, match=error):
        parse_mapping([said])


def test_a_mapping_in_toml_is_the_same_mapping(tmp_path: Path) -> None:
    """It has the same digest, so what one has loaded the other knows."""
    file = tmp_path / "m.toml"
    file.write_text(
        'value = "b"\nname = "model"\nunit = "ms"\nsuite = {text = "nightly"}\nparameters = ["tp", "pp"]\nrest = "out"\n'
    )
    same = parse_mapping(["unit=ms,name=model,suite:=nightly,value=b,parameters=pp,parameters=tp,rest=out"])
    assert parse_mapping([f"@{file}"]).digest == same.digest

    file.write_text('name = "m"\n[[value]]\ncolumn = "a"\nunit = "s"\n[[value]]\ncolumn = "b"\nstatistic = "p99"\n')
    assert str(parse_mapping([f"@{file}"])) == "name=m,value=a,unit:=s,value=b,statistic:=p99"


@pytest.mark.parametrize(
    "text", ["name = 5", "name = {txt='a'}", "name = ", "[name]\na=1", "[[value]]\nunit='s'", "\xff"]
)
def test_a_broken_file_of_a_mapping_is_an_error(tmp_path: Path, text: str) -> None:
    """Which names the file."""
    (tmp_path / "m.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(BenchError, match=r"the mapping .*m\.toml"):
        parse_mapping([f"@{tmp_path / 'm.toml'}"])


@settings(max_examples=at_most(200))
@given(st.text(max_size=60))
def test_any_text_is_a_mapping_or_an_error(text: str) -> None:
    """Nothing else comes of it."""
    try:
        mapping = parse_mapping([f"name=a,value=b,{text}"])
    except BenchError:
        return
    assert parse_mapping([str(mapping)]).digest == mapping.digest


def test_the_help_names_every_field() -> None:
    """And the page does."""
    said = CliRunner().invoke(command, ["--help"]).output
    page = (Path(__file__).parents[2] / "docs" / "ingest.md").read_text(encoding="utf-8")
    assert all(name in said and f"`{name}`" in page for name in FIELDS)


# -- the rows


def test_a_row_is_a_sample_of_a_case(tmp_path: Path) -> None:
    """Durations are timings; a column that has the name of an axis is that axis."""
    found = read(tmp_path, RESULTS, "name=model,value=result,unit=ms")

    assert axes(found) == [("resnet", 8, None, None), ("bert", 4, None, None)]
    assert found.samples() == [(12_500_000, 1), (12_750_000, 1), (3_000_000, 1)]
    assert [timing.sample for timing in found.of(Timing)] == [0, 1, 0]
    assert found.accounting == (3, 3, 0)


ROWS: list[dict[str, Any]] = [{"m": "a", "v": 1.5, "tp": 8, "note": "x"}, {"m": "b", "v": 2.5, "tp": 1.25}]


def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    rows = [{**row, "tp": str(row["tp"])} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue())


CSV = "m,v,tp,note\na,1.5,8,x\nb,2.5,1.25,\n"
KINDS: Mapping[str, bytes] = {
    "csv": CSV.encode(),
    "semicolons": CSV.replace(",", ";").encode(),
    "tabs": CSV.replace(",", "\t").encode(),
    "crlf": CSV.replace("\n", "\r\n").encode(),
    "mark": b"\xef\xbb\xbf" + CSV.encode(),
    "utf-16": CSV.encode("utf-16"),
    "gzip": gzip.compress(CSV.encode()),
    "no end": CSV.rstrip("\n").encode(),
    "comment": b"# made by hand\n\n" + CSV.encode(),
    "json": json.dumps(ROWS, indent=1).encode(),
    "json lines": "\n".join(map(json.dumps, ROWS)).encode(),
    "lines of lists": "\n".join(json.dumps([row]) for row in ROWS).encode(),
    "json in utf-16": json.dumps(ROWS).encode("utf-16"),
    "lines in utf-16": "\n".join(map(json.dumps, ROWS)).encode("utf-16"),
    "parquet": _parquet(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_table_in_any_dress_is_the_same(tmp_path: Path, kind: str) -> None:
    """Cases and values are equal, be it text or typed: 8 and "8" are one axis."""
    found = read(tmp_path, KINDS[kind], "name=m,value=v,unit=tokens/s")

    assert axes(found) == [("a", None, None, {"tp": 8, "note": "x"}), ("b", None, None, {"tp": 1.25})]
    assert [(m.metric, m.value, m.unit, m.better) for m in found.of(Metric)] == [
        ("v", 1.5, "tokens/s", "higher"), ("v", 2.5, "tokens/s", "higher"),
    ]  # fmt: skip
    assert found.accounting == (2, 2, 0)


def test_other_columns_are_parameters_or_left_out_and_said(tmp_path: Path) -> None:
    """Both are in the notes."""
    text = "m,v,seed\na,1,7\n"
    found = read(tmp_path, text, "name=m,value=v")
    assert axes(found) == [("a", None, None, {"seed": 7})]
    assert any(
        "became parameters; ignore=COLUMN leaves one out, rest=out all: seed" in note for note in found.tally.notes
    )

    found = read(tmp_path, text, "name=m,value=v,rest=out")
    assert axes(found) == [("a", None, None, None)]
    assert any("are left out: seed" in note for note in found.tally.notes)


def test_several_values_of_a_row(tmp_path: Path) -> None:
    """Each with its unit and statistic; those that only their columns tell apart are named by them."""
    text = "m,mean,p99,peak,kv_a,kv_b\nx,1,2,3,4,5\n"
    said = "name=m,value=mean,unit=ms,statistic=mean,value=p99,unit=ms,statistic=p99,value=peak,unit=MB,value=kv_a,value=kv_b"
    assert read(tmp_path, text, said).metrics() == {
        "latency_mean": (1e6, "ns"), "latency_p99": (2e6, "ns"), "peak": (3e6, "bytes"), "kv_a": (4, None), "kv_b": (5, None),
    }  # fmt: skip


def test_a_long_table_names_metric_and_unit_by_row(tmp_path: Path) -> None:
    """As databases export them."""
    text = "m,what,v,in,dir\nx,latency,1,s,\nx,goodput,2,req/s,higher\nx,loss,3,,lower\n"
    found = read(tmp_path, text, "name=m,value=v,metric=what,unit=in,better=dir")
    assert found.samples() == [(10**9, 1)]
    assert found.metrics() == {"goodput": (2, "req/s"), "loss": (3, None)}
    assert found.better() == {"goodput": "higher", "loss": "lower"}


def test_objects_and_lists(tmp_path: Path) -> None:
    """A way through objects is a column; a list is samples; the keys of an object are axes."""
    rows = {
        "runs": {"items": [{"op": {"name": "mm", "dims": [2, 3]}, "t": [1.0, 2.0], "cfg": {"tp": 2, "ep": {"n": 1}}}]}
    }
    found = read(tmp_path, rows, "name=op.name,value=t,unit=s,records=runs.items,parameters=cfg")
    assert found.samples() == [(10**9, 1), (2 * 10**9, 1)]
    assert axes(found) == [("mm", None, None, {"op.dims": [2, 3], "tp": 2, "ep": {"n": 1}})]


def test_statuses_are_outcomes(tmp_path: Path) -> None:
    """A failure keeps its reason, and its 0 is no measurement; words nobody knows fail and are said."""
    text = "m,v,s,e\na,1,PASS,\nb,0.0,Timed out,too slow\nc,,OOM,\nd,,skip,no gpu\ne,5,odd,\nf,7,,\n"
    found = read(tmp_path, text, "name=m,value=v,unit=s,status=s,reason=e")
    assert found.outcomes() == [
        ("ok", None), ("timeout", "too slow"), ("OOM", None), ("skipped", "no gpu"), ("odd", None), ("ok", None),
    ]  # fmt: skip
    assert [duration for duration, _ in found.samples()] == [10**9, 5 * 10**9, 7 * 10**9]
    assert any("count as failures: odd" in note for note in found.tally.notes)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,x,1,2026-01-01", 'v is "x", not a number'),
        ("a,1_0,1,2026-01-01", 'v is "1_0", not a number'),
        ("a,1,1.5,2026-01-01", 'batch_size is "1.5", not a whole number'),
        ("a,1,-1,2026-01-01", 'batch_size is "-1", not a whole number'),
        ("a,1,1,someday", 'at is "someday", which cannot be read as a time'),
        (",1,1,2026-01-01", "no m"),
        ("a,1,1", "3 columns under a header of 4"),
        ('a,"1,1,2026-01-01', "not valid CSV"),
        ("a,1\r,1,2026-01-01", "a carriage return"),
        ("", "blank line"),
    ],
)
def test_a_bad_row_is_a_reject_with_its_line(tmp_path: Path, row: str, reason: str) -> None:
    """The rows around it load."""
    good = "b,1,1,2026-01-01"
    tail = "" if '"' in row else f"{good}\n"
    found = read(tmp_path, f"m,v,batch_size,at\n{good}\n{row}\n{tail}", "name=m,value=v,time=at")
    ((line, said),) = found.rejects()
    assert line == 3
    assert said.startswith(reason)
    assert found.tally.loaded == (1 if '"' in row else 2)


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Infinity", "N/A", "null"])
def test_a_value_that_is_none_keeps_its_text(tmp_path: Path, text: str) -> None:
    """It is no reject, and never 0."""
    (metric,) = read(tmp_path, f"m,v\na,{text}\n", "name=m,value=v,unit=ms").of(Metric)
    assert (metric.value, metric.original_value) == (None, text)


def test_a_huge_number_is_no_number_of_ours(tmp_path: Path) -> None:
    """1e999 is beyond double precision: a reject; 1e308 ms is beyond it in ns: NULL with its text."""
    found = read(tmp_path, "m,v\na,1e999\nb,1e308\n", "name=m,value=v,unit=ms")
    assert found.rejects() == [(2, 'v is "1e999", not a number')]
    assert [(m.value, m.original_value) for m in found.of(Metric)] == [(None, "1e308")]


def test_hostile_names_are_only_names(tmp_path: Path) -> None:
    """Columns and cases may be called anything."""
    name = "'; DROP TABLE runs; --\u202e"
    found = read(tmp_path, [{name: name, "v": 1, "\x00": "\ud800"}], f"name={name},value=v")
    assert axes(found)[0][0] == name


def test_a_wrong_column_names_the_nearest(tmp_path: Path) -> None:
    """And those there are."""
    lay(tmp_path, {"t.csv": RESULTS})
    said = MappedFormat(parse_mapping(["name=model,value=reslt"])).unfit(tmp_path / "t.csv")
    assert said == "has no column 'reslt'. Nearest: 'result'. The columns are: 'model', 'batch_size', 'result'."


@pytest.mark.parametrize("indent", [None, 1])
def test_rows_in_a_list_within_a_document_are_pointed_at(indent: int | None, tmp_path: Path) -> None:
    """On one line, too, where the document could be the only row."""
    lay(tmp_path, {"t.json": json.dumps({"of": {"all": [{"model": "a", "ms": 1}]}}, indent=indent)})
    said = MappedFormat(parse_mapping(["name=model,value=ms"])).unfit(tmp_path / "t.json")
    assert ("records=PATH: of.all" if indent else "are read with records=of.all.") in str(said)
    assert MappedFormat(parse_mapping(["name=model,value=ms,records=of.all"])).unfit(tmp_path / "t.json") is None


def test_a_field_of_json_may_be_anywhere_or_only_in_failures(tmp_path: Path) -> None:
    """A field in no row is a mistake, except for status and reason, which a good day lacks."""
    lines = [{"m": "a", "v": 1}] * 2000
    lay(tmp_path, {"t.jsonl": "\n".join(map(json.dumps, [*lines, {"m": "a", "v": 1, "late": 2}]))})

    def unfit(said: str) -> str | None:
        return MappedFormat(parse_mapping([said])).unfit(tmp_path / "t.jsonl")

    assert unfit("name=m,value=late") is None
    assert unfit("name=m,value=v,status=state,reason=why") is None
    assert (unfit("name=m,value=never") or "").startswith("has no column 'never'")


def test_a_status_that_no_row_of_json_has_is_said(tmp_path: Path) -> None:
    """A misspelt one would count failures as measurements; rows of JSON may lack it, so it is no error."""

    def said(rows: str) -> list[str]:
        return read(tmp_path, rows, "name=m,value=v,unit=ms,status=outcome", name="t.json").tally.notes

    note = "t.json: no row has 'outcome', the status: all rows count as passed"
    assert note in said('[{"m": "a", "v": 1}, {"m": "b", "v": 0, "status": "fail"}]')
    assert note not in said('[{"m": "a", "v": 1}, {"m": "b", "outcome": "fail"}]')


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("\n\n", "has no header"),
        ("a,a,b\n1,2,3\n", "has the column 'a' twice"),
        ('{\n"rows": [{"a": 1}]}', "Say where with records=PATH: rows"),
        ("[1, 2", "not valid JSON"),
        (b"PAR1 and then nothing", "cannot be read as Parquet"),
        (b"\x1f\x8b garbage", "cannot be unpacked"),
    ],
)
def test_what_is_no_table_says_so(tmp_path: Path, content: Any, reason: str) -> None:
    """Before anything is loaded."""
    lay(tmp_path, {"t": content})
    assert reason in (MappedFormat(parse_mapping(["name=a,value=b"])).unfit(tmp_path / "t") or "")


def test_columns_may_be_the_values_of_an_axis(tmp_path: Path) -> None:
    """As a table of sweeps has them; an empty cell is no case, a word is a reject."""
    text = "op,dtype,1,8,64,note\nmm,fp16,1.5,2.5,,x\nmm,fp32,oops,3,4,y\n"
    found = read(tmp_path, text, "name=op,melt=threads,unit=ms,ignore=note")

    assert [(c.name, c.dtype, c.parameters) for c in found.of(CaseRecord)] == [
        ("mm", "fp16", '{"threads": 1}'), ("mm", "fp16", '{"threads": 8}'),
    ]  # fmt: skip
    assert found.samples() == [(1_500_000, 1), (2_500_000, 1)]
    assert (found.accounting, found.rejects()) == ((2, 1, 1), [(3, '1 is "oops", not a number')])
    by_batch = read(tmp_path, "op,1,8\nmm,1.5,2.5\n", "name=op,melt=batch_size,unit=tokens/s,metric:=speed")
    assert [(c.batch_size, m.metric) for c, m in zip(by_batch.of(CaseRecord), by_batch.of(Metric), strict=True)] == [
        (1, "speed"), (8, "speed"),
    ]  # fmt: skip
    with pytest.raises(BenchError, match="melt is an axis, not a text"):
        parse_mapping(["name=op,melt:=threads"])


def test_keys_of_an_object_may_be_names(tmp_path: Path) -> None:
    """Of the document, or of an object in it; what is no object is a reject."""
    rows = {"resnet": {"ms": 1.5, "tp": 2}, "bert": {"ms": 2.5}, "version": 3}
    found = read(tmp_path, rows, "name=@key,value=ms,unit=ms", name="t.json")
    assert axes(found) == [("resnet", None, None, {"tp": 2}), ("bert", None, None, None)]
    assert (found.samples(), found.rejects()) == ([(1_500_000, 1), (2_500_000, 1)], [(3, "not an object, but 3")])

    within = read(tmp_path, {"models": {"all": rows}}, "name=@key,value=ms,unit=ms,records=models.all", name="t.json")
    assert within.names == found.names


def test_an_object_of_numbers_is_a_table(tmp_path: Path) -> None:
    """Each key a name, what is under it the value: a number, or samples."""
    numbers = {"sort": 1.5, "scan": [2, 3], "note": "quick"}
    found = read(tmp_path, numbers, "name=@key,value=@value,unit:=ms", name="t.json")

    assert found.samples() == [(1_500_000, 1), (2_000_000, 1), (3_000_000, 1)]
    assert found.rejects() == [(3, '@value is "quick", not a number')]
    plain = read(tmp_path, {"sort": 1.5}, "name=@key,value=@value", name="t.json")
    assert [metric.metric for metric in plain.of(Metric)] == ["value"]


@pytest.mark.exhaustive
def test_rows_may_be_of_different_configs(load: Any, rows: Rows, tmp_path: Path) -> None:
    """Each config is a run of its own."""
    lay(tmp_path, {"x/t.csv": "engine,m,v\nvllm,a,1\nsglang,a,2\nvllm,b,3\n"})
    ingest(load, tmp_path / "x", "name=m,value=v,unit=s,config=engine")

    assert rows("SELECT config, cases FROM run_summaries ORDER BY config") == [("sglang", 1), ("vllm", 2)]
    with pytest.raises(BenchError, match="--config vllm is for all rows"):
        parse_mapping(["name=m,value=v,config:=vllm"])


# -- the store


def ingest(load: Any, path: Path, *maps: str) -> IngestReport:
    """Load a file by a mapping."""
    report: IngestReport = load(path, sources=SourceOptions(own=MappedFormat(parse_mapping(maps))))
    return report


@pytest.mark.exhaustive
def test_known_by_content_and_mapping(load: Any, rows: Rows, tmp_path: Path) -> None:
    """The same again is known; another mapping of the same file is another reading, and said so."""
    lay(tmp_path, {"x/t.csv": RESULTS})
    assert ingest(load, tmp_path / "x", "name=model,value=result,unit=ms").lines[0].loaded == 3
    again = ingest(load, tmp_path / "x", "value=result,unit=ms", "name=model").lines[0]
    assert (again.loaded, again.known) == (0, 3)
    assert load(tmp_path / "x").lines[0].known == 3  # without a mapping, too
    ((note,),) = rows("SELECT notes ->> 0 FROM sources")
    assert ingest(load, tmp_path / "x", shlex.split(note)[-1]).lines[0].known == 3  # what a note says can be pasted
    other = ingest(load, tmp_path / "x", "name=model,value=result,unit=s")
    assert other.lines[0].loaded == 3
    assert any("is in the store already, read as map-" in note for note in other.notes)
    assert rows("SELECT name, round(median) FROM cells WHERE run_id = (SELECT min(run_id) FROM cells) ORDER BY 1")
    assert rows("SELECT count(DISTINCT run_id), count(DISTINCT case_id) FROM cells") == [(2, 2)]


@pytest.mark.usefixtures("derived")
def test_rows_of_a_history_are_runs(load: Any, rows: Rows, tmp_path: Path) -> None:
    """By commit, which begin with their first row; of a table that grew only new runs load, and broken rows are counted."""
    said = "name=m,value=v,unit=s,commit=sha,time=at"
    text = "sha,at,m,v\nabc,2026-01-01 02:00,x,1\nabc,2026-01-01 01:00,y,2\ndef,2026-01-02,x,3\n"
    lay(tmp_path, {"x/t.csv": text})
    ingest(load, tmp_path / "x", said)
    began = rows("SELECT git_commit, began_at::VARCHAR, cases FROM run_summaries ORDER BY began_at")
    assert began == [("abc", "2026-01-01 01:00:00", 2), ("def", "2026-01-02 00:00:00", 1)]

    lay(tmp_path, {"x/t.csv": f"{text}ghi,2026-01-03,x,4\nghi,someday,x,5\nghi\n"})
    (line,) = ingest(load, tmp_path / "x", said).lines
    assert (line.lines, line.loaded, line.rejected, line.known) == (6, 1, 2, 3)
    assert len(rows("FROM runs")) == 3
    assert rows("SELECT lines = loaded + rejected + known FROM source_files") == [(True,)] * len(
        rows("FROM source_files")
    )


@pytest.mark.exhaustive
@pytest.mark.usefixtures("derived")
def test_a_run_of_a_clock_that_was_never_set_is_of_1970(load: Any, rows: Rows, tmp_path: Path) -> None:
    """The first moment of 1970 is a time like others: the run was dated to its import, as the newest."""
    lay(tmp_path, {"x/t.csv": "run,at,m,v\na,1970-01-01T00:00:00Z,x,1\na,1970-01-01T00:00:05Z,x,2\n"})
    ingest(load, tmp_path / "x", "name=m,value=v,unit=s,run=run,time=at")

    assert rows("SELECT began_at::VARCHAR FROM run_summaries") == [("1970-01-01 00:00:00",)]


@pytest.mark.exhaustive
def test_pauses_part_a_table_with_times_into_runs(load: Any, rows: Rows, tmp_path: Path) -> None:
    """A night is one run, in whatever order its rows stand; of a table that grew only the new night loads."""
    said = "name=m,value=v,unit=s,time=at"
    text = "at,m,v\n2026-01-02 01:10,y,2\n2026-01-01 23:50,x,1\n2026-01-02 00:15,z,2\n2026-01-02 00:40,y,2\n2026-01-03,x,1\n"
    lay(tmp_path, {"x/t.csv": text})
    report = ingest(load, tmp_path / "x", said)
    began = rows("SELECT began_at::VARCHAR, cases FROM run_summaries ORDER BY began_at")
    assert began == [("2026-01-01 23:50:00", 3), ("2026-01-03 00:00:00", 1)]
    assert any("2 runs: rows more than 30 minutes apart" in note for note in report.notes)

    lay(tmp_path, {"x/t.csv": f"{text}2026-01-04,x,3\n"})
    (line,) = ingest(load, tmp_path / "x", said).lines
    assert (line.loaded, line.known) == (1, 5)
    assert len(rows("FROM runs")) == 3


@exhaustive
@pytest.mark.parametrize(("said", "runs"), first_of(1, [("", 2), (",run:=all", 1), (",commit:=abc", 1)]))
def test_who_names_the_run_has_one(said: str, runs: int, load: Any, rows: Rows, tmp_path: Path) -> None:
    """Pauses part only rows of which nothing says where they belong."""
    lay(tmp_path, {"x/t.csv": "at,m,v\n2026-01-01,x,1\n2026-01-02,x,2\n"})
    ingest(load, tmp_path / "x", f"name=m,value=v,unit=s,time=at{said}")

    assert len(rows("FROM runs")) == runs


@given(st.lists(st.integers(0, 20 * PAUSE_S), max_size=30))
def test_runs_are_those_that_sorted_times_have(seconds: list[int]) -> None:
    """However the times lie against the stretches that they are counted in."""
    times = sorted(each * 1_000_000 for each in seconds)
    expected = [*times[:1], *(b for a, b in itertools.pairwise(times) if b - a > PAUSE_S * 1_000_000)]

    assert run_starts(Instant(each * 1_000_000) for each in seconds) == expected


def test_columns_can_be_left_out(tmp_path: Path) -> None:
    """By name, whatever they hold; the others become what they would."""
    found = read(tmp_path, "m,v,seed,tp,note\na,1,17,2,x\na,2,18,2,y\n", "name=m,value=v,ignore=seed,ignore=note")

    assert {case.parameters for case in found.of(CaseRecord)} == {'{"tp": 2}'}
    assert len(found.of(Metric)) == 2
    with pytest.raises(BenchError, match="ignore is a column, not a text: ignore=seed"):
        parse_mapping(["name=m,value=v,ignore:=seed"])


def test_a_unit_behind_a_number_is_understood(tmp_path: Path) -> None:
    """Sizes and times; where the mapping names a unit it must be of the same kind, and what is no unit is a reject."""
    found = read(tmp_path, "m,v\na,100 kbytes\nb,2 Megabytes\nc,4MiB\nd,3 apples\n", "name=m,value=v,metric:=peak")

    assert [event.value for event in found.of(Metric)] == [100_000, 2_000_000, 4 << 20]
    assert [reject.reason for reject in found.of(Reject)] == ['v is "3 apples", not a number']
    times = read(tmp_path, "m,v\na,1.5 ms\nb,2 MB\n", "name=m,value=v,unit:=s")
    assert [event.duration_ns for event in times.of(Timing)] == [1_500_000]
    assert [reject.reason for reject in times.of(Reject)] == ['v is "2 MB", not a number']


def test_percent_is_a_unit_however_it_is_written(tmp_path: Path) -> None:
    """In the unit or behind the number; a percentage of milliseconds is a reject."""
    found = read(tmp_path, "m,v,u\na,12.5,%\nb,50%,percent\nc,7 %,\nd,50%,ms\n", "name=m,value=v,unit=u")

    assert [(t.value, t.unit) for t in found.of(Metric)] == [(12.5, "%"), (50.0, "%"), (7.0, "%")]
    assert [reject.reason for reject in found.of(Reject)] == ['v is "50%", not a number']


@pytest.mark.exhaustive
def test_parquet_that_is_no_log_needs_a_mapping(load: Any, rows: Rows, tmp_path: Path) -> None:
    """With one it is a table like any other; moments of Parquet are moments."""
    table = pa.table({
        "m": ["a"], "v": pa.array([1.5]), "at": pa.array([1767225600 * 10**9 + 7], pa.timestamp("ns")),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(BenchError, match="not of an event log"):
        load(tmp_path / "t.parquet")
    ingest(load, tmp_path / "t.parquet", "name=m,value=v,unit=s,time=at")
    assert rows("SELECT recorded_at::VARCHAR, duration_ns FROM timings") == [("2026-01-01 00:00:00", 1_500_000_000)]
    assert rows("SELECT began_at::VARCHAR FROM run_summaries") == [("2026-01-01 00:00:00",)]


@pytest.mark.exhaustive
def test_a_folder_of_which_some_files_fit(load: Any, tmp_path: Path) -> None:
    """The others are left out and said; where none fits it is an error with the reasons."""
    lay(tmp_path, {"x/a.csv": RESULTS, "x/b.csv": RESULTS.replace("resnet", "vit"), "x/README": "hello"})
    report = ingest(load, tmp_path / "x", "name=model,value=result")
    assert len(report.lines) == 2
    assert any("x/README has no column" in note for note in report.notes)
    with pytest.raises(BenchError, match=r"nothing in .* can be read as you say:\n  README has no column 'mod'"):
        ingest(load, tmp_path / "x", "name=mod,value=result")


@exhaustive
@pytest.mark.usefixtures("derived")
def test_the_command_shows_what_it_understood(tmp_path: Path) -> None:
    """The accounting on stdout; the mapping and what became of other columns on stderr."""
    (tmp_path / "r.csv").write_text("model,result,seed\nresnet,12.5,1\nbert,x,1\n")
    arguments = [str(tmp_path / "r.csv"), "--map", "name=model,value=result,unit=ms", "--config", "A"]
    result = CliRunner().invoke(command, [*arguments, "--store", str(tmp_path / "s")], catch_exceptions=False)

    assert result.stdout.splitlines()[2].split() == ["A", "map-c2c466d6", "1", "2", "1", "1", "0"]
    assert result.stderr.partition("\n\n")[0] + "\n" == (
        "note: r.csv: read with --map name=model,value=result,unit:=ms\n"
        "note: r.csv: columns that the mapping does not name became parameters; "
        "ignore=COLUMN leaves one out, rest=out all: seed\n"
        "Rejected records are kept with file, line and reason; see them with: bench list rejects\n"
    )


@pytest.mark.usefixtures("derived")
def test_options_name_columns_as_a_mapping_does(tmp_path: Path) -> None:
    """--axes, --metrics and --ignore; a column with the name of an axis is that axis, a comma belongs to its name."""
    (tmp_path / "r.csv").write_text('kernel,batch_size,"tile, inner",time,seed\nmatmul,8,4,2.5,17\n')
    options = ["--metrics", "time", "--axes", "batch_size", "tile\\, inner", "--ignore", "seed"]
    arguments = [str(tmp_path / "r.csv"), "--map", "name=kernel", *options, "--store", str(tmp_path / "s")]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)

    said = r"name=kernel,batch_size=batch_size,parameters=tile\, inner,ignore=seed,value=time,better:=lower"
    assert result.stderr.splitlines()[0] == f"note: r.csv: read with --map '{said}'"


@pytest.mark.exhaustive
def test_explain_says_how_to_read_it_again(tmp_path: Path) -> None:
    """The file with its mapping, for without it nobody can."""
    (tmp_path / "r.csv").write_text(RESULTS)
    at = ["--store", str(tmp_path / "s")]
    said = ["--map", "name=model,value=result,unit=ms"]
    CliRunner().invoke(command, [f"A:{tmp_path / 'r.csv'}", *said, *at], catch_exceptions=False)
    again = CliRunner().invoke(explain, ["bert", *at], catch_exceptions=False).stdout.splitlines()[-1]

    arguments = shlex.split(again)[2:]
    assert arguments[0] == f"A:{tmp_path / 'r.csv'}"
    result = CliRunner().invoke(command, [*arguments, *at], catch_exceptions=False)
    assert result.stdout.splitlines()[2].split()[-3:] == ["0", "0", "3"]


@pytest.mark.parametrize("more", [["--format", "scheduler"], []], ids=["with a format", "without a path"])
def test_a_mapping_is_of_files_and_no_format(tmp_path: Path, more: list[str]) -> None:
    """Else it would be ignored."""
    paths = [str(tmp_path)] if more else []
    with pytest.raises(BenchError, match="--map"):
        CliRunner().invoke(
            command, [*paths, *more, "--map", "name=a,value=b", "--store", str(tmp_path / "s")], catch_exceptions=False
        )


# -- damage

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@settings(max_examples=at_most(60))
@given(st.lists(st.tuples(TEXT, st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 2**53)), max_size=6))
def test_what_is_said_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, int]]
) -> None:
    """Of any names and numbers, as JSON lines: every row with a name is loaded, its finite value unchanged."""
    text = "".join(json.dumps({"n": n, "v": v, "b": b}) + "\n" for n, v, b in rows) or '{"n": "", "v": 1, "b": 1}\n'
    found = read(tmp_path_factory.mktemp("x"), text, "name=n,value=v,batch_size=b", name="t.jsonl")
    named = [row for row in rows if row[0]]
    assert found.tally.loaded == len(named)
    assert [m.value for m in found.of(Metric)] == [v if math.isfinite(v) else None for _, v, _ in named]


@pytest.mark.parametrize("seeds", in_parts(range(100), every=10))
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_table_is_accounted_for(tmp_path: Path, kind: str, seeds: Sequence[int]) -> None:
    """A hundred ways each: nothing is raised, and loaded and rejected are all there is."""
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        data = rng.choice(fuzz.MUTATIONS)(KINDS[kind], rng) or b" "
        maps = ["name=m,value=v,unit=s", "name=m,value=v,unit=note,commit=tp,time=v", "name=m,status=note,parameters=v"]
        (tmp_path / "t").write_bytes(data)
        for said in maps:
            mapped = MappedFormat(parse_mapping([said]))
            assert isinstance(mapped.unfit(tmp_path / "t"), str | None)
            fuzz.check(mapped, tmp_path / "t", "t")


@pytest.mark.exhaustive
def test_a_cut_table(tmp_path: Path) -> None:
    """At every byte, of every kind."""
    for data in KINDS.values():
        for end in range(1, len(data), 1 + len(data) // 60):
            (tmp_path / "t").write_bytes(data[:end])
            fuzz.check(MappedFormat(parse_mapping(["name=m,value=v"])), tmp_path / "t", "t")


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    """Of printable ASCII, commas escaped."""
    for character in string.punctuation.replace('"', ""):
        name = f"a{character}b"
        column = name.replace(",", "\\,")
        if character not in "#":
            found = read(tmp_path, [{name: 1, "m": "x"}], f"name=m,value={column}", name="t.json")
            assert [m.metric for m in found.of(Metric)] == [name]


def test_a_column_of_measured_numbers_is_a_metric_and_parts_no_cases(tmp_path: Path) -> None:
    """By its name; what was chosen is said, and parameters=COLUMN chooses otherwise."""
    text = "op,ms,score,dropout\na,1.5,0.91234,0.25\na,1.6,0.93417,0.25\nb,2.5,n/a,0.5\n"
    found = read(tmp_path, text, "name=op,value=ms,unit=ms")

    assert sorted(axes(found)) == [("a", None, None, {"dropout": 0.25}), ("b", None, None, {"dropout": 0.5})]
    assert any(
        note.endswith(
            "became metrics: score; if one is an axis, say --map parameters=score, and --map ignore=score leaves it out"
        )
        for note in found.tally.notes
    )
    asked = read(tmp_path, text, "name=op,value=ms,unit=ms,parameters=score,rest=out")
    assert len(axes(asked)) == 3


COLUMNS: dict[str, tuple[Sequence[Any], str]] = {  # values by row, and what they are
    "power": ([f"{row % 7}{row}.5" for row in range(40)], "metric"),
    "tokens": ([row * 7919 + 1001 for row in range(40)], "parameters"),
    "gpu_util": ([90 + row % 8 for row in range(40)], "metric"),
    "timeout_ms": ([row % 4 * 100 for row in range(40)], "parameters"),
    "cache_mb": ([f"{row % 7}{row}.25" for row in range(40)], "parameters"),
    "size": ([1 << row for row in range(40)], "parameters"),
    "count": ([(row + 1) * 1000 for row in range(40)], "parameters"),
    "rate": ([row % 8 / 4 for row in range(40)], "parameters"),
    "threads": (range(1, 41), "parameters"),
    "test": ([f"test_{row}" for row in range(40)], "parameters"),
    "gpu_id": ([row % 8 for row in range(40)], "parameters"),
    "step": (range(40), "fields"),
    "sample_no": ([row % 4 for row in range(40)], "fields"),
    "job_id": ([f"j{row}" for row in range(40)], "fields"),
    "key": ([f"{row:08x}-{row:04x}-4000-8000-{row:012x}" for row in range(40)], "fields"),
}  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
def test_the_name_of_a_column_says_what_it_is_where_the_mapping_does_not(tmp_path: Path, column: str) -> None:
    """Never the digits of its values; sweeps stay axes, though nearly every row has another value. Nothing is lost."""
    values, becomes = COLUMNS[column]
    text = f"op,ms,{column}\n" + "".join(f"a,1.5,{value}\n" for value in values)
    found = read(tmp_path, text, "name=op,value=ms,unit=ms")

    first = str(next(iter(values)))
    kept = {
        "metric": [m.original_value or str(m.value) for m in found.of(Metric) if m.metric == column],
        "fields": [json.loads(m.original_value or "")[column] for m in found.of(Metric) if m.metric == "fields"],
        "parameters": [str(parameters[column]) for *_, parameters in axes(found) if parameters],
    }
    assert [name for name, has in kept.items() if has] == [becomes]
    assert float(kept[becomes][0]) == float(first) if becomes == "metric" else kept[becomes][0] == first
    assert len(axes(found)) == (len(set(values)) if becomes == "parameters" else 1)


def test_a_column_of_times_is_no_axis(tmp_path: Path) -> None:
    """Every row would be a case of its own; a constant one harms nothing."""
    text = "op,ms,when,day\na,1.5,2026-01-01T10:00,2026-01-01\na,1.6,2026-01-01T11:00,2026-01-01\n"
    found = read(tmp_path, text, "name=op,value=ms,unit=ms")

    assert axes(found) == [("a", None, None, None)]
    assert any(
        "columns of times are left out: when, day; say what it is with --map time=when" in note
        for note in found.tally.notes
    )


def test_what_tells_nights_apart_tells_no_cases_apart(tmp_path: Path) -> None:
    """Commit, host, run and day are constant in a night's file, and as axes no night would have a case of another's."""
    text = "op,ms,day,git_sha,hostname,ci_run_id\na,1.5,2026-01-01,0abc000,h1,17\n"
    found = read(tmp_path, text, "name=op,value=ms")

    assert axes(found) == [("a", None, None, None)]
    assert any(
        "say what they are with --map commit=git_sha,host=hostname,run=ci_run_id" in note for note in found.tally.notes
    )


@pytest.mark.parametrize(
    ("text", "factor"),
    [("kbytes", 1e3), ("Megabytes", 1e6), ("kilobyte", 1e3), ("GiB", 2.0**30), ("mebibytes", 2.0**20)],
)
def test_sizes_are_understood_in_words(text: str, factor: float) -> None:
    """As /usr/bin/time and others write them."""
    assert (unit_of(text).name, unit_of(text).factor) == ("bytes", factor)


def test_a_negative_duration_is_a_reject(tmp_path: Path) -> None:
    """Nothing takes less than no time; other numbers may be negative."""
    found = read(tmp_path, "op,ms\na,-1.5\na,2\n", "name=op,value=ms,unit=ms")

    assert [reject.reason for reject in found.of(Reject)] == ['ms is "-1.5", and no duration is negative']
    assert (found.tally.loaded, read(tmp_path, "op,v\na,-1.5\n", "name=op,value=v").tally.loaded) == (1, 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean_ttft_ms", {"unit": "ms"}), ("p99_ttft_ms", {"unit": "ms"}), ("tok_s", {"unit": "tokens/s"}),
        ("tokens_per_sec", {"unit": "tokens/s"}), ("req/s", {"unit": "requests/s"}), ("gpu_util", {}),
        ("peak_memory_mb", {"unit": "MB", "better": "lower"}), ("outputThroughput", {"better": "higher"}), ("std_ms", {}),
        ("val_loss", {"better": "lower"}), ("us", {"unit": "us"}), ("TFLOPS", {"unit": "TFLOPS"}),
        ("gpu_power_watts", {"unit": "W"}), ("max_latency_ms", {"unit": "ms"}), ("isl", None), ("conc", None), ("s", None),
        ("timeout_s", None), ("cache_mb", None), ("batch_size", None), ("top_p", None), ("learning_rate", None),
        ("request_rate", None), ("max_tokens", None), ("slo_ttft_ms", None), ("memory_limit_gb", None), ("temperature", None),
        ("warmup_ms", None), ("", None), ("耗时_毫秒", {"unit": "ms"}), ("微秒", {"unit": "us"}), ("名称", None),
        ("Time (µs)", {"unit": "us"}), ("latency_μs", {"unit": "us"}), ("TIME [µS]", {"unit": "us"}), ("耗时µs", {"unit": "us"}),
        ("mesurés", None), ("out_tput_per_gpu", {"better": "higher"}),
    ],
)  # fmt: skip
def test_unit_and_direction_of_a_column_by_its_name(name: str, expected: dict[str, str] | None) -> None:
    """Words of what people choose beat units; a spread has no better direction."""
    assert expected == measure_of(name)


def test_the_same_mapping_gives_the_same_columns_for_every_file(tmp_path: Path) -> None:
    """Of two nights one has fractions that end in 0, and constants where the other has none: all cases meet."""
    mapping, found = "name=model,value=tok_s,unit:=tokens/s", []
    for rows in ("big,4,52.50,97\nbig,16,82.10,98\n", "big,4,52.81,96\nbig,16,82.55,96\n"):
        text = "model,conc,mean_ttft_ms,gpu_util,tok_s\n" + "".join(f"{row},410.5\n" for row in rows.split())
        found.append(read(tmp_path, text, mapping))

    assert axes(found[0]) == axes(found[1])
    assert [{m.metric for m in each.of(Metric)} for each in found] == [{"tok_s", "gpu_util"}, {"tok_s", "gpu_util"}]
    assert [{t.metric for t in each.of(Timing)} for each in found] == [{"mean_ttft_ms"}, {"mean_ttft_ms"}]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("derived")
def test_rows_that_an_earlier_run_holds_are_told(tmp_path: Path) -> None:
    """A table to which rows were added is a new run, with the command that leaves the earlier one out."""
    table, words = tmp_path / "t.csv", ["--map", "name=model,value=ms,unit:=ms"]
    store = ["--store", str(tmp_path / "store")]
    table.write_text("model,ms\na,1\nb,2\n")
    first = CliRunner().invoke(cli, ["ingest", str(table), *words, *store])
    table.write_text("model,ms\na,1\nb,2\na,1.1\n")
    second = CliRunner().invoke(cli, ["ingest", str(table), *words, *store])
    table.write_text("model,ms\na,1\nb,3\na,1.1\nb,2\n")
    other = CliRunner().invoke(cli, ["ingest", str(table), *words, *store])

    assert "counts twice" not in first.stderr + other.stderr
    cure = re.search(r"counts twice\. Leave it out with: bench (forget \S+)", second.stderr)
    assert cure is not None, second.stderr
    assert CliRunner().invoke(cli, [*cure[1].split(), "--yes", *store]).exit_code == 0
    rows = CliRunner().invoke(cli, ["sql", "SELECT count(*) AS n FROM samples", "--format", "json", *store])
    assert json.loads(rows.stdout) == [{"n": 3 + 4}]


@pytest.mark.parametrize(
    ("better", "units"),
    [("higher", "TFLOPS gflops fps QPS IOPS Gbps tok/s/gpu images/sec/gpu"), ("lower", "ms/token s/it us/iteration hours $/h"),
     (None, "TFLOPs ops B/op $/Mtok x")],
)  # fmt: skip
def test_a_unit_says_what_is_better(better: str | None, units: str) -> None:
    """A rate is of a second though it does not end so, a time is of one thing; FLOPs without a time are a count."""
    assert {unit: unit_of(unit).better for unit in units.split()} == dict.fromkeys(units.split(), better)
    assert (unit_of("tokens per second"), unit_of("hours").factor) == (unit_of("tokens/s"), 3.6e12)
