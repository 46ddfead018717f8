"""Flame: call paths of two sides, coloured by how much slower or faster they became."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ...query.comparison.sides import find_sides
from ...query.pasteable_sql import table_of
from ...query.why.parts import readable
from ...query.why.paths import CallPaths, PathNode, call_paths
from ...warehouse.console.declared import Option, Positional
from ...warehouse.console.numbers import amount, counted, signed
from ..chart import Chart, chart
from ..data import Row, read_rows
from ..marks.flames import Flames, Frame
from ..style.units import choose_unit

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

MOST, DEEPEST = 1_000, 60  # frames, and those below each other
COLUMNS = ("name", "depth", "start", "base", "candidate", "own_base", "own_candidate")


@chart
def draw(
    warehouse: "Warehouse",
    base: str,
    candidate: str,
    case: Annotated[str | None, Positional("Case, where the sides are no traces.")] = None,
    *,
    backend: Annotated[str | None, Option("Backend, where the case was measured on several.")] = None,
    relative: Annotated[
        bool, Option("Scale the base to the candidate's total, as for profiles of different lengths.")
    ] = False,
    all_runs: Annotated[bool, Option("Every run a name means, rather than its newest with its repeats.")] = False,
) -> Chart:
    """The call paths of two sides: as wide as in the candidate, red where they take more than in the base, blue where less.

    Sides are folded stacks (py-spy, perf), traces, or what bench recorded; of several cases CASE says which. On a page a click
    zooms in, on the root out again.

    \b
        bench viz flame base.folded candidate.folded -o flame.html
        bench viz flame a.trace.json b.trace.json -o flame.html
        bench viz flame main my-branch work:score
    \f
    Raises:
        UnknownName: No run answers to a name, or both sides have no such case.
        NothingToShow: A side has no call paths.
    """
    notes: list[str] = []
    sides = find_sides(warehouse, base, candidate, all_runs=all_runs, notify=notes.append)
    found = call_paths(warehouse, sides, case, backend=backend)
    root = found.root
    scale = root.candidate / root.base if relative else 1.0
    sql, everything = _statement(root)
    rows = read_rows(warehouse, sql)
    display = choose_unit([root.candidate], None if found.unit == "count" else found.unit)
    frames = [_frame(row, scale, found.unit) for row in rows]
    facts = [
        _ends(found),
        *(["base scaled to the same total"] if relative else []),
        *_largest(root, scale, found.unit),
        *_gone(root, scale, found.unit),
        f"{counted(len(rows), 'frame')} of {everything:,}" if len(rows) < everything else counted(everything, "frame"),
    ]
    return Chart(
        title=_heading(root, scale, sides[0].name, sides[1].name, found),
        facts=facts,
        form=Flames(frames=frames, unit=display, title=display.title(f"{found.what} in the candidate")),
        sql=sql,
        rows=rows,
        parameters={
            "base": list(sides[0].runs), "candidate": list(sides[1].runs), "case": case, "backend": backend, "relative": relative,
        },
        counts=[{"what": found.what, "frames": everything, "drawn": len(rows)}],
        total=everything,
        notes=[*notes, *found.notes],
    )  # fmt: skip


def _statement(root: PathNode) -> tuple[str, int]:
    """SQL whose rows are the widest frames, callers first, and how many frames there are."""
    frames = list(placed_frames(root))
    wide = [frame for frame in frames if frame[4] > 0 and frame[1] < DEEPEST]
    if len(wide) > MOST:
        least = sorted((frame[4] for frame in wide), reverse=True)[MOST]
        # a caller is as wide as what it calls, so none is left without
        wide = [frame for frame in wide if frame[4] > least]
    return table_of("frames", COLUMNS, wide or frames[:1]), len(frames)


def placed_frames(root: PathNode) -> Iterator[tuple[str, int, float, float, float, float, float]]:
    """Every frame as the columns say, callers first; those that one frame calls side by side, by name."""
    waiting = [(0, 0.0, root)]
    while waiting:
        depth, start, node = waiting.pop()
        yield (node.name, depth, start, node.base, node.candidate, *node.own)
        inner = []
        for name in sorted(node.callees):
            callee = node.callees[name]
            inner.append((depth + 1, start, callee))
            start += callee.candidate
        waiting += reversed(inner)


def _frame(row: Row, scale: float, unit: str | None) -> Frame:
    difference, own = row["candidate"] - scale * row["base"], row["own_candidate"] - scale * row["own_base"]
    return Frame(
        name=row["name"], depth=int(row["depth"]), start=row["start"], value=row["candidate"], difference=difference,
        texts=(
            amount(row["candidate"], unit), amount(scale * row["base"], unit), signed(difference, unit),
            f"{amount(row['own_candidate'], unit)} ({signed(own, unit)})",
        ),
    )  # fmt: skip


def _ends(found: CallPaths) -> str:
    """The totals of both sides."""
    ends = f"{amount(found.root.base, found.unit)} to {amount(found.root.candidate, found.unit)}"
    return f"{ends} {found.what}" if found.unit == "count" else ends


def _heading(root: PathNode, scale: float, base: str, candidate: str, found: CallPaths) -> str:
    """The finding: how much more or less the candidate takes."""
    change = root.candidate - scale * root.base
    countable = found.unit == "count"
    if not change:
        return f"{candidate} {'has as many' if countable else 'takes as much'} {found.what} as {base}"
    word = "more" if change > 0 else "fewer" if countable else "less"
    return f"{candidate}: {amount(abs(change), found.unit)} {word} {found.what} than {base}"


def _largest(root: PathNode, scale: float, unit: str | None) -> Iterator[str]:
    """The path that changed most itself, without what it calls."""
    most, name = 0.0, ""
    for _, node in root.walk():
        own_base, own = node.own
        if abs(change := own - scale * own_base) > abs(most):
            most, name = change, node.name
    if most:
        yield f"largest: {readable(name)} {signed(most, unit)}"


def _gone(root: PathNode, scale: float, unit: str | None) -> Iterator[str]:
    """A sentence about what only the base has: it has no width in the picture."""
    waiting, gone = [root], list[float]()
    while waiting:
        node = waiting.pop()
        if node.candidate <= 0 and node.base > 0:
            gone.append(scale * node.base)
        else:
            waiting += node.callees.values()
    if gone:
        taken = amount(math.fsum(gone), unit)
        yield f"not drawn: {counted(len(gone), 'path')} only in the base, {taken}{' samples' if unit == 'count' else ''}"
