"""Sections of a report: the tables of a run, worst first, each with the command that lists all of it."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..warehouse.console.numbers import change_of, counted, percent_change, percent_range
from ..warehouse.console.options import spell_values
from .ask import ask
from .axes import AXES, HEADINGS
from .comparison import environments
from .comparison.compare import VERDICTS
from .comparison.render import metric, why
from .contents.section import results_section
from .document import Section, Table, TableColumn, Told
from .pasteable_sql import among, equals, number_literal, paste
from .regression import regressions
from .regression.regressions import Limits

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

PANEL = ("suite", "mode", "dtype", "device", "backend")
HISTORY = 10  # runs
# of what the parts of a report measured, that which counts
OF_PARTS = "ANTI JOIN _superseded_cases USING (run_id, case_id) WHERE list_contains(?::VARCHAR[], run_id)"
DEBUGGING = ("eager", "aot_eager")  # backends that are no candidates: nobody waits for them to be fast
_COUNTS = ("batch", "length")
_AXES = tuple(TableColumn(name, "count") if name in _COUNTS else TableColumn(name) for name in HEADINGS.values())
_NAMES = {column.name for column in _AXES} - {"name"}
_KIND_OF_UNIT = {"ns": "duration", "bytes": "bytes", "count": "count", "ratio": "ratio", "s": "seconds"}


@dataclass(frozen=True, slots=True)
class ReportScope:
    """The suites and backends that a report is about; without any, about all."""

    suites: Sequence[str] = ()
    backends: Sequence[str] = ()

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is about one of them, as far as it has these columns."""
        asked = {"suite": self.suites, "backend": self.backends}
        return all(row[name] in values for name, values in asked.items() if values and name in row)

    @property
    def options(self) -> str:
        """The options that choose them, as the end of a command line."""
        asked = {"--suites": self.suites, "--backends": self.backends}
        return "".join(spell_values(option, values) for option, values in asked.items())

    def listing(self, query: str, *conditions: str) -> str:
        """The command that lists those of what a query gives under these conditions."""
        asked = {"suite": self.suites, "backend": self.backends}
        chosen = [among(name, names) for name, names in asked.items() if names]
        return paste(f"{query} WHERE {' AND '.join([*conditions, *chosen])}")


def summary(
    warehouse: "Warehouse", parts: Sequence[str], before: Sequence[str], limits: Limits, scope: ReportScope
) -> Section | None:
    """Summary of every suite and backend in all parts of the report, compared with the one before."""
    view = """executive_summary(
        min_speedup := $min_speedup, max_compile_seconds := $max_compile_seconds, min_compression := $min_compression
    )"""
    query = f"""
        SELECT {", ".join(f"own.{axis}" for axis in PANEL)},
            own.speedup, own.low, own.high, nullif(own.n, 0), earlier.speedup, nullif(own.dashboard_speedup, own.speedup),
            CASE WHEN own.n_elsewhere IS NOT NULL THEN own.matched_speedup END,
            CASE WHEN own.n_elsewhere IS NOT NULL THEN nullif(own.n_matched, 0) END, own.rate, earlier.rate, own.mean_seconds,
            earlier.mean_seconds, own.mean_ratio, earlier.mean_ratio, own.flagged, nullif(own.skipped, 0)
        FROM {view} AS own
        LEFT JOIN {view} AS earlier
            ON earlier.run_id = $before
            {" ".join(f"AND own.{axis} IS NOT DISTINCT FROM earlier.{axis}" for axis in PANEL)}
        WHERE own.run_id = $run
        ORDER BY {", ".join(f"own.{axis}" for axis in PANEL)}
    """
    columns = [
        *map(TableColumn, PANEL), TableColumn("geomean speedup", "ratio"), TableColumn("low", "ratio"),
        TableColumn("high", "ratio"),
        TableColumn("over", "count"), TableColumn("speedup before", "ratio"), TableColumn("slowdowns as 1", "ratio"),
        TableColumn("on all backends", "ratio"), TableColumn("cases on all", "count"), TableColumn("passing"),
        TableColumn("passing before"),
        TableColumn("compile", "seconds"), TableColumn("compile before", "seconds"), TableColumn("memory", "ratio"),
        TableColumn("memory before", "ratio"), TableColumn("flagged", "count"), TableColumn("skipped", "count"),
    ]  # fmt: skip
    reports = {"run": parts[-1], "before": before[-1] if before else None}
    table = _table(warehouse, columns, query, {**reports, **asdict(limits)}, scope)
    if table is None or not any(row[len(PANEL)] is not None for row in table.rows):  # nothing has a speedup
        return results_section(warehouse, parts, scope.suites, scope.backends)
    sentence = (
        "Speedup over eager as the geometric mean over cases that pass on the backend, and where there are several over those"
        " that pass on all; with slowdowns as 1, as PyTorch's dashboard counts, where that differs."
    )
    memory = [column.name for column in columns].index("memory")
    if any(row[memory] is not None for row in table.rows):
        sentence += " Memory is the eager peak over the backend's."
    command = scope.listing("FROM executive_summary()", equals("run_id", parts[-1]))
    return _of(table, "summary", "Summary", sentence, weight=10, command=command)


