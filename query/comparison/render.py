"""Comparisons for people: every number with its doubt, as a table with sentences or as a document.

This file is long because the table, its sentences and the document say the same of a row, in the same words.
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...warehouse.console.numbers import (
    amount,
    change_of,
    counted,
    direction,
    factor_of,
    mean_of,
    share_text,
    times,
)
from ...warehouse.console.parameters import plain
from ...warehouse.console.tables import shorten
from ..pasteable_sql import list_literal
from . import environments
from .compare import CHANGES, SETTLED, VERDICTS, Comparison, Row, is_lost, leaves_times_open
from .labels import labels_of
from .sides import Side

COMPARED_SPARE = ("difference", "base", "candidate")  # columns of a table that may go where there is no room
MOST_REASONS = 3  # why rows are left out
MOST_ROWS = {"SAME": 0, "UNSURE": 10}  # of a verdict that a table shows: those of the largest ratios
NAME = 60  # columns of a name in a sentence
NAMED = 3  # cases that a sentence names
MEMBERS = 44  # columns for the names of cases that one line stands for
SENTENCES = 12  # geometric means that are said
LISTED = 8  # metrics that a sentence lists
CALLED = {
    "SLOWER": "slower", "WORSE": "worse", "LIKELY SLOWER": "likely slower", "LIKELY WORSE": "likely worse",
    "BROKEN": "newly failing", "REMOVED": "no longer measured", "FASTER": "faster", "BETTER": "better",
    "LIKELY FASTER": "likely faster", "LIKELY BETTER": "likely better", "CHANGED": "changed",
    "FIXED": "working again", "ADDED": "new",
}  # fmt: skip


def shown(comparison: Comparison, *, everything: bool = False) -> list[Row]:
    """The rows to show, one for all metrics of a case that one side lacks or of which processor time says what latency does;
    unless `everything`, no SAME and few UNSURE rows.
    """
    rows: list[Row] = []
    counts: Counter[str | None] = Counter()
    for row in fold_processor_time(comparison.rows):
        counts[row["verdict"]] += 1
        if everything or counts[row["verdict"]] <= MOST_ROWS.get(row["verdict"], math.inf):
            rows.append(row)
    return fold_metrics(rows)


def fold_metrics(rows: Iterable[Row]) -> list[Row]:
    """The rows with one for all metrics of a case of which the same is true: it is gone, new, broken or mended.

    The others are its `unshown`.
    """
    told: list[Row] = []
    single: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = row.get("run_id"), row.get("config"), row["case_id"], row["verdict"]
        if row["case_id"] is None or row["verdict"] not in ("REMOVED", "ADDED", "BROKEN", "FIXED"):
            told.append(row)
        elif key in single:
            single[key]["others"] += 1
            single[key]["unshown"].append(row)
        else:
            told.append(single.setdefault(key, {**row, "others": 0, "unshown": []}))
    return told


def fold_processor_time(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without those of processor time that say of a case what its latency says, whose row then names both."""
    processor = [row for row in rows if (row["metric"] or "").startswith("cpu_time")]
    if not processor:
        return [{**row} for row in rows]
    latencies = {_of_calls(row): row for row in rows if (row["metric"] or "").startswith("latency")}
    alike = {}
    for row in processor:
        latency = latencies.get(_of_calls(row))
        if latency and _is_within(row, latency):
            alike[id(row)] = latency
    also: dict[int, list[Mapping[str, Any]]] = {}
    for row in processor:
        if latency := alike.get(id(row)):
            also.setdefault(id(latency), []).append(row)
    more = {of: {"also": "cpu_time", "unshown": unshown} for of, unshown in also.items()}
    return [{**row, **more.get(id(row), {})} for row in rows if id(row) not in alike]


