"""Kernels of traces with their lines of source, where a log of torch.compile lies beside the trace."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.comparison.sides import Side
from bench.query.why.kernel_lines import FROM_LOGS, HIDDEN, HOW, hidden_kernels, with_lines
from bench.query.why.parts import part_of
from click.testing import CliRunner

from ...builders import Builder, case, metric, run, source
from ...exhaustive import exhaustive
from ...ingest.formats.samples import phase, torch_log
from .test_traces import trace

SIDES = (Side("a", ("a",)), Side("b", ("b",)))
Lines = Mapping[str, list[tuple[str, int]]]  # text and number of the line, by kernel
STACKS = "inductor_provenance_tracking_kernel_stack_traces"
BASE: Lines = {"triton_poi_fused_gelu_0:1": [("y = gelu(x)", 3)], "extern_kernels.mm:2": [("y @ w", 4)]}
CANDIDATE: Lines = {
    **BASE,
    "triton_poi_fused_gelu_0:1": [("y = gelu(x.double())", 3)],
    "extern_kernels.mm:3": [("y @ v", 5)],
}


def log(path: Path, kernels: Lines, compile_us: float = 50) -> None:
    """A log as torch writes it under TORCH_TRACE."""
    stacks = {
        kernel: [
            f'  File "{path.absolute().parent}/m.py", line {line}, in forward\n    {text}\n' for text, line in lines
        ]
        for kernel, lines in kernels.items()
    }
    path.mkdir(parents=True)
    began, ended = phase("entire_frame_compile", 0, compile_us)
    found = {"artifact": {"name": STACKS, "encoding": "json"}}
    path.joinpath("dedicated_log_torch_trace_x1.log").write_text(torch_log(began, (found, json.dumps(stacks)), ended))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A command in a folder with the folders a and b, each a trace and a log; gelu became slower, and mm came."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    for side, kernels, took in (("a", BASE, 20.0), ("b", CANDIDATE, 45.0)):
        log(Path(side, "log"), kernels)
        fused = "triton_poi_fused_gelu_0" if side == "a" else "triton_red_fused_gelu_7"
        trace(
            Path(side, "t.json"),
            [("cpu_op", "aten::mm", 0, took), ("kernel", fused, 20, took), ("kernel", "gemm", 20 + took, 9)],
        )
    return lambda *words: CliRunner().invoke(cli, list(words), standalone_mode=False)


def places(parts: list[dict[str, Any]]) -> dict[str, tuple[str | None, int | None]]:
    """File and line of each part."""
    return {part["name"]: (part["file"], part["line"]) for part in parts}


def test_a_folder_of_a_trace_and_its_log_names_the_line_of_a_kernel(bench: Callable[..., Any]) -> None:
    """A kernel that the log does not know stays without."""
    done = bench("why", "a", "b", "--format", "json")
    (found,) = json.loads(done.stdout)

    file = str(Path("b/m.py").absolute())
    assert places(found["parts"]) == {"triton_fused_gelu": (file, 3), "gemm": (None, None)}
    assert (found["parts"][0]["difference"], found["unattributed"]["difference"]) == (25_000, 0)
    assert (
        FROM_LOGS in found["notes"] and "what compiling took: bench why a b --metric compile_latency" in found["notes"]
    )
    assert "subfolders" not in done.stderr
    assert "b/m.py:3\n" in bench("why", "a", "b").stdout
    assert "what compiling took" in bench("compare", "a", "b").stderr
    (found,) = json.loads(bench("why", "a", "b", "--metric", "compile_latency", "--format", "json").stdout)
    assert (found["case"], found["base"]) == ("torch.compile", 50_000)


@exhaustive
def test_a_stored_trace_is_asked_with_its_log(bench: Callable[..., Any]) -> None:
    """By the name of their config, as one run; another log of that config does not belong to it."""
    log(Path("other"), {}, compile_us=70)
    assert bench("ingest", "a", "b").exit_code == bench("ingest", "a:other").exit_code == 0
    for sides in (("./a", "./b"), ("a~1", "b")):
        (found,) = json.loads(bench("why", *sides, "--format", "json").stdout)
        assert places(found["parts"])["triton_fused_gelu"] == (str(Path("b/m.py").absolute()), 3)
    pairs = "SELECT source, count(*) AS n FROM related_runs JOIN runs USING (run_id) WHERE same_recording GROUP BY ALL"
    assert {row["source"]: row["n"] for row in json.loads(bench("sql", pairs, "--format", "json").stdout)} == {
        "torch-logs": 2, "torch-trace": 2,
    }  # fmt: skip
    assert "compile_latency" in bench("show", "b").stdout


@exhaustive
def test_a_flame_graph_takes_the_traces_alone(bench: Callable[..., Any]) -> None:
    """Their means are of traces, not of logs."""
    done = bench("viz", "flame", "a", "b", "--format", "json")
    assert done.exit_code == 0 and "20" in done.stdout
    rows = bench("viz", "flame", "a", "b", "--format", "csv").stdout
    assert "aten::mm" in rows and "torch.compile" not in rows


@exhaustive
def test_folders_of_logs_alone_are_result_sets_of_their_own(bench: Callable[..., Any]) -> None:
    """A log belongs to the folder above only where a trace is."""
    for side in "ab":
        Path(side, "t.json").unlink()
        Path("logs", side).mkdir(parents=True)
        Path(side, "log", "dedicated_log_torch_trace_x1.log").rename(
            Path("logs", side, "dedicated_log_torch_trace_x1.log")
        )
    bench("ingest", "logs")

    configs = json.loads(bench("sql", "SELECT config FROM runs ORDER BY config", "--format", "json").stdout)
    assert [row["config"] for row in configs] == ["a", "b"]


def builder(base: Lines, candidate: Lines) -> Builder:
    """A warehouse with the logs of both sides."""
    warehouse = Builder()
    for run_id, kernels in (("a", base), ("b", candidate)):
        of = case("torch.compile", run_id)
        warehouse.add(run(run_id, run_id, source="torch-logs"), of)
        for kernel, lines in kernels.items():
            for number, (text, line) in enumerate(lines, 1):
                place = {
                    "kernel": kernel,
                    "number": number,
                    "file": f"{run_id}.py",
                    "line": line,
                    "function": "f",
                    "text": text,
                }
                warehouse.add(metric(of, "kernel_source", None, original_value=json.dumps(place)))
    return warehouse


def test_of_several_lines_the_new_one_comes_first() -> None:
    """By its text, for numbers shift; a part of the base alone has the base's, and others count on."""
    base: Lines = {"aten::mm": [("y @ w", 4)], "gone": [("y @ w", 4), ("y + 1", 5)]}
    candidate: Lines = {"aten::mm": [("y @ w", 5), ("y @ v", 6)], "gone": [("z", 9)]}
    parts = [part_of("aten::mm", 1.0, 2.0, None), part_of("gone", 1.0, 0.0, None), part_of("idle", 1.0, 1.0, None)]
    placed, notes = with_lines(builder(base, candidate), SIDES, parts)

    assert [(part.file, part.line, part.also) for part in placed] == [
        ("b.py", 6, ("b.py:5",)),
        ("a.py", 5, ("a.py:4",)),
        ("", 0, ()),
    ]
    assert notes == [FROM_LOGS]


