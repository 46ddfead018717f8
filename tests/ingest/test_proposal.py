"""A table that no format knows: the line proposed for it says what its columns mean, and works as it stands."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from bench.ingest.command import ingest
from bench.ingest.user_formats.proposal import propose
from bench.warehouse.errors import BenchError
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..builders import stored
from ..exhaustive import at_most, exhaustive

pytestmark = pytest.mark.usefixtures("nothing_derived")

RESULTS = """model,variant,batch,latency_ms,tok_s,trial,started
resnet,base,8,12.5,640,1,2026-05-01 10:00:00
bert,fast,8,10.5,760,2,2026-05-01 10:00:20
"""
TABLES = {
    RESULTS: (
        "name=model,batch_size=batch,time=started,parameters=variant,ignore=trial,value=latency_ms,unit:=ms,value=tok_s,"
        "unit:=tokens/s"
    ),
    "benchmark,metric,value,unit\na,latency,1.5,ms\na,memory,15,MB\n": "name=benchmark,value=value,metric=metric,unit=unit",
    "test;status;seconds;note\na;ok;1.5;x\nb;failed;;oops\n": "name=test,status=status,ignore=note,value=seconds,unit:=s",
    "op,ms,day,sha,run_id\na,1,2026-05-01,0abc000,17\nb,2,2026-05-01,0abc000,17\n":
        "name=op,commit=sha,time=day,ignore=run_id,value=ms,unit:=ms",  # constant in a night's file, and no axes
    "M,ref_check,tflops\n1,pass,5\n2,FAIL,6\n": "name:=t,status=ref_check,parameters=M,value=tflops,unit:=TFLOPS",
    "x,y\n1,2\n3,4\n": "name:=t,parameters=x,value=y",
    "size,gflops\n64,1.5\n128,2.5\n": "name:=t,parameters=size,value=gflops,unit:=GFLOPS",
    "name,time (ms),GIT_COMMIT\na,1,abc1234\n": "name=name,commit=GIT_COMMIT,value=time (ms),unit:=ms",
    "name,ms,commit\na,1,1234567\n": "name=name,commit=commit,value=ms,unit:=ms",  # a checksum without a letter is no number
    '[{"kernel": "a", "time_us": 3.5, "size": 4}]': "name=kernel,parameters=size,value=time_us,unit:=us",
    "op,ts,ms\na,1764500000.25,1\nb,1764500001.5,2\n": "name=op,time=ts,value=ms,unit:=ms",
    "op,wall_time_ms,ms\na,5,1\nb,9,2\n": "name=op,ignore=wall_time_ms,value=ms,unit:=ms",  # of an unknown origin
    "op,seed,ms\na,0,1\na,1,2\n": "name=op,ignore=seed,value=ms,unit:=ms",  # runs of other seeds are repeats
    'op;ms\na;1,5\nb;"1.234,5"\n': "name=op,value=ms,unit:=ms",  # the load says what is wrong with the numbers
    "op,ms,mode\na,1.5,x\nb\nc,abc,y\nd,2,y\n": "name=op,mode=mode,value=ms,unit:=ms",  # and rejects two of four rows
    "op,size,p\na,1,2\nb,abc,3\n": "name=op,parameters=size,value=p",  # a name that says nothing of numbers
    '{"date": 5, "results": [{"model": "m", "lat_ms": 5.5}]}': "records=results,name=model,value=lat_ms,unit:=ms",
    '{\n"gpu": {"runs": [{"a": "x"}, {"a": "y"}], "all": [{"op": "m", "ms": 1}]}}': "records=gpu.all,name=op,value=ms,unit:=ms",
    '{"op": "a", "ms": 1, "of": [{"ms": 2}]}\n{"op": "b", "ms": 3}\n': "name=op,value=ms,unit:=ms",
    "a,b\nx,y\nz,w\n": None,
    "just text\n": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLES.items())
def test_names_and_types_of_columns_say_what_they_are(text: str, expected: str | None, tmp_path: Path) -> None:
    """Usual names, units in names, times, counters; without numbers nothing is proposed."""
    (tmp_path / "t.any").write_text(text)

    assert propose(tmp_path / "t.any") == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("op,ms,ms\na,1,2\n", "t.csv has the column 'ms' twice: give one of the two another name in the header"),
        ("all in all, a text\n", "t.csv looks like CSV: all in all, a text"),
    ],
)
def test_the_error_about_no_table_says_the_cure_and_lists_no_formats(text: str, told: str, tmp_path: Path) -> None:
    """Nobody reads eighty names."""
    (tmp_path / "t.csv").write_text(text)

    with pytest.raises(BenchError) as error:
        CliRunner().invoke(ingest, ["--store", str(tmp_path / "s"), str(tmp_path / "t.csv")], catch_exceptions=False)

    assert told in str(error.value)
    assert "hyperfine" not in str(error.value)


def test_the_error_holds_the_line_to_paste(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a list of formats, with the config that was given."""
    monkeypatch.chdir(tmp_path)
    Path("my table.csv").write_text("op,ms\nadd,0.5\nmul,0.75\n")

    with pytest.raises(BenchError) as error:
        CliRunner().invoke(ingest, ["--store", "s", "main:my table.csv"], catch_exceptions=False)

    assert str(error.value).splitlines()[-1] == "  bench ingest 'main:my table.csv' --map name=op,value=ms,unit:=ms"
    assert "--format" not in str(error.value)


