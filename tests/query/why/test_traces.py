"""Traces compared as traces: operators and kernels by time, gaps as a part, overlap once."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.why import traces
from bench.query.why.parts import LONGEST_NAME, readable
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, Tables, case, run, timing
from ...exhaustive import exhaustive
from ...ingest.formats.samples import NSYS, database

Span = tuple[str, str, float, float]  # category, name, start and duration in µs
STEP: list[Span] = [
    ("cpu_op", "aten::linear", 0, 10), ("cpu_op", "aten::addmm", 1, 8), ("cuda_runtime", "cudaLaunchKernel", 5, 2),
    ("cpu_op", "aten::gelu", 10, 3), ("kernel", "gemm", 20, 30), ("kernel", "gelu", 40, 20), ("kernel", "gelu", 90, 10),
]  # fmt: skip


def trace(path: Path, spans: list[Span], gpu: str = "H200", **args: Any) -> str:
    """A file as torch.profiler writes it; kernels run on device 0, in a stream each."""
    events = [
        {"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": 1e6 + start, "dur": took,
         "args": {"device": 0, "stream": number, **args} if kind == "kernel" else {}}
        for number, (kind, name, start, took) in enumerate(spans)
    ]  # fmt: skip
    about = {"schemaVersion": 1, "deviceProperties": [{"name": gpu}], "cuda_runtime_version": 1, "host_name": "one"}
    path.write_text(json.dumps({**about, "traceEvents": events}))
    return str(path)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    return lambda *words: CliRunner().invoke(cli, list(words), standalone_mode=False)


def test_kernels_and_gaps_add_up_to_the_time_of_the_gpu(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Of two that overlap the common time counts once; grids are no cases."""
    slower = [*STEP[:4], ("kernel", "gemm", 20, 30), ("kernel", "gelu", 40, 45), ("kernel", "gelu", 90, 10)]
    sides = trace(tmp_path / "a.json", STEP, grid=[1, 1, 1]), trace(tmp_path / "b.json", slower, grid=[2, 1, 1])
    (found,) = json.loads(bench("why", *sides, "--format", "json").stdout)

    parts = {part["name"]: (part["base"], part["candidate"]) for part in found["parts"]}
    assert parts == {"gemm": (30_000, 30_000), "gelu": (20_000, 45_000), "idle: no kernel ran": (30_000, 5_000)}
    assert (found["base"], found["candidate"], found["unattributed"]["difference"]) == (80_000, 80_000, 0)


@exhaustive
def test_generated_kernels_are_matched_by_what_they_do(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Numbers and the kind of reduction differ from one compilation to the next; the operators in the name do not."""
    kernels = [
        ("kernel", f"triton_{kind}_fused_add_gelu_{number}", 0.0, 20.0 + number)
        for kind, number in (("per", 0), ("red", 7))
    ]
    sides = [trace(tmp_path / f"{at}.json", [kernel]) for at, kernel in enumerate(kernels)]
    (found,) = json.loads(bench("why", *sides, "--format", "json").stdout)

    parts = [(part["name"], part["base"], part["candidate"]) for part in found["parts"]]
    assert parts == [("triton_fused_add_gelu", 20_000, 27_000)]


def test_a_cuda_graph_that_is_recorded_as_a_whole_is_time_of_its_gpu(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Nsight Systems records no kernels of it, unless it is asked to: such time was called idle."""
    for name, end in (("a", 40), ("b", 70)):
        table = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER)"
        script = f"{NSYS}; {table}; INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5000, {5000 + end}, 0);"
        (tmp_path / f"{name}.sqlite").write_bytes(database(script))
    (found,) = json.loads(bench("why", "a.sqlite", "b.sqlite", "--format", "json").stdout)

    assert (found["parts"][0]["name"], found["difference"]) == ("graph_trace: graph_trace", 30)


