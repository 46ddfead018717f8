"""The gallery has every chart, as small pictures that say which command draws them."""

import shlex

import pytest
from bench.viz.command import CHARTS
from bench.viz.output import provenance

from .gallery import COMMANDS, FOLDER, page
from .test_charts import every_chart


@every_chart
def test_every_chart_has_its_picture(name: str) -> None:
    """Of 60 kB or less, drawn by the command beside it. Make it with: python -m tests.viz.gallery"""
    picture = FOLDER / f"{name}.png"

    assert picture.stat().st_size <= 60_000
    assert provenance.read(picture).chart == name == shlex.split(COMMANDS[name])[0]


def test_the_page_is_the_one_that_the_commands_make() -> None:
    """It is made of `COMMANDS` of gallery.py, and charts.md points at it."""
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page()
    assert "gallery/README.md" in (FOLDER.parent / "charts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [path.stem for path in FOLDER.glob("*.png")])
def test_no_picture_is_left_over(name: str) -> None:
    """Of a chart that is no more."""
    assert name in CHARTS
