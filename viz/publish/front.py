"""The page of a site: its first view as HTML, which reads without JavaScript, and the places that the script fills."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ...query.change.render import PANEL
from ...query.pasteable_sql import equals, paste
from ...warehouse.console.numbers import counted, duration, ratio, times
from ..output.html import json_block
from ..style.labels import printable
from . import pictures
from .contents import CASES, LARGE, LOST, SPARK, SiteContents
from .incidents import Incident
from .private import shortened

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
SQL_PAGE = "sql.html"
SETTING = ("mode", "dtype", "device")  # one column where they differ
SHOWN = 30  # incidents with a picture; the others stand in a list


def page(
    contents: SiteContents,
    incidents: Sequence[Incident],
    *,
    title: str,
    data: Mapping[str, Any],
    style: str,
    code: str,
    limits: str,
    sql: bool,
) -> bytes:
    """The page.

    Args:
        contents: Of the store.
        incidents: The newest first.
        title: Of the site.
        data: What the script needs at once.
        style: Name of the style sheet.
        code: Name of the script.
        limits: A sentence on what stays at home.
        sql: The site has a page for SQL.
    """
    newest = contents.runs[-1] if contents.runs else None
    day = f"{newest['began_at']:%Y-%m-%d %H:%M} UTC" if newest and newest["began_at"] else ""
    day = f", the newest of {number(day, paste('SELECT max(began_at) FROM run_details'))}" if day else ""
    runs = number(counted(len(contents.runs), "run"), paste("SELECT count(*) FROM run_details"))
    cases = number(counted(len(contents.cases), "case"), paste(f"SELECT count(*) {CASES}"))
    main = f"""<h1>What changed</h1>
<p class="lead">{runs} of {cases}{day}. {_lead(contents, incidents)}</p>
<noscript><p>Runs, cases and comparisons are drawn by JavaScript, all of it beside this page.</p></noscript>
{_incidents(incidents)}
{_suites(contents)}"""
    return document(
        main,
        title=title,
        data={**data, "home": "", "front": "#/"},
        style=style,
        scripts=(code,),
        limits=limits,
        sql=sql,
    )


def document(
    main: str,
    *,
    title: str,
    data: Mapping[str, Any],
    style: str,
    scripts: Sequence[str],
    limits: str,
    policy: str = POLICY,
    sql: bool = False,
) -> bytes:
    """A page of the site: what all of them have around their own content, `main`, which is HTML.

    `data` has as `home` the page that addresses of runs, cases and comparisons belong to, empty on that page, and as `front` the
    address of its own content.
    """
    block = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    home = data["home"]
    code = "\n".join(f'<script src="{script}" defer></script>' for script in scripts)
    links = (("#/", "What changed"), ("#/compare", "Compare"), ("#/runs", "Runs"), ("#/cases", "Cases"))
    nav = "".join(f'<a href="{home}{address}">{name}</a>' for address, name in links)
    nav += f'<a href="{SQL_PAGE}">SQL</a>' if sql else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{safe(title)}</title>
<link rel="stylesheet" href="{style}">
<link rel="alternate" type="application/atom+xml" title="Incidents" href="feed.xml">
{code}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="home" href="{home}#/">{safe(title)}</a>
<nav aria-label="Pages">{nav}</nav>
<form role="search" class="find"><input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="Search (/)"
 aria-label="Search runs, cases and commits" role="combobox" aria-expanded="false" aria-controls="found"
 aria-autocomplete="list"><ul id="found" role="listbox" aria-label="Found" hidden></ul></form>
</header>
<main id="main" tabindex="-1">
<section id="front">
{main}
</section>
<section id="view" hidden></section>
</main>
<footer><p>Numbers carry the query that made them: click one, or press q on it. {escape(limits)}
 <a href="summary.json">summary.json</a> · <a href="feed.xml">feed</a></p></footer>
<div id="query" role="dialog" aria-label="The query of a number" hidden></div>
<div id="hint" role="status" aria-live="polite"></div>
<script type="application/json" id="site">{json_block(block)}</script>
</body>
</html>
""".encode()


def number(text: str, query: str) -> str:
    """A number that carries the command that makes it; its doubt stays in one line."""
    told, bracket, rest = text.partition(" (95 %")
    doubt, _, more = rest.partition(")")
    shown = f'{safe(told)} <span class="doubt">(95 %{safe(doubt)})</span>{safe(more)}' if bracket else safe(text)
    return f'<button type="button" class="n" data-q="{escape(query)}">{shown}</button>'


def _lead(contents: SiteContents, incidents: Sequence[Incident]) -> str:
    """The first thing to know, as HTML."""
    if not contents.runs:
        return "Nothing is recorded yet."
    return f"{_lost(contents.lost)}{_changes(contents, incidents)}"


