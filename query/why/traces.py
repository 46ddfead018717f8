"""Traces of two sides: operators and kernels by their time, instead of a case for each shape and grid."""

import contextlib
import json
import math
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, counted, signed
from ...warehouse.console.tables import escape
from ...warehouse.errors import NothingToShow
from ...warehouse.schema import literal
from ..comparison.sides import Side
from ..question import PeopleTable, Reply
from .compiling import COMPILE_LATENCY
from .kernel_lines import with_lines
from .parts import MOST_ROWS, Decomposition, DifferencePart, decomposed, part_of, readable

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
TRACES = ("torch-trace", "nsight-systems")  # formats
LOGS = "torch-logs"  # format of what may be recorded beside them
HEADINGS = ("kind", "operator or kernel", "base", "candidate", "difference", "calls")
_SOURCES = "SELECT run_id, source FROM runs WHERE list_contains(?::VARCHAR[], run_id)"
_SPILL = "bench-spill-"
_PARTS = "FROM trace_part_sides(?, ?)"
_REJECTED = "SELECT run_id, count(*) FROM rejects WHERE list_contains(?::VARCHAR[], run_id) GROUP BY run_id"
_GPUS = (
    "SELECT DISTINCT gpus FROM runs JOIN environments USING (environment_id) WHERE list_contains(?::VARCHAR[], run_id)"
)
_HOSTS = "SELECT DISTINCT host FROM runs WHERE list_contains(?::VARCHAR[], run_id) AND host IS NOT NULL ORDER BY host"
_ABOUT = (
    "SELECT torch, extra FROM runs JOIN environments USING (environment_id) WHERE list_contains(?::VARCHAR[], run_id)"
)
OWNERS = {True: "GPU", False: "host"}
MEMORY_LIMIT = "1GB"  # of a question about spans, which are sorted; more goes to the disk


def are_traces(warehouse: "Warehouse", sides: tuple[Side, Side]) -> bool:
    """True if both sides are traces of operators or kernels, whether or not with logs of torch.compile beside them."""
    return all(
        {*TRACES} & (sources := {*_sources(warehouse, side).values()}) and sources <= {*TRACES, LOGS} for side in sides
    )


def traces_of(warehouse: "Warehouse", sides: tuple[Side, Side]) -> tuple[Side, Side]:
    """The sides without the logs beside their traces."""
    base, candidate = (
        replace(side, runs=tuple(run for run, source in _sources(warehouse, side).items() if source in TRACES))
        for side in sides
    )
    return base, candidate


def _sources(warehouse: "Warehouse", side: Side) -> dict[str, str]:
    """The format of each run."""
    return dict(warehouse.rows(_SOURCES, [list(side.runs)]))


def trace_rows(warehouse: "Warehouse", sides: tuple[Side, Side]) -> list[Row]:
    """The rows of `trace_part_sides`, of sides that are traces alone.

    Raises:
        NothingToShow: A side has no span.
    """
    with bounded(warehouse):
        rows = warehouse.dicts(_PARTS, [list(side.runs) for side in sides])
    if empty := _lacking(sides, _called(rows, lambda row: True)):
        raise NothingToShow(f"{escape(' and '.join(empty))}: no operator or kernel with a time and a moment")
    kernels = _with_kernels(rows)
    if not all(kernels) and (lacking := _lacking(sides, _called(rows, lambda row: not row["device"]))):
        raise NothingToShow(
            f"{escape(lacking[0])} has kernels of a GPU alone, the other side none: they have nothing in common"
        )
    return rows


@contextlib.contextmanager
def bounded(warehouse: "Warehouse") -> Iterator[None]:
    """A context in which a query takes no more memory than a limit; beyond it, it takes the disk."""
    ((before, spills_to),) = warehouse.rows("SELECT current_setting('memory_limit'), current_setting('temp_directory')")
    if _SPILL not in spills_to:  # once used, it cannot be another
        folder = tempfile.mkdtemp(prefix=_SPILL)
        weakref.finalize(warehouse, shutil.rmtree, folder, ignore_errors=True)
        warehouse.connection.execute(f"SET temp_directory = {literal(folder)}")
    warehouse.connection.execute(f"SET memory_limit = {literal(MEMORY_LIMIT)}")
    try:
        yield
    finally:
        warehouse.connection.execute(f"SET memory_limit = {literal(before)}")