def test_a_folder_of_tables_that_look_alike_is_one_line_to_paste(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder, not the first of its files; of tables of several kinds the first."""
    monkeypatch.chdir(tmp_path)
    for day in (1, 2, 3):
        Path("nightly").mkdir(exist_ok=True)
        Path(f"nightly/2026-11-0{day}.csv").write_text("op,ms\nadd,0.5\n")

    def lines() -> list[str]:
        with pytest.raises(BenchError) as error:
            CliRunner().invoke(ingest, ["--store", "s", "nightly"], catch_exceptions=False)
        return str(error.value).splitlines()

    assert lines()[1] == "  2026-11-01.csv (and 2 others) looks like CSV: op,ms"
    assert lines()[-1] == "  bench ingest nightly --map name=op,value=ms,unit:=ms"
    Path("nightly/sizes.csv").write_text("op,mb\nadd,5\n")
    assert lines()[-1] == "  bench ingest nightly/2026-11-01.csv --map name=op,value=ms,unit:=ms"


HEADERS = st.sampled_from([
    "model", "op", "ms", "latency_us", "size", "batch", "dtype", "p99 (ms)", "date", "status", "value", "x,y", "note", "id",
    "n=1", "iteration", "throughput", "unit", "metric", "tok/s", "@key", "name:", "ünït", "seq_len", "commit",
])  # fmt: skip
CELLS = st.one_of(
    st.integers(0, 10**6).map(str), st.floats(0.001, 1e6).map(str), st.dates().map(str),
    st.sampled_from(["", "ok", "failed", "ms", "a b", "nan", "x,y", "fp16"]),
)  # fmt: skip


@settings(max_examples=at_most(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_proposed_can_be_pasted(tmp_path: Path, data: st.DataObject) -> None:
    """No row is refused for the words of the line: all are loaded, or rejected for what their own cells hold."""
    headers = data.draw(st.lists(HEADERS, min_size=1, max_size=6, unique=True))
    rows = data.draw(st.lists(st.tuples(*[CELLS] * len(headers)), min_size=1, max_size=5))
    written = io.StringIO()
    csv.writer(written).writerows([headers, *rows])
    path = tmp_path / "t.csv"
    path.write_text(written.getvalue())
    proposed = propose(path)
    if proposed is not None:
        result = CliRunner().invoke(
            ingest,
            ["--store", str(tmp_path / "s"), "--dry-run", str(path), *shlex.split(f"--map {shlex.quote(proposed)}")],
        )
        assert result.exit_code == 0, (proposed, result.output, result.exception)


@exhaustive
@pytest.mark.usefixtures("derived")
def test_a_pasted_line_loads_what_the_table_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With units and axes."""
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(RESULTS)
    with pytest.raises(BenchError) as error:
        CliRunner().invoke(ingest, ["--store", "s", "r.csv"], catch_exceptions=False)
    command = shlex.split(str(error.value).splitlines()[-1])
    assert CliRunner().invoke(ingest, ["--store", "s", *command[2:]], catch_exceptions=False).exit_code == 0

    found = stored("SELECT name, parameters, median FROM cells WHERE metric = 'tok_s' ORDER BY name", Path("s"))
    assert [(name, json.loads(parameters), median) for name, parameters, median in found] == [
        ("bert", {"variant": "fast"}, 760.0), ("resnet", {"variant": "base"}, 640.0),
    ]  # fmt: skip