def _lost(cases: int) -> str:
    """A sentence on the cases that the newest runs lost, as HTML; empty if there are none."""
    if not cases:
        return ""
    verbs = "fails or is" if cases == 1 else "fail or are"
    lost = number(counted(cases, "case"), paste(f"SELECT count(*) {LOST}"))
    return f"<strong>{lost} that passed in the run before {verbs} missing in the newest.</strong> "


def _changes(contents: SiteContents, incidents: Sequence[Incident]) -> str:
    """A sentence on the incidents, as HTML."""
    if contents.history is None or not contents.history.judged:
        return "Too few runs to tell a change from chance: a series needs nine."
    large = [one for one in incidents if not one.is_minor]
    if not large:
        minor = f"; {number(counted(len(incidents), 'minor change'), _count(''))} below" if incidents else ""
        nothing = "Nothing else" if contents.lost else "Nothing"
        return f"{nothing} flagged: {number(f'{contents.history.judged:,} series', 'bench history')} judged{minor}."
    worse = sum(one.is_worse is True for one in large)
    parts = [
        number(counted(count, what), _count(f" WHERE {LARGE} AND verdict IN ('{loud}', '{soft}')"))
        for count, what, loud, soft in (
            (worse, "regression", "SLOWER", "WORSE"), (len(large) - worse, "improvement", "FASTER", "BETTER"),
        )
        if count
    ]  # fmt: skip
    return f"{' and '.join(parts)}{', the newest first' if len(large) > 1 else ''}."


def _count(condition: str) -> str:
    """The command that counts incidents."""
    return paste(f"SELECT count(*) FROM incidents{condition}")


def _incidents(incidents: Sequence[Incident]) -> str:
    large = [one for one in incidents if not one.is_minor]
    small = [one for one in incidents if one.is_minor]
    parts = []
    if large:
        order = (
            '<p class="order" role="group" aria-label="Order"><button type="button" data-order="place" aria-pressed="true">newest'
            ' first</button><button type="button" data-order="cost" aria-pressed="false">costliest first</button></p>'
        )
        cards = "\n".join(_card(one, place) for place, one in enumerate(large[:SHOWN]))
        parts.append(f'{order if len(large) > 1 else ""}<ol class="incidents">\n{cards}\n</ol>')
    rest = [*large[SHOWN:], *small]
    if rest:
        rows = "".join(
            f'<tr id="{one.anchor}"{_carries(one.query)}><td class="name">{safe(one.since)}</td>'
            f"<td>{_verdict(one)}</td><td>{_title(one)}</td><td>{safe(one.sentence)}</td>"
            f"<td>{_copy(one.command)}</td></tr>"
            for one in rest
        )
        heads = "".join(f"<th>{heading}</th>" for heading in ("since", "verdict", "what", "when", "again"))
        more = (
            _count(f" WHERE NOT ({LARGE})")
            if len(large) <= SHOWN
            else paste(f"SELECT count(*) - {SHOWN} FROM incidents")
        )
        parts.append(
            f'<details class="rest"><summary>{number(counted(len(rest), "other change"), more)}: smaller, over since, or without'
            f' a direction</summary><div class="scroll"'
            f' tabindex="0"><table class="stack">'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        )
    return "\n".join(parts)


def _card(one: Incident, place: int) -> str:
    links = [f'<a href="#/case/{escape(case)}">{safe(name)}</a>' for case, name in one.cases]
    more = f" and {one.moved - len(links):,} more" if one.moved > len(links) else ""
    seen = (
        f'<a href="#/compare/{_part(one.good_run)}/{_part(one.since_run)}">compare before and after</a>'
        if one.good_run
        else ""
    )
    cases = f'<p class="cases">{", ".join(links)}{more}</p>' if links else ""
    return f"""<li class="incident" id="{one.anchor}" data-place="{place}" data-cost="{-one.cost:.6g}"{_carries(one.query)}>
<div class="told"><h2>{_verdict(one)} {_title(one)}</h2>
<p>{safe(one.sentence)}</p><p class="soft">{number(one.evidence, one.evidence_query)}</p>{cases}
<p class="again">{seen} {_copy(one.command)}</p></div>
<figure>{one.picture}</figure></li>"""


def _title(one: Incident) -> str:
    """Its title, which keys reach; its query is that of the card or row it stands in."""
    return f'<button type="button" class="title">{safe(one.title)}</button>'


def _carries(query: str) -> str:
    """The attribute by which all that an element holds has this query: sentences, a picture, a title."""
    return f' data-q="{escape(query)}"'


def _verdict(one: Incident) -> str:
    if one.verdict is None:
        return ""
    kind = {True: "worse", False: "better", None: "other"}[one.is_worse]
    return f'<span class="verdict {kind}">{safe(one.verdict.lower())}</span>'


def _copy(command: str) -> str:
    return f'<button type="button" class="copy" data-copy="{escape(command)}" title="Copy"><code>{safe(command)}</code></button>'