def compare_traces(warehouse: "Warehouse", sides: tuple[Side, Side], *, everything: bool) -> Reply[list[Row]]:
    """Operators and kernels of both, the largest difference first; of the host alone where one side has no kernels."""
    traces = traces_of(warehouse, sides)
    rows = trace_rows(warehouse, traces)
    shared = rows if len({*_with_kernels(rows)}) == 1 else [row for row in rows if not row["device"]]
    shown = rows if everything else [row for row in shared[:MOST_ROWS] if row["difference_ns"]]
    return Reply(
        result=rows,
        columns=lambda: list(rows[0]),
        rows=rows,
        table=lambda: PeopleTable(HEADINGS, [*_cells(shown)], spare=("calls",)),
        sentences=lambda: [
            *_sums(rows),
            *_rest(rows, shown),
            *doubts(warehouse, sides, rows),
            *_compiling(warehouse, sides),
        ],
        headings_alone=False,
    )


def why_traces(warehouse: "Warehouse", sides: tuple[Side, Side]) -> Decomposition:
    """The time of the GPU if both sides have any, else that of operators on the host, in parts that add up to its difference."""
    traces = traces_of(warehouse, sides)
    rows = trace_rows(warehouse, traces)
    on_gpu = all(_with_kernels(rows))
    parts, placed = with_lines(
        warehouse,
        sides,
        [part_of(name_of(row), row["base_ns"], row["candidate_ns"], None) for row in rows if row["device"] == on_gpu],
    )
    ends = [math.fsum(getattr(part, side) for part in parts) for side in ("base", "candidate")]
    called = "time of the GPU" if on_gpu else "time of operators on the host"
    whole = DifferencePart(called, ends[0], ends[1], ends[1] - ends[0], None, None)
    how = (
        "kernels: the common time of two that overlap counts for the one that began first; idle: gaps between kernels"
        if on_gpu
        else "operators: their time without that of the operators within them, all threads together"
    )
    counts = [len(side.runs) for side in traces]
    one_each = "a trace is one recording of each side: no interval is known"
    if max(counts) > 1:
        one_each = f"times are means over {counts[0]} and {counts[1]} traces: no interval is known"
    notes = [how, *placed, one_each, *doubts(warehouse, sides, rows), *_compiling(warehouse, sides)]
    return decomposed("ns", whole, parts, error=0.0, notes=notes)


def _compiling(warehouse: "Warehouse", sides: tuple[Side, Side]) -> Iterator[str]:
    """The question about what compiling took, where both sides have logs of it."""
    if all(LOGS in _sources(warehouse, side).values() for side in sides):
        words = ["bench", "why", *(side.word for side in sides), "--metric", COMPILE_LATENCY]
        yield f"what compiling took: {shlex.join(words)}"


def name_of(row: Row) -> str:
    """The name of a part; copies, fills and gaps have names of their own."""
    return str(row["name"] if row["kind"] in ("kernel", "cpu_op") else f"{row['kind']}: {row['name']}")


def _cells(rows: Sequence[Row]) -> Iterator[list[str]]:
    for row in rows:
        calls = [f"{row[f'{side}_calls']:,.0f}" for side in ("base", "candidate")]
        yield [
            escape(row["kind"]), escape(readable(row["name"])), amount(row["base_ns"], "ns"), amount(row["candidate_ns"], "ns"),
            signed(row["difference_ns"], "ns"), calls[0] if calls[0] == calls[1] else " → ".join(calls),
        ]  # fmt: skip


