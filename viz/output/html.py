"""One offline page: chart, counts and provenance in a file that asks the network for nothing.

Names in it are hostile until proven otherwise. Data stand as escaped JSON in a data block no browser runs, the only
scripts are two whose hashes the Content-Security-Policy lists, no string is ever evaluated (Vega's expressions go
through its interpreter), and every name on the page is set as text.
"""

import base64
import contextlib
import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ...warehouse.console.tables import shorten
from ...warehouse.errors import MissingExtra
from ..style import theme
from ..style.labels import printable
from .provenance import KEYWORD, Provenance

_HINT = "Scroll to zoom, drag to move, double-click to reset."
_GROUP = 60  # characters of a group's name
_HINT_OF_MANY = "Click a name in the legend to see it alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One chart of a page."""

    title: str
    spec: dict[str, Any]  # Vega-Lite without data and config; `usermeta`: margin of panels, labels and groups of rows
    columns: Sequence[dict[str, Any]]  # the data: name, values, and codes into values where values repeat
    names: Sequence[tuple[str, str]]  # what can be shown alone: full name and the value of parameter `show`

    def element(self, index: int) -> str:
        """The chart's place on the page, with its controls."""
        options = "".join(f'<option value="{i}">{escape(name)}</option>' for i, (name, _) in enumerate(self.names))
        choice = f'<label>Show <select id="show-{index}"><option value="">all</option>{options}</select></label>'
        groups = [str(name) for name, *_ in self.spec.get("usermeta", {}).get("groups", ())]
        turns = "".join(
            f'<option value="{i}">{escape(shorten(name, _GROUP))}</option>' for i, name in enumerate(groups)
        )
        turn = f'<label>Rows <select id="rows-{index}">{turns}</select></label>' if groups else ""
        many = len(self.names) > 1
        zooms = any(param.get("bind") == "scales" for param in self.spec.get("params", ()))
        hint = " ".join([*([_HINT] if zooms else []), *([_HINT_OF_MANY] if many else [])])
        return (
            f'<div><div class="legend" id="legend-{index}" hidden></div>'
            f'<div class="chart" id="chart-{index}" role="figure" aria-label="{escape(self.title)}"></div></div>\n'
            f'<div class="controls">{turn}{choice if many else ""}<span>{hint}</span></div>'
        )


def page(block: Block, provenance: Provenance, *, font: str, bundle: bytes, look: str = "screen") -> bytes:
    """The page of one chart, with its counts and what it comes from; in a look of `theme.THEMES`."""
    body = f"""{block.element(0)}
<details open><summary>Counts</summary><div class="scroll">{_table(provenance.counts)}</div></details>
<details><summary>Where this comes from</summary><pre tabindex="0">{escape(provenance.explain())}</pre></details>"""
    return document(provenance.title, body, [block], font=font, bundle=bundle, embedded=provenance.json(), look=look)


def document(
    title: str,
    body: str,
    blocks: Sequence[Block],
    *,
    font: str,
    bundle: bytes,
    embedded: str | None = None,
    part: str | None = None,
    look: str = "screen",
) -> bytes:
    """A page of any number of charts.

    Args:
        title: Its title.
        body: Its HTML, names in it escaped, with `element` of every block by its place in `blocks`.
        blocks: The charts.
        font: CSS font-family list that has all characters of the charts.
        bundle: JavaScript of Vega, Vega-Lite and Vega-Embed.
        embedded: Provenance as JSON.
        part: Name of the files in this folder whose CSS and JavaScript the page, which then has tables, has beside those of
            every page.
        look: One of `theme.THEMES`; `screen` is light or dark as the reader's system is.
    """
    names = ("page",) if part is None else (part, "page")  # the script of the part runs before the charts are drawn
    scripts = names if part is None else ("tables", *names)
    own = "".join(text_of(f"{name}.js") for name in scripts).encode()
    style = "".join(text_of(f"{name}.css") for name in reversed(names))
    bundle = re.sub(rb"</(?=script)", rb"<\\/", bundle, flags=re.IGNORECASE)
    policy = (
        f"default-src 'none'; script-src {_hash(bundle)} {_hash(own)}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    light, dark = (theme.screen_config(f"system-ui, {font}", dark=dark) for dark in (False, True))
    charts = [{"spec": b.spec, "columns": b.columns, "names": [value for _, value in b.names]} for b in blocks]
    data = json.dumps({"charts": charts, "light": light, "dark": dark}, allow_nan=False, separators=(",", ":"))
    carried = f'<script type="application/json" id="{KEYWORD}">{json_block(embedded)}</script>\n' if embedded else ""
    head = f"""<!DOCTYPE html>
<html lang="en" data-look="{look}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<noscript>Charts are drawn by JavaScript, all of it in this file. The counts and the query stand as text.</noscript>
{body}
</main>
<script type="application/json" id="chart-data">{json_block(data)}</script>
{carried}"""
    # modules, so that the bundle's thousands of short names do not become properties of the window
    module = b'<script type="module">'
    return b"".join((head.encode(), module, bundle, b"</script>\n", module, own, b"</script>\n</body>\n</html>\n"))


def cached_bundle() -> bytes | None:
    """The JavaScript bundle of this vl-convert, where it was kept.

    Raises:
        MissingExtra: vl-convert is not installed.
    """
    try:
        return _bundle_path().read_bytes()
    except OSError:
        return None


def keep_bundle(bundle: bytes) -> None:
    """Cache the bundle, which saves the next page 1.7 s; a folder that cannot be written is not an error."""
    path = _bundle_path()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        half.write_bytes(bundle)
        half.replace(path)


def _bundle_path() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    try:
        version = importlib.metadata.version("vl-convert-python")
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtra("vl-convert-python", "viz") from None
    return folder / "bench" / f"vega-{version}.js"


def text_of(file: str) -> str:
    """The text of a file in this folder, on lines of its own."""
    return "\n" + Path(__file__).with_name(file).read_text(encoding="utf-8")


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def json_block(text: str) -> str:
    """JSON that is safe inside HTML: ASCII, without `<`, `>` and `&`."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _table(counts: Sequence[dict[str, Any]]) -> str:
    if not counts:
        return ""
    header = "".join(f'<th scope="col">{escape(key.replace("_", " "))}</th>' for key in counts[0])
    rows = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in counts)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(printable(str(value)))