def test_a_trace_of_copies_alone_is_said(bench: Callable[..., Any], tmp_path: Path) -> None:
    """It has time of a GPU, in which what its kernels took is idle."""
    copies: list[Span] = [("gpu_memcpy", "Memcpy HtoD", 20, 3), ("gpu_memcpy", "Memcpy HtoD", 90, 3)]
    sides = trace(tmp_path / "a.json", STEP), trace(tmp_path / "b.json", [*STEP[:4], *copies])

    assert "b.json has copies of a GPU, and no kernel" in bench("why", *sides).stderr


@exhaustive
def test_operators_have_the_time_that_is_their_own(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Without that of what they call; traces without kernels are compared on the host, and this is said."""
    slower = [(kind, name, start, 5 if name == "aten::gelu" else took) for kind, name, start, took in STEP[:4]]
    sides = trace(tmp_path / "a.json", STEP), trace(tmp_path / "b.json", slower)
    done = bench("why", *sides, "--format", "json")
    (found,) = json.loads(done.stdout)

    assert {part["name"]: part["base"] for part in found["parts"]} == {
        "aten::linear": 2_000, "aten::addmm": 6_000, "cuda_runtime: cudaLaunchKernel": 2_000, "aten::gelu": 3_000,
    }  # fmt: skip
    assert found["parts"][0]["name"] == "aten::gelu" and found["difference"] == 2_000
    assert found["notes"][2] == "b.json has no kernels of a GPU: what both sides have is compared on the host"

    done = bench("compare", *sides)
    assert [line.split()[:2] for line in done.stdout.splitlines()[2:]] == [["cpu_op", "aten::gelu"]]
    assert "host: 13 µs in the base, 15 µs in the candidate: +2 µs" in done.stderr and found["notes"][2] in done.stderr
    assert "6 other rows, together −80 µs; show them with --all" in done.stderr


def test_a_comparison_of_traces_has_a_row_an_operator(bench: Callable[..., Any], tmp_path: Path) -> None:
    """The largest difference first, 50 at most; what differs in nothing is one sentence."""
    many = [("kernel", f"k{number}", 100.0 * number, 5.0) for number in range(80)]
    slower = [(kind, name, start, took + number / 10) for number, (kind, name, start, took) in enumerate(many)]
    sides = trace(tmp_path / "a.json", many), trace(tmp_path / "b.json", slower)

    done = bench("compare", *sides)
    lines = done.stdout.splitlines()
    assert len(lines) == 52 and [line.split()[1] for line in lines[2:5]] == ["no", "k79", "k78"]
    assert "GPU: 7.905 ms in the base, 7.913 ms in the candidate: +7.9 µs, of which idle −308.1 µs" in done.stderr
    assert "31 other rows, together +" in done.stderr
    assert len(bench("compare", *sides, "--all").stdout.splitlines()) == 83
    assert [row["name"] for row in json.loads(bench("compare", *sides, "--format", "json").stdout)][1] == "k79"
    assert "verdict" in bench("compare", *sides, "--metrics", "latency", "--all").stdout.splitlines()[0]


@exhaustive
def test_traces_read_in_place_give_the_rows_of_stored_ones(bench: Callable[..., Any], tmp_path: Path) -> None:
    """In place a span has no `fields`; of two GPUs each has its own gaps."""
    twice = [*STEP, ("kernel", "gemm", 52.0, 30.0)]
    sides = trace(tmp_path / "a.json", STEP), trace(tmp_path / "b.json", twice, grid=[2, 1, 1], note="ü" * 500)
    text = Path(sides[1]).read_text().replace('"stream": 7', '"device": 1, "stream": 7')
    Path(sides[1]).write_text(text)
    ask = ("compare", *sides, "--all", "--format", "json")
    in_place = json.loads(bench(*ask).stdout)
    bench("ingest", *(f"{name}:{side}" for name, side in zip("ab", sides, strict=True)))

    assert in_place == json.loads(bench(*ask).stdout) and len(in_place) > 4
    fields = "SELECT count(*) AS n FROM metrics WHERE metric = 'fields' AND original_value LIKE '%note%'"
    assert json.loads(bench("sql", fields, "--format", "json").stdout) == [{"n": 4}]
    lanes = "SELECT lane, count(began_ns) AS n FROM timings GROUP BY lane ORDER BY lane"
    assert json.loads(bench("sql", lanes, "--format", "json").stdout) == [
        {"lane": "0", "n": 6}, {"lane": "1", "n": 1}, {"lane": "1/1", "n": 8},
    ]  # fmt: skip


@exhaustive
def test_equal_traces_differ_in_nothing(bench: Callable[..., Any], tmp_path: Path) -> None:
    """However late the recording began."""
    later = [(kind, name, start + 77, took) for kind, name, start, took in STEP]
    sides = trace(tmp_path / "a.json", STEP), trace(tmp_path / "b.json", later)

    done = bench("compare", *sides)
    assert done.stdout.strip() == "nothing differs" or not done.stdout.strip()
    assert "nothing differs" in done.stderr


@exhaustive
def test_a_truncated_trace_of_another_machine_is_said(bench: Callable[..., Any], tmp_path: Path) -> None:
    """In a sentence each, with what can still be attributed."""
    sides = trace(tmp_path / "a.json", STEP), trace(tmp_path / "b.json", STEP, gpu="A100 \x1b[2J")
    text = Path(sides[1]).read_text()
    end = text.rindex('{"ph"')
    Path(sides[1]).write_text(text[: end + 40])
    Path(sides[0]).write_text(text.replace("A100", "H200"))

    done = bench("compare", *sides)
    assert done.exit_code == 0 and "kernel  gelu" in done.stdout
    assert "b.json: 2 records could not be read, as of a truncated trace: its times fall short" in done.stderr
    assert "\x1b" not in done.output

    other = trace(tmp_path / "c.json", STEP, gpu="A100 \x1b[2J")
    done = bench("compare", trace(tmp_path / "a.json", STEP), other)
    assert "the traces are of different GPUs: H200; A100" in done.stderr and "\x1b" not in done.output

    Path(other).write_text(Path(other).read_text().replace('"cuda_runtime_version": 1', '"cuda_runtime_version": 2'))
    done = bench("compare", str(tmp_path / "a.json"), other)
    assert "different software, whose kernels may have other names: cuda runtime version 1 and 2" in done.stderr
    assert "different machines" not in done.stderr

    Path(other).write_text(Path(other).read_text().replace('"one"', '"two \\u001b[2J"'))
    done = bench("compare", str(tmp_path / "a.json"), other)
    assert "the traces are of different machines: one; two" in done.stderr and "\x1b" not in done.output


def test_a_trace_without_an_event_is_a_trace(bench: Callable[..., Any], tmp_path: Path) -> None:
    """One whose profiler saw nothing, or that was cut before its first event, is no unknown format."""
    full = trace(tmp_path / "a.json", STEP)
    for name, text, said in (("b", "[]}", "no operator or kernel"), ("c", "[", "ends within the list")):
        (tmp_path / f"{name}.json").write_text('{"traceEvents": ' + text)
        assert said in str(bench("why", full, f"{name}.json").exception)


def test_several_traces_of_a_side_are_a_mean(bench: Callable[..., Any], tmp_path: Path) -> None:
    """As it is said; a side may have more of them than the other."""
    for name, took in (("a/1", 10), ("a/2", 30), ("b/1", 50)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        trace(tmp_path / f"{name}.json", [("cpu_op", "aten::mm", 0, took)])
    (found,) = json.loads(bench("why", "a", "b", "--format", "json").stdout)

    assert (found["base"], found["candidate"]) == (20_000, 50_000)
    assert "times are means over 2 and 1 traces: no interval is known" in found["notes"]


def test_spans_need_no_category(bench: Callable[..., Any], tmp_path: Path) -> None:
    """The format leaves it out, as clang's -ftime-trace does: they are operators of the host."""
    for name, factor in (("a", 1), ("b", 3)):
        spans = [{"ph": "X", "name": "parse", "pid": 1, "tid": 1, "ts": 0, "dur": 5 * factor}]
        (tmp_path / f"{name}.json").write_text(json.dumps(spans))
    (found,) = json.loads(bench("why", "a.json", "b.json", "--format", "json").stdout)

    assert [(part["name"], part["base"], part["candidate"]) for part in found["parts"]] == [
        ("span: parse", 5_000, 15_000)
    ]


@exhaustive
def test_a_side_without_anything_in_common_has_nothing_to_show(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Nothing is compared with the span that PyTorch puts around all, or with the other processor."""
    full, around = (
        trace(tmp_path / "a.json", STEP),
        trace(tmp_path / "b.json", [("Trace", "PyTorch Profiler (0)", 0, 99)]),
    )
    host, device = trace(tmp_path / "c.json", STEP[:4]), trace(tmp_path / "d.json", STEP[4:])
    for command in ("compare", "why"):
        assert str(bench(command, full, around).exception) == "b.json: no operator or kernel with a time and a moment"
        said = "d.json has kernels of a GPU alone, the other side none: they have nothing in common"
        assert str(bench(command, host, device).exception) == said


@exhaustive
def test_spans_of_other_kinds_are_said(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Of Python, for one, where the other side has operators."""
    sides = trace(tmp_path / "a.json", STEP[:4]), trace(tmp_path / "b.json", [("python_function", "main", 0, 9)])

    assert "b.json has no operators of torch: its spans are of other kinds" in bench("compare", *sides).stderr


@exhaustive
def test_a_file_is_not_compared_with_itself(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Its runs have no name that a user would know; an empty one is no file to load."""
    one = trace(tmp_path / "a.json", STEP)
    assert f"{one} and {one} hold the same results." in str(bench("why", one, one).exception)
    Path("empty.json").touch()
    assert str(bench("why", one, "empty.json").exception) == "empty.json holds no result"


@st.composite
def calls(draw: st.DrawFn, start: int = 0, end: int = 400, depth: int = 0) -> list[tuple[int, int]]:
    """Spans that lie within each other or apart: start and length."""
    found = []
    while start < end and draw(st.booleans()):
        begin = draw(st.integers(start, end))
        length = draw(st.integers(0, end - begin))
        found.append((begin, length))
        if depth < 3:
            found += draw(calls(begin, begin + length, depth + 1))
        start = begin + length
    return found


@given(calls())
def test_own_times_add_up_to_the_time_of_the_outermost(spans: list[tuple[int, int]]) -> None:
    """Whatever begins or ends together."""
    warehouse = Builder().add(run("t", "t", source="torch-trace"))
    for line, (start, length) in enumerate(spans, 1):
        of = case(f"op{line}", "t", suite="cpu_op")
        warehouse.add(of, timing(of, length * 1000, line=line, began_ns=1000 * start, lane="1/1"))
    covered = {moment for start, length in spans for moment in range(start, start + length)}

    rows = warehouse.rows("SELECT own_ns FROM trace_parts(['t'])")
    assert math.fsum(own for (own,) in rows) == 1000 * len(covered)


def test_names_of_kernels_are_short_for_people() -> None:
    """Without the usual namespaces."""
    assert readable("void at::native::(anonymous namespace)::sum<4>(float)") == "sum<4>"
    assert len(readable(1000 * "x")) == LONGEST_NAME


def test_a_question_about_many_spans_takes_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is limited while it lasts, and the next one has the limit, too, though the first has spilled."""
    monkeypatch.setattr(traces, "MEMORY_LIMIT", "16MB")
    monkeypatch.setattr(Tables, "spare", [])  # one that was used holds memory
    warehouse = Builder()
    limit = "SELECT current_setting('memory_limit')"
    for _ in range(2):
        with traces.bounded(warehouse):
            assert warehouse.rows(
                "SELECT max(n) FROM (SELECT range AS n, row_number() OVER (ORDER BY hash(range)) FROM range(600_000))"
            )
            assert warehouse.rows(limit) == [("15.2 MiB",)]

    assert warehouse.rows(limit) != [("15.2 MiB",)]
