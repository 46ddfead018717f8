"""The report of a line trace: the lines that changed memory most, or memory over time, read from the views."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...warehouse.console.numbers import amount, size
from ...warehouse.console.tables import escape
from ...warehouse.database import Warehouse
from ..annotate import AnnotatedSource, place, shortened

LINE_COLUMNS = (
    "source", "device_index", "file", "line", "function", "hits", "growth_bytes", "increase_bytes", "decrease_bytes",
    "start_bytes", "peak_bytes", "end_bytes", "transient_bytes", "error_bound_bytes", "text",
)  # fmt: skip
SUM_COLUMNS = (
    "file", "line", "function", "hits", "cpu_growth_bytes", "gpu_growth_bytes", "growth_bytes", "cpu_increase_bytes",
    "gpu_increase_bytes", "increase_bytes", "text",
)  # fmt: skip
STEP_COLUMNS = ("source", "device_index", "step", "place", "recorded_at", "size_bytes", "change_bytes")
NOTE_HEADINGS = {"hits": 9, "growth": 10, "peak": 10, "transient": 10}

# The lines to show: those that grew memory most, those that gave back most, and those with the largest transients.
_CHOSEN = """
run_id = $run AND case_id = $case AND (
    growth_rank <= $top AND growth_bytes > 0 OR transient_rank <= $top OR shrink_rank <= $bottom AND growth_bytes < 0
)
"""


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """The memory of a line beside its source; sizes in bytes."""

    hits: int
    growth: int
    peak: int
    transient: int

    @property
    def weight(self) -> float:
        """The bytes that it grew by, or took for a moment."""
        return max(self.growth, self.transient, 0)

    def cells(self) -> tuple[str, ...]:
        """A text under each of NOTE_HEADINGS; empty where nothing changed."""
        moved = change(self.growth) if self.growth else ""
        return str(self.hits), moved, size(self.peak), size(self.transient) if self.transient else ""


@dataclass(frozen=True, slots=True)
class Total:
    """Totals of one kind of memory over the whole trace: a row of `memory_totals`."""

    source: str
    device_index: int | None
    start_bytes: int
    end_bytes: int
    peak_bytes: int
    peak_place: str
    increase_bytes: int | None
    decrease_bytes: int | None
    error_bound_bytes: int | None

    def __str__(self) -> str:
        bound = f", at most {size(self.error_bound_bytes)} too low" if self.error_bound_bytes else ""
        exact = "the highest at the end of a line" if self.source.endswith("_sampled") else "peak"
        return (
            f"{named(self.source, self.device_index)}: {size(self.start_bytes)} before, {size(self.end_bytes)} after, "
            f"{exact} {size(self.peak_bytes)} at {escape(self.peak_place)}{bound}; "
            f"the lines' increases add up to {size(self.increase_bytes)}, their decreases to {size(self.decrease_bytes)}"
        )


def named(source: str, device_index: int | None) -> str:
    """The name of a kind of memory: `rss`, `cuda_allocated of GPU 1`."""
    return source if device_index is None else f"{source} of GPU {device_index}"


def lines(warehouse: Warehouse, run_id: str, case_id: str, *, top: int, bottom: int) -> list[tuple[Any, ...]]:
    """The lines worth showing, by growth, the host's memory first: rows of LINE_COLUMNS."""
    return warehouse.rows(
        f"SELECT {', '.join(LINE_COLUMNS)} FROM line_memory WHERE {_CHOSEN} "
        "ORDER BY device_index NULLS FIRST, source, growth_rank",
        {"run": run_id, "case": case_id, "top": top, "bottom": bottom},
    )


def sums(warehouse: Warehouse, run_id: str, case_id: str, *, top: int, bottom: int) -> list[tuple[Any, ...]]:
    """Lines by what they added to CPU and GPUs together, and those that gave back most: rows of SUM_COLUMNS."""
    found = warehouse.rows(
        f"SELECT {', '.join(SUM_COLUMNS)} FROM line_memory_sums WHERE run_id = ? AND case_id = ? ORDER BY growth_rank",
        [run_id, case_id],
    )
    at = SUM_COLUMNS.index("growth_bytes")
    most = [row for row in found[:top] if row[at] > 0]
    return most + [row for row in found[max(len(found) - bottom, len(most)) :] if row[at] < 0]


