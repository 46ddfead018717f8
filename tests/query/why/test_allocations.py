"""Live memory at the peak of a GPU's allocator: blocks that were there before, frees, and stacks."""

from typing import Any

import pytest
from bench.query.comparison.sides import Side
from bench.query.why.allocations import LIVE_AT_PEAK, UNKNOWN, call_path, peaks
from bench.query.why.paths import call_paths
from bench.query.why.why import why
from bench.warehouse.events import Event

from ...builders import Builder, case, memory, metric, outcome, run
from ...ingest.formats.snapshots import MIB, allocation, block, free, snapshot, stack


def live(value: Any) -> dict[str, int]:
    """MiB by function and line of the only GPU."""
    ((_, found),) = peaks(value)
    return {f"{path.function}:{path.line}": size // MIB for path, size in found.items()}


def test_what_is_given_back_before_the_peak_is_not_in_it() -> None:
    """Memory of an address that is used again is that of the later stack."""
    events = [
        allocation(1, 30, line=12),
        free(1, 30),
        allocation(1, 40, line=13),
        allocation(2, 5, line=14),
        free(2, 5),
    ]

    assert live(snapshot([block(0, 60, line=5)], events)) == {"forward:5": 60, "forward:13": 40, "forward:14": 5}


def test_blocks_from_before_the_history_that_it_frees_have_no_stack() -> None:
    """A ring of events keeps the last ones only."""
    assert live(snapshot([], [free(3, 50), allocation(1, 20, line=12)])) == {"no stack recorded:0": 50}


def test_a_block_that_the_history_allocated_counts_once() -> None:
    """It stands in a segment, too."""
    assert live(snapshot([block(1, 20, line=12)], [allocation(1, 20, line=12)])) == {"forward:12": 20}


def test_the_first_of_two_equal_peaks_counts() -> None:
    """As in the view of traced programs."""
    assert live(snapshot([], [allocation(1, 9, line=1), free(1, 9), allocation(1, 9, line=2)])) == {"forward:1": 9}


def test_a_call_path_is_of_the_users_code() -> None:
    """The innermost place in it, and who called that; without one that of a library, and of C++."""
    path = call_path(stack(12))

    assert (path.file, path.line, path.function, path.text) == (
        "/home/user/net.py",
        12,
        "forward",
        "called by step, main",
    )
    assert call_path(stack(12)[:2]).function == "gelu"
    assert call_path(stack(12)[:1]).function == "at::empty"
    assert call_path([]) == call_path(None) == UNKNOWN


def recorded(run_id: str, value: Any) -> list[Event]:
    """A run that has the rows of a snapshot."""
    it = case("GPU 0", run=run_id, device="cuda")
    ((_, found),) = peaks(value)
    return [
        run(run_id), it, outcome(it), memory(it, sum(found.values()), source="cuda_allocated", device_index=0),
        *(metric(it, LIVE_AT_PEAK, size, unit="bytes", original_value=path.place) for path, size in found.items()),
    ]  # fmt: skip


def test_parts_of_two_snapshots_add_up_to_the_byte() -> None:
    """A new allocation of a function is a part of its own; one whose line has moved is not."""
    base = snapshot([block(0, 64, line=5)], [allocation(1, 32, line=12)])
    candidate = snapshot([block(0, 64, line=6)], [allocation(1, 32, line=12), allocation(2, 48, line=13)])
    warehouse = Builder().add(*recorded("base", base), *recorded("candidate", candidate))
    found = why(warehouse, (Side("base", ("base",)), Side("candidate", ("candidate",))))

    parts = [(part.name, part.line, part.difference / MIB) for part in found.parts]
    assert parts[0] == ("forward: called by step, main", 13, 48)
    assert found.whole.difference == 48 * MIB and found.unattributed.difference == 0
    assert (found.unattributed.low, found.unattributed.high) == (0, 0)
    assert found.notes[-1].startswith("call paths")


def test_the_paths_of_a_flame_graph_begin_with_the_outermost_caller() -> None:
    """The place that asked for memory lies below those that called it."""
    warehouse = Builder()
    for side, mib in (("base", 32), ("candidate", 48)):
        warehouse.add(*recorded(side, snapshot([], [allocation(1, mib, line=12)])))
    found = call_paths(warehouse, (Side("base", ("base",)), Side("candidate", ("candidate",))))

    *names, last = [node.name for _, node in found.root.walk()]
    assert names == ["all", "GPU 0", "main", "step"] and last.startswith("forward (") and last.endswith("net.py:12)")


def test_as_many_lines_of_a_call_path_are_the_same_in_order() -> None:
    """Lines above them were added, and sizes changed."""
    sides = [snapshot([], [allocation(1, 30 + at, line=at), allocation(2, 10, line=at + 1)]) for at in (5, 6)]
    warehouse = Builder().add(*recorded("base", sides[0]), *recorded("candidate", sides[1]))
    found = why(warehouse, (Side("base", ("base",)), Side("candidate", ("candidate",))))

    assert [part.difference / MIB for part in found.parts] == [1, 0]


def test_no_snapshot_is_said() -> None:
    """Whatever it is."""
    with pytest.raises(ValueError, match="no list of segments"):
        list(peaks([1]))
