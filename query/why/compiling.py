"""The work of a compiler on two sides: breaks of graphs and recompilations with their reasons, and the phases of compiling."""

import math
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..comparison.sides import Side
from .parts import Decomposition, DifferencePart, decomposed, part_of
from .sources import Row, Sides, whole_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

COUNTED = {"graph_breaks": "graph_break", "recompiles": "recompile"}  # metric → reasons that it counts
_UNCOUNTED = "generic_jump"  # begins the reason of a break that torch lists, and its counter leaves out
UNCOUNTED = f"torch's counter leaves out breaks at branches on data ({_UNCOUNTED}): unattributed takes them off again"
COMPILE_LATENCY = "compile_latency"
COMPILED = (COMPILE_LATENCY, *COUNTED)  # metrics that have parts
PHASES: dict[
    str, tuple[str | None, str]
] = {  # of torch.compile, by its own names: the phase around it, and what it does
    "_compile.compile_inner": (None, "tracing (dynamo)"),
    "build_guards": ("_compile.compile_inner", "guards"),
    "OutputGraph.call_user_compiler": ("_compile.compile_inner", "call of the backend"),
    "create_aot_dispatcher_function": ("OutputGraph.call_user_compiler", "AOT autograd"),
    "compile_fx.<locals>.fw_compiler_base": ("create_aot_dispatcher_function", "passes over the graph"),
    "compile_fx.<locals>.bw_compiler": ("create_aot_dispatcher_function", "passes over the graph, backward"),
    "GraphLowering.run": ("compile_fx.<locals>.fw_compiler_base", "lowering"),
    "GraphLowering.compile_to_fn": ("compile_fx.<locals>.fw_compiler_base", "code generation"),
    "PyCodeCache.load_by_key_path": ("GraphLowering.compile_to_fn", "compilation of the code (C++, Triton)"),
    "template_autotuning": ("GraphLowering.run", "autotuning of templates (matmul, convolution)"),
    "benchmark_fused_nodes": ("GraphLowering.compile_to_fn", "autotuning of fusions"),
    "CachingAutotuner.benchmark_all_configs": (None, "autotuning of Triton kernels"),
    "CachingAutotuner.coordinate_descent_tuning": (None, "autotuning of Triton kernels by coordinate descent"),
}
_TEMPLATES = re.compile(r".+_template_(autotuning|precompiling)")  # one for each operator
_CACHES = (
    "SELECT sum(value) FILTER (ends_with(metric, 'hits')), sum(value) FROM metrics WHERE list_contains(?::VARCHAR[], run_id)"
    " AND case_id = ? AND metric IN ('fxgraph_cache_hits', 'fxgraph_cache_misses') AND phase IS NULL"
)
_PHASE = "compile_phase:"  # and its name: a metric
_PHASES = "SELECT run_id, metric, value FROM metrics WHERE list_contains(?::VARCHAR[], run_id) AND case_id = ? AND phase IS NULL"
_REASONS = (
    "SELECT reason, place, sum(base) AS base, sum(candidate) AS candidate FROM reason_sides(?, ?)"
    " WHERE case_id = ? AND kind = ? GROUP BY reason, place"
)
_PLACE = re.compile(r"(.+):(\d{1,9}) in (.*)")


def counts_of_all_calls(rows: Sequence[Row]) -> list[Row]:
    """A row of each case for its counts at the first calls and the second, recorded only where code is compiled again."""
    found = defaultdict[tuple[str, str], list[Row]](list)
    for row in rows:
        found[row["metric"], row["case_id"]].append(row)
    return [
        {
            **group[0], "phase": None, "low": None, "high": None,
            **{side: math.fsum(row[side] or 0.0 for row in group) for side in ("base_value", "candidate_value")},
        }
        for group in found.values()
        if any(row["base_value"] is not None and row["candidate_value"] is not None for row in group)
    ]  # fmt: skip