def annotated(warehouse: Warehouse, run_id: str, case_id: str, name: str) -> AnnotatedSource:
    """Source with the memory of every line that ran."""
    found: dict[tuple[str, str], dict[int, MemoryNote]] = {}
    for source, device_index, file, line, *values in warehouse.rows(
        "SELECT source, device_index, file, line, hits, growth_bytes, peak_bytes, transient_bytes FROM line_memory "
        "WHERE run_id = $run AND case_id = $case",
        {"run": run_id, "case": case_id},
    ):
        found.setdefault((file, named(source, device_index)), {})[line] = MemoryNote(*values)
    facts = [str(total) for total in totals(warehouse, run_id, case_id)]
    return AnnotatedSource(f"Memory of {name}, line by line", facts, NOTE_HEADINGS, found)


def steps(warehouse: Warehouse, run_id: str, case_id: str) -> list[tuple[Any, ...]]:
    """Memory in sequence: rows of STEP_COLUMNS."""
    return warehouse.rows(
        f"SELECT {', '.join(STEP_COLUMNS)} FROM memory_steps WHERE run_id = $run AND case_id = $case ORDER BY step",
        {"run": run_id, "case": case_id},
    )


def totals(warehouse: Warehouse, run_id: str, case_id: str) -> list[Total]:
    """Each kind of memory as a whole."""
    names = ", ".join(Total.__slots__)
    query = (
        f"SELECT {names} FROM memory_totals WHERE run_id = ? AND case_id = ? ORDER BY device_index NULLS FIRST, source"
    )
    return [Total(*row) for row in warehouse.rows(query, [run_id, case_id])]


def line_cells(rows: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Headings and rows of the table of lines; the kind of memory is a column only where there are several."""
    several = len({row[:2] for row in rows}) > 1
    heads = ["line", "hits", "growth", "start", "peak", "end", "transient", "text"]
    found = []
    for row in rows:
        of: dict[str, Any] = dict(zip(LINE_COLUMNS, row, strict=True))
        sizes = (of[f"{name}_bytes"] for name in ("start", "peak", "end", "transient"))
        found.append((
            *((named(of["source"], of["device_index"]),) if several else ()),
            place(of["file"], of["line"]), of["hits"], change(of["growth_bytes"]), *map(size, sizes),
            shortened(of["text"]),
        ))  # fmt: skip
    return [*(["memory"] if several else []), *heads], found


def sum_cells(rows: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Headings and rows of the table of sums."""
    found = []
    for row in rows:
        of: dict[str, Any] = dict(zip(SUM_COLUMNS, row, strict=True))
        growths = (change(of[f"{name}growth_bytes"]) for name in ("cpu_", "gpu_", ""))
        found.append((place(of["file"], of["line"]), of["hits"], *growths, shortened(of["text"])))
    return ["line", "hits", "CPU", "GPU", "sum", "text"], found


def step_cells(rows: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Headings and rows of the table of steps; times since the first."""
    found = []
    for row in rows:
        of = dict(zip(STEP_COLUMNS, row, strict=True))
        since = (of["recorded_at"] - rows[0][STEP_COLUMNS.index("recorded_at")]).total_seconds()
        found.append(
            (of["step"], amount(since * 1e9, "ns"), named(of["source"], of["device_index"]), of["place"],
             change(of["change_bytes"]), size(of["size_bytes"]))
        )  # fmt: skip
    return ["step", "time", "memory", "after line", "change", "in use"], found


def change(bytes_: int | None) -> str:
    """A difference with its sign."""
    return size(bytes_) if not bytes_ else f"{'+' if bytes_ > 0 else '−'}{size(abs(bytes_))}"