def findings(found: Sequence[Mapping[str, Any]], run_id: str, scope: ReportScope) -> Section:
    """Cases that changed, are newly beyond a limit or gone; worst first."""
    changed = [row for row in found if row["verdict"] not in ("SAME", "UNSURE", "ADDED")]
    told = regressions.fold(changed)
    columns = [
        TableColumn("verdict"), *_AXES, TableColumn("metric"), TableColumn("before"), TableColumn("now"),
        TableColumn("change", "told"), TableColumn("reason", "note"),
    ]  # fmt: skip
    rows = []
    for row in told:
        kind = TableColumn("", _KIND_OF_UNIT.get(str(row.get("unit")), "number"))
        before, now = kind.shown(row.get("baseline")), kind.shown(row.get("value"))
        since = str(row.get("since_commit") or row.get("since_run_id") or "")[:12]
        axes = [regressions.axis_text(row, axis) for axis in AXES]
        change, low, high, reasons = row.get("change"), row.get("low"), row.get("high"), why(row)
        if "folded" in row:  # of the cases that changed least and most, which is no interval
            reasons = [percent_range(low, high), *reasons] if low is not None and high is not None else reasons
            low = high = None
        told_change = None if change is None else Told(change, percent_change(change, low, high) or "")
        head = [row["verdict"], *axes, metric(row), before or None, now or None]
        rows.append([*head, told_change, "; ".join(filter(None, [*reasons, since and f"since {since}"]))])
    rule = (
        "A case is slower or worse when its runs differ from those before by more than their noise and the floor, with the"
        " share of false alarms over all cases controlled; bench regressions says how."
    )
    key, title = "regressions", "Regressions and improvements"
    if rows:
        command = f"bench regressions {_short(run_id)} --members{scope.options}"
        if len(told) < len(changed):
            rule += f" {counted(len(changed), 'finding')} in {counted(len(told), 'line')}; list each with: {command}"
        return _of(Table(columns, rows), key, title, rule, weight=8, command=command)
    judged = any(row["verdict"] != "UNSURE" for row in found)
    nothing = "Nothing did, and nothing improved." if judged else "None could be judged."
    shifts = [f"{regressions.shift_text(row)}; {row['reason']}" for row in regressions.doubtful_shifts(found)]
    return Section(key=key, title=title, sentences=[rule, nothing, *shifts])