def _of_calls(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The calls that a row is about, and its verdict."""
    return tuple(row.get(column) for column in ("config", "host", "machine", "case_id", "phase", "verdict"))


def _is_within(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if its change lies in the interval of the other's."""
    change = row["change" if "change" in row else "ratio"]
    return None not in (change, other["low"], other["high"]) and other["low"] <= change <= other["high"]


def render(comparison: Comparison, rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Rows as a table for people; axes that all cases share, and reasons that hold for all, are for `sentences`."""
    labels, common, assumed = labels_of(comparison.rows), _common(comparison), _assumed(comparison)
    numbers, alike = ("metric", "base", "candidate", "difference", "change", "verdict", "why"), _alike(comparison)
    return [*labels.headings(), *numbers], [
        [
            *labels.cells(row), metric(row), amount(row["base_value"], row["unit"]),
            amount(row["candidate_value"], row["unit"]), _difference(row),
            change_of(row), row["verdict"],
            "" if row["verdict"] in alike else
            "; ".join(part for part in why(row) if part not in common and part != assumed.get(metric(row))),
        ]
        for row in rows
    ]  # fmt: skip


def members(count: int, names: Sequence[str]) -> str:
    """Cases that one line stands for: `49 cases: alexnet, bert, dcgan and 46 more`; fewer where their names are long."""
    texts = []
    for some in range(min(NAMED, len(names)), 0, -1):
        more = f" and {len(names) - some} more" if len(names) > some else ""
        texts.append(f"{counted(count, 'case')}: {', '.join(names[:some])}{more}")
    return next((text for text in texts if len(text) <= MEMBERS), texts[-1] if texts else counted(count, "case"))


def why(row: Mapping[str, Any]) -> list[str]:
    """The parts of the reason for a verdict, the runs behind it second."""
    first, *rest = row["reason"].split("; ")
    return [first, *([row["evidence"]] if row["evidence"] else []), *rest]


def _common(comparison: Comparison) -> list[str]:
    """The parts of the reason that all rows with an interval share, after the first."""
    texts = [why(row)[1:] for row in _with_interval(comparison)]
    return [part for part in texts[0] if all(part in other for other in texts)] if len(texts) > 1 else []


def _assumed(comparison: Comparison) -> dict[str | None, str]:
    """The assumption of each metric about all its rows that are not the same: where there are several, or one thing for all."""
    rows = _with_interval(comparison)
    found: dict[str | None, list[str | None]] = {}
    for row in rows:
        if row["verdict"] != "SAME":
            found.setdefault(metric(row), []).append(why(row)[0] if row["p"] is None else None)
    alike = {name: texts[0] for name, texts in found.items() if texts[0] and len(set(texts)) == 1}
    is_one = len(alike) == len(found) and len(set(alike.values())) == 1 < len(rows)
    return {name: text for name, text in alike.items() if is_one or len(found[name]) > 1}


def _alike(comparison: Comparison) -> dict[str, str]:
    """The reason of each verdict without a number of which all rows, and more than one, have the same."""
    found: dict[str, list[str]] = {}
    for row in shown(comparison, everything=True):
        if row["verdict"] is not None:
            found.setdefault(row["verdict"], []).append("" if row["low"] is not None else "; ".join(why(row)))
    return {verdict: texts[0] for verdict, texts in found.items() if texts[0] and len(texts) > 1 == len(set(texts))}


def _with_interval(comparison: Comparison) -> list[dict[str, Any]]:
    return [row for row in fold_processor_time(comparison.rows) if row["low"] is not None]


def metric(row: Mapping[str, Any]) -> str | None:
    """The name of the metric, with its phase unless that is steady."""
    if row["metric"] is None:
        return None
    name: str = row["metric"] if row["phase"] in (None, "steady") else f"{row['metric']} ({row['phase']})"
    if row.get("others"):
        return f"{name} and {row['others']} more"
    return f"{name}, {row['also']}" if "also" in row else name


def _difference(row: Row) -> str | None:
    difference = row["difference"]
    if difference is None:
        return None
    return ("−" if difference < 0 else "+" if difference > 0 else "") + amount(abs(difference), row["unit"])


def verdict(comparison: Comparison) -> str:
    """One sentence: what changed and by how much, what is gone, and what could be judged; its counts add up to all rows."""
    rows = [row for row in shown(comparison, everything=True) if row["verdict"] is not None]
    if len(rows) == 1 and rows[0]["verdict"] in (*CHANGES, "SAME", "UNSURE") and rows[0]["metric"] is not None:
        return _of_one(comparison, rows[0])
    together = [
        f"all cases together {factor_of(row)} in {metric(row)}{' (unsure)' if row['verdict'] == 'UNSURE' else ''}"
        for row in moved(comparison)
    ]
    counts = Counter(row["verdict"] for row in rows if row["verdict"] not in ("BROKEN", "REMOVED") or is_lost(row))
    changes = [_called(rows, called, counts[called]) for called in CALLED if counts[called]]
    of_all = f" of {counted(len(rows), 'comparison')}" if changes else ""
    nothing = "no change found" if rows else "nothing is judged"
    found = f"{', '.join(changes)}{of_all}" or ("" if together else _on_average(comparison) or nothing)
    others = {"SAME": "the same", "UNSURE": "unsure"}
    rest = [f"{counts[of]:,} {called}" for of, called in others.items() if counts[of]]
    rest += [f"{before:,} that had failed before"] if (before := len(rows) - counts.total()) else []
    beyond = "; ".join(filter(None, (found, ", ".join(rest))))
    still_open = leaves_times_open(comparison) and any(map(counts.get, SETTLED))
    parts = [", ".join(together), f"beyond that {beyond}" if together and beyond else beyond]
    return "; ".join([*filter(None, parts), *(["no time or rate is decided"] if still_open else [])])


def _on_average(comparison: Comparison) -> str:
    """A sentence on what three cases or more tell together though none does by itself; "" if nothing."""
    sure = [row for row in comparison.means if row["low"] is not None and not row["low"] <= 1 <= row["high"]]
    told = [f"{_of_mean(row)} {mean_of(row)} over {row['n']} cases" for row in sure if row["n"] > 2][:NAMED]
    return f"no case is sure by itself, but all together: {', '.join(told)}" if told else ""


def machines(comparison: Comparison) -> Iterator[str]:
    """A sentence for sides of different machines, and the factor that all cases share; one for what their doctors found."""
    if found := [str(fact) for fact in comparison.differences if fact.kind == "doctor"]:
        yield f"bench doctor found the sides' machines different: {'; '.join(found)}"
    if not comparison.machines:
        return
    other = "other hosts, and no processor is known" if comparison.are_hosts else "another machine"
    another = f"{other}: {' → '.join(comparison.machines)}"
    if comparison.across:
        yield f"{another}; compared as they stand"
        return
    shared = [
        f"all {counted(count, 'case')} share {_shift(row)}"
        for row, count in _of_each_metric(comparison)
        if row["shift"]
    ]
    if comparison.are_hosts and not shared:
        yield f"{another}; no metric has 3 cases that all moved one way by more than 5 %, so they are judged as they stand"
        return
    beyond = (
        "cases are judged by what is beyond it" if shared else "fewer than 3 cases do not tell what is the machine's"
    )
    yield f"{another}; {'; '.join([*shared, beyond])} (--across-machines compares them as they stand)"


def _shift(row: Row) -> str:
    """The factor that all cases of a metric share: `1.98x slower in latency`."""
    return f"{factor_of({**row, 'ratio': row['shift']})} in {metric(row)}"


def _of_each_metric(comparison: Comparison) -> list[tuple[Row, int]]:
    """A row of each metric that both sides measured, and how many rows it has."""
    rows = [row for row in comparison.rows if row["ratio"]]
    counts = Counter(map(metric, rows))
    first = {metric(row): row for row in reversed(rows)}
    return [(first[name], count) for name, count in counts.items()]


def _of_one(comparison: Comparison, row: Row) -> str:
    """The verdict on a single comparison: `candidate is 1.30x slower (95 % 1.27–1.33) in latency`."""
    what = f"{comparison.candidate.name}: {metric(row)}"
    change = change_of(row)
    if row["verdict"] == "SAME":
        return f"{what} is the same within {floors([row])}, {change or 'equal'}"
    if row["verdict"] == "UNSURE":
        return f"{what} shows no sure change, {change or row['reason']}"
    likely = "is likely" if row["verdict"].startswith("LIKELY") else "is"
    return f"{what} {likely} {change}" if change else f"{what} changed: {row['reason']}"


def floors(rows: Sequence[Row]) -> str:
    """The smallest changes that count, of all of the rows: `3 %` or `1–10 %`."""
    floors = sorted({row["floor"] for row in rows if row["floor"] is not None})
    return "–".join(share_text(floor).removesuffix("%") for floor in dict.fromkeys(floors[:1] + floors[-1:])) + " %"


def _called(rows: Sequence[Row], called: str, count: int) -> str:
    """Count the rows with a verdict, and name the one that changed most: `3 slower (worst attention 1.80x)`."""
    changes = [row for row in rows if row["verdict"] == called and row["ratio"] and called in CHANGES]
    if len(rows) < 2 or not changes:
        return f"{count:,} {CALLED[called]}"
    most = max(changes, key=lambda row: abs(math.log(_beyond_all(row))))
    kind = "worst" if _beyond_all(most) < 1 else "best"
    factor = times(max(_beyond_all(most), 1 / _beyond_all(most)))
    case = labels_of(rows).name(most) if len({row["case_id"] for row in rows}) > 1 else None
    of = metric(most) if len({metric(row) for row in rows}) > 1 else None
    named = ", ".join(filter(None, (case and shorten(case, NAME), of)))
    return f"{count:,} {CALLED[called]} ({' '.join(filter(None, (kind if count > 1 else None, named, factor)))})"


def _beyond_all(row: Row) -> float:
    """The ratio that is judged: without what all cases share."""
    return float(row["ratio"] / (row["shift"] or 1))


def sentences(comparison: Comparison, *, everything: bool = False) -> Iterator[str]:
    """Sentences below the table: what was compared, the means and their coverage, what was left out, what else differs."""
    counts = Counter(row["verdict"] for row in shown(comparison, everything=True))
    texts = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if verdict and counts[verdict])
    hidden = " (SAME is shown with --all)" if counts["SAME"] and not everything else ""
    yield f"{_runs(comparison.base)} against {_runs(comparison.candidate)}: {texts or 'nothing with a direction'}{hidden}"
    if not everything:
        yield from _hidden_unsure(comparison)
    yield from crossovers(comparison)
    yield from shifts(comparison)
    yield from shared_axes(comparison)
    yield from shared_reasons(comparison)
    yield from comparison.captures
    yield from means(comparison)
    if not counts and any(row["better"] is None for row in comparison.unusual):
        yield "which way is better is not known: ingest with a unit (--map …,unit:=ms) or with better:=lower"
    if (others := Counter(map(metric, comparison.unusual))) and not everything:
        names = ", ".join(f"{name} ({count})" for name, count in others.most_common(LISTED))
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        phases = any(row["phase"] not in (None, "steady") for row in comparison.unusual)
        ways = "--all, --metrics or --where 'phase=…'" if phases else "--all or --metrics"
        yield f"not judged: {names}{more}; show them with {ways}"
    yield from environments.lines(
        comparison.differences, shlex.join(["bench", "env-diff", comparison.base.word, comparison.candidate.word])
    )


def _hidden_unsure(comparison: Comparison) -> Iterator[str]:
    """The UNSURE rows that the table leaves out, counted by reason."""
    rows = fold_processor_time(comparison.rows)
    hidden = [row for row in rows if row["verdict"] == "UNSURE"][MOST_ROWS["UNSURE"] :]
    assumed = _assumed(comparison)
    kinds = Counter(_kind(row, assumed) for row in hidden)
    if hidden:
        told = kinds.most_common(MOST_REASONS)
        rest = len(hidden) - sum(count for _, count in told)
        reasons = [*(f"{count:,}: {reason}" for reason, count in told), *([f"{rest:,}: others"] if rest else [])]
        text = f" ({'; '.join(reasons)})" if told else ""
        yield f"not shown: {len(hidden):,} UNSURE{text}; --all shows them"


def _kind(row: Row, assumed: Mapping[str | None, str]) -> str:
    """The reason of an UNSURE row without its numbers, so that rows of one kind can be counted together."""
    reason = why(row)[0]
    if reason == assumed.get(metric(row)) or reason.startswith("assumes that sessions differ"):
        return "no more than sessions are assumed to differ"
    return re.sub(r"\d[\d.]*", "…", reason.partition(" (")[0].partition(": ")[0])


def shared_axes(comparison: Comparison) -> Iterator[str]:
    """The axes and parameters that are equal in all rows, which the table therefore leaves out."""
    if texts := [f"{name} {plain(value)}".strip() for name, value in labels_of(comparison.rows).shared]:
        yield f"all cases: {', '.join(texts)}"


def shared_reasons(comparison: Comparison) -> Iterator[str]:
    """The reasons that hold for all rows of a kind, which the table therefore leaves out."""
    yield from (f"all {verdict}: {text}" for verdict, text in _alike(comparison).items())
    assumed: dict[str, list[str]] = {}
    for name, text in _assumed(comparison).items():
        assumed.setdefault(text, []).append(name or "")
    judged_metrics = {metric(row) for row in _with_interval(comparison) if row["verdict"] != "SAME"}
    is_of_all = len(assumed) == 1 and judged_metrics == set(_assumed(comparison))
    if of_all := [*(assumed if is_of_all else ()), *_common(comparison)]:
        yield f"all intervals: {'; '.join(of_all)}"
    if not is_of_all:
        yield from (f"{', '.join(names)}: {text}" for text, names in assumed.items())


def _runs(side: Side) -> str:
    count = len(side.runs)
    others = f"; {side.others} more with --all-runs" if side.others else ""
    return f"{side.name} ({f'{count} runs' if count > 1 else f'run {side.runs[0][:13]}'}{others})"


def moved(comparison: Comparison) -> list[Row]:
    """The metrics of which all cases moved together, by the floor or more."""
    return [row for row in comparison.shifts if abs(math.log(row["ratio"])) >= math.log1p(row["floor"])]


def shifts(comparison: Comparison) -> Iterator[str]:
    """A sentence for each metric of which all cases moved together, by the floor or more."""
    for row in moved(comparison):
        yield f"all cases, {metric(row)}: {row['verdict']}, {change_of(row)}; {row['reason']}"


def crossovers(comparison: Comparison) -> Iterator[str]:
    """A sentence for each sweep with a crossover: `b is faster from batch_size 48 on (95 % 32–64): softmax`."""
    sweeps = comparison.crossovers
    labels = labels_of(sweeps)
    cases = len(set(map(labels.name, sweeps))) > 1
    metrics = len({metric(row) for row in sweeps}) > 1
    for row in sweeps[:SENTENCES]:
        what = " ".join([*([labels.name(row)] if cases else []), *([metric(row) or ""] if metrics else [])])
        size, low, high = (
            f"{row[end]:.3g}" if row[end] < 1000 else f"{row[end]:,.0f}" for end in ("crossover", "low", "high")
        )
        place = f"from {row['axis']} {size} on" if row["is_better_above"] else f"up to {row['axis']} {size}"
        better = direction({**row, "ratio": 2})
        yield f"{comparison.candidate.name} is {better} {place} (95 % {low}–{high}){f': {what}' if what else ''}"
    if len(sweeps) > SENTENCES:
        sides = ", ".join(list_literal(side.runs) for side in (comparison.base, comparison.candidate))
        yield f'… and {counted(len(sweeps) - SENTENCES, "more crossover")}: bench sql "FROM crossovers({sides})"'


def means(comparison: Comparison) -> Iterator[str]:
    """A sentence for each geometric mean, with what it covers."""
    for row in comparison.means[:SENTENCES]:
        text = f"{_of_mean(row)}: geomean {mean_of(row)} over {row['n']:,} of {row['total']:,} matched"
        yield text + _names("; only the candidate has ", row["added"]) + _names("; only the base has ", row["removed"])
    if len(comparison.means) > SENTENCES:
        more = counted(len(comparison.means) - SENTENCES, "more geometric mean")
        sides = ", ".join(list_literal(side.runs) for side in (comparison.base, comparison.candidate))
        yield f'… and {more}: bench sql "FROM comparison_means({sides})"'


def _of_mean(row: Row) -> str:
    return " ".join(filter(None, (row["suite"], row["backend"], metric(row))))


def _names(texts: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{texts}{', '.join(names[:NAMED])}{more}"
