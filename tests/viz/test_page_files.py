"""The CSS and JavaScript of pages: files that parse, and that use what there is."""

import re
import shutil
import subprocess
from pathlib import Path

import bench.viz.output
import pytest

FOLDER = Path(str(bench.viz.output.__file__)).parent
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"\s*(--)?[a-z][a-z-]*: [^:;{}]+;")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_a_script_parses(path: Path) -> None:
    """As Node.js reads it."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js to read scripts with: install nodejs")
    done = subprocess.run([node, "--check", str(path)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.css")), ids=lambda path: path.name)
def test_a_style_sheet_parses(path: Path) -> None:
    """Rules of declarations, one a line, in at most one at-rule."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    depth = 0
    for line in filter(str.strip, re.sub(r"(,|:|\()\n\s*", r"\1 ", text).splitlines()):
        if line.endswith("{"):
            depth += 1
            assert not line.startswith("@") or depth == 1, line
        elif line.strip() == "}":
            depth -= 1
        else:
            assert depth and DECLARATION.fullmatch(line), line
        assert line.startswith("  " * (depth - line.endswith("{"))) and depth >= 0, line

    assert depth == 0


def test_every_colour_that_is_used_is_defined() -> None:
    """`var(--ink)` of one file is a property of page.css."""
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.css")]
    defined = set(re.findall(r"^\s*(--\w+):", (FOLDER / "page.css").read_text(encoding="utf-8"), re.MULTILINE))

    assert {name for text in texts for name in re.findall(r"var\((--\w+)\)", text)} == defined
