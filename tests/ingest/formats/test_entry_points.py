"""Formats of other packages, installed as pip would: a module and a dist-info beside it."""

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.ingest.registry import find_format, formats, formats_in
from bench.warehouse.errors import BenchError

from ..conftest import Load, Rows
from .reading import lay
from .test_docs import ROOT

Install = Callable[..., None]

LINES = '''
from bench.ingest.format import Format, Tally


class {kind}(Format):
    """Lines of my own."""

    name = "{name}"
    doc = "lines of my own"

    def recognise(self, head):
        return head.lines(1) == ["mine"]

    def read(self, part, batch):
        return Tally(lines=1, loaded=1)
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package with one format: its name, its module, and what the entry point says."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)

    def add(package: str, code: str, points_at: str) -> None:
        lay(site, {
            f"{package}.py": code,
            f"{package}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
            f"{package}-1.0.dist-info/entry_points.txt": f"[bench.formats]\nmine = {points_at}\n",
        })  # fmt: skip
        monkeypatch.delitem(sys.modules, package, raising=False)
        importlib.invalidate_caches()
        formats_in.cache_clear()

    yield add
    formats_in.cache_clear()


def test_a_format_of_another_package(install: Install, load: Load, tmp_path: Path) -> None:
    """Is recognised, can be named, and what it loaded is known."""
    install("mylines", LINES.format(kind="Mine", name="mine"), "mylines:Mine")
    lay(tmp_path, {"x/a.txt": "mine\n"})

    assert find_format("mine").doc == "lines of my own"
    assert [(line.format, line.loaded) for line in load(tmp_path / "x").lines] == [("mine", 1)]
    assert load(tmp_path / "x").lines[0].known == 1


def test_the_package_of_the_page(install: Install, load: Load, rows: Rows, tmp_path: Path) -> None:
    """The package of CONTRIBUTING.md can be installed and loads, its imports included; tags are the rest of the fields."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = page.partition("## A format in full")[2]
    code = textwrap.dedent(
        "    from collections" + blocks.partition("    from collections")[2].partition("\n\nA package of yours")[0]
    )
    assert 'mine = "my_package:Mine"' in blocks
    install("my_package", code, "my_package:Mine")
    lay(tmp_path, {"x/a.json": {"tool": "t", "commit": "abc", "results": [{"name": "a", "seconds": [0.5]}]}})

    load(tmp_path / "x")

    query = "SELECT git_commit, tags, name, median FROM cells JOIN runs USING (run_id)"
    assert rows(query) == [("abc", '{"tool": "t"}', "a", 5e8)]


@pytest.mark.parametrize(
    ("code", "points_at", "error"),
    [
        (
            "import nothing_of_the_kind",
            "broken:Mine",
            "cannot be loaded: ModuleNotFoundError: No module named 'nothing",
        ),
        ("1 / 0", "broken:Mine", "cannot be loaded: ZeroDivisionError"),
        ("Mine = 5", "broken:Mine", "is not a subclass of bench.ingest.format.Format with a name"),
        ("", "broken:Mine", "cannot be loaded: AttributeError"),
        (LINES.format(kind="Mine", name="hyperfine"), "broken:Mine", "two formats are called 'hyperfine', of .* and "),
    ],
)
def test_a_package_that_is_broken_is_named(install: Install, code: str, points_at: str, error: str) -> None:
    """With what is to be done; nothing is loaded in a way that nobody chose."""
    install("broken", code, points_at)
    with pytest.raises(BenchError, match=f"broken.*{error}|{error}.*broken"):
        formats()