def _sums(rows: Sequence[Row]) -> Iterator[str]:
    """The whole of each owner of time, which its rows add up to."""
    if not any(row["difference_ns"] for row in rows):
        yield "nothing differs"
    for device in (True, False):
        own = [row for row in rows if row["device"] == device]
        if not own:
            continue
        base, candidate = (math.fsum(row[f"{side}_ns"] for row in own) for side in ("base", "candidate"))
        idle = [row for row in own if row["kind"] == "idle"]
        parts = f", of which idle {signed(idle[0]['difference_ns'], 'ns')}" if idle else ""
        yield (
            f"{OWNERS[device]}: {amount(base, 'ns')} in the base, {amount(candidate, 'ns')} in the candidate:"
            f" {signed(candidate - base, 'ns')}{parts}; its rows add up to this"
        )


def _rest(rows: Sequence[Row], shown: Sequence[Row]) -> Iterator[str]:
    if count := len(rows) - len(shown):
        rest = math.fsum([*(row["difference_ns"] for row in rows), *(-row["difference_ns"] for row in shown)])
        yield f"{counted(count, 'other row')}, together {signed(rest, 'ns')}; show them with --all"


def _lacking(sides: tuple[Side, Side], has: Sequence[bool]) -> list[str]:
    """The names of the sides that lack something."""
    return [side.name for side, has_it in zip(sides, has, strict=True) if not has_it]


def _called(rows: Sequence[Row], is_meant: Callable[[Row], bool]) -> list[bool]:
    """True for each of base and candidate that has calls of rows that are meant."""
    return [any(row[f"{side}_calls"] for row in rows if is_meant(row)) for side in ("base", "candidate")]


def _with_kernels(rows: Sequence[Row]) -> list[bool]:
    """True for each of base and candidate that has kernels of a GPU."""
    return _called(rows, lambda row: bool(row["device"]))


def doubts(warehouse: "Warehouse", sides: tuple[Side, Side], rows: Sequence[Row]) -> Iterator[str]:
    """Gaps in the traces, and differences other than time."""
    kernels = _with_kernels(rows)
    if any(kernels) and (without := _lacking(sides, kernels)):
        yield f"{without[0]} has no kernels of a GPU: what both sides have is compared on the host"
    ran = _called(rows, lambda row: row["kind"] in ("kernel", "graph_trace"))
    if all(kernels) and any(ran) and (without := _lacking(sides, ran)):
        yield f"{without[0]} has copies of a GPU, and no kernel: if it was recorded without these, their time is idle there"
    operators = _called(rows, lambda row: row["kind"] == "cpu_op")
    if any(operators) and (without := _lacking(sides, operators)):
        yield f"{without[0]} has no operators of torch: its spans are of other kinds"
    for side in traces_of(warehouse, sides):
        if rejected := sum(count for _, count in warehouse.rows(_REJECTED, [list(side.runs)])):
            yield f"{side.name}: {counted(rejected, 'record')} could not be read, as of a truncated trace: its times fall short"
    gpus = [{tuple(names or ()) for (names,) in warehouse.rows(_GPUS, [list(side.runs)])} for side in sides]
    if all(gpus) and gpus[0] != gpus[1]:
        names = [" and ".join(sorted({name for each in found for name in each})) or "none" for found in gpus]
        yield f"the traces are of different GPUs: {escape(names[0])}; {escape(names[1])}"
    hosts = [" and ".join(host for (host,) in warehouse.rows(_HOSTS, [list(side.runs)])) for side in sides]
    if all(hosts) and hosts[0] != hosts[1]:
        yield f"the traces are of different machines: {escape(hosts[0])}; {escape(hosts[1])}"
    one, other = (_versions(warehouse, side) for side in sides)
    if differing := [name for name in sorted(one.keys() & other.keys()) if one[name] != other[name]]:
        listed = ", ".join(f"{name} {one[name]} and {other[name]}" for name in differing)
        yield f"the traces are of different software, whose kernels may have other names: {escape(listed)}"


def _versions(warehouse: "Warehouse", side: Side) -> dict[str, Any]:
    """The versions that the traces of a side tell, such as that of CUDA, and the logs beside them, of torch."""
    found: dict[str, Any] = {}
    for torch, extra in warehouse.rows(_ABOUT, [list(side.runs)]):
        told = json.loads(extra or "{}")
        found |= {name.replace("_", " "): value for name, value in told.items() if name.endswith("version")}
        found |= {"torch": torch} if torch else {}
    return found
