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
from html import escape
from pathlib import Path
from typing import Any

from .labels import printable
from .provenance import KEYWORD, Provenance

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --paper: #0d1117; } }
body { margin: 0 auto; max-width: 1120px; padding: 24px; background: var(--paper); color: var(--ink);
  font: 14px/1.5 system-ui, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
#chart { width: 100%; }
#controls { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; color: var(--soft); margin: 8px 0 20px; }
select { font: inherit; max-width: 60ch; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 6px; }
:focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
main > details { border-top: 1px solid var(--line); padding: 8px 0; }
main > details > summary { cursor: pointer; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 3px 12px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
pre { overflow-x: auto; font-size: 12px; }
#vg-tooltip-element td.value { max-width: 480px; overflow-wrap: anywhere; white-space: normal; max-height: none; }
"""

_HINT = "Scroll to zoom, drag to move, double-click to reset."
_HINT_OF_MANY = f"{_HINT} Click a name in the legend to see it alone."

# Rows come as columns, texts among them as codes into a list: a third of the size. `show` is the spec's own parameter.
_SCRIPT = """
"use strict";
(async () => {
  const page = JSON.parse(document.getElementById("chart-data").textContent);
  const length = Math.max(0, ...page.columns.map(column => (column.codes || column.values).length));
  const rows = Array.from({length}, (_, row) => {
    const datum = {};
    for (const column of page.columns) datum[column.name] = column.codes ? column.values[column.codes[row]] : column.values[row];
    return datum;
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const select = document.getElementById("show");
  let view = null;
  const draw = async () => {
    if (view) view.finalize();
    const spec = structuredClone(page.spec);
    spec.data = {values: rows};
    spec.config = dark.matches ? page.dark : page.light;
    const result = await vegaEmbed("#chart", spec, {
      ast: true, renderer: "canvas", tooltip: {theme: dark.matches ? "dark" : "light"}, downloadFileName: "chart",
      actions: {export: {png: true, svg: true}, source: false, compiled: false, editor: false},
    });
    view = result.view;
    show();
    document.documentElement.dataset.drawn = rows.length;
  };
  const show = () => { if (view && select) view.signal("show", select.value === "" ? null : page.names[+select.value]).run(); };
  if (select) select.addEventListener("change", show);
  dark.addEventListener("change", draw);
  await draw();
})();
"""


def page(
    spec: dict[str, Any],
    *,
    columns: Sequence[dict[str, Any]],
    names: Sequence[tuple[str, str]],
    light: dict[str, Any],
    dark: dict[str, Any],
    provenance: Provenance,
    bundle: bytes,
) -> bytes:
    """The page.

    Args:
        spec: Vega-Lite without data and config.
        columns: The data: name, values, and codes into values where values repeat.
        names: What can be shown alone: full name and the value of parameter `show`; with fewer than two, no choice.
        light: Vega-Lite config on white.
        dark: Vega-Lite config on black.
        provenance: What the page says about itself.
        bundle: JavaScript of Vega, Vega-Lite and Vega-Embed.
    """
    script = _SCRIPT.encode()
    bundle = re.sub(rb"</(?=script)", rb"<\\/", bundle, flags=re.IGNORECASE)
    policy = (
        f"default-src 'none'; script-src {_hash(bundle)} {_hash(script)}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    data = {"spec": spec, "columns": columns, "names": [value for _, value in names], "light": light, "dark": dark}
    options = "".join(f'<option value="{index}">{escape(name)}</option>' for index, (name, _) in enumerate(names))
    choice = (
        f'<label>Show <select id="show"><option value="">all</option>{options}</select></label>'
        if len(names) > 1
        else ""
    )
    title = escape(provenance.title)
    head = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<div id="chart" role="figure" aria-label="{title}"></div>
<noscript>This chart is drawn by JavaScript, all of it in this file. The counts and the query are below.</noscript>
<div id="controls">{choice}<span>{_HINT_OF_MANY if len(names) > 1 else _HINT}</span></div>
<details open><summary>Counts</summary><div class="scroll">{_table(provenance.counts)}</div></details>
<details><summary>Where this comes from</summary><pre tabindex="0">{escape(provenance.explain())}</pre></details>
</main>
<script type="application/json" id="chart-data">{_block(json.dumps(data, allow_nan=False, separators=(",", ":")))}</script>
<script type="application/json" id="{KEYWORD}">{_block(provenance.json())}</script>
"""
    # modules, so that the bundle's thousands of short names do not become properties of the window
    module = b'<script type="module">'
    return b"".join((head.encode(), module, bundle, b"</script>\n", module, script, b"</script>\n</body>\n</html>\n"))


def cached_bundle() -> bytes | None:
    """The JavaScript bundle of this vl-convert, where it was kept."""
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
    return folder / "bench" / f"vega-{importlib.metadata.version('vl-convert-python')}.js"


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
