"""Call paths of two sides as a tree: what each path takes on both, with what it calls."""

import functools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import NothingToShow
from ..comparison.sides import Side
from .allocations import CALLED_BY
from .parts import DifferencePart, readable
from .stacks import STACKS, are_folded, unread
from .traces import OWNERS, are_traces, doubts, traces_of
from .why import why

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Sides = tuple[Side, Side]
Values = tuple[float, float]  # of base and candidate
_SPANS = """
    SELECT run_id, lane, device, name, start, start + ns
    FROM _trace_spans(?)
    WHERE ns > 0 AND abs(start) < 2::BIGINT ** 61 AND kind NOT IN ('gpu_user_annotation', 'Trace')
    ORDER BY run_id, device, lane, start, ns DESC, line
"""
_FETCHED = 50_000  # spans at a time
UNATTRIBUTED = "unattributed"
WHAT = {"ns": "time", "bytes": "memory"}  # by unit


@dataclass(slots=True)
class PathNode:
    """A call path: the last of its frames, and what the path takes on both sides, with what it calls."""

    name: str
    base: float = 0.0
    candidate: float = 0.0
    callees: "dict[str, PathNode]" = field(default_factory=dict)

    def callee(self, name: str) -> "PathNode":
        """The path that is one frame longer; made where there is none."""
        found = self.callees.get(name)
        if found is None:
            found = self.callees[name] = PathNode(name)
        return found

    def add(self, frames: Iterable[str], base: float, candidate: float) -> None:
        """Add a path below this one, to itself and to all on the way."""
        node = self
        node.base, node.candidate = node.base + base, node.candidate + candidate
        for name in frames:
            node = node.callee(name)
            node.base, node.candidate = node.base + base, node.candidate + candidate

    def walk(self) -> "Iterator[tuple[int, PathNode]]":
        """This path and all below it with how deep they are, callers first."""
        waiting = [(0, self)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, callee) for callee in node.callees.values()]

    @property
    def own(self) -> Values:
        """The time of the path itself on both sides, without its callees."""
        called = [math.fsum(map(operator.attrgetter(side), self.callees.values())) for side in ("base", "candidate")]
        return self.base - called[0], self.candidate - called[1]


@dataclass(frozen=True, slots=True)
class CallPaths:
    """The paths of two sides below one root, the unit of what they take, and sentences on how they were taken."""

    root: PathNode
    unit: str | None
    what: str
    notes: Sequence[str]


def call_paths(
    warehouse: "Warehouse", sides: Sides, case: str | None = None, *, backend: str | None = None
) -> CallPaths:
    """The call paths that both sides recorded.

    Folded stacks have theirs; spans of a trace nest by time and thread; else a function of `bench why` calls its lines.

    Raises:
        NothingToShow: A side has none.
        UnknownName: Both sides have no such case.
    """
    if case is None and are_folded(warehouse, sides):
        found = _of_stacks(warehouse, sides)
    elif case is None and are_traces(warehouse, sides):
        found = _of_traces(warehouse, traces_of(warehouse, sides))
    else:
        found = _of_parts(warehouse, sides, case, backend)
    for side, total in zip(sides, (found.root.base, found.root.candidate), strict=True):
        if not total > 0:
            raise NothingToShow(
                f"{side.name} has no call path that takes {found.what}. See what it has with: bench list cases"
            )
    return found


def _of_stacks(warehouse: "Warehouse", sides: Sides) -> CallPaths:
    root = PathNode("all")
    for at, side in enumerate(sides):
        for stack, samples, _ in warehouse.rows(STACKS, [list(side.runs)]):
            taken = samples / len(side.runs)
            root.add(stack.split(";"), *((taken, 0.0) if at == 0 else (0.0, taken)))
    return CallPaths(root, "count", "samples", [*unread(warehouse, sides)])


def _of_traces(warehouse: "Warehouse", sides: Sides) -> CallPaths:
    root = PathNode("all")
    for at, side in enumerate(sides):
        cursor = warehouse.connection.execute(_SPANS, [list(side.runs)])
        for path, ns in nested_spans(iter(functools.partial(cursor.fetchmany, _FETCHED), [])):
            taken = ns / len(side.runs)
            root.add(path, *((taken, 0.0) if at == 0 else (0.0, taken)))
    return CallPaths(root, "ns", "time", [*doubts(warehouse, sides, [])])


def nested_spans(blocks: Iterable[list[tuple[Any, ...]]]) -> Iterator[tuple[list[str], int]]:
    """The path of each span with the time that is its own: of a GPU's, which do not nest, where no earlier one runs.

    A span is run, thread, whether it is of a GPU, name, start and end; those of a thread follow each other by start. A path
    holds until the next is asked for.
    """
    lane: tuple[Any, ...] | None = None
    path: list[str] = []
    opened: list[list[int]] = []  # end of each span that is open, and its own time
    reached = 0
    for run_id, thread, device, name, start, end in (span for block in blocks for span in block):
        if (run_id, thread, device) != lane:
            yield from _closed(path, opened, None)
            lane, path, reached = (run_id, thread, device), [OWNERS[device]], start
        if device:
            if end > reached:
                yield [*path, name], end - max(start, reached)
                reached = end
            continue
        yield from _closed(path, opened, start)
        if opened:
            end = min(end, opened[-1][0])  # what reaches beyond its caller is cut
            opened[-1][1] -= end - start
        opened.append([end, end - start])
        path.append(name)
    yield from _closed(path, opened, None)


def _closed(path: list[str], opened: list[list[int]], moment: int | None) -> Iterator[tuple[list[str], int]]:
    """Close the spans that ended by a moment, or all of them."""
    while opened and (moment is None or opened[-1][0] <= moment):
        _, own = opened.pop()
        if own:
            yield path, own
        path.pop()


def _of_parts(warehouse: "Warehouse", sides: Sides, case: str | None, backend: str | None) -> CallPaths:
    found = why(warehouse, sides, case, backend=backend)
    root = PathNode("all")
    inner = root.callee(found.whole.name)
    parts = [part for part in found.parts if part.base is not None and part.candidate is not None]
    for part in parts:
        inner.add(_frames(part), max(part.base or 0.0, 0.0), max(part.candidate or 0.0, 0.0))
    rest = [(getattr(found.whole, side) or 0.0) - getattr(inner, side) for side in ("base", "candidate")]
    if any(value > 0 for value in rest):
        inner.add([UNATTRIBUTED], *(max(value, 0.0) for value in rest))
    root.base, root.candidate = inner.base, inner.candidate
    if not parts:
        raise NothingToShow(
            f"the parts of {readable(found.whole.name)} are differences only. Draw them with: bench viz why"
        )
    return CallPaths(root, found.unit, WHAT.get(found.unit, found.unit), found.notes)


def _frames(part: DifferencePart) -> list[str]:
    """The frames of a part: a function and its line, or those that called what asked for memory, and its line."""
    function, _, text = part.name.partition(": ") if part.file else (part.name, "", "")
    if not text:
        return [function]
    place = f"({part.file}:{part.line})"
    if text.startswith(CALLED_BY):
        return [*reversed(text.removeprefix(CALLED_BY).split(", ")), f"{function} {place}"]
    return [function, f"{text} {place}"]
