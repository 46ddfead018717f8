"""The question `why`: the case that is meant, and the first source that has parts of its difference."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from ..axes import GEOMEAN
from ..comparison.compare import Row, compared_rows
from ..comparison.sides import Side
from ..resolve import SHORTEST_PREFIX
from .compiling import COMPILE_LATENCY, COUNTED, by_compile_phase, by_reason, counts_of_all_calls
from .memory import by_peak, is_peak
from .parts import Decomposition
from .serving import QUANTILE, by_request, quantile_rows
from .sources import SOURCES, by_case, called, label
from .stacks import are_folded, why_stacks
from .traces import are_traces, why_traces

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

STEP = "step"
HOW = {
    "command": "py-spy record -f raw -o a.folded -- COMMAND records where one of Python spends its time, perf and stackcollapse"
    " where others do; then: bench why a.folded b.folded",
    "function": "bench measure function … --lines records at which lines a call spends its time; of two commits:"
    " bench why … --measure",
    "scheduler": "its steps say no tokens",
    "script": "bench.steps and bench.step record its phases where torch computes them",
    "serving": "bench in vLLM records the queue and prefill of each request (docs/serving.md), clients the gaps between tokens:"
    " vllm bench serve --save-detailed",
}
FOR_MEMORY = (
    "bench measure memory … records which lines hold memory; on a GPU: bench measure models … --memory-snapshot"
)
FOR_MODELS = (
    "bench measure models … --profile records where a step spends its time; of two commits: bench why … --measure"
)


def why(
    warehouse: "Warehouse",
    sides: tuple[Side, Side],
    name: str | None = None,
    *,
    metric: str | None = None,
    backend: str | None = None,
) -> Decomposition:
    """The difference of a case between two sides, in parts that add up to it.

    Args:
        warehouse: Where to look.
        sides: Base and candidate.
        name: A case or the beginning of its id; `step` for the mean of all scheduler steps, `geomean` for the mean of all cases.
            If left out, the only case of that metric, else the mean.
        metric: What was measured; if left out the time, where none was the peak of memory, else of compiling.
        backend: Backend, where the case has several.

    Raises:
        UnknownName: There is no such case or backend on both sides.
        BenchError: Several cases answer to the name.
        NothingToShow: No parts of it are recorded on both sides.
    """
    if name is None and metric is None:
        if are_traces(warehouse, sides):
            return why_traces(warehouse, sides)
        if are_folded(warehouse, sides):
            return why_stacks(warehouse, sides)
    where = {"metric": [metric]} if metric else {}
    if metric and QUANTILE.fullmatch(metric):
        compared = quantile_rows(warehouse, sides, metric)
    else:
        found = compared_rows(warehouse, *sides, where=where)
        compared = counts_of_all_calls([*found.usual, *found.unusual]) if metric in COUNTED else found.usual
    usual = next((rows for kind in (_is_time, is_peak, _is_compiling) if (rows := [*filter(kind, compared)])), [])
    rows = compared if metric else usual
    whole = [row for row in rows if row["base_value"] is not None and row["candidate_value"] is not None]
    if not whole:
        both = f"{sides[0].name} and {sides[1].name}"
        raise NothingToShow(
            f"{both} have no {metric or 'time'} of a case in common. See what they did with: bench list cases"
        )
    chosen = _chosen(whole, name, backend)
    if chosen is None:
        parts = by_case([row for row in rows if backend in (None, row["backend"])])
        if parts is None:
            raise NothingToShow(f"a mean takes two cases that both sides measured. Name one case: {label(whole[0])}")
        return parts
    for source in (*SOURCES, by_request, by_reason, by_compile_phase, by_peak):
        if (parts := source(warehouse, sides, chosen)) is not None:
            return parts
    raise NothingToShow(f"no parts of {label(chosen)} are recorded on both sides: {how_to_record(chosen)}")


def how_to_record(row: Mapping[str, Any]) -> str:
    """The command that records the parts of a compared case."""
    return FOR_MEMORY if row["unit"] == "bytes" else HOW.get(row["suite"], FOR_MODELS)


def _is_time(row: Row) -> bool:
    return row["metric"] in ("latency", "model_run_mean")


def _is_compiling(row: Row) -> bool:
    return bool(row["metric"] == COMPILE_LATENCY)


def _chosen(rows: Sequence[Row], name: str | None, backend: str | None) -> Row | None:
    """The case that is meant; None for the mean of all."""
    if name == GEOMEAN:
        return None
    steps = [row for row in rows if is_all_steps(row)]
    if name == STEP or (name is None and steps):
        named = steps
    elif name is None:
        if len(rows) > 1:
            return None
        named = [*rows]
    else:
        named = [row for row in rows if called(row) == name or _is_id(row["case_id"], name)]
    if not named:
        known = {called(row) for row in rows if row["name"]} | {GEOMEAN}
        cure = (
            f"A bin of tokens is a part of all steps: take {STEP!r} apart."
            if (name or "").startswith("tokens:")
            else ""
        )
        raise UnknownName("case", name or STEP, known, where="both sides", cure=cure)
    if backend is not None:
        chosen = [row for row in named if row["backend"] == backend]
        if not chosen:
            raise UnknownName("backend", backend, {row["backend"] for row in named if row["backend"]}, where="the case")
        named = chosen
    if len(named) > 1:
        listed = "\n".join(f"  {row['case_id']}  {label(row)}, {row['metric']}" for row in named[:16])
        raise BenchError(f"{len(named)} cases are called {name!r}. Name one by its id, or give --backend:\n{listed}")
    return named[0]


def _is_id(case_id: str | None, text: str) -> bool:
    return case_id is not None and len(text) >= SHORTEST_PREFIX and case_id.startswith(text)


def is_all_steps(row: Row) -> bool:
    """True for the mean of all scheduler steps."""
    return bool(row["suite"] == "scheduler" and row["metric"].endswith("_mean"))
