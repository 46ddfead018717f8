"""The contents of a site, read from the store once: runs, cases, changes, incidents, suites."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...query.axes import AXES
from ...query.change import history as past
from ...query.change import series as chosen
from ...query.change.incidents import SMALL, is_worse
from ...query.change.render import PANEL, commits
from ...query.change.settled import Searches
from ...query.pasteable_sql import equals, paste
from ...warehouse.console.numbers import amount, counted, percent, percent_change, percent_range
from . import pictures, tiles
from .private import ENDING, LOG, RUN, environment, published, shortened

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
SPARK = 60  # runs of a spark line
AROUND = 60  # runs before and after an incident in its picture
NAMED = 4  # cases of an incident
CONFIGS = 8  # newest, whose suites the front page lists


LARGE = f"better IS NOT NULL AND kind <> 'two levels' AND cost >= {SMALL} AND lasts IS DISTINCT FROM false"  # of `incidents`
_SELECTED = "members, change, before, after, least_change, most_change, p, since_at, until_at, also"
_EXTREMES = "min(n_before), max(n_before), min(n_after), max(n_after), min(change), max(change), max(p)"
CASES = (  # those with any value or ending
    "FROM case_axes WHERE case_id IN (SELECT case_id FROM cells UNION SELECT case_id FROM step_cells"
    " UNION SELECT case_id FROM case_outcomes)"
)
_LABELS = f"""SELECT metric, phase, unit, better, count(*) AS n FROM _all_cells WHERE {tiles.KEPT}
GROUP BY metric, phase, unit, better
ORDER BY metric NOT LIKE '%latency', metric = 'compile_latency', metric, phase, unit, better"""


@dataclass(frozen=True, slots=True)
class SiteContents:
    """All of it."""

    runs: Sequence[Row]  # of run_details, oldest first
    machines: Mapping[str, str]  # run -> its class of machine
    cases: Sequence[Row]  # of case_axes
    labels: Sequence[Row]  # metric, phase, unit, better
    values: int  # how many the site holds
    digests: Mapping[str, str]  # run -> what its values and endings add up to
    history: past.History | None  # None where there is too little to judge
    suites: Sequence[Row]  # of executive_summary, of the newest report of each config
    sparks: Mapping[tuple[Any, ...], Sequence[Row]]  # panel -> rows of history(), oldest first


def read(warehouse: "Warehouse", searches: Searches) -> SiteContents:
    """Read a store; `searches` is what is known of changes, and takes what is found."""
    runs = warehouse.dicts("FROM run_details ORDER BY began_at NULLS FIRST, run_id")
    machines = {run: shortened(name) for run, name in warehouse.rows("SELECT run_id, machine FROM machines") if name}
    stepped = "case_id IN (SELECT case_id FROM step_cells) AS is_stepped"
    cases = warehouse.dicts(f"SELECT case_id, {', '.join(AXES)}, {stepped} {CASES} ORDER BY suite, name, case_id")
    labels = warehouse.dicts(_LABELS)
    values = sum(label["n"] for label in labels)
    chosen.choose(warehouse, {})
    series = chosen.read(warehouse)
    history = past.find(series, min_magnitude=past.MIN_MAGNITUDE, searches=searches) if series else None
    suites = warehouse.dicts(f"FROM executive_summary() ORDER BY {', '.join(PANEL[1:])}, began_at")
    config_of = {run["run_id"]: run["config"] for run in runs}
    last: dict[tuple[Any, ...], Row] = {}
    for row in suites:
        row["config"] = config_of.get(row["run_id"])
        last[tuple(row[column] for column in PANEL)] = row
    sparks: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in warehouse.dicts(f"FROM history(k := {SPARK:d}) ORDER BY position"):
        sparks[tuple(row[column] for column in PANEL)].append(row)
    newest = _of_newest(last, runs)
    return SiteContents(runs, machines, cases, labels, values, _digests(warehouse), history, newest, sparks)


def _of_newest(last: Mapping[tuple[Any, ...], Row], runs: Sequence[Row]) -> list[Row]:
    """The suites of the newest configs, those of the newest config first."""
    places = {config: place for place, config in enumerate(dict.fromkeys(run["config"] for run in reversed(runs)))}
    kept = [row for row in last.values() if places.get(row["config"], CONFIGS) < CONFIGS]
    return sorted(kept, key=lambda row: places[row["config"]])


def _digests(warehouse: "Warehouse") -> dict[str, str]:
    """A checksum of each run, which tells whether any of its values or endings changed."""
    values = "case_id, metric, phase, unit, median, median_low, median_high, n"
    endings = f"case_id, kind, {', '.join((*ENDING, *LOG))}"
    found: dict[str, str] = {}
    for query in (
        f"SELECT run_id, bit_xor(hash({values})) FROM _all_cells WHERE {tiles.KEPT} GROUP BY run_id",
        f"SELECT run_id, bit_xor(hash({endings})) FROM case_outcomes GROUP BY run_id",
    ):
        for run, digest in warehouse.rows(query):
            found[run] = f"{found.get(run, '')}{digest:x}."
    return found


def of_runs(contents: SiteContents) -> dict[str, Any]:
    """The runs as the page wants them: columns, with what repeats once."""
    hosts: dict[Any, int] = {}
    environments: dict[str, int] = {}
    facts: list[dict[str, str]] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("environment", "host", "machine", *RUN)}
    for run in contents.runs:
        own = environment(run)
        key = repr(own)
        if key not in environments:
            environments[key] = len(facts)
            facts.append(own)
        columns["environment"].append(environments[key])
        columns["host"].append(hosts.setdefault(run["host"], len(hosts) + 1) if run["host"] is not None else None)
        columns["machine"].append(contents.machines.get(run["run_id"]))
        for column in RUN:
            value = run[column]
            if column == "began_at":
                value = value.strftime("%Y-%m-%d %H:%M") if value is not None else None
            columns[column].append(published(value))
    return {"columns": columns, "environments": facts}


def of_cases(contents: SiteContents, groups: int) -> dict[str, Any]:
    """The cases as the page wants them: columns, with the group of the tiles that each is in."""
    columns = {name: [published(case[name]) for case in contents.cases] for name in ("case_id", *AXES)}
    groups_of = [tiles.group_of(case["case_id"], groups) for case in contents.cases]
    return {
        "columns": {
            name: values
            for name, values in columns.items()
            if name in ("case_id", "name") or any(value is not None for value in values)
        },
        "group": groups_of,
        "stepped": [place for place, case in enumerate(contents.cases) if case["is_stepped"]],
        "labels": [
            [published(label[name]) for name in ("metric", "phase", "unit", "better")] for label in contents.labels
        ],
    }


def of_changes(contents: SiteContents, incidents: "Sequence[Incident]") -> list[list[Any]]:
    """The changes of cases as the page marks them, with the incident of each."""
    if contents.history is None:
        return []
    anchors = {one.number: one.anchor for one in incidents}
    places = {run["run_id"]: place for place, run in enumerate(contents.runs)}
    return [
        [
            row["case_id"], shortened(row["config"]), *(published(row[name]) for name in ("metric", "phase")), row["kind"],
            row["verdict"], places.get(row["since_run_id"]), places.get(row["until_run_id"]), row["before"], row["after"],
            change_text(row), _note(row["note"]), anchors[row["incident"]], row["lasts"],
        ]
        for row in contents.history.rows
        if row["name"] is not None
    ]  # fmt: skip


def change_text(row: Mapping[str, Any]) -> str:
    """The change of a row of `change_points`, with its interval."""
    text = percent_change(row["change"], row["low"], row["high"])
    return f"{text or ''}: {amount(row['before'], row['unit'])} → {amount(row['after'], row['unit'])}"


def _note(note: str | None) -> str | None:
    """The other differences, without names of hosts."""
    return "another host" if note and note.startswith("host ") else published(note)


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident as the front page, the feed and the summary tell it."""

    number: int  # its rank, which the next night may change
    key: str  # what it is called from night to night
    title: str
    verdict: str | None
    since: str  # a day, or the beginning of a run's id
    sentence: str
    evidence: str
    command: str
    query: str
    evidence_query: str
    picture: str
    is_minor: bool  # small, over since, or without a direction
    is_worse: bool | None
    cost: float
    good_run: str | None
    since_run: str
    moved: int  # how many cases
    cases: Sequence[tuple[str, str]]  # id and name of a few of them, the most first

    @property
    def anchor(self) -> str:
        """The place of the page that stands for it from night to night, for links from elsewhere."""
        return f"incident-{hashlib.sha256(self.key.encode('utf-8', 'replace')).hexdigest()[:10]}"


