"""The page for SQL: DuckDB-WASM beside the site, read at the first query, over what the site holds."""

import json
import os
import time
from pathlib import Path

import pytest
from bench.viz.publish import front, site
from bench.viz.publish.sql_page import Engine
from bench.warehouse.errors import BenchError

from ...builders import Builder, case, outcome
from ..browser import PROGRAM, Page
from .sites import nights, publish

REAL = os.environ.get("BENCH_DUCKDB_WASM")  # the unpacked npm package
NAMES = ("bert", 'a "quoted", name\nof two lines', "名")
in_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as npm has it, whose engine does not start."""
    dist = tmp_path / "package" / "dist"
    dist.mkdir(parents=True)
    (dist.parent / "package.json").write_text('{"version": "1.2.3"}')
    (dist.parent / "LICENSE").write_text("be kind")
    (dist / "duckdb-browser-eh.worker.js").write_text("throw new Error('too old');")
    (dist / "duckdb-eh.wasm").write_bytes(bytes(1000))
    return dist.parent


@pytest.mark.exhaustive
def test_a_site_with_sql_has_its_page_engine_and_licences(tmp_path: Path, package: Path) -> None:
    """Only that page allows WebAssembly; published again it is not written anew, and without the option it is gone."""
    root, warehouse = tmp_path / "site", Builder().add(*nights(2))
    site.publish(warehouse, root, title="t", engine=Engine(package))
    pages = {name: (root / name).read_text(encoding="utf-8") for name in ("index.html", "sql.html")}
    licences = (root / "sql-licences.txt").read_text(encoding="utf-8")

    assert front.POLICY in pages["index.html"] and "wasm" not in pages["index.html"]
    assert "'wasm-unsafe-eval'" in pages["sql.html"] and "connect-src" not in pages["sql.html"]
    assert all('<a href="sql.html">SQL</a>' in page for page in pages.values())
    assert "1.2.3" in licences and "be kind" in licences and "Stichting DuckDB Foundation" in licences

    before = {path: path.stat().st_mtime_ns for path in (root / "data").iterdir()}
    site.publish(warehouse, root, title="t", engine=Engine(package))
    assert {path: path.stat().st_mtime_ns for path in (root / "data").iterdir()} == before

    publish(warehouse, root)
    assert not (root / "sql.html").exists() and not list((root / "data").glob("module-*"))
    assert "SQL" not in (root / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["", "dist", ".."])
def test_the_engine_is_found_in_what_npm_brought(package: Path, place: str) -> None:
    """By the folder that was unpacked into, the package, or its files."""
    assert Engine(package / place).version() == "1.2.3"


def test_a_folder_without_the_engine_is_refused(tmp_path: Path) -> None:
    """The error says how to get it."""
    with pytest.raises(BenchError, match="npm pack @duckdb/duckdb-wasm"):
        Engine(tmp_path)


def ask(browser: Page, query: str) -> tuple[str, str]:
    """Type a query and run it; what is told of it, and the answer."""
    browser.ask(
        f"delete document.documentElement.dataset.answered; document.getElementById('sql').value = {json.dumps(query)};"
        " document.getElementById('ask').requestSubmit()"
    )
    deadline = time.monotonic() + 300
    while browser.ask("document.documentElement.dataset.answered") is None:
        assert time.monotonic() < deadline, browser.errors
        time.sleep(0.05)
    texts = browser.ask("['told', 'answer'].map(id => document.getElementById(id).textContent)")
    return texts[0], texts[1]


@pytest.mark.browser
@in_browser
def test_an_engine_that_does_not_start_is_told(browser: Page, tmp_path: Path, package: Path) -> None:
    """It is not read before a query is run, and addresses of other pages are those of the front page."""
    site.publish(Builder().add(*nights(1)), tmp_path / "site", title="t", engine=Engine(package))
    browser.open(tmp_path / "site" / "sql.html")
    assert not any("module-" in url for url in browser.requests)
    assert browser.ask("document.querySelector('nav [aria-current]').textContent") == "SQL"
    assert "too old" in ask(browser, "SELECT 1")[1]

    browser.ask("document.querySelector('nav a').click()")
    deadline = time.monotonic() + 20
    while "sql.html" in browser.ask("location.pathname"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.browser
@in_browser
@pytest.mark.skipif(REAL is None, reason="BENCH_DUCKDB_WASM does not name the unpacked npm package @duckdb/duckdb-wasm")
def test_queries_are_answered_in_the_browser(browser: Page, tmp_path: Path) -> None:
    """Values, NULL and hostile texts come back as they are; what would be fetched from elsewhere is refused."""
    broken = case("bert", "night-000", suite="zoo", backend="inductor", device="cpu")
    made = Builder().add(*nights(14, NAMES), outcome(broken, "fail_to_run"))
    site.publish(made, tmp_path / "site", title="t", engine=Engine(Path(REAL or "")))
    browser.open(tmp_path / "site" / "sql.html")

    found = ask(browser, "SELECT name, count(*) AS n, min(median) AS least FROM cells GROUP BY ALL ORDER BY least")
    assert found[0] == "3 rows"
    for name, least in zip(NAMES, (1, 2, 3), strict=True):
        assert f"{name}14{least}000000.0" in found[1]
    assert ask(browser, "SELECT count(*)::VARCHAR || kind || verdict AS a FROM change_points GROUP BY kind, verdict")[
        1
    ].startswith("a3stepSLOWER")
    assert "fail_to_run" in ask(browser, "FROM failures")[1]
    assert "Parser Error" in ask(browser, "SELEC 1")[1]
    assert ask(browser, "SET threads = 1")[0] == "done"
    refused = ask(browser, "FROM read_parquet('https://example.org/x.parquet')")[1]
    assert "extension" in refused and "INSTALL" not in refused
    assert {url.partition(":")[0] for url in browser.requests} == {"file", "blob"}
    assert browser.errors == []