def by_reason(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """Breaks of graphs and recompilations by reason and place, those that the base lacks first; None for other metrics."""
    kind = COUNTED.get(row["metric"])
    if kind is None:
        return None
    runs = [list(side.runs) for side in sides]
    rows = warehouse.dicts(_REASONS, [*runs, row["case_id"], kind])
    parts = [_part_of(each) for each in _with_moved(rows)]
    if not parts and (row["base_value"] or row["candidate_value"]):
        return None
    noted = (
        "by reason and place, those that the base lacks first, at the first calls and the second; counts are exact. A reason that"
        " moved within its function is one row"
    )
    found = decomposed(row["unit"], whole_of(row), parts, error=0.0, notes=[noted], new_first=True)
    uncounted = sum(part.difference for part in parts if part.name.startswith(_UNCOUNTED))
    if uncounted and found.unattributed.difference:
        found = replace(found, notes=[*found.notes, UNCOUNTED])
    return found


def _with_moved(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows, as one where a reason moved: each side has as many places of it in a function, at other lines or in a copy."""
    moved = defaultdict[tuple[str, str, str], tuple[list[Row], list[Row]]](lambda: ([], []))
    for row in rows:
        file, _, function = _place_of(row)
        if not file or (row["base"] and row["candidate"]):
            yield row
        else:
            moved[row["reason"], os.path.basename(file), function][bool(row["candidate"])].append(row)
    for base, candidate in moved.values():
        if len(base) != len(candidate):
            yield from (*base, *candidate)
            continue
        by_line = (sorted(rows, key=lambda row: _place_of(row)[1]) for rows in (base, candidate))
        yield from ({**other, "base": one["base"]} for one, other in zip(*by_line, strict=True))


def _place_of(row: Row) -> tuple[str, int, str]:
    """File, line and function of a reason; empty where none is known."""
    place = _PLACE.fullmatch(row["place"] or "")
    return (place[1], int(place[2]), place[3]) if place else ("", 0, "")


def _part_of(row: Row) -> DifferencePart:
    file, line, _ = _place_of(row)
    return part_of(row["reason"], row["base"], row["candidate"], 0.0, file=file, line=line)


def by_compile_phase(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The compile latency by phase of the compiler, each without those within it; None for other metrics."""
    if row["metric"] != COMPILE_LATENCY:
        return None
    base, candidate = (_own_times(_spent(warehouse, side, row["case_id"])) for side in sides)
    if not base or not candidate:
        return None
    parts = [
        part_of(label, base.get(name, 0.0), candidate.get(name, 0.0), None)
        for name, (_, label) in PHASES.items()
        if name in base or name in candidate
    ]
    noted = "phases of the compiler, each without those within it; unattributed is what no phase covers. No interval is known"
    return decomposed(
        row["unit"], whole_of(row), parts, error=None, notes=[noted, *_cached(warehouse, sides, row["case_id"])]
    )


def _cached(warehouse: "Warehouse", sides: Sides, case_id: str) -> Iterator[str]:
    """The graphs whose code came from a cache, where the sides differ in that: it is not compiled anew."""
    (ours, of), (theirs, of_theirs) = (warehouse.rows(_CACHES, [list(side.runs), case_id])[0] for side in sides)
    if of and of_theirs and (ours or 0) / of != (theirs or 0) / of_theirs:
        base, candidate = f"{ours or 0:.0f} of {of:.0f}", f"{theirs or 0:.0f} of {of_theirs:.0f}"
        yield f"code from the cache: {base} graphs in the base, {candidate} in the candidate"


def _spent(warehouse: "Warehouse", side: Side, case_id: str) -> dict[str, float]:
    """The time of each phase, the mean over the runs of a side."""
    found = defaultdict[tuple[str, str], list[float]](list)
    for run_id, metric, value in warehouse.rows(_PHASES, [list(side.runs), case_id]):
        if metric.startswith(_PHASE) and value is not None:
            found[run_id, _TEMPLATES.sub("template_autotuning", metric.removeprefix(_PHASE))].append(value)
    sums = defaultdict[str, list[float]](list)
    for (_, name), values in found.items():
        sums[name].append(math.fsum(values))
    return {name: statistics.fmean(values) for name, values in sums.items()}


def _own_times(spent: dict[str, float]) -> dict[str, float]:
    """Times of known phases without those of phases within them."""
    own = {name: spent[name] for name in PHASES if name in spent}
    for name in list(own):
        outer = PHASES[name][0]
        while outer is not None and outer not in own:
            outer = PHASES[outer][0]
        if outer is not None:
            own[outer] -= spent[name]
    return own