def _suites(contents: SiteContents) -> str:
    """Suites × backends, each with its numbers in the newest report."""
    rows = contents.suites
    if not rows:
        return ""
    axes = [name for name in PANEL if len({row[name] for row in rows}) > 1] or ["suite"]
    setting = [name for name in axes if name in SETTING]
    columns: list[tuple[str, str, list[str]]] = [
        (heading, "", [_named(heading, [row[name] for name in names]) for row in rows])
        for heading, names in (*((name, [name]) for name in axes if name not in setting), ("setting", setting))
        if names
    ]
    without = all(row["speedup"] is None or row["low"] is None for row in rows)
    for heading, show, selected in (
        ("geomean speedup", _speedup, "speedup, low, high, n, n_total"),
        ("on the same cases", _matched, "matched_speedup, n_matched"),
        ("pass rate", lambda row: row["rate"], "rate, passing, total"),
        ("compile time", lambda row: row["mean_seconds"] and duration(row["mean_seconds"] * 1e9), "mean_seconds"),
        ("memory", lambda row: row["mean_ratio"] and times(row["mean_ratio"]), "mean_ratio"),
    ):
        shown = [show(row) for row in rows]
        if any(shown):
            cells = [
                _cell(heading, number(text, _query(row, selected)), "n mean" if show is _speedup else "n")
                if text
                else _cell(heading, "–", "n none")
                for row, text in zip(rows, shown, strict=True)
            ]
            columns.append((heading, "n", cells))
    sparks = [_spark(contents, row) for row in rows]
    if any(sparks):
        cells = [
            _cell("recent runs", spark, query=_query(row, "*", f"history(k := {SPARK})", PANEL[0]) if spark else "")
            for row, spark in zip(rows, sparks, strict=True)
        ]
        columns.append(("recent runs", "", cells))
    heads = "".join(f'<th scope="col"{_class(kind)}>{safe(heading)}</th>' for heading, kind, _ in columns)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*(cells for *_, cells in columns), strict=True))
    alike = [f"{name} {shortened(str(rows[0][name]))}" for name in PANEL if name not in axes and rows[0][name]]
    said = [f"All of them: {', '.join(alike)}."] if alike else []
    said += (
        ["No interval is known of a mean: each case was measured once."] if without and any(map(_speedup, rows)) else []
    )
    told = f'<p class="soft">{safe(" ".join(said))}</p>' if said else ""
    return (
        f'<h2 id="suites">Suites and backends, in the newest run</h2>{told}'
        f'<div class="scroll" tabindex="0"><table class="suites stack">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _named(heading: str, values: Sequence[str | None]) -> str:
    """A cell of names: one, which stays in its line, or those of a setting that are known."""
    text = " · ".join(shortened(str(value)) for value in values if value is not None) or "–"
    return _cell(heading, safe(text), "none" if text == "–" else "name" if len(values) == 1 else "")


def _cell(heading: str, content: str, kind: str = "", query: str = "") -> str:
    """A cell with its heading, which a phone shows beside it, and the query of what it shows unless its number has that."""
    return f'<td{_class(kind)} data-h="{escape(heading)}"{_carries(query) if query else ""}>{content}</td>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _speedup(row: Mapping[str, Any]) -> str | None:
    if row["speedup"] is None:
        return None
    mean = times(row["speedup"]) if row["low"] is None else ratio(row["speedup"], row["low"], row["high"])
    return mean if row["n"] == row["n_total"] else f"{mean} over {row['n']} of {row['n_total']}"


def _matched(row: Mapping[str, Any]) -> str | None:
    if row["n_elsewhere"] is None or row["matched_speedup"] is None:
        return None
    return f"{row['matched_speedup']:.2f}x over {row['n_matched']}"


def _query(row: Mapping[str, Any], selected: str, source: str = "executive_summary()", run: str = "run_id") -> str:
    kept = " AND ".join(equals(name, row[name]) for name in (run, *PANEL[1:]))
    return shortened(paste(f"SELECT {selected} FROM {source} WHERE {kept}"))


def _spark(contents: SiteContents, row: Mapping[str, Any]) -> str:
    """The geometric mean, else the share that passes, in the newest runs."""
    past = contents.sparks.get(tuple(row[name] for name in PANEL), ())
    if any(one["speedup"] is not None for one in past):
        return pictures.sparkline([one["speedup"] for one in past], "geomean speedup of the last runs")
    rates = [one["passing"] / one["total"] if one["total"] else None for one in past]
    return pictures.sparkline(rates, "pass rate of the last runs")


def _part(text: str | None) -> str:
    """A part of an address."""
    from urllib.parse import quote

    return escape(quote(text or "", safe=""))


def safe(text: str) -> str:
    """A text as HTML."""
    return escape(printable(text))
