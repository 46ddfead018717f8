"""`@bench.benchmark`: functions that say themselves how they are measured, and how they are found."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import bench
import pytest
from bench.cli import cli
from bench.measure.functions.discovery import Group, find, groups_of
from bench.warehouse.errors import BenchError
from click.testing import CliRunner

from ...builders import stored

CODE = """
import bench
from bench_other import elsewhere

@bench.benchmark(parameters={"n": [2, 3], "flag": [True]})
def loop(n, flag): return n * 2

@bench.benchmark(name="sorting", setup=lambda: [3, 1, 2])
def sort(items): return sorted(items)

def unmarked(): pass

@bench.benchmark(against=loop)
def shift(n, flag): return n << 1

also = shift
print("what a module prints is none of it")
"""
OTHER = """
import bench

@bench.benchmark
def elsewhere(): pass
"""

Write = Callable[..., ModuleType]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write modules, and import the last."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "store"))

    def made(**texts: str) -> ModuleType:
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
            monkeypatch.delitem(importlib.sys.modules, name, raising=False)  # type: ignore[attr-defined]
        importlib.invalidate_caches()
        return importlib.import_module(list(texts)[-1])

    return made


def test_a_benchmark_is_the_function_itself() -> None:
    """To call it costs what it did."""

    def twice(n: int) -> int:
        return n * 2

    assert twice is bench.benchmark(twice) is bench.benchmark(parameters={"n": [1]})(twice)


def test_a_module_s_benchmarks_are_found_in_order(write: Write) -> None:
    """Those compared are with their reference; what is imported, unmarked or another name for the same is not there."""
    module = write(bench_other=OTHER, bench_work=CODE)

    assert [
        Group("bench_work:loop", ("bench_work:loop", "bench_work:shift"), {"n": [2, 3], "flag": [True]}),
        Group("sorting", ("bench_work:sort",), setup="bench_work:sort.__benchmark__.setup"),
    ] == groups_of([module])


def test_a_reference_may_lie_in_another_module(write: Write) -> None:
    """One that is compared with it makes it part of the comparison, wherever it is."""
    mine = "import bench, bench_other\n\n@bench.benchmark(against=bench_other.elsewhere)\ndef mine(): pass\n"
    module = write(bench_other=OTHER, bench_mine=mine)

    assert [Group("bench_other:elsewhere", ("bench_other:elsewhere", "bench_mine:mine"))] == groups_of([module])


def test_a_benchmark_is_found_by_the_name_it_has_in_its_module(write: Write) -> None:
    """A lambda, what another function made, or what a class holds: left out, or looked for in vain, it would not be measured."""
    module = write(
        bench_work="import bench\nadd = bench.benchmark(lambda: 1 + 1)\n"
        "def make():\n    @bench.benchmark(against=add)\n    def made(): pass\n    return made\nmade = make()\n"
        "class Box:\n    @staticmethod\n    @bench.benchmark\n    def put(): pass\n"
        "    @bench.benchmark\n    @staticmethod\n    def get(): pass\n"
    )

    assert [
        Group("bench_work:add", ("bench_work:add", "bench_work:made")),
        Group("bench_work:Box.put", ("bench_work:Box.put",)),
        Group("bench_work:Box.get", ("bench_work:Box.get",)),
    ] == groups_of([module])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1", "bench_bad marks no function with @bench.benchmark"),
        ("import bench\n@bench.benchmark(parameters={'n': [object()]})\ndef f(n): pass", "'n' is not a list of plain values"),
        ("import bench\n@bench.benchmark(parameters={'n': 'abc'})\ndef f(n): pass", "'n' is not a list of plain values"),
        ("import bench\n@bench.benchmark(against=len)\ndef f(): pass", "is not a benchmark that others can be compared with"),
        ("import bench\ng = bench.benchmark(lambda: 1)\n@bench.benchmark(against=g, name='x')\ndef f(): pass", "leave them out"),
        ("import bench\nf = bench.benchmark(name='a')(lambda: 1)\ndef h(): pass\nbench.benchmark(name='a')(h)", "two benchmarks"),
        ("import bench\n@bench.benchmark(parameters={'n': []})\ndef f(n): pass", "'n' has no values"),
        ("import bench\nbench.benchmark(len)", "write a function that calls it"),
        ("import bench, functools\nf = bench.benchmark(functools.partial(int, 1))", "write a function that calls it"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str
) -> None:
    """With the module, and the cure where there is one."""
    (tmp_path / "bench_bad.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(BenchError, match=complaint.replace("(", r"\(")):
        find(["bench_bad"])


def measure(*arguments: str) -> Any:
    usual = ["measure", "function", "--processes", "1", "--budget", "0.2", "--repeat", "5"]
    return CliRunner().invoke(cli, [*usual, *arguments], standalone_mode=False)


@pytest.mark.exhaustive
def test_a_module_is_measured_whole(write: Write) -> None:
    """Every benchmark with every combination of its parameters, in the order written."""
    write(bench_other=OTHER, bench_work=CODE)
    done = measure("bench_work", "--check")

    assert done.return_value == 0, done.output
    cases = stored(
        "SELECT c.name, backend, parameters, status FROM cases AS c "
        "JOIN outcomes AS o ON c.case_id = o.case_id AND kind = 'performance' ORDER BY c.line, c.recorded_at"
    )
    assert cases == [
        ("bench_work:loop", "bench_work:loop", '{"flag": true, "n": 2}', "ok"),
        ("bench_work:loop", "bench_work:shift", '{"flag": true, "n": 2}', "ok"),
        ("bench_work:loop", "bench_work:loop", '{"flag": true, "n": 3}', "ok"),
        ("bench_work:loop", "bench_work:shift", '{"flag": true, "n": 3}', "ok"),
        ("sorting", "bench_work:sort", None, "ok"),
    ]


@pytest.mark.exhaustive
def test_benchmarks_are_chosen_by_name(write: Write) -> None:
    """By a part of what they are called; one that none has is told with what there is."""
    write(bench_other=OTHER, bench_work=CODE)
    assert "sort" in (done := measure("bench_work", "--filter", "sorti")).stdout
    assert "loop" not in done.stdout

    with pytest.raises(BenchError, match="no benchmark 'none' in these modules"):
        raise measure("bench_work", "--filter", "none").exception


def test_benchmarks_say_their_arguments_themselves(write: Write) -> None:
    """On the command line they would be a second way, and which holds would be unclear."""
    with pytest.raises(BenchError, match="go with module:function"):
        raise measure("bench_work", "--arg", "n=1").exception