def incidents(contents: SiteContents) -> list[Incident]:
    """The incidents, newest first."""
    history = contents.history
    if history is None:
        return []
    series = {tuple(one.labels[name] for name in chosen.SERIES): one for one in history.series}
    members: dict[int, list[Row]] = defaultdict(list)
    for row in history.rows:
        members[row["incident"]].append(row)
    found = [_incident(row, members[row["incident"]], series) for row in history.incidents]
    places = {run["run_id"]: place for place, run in enumerate(contents.runs)}
    return sorted(found, key=lambda one: (-places.get(one.since_run, -1), one.number))


def _incident(row: Row, members: Sequence[Row], series: Mapping[tuple[Any, ...], chosen.Series]) -> Incident:
    own = [one for one in members if one["metric"] == row["metric"]] or members
    largest = max(own, key=lambda one: abs(one["change"] or math.inf))
    rose = (row["most_change"] or largest["after"] - largest["before"]) > 0
    moved = [one for one in own if (one["after"] > one["before"]) == rose] or own
    moved = sorted(moved, key=lambda one: -abs(one["change"] or math.inf))
    named: dict[str, Row] = {}  # a case may have moved twice
    for one in moved:
        if one["name"] is not None:
            named.setdefault(one["case_id"], one)
    undirected = row["better"] is None or row["kind"] == "two levels"
    worse = None if undirected else is_worse(moved[0])
    day = f"{row['since_at']:%Y-%m-%d}" if row["since_at"] else row["since_run_id"][:13]
    title = f"{_who(row)}: {_change(row, moved[0])}"
    itself = " AND ".join(equals(name, row[name]) for name in ("config", "since_run_id", "metric", "kind"))
    return Incident(
        number=row["incident"],
        key="|".join(str(row[name]) for name in ("config", "since_run_id", "metric", "kind")),
        title=title,
        verdict=row["verdict"],
        since=day,
        sentence=_sentence(row, day),
        evidence=_evidence(row, moved),
        command=_command(row),
        query=paste(f"SELECT {_SELECTED} FROM incidents WHERE {itself}"),
        evidence_query=paste(
            f"SELECT kind, {_EXTREMES} FROM change_points WHERE incident = (SELECT incident FROM incidents WHERE {itself})"
            f" AND {equals('metric', row['metric'])} AND after {'>' if rose else '<'} before GROUP BY kind"
        ),
        picture=_picture(row, moved, series, title, worse),
        is_minor=undirected or row["cost"] < SMALL or row["lasts"] is False,
        is_worse=worse,
        cost=row["cost"],
        good_run=row["good_run_id"],
        since_run=row["since_run_id"],
        moved=len(named),
        cases=_names([*named.values()][:NAMED]),
    )


