"""Files of a site for other programs: an Atom feed, a summary as JSON with its schema, badges, Markdown for a pull request."""

import datetime
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from ...query.change.render import PANEL
from ...query.document import markdown_text
from ...warehouse.console.numbers import counted, share_of
from ..style.labels import ems, printable
from .contents import SiteContents
from .folder import FRONT_PAGE
from .incidents import Incident
from .private import RUN, published

NAMED = 20  # incidents in Markdown
ENTRIES = 100  # of the feed
_NUMBERS = ("speedup", "low", "high", "n", "n_total", "passing", "total", "mean_seconds", "mean_ratio")
_INCIDENT = (
    "number",
    "anchor",
    "title",
    "verdict",
    "since",
    "sentence",
    "evidence",
    "command",
    "cost",
    "good_run",
    "since_run",
)
_GREEN, _RED, _GREY = "#1f7a4d", "#b3440a", "#59636e"


def files(
    contents: SiteContents, incidents: Sequence[Incident], *, title: str, url: str
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each; `url` is where the site will stand, or empty."""
    worse = [one for one in incidents if one.is_worse and not one.is_minor]
    judged = contents.history is not None and contents.history.judged
    bad = [counted(count, what) for count, what in ((len(worse), "regression"), (contents.lost, "lost case")) if count]
    said = ", ".join(bad) or ("no regression" if judged else "too few runs")
    yield "badge.svg", badge("performance", said, _RED if bad else _GREEN if judged else _GREY)
    total = sum(row["total"] or 0 for row in contents.suites)
    passing = sum(row["passing"] or 0 for row in contents.suites)
    rate = f"{share_of(passing, total)}, {passing}/{total}" if total else "nothing judged"
    yield "badge-passing.svg", badge("passing", rate, _GREY if not total else _GREEN if passing == total else _RED)
    yield "feed.xml", feed(contents, incidents, title=title, url=url)
    yield "summary.json", _json(summary(contents, incidents, title=title))
    yield "summary.schema.json", _json(SCHEMA)
    yield "summary.md", markdown(incidents, said, mark="❌" if bad else "✅" if judged else "❔", title=title, url=url)


def summary(contents: SiteContents, incidents: Sequence[Incident], *, title: str) -> dict[str, Any]:
    """The first view as data; `SCHEMA` describes it."""
    newest = contents.runs[-1] if contents.runs else None
    return {
        "title": title,
        "runs": len(contents.runs),
        "cases": len(contents.cases),
        "judged": contents.history.judged if contents.history else 0,
        "lost": contents.lost,
        "newest": newest and {name: _plain(newest[name]) for name in RUN},
        "incidents": [
            {**{name: getattr(one, name) for name in _INCIDENT}, "worse": one.is_worse, "minor": one.is_minor}
            for one in incidents
        ],
        "suites": [{name: _plain(row[name]) for name in ("run_id", *PANEL, *_NUMBERS)} for row in contents.suites],
    }


def feed(contents: SiteContents, incidents: Sequence[Incident], *, title: str, url: str) -> bytes:
    """The incidents that matter as Atom, the newest first; an incident keeps its id from night to night."""
    shown = [one for one in incidents if not one.is_minor][:ENTRIES]
    began = {run["run_id"]: run["began_at"] for run in contents.runs}
    entries = "".join(
        f"<entry><id>{_urn(one.key)}</id><title>{_xml(one.title)}</title><updated>{_instant(began.get(one.since_run))}</updated>"
        f'<link href="{escape(_page(url))}#{one.anchor}"/>'
        f'<content type="text">{_xml(f"{one.sentence}. {one.evidence}. {one.command}")}</content></entry>\n'
        for one in shown
    )
    own = f'<link rel="self" type="application/atom+xml" href="{escape(_at(url, "feed.xml"))}"/>\n' if url else ""
    newest = next((at for at in reversed([*began.values()]) if at is not None), None)
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n<id>{_urn(title)}</id>'
        f"<title>{_xml(title)}: what changed</title><updated>{_instant(newest)}</updated><author><name>bench</name></author>\n"
        f'<link rel="alternate" type="text/html" href="{escape(_page(url))}"/>\n{own}{entries}</feed>\n'
    ).encode()


def markdown(incidents: Sequence[Incident], said: str, *, mark: str, title: str, url: str) -> bytes:
    """A few lines for a pull request, which link to the page: what got worse first."""
    large = sorted((one for one in incidents if not one.is_minor), key=lambda one: one.is_worse is not True)
    heading = f"[{markdown_text(title)}](<{_page(url)}>)" if url else markdown_text(title)
    lines = [f"## {heading}", f"{mark} **{said}**"]
    for one in large[:NAMED]:
        text = f"{markdown_text(one.title)}"
        linked = f"[{text}](<{_page(url)}#{one.anchor}>)" if url else text
        lines.append(f"- {(one.verdict or 'changed').lower()}: {linked}; {markdown_text(one.sentence)}")
    if len(large) > NAMED:
        lines.append(f"- and {len(large) - NAMED} more")
    return ("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])).strip().encode() + b"\n"


def badge(label: str, value: str, colour: str) -> bytes:
    """A badge for a README."""
    left, right = (round(11 * ems(text)) + 14 for text in (label, value))
    both = escape(f"{label}: {value}")
    width, font = left + right, 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle"'
    dark = f"M3 0h{left - 3}v20h-{left - 3}a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{both}">'
        f'<title>{both}</title><rect width="{width}" height="20" rx="3" fill="{colour}"/><path d="{dark}" fill="#3a4048"/>'
        f'<g fill="#fff" {font}><text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(value)}</text></g></svg>\n'
    ).encode()


def _page(url: str) -> str:
    return _at(url, FRONT_PAGE)


def _at(url: str, name: str) -> str:
    return quote(url.rstrip("/") + "/", safe=":/?&=%~") + name if url else name


def _urn(key: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, key.encode("utf-8", "replace").decode()).urn


def _xml(text: str) -> str:
    """Text of an XML document, which may hold no control characters."""
    return escape(printable(text))


def _instant(at: datetime.datetime | None) -> str:
    return f"{at or datetime.datetime(1970, 1, 1):%Y-%m-%dT%H:%M:%SZ}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    return published(value)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"


def _record(names: Sequence[str], kinds: Mapping[str, list[str]]) -> dict[str, Any]:
    """The schema of an object that has all of these and nothing else; a text or nothing unless said otherwise."""
    properties = {name: {"type": kinds.get(name, ["string", "null"])} for name in names}
    return {"type": "object", "properties": properties, "required": [*names], "additionalProperties": False}


_NUMBER = {name: ["number", "null"] for name in _NUMBERS}
_COUNT = {name: ["integer", "null"] for name in ("cases", "failed", "steps", "rejected")}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "bench publish: summary.json",
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "runs": {"type": "integer"},
        "cases": {"type": "integer"},
        "judged": {"type": "integer", "description": "series that were long enough to judge"},
        "lost": {
            "type": "integer",
            "description": "cases that passed before and fail or are missing in the newest runs",
        },
        "newest": {"anyOf": [{"type": "null"}, _record([*RUN], {**_COUNT, "git_dirty": ["boolean", "null"]})]},
        "incidents": {
            "type": "array",
            "items": _record(
                [*_INCIDENT, "worse", "minor"],
                {"number": ["integer"], "cost": ["number"], "worse": ["boolean", "null"], "minor": ["boolean"]},
            ),
        },
        "suites": {"type": "array", "items": _record(["run_id", *PANEL, *_NUMBERS], _NUMBER)},
    },
    "required": ["title", "runs", "cases", "judged", "lost", "newest", "incidents", "suites"],
    "additionalProperties": False,
}
