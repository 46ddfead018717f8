"""Reports: the results of a run, what got worse, and what is missing, as one document for a comment or a page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..warehouse.errors import NothingToShow
from .ask import ask
from .comparison import environments, render
from .comparison.compare import VERDICTS, compare
from .comparison.render import metric, why
from .comparison.sides import Side, find_sides
from .document import Document, Section, Table, TableColumn
from .regression import regressions
from .regression.regressions import Limits, RegressionRule
from .resolve import resolve_run

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

PANEL = ("suite", "mode", "dtype", "device", "backend")
HISTORY = 10  # runs
_AXES = (
    TableColumn("suite"), TableColumn("model"), TableColumn("mode"), TableColumn("device"),
    TableColumn("dtype"), TableColumn("backend"),
    TableColumn("batch", "count"), TableColumn("length", "count"), TableColumn("parameters"),
)  # fmt: skip
_NAMES = {column.name for column in _AXES} - {"model"}
_KIND_OF_UNIT = {"ns": "duration", "bytes": "bytes", "count": "count", "ratio": "ratio", "s": "seconds"}


@dataclass(frozen=True, slots=True)
class Report:
    """A document, and what it is about."""

    run_id: str
    configs: tuple[str, ...]  # of the base, where there is one, and of the run
    runs: tuple[str, ...]  # likewise: those of the base, and those that are judged
    document: Document
    sides: tuple[Side, Side] | None = None  # where two were asked for


def report(
    warehouse: "Warehouse",
    name: str = "latest",
    against: str | None = None,
    *,
    rule: RegressionRule | None = None,
    limits: Limits | None = None,
) -> Report:
    """Report a run, and what changed since another.

    Args:
        warehouse: Where to look.
        name: The run: id prefix, config, commit, latest, latest~1. Its repeats are judged with it.
        against: The side to compare it with, as `bench compare` takes both: the report then opens with that comparison. By
            default the run before it of the same config, and the regressions since.
        rule: When a difference counts as a regression.
        limits: What no case may fall below or exceed.

    Returns:
        The report without empty sections, except the one on regressions.

    Raises:
        UnknownName: No run answers to a name.
        NothingToShow: The run recorded nothing to report.
    """
    limits = limits or Limits()
    run_id = resolve_run(warehouse, name)
    (details,) = warehouse.dicts("SELECT * FROM run_details WHERE run_id = ?", [run_id])
    configs = [str(details["config"])]
    sides = find_sides(warehouse, against, name) if against is not None else None
    before = sides[0].runs[0] if sides is not None else _run_before(warehouse, run_id)
    judged: list[Section | None]
    if sides is not None:
        runs = list(sides[1].runs)
        configs[:0] = warehouse.rows("SELECT config FROM run_details WHERE run_id = ?", [before])[0]
        compared = render.document(compare(warehouse, *sides))
        title, verdict, good = compared.title, compared.verdict, compared.good
        judged = [part for part in compared.sections if part.key != "environment"]  # one stands below
    else:
        runs = regressions.judged_runs(warehouse, name)
        found = regressions.judge(warehouse, runs, rule or RegressionRule(), limits)
        title, (verdict, good) = f"{configs[0]}: run {run_id[:13]}", _verdict(found)
        judged = [_findings(found), _changes(warehouse, before, runs) if before is not None else None]
    summary = _summary(warehouse, run_id, before, limits)
    parts = (
        *([summary, *judged] if sides is None else [*judged, summary]),
        _flags(warehouse, run_id, limits),
        _scheduler(warehouse, {side.name: side.runs for side in sides or ()} or {configs[0]: runs}),
        _history(warehouse, run_id),
        *_suites(warehouse, run_id),
        _left_out(warehouse, run_id),
        _environment(warehouse, details, before, runs),
    )
    sections = [part for part in parts if part is not None]
    if len(sections) < 3 and not details["steps"] and not details["samples"]:
        raise NothingToShow(f"run {run_id} recorded nothing to report. See it with: bench show {run_id[:13]}")
    document = Document(
        title=title,
        verdict=verdict,
        good=good,
        facts=[(key, value) for key, value in _facts(details, before) if value],
        sections=sections,
    )
    return Report(run_id, tuple(configs), (*(sides[0].runs if sides is not None else ()), *runs), document, sides)


def _run_before(warehouse: "Warehouse", run_id: str) -> str | None:
    """The run of the same config just before this one."""
    query = """
        SELECT other.run_id FROM _run_times AS own JOIN _run_times AS other USING (config)
        WHERE own.run_id = ? AND (other.began_at, other.run_id) < (own.began_at, own.run_id)
        ORDER BY other.began_at DESC, other.run_id DESC LIMIT 1
    """
    found = warehouse.rows(query, [run_id])
    return str(found[0][0]) if found else None


def _facts(details: Mapping[str, Any], before: str | None) -> Iterator[tuple[str, str | None]]:
    def text(key: str) -> str | None:
        value = details[key]
        return str(value) if value is not None else None

    began = details["began_at"]
    yield "date", began.strftime("%Y-%m-%d %H:%M") if began is not None else None
    yield "commit", (text("git_commit") or "")[:12] + ("+changes" if details["git_dirty"] else "")
    yield "branch", text("git_branch")
    yield "beside", before[:13] if before else None
    yield "host", text("host")
    yield "GPU", ", ".join(details["gpus"] or ())
    yield "torch", text("torch")
    yield "status", f"{details['status']}{': ' + details['reason'] if details['reason'] else ''}"


def _verdict(found: Sequence[Mapping[str, Any]]) -> tuple[str, bool | None]:
    """One sentence, and whether it is good news; None if nothing could be judged."""
    count = Counter(row["verdict"] for row in found)
    statistics = [row for row in found if row["finding"] == "statistics"]
    judged = sum(row["p"] is not None or row["verdict"] == "SAME" for row in statistics)
    words = {
        "SLOWER": "slower", "WORSE": "worse", "BROKEN": "broken", "REMOVED": "no longer measured", "FASTER": "faster",
        "BETTER": "better",
    }  # fmt: skip
    changed = [f"{count[verdict]} {text}" for verdict, text in words.items() if count[verdict]]
    if any(count[verdict] for verdict in ("SLOWER", "WORSE", "BROKEN", "REMOVED")):
        return f"{', '.join(changed)}; {judged:,} series judged.", False
    if not judged:
        return "Too little data to judge: a case needs earlier runs to be compared with.", None
    rest = f" {len(statistics) - judged:,} could not be judged." if judged < len(statistics) else ""
    return f"No regression in {judged:,} series{', ' + ', '.join(changed) if changed else ''}.{rest}", True


def _summary(warehouse: "Warehouse", run_id: str, before: str | None, limits: Limits) -> Section | None:
    summary = """executive_summary(
        min_speedup := $min_speedup, max_compile_seconds := $max_compile_seconds, min_compression := $min_compression
    )"""
    query = f"""
        SELECT {", ".join(f"own.{axis}" for axis in PANEL)},
            own.speedup, own.low, own.high, own.n, earlier.speedup, nullif(own.dashboard_speedup, own.speedup),
            CASE WHEN own.n_elsewhere IS NOT NULL THEN own.matched_speedup END,
            CASE WHEN own.n_elsewhere IS NOT NULL THEN own.n_matched END, own.rate, earlier.rate, own.mean_seconds,
            earlier.mean_seconds, own.mean_ratio, earlier.mean_ratio, own.flagged, nullif(own.skipped, 0)
        FROM {summary} AS own
        LEFT JOIN {summary} AS earlier
            ON earlier.run_id = $before
            {" ".join(f"AND own.{axis} IS NOT DISTINCT FROM earlier.{axis}" for axis in PANEL)}
        WHERE own.run_id = $run
        ORDER BY {", ".join(f"own.{axis}" for axis in PANEL)}
    """
    columns = [
        *map(TableColumn, PANEL), TableColumn("geomean speedup", "ratio"), TableColumn("low", "ratio"),
        TableColumn("high", "ratio"),
        TableColumn("over", "count"), TableColumn("speedup before", "ratio"), TableColumn("slowdowns as 1", "ratio"),
        TableColumn("on all backends", "ratio"), TableColumn("over all", "count"), TableColumn("passing"),
        TableColumn("passing before"),
        TableColumn("compile", "seconds"), TableColumn("compile before", "seconds"), TableColumn("memory", "ratio"),
        TableColumn("memory before", "ratio"), TableColumn("flagged", "count"), TableColumn("skipped", "count"),
    ]  # fmt: skip
    table = _table(warehouse, columns, query, {"run": run_id, "before": before, **asdict(limits)})
    if table is None:
        return None
    sentence = (
        "Speedup over eager as the geometric mean over cases that pass on the backend, and where there are several over those"
        " that pass on all; with slowdowns as 1, as PyTorch's dashboard counts, where that differs. Memory is the eager peak"
        " over the backend's."
    )
    return _of(table, "summary", "Summary", sentence, weight=9)


def _findings(found: Sequence[Mapping[str, Any]]) -> Section:
    """What changed, is newly beyond a limit or gone, worst first."""
    changed = [row for row in found if row["verdict"] not in ("SAME", "UNSURE", "ADDED")]
    columns = [
        TableColumn("verdict"), *_AXES, TableColumn("metric"), TableColumn("before"), TableColumn("now"),
        TableColumn("change", "change"),
        TableColumn("low", "change"), TableColumn("high", "change"), TableColumn("reason"), TableColumn("since"),
    ]  # fmt: skip
    rows = []
    for row in changed:
        kind = TableColumn("", _KIND_OF_UNIT.get(str(row.get("unit")), "number"))
        before, now = kind.shown(row.get("baseline")), kind.shown(row.get("value"))
        since = str(row.get("since_commit") or row.get("since_run_id") or "")[:12]
        axes = [row.get(axis) for axis in regressions.AXES]
        change = [row.get(key) for key in ("change", "low", "high")]
        head = [row["verdict"], *axes, metric(row), before or None, now or None]
        rows.append([*head, *change, "; ".join(why(row)), since or None])
    rule = (
        "A case is slower or worse when its runs differ from those before by more than their noise and the floor, with the"
        " share of false alarms over all cases controlled; bench regressions says how."
    )
    key, title = "regressions", "Regressions and improvements"
    if rows:
        return _of(Table(columns, rows), key, title, rule, weight=8)
    judged = any(row["verdict"] != "UNSURE" for row in found)
    nothing = "Nothing did, and nothing improved." if judged else "None could be judged."
    return Section(key=key, title=title, sentences=[rule, nothing])


def _changes(warehouse: "Warehouse", before: str, runs: Sequence[str]) -> Section | None:
    """What differs from the run it is compared with, case by case."""
    query = """
        SELECT verdict, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
            metric, phase, unit, base_value, candidate_value, ratio, low, high, evidence, reason
        FROM comparisons(?::VARCHAR[], ?::VARCHAR[])
        WHERE verdict NOT IN ('SAME', 'UNSURE')
        ORDER BY list_position(?::VARCHAR[], verdict), abs(ln(ratio)) DESC NULLS FIRST, suite, name, backend, mode, device,
            dtype, batch_size, sequence_length, metric, phase
    """
    found = warehouse.dicts(query, [[before], list(runs), [verdict for verdict in VERDICTS if verdict]])
    if not found:
        return None
    columns = [
        TableColumn("verdict"), *_AXES, TableColumn("metric"), TableColumn("there"), TableColumn("here"),
        TableColumn("ratio", "ratio"),
        TableColumn("low", "ratio"), TableColumn("high", "ratio"), TableColumn("reason"),
    ]  # fmt: skip
    rows = []
    for row in found:
        kind = TableColumn("", _KIND_OF_UNIT.get(str(row["unit"]), "number"))
        values = [kind.shown(row[key]) or None for key in ("base_value", "candidate_value")]
        axes = [row[axis] for axis in regressions.AXES]
        rows.append(
            [row["verdict"], *axes, metric(row), *values, row["ratio"], row["low"], row["high"], "; ".join(why(row))]
        )
    sentence = f"Against run {before[:13]}; a ratio above 1 is better. What is the same or uncertain is not listed."
    table = Table(columns, rows)
    return _of(table, "changes", "Changes", sentence, folded=True, weight=5)


def _flags(warehouse: "Warehouse", run_id: str, limits: Limits) -> Section | None:
    query = """
        SELECT suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, value, threshold, why
        FROM flags(min_speedup := $min_speedup, max_compile_seconds := $max_compile_seconds, min_compression := $min_compression)
        WHERE run_id = $run
        ORDER BY metric, suite, backend, name, mode, device, dtype, batch_size, sequence_length, parameters
    """
    columns = [
        *_AXES,
        TableColumn("metric"),
        TableColumn("value", "number"),
        TableColumn("limit", "number"),
        TableColumn("why"),
    ]
    table = _table(warehouse, columns, query, {"run": run_id, **asdict(limits)})
    if table is None:
        return None
    sentence = (
        f"Speedup below {limits.min_speedup:g}, compiling beyond {limits.max_compile_seconds:g} s, memory ratio below"
        f" {limits.min_compression:g}, or accuracy that is no pass."
    )
    return _of(table, "warnings", "Warnings", sentence, folded=True, weight=4)


def _scheduler(warehouse: "Warehouse", runs_of: Mapping[str, Sequence[str]]) -> Section | None:
    query = """
        SELECT $side, steps, tokens_per_second, mean_step_ms, mean_model_run_ms, schedule_share, mean_tokens,
            mean_batch_size, prefill_share, mean_waiting, max_kv_cache_usage
        FROM step_breakdown(runs := $runs) ORDER BY config
    """
    columns = [
        TableColumn("config"), TableColumn("steps", "count"), TableColumn("tokens/s", "number"),
        TableColumn("step, mean ms", "number"),
        TableColumn("model run, mean ms", "number"), TableColumn("scheduling share", "share"),
        TableColumn("tokens, mean", "number"),
        TableColumn("batch, mean", "number"), TableColumn("prefill share", "share"), TableColumn("waiting, mean", "number"),
        TableColumn("KV cache, most", "share"),
    ]  # fmt: skip
    found = [_table(warehouse, columns, query, {"side": name, "runs": list(runs)}) for name, runs in runs_of.items()]
    rows = [row for table in found if table is not None for row in table.rows]
    return _of(Table(columns, rows), "scheduler", "Scheduler steps", weight=7) if rows else None


def _history(warehouse: "Warehouse", run_id: str) -> Section | None:
    query = f"""
        SELECT {", ".join(PANEL)}, began_at, left(run_id, 13) AS run, speedup, passing || ' of ' || total AS passing,
            mean_seconds, mean_ratio
        FROM history(k := {HISTORY:d})
        WHERE ran AND config = (SELECT config FROM _run_times WHERE run_id = ?)
        ORDER BY {", ".join(PANEL)}, began_at DESC
    """
    columns = [
        *map(TableColumn, PANEL), TableColumn("date", "time"), TableColumn("run"),
        TableColumn("geomean speedup", "ratio"), TableColumn("passing"),
        TableColumn("compile, mean", "seconds"), TableColumn("memory ratio", "ratio"),
    ]  # fmt: skip
    table = _table(warehouse, columns, query, [run_id])
    if table is None or len({row[len(PANEL) + 1] for row in table.rows}) < 2:
        return None
    return _of(table, "history", f"History of the last {HISTORY} runs", folded=True, weight=2)


def _suites(warehouse: "Warehouse", run_id: str) -> Iterator[Section]:
    """Every case of every suite, slowest gain first."""
    query = """
        SELECT name, mode, device, dtype, backend, batch_size, sequence_length, parameters, baseline_ns, candidate_ns,
            speedup, low, high, n, compile_ns, compression_ratio, status, accuracy
        FROM case_summaries
        WHERE run_id = ? AND suite IS NOT DISTINCT FROM ? AND origin IS NOT NULL
        ORDER BY speedup NULLS FIRST, name, backend, mode, device, dtype, batch_size, sequence_length, parameters
    """
    columns = [
        *_AXES[1:], TableColumn("eager", "duration"), TableColumn("latency", "duration"), TableColumn("speedup", "ratio"),
        TableColumn("low", "ratio"), TableColumn("high", "ratio"), TableColumn("blocks", "count"),
        TableColumn("compile", "duration"),
        TableColumn("memory ratio", "ratio"), TableColumn("status"), TableColumn("accuracy"),
    ]  # fmt: skip
    suites = warehouse.rows(
        "SELECT DISTINCT suite FROM case_summaries WHERE run_id = ? AND origin IS NOT NULL ORDER BY 1", [run_id]
    )
    for index, (suite,) in enumerate(suites):
        table = _table(warehouse, columns, query, [run_id, suite])
        assert table is not None, "a suite has cases"
        title = f"Suite {suite if suite is not None else '(none)'}"
        yield _of(table, f"suite-{index}", title, folded=True, weight=1)


def _left_out(warehouse: "Warehouse", run_id: str) -> Section | None:
    """Cases that no mean covers, and records that could not be read."""
    excluded = """
        SELECT suite, mode, dtype, device, backend, unnest(excluded) AS why FROM geomean_speedups() WHERE run_id = ? ORDER BY ALL
    """
    files = """
        SELECT path, lines, loaded, rejected, known, notes FROM source_files
        WHERE run_id = ? AND (rejected > 0 OR notes IS NOT NULL) ORDER BY path
    """
    tables = [
        _table(warehouse, [*map(TableColumn, PANEL), TableColumn("left out of the geometric mean")], excluded, [run_id]),
        _table(
            warehouse,
            [
                TableColumn("file"), *(TableColumn(name, "count") for name in ("lines", "loaded", "rejected", "known")),
                TableColumn("notes"),
            ],
            files, [run_id],
        ),
    ]  # fmt: skip
    there = [table.without_empty() for table in tables if table is not None]
    return Section(key="left-out", title="What was left out", tables=there, folded=True, weight=3) if there else None


def _environment(
    warehouse: "Warehouse", details: Mapping[str, Any], before: str | None, runs: Sequence[str]
) -> Section:
    """What differs from the environment of the run before, then all of it."""
    facts = environments.facts(warehouse, [before] if before else [], runs)
    own = [[fact.kind, fact.field, fact.texts()[1]] for fact in facts if any(fact.candidate)]
    tables = [Table([TableColumn("kind"), TableColumn("field"), TableColumn("value")], own)]
    sentences = []
    if before is not None:
        differ = [[fact.field, *fact.texts()] for fact in facts if not fact.same]
        sentences.append(environments.sentence(facts).capitalize() + f" from run {before[:13]}.")
        if differ:
            tables.insert(0, Table([TableColumn("field"), TableColumn("there"), TableColumn("here")], differ))
    if details["command"]:
        sentences.append(f"Measured by: {details['command']}")
    return Section(
        key="environment",
        title="Environment",
        sentences=sentences,
        tables=[t for t in tables if t.rows],
        folded=True,
        weight=6,
    )


def _of(table: Table, key: str, title: str, *sentences: str, folded: bool = False, weight: int) -> Section:
    """The section of a table; columns that are equal in all rows become a sentence."""
    brief, said = table.without_empty().without_alike(_NAMES)
    told = [*sentences, *([said] if said else [])]
    return Section(key=key, title=title, sentences=told, tables=[brief], folded=folded, weight=weight)


def _table(warehouse: "Warehouse", columns: Sequence[TableColumn], query: str, parameters: object) -> Table | None:
    """The rows of a query under these columns; None without rows."""
    answer = ask(warehouse, query, parameters)
    assert answer is not None, "a SELECT gives rows"
    rows = list(answer.rows)
    return Table(columns, rows) if rows else None
