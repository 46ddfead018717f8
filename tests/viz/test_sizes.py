"""Charts in a size that is asked for, down to the column of a paper."""

import io
import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest
from bench.viz.command import CHARTS
from bench.viz.marks.legend import Legend
from bench.viz.options import inches
from bench.viz.output import render
from bench.viz.style import labels, theme
from bench.viz.style.heading import Heading
from bench.viz.style.plot_area import PlotArea
from bench.warehouse.errors import BenchError
from hypothesis import given
from hypothesis import strategies as st

from ..exhaustive import exhaustive
from .test_charts import drawn, every_chart

NARROW = (3.0, 4.0)  # half a page
COLUMN = (3.3, 2.2)  # a column of a paper
ALL_METRICS = ["geomean", "pass-rate", "compile-time", "memory"]  # of the history, the flat ones too


@pytest.fixture(scope="module")
def images() -> Iterator[dict[str, bytes]]:
    """Every chart of long names, in a column of a paper."""
    pytest.importorskip("vl_convert")
    with render.Renderer() as renderer:
        figures = (drawn(name, "long", size=COLUMN) for name in CHARTS)
        jobs = (render.RenderRequest("png", figure.still("sans-serif"), 72) for figure in figures)
        yield dict(zip(CHARTS, renderer.render(jobs), strict=True))


@every_chart
def test_nothing_is_cut_off(images: dict[str, bytes], name: str) -> None:
    """Titles, legends and labels end before the image does: its rim is white."""
    picture = np.asarray(pytest.importorskip("PIL.Image").open(io.BytesIO(images[name])).convert("L"))

    rim = np.concatenate([picture[:2].ravel(), picture[-2:].ravel(), picture[:, :2].ravel(), picture[:, -2:].ravel()])
    assert rim.min() > 200


@every_chart
def test_a_page_is_drawn_as_if_no_size_were_asked_for(name: str) -> None:
    """A small `--size` is for images: what is played with has the names and the height that it needs."""
    assert drawn(name, "few", size=(3.0, 2.0)).interactive() == drawn(name, "few").interactive()


@every_chart
def test_an_empty_title_draws_no_heading(name: str) -> None:
    """The plot has its room; what it would have said is told, and stays the title of file and page."""
    figure, usual = drawn(name, "few", title="", size=COLUMN), drawn(name, "few", size=COLUMN)

    spec = figure.spec(False)
    assert "title" not in spec
    assert figure.provenance.title == usual.provenance.title
    assert spec["description"] == usual.spec(False)["description"]
    assert f"no heading is drawn, so the caption has to say: {spec['description']}" in figure.notes
    assert usual.provenance.title not in figure.text(200, 20, False)


def test_what_a_subtitle_has_no_room_for_is_told() -> None:
    """Facts are left out from the last on, the line ends in an ellipsis, and the warning says which they were."""
    figure = drawn("movers", "few", size=(2.0, 1.8))

    heading = figure.spec(False)["title"]
    assert heading["subtitle"][-1].endswith("…")
    (note,) = [note for note in figure.notes if "no room" in note]
    assert note.startswith("2x1.8 inches have no room for: ")
    assert "1 run against 1 run" in note


def test_panels_that_have_no_room_name_a_size_that_has() -> None:
    """An image of plots a line high would say nothing."""
    with pytest.raises(
        BenchError, match=r"panels in 2 rows have no room in 3x2 inches. Ask for more: --size 3x"
    ) as raised:
        drawn("history", "few", metrics=ALL_METRICS, size=(3.0, 2.0)).still("f")

    height = float(str(raised.value).split("--size 3x")[1].split(",")[0])
    drawn("history", "few", metrics=ALL_METRICS, size=(3.0, height)).still("f")


@pytest.mark.exhaustive
def test_panels_that_have_room_without_a_heading_say_so() -> None:
    """Twelve schedulers in the column of a paper, whose caption says what the heading would."""
    with pytest.raises(BenchError, match="leave the heading to the caption: --title '', or draw less"):
        drawn("timeline", "many", size=COLUMN).still("f")

    drawn("timeline", "many", size=COLUMN, title="").still("f")


def test_axes_of_crowded_panels_have_their_titles_above() -> None:
    """Titles one below the other would run into each other; labels of the shared axis stand once."""
    views = drawn("history", "few", metrics=ALL_METRICS, size=NARROW).spec(False)["concat"]

    assert [view["layer"][-1]["mark"]["text"] for view in views] == [
        "geomean [x]",
        "passing [%]",
        "compile [s]",
        "compression [x]",
    ]
    axes = [view["layer"][0]["encoding"] for view in views]
    assert {encoding["y"]["title"] for encoding in axes} == {None}
    assert [encoding["x"]["axis"]["labels"] for encoding in axes] == [False, False, False, True]


