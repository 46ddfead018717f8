"""The changes and incidents of a store as a site tells them."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...query.change import series as chosen
from ...query.change.incidents import SMALL, is_worse
from ...query.change.render import commits
from ...query.comparison.render import NAME
from ...query.pasteable_sql import equals, paste
from ...warehouse.console.numbers import amount, counted, percent, percent_change, percent_range
from ...warehouse.console.tables import shorten
from . import pictures
from .contents import Row, SiteContents
from .private import published, shortened

AROUND = 60  # runs before and after an incident in its picture
NAMED = 4  # cases of an incident
_SELECTED = "members, change, before, after, least_change, most_change, p, since_at, until_at, also"
_EXTREMES = "min(n_before), max(n_before), min(n_after), max(n_after), min(change), max(change), max(p)"


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


def tell(contents: SiteContents) -> list[Incident]:
    """The incidents, newest first."""
    history = contents.history
    if history is None:
        return []
    series = {tuple(one.labels[name] for name in chosen.SERIES): one for one in history.series}
    members: dict[int, list[Row]] = defaultdict(list)
    for row in history.rows:
        members[row["incident"]].append(row)
    newest: dict[tuple[Any, ...], int] = {}  # round of a series on any machine
    for one in history.series:
        newest[_anywhere(one)] = max(newest.get(_anywhere(one), 0), one.runs[-1].night)
    found = [_incident(row, members[row["incident"]], series, newest) for row in history.incidents]
    places = {run["run_id"]: place for place, run in enumerate(contents.runs)}
    return sorted(found, key=lambda one: (-places.get(one.since_run, -1), one.number))


def _anywhere(series: chosen.Series) -> tuple[Any, ...]:
    """The labels that a series shares with those of the same number on other machines."""
    return tuple(series.labels[name] for name in chosen.SERIES if name != "machine")


def _series_of(row: Row, series: Mapping[tuple[Any, ...], chosen.Series]) -> chosen.Series | None:
    """The series of a change."""
    return series.get(tuple(row[name] for name in chosen.SERIES))


def _ended(
    row: Row, series: Mapping[tuple[Any, ...], chosen.Series], newest: Mapping[tuple[Any, ...], int]
) -> str | None:
    """The day of the last run on the machine of a change, where later ones are on another; else None."""
    own = _series_of(row, series)
    if own is None or own.runs[-1].night == newest[_anywhere(own)] or own.runs[-1].began_at is None:
        return None
    return f"{own.runs[-1].began_at:%Y-%m-%d}"


def _incident(
    row: Row,
    members: Sequence[Row],
    series: Mapping[tuple[Any, ...], chosen.Series],
    newest: Mapping[tuple[Any, ...], int],
) -> Incident:
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
        sentence=_sentence(row, day, _ended(moved[0], series, newest)),
        evidence=_evidence(row, moved),
        command=shortened(_command(row)),
        query=shortened(paste(f"SELECT {_SELECTED} FROM incidents WHERE {itself}")),
        evidence_query=shortened(
            paste(
                f"SELECT kind, {_EXTREMES} FROM change_points WHERE incident = (SELECT incident FROM incidents WHERE {itself})"
                f" AND {equals('metric', row['metric'])} AND after {'>' if rose else '<'} before GROUP BY kind"
            )
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
            shorten(
                shortened(
                    f"{row['name']} · {row['backend']}" if counts[row["name"]] > 1 and row["backend"] else row["name"]
                ),
                NAME,
            ),
        )
        for row in rows
    ]


def _who(row: Row) -> str:
    names, suites = row["names"], [shortened(suite) for suite in row["suites"]]
    if len(names) == 1:
        return shorten(shortened(names[0]), NAME)
    of = f" of {suites[0]}" if len(suites) == 1 else f" of {len(suites)} suites" if suites else ""
    return f"{counted(row['members'], 'case')}{of}"


def _change(row: Row, most: Row) -> str:
    """The size of the change, else the levels of the member that changed most."""
    metric = shortened(row["metric"]).replace("_", " ")
    if row["change"] is None:
        return f"{metric} {amount(most['before'], row['unit'])} → {amount(most['after'], row['unit'])}"
    return f"{percent(abs(row['change']), 1)} {'more' if row['change'] > 0 else 'less'} {metric}"


def _sentence(row: Row, day: str, ended: str | None) -> str:
    """A sentence on its time, its commits, and what else changed; `ended` is when its machine measured last."""
    over = row["lasts"] is False
    until = f"{row['until_at']:%Y-%m-%d}" if row["until_at"] else None
    if row["kind"] == "two levels":
        parts = ["alternates between two levels"]
    elif row["kind"] == "drift" and until:
        parts = [f"drifted from {day} to {until}"]
    else:
        parts = [
            f"since {day}, until {f'{ended}, the last run on that machine' if ended else 'today'}"
            if not over
            else f"{day} to {until}, over since"
            if until and until != day
            else f"on {day}, over since"
        ]
    if between := commits(row):
        parts.append(f"commits {between}")
    if row["also"]:
        parts.append(f"at the same time {shortened(row['also']).replace('_', ' ')}")
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
    of = [(one, own) for one in moved[:50] if (own := _series_of(one, series)) is not None and one["before"] > 0]
    own = _series_of(moved[0], series)
    if not of or own is None:
        return ""
    order = [run.run_id for run in own.runs]
    since = order.index(moved[0]["since_run_id"])
    until = order.index(moved[0]["until_run_id"]) if moved[0]["until_run_id"] in order else since
    first, last = max(0, since - AROUND), min(len(order), until + AROUND + 1)
    shown = set(order[first:last])
    lines = [
        {
            run.run_id: value / one["before"]
            for run, value in zip(known.runs, known.numbers.tolist(), strict=True)
            if run.run_id in shown
        }
        for one, known in of
    ]
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
