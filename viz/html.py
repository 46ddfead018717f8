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

from ..warehouse.errors import MissingExtra
from . import theme
from .labels import printable
from .provenance import KEYWORD, Provenance

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --wash: #f6f8fa; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root:not([data-look=paper]) { --ink: #e6edf3; --soft: #9198a1; --line: #30363d;
  --wash: #161b22; --paper: #0d1117; } }
:root[data-look=paper] { color-scheme: light; }
:root[data-look=dark] { color-scheme: dark; --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --wash: #161b22;
  --paper: #0d1117; }
body { margin: 0 auto; max-width: 1120px; padding: 24px; background: var(--paper); color: var(--ink);
  font: 14px/1.5 system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
.chart { width: 100%; overflow-x: auto; }
.controls { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; color: var(--soft); margin: 8px 0 20px; }
select { font: inherit; max-width: 60ch; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 6px; }
:focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
main > details { border-top: 1px solid var(--line); padding: 8px 0; }
main > details > summary { cursor: pointer; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { text-align: right; white-space: nowrap; padding: 3px 12px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
pre { overflow-x: auto; font-size: 12px; }
#vg-tooltip-element td.value { max-width: 480px; overflow-wrap: anywhere; white-space: normal; max-height: none; }
"""

_HINT = "Scroll to zoom, drag to move, double-click to reset."
_HINT_OF_MANY = "Click a name in the legend to see it alone."

# Rows come as columns, texts among them as codes into a list: a third of the size. `show` is the spec's own parameter.
# Tooltips are only text: Vega's own would load what a field called `image` names.
# Panels beside each other are as wide as the page lets them; where that is too narrow they go below each other.
_SCRIPT = """
"use strict";
(async () => {
  const page = JSON.parse(document.getElementById("chart-data").textContent);
  const preferred = matchMedia("(prefers-color-scheme: dark)"), look = document.documentElement.dataset.look;
  const isDark = () => look === "dark" || (look !== "paper" && preferred.matches);
  const unpacked = columns => {
    const length = Math.max(0, ...columns.map(column => (column.codes || column.values).length));
    return Array.from({length}, (_, row) => {
      const datum = {};
      for (const column of columns) datum[column.name] = column.codes ? column.values[column.codes[row]] : column.values[row];
      return datum;
    });
  };
  const escaped = value => (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value))
    .replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`);
  const told = value => value === null || typeof value !== "object" ? escaped(value) : "<table>" + Object.entries(value)
    .map(([key, text]) => `<tr><td class="key">${escaped(key)}</td><td class="value">${escaped(text)}</td></tr>`)
    .join("") + "</table>";
  const wrapped = (text, columns) => [text].flat().flatMap(line => line.split(" ").reduce((lines, word) => {
    const longer = lines.at(-1) + " " + word;
    return lines.length && longer.length <= columns ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []));
  const narrowed = node => {
    if (node === null || typeof node !== "object") return;
    if (node.legend?.orient === "right") Object.assign(node.legend, {orient: "bottom", columns: 2});
    if (node.axis && "labelLimit" in node.axis) node.axis.labelLimit = 120;
    Object.values(node).forEach(narrowed);
  };
  const fitted = (spec, room) => {
    if (room < 640) {
      const across = room - (spec.usermeta?.margin ?? 0);
      if (spec.title) {
        spec.title.text = wrapped(spec.title.text, (across - 50) / 9.5);
        spec.title.subtitle = wrapped(spec.title.subtitle, across / 7.3);
      }
      narrowed(spec);
    }
    if (!spec.concat || !spec.usermeta?.margin) return;
    const left = spec.usermeta.margin, between = spec.spacing.column, planned = spec.columns;
    const width = columns => Math.floor((room - left - between * (columns - 1)) / columns);
    while (spec.columns > 1 && width(spec.columns) < 180) spec.columns -= 1;
    if (spec.columns < planned) spec.spacing.row += 20;
    for (const view of spec.concat) view.width = Math.max(120, width(spec.columns));
  };
  const charts = page.charts.map((chart, index) => {
    const box = document.getElementById(`chart-${index}`), select = document.getElementById(`show-${index}`);
    const rows = unpacked(chart.columns);
    let view = null;
    const show = () => {
      if (view && select) view.signal("show", select.value === "" ? null : chart.names[+select.value]).run();
    };
    if (select) select.addEventListener("change", show);
    return async () => {
      if (view) view.finalize();
      const spec = structuredClone(chart.spec);
      spec.data = {values: rows};
      spec.config = {...(isDark() ? page.dark : page.light), ...spec.config};
      fitted(spec, box.clientWidth);
      const result = await vegaEmbed(box, spec, {
        ast: true, renderer: "canvas", downloadFileName: "chart",
        tooltip: {theme: isDark() ? "dark" : "light", formatTooltip: told},
        actions: {export: {png: true, svg: true}, source: false, compiled: false, editor: false},
      });
      view = result.view;
      show();
      return rows.length;
    };
  });
  const draw = async () => {
    let drawn = 0;
    for (const chart of charts) drawn += await chart();
    performance.mark("drawn");
    document.documentElement.dataset.drawn = drawn;
  };
  preferred.addEventListener("change", draw);
  await draw();
})();
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One chart of a page."""

    title: str
    spec: dict[str, Any]  # Vega-Lite without data and config; panels side by side say their margin in `usermeta`
    columns: Sequence[dict[str, Any]]  # the data: name, values, and codes into values where values repeat
    names: Sequence[tuple[str, str]]  # what can be shown alone: full name and the value of parameter `show`

    def element(self, index: int) -> str:
        """The chart's place on the page, with its controls."""
        options = "".join(f'<option value="{i}">{escape(name)}</option>' for i, (name, _) in enumerate(self.names))
        choice = f'<label>Show <select id="show-{index}"><option value="">all</option>{options}</select></label>'
        many = len(self.names) > 1
        zooms = any(param.get("bind") == "scales" for param in self.spec.get("params", ()))
        hint = " ".join([*([_HINT] if zooms else []), *([_HINT_OF_MANY] if many else [])])
        return (
            f'<div class="chart" id="chart-{index}" role="figure" aria-label="{escape(self.title)}"></div>\n'
            f'<div class="controls">{choice if many else ""}<span>{hint}</span></div>'
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
    style: str = "",
    script: str = "",
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
        style: CSS beside that of every page.
        script: JavaScript that runs before the charts are drawn.
        look: One of `theme.THEMES`; `screen` is light or dark as the reader's system is.
    """
    own = f"{script}{_SCRIPT}".encode()
    bundle = re.sub(rb"</(?=script)", rb"<\\/", bundle, flags=re.IGNORECASE)
    policy = (
        f"default-src 'none'; script-src {_hash(bundle)} {_hash(own)}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    light, dark = (theme.screen_config(f"system-ui, {font}", dark=dark) for dark in (False, True))
    charts = [{"spec": b.spec, "columns": b.columns, "names": [value for _, value in b.names]} for b in blocks]
    data = json.dumps({"charts": charts, "light": light, "dark": dark}, allow_nan=False, separators=(",", ":"))
    carried = f'<script type="application/json" id="{KEYWORD}">{_block(embedded)}</script>\n' if embedded else ""
    head = f"""<!DOCTYPE html>
<html lang="en" data-look="{look}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<main>
<noscript>Charts are drawn by JavaScript, all of it in this file. The counts and the query stand as text.</noscript>
{body}
</main>
<script type="application/json" id="chart-data">{_block(data)}</script>
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
    """Keep the bundle for the next page, which is then 1.7 s sooner; a folder that cannot be written is no error."""
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


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _block(text: str) -> str:
    """JSON that no HTML parser can leave: ASCII, without `<`, `>` and `&`."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _table(counts: Sequence[dict[str, Any]]) -> str:
    if not counts:
        return ""
    header = "".join(f'<th scope="col">{escape(key.replace("_", " "))}</th>' for key in counts[0])
    rows = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in counts)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(printable(str(value)))