def changes(warehouse: "Warehouse", before: Sequence[str], runs: Sequence[str], scope: ReportScope) -> Section | None:
    """Differences from the compared report, case by case."""
    query = """
        SELECT verdict, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
            metric, phase, unit, better, base_value, candidate_value, ratio, low, high, evidence, reason
        FROM comparisons(?::VARCHAR[], ?::VARCHAR[])
        WHERE verdict NOT IN ('SAME', 'UNSURE')
        ORDER BY list_position(?::VARCHAR[], verdict), abs(ln(ratio)) DESC NULLS FIRST, suite, name, backend, mode, device,
            dtype, batch_size, sequence_length, metric, phase
    """
    verdicts = [verdict for verdict in VERDICTS if verdict]
    found = list(filter(scope.keeps, warehouse.dicts(query, [list(before), list(runs), verdicts])))
    if not found:
        return None
    columns = [
        TableColumn("verdict"), *_AXES, TableColumn("metric"), TableColumn("base"), TableColumn("candidate"),
        TableColumn("change", "told"), TableColumn("reason", "note"),
    ]  # fmt: skip
    rows = []
    for row in found:
        kind = TableColumn("", _KIND_OF_UNIT.get(str(row["unit"]), "number"))
        values = [kind.shown(row[key]) or None for key in ("base_value", "candidate_value")]
        axes = [row[axis] for axis in AXES]
        change = None if row["ratio"] is None else Told(row["ratio"], change_of(row) or "")
        rows.append([row["verdict"], *axes, metric(row), *values, change, "; ".join(why(row))])
    sentence = f"Against {_named(before)}. What is the same or uncertain is not listed."
    table = Table(columns, rows)
    command = f"bench compare {'+'.join(map(_short, before))} {'+'.join(map(_short, runs))}{scope.options}"
    return _of(table, "changes", "Changes", sentence, folded=True, weight=5, command=command)


def flags(warehouse: "Warehouse", parts: Sequence[str], limits: Limits, scope: ReportScope) -> Section | None:
    """Cases that failed or are beyond a limit: failures and wrong results first, then what is furthest beyond it."""
    view = "flags(min_speedup := {}, max_compile_seconds := {}, min_compression := {})".format(
        *(number_literal(float(limit)) for limit in asdict(limits).values())
    )
    query = f"""
        SELECT suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, value, threshold, why
        FROM {view}
        {OF_PARTS}
        ORDER BY metric <> 'status', metric <> 'accuracy',
            abs(ln(CASE WHEN value > 0 THEN value / threshold END)) DESC NULLS FIRST,
            metric, suite, backend, name, mode, device, dtype, batch_size, sequence_length, parameters
    """
    columns = [
        *_AXES,
        TableColumn("metric"),
        TableColumn("value", "number"),
        TableColumn("limit", "number"),
        TableColumn("why"),
    ]
    table = _table(warehouse, columns, query, [list(parts)], scope)
    if table is None:
        return None
    at = [column.name for column in columns].index("backend")
    rows = [row for row in table.rows if row[at] not in DEBUGGING or row[at] in scope.backends]
    sentence = (
        f"Speedup below {limits.min_speedup:g}, compiling beyond {limits.max_compile_seconds:g} s, memory ratio below"
        f" {limits.min_compression:g}, or accuracy that does not pass."
    )
    said = counted(len(table.rows) - len(rows), "warning")
    debugging = (
        [f"{said} of {' and '.join(DEBUGGING)} left out; --backends shows them."] if len(rows) < len(table.rows) else []
    )
    command = scope.listing(f"FROM {view}", among("run_id", parts))
    return _of(
        Table(columns, rows), "warnings", "Warnings", sentence, *debugging, folded=True, weight=4, command=command
    )


def scheduler(warehouse: "Warehouse", runs_of: Mapping[str, Sequence[str]]) -> Section | None:
    """The parts of a step's time, of the runs of each side."""
    query = """
        SELECT $side, steps, tokens_per_second, 1e6 * mean_step_ms, 1e6 * mean_model_run_ms, schedule_share, mean_tokens,
            mean_batch_size, prefill_share, mean_waiting, max_kv_cache_usage
        FROM step_breakdown(runs := $runs) ORDER BY config
    """
    columns = [
        TableColumn("config"), TableColumn("steps", "count"), TableColumn("tokens/s", "count"),
        TableColumn("step, mean", "duration"),
        TableColumn("model run, mean", "duration"), TableColumn("scheduling share", "share"),
        TableColumn("tokens, mean", "count"),
        TableColumn("batch, mean", "number"), TableColumn("prefill share", "share"), TableColumn("waiting, mean", "number"),
        TableColumn("KV cache, most", "share"),
    ]  # fmt: skip
    found = [
        _table(warehouse, columns, query, {"side": name, "runs": list(runs)}, ReportScope())
        for name, runs in runs_of.items()
    ]
    rows = [row for table in found if table is not None for row in table.rows]
    return _of(Table(columns, rows), "scheduler", "Scheduler steps", weight=6) if rows else None


