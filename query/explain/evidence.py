"""Evidence: where a figure comes from, each step as an SQL statement with its result.

Every figure and table answers the statement beside it, which `bench sql` runs as it stands.
"""

import datetime
import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, ratio
from ..ask import ask
from ..document import TableColumn
from ..pasteable_sql import among, equals, fill, one_line

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

COUNTERS = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "steal_ns", "gc_collections")
COLUMN_KIND = {"ns": "duration", "bytes": "bytes", "ratio": "ratio"}  # unit -> kind of column
RATIOS = ("ratio", "speedup", "dashboard_speedup")  # columns whose unit their name does not say
BEYOND_CHANCE = 2.64  # normal quantile of 5 % in two tails, over six counters
TAIL = 10  # lines of stderr


@dataclass(frozen=True, slots=True)
class EvidenceStep:
    """One step: an SQL statement, its rows, and sentences about them. Names are as they were recorded."""

    title: str
    sql: str | None = None
    sentences: Sequence[str] = ()
    columns: Sequence[TableColumn] = ()
    rows: Sequence[Sequence[Any]] = ()
    long: bool = False  # whether a reader wants only the first and last rows
    figure: bool = False  # whether it is the explained figure itself, whose statement is shown beside it


@dataclass(frozen=True, slots=True)
class ExplainedCell:
    """One case of some runs, one of its metrics, and the phase from which figures are taken."""

    run_ids: tuple[str, ...]
    case_id: str | None  # None: the run as a whole
    metric: str | None = None  # None: the case has no value of any
    phase: str | None = None
    unit: str | None = None
    table: str = "cells"  # where its figures are: this or step_cells

    @property
    def case(self) -> str:
        """The condition that selects the rows of the case, in any table."""
        return f"{among('run_id', self.run_ids)} AND {equals('case_id', self.case_id)}"

    @property
    def rows(self) -> str:
        """The condition that selects the rows of the metric in all phases, in its table and in `timings`."""
        return f"{self.case} AND {equals('metric', self.metric)}"

    @property
    def figures(self) -> str:
        """The condition that selects the rows of the phase that figures are taken from, in views of `cells`."""
        return f"{equals('metric', self.metric)} AND {equals('phase', self.phase)} AND {equals('unit', self.unit)}"

    @property
    def title(self) -> str:
        """The metric and its phase."""
        return ", ".join(filter(None, (self.metric, self.phase)))

    @property
    def kind(self) -> str:
        """The kind of a column of its values."""
        return COLUMN_KIND.get(self.unit or "", "number")

    @property
    def run(self) -> str:
        """The column that tells several runs apart, for the beginning of a list."""
        return "run_id, " if len(self.run_ids) > 1 else ""


@dataclass(frozen=True, slots=True)
class EvidenceTable:
    """A table that holds rows behind a figure: the columns to show, and the condition that selects the rows."""

    table: str
    columns: str
    rows: str