def test_a_short_logarithmic_axis_has_few_ticks() -> None:
    """Those a person would choose, rather than every second of more."""
    low, high = PlotArea(160, 42, 0.85), PlotArea(300, 200, 1.0)

    assert low.ticks(0.47, 3.1, across=False) == [0.5, 1, 2]
    assert low.ticks(1.7, 31, across=False) == [2, 10]  # one alone would tell no distance
    assert high.ticks(0.47, 3.1, across=False) == [0.5, 0.7, 1, 1.2, 1.5, 2, 2.5, 3]


@pytest.mark.parametrize("typed", ["3x4", "3X4", "3 x 4", "3.0×4"])
def test_a_size_is_read_as_people_write_it(typed: str) -> None:
    """Width first, in inches."""
    assert inches(typed) == (3.0, 4.0)


@pytest.mark.parametrize("count", [3, 12, 40])
def test_a_legend_takes_no_more_than_its_share(count: int) -> None:
    """Of the height that is given; the names it has no room for are counted."""
    legend = Legend.fitting([f"a-config-of-some-length-{number}" for number in range(count)], COLUMN)

    assert legend.inches <= COLUMN[1] * 0.26
    assert legend.left_out == (["29 names of the legend"] if count == 40 else [])


def test_a_narrow_image_has_smaller_letters() -> None:
    """Those of a page of two columns; a wide one has them as ever, and one for a slide larger ones."""
    sizes = [
        drawn("usage", "few", **kwargs).still("f")["config"]["axis"]["labelFontSize"]
        for kwargs in ({}, {"size": COLUMN}, {"size": (6.0, 2.0)}, {"size": (10.0, 5.6)})
    ]

    assert sizes == [8.0, 6.8, 8.0, 12.0]


def test_names_of_crowded_rows_are_smaller_then_fewer_and_told() -> None:
    """Seventy-two rows on two inches cannot all be named."""
    figure = drawn("speedups", "many", size=COLUMN)

    axis = next(layer["encoding"]["y"]["axis"] for layer in figure.spec(False)["layer"] if "y" in layer["encoding"])
    assert (axis["labelFontSize"], axis["labelOverlap"]) == (4.5, "greedy")
    assert "3.3x2.2 inches have no room for: some of 72 names" in figure.notes


def test_letters_of_a_flame_are_lower_than_its_rows() -> None:
    """In an image with less height than they want, too: the legend below takes its room."""
    pytest.importorskip("vl_convert")
    figures = [drawn("flame", "few", size=size) for size in (None, (6.0, 1.8), (6.0, 2.0))]
    with render.Renderer() as renderer:
        images = list(renderer.render(render.RenderRequest("svg", each.still("sans-serif"), 72) for each in figures))

    for figure, image in zip(figures, images, strict=True):
        height = float(re.findall(rb'class="background"[^>]*d="M0,0h[\d.]+v([\d.]+)', image)[0])
        spec = figure.still("sans-serif")
        row = height / max(figure.fields["y1"])
        assert all(layer["mark"]["fontSize"] < row for layer in spec["layer"][1:])  # none where rows are too low


@given(st.lists(st.text("ab WM…模", min_size=1, max_size=30), max_size=6), st.floats(3, 40))
def test_wrapped_lines_fit_their_room(parts: list[str], room: float) -> None:
    """Whatever the words; and where all of them fit, none is lost."""
    lines = labels.wrap(parts, room, " · ", labels.ems)

    assert max(map(labels.ems, lines)) <= room
    if all(labels.ems(part) <= room for part in parts):
        told = " · ".join(parts)
        assert all(line in told for line in lines)
        assert sum(map(len, lines)) + 3 * (len(lines) - 1) == len(told)


@exhaustive
@given(st.text("ab MW", min_size=1, max_size=60), st.floats(2, 8), st.floats(1.8, 6))
def test_a_heading_leaves_the_plot_its_room(title: str, width: float, height: float) -> None:
    """At most a third of the height, beyond one line of each."""
    heading = Heading.fitting(title, ["fact"] * 30, width, height)

    least = theme.heading_points(1, 1, theme.scale_of(width))
    assert heading.points <= max(least, 0.34 * height * theme.POINTS_PER_INCH)
    assert len(heading.subtitle) == 1 or heading.points <= 0.34 * height * theme.POINTS_PER_INCH
    assert all(a or b for a, b in itertools.pairwise(heading.title))