def history(warehouse: "Warehouse", run_id: str, scope: ReportScope) -> Section | None:
    """The runs of the config until now, the newest first."""
    query = f"""
        SELECT {", ".join(PANEL)}, began_at, left(run_id, 13) AS run, speedup, passing || ' of ' || total AS passing,
            mean_seconds, mean_ratio
        FROM history(k := {HISTORY:d})
        WHERE ran AND config = (SELECT config FROM _run_times WHERE run_id = ?)
        ORDER BY began_at DESC, {", ".join(PANEL)}
    """
    columns = [
        *map(TableColumn, PANEL), TableColumn("date", "time"), TableColumn("run"),
        TableColumn("geomean speedup", "ratio"), TableColumn("passing"),
        TableColumn("compile, mean", "seconds"), TableColumn("memory ratio", "ratio"),
    ]  # fmt: skip
    table = _table(warehouse, columns, query, [run_id], scope)
    if table is None or len({row[len(PANEL) + 1] for row in table.rows}) < 2:
        return None
    config = f"config = (SELECT config FROM runs WHERE {equals('run_id', run_id)})"
    command = scope.listing(f"FROM history(k := {HISTORY:d})", config)
    return _of(table, "history", f"History of the last {HISTORY} runs", folded=True, weight=2, command=command)


def suites(warehouse: "Warehouse", parts: Sequence[str], scope: ReportScope) -> Iterator[Section]:
    """Every case of every suite: what failed first, then the slowest."""
    query = f"""
        SELECT name, mode, device, dtype, backend, batch_size, sequence_length, parameters, baseline_ns, candidate_ns,
            speedup, low, high, n, compile_ns, compression_ratio, status, accuracy
        FROM case_summaries
        {OF_PARTS} AND suite IS NOT DISTINCT FROM ? AND origin IS NOT NULL
        ORDER BY speedup NULLS FIRST, name, backend, mode, device, dtype, batch_size, sequence_length, parameters
    """
    columns = [
        *_AXES[1:], TableColumn("eager", "duration"), TableColumn("latency", "duration"), TableColumn("speedup", "ratio"),
        TableColumn("low", "ratio"), TableColumn("high", "ratio"), TableColumn("blocks", "count"),
        TableColumn("compile", "duration"),
        TableColumn("memory ratio", "ratio"), TableColumn("status"), TableColumn("accuracy"),
    ]  # fmt: skip
    suites = warehouse.rows(
        f"SELECT DISTINCT suite FROM case_summaries {OF_PARTS} AND origin IS NOT NULL ORDER BY 1", [list(parts)]
    )
    for index, (suite,) in enumerate(suites):
        table = (
            _table(warehouse, columns, query, [list(parts), suite], scope) if scope.keeps({"suite": suite}) else None
        )
        if table is None:
            continue
        title = f"Suite {suite if suite is not None else '(none)'}"
        own = replace(scope, suites=())
        command = own.listing("FROM case_summaries", among("run_id", parts), equals("suite", suite))
        yield _of(table, f"suite-{index}", title, folded=True, weight=7, command=command)


def memory(warehouse: "Warehouse", parts: Sequence[str], scope: ReportScope) -> Section | None:
    """The peak of every case, and its parts."""
    axes = "suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters"
    names = (
        "process", "gpu", "framework", "weights", "gradients", "optimizer", "step", "loading", "first_call",
        "steady_call",
    )  # fmt: skip
    sizes = ", ".join(f"{name}_bytes" for name in names)
    query = f"SELECT {axes}, {sizes} FROM memory_parts {OF_PARTS} ORDER BY {axes}"
    columns = [*_AXES, *(TableColumn(name.replace("_", " "), "bytes") for name in names)]
    table = _table(warehouse, columns, query, [list(parts)], scope)
    if table is None:
        return None
    meaning = (
        "The process is the peak of one that runs the case alone. Framework, weights, gradients, optimizer and step add up to it,"
        " or where that is more, framework, weights and loading. First and steady call are what one adds at most."
    )
    command = scope.listing("FROM memory_parts", among("run_id", parts))
    return _of(table.without_empty(), "memory", "Memory", meaning, folded=True, weight=4, command=command)