def median(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """The median of a cell with its doubt; nothing where there is no value."""
    if cell.metric is None:
        return []
    sql = f"SELECT median, median_low, median_high, n, q1, q3 FROM {cell.table} WHERE {cell.case} AND {cell.figures}"
    ((value, low, high, n, q1, q3),) = warehouse.rows(sql)
    shown = TableColumn("value", cell.kind).shown
    doubt = f"n={n}" if low is None else f"95 % {shown(low)}–{shown(high)}, n={n}"
    spread = f"; quartiles {shown(q1)} and {shown(q3)}" if n > 1 else ""
    sentence = [f"median {shown(value)} ({doubt}){spread}"]
    if cell.table == "step_cells":
        sentence.append("of contiguous stretches of the run, 32 or fewer, each summed up as: bench views step_cells")
    return [EvidenceStep(cell.title, sql, sentence, figure=True)]


def speedup(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """The speedup of a case over eager, and the blocks that it rests on; nothing for the baseline."""
    sql = f"SELECT speedup, low, high, n, baseline_ns, candidate_ns, origin, status FROM speedups WHERE {cell.case}"
    rows = warehouse.rows(sql)
    if not rows:
        return []
    assert cell.case_id is not None, "speedups are of cases"
    ((value, low, high, n, baseline, candidate, origin, status),) = rows
    shown = f"{ratio(value, low, high, n)} over eager"
    sides = f"eager {amount(baseline, 'ns')}, this {amount(candidate, 'ns')}"
    if value is None:
        sentence = f"none: {status}"
    elif origin == "reported":
        sentence = f"{shown}, as reported in what was imported"
    elif not n:
        sentence = f"{shown}: the ratio of the medians ({sides}), for no block timed both"
    else:
        mean = "mean" if low is None else "trimmed mean"
        sentence = f"{shown}: {mean} of the logs of the blocks' ratios ({sides})"
    parts = [EvidenceStep("speedup", sql, [sentence], figure=True)]
    for (base,) in warehouse.rows(f"SELECT DISTINCT baseline_id FROM block_ratios WHERE {cell.case}"):
        blocks = (
            "SELECT process, block, baseline_ns AS eager_ns, candidate_ns AS this_ns, ratio FROM block_pairs"
            f" WHERE {cell.case} AND {equals('baseline_id', base)} ORDER BY process, block"
        )
        parts.append(answer(warehouse, "blocks", blocks, long=True))
    return parts


def phases(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """Summaries of all phases, warm-up among them."""
    if cell.metric is None:
        return []
    order = "list_position(['cold', 'compile', 'warmup', 'steady'], phase)"
    statistics = ("minimum", "q1", "median", "q3", "maximum")
    sql = (
        f"SELECT phase, n, {', '.join(statistics)} FROM {cell.table} WHERE {cell.rows} AND {equals('unit', cell.unit)}"
        f" ORDER BY {order}, phase"
    )
    found = answer(warehouse, "phases", sql, kinds=dict.fromkeys(statistics, cell.kind))
    return [found] if len(found.rows) > 1 else []  # the figure has said it all


def _places(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceTable]:
    """The places of a cell's samples; of a case without any, its outcomes."""
    if cell.metric is None:
        return [EvidenceTable("outcomes", "kind, status, reason", cell.case)]
    if cell.table == "step_cells":
        return [EvidenceTable("schedule_chunks", _STEP, f"{among('run_id', cell.run_ids)} AND {_bin(warehouse, cell)}")]
    timed = f"phase, process, block, position, sample, duration_ns / loops AS each_ns, loops, device_ns, {', '.join(COUNTERS)}"
    valued = "phase, value, unit, original_value, original_unit"
    sized = "phase, size_bytes, error_bound_bytes, device_index"
    named = equals("concat_ws('_', metric, statistic)", cell.metric)
    drawn = equals("concat_ws('_', source, statistic)", cell.metric)
    possible = [
        EvidenceTable("timings", timed, cell.rows),
        EvidenceTable("metrics", valued, f"{cell.case} AND {named}"),
        EvidenceTable("memory_samples", sized, f"{cell.case} AND {drawn}"),
    ]
    return [place for place in possible if warehouse.rows(f"SELECT 1 FROM {place.table} WHERE {place.rows} LIMIT 1")]


_TOKENS = "_step_tokens(chunk_sizes, total_tokens)"
_REQUESTS = "_step_requests(chunk_sizes, prefill, decode)"
_STEP = f"batch_id, {_TOKENS} AS tokens, {_REQUESTS} AS batch, schedule_ms, model_run_ms, step_ms"


def _bin(warehouse: "Warehouse", cell: ExplainedCell) -> str:
    """The condition that selects the scheduler steps of a bin of tokens: one number, a range, or all."""
    sql = "SELECT min(parameters->>'tokens'), min(parameters->>'span') FROM step_cells"
    ((tokens, span),) = warehouse.rows(f"{sql} WHERE {equals('case_id', cell.case_id)}")
    least, _, most = tokens.partition("–")
    rows = "true" if tokens == "all" else f"{_TOKENS} BETWEEN {int(least)} AND {int(most or least)}"
    return f"{rows} AND {equals('time_span', span)}"


def samples(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """Every sample in the order of recording, with the file and line it was imported from; a part for each table."""
    return [
        answer(
            warehouse,
            "samples",
            f"SELECT {cell.run}{place.columns}, path, line FROM {place.table} LEFT JOIN (SELECT source_id, path FROM"
            f" source_files) USING (source_id) WHERE {place.rows} ORDER BY {cell.run}recorded_at, path, line",
            long=True,
        )
        for place in _places(warehouse, cell)
    ]


def disturbances(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """Correlations with slow samples, and the counters of outliers; nothing if no counters were recorded."""
    rows = f"{cell.rows} AND {equals('phase', cell.phase)} AND loops > 0"
    counted = answer(warehouse, "what comes with slow samples", one_line(_COUNTED).replace("ROWS", rows, 1))
    if not counted.rows:
        return []
    n = max(row[1] for row in counted.rows)
    suspects = [f"{row[0]} ({row[-1]:+.2f})" for row in counted.rows if (row[-1] or 0) * (n - 1) ** 0.5 > BEYOND_CHANCE]
    sentence = f"beyond chance (rank correlation): {', '.join(suspects)}" if suspects else "nothing beyond chance"
    apart = answer(warehouse, "samples that stand out", one_line(_APART).replace("ROWS", rows, 1), long=True)
    which = f"{len(apart.rows)} of {n} lie more than 1.5 quartile ranges outside the quartiles"
    return [replace(counted, sentences=[sentence]), replace(apart, sentences=[which])]


_COUNTED = f"""
    WITH counted AS (
        UNPIVOT (SELECT duration_ns / loops AS each_ns, {", ".join(COUNTERS)} FROM timings WHERE ROWS)
        ON {", ".join(COUNTERS)} INTO NAME counter VALUE amount
    ),
    ranked AS (
        SELECT
            *,
            rank() OVER (PARTITION BY counter ORDER BY each_ns) + count(*) OVER (PARTITION BY counter, each_ns) / 2 AS x,
            rank() OVER (PARTITION BY counter ORDER BY amount) + count(*) OVER (PARTITION BY counter, amount) / 2 AS y
        FROM counted
    )
    SELECT
        counter, count(*) AS samples, count(*) FILTER (amount > 0) AS with_any,
        median(each_ns) FILTER (amount > 0) AS median_with_ns, median(each_ns) FILTER (amount = 0) AS median_without_ns,
        CASE WHEN stddev_pop(x) > 0 AND stddev_pop(y) > 0 THEN round(corr(x, y), 3) END AS rank_correlation
    FROM ranked
    GROUP BY counter
    ORDER BY rank_correlation DESC NULLS LAST, counter
"""
_APART = f"""
    WITH phase AS (SELECT *, duration_ns / loops AS each_ns FROM timings WHERE ROWS),
    quartiles AS (SELECT quantile_cont(each_ns, [0.25, 0.5, 0.75]) AS q FROM phase)
    SELECT process, block, sample, each_ns, each_ns / q[2] AS ratio, {", ".join(COUNTERS)}
    FROM phase
    JOIN quartiles ON each_ns > q[3] + 1.5 * (q[3] - q[1]) OR each_ns < q[1] - 1.5 * (q[3] - q[1])
    ORDER BY each_ns DESC, block, sample
"""


def outcome(warehouse: "Warehouse", cell: ExplainedCell) -> EvidenceStep:
    """The outcome of a case, and the last stderr of its workers."""
    sql = (
        f"SELECT {cell.run}kind, status, reason, phase, exit_code, signal, exception, message, stderr_tail FROM case_outcomes"
        f" WHERE {cell.case} ORDER BY ALL"
    )
    found = answer(warehouse, "outcome", sql)
    tails = [line for row in found.rows for line in (row[-1] or "").splitlines()]
    sentence = ["last words on stderr:", *(f"  {line}" for line in tails[-TAIL:])] if tails else []
    return replace(found, sentences=sentence, columns=found.columns[:-1], rows=[row[:-1] for row in found.rows])


def files(warehouse: "Warehouse", cell: ExplainedCell) -> list[EvidenceStep]:
    """The sources of samples: the lines of imported files, and for our own the files of the event log."""
    found = []
    for place in _places(warehouse, cell):
        imported = answer(
            warehouse,
            "imported from",
            f"SELECT path, min(line) AS first_line, max(line) AS last_line, count(*) AS records FROM {place.table} JOIN"
            f" (SELECT source_id, path FROM source_files) USING (source_id) WHERE {place.rows} GROUP BY path ORDER BY path",
        )
        found += [imported] if imported.rows else []
        own = f"{place.rows} AND source_id IS NULL"
        if warehouse.rows(f"SELECT 1 FROM {place.table} WHERE {own} LIMIT 1"):
            log = fill("{}", f"{glob.escape(str(warehouse.store.events))}/{place.table}/*.parquet")
            recorded = (
                f"SELECT filename AS path, count(*) AS records FROM read_parquet({log}, filename = true, union_by_name = true)"
                f" WHERE {own} GROUP BY ALL ORDER BY path"
            )
            found.append(answer(warehouse, "recorded in", recorded))
    return found


def answer(
    warehouse: "Warehouse", title: str, sql: str, *, kinds: Mapping[str, str] | None = None, long: bool = False
) -> EvidenceStep:
    """A statement and its rows; `kinds` say what columns hold whose name does not."""
    found = ask(warehouse, sql)
    assert found is not None, "a SELECT gives rows"
    rows = list(found.rows)
    values = zip(*rows, strict=True) if rows else ((),) * len(found.columns)
    columns = [
        TableColumn(name, (kinds or {}).get(name) or _kind(name, held))
        for name, held in zip(found.columns, values, strict=True)
    ]
    return EvidenceStep(title, sql, (), columns, rows, long)


def _kind(name: str, held: Iterable[Any]) -> str:
    if name.endswith("_ns"):
        return "duration"
    if name.endswith("_bytes"):
        return "bytes"
    if any(isinstance(value, datetime.datetime) for value in held):
        return "time"
    numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in held)
    return "text" if not numeric else "ratio" if name in RATIOS else "number"
