"""Call paths of two sides: widths add up, spans nest by time and thread, and what cannot be read is counted."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.comparison.sides import Side
from bench.query.why.paths import CallPaths, PathNode, call_paths, nested_spans
from bench.viz.charts import flame
from bench.warehouse.errors import NothingToShow
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import exhaustive

Stacks = Sequence[tuple[Sequence[str], int]]
FRAMES = st.text(st.characters(exclude_characters=";", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)
STACKS = st.lists(st.tuples(st.lists(FRAMES, min_size=1, max_size=5), st.integers(0, 10**6)), min_size=1, max_size=12)


def folded(path: Path, stacks: Stacks, *, also: str = "") -> str:
    """A file as py-spy and stackcollapse write it."""
    lines = "".join(f"{';'.join(frames)} {count}\n" for frames, count in stacks)
    path.write_text(lines + also, encoding="utf-8")
    return str(path)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    return lambda *words: CliRunner().invoke(cli, list(words))


def paths_of(warehouse: Builder) -> CallPaths:
    """Of the runs a and b."""
    return call_paths(warehouse, (Side("a", ("a",)), Side("b", ("b",))))


def add_stacks(warehouse: Builder, run_id: str, stacks: Stacks) -> None:
    """A run as a file of folded stacks makes it."""
    warehouse.add(run(run_id, run_id, source="folded-stacks"))
    for frames, count in stacks:
        one = case(";".join(frames), run_id)
        warehouse.add(one, outcome(one), metric(one, "samples", count, unit="count"))


def add_spans(warehouse: Builder, run_id: str, spans: Sequence[tuple[str, str, int, int, int]]) -> None:
    """A run as a trace makes it, of kind, name, thread, start and duration in ns."""
    warehouse.add(run(run_id, run_id, source="torch-trace"))
    for kind, name in dict.fromkeys((kind, name) for kind, name, *_ in spans):
        warehouse.add(case(name, run_id, suite=kind))
    for line, (kind, name, thread, start, ns) in enumerate(spans, 1):
        one = case(name, run_id, suite=kind)
        place = {"args": {"device": 0}} if kind == "kernel" else {"pid": 1, "tid": thread}
        fields = json.dumps({"ts": start / 1000, **place})
        warehouse.add(timing(one, ns, line=line), metric(one, "fields", None, line=line, original_value=fields))


def tree(node: PathNode) -> dict[str, Any]:
    """Names with the candidate's value and what they call."""
    return {name: (callee.candidate, tree(callee)) for name, callee in node.callees.items()}


@given(STACKS, STACKS)
def test_widths_of_each_side_add_up_to_its_total(base: Stacks, candidate: Stacks) -> None:
    """Whatever the frames are called: the root has all samples, and a path what it calls and its own."""
    root = PathNode("all")
    for at, side in enumerate((base, candidate)):
        for frames, count in side:
            root.add(frames, *((count, 0) if at == 0 else (0, count)))

    assert (root.base, root.candidate) == tuple(sum(count for _, count in side) for side in (base, candidate))
    nodes = [node for _, node in root.walk()]
    assert all(own >= 0 for node in nodes for own in node.own)
    for at, total in enumerate((root.base, root.candidate)):
        assert math.fsum(node.own[at] for node in nodes) == total


@given(STACKS)
def test_drawn_frames_lie_within_their_callers(stacks: Stacks) -> None:
    """Side by side, none over another."""
    root = PathNode("all")
    for frames, count in stacks:
        root.add(frames, 0, count)
    reached: dict[int, float] = {}
    for _, depth, start, _, width, *_ in flame.placed_frames(root):
        assert start >= reached.get(depth, 0.0)
        assert not depth or start + width <= reached[depth - 1]
        reached[depth] = start + width


def test_spans_nest_by_time_and_thread() -> None:
    """A thread's in the one that is open; what reaches beyond it is cut; of kernels the common time counts once."""
    spans = [
        ("cpu_op", "step", 1, 0, 100), ("cpu_op", "linear", 1, 10, 40), ("cpu_op", "addmm", 1, 10, 40),
        ("cpu_op", "late", 1, 90, 30),
        ("cpu_op", "step", 2, 20, 50), ("kernel", "gemm", 0, 0, 60), ("kernel", "gelu", 0, 40, 60),
    ]  # fmt: skip
    warehouse = Builder()
    for side in ("a", "b"):
        add_spans(warehouse, side, spans)
    found = paths_of(warehouse)

    called: dict[str, Any] = {"linear": (40, {"addmm": (40, {})}), "late": (10, {})}
    assert tree(found.root) == {
        "host": (150, {"step": (150, called)}), "GPU": (100, {"gemm": (60, {}), "gelu": (40, {})}),
    }  # fmt: skip


SPANS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 20)), min_size=1, max_size=15)


