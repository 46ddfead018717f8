"""What a line trace is to follow: by lines or by calls, which GPUs, and how a measurement of models asks for it."""

from pathlib import Path

import pytest
from bench.measure.annotate import place
from bench.measure.line_memory import trace
from bench.measure.line_memory.ledger import MemoryKind, Reader
from bench.measure.line_memory.options import choice
from bench.measure.line_memory.report import sum_cells
from bench.measure.line_memory.trace import Scope
from bench.warehouse.errors import BenchError

from .test_trace import Traced
from .tracing import Memory

NOTHING = {"trace_modules": (), "trace_excluded": (), "trace_events": "line", "trace_gpus": ()}


@pytest.fixture
def by_call(either_way: None, tmp_path: Path) -> Traced:
    """A trace of calls."""
    return Traced(tmp_path, Scope((f"{tmp_path}/",), events="call"))


def test_by_call_a_function_is_the_line_that_defines_it(by_call: Traced) -> None:
    """All it took itself is there, and the peak of what it called on the caller."""
    lines = by_call.run("calls")

    assert {text: (c.hits, c.increase, c.transient) for text, c in lines.items()} == {
        "def calls():": (1, 0, 32), "def transient_here():": (1, 0, 64), "def kept():": (1, 32, 0),
    }  # fmt: skip
    assert lines["def calls():"].peak == 1064


def test_by_call_a_generator_is_hit_once(by_call: Traced) -> None:
    """It goes on after each yield, which is no new call."""
    lines = by_call.run("consumes")

    assert (lines["def numbers(n):"].hits, lines["def numbers(n):"].increase) == (1, 3)
    assert lines["def consumes():"].hits == 1


@pytest.mark.parametrize(("chosen", "found"), [(None, {0, 2}), ((2,), {2}), ((1,), set())])
def test_only_chosen_gpus_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: tuple[int, ...] | None, found: set[int]
) -> None:
    """Of those that torch uses; all of them unless some are chosen."""
    used = [(index, MemoryKind("cuda_allocated", index), Memory().read) for index in (0, 2)]
    monkeypatch.setattr(trace, "gpus", lambda known: [one for one in used if one[0] not in known])
    traced = Traced(tmp_path, Scope((f"{tmp_path}/",), gpus=chosen))
    traced.run("kept")

    watched = {c.source.device_index for c in Reader(traced.ledger).lines() if c.source.device_index is not None}
    assert watched == found


def test_a_scope_survives_json() -> None:
    """As it is sent to the process that traces."""
    assert Scope.of({"folders": ["a"], "events": "call", "gpus": [1]}) == Scope(("a",), events="call", gpus=(1,))
    assert Scope.of({"gpus": None}).gpus is None


def test_what_is_chosen_for_no_trace_is_an_error() -> None:
    """It would be left unsaid; without any choice there is no trace, and with --trace-lines its fields."""
    assert choice({**NOTHING, "trace_lines": False}) is None
    with pytest.raises(BenchError, match="--trace-exclude has no effect without --trace-lines"):
        choice({**NOTHING, "trace_excluded": ("m",), "trace_lines": False})
    asked = choice({**NOTHING, "trace_gpus": (1,), "trace_lines": True})
    assert asked == {"modules": (), "excluded": (), "events": "line", "gpus": (1,)}


def test_a_line_of_a_package_is_named_within_it() -> None:
    """The place of its installation says nothing; other files keep their paths."""
    assert place("/usr/lib/python3/dist-packages/torch/nn/x.py", 3) == "torch/nn/x.py:3"
    assert place("models/net.py", 3) == "models/net.py:3"


def test_the_table_of_sums_has_cpu_gpu_and_both() -> None:
    """With their signs; a line without a GPU's memory has none there."""
    heads, (cells,) = sum_cells([("a.py", 1, "f", 2, 2048, None, 2048, 2048, None, 2048, "x = 1")])

    assert heads == ["line", "hits", "CPU", "GPU", "sum", "text"]
    assert cells[:3] == ("a.py:1", 2, "+2.00 KiB")
    assert cells[4:] == ("+2.00 KiB", "x = 1")
