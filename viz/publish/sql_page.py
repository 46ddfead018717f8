"""SQL over what a site holds, in a page of its own: DuckDB-WASM, whose files the user has, is read when a query is run.

It works from `file://`, too: the engine lies in a script as other data do, and runs in a worker made of that. The policy of this
page alone allows WebAssembly and such a worker; like every page of the site it may ask no other host for anything.
"""

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...query.axes import AXES
from ...warehouse.errors import BenchError
from . import front, payload
from .folder import FRONT_PAGE, SiteFolder
from .private import RUN

SQL_SCRIPT = "sql.js"
_LICENCES = "sql-licences.txt"
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src blob:; style-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'"
)
_FILES = {"worker": "duckdb-browser-eh.worker.js", "module": "duckdb-eh.wasm"}
_PLACES = ("", "dist", "package/dist", "node_modules/@duckdb/duckdb-wasm/dist")
_MADE_OF = ("duckdb", "pyarrow")  # installed packages of the same programs, whose licences the npm package leaves out
_LICENCE_NAMES = ("LICENSE", "LICENSE.txt")
_CASE = ("case_id", *AXES)
_TABLES = {  # columns that `sql.js` gives them; named as `bench sql` names them
    "run_details": (*RUN, "machine"),
    "case_axes": _CASE,
    "cells": ("run_id", "config", *_CASE, "metric", "phase", "unit", "better", "median", "median_low", "median_high", "n"),
    "failures": ("run_id", "case_id", "how"),
    "change_points": (
        "case_id", "config", "metric", "phase", "kind", "verdict", "since_run_id", "until_run_id", "before", "after", "incident",
        "lasts",
    ),
}  # fmt: skip
_FIRST = "SELECT suite, backend, metric, count(*) AS n FROM cells GROUP BY ALL ORDER BY ALL"


class Engine:
    """The two files of DuckDB-WASM that a page needs."""

    def __init__(self, folder: Path) -> None:
        """Find them.

        Raises:
            BenchError: They are not there.
        """
        places = [folder / place for place in _PLACES]
        found = [place for place in places if all((place / name).is_file() for name in _FILES.values())]
        if not found:
            raise BenchError(
                f"{folder} lacks {' and '.join(_FILES.values())}. Get them with: npm pack @duckdb/duckdb-wasm, unpack what"
                " comes, and name the folder."
            )
        self.folder = found[0]

    def write(self, folder: SiteFolder) -> dict[str, str]:
        """Write its scripts, unless they are there; the name of each without folder and ending."""
        contents = {kind: (self.folder / name).read_bytes() for kind, name in _FILES.items()}
        key = hashlib.sha256(b"".join(contents.values())).hexdigest()[:24]
        files = folder.reused("engine", key)
        if files is None:
            files = [folder.add(*payload.script(kind, payload.pressed(content))) for kind, content in contents.items()]
            folder.keep("engine", key, files)
        return {kind: Path(name).stem for kind, name in zip(_FILES, files, strict=True)}

    def version(self) -> str:
        """The version, as its package says."""
        try:
            return str(json.loads((self.folder.parent / "package.json").read_bytes())["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def licences(self) -> bytes:
        """Those in its folder, and those of the programs that it is made of, as their installed packages have them."""
        own = [path for place in (self.folder.parent, self.folder) for path in sorted(place.glob("LICENSE*"))]
        parts = [f"DuckDB-WASM {self.version()} (MIT), made of DuckDB (MIT) and Apache Arrow (Apache 2.0)\n"]
        parts += [path.read_text(encoding="utf-8", errors="replace") for path in own]
        for package in _MADE_OF:
            files = importlib.metadata.distribution(package).files or ()
            parts += [Path(file.locate()).read_text(encoding="utf-8") for file in files if file.name in _LICENCE_NAMES]
        return f"\n{'-' * 80}\n\n".join(parts).encode()


def write(
    folder: SiteFolder, engine: Engine, *, title: str, data: Mapping[str, Any], style: str, scripts: tuple[str, str], limits: str
) -> None:  # fmt: skip
    """Write the page and its engine; `data` and `limits` are those of the front page."""
    own = {**data, "home": FRONT_PAGE, "front": front.SQL_PAGE, "engine": engine.write(folder), "tables": _TABLES}
    folder.put(_LICENCES, engine.licences())
    tables = "".join(f"<dt><code>{name}</code></dt><dd>{', '.join(columns)}</dd>" for name, columns in _TABLES.items())
    main = f"""<h1>SQL</h1>
<p class="lead">What this site holds, as tables. The query runs here, in DuckDB, which is read at the first one.</p>
<form id="ask"><textarea id="sql" rows="6" spellcheck="false" aria-label="Query">{_FIRST}</textarea>
<p class="tools"><button type="submit">Run</button> <button type="button" id="stop" hidden>Stop</button>
 <span class="soft">Ctrl+Enter</span> <span id="told" role="status"></span></p></form>
<div id="answer"></div>
<h2>Tables</h2>
<dl class="tables">{tables}</dl>
<p class="soft">DuckDB-WASM {front.safe(engine.version())}: <a href="{_LICENCES}">licences</a></p>"""
    page = front.document(
        main, title=title, data=own, style=style, scripts=scripts, limits=limits, policy=_POLICY, sql=True
    )
    folder.put(front.SQL_PAGE, page)