def left_out(warehouse: "Warehouse", parts: Sequence[str], scope: ReportScope) -> Section | None:
    """Cases that no mean covers, and records that could not be read."""
    excluded = """
        SELECT suite, mode, dtype, device, backend, unnest(excluded) AS why FROM executive_summary() WHERE run_id = ? ORDER BY ALL
    """
    files = """
        SELECT path, lines, loaded, rejected, known, array_to_string(from_json(notes, '["VARCHAR"]'), '; ') AS notes
        FROM source_files
        WHERE list_contains(?::VARCHAR[], run_id) AND (rejected > 0 OR notes IS NOT NULL) ORDER BY path
    """
    tables = [
        _table(
            warehouse, [*map(TableColumn, PANEL), TableColumn("left out of the geometric mean")], excluded, [parts[-1]], scope
        ),
        _table(
            warehouse,
            [
                TableColumn("file"), *(TableColumn(name, "count") for name in ("lines", "loaded", "rejected", "known")),
                TableColumn("notes"),
            ],
            files, [list(parts)], scope,
        ),
    ]  # fmt: skip
    there = [table.without_empty() for table in tables if table is not None]
    command = scope.listing("FROM executive_summary()", equals("run_id", parts[-1]))
    return (
        Section(
            key="left-out",
            title="What was left out, and notes on files",
            tables=there,
            folded=True,
            weight=3,
            command=command,
        )
        if there
        else None
    )


def environment(
    warehouse: "Warehouse", details: Mapping[str, Any], before: Sequence[str], runs: Sequence[str]
) -> Section:
    """Differences from the environment of the report before, then the whole environment."""
    facts = environments.facts(warehouse, before, runs)
    own = [[fact.kind, fact.field, fact.texts()[1]] for fact in facts if any(fact.candidate)]
    tables = [Table([TableColumn("kind"), TableColumn("field"), TableColumn("value")], own)]
    sentences = []
    if before:
        differ = [[fact.field, *fact.texts()] for fact in facts if not fact.same]
        sentences.append(environments.sentence(facts).capitalize() + f" from {_named(before)}.")
        if differ:
            tables.insert(0, Table([TableColumn("field"), TableColumn("base"), TableColumn("candidate")], differ))
    if details["command"]:
        sentences.append(f"Measured by: {details['command']}")
    return Section(
        key="environment",
        title="Environment",
        sentences=sentences,
        tables=[t for t in tables if t.rows],
        folded=True,
        weight=6,
        command=f"bench show {_short(details['run_id'])}",
    )


def _of(
    table: Table, key: str, title: str, *sentences: str, folded: bool = False, weight: int, command: str = ""
) -> Section:
    """The section of a table; columns that are equal in all rows become a sentence."""
    brief, said = table.without_empty().without_alike(_NAMES)
    told = [*sentences, *([said] if said else [])]
    return Section(key=key, title=title, sentences=told, tables=[brief], folded=folded, weight=weight, command=command)


def _table(
    warehouse: "Warehouse", columns: Sequence[TableColumn], query: str, parameters: object, scope: ReportScope
) -> Table | None:
    """The rows of a query that the report is about, under these columns; None without rows."""
    answer = ask(warehouse, query, parameters)
    assert answer is not None, "a SELECT gives rows"
    names = [column.name for column in columns]
    rows = [row for row in answer.rows if scope.keeps(dict(zip(names, row, strict=True)))]
    return Table(columns, rows) if rows else None


def _named(runs: Sequence[str]) -> str:
    """Runs in a sentence."""
    return f"{'run' if len(runs) == 1 else 'runs'} {', '.join(run_id[:13] for run_id in runs)}"


def _short(run_id: str) -> str:
    """The beginning of a run's id, as a word of a command."""
    return shlex.quote(run_id[:13])