def _names(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Id and name of cases, with the backend where two have one name."""
    counts = Counter(row["name"] for row in rows)
    return [
        (
            row["case_id"],
            shortened(
                f"{row['name']} · {row['backend']}" if counts[row["name"]] > 1 and row["backend"] else row["name"]
            ),
        )
        for row in rows
    ]


def _who(row: Row) -> str:
    names, suites = row["names"], [shortened(suite) for suite in row["suites"]]
    if len(names) == 1:
        return shortened(names[0])
    of = f" of {suites[0]}" if len(suites) == 1 else f" of {len(suites)} suites" if suites else ""
    return f"{counted(row['members'], 'case')}{of}"


def _change(row: Row, most: Row) -> str:
    """The size of the change, else the levels of the member that changed most."""
    metric = shortened(row["metric"]).replace("_", " ")
    if row["change"] is None:
        return f"{metric} {amount(most['before'], row['unit'])} → {amount(most['after'], row['unit'])}"
    return f"{percent(abs(row['change']), 1)} {'more' if row['change'] > 0 else 'less'} {metric}"


def _sentence(row: Row, day: str) -> str:
    """A sentence on its time, its commits, and what else changed."""
    over = row["lasts"] is False
    until = f"{row['until_at']:%Y-%m-%d}" if row["until_at"] else None
    if row["kind"] == "two levels":
        parts = ["alternates between two levels"]
    elif row["kind"] == "drift" and until:
        parts = [f"drifted from {day} to {until}"]
    else:
        parts = [
            f"since {day}, until today"
            if not over
            else f"{day} to {until}, over since"
            if until and until != day
            else f"on {day}, over since"
        ]
    if between := commits(row):
        parts.append(f"commits {between}")
    if row["also"]:
        parts.append(f"at the same time {shortened(row['also'])}")
    return "; ".join(parts)


def _evidence(row: Row, moved: Sequence[Row]) -> str:
    alike = [one for one in moved if one["kind"] == row["kind"]] or moved
    before, after = (_span([one[name] for one in alike]) for name in ("n_before", "n_after"))
    told = f"{before} {'run' if before == '1' else 'runs'} before, {after} after"
    if row["least_change"] is not None and len(moved) > 1:
        told += f"; each case {percent_range(row['least_change'], row['most_change'])}"
    notes = dict.fromkeys(note for one in moved if (note := _note(one["note"])))
    p = row["p"]
    told += "; p below 0.001" if p < 0.001 else f"; p = {p:.2g}"
    return "; ".join([told, *list(notes)[:2]])


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _command(row: Row) -> str:
    """The command that shows it again."""
    from ...warehouse.console.options import spell_values

    words = f"bench history --members{spell_values('--configs', [row['config']])}{spell_values('--metrics', [row['metric']])}"
    if len(row["names"]) == 1:
        words += spell_values("--models", row["names"])
    elif len(row["suites"]) == 1:
        words += spell_values("--suites", row["suites"])
    return words + (f" --since {row['since_at']:%Y-%m-%d}" if row["since_at"] else "")


def _picture(
    row: Row, moved: Sequence[Row], series: Mapping[tuple[Any, ...], chosen.Series], title: str, worse: bool | None
) -> str:
    """The mean of what moved, in per cent of the level before, around the incident."""
    lines = []
    for one in moved[:50]:
        own = series.get(tuple(one[name] for name in chosen.SERIES))
        if own is not None and one["before"] > 0:
            lines.append(
                {run.run_id: value / one["before"] for run, value in zip(own.runs, own.values, strict=True) if value}
            )
    own = series.get(tuple(moved[0][name] for name in chosen.SERIES))
    if not lines or own is None:
        return ""
    order = [run.run_id for run in own.runs]
    since = order.index(moved[0]["since_run_id"])
    until = order.index(moved[0]["until_run_id"]) if moved[0]["until_run_id"] in order else since
    first, last = max(0, since - AROUND), min(len(order), until + AROUND + 1)
    values = []
    for run in order[first:last]:
        here = [math.log(line[run]) for line in lines if line.get(run, 0) > 0]
        values.append(100 * (math.exp(math.fsum(here) / len(here)) - 1) if here else None)
    after = 100 * row["change"] if row["change"] is not None else None
    begin, end = since - first, until - first
    short = row["kind"] == "excursion"
    levels = (
        [pictures.Span(max(0, begin - moved[0]["n_before"]), max(0, begin - 1), 0.0)]
        if row["kind"] != "two levels"
        else []
    )
    if after is not None and row["kind"] != "two levels":
        levels.append(pictures.Span(end if row["kind"] == "drift" else begin, end if short else len(values) - 1, after))
    return pictures.incident(values, levels, begin, title, worse=worse, until=end if short else None)