@given(SPANS)
def test_a_thread_adds_up_to_the_time_of_its_outermost_spans(spans: list[tuple[int, int, int]]) -> None:
    """However they overlap."""
    ordered = sorted(spans, key=lambda span: (span[0], span[1], -span[2]))
    reached: dict[int, int] = {}
    total = 0
    for thread, start, ns in ordered:
        if start >= reached.get(thread, 0):
            total, reached[thread] = total + ns, start + ns
    rows = [("run", str(thread), False, f"op{ns % 3}", start, start + ns) for thread, start, ns in ordered]
    own = [ns for _, ns in nested_spans([rows[:4], rows[4:]])]

    assert min(own) > 0 and sum(own) == total


def test_files_of_stacks_are_drawn_and_bad_lines_counted(bench: Callable[..., Any], tmp_path: Path) -> None:
    """py-spy's frames have blanks and colons; one frame is a stack, too. Whatever question read the file counts its rejects."""
    stacks = [(["main (a.py:3)", "load (a.py:9)"], 40), (["main (a.py:3)"], 2)]
    base = folded(tmp_path / "a.folded", stacks)
    candidate = folded(tmp_path / "b.folded", [*stacks, (["main (a.py:3)", "<b>&new"], 8)], also="no count\n;;; 3\n")
    done = bench("viz", "flame", base, candidate)

    assert done.exit_code == 0, done.output
    assert "b.folded: 8 more samples than a.folded" in done.stdout
    assert "42 to 50 samples" in done.stdout and "<b>&new +8" in done.stdout
    assert "b.folded: 2 of its lines are no stack with a count" in done.stderr
    for question in ("compare", "why"):
        assert "note: 2 of 5 records of b.folded are rejected, and left out" in bench(question, base, candidate).stderr


@exhaustive
def test_a_file_of_one_frame_is_a_flame(bench: Callable[..., Any], tmp_path: Path) -> None:
    """By the ending of its name it is a file of stacks."""
    sides = [folded(tmp_path / f"{name}.folded", [(["main"], count)]) for name, count in (("a", 5), ("b", 4))]
    done = bench("viz", "flame", *sides)

    assert "b.folded: 1 fewer samples than a.folded" in done.stdout


def test_profiles_of_different_lengths_are_compared_by_share() -> None:
    """With `relative` the base is scaled to the candidate's total."""
    warehouse = Builder()
    add_stacks(warehouse, "a", [(["f"], 10), (["g"], 30)])
    add_stacks(warehouse, "b", [(["f"], 40), (["g"], 40)])
    figure = flame.draw(warehouse, "a", "b", relative=True)

    assert figure.fields["label"] == ["all", "f", "g"]
    assert figure.fields["difference"] == [0, 20, -20]


def test_a_side_without_samples_says_so() -> None:
    """Rather than a blank picture."""
    warehouse = Builder()
    add_stacks(warehouse, "a", [(["f"], 10)])
    add_stacks(warehouse, "b", [(["f"], 0)])

    with pytest.raises(NothingToShow, match=r"b has no call path that takes samples.*bench "):
        paths_of(warehouse)


@exhaustive
def test_a_truncated_trace_says_that_it_falls_short(bench: Callable[..., Any], tmp_path: Path) -> None:
    """Its whole spans are drawn."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{at}", "pid": 1, "tid": 1, "ts": 20 * at, "dur": 9} for at in range(8)
    ]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text(text[: len(text) * 2 // 3])
    done = bench("viz", "flame", "a.json", "b.json")

    assert done.exit_code == 0, done.output
    assert "op1" in done.stdout and "only in the base" in done.stdout
    assert "of a truncated trace: its times fall short" in " ".join(done.stderr.split())


def test_lines_of_a_function_lie_below_it() -> None:
    """Shares of a profile that bench recorded, times the time measured without it."""
    warehouse = Builder()
    for run_id, share, ns in (("a", 0.5, 1_000_000), ("b", 0.75, 2_000_000)):
        one = case("work:score", run_id, suite="function")
        warehouse.add(run(run_id, run_id), one, outcome(one), *(timing(one, ns, process=p) for p in range(3)))
        for text, part in (("a = 1", share), ("b = 2", 1 - share)):
            place = json.dumps({"file": "work.py", "function": "score", "line": 8, "text": text})
            warehouse.add(metric(one, "line_time", part, original_value=place))
    lines: dict[str, Any] = {"a = 1 (work.py:8)": (1_500_000, {}), "b = 2 (work.py:8)": (500_000, {})}

    assert tree(paths_of(warehouse).root) == {"work:score": (2_000_000, {"score": (2_000_000, lines)})}


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ('{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": [{"line": 1}]}', "raw"),
        ("python 12 100.1: 250000 cycles:\n\t7f00 sorted+0x10 (/usr/bin/python)\n\n", "stackcollapse-perf.pl"),
    ],
)
def test_profiles_that_are_not_folded_have_a_cure(text: str, cure: str, bench: Callable[..., Any]) -> None:
    """No mapping of the lines of frames to values is proposed."""
    Path("a.json").write_text(text)
    said = str(bench("why", "a.json", "a.json").exception)

    assert "is a profile" in said and cure in said and "--map records" not in said