def test_kernels_without_a_line_come_with_how_to_record_it() -> None:
    """If Inductor made one of them, and it differs."""
    for name, candidate, said in (("cpp_fused_gelu", 2.0, [HOW]), ("cpp_fused_gelu", 1.0, []), ("gemm", 2.0, [])):
        parts = [part_of(name, 1.0, candidate, None)]
        assert with_lines(builder({}, {}), SIDES, parts) == (parts, said)


def test_kernels_within_the_call_of_compiled_code_come_with_how_to_see_them() -> None:
    """If that differs, and no kernel of it is a part."""
    call = part_of("## Call CompiledFxGraph … ##", 1.0, 2.0, None)
    assert with_lines(builder({}, {}), SIDES, [call]) == ([call], [HIDDEN]) and hidden_kernels([call]) == [HIDDEN]
    assert hidden_kernels([call, part_of("cpp_fused_gelu", 1.0, 1.0, None)]) == hidden_kernels([]) == []


def test_a_log_belongs_to_the_trace_of_its_folder() -> None:
    """Or of one above it, and of the same config."""
    warehouse = Builder()
    for run_id, path in (("t", "x/t.json"), ("l", "x/log/l.log"), ("other", "xy/l.log")):
        kind = "torch-trace" if run_id == "t" else "torch-logs"
        warehouse.add(
            run(run_id, "c", source=kind), source(Path(path).name, run=run_id, config="c", path=path, format=kind)
        )

    assert warehouse.rows("SELECT run_id, other_run_id FROM related_runs WHERE same_recording ORDER BY 1") == [
        ("l", "t"),
        ("t", "l"),
    ]
