"""The docs: every page is found, every link leads somewhere, and the tutorial can be typed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from .builders import Builder
from .exhaustive import exhaustive
from .test_package import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "decisions" not in page.parts)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ASKED = re.compile(r"""bench (?:sql|viz query)[^"'\n]*? (?:"([^"]*)"|'([^']*)')""")
_TEXT = re.compile(r"'(?!https)[^']*'")
_RULE = re.compile(r" *─+(?:  ─+)* *")
_SQL = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file that is there, and to a heading of it."""
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if not re.match(r"https?:|mailto:", link):
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not heading or heading in anchors(target), link


def test_the_index_names_every_page() -> None:
    """Nobody finds a page that is not in it."""
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in _LINK.findall((DOCS / "index.md").read_text())}

    assert {page for page in PAGES if page.name != "index.md"} <= linked


WRITTEN = [page for page in PAGES if "gallery" not in page.parts]  # by hand
_GENERATED = re.compile(r"<!-- generated .*?<!-- end -->", re.DOTALL)


def test_the_docs_stay_short() -> None:
    """22,000 words at most: what is added takes the place of something. Studies belong to decisions."""
    texts = [_GENERATED.sub("", page.read_text(encoding="utf-8")) for page in WRITTEN]

    assert sum(len(re.findall(r"\S*\w\S*", text)) for text in texts) <= 22_000


def test_the_changelog_of_an_unreleased_version_stays_short() -> None:
    """1,500 words at most, of what a user notices."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert len(text.partition("## [Unreleased]")[2].partition("\n## [")[0].split()) <= 1_500


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.name != "index.md"], ids=lambda page: page.stem)
def test_a_page_begins_with_its_command(page: Path) -> None:
    """Code stands within the first ten lines: a reader has two minutes."""
    first = page.read_text(encoding="utf-8").splitlines()[1:11]

    assert any(line.startswith(("    ", "```")) for line in first)


def statements(text: str) -> list[str]:
    """The SQL that a text shows, but what is shortened and what is wrong on purpose."""
    asked = [double or single for double, single in _ASKED.findall(text)] + _SQL.findall(text)
    wrong = "SELECT nam FROM speedups"
    return [each for each in asked if "…" not in _TEXT.sub("", each) and "$(" not in each and each != wrong]


def test_every_query_that_is_shown_can_be_asked() -> None:
    """Of the pages and of the help: it runs, here on an empty warehouse."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *PAGES)}
    texts |= {f"bench {name}": command.help or "" for name, command in commands()}
    shown = {(place, each) for place, text in texts.items() for each in statements(text)}
    warehouse = Builder()
    for place, each in sorted(shown):
        try:
            warehouse.rows(each)
        except duckdb.Error as error:
            pytest.fail(f"{place}: {each}: {error}")

    assert len(shown) > 20


def tables(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The tables that a page shows: the command above each, and its headings."""
    command, above = "", ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"(?: *\$| {4})? *(bench .*)", line):
            command = found[1]
        elif _RULE.fullmatch(line):
            yield command, re.split(r" {2,}", above.strip())
        above = line


def test_every_table_that_is_shown_has_the_columns_of_its_query() -> None:
    """Of the same names in the same order, so that nobody selects a column that is not there."""
    warehouse, asked = Builder(), 0
    for page in (ROOT / "README.md", *PAGES):
        for command, headings in tables(page):
            for query in statements(command):
                asked += 1
                columns = [row[0] for row in warehouse.rows(f"DESCRIBE {query}")]
                assert columns == headings, f"{page.name}: {query}"

    assert asked >= 2


def test_every_heading_that_is_shown_is_printed_by_a_command() -> None:
    """It stands in the code, or is an argument of the command above it; numbers in it are whatever was asked for."""
    rooms = (ROOT / room for room in ("measure", "query", "warehouse", "viz", "ingest", "sql"))
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for room in rooms
        for path in room.rglob("*.[ps][yq]*")
        if path.suffix != ".pyc"
    )
    words = re.findall(r"""["'`]([^"'`\n]+)["'`]|^-- (\w+) """, code, re.MULTILINE)
    known = {re.sub(r"\d+( %| \w+)?|\{.*?\}", "0", text) for text in {text or column for text, column in words}}
    for page in (ROOT / "README.md", *PAGES):
        for command, headings in tables(page):
            unknown = [
                word for word in headings if re.sub(r"\d+( %| \w+)?", "0", word) not in known and word not in command
            ]
            assert not unknown, f"{page.name}: {command}"


def typed(page: str, tmp_path: Path, **settings: str) -> tuple[int, Path, subprocess.CompletedProcess[str]]:
    """Type the grey boxes of a page in an empty folder, with less time for measuring.

    Returns:
        How many boxes, the folder, and what happened.
    """
    blocks = [block for block in _TYPED.findall((DOCS / page).read_text()) if "pip install" not in block]
    shim = tmp_path / "bin" / "bench"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bench "$@"\n')
    shim.chmod(0o755)
    folder = tmp_path / "try-bench"
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "BENCH_STORE"} | settings
    environment |= {"PATH": f"{shim.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / ".types")}
    script = "\n".join(blocks).replace("--budget 10", "--budget 1").replace("--quick", "--quick --budget 1")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True, text=True
    )
    return len(blocks), folder, done


@exhaustive
def test_the_tutorial_can_be_typed(tmp_path: Path) -> None:
    """Every command of it, in an empty folder, with less time for measuring."""
    pytest.importorskip("torch")
    pytest.importorskip("vl_convert")
    blocks, folder, done = typed("tutorial.md", tmp_path)

    assert done.returncode == 0, done.stderr
    assert blocks == 5
    assert "SLOWER" in done.stdout
    assert (folder / "attention.png").stat().st_size > 10_000


@exhaustive
def test_the_way_from_slower_to_the_commit_can_be_typed(tmp_path: Path) -> None:
    """It ends with the commit that was planted, and its chart."""
    builds = tmp_path / "cache"
    blocks, folder, done = typed("from-slower-to-the-commit.md", tmp_path, XDG_CACHE_HOME=str(builds))

    assert done.returncode == 0, done.stderr
    assert blocks == 5
    assert re.search(r"\(commit 7\) made latency .* slower", done.stderr)
    assert (folder / "slower" / "culprit.svg").stat().st_size > 10_000
