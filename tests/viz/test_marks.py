"""Forms alone: lines on each other, what has no room, panels in a grid, and what a subtitle says of names."""

import io
import math
from collections.abc import Sequence
from typing import Any

import pytest
from bench.viz.chart import Chart
from bench.viz.marks.bars import Bar, Bars
from bench.viz.marks.frontier import Frontier
from bench.viz.marks.legend import Legend
from bench.viz.marks.lines import Lines, Panel, Point
from bench.viz.marks.shaded_cells import ShadedCell, picture
from bench.viz.output.figure import Figure
from bench.viz.style import theme
from bench.viz.style.labels import ems
from bench.viz.style.plot_area import row_labels
from bench.viz.style.units import DisplayUnit, extent
from bench.warehouse.errors import NothingToShow

COLUMN = (3.3, 2.2)  # of a paper
PANEL = Panel(y_title="y", unit=DisplayUnit(None))


def lines(names: Sequence[str], *, apart: float = 0.0, slope: float = 0.0, **options: Any) -> Lines:
    """A line of three points for each name, that much above the one before."""
    points = [
        Point(panel=0, series=name, x=x, y=100 + apart * place + slope * x)
        for place, name in enumerate(names) for x in (1.0, 2.0, 3.0)
    ]  # fmt: skip
    return Lines(points=points, panels=[PANEL], x_title="x", **options)


def spec(form: Lines) -> dict[str, Any]:
    """Its picture in the usual size, below a title of 60 points."""
    return form.spec(False, (6.0, 4.0), 60.0)


def widths(form: Lines) -> list[tuple[list[str], list[float]]]:
    """The names and widths of lines, where they have one each."""
    encodings = [layer["encoding"].get("strokeWidth") for layer in spec(form)["layer"]]
    return [(encoding["scale"]["domain"], encoding["scale"]["range"]) for encoding in encodings if encoding]


@pytest.mark.parametrize(("count", "widest"), [(2, 1.1 * 2.6), (3, 1.1 * 4), (12, 1.1 * 4)])
def test_lines_on_each_other_are_the_thinner_the_later_they_are_drawn(count: int, widest: float) -> None:
    """So none hides another. The last is as thin as ever, and the first no wider than four of it, however many there are."""
    names = [f"config-{number}" for number in range(count)]

    for slope in (0.0, 1.0):
        ((labels, found),) = widths(lines(names, slope=slope))
        assert labels == names and [found[0], found[-1]] == pytest.approx([widest, 1.1], abs=0.01)
        assert found == sorted(found, reverse=True) and len(set(found)) == count


def test_joints_of_lines_are_round() -> None:
    """The mitre of a steep peak would reach beyond its value, in a low panel far below 0."""
    marks = [layer["mark"] for layer in spec(lines(["a", "b"]))["layer"]]

    assert {mark["strokeJoin"] for mark in marks if mark["type"] == "line"} == {"round"}


def test_level_lines_lie_on_each_other_wherever_their_points_are() -> None:
    """As at 100 %, which each config may reach at loads of its own."""
    points = [Point(panel=0, series=name, x=x, y=100.0) for name, x in (("a", 1.0), ("a", 3.0), ("b", 2.0), ("b", 4.0))]

    points += [Point(panel=0, series="c", x=x, y=x) for x in (1.0, 2.0)]  # which lies on none

    assert widths(Lines(points=points, panels=[PANEL], x_title="x")) == [(["a", "b", "c"], [2.86, 1.1, 1.1])]


def test_the_line_that_a_panel_draws_first_is_the_widest_there() -> None:
    """Whatever stands first in the legend, which is of all panels."""
    points = [Point(panel=0, series="b", x=x, y=x) for x in (1.0, 2.0)]
    points += [Point(panel=1, series=name, x=x, y=x) for name in "ab" for x in (1.0, 2.0)]
    views = spec(Lines(points=points, panels=[PANEL, PANEL], x_title="x"))["concat"]

    found = [layer["encoding"].get("strokeWidth") for view in views for layer in view["layer"]]
    assert [width["scale"]["domain"] + width["scale"]["range"] for width in found if width] == [["b", "a", 1.1, 2.86]]


def test_lines_apart_from_each_other_are_equally_wide() -> None:
    """And so is a single one; of very many the wide ones would cover the plot."""
    assert widths(lines(["a", "b"], apart=1.0)) == widths(lines(["a"])) == []
    assert widths(lines([f"config-{number}" for number in range(13)])) == []


def frontier(*places: tuple[float, float], best: int) -> Frontier:
    """Points with a mark each, one of them on the frontier."""
    points = [Point(panel=0, series="a", x=x, y=y) for x, y in places]
    return Frontier(
        points=points, panels=[PANEL], x_title="x", across=[(None, None)] * len(points), front=[places[best]],
        marks=[f"{number} %" for number in range(len(points))],
    )  # fmt: skip


def marked(form: Frontier) -> list[int]:
    """The points whose marks are written."""
    (text,) = [layer for layer in spec(form)["layer"] if layer["mark"].get("type") == "text"]
    found: list[int] = text["transform"][0]["filter"]["oneOf"]
    return found


def test_marks_that_would_stand_on_each_other_are_left_out_and_told() -> None:
    """Those on the frontier stay, and those beside them."""
    form = frontier((1.0, 1.0), (1.001, 1.001), (9.0, 9.0), best=1)

    assert marked(form) == [1, 2]
    assert form.left_out((6.0, 4.0), 60.0) == ["what stands at 1 point"]
    assert marked(frontier((1.0, 1.0), (5.0, 5.0), (9.0, 9.0), best=1)) == [0, 1, 2]


def test_an_axis_without_room_for_its_labels_keeps_every_second() -> None:
    """Of numbers, which are then evenly apart; of names as many as fit."""
    numbers, names = (lines(["a"], x_names=names) for names in ((), ("p", "q", "r", "s")))

    overlaps = [spec(form)["layer"][0]["encoding"]["x"]["axis"]["labelOverlap"] for form in (numbers, names)]
    assert overlaps == ["greedy", "greedy"]
    many = Lines(points=[Point(panel=0, series="a", x=x / 7, y=1.0) for x in range(40)], panels=[PANEL], x_title="x")
    assert spec(many)["layer"][0]["encoding"]["x"]["axis"]["labelOverlap"] == "parity"


def figure(names: Sequence[str]) -> Figure:
    """The chart of such lines, in a narrow image."""
    one = Chart(title="T", facts=["a fact"], form=lines(names), sql="", rows=[{"x": 1}], parameters={})
    return one.figure("x", size=(4.4, 3.0))


def test_no_rows_are_nothing_to_show() -> None:
    """A chart that does not ask whether there are any ends like all others, in an empty store."""
    with pytest.raises(NothingToShow, match="nothing to draw"):
        Chart(title="T", form=lines([]), sql="", rows=[], parameters={}).figure("x")


def test_a_subtitle_says_what_the_labels_leave_out() -> None:
    """It gives the common beginning and end of all names once; nothing if labels are whole."""
    names = [
        f"some-organisation/meta-llama/Llama-3.1-{size}B-Instruct-quantized-int4-awq-group128" for size in (8, 70, 405)
    ]

    assert figure(names).spec(False)["title"]["subtitle"] == [
        "a fact", "names: some-organisation/meta-llama/Llama-3.1-…-Instruct-quantized-int4-awq-group128"
    ]  # fmt: skip
    assert figure(["8B", "70B"]).spec(False)["title"]["subtitle"] == ["a fact"]


def bars(*found: Bar, **options: Any) -> Bars:
    """Speedups."""
    return Bars(**{"bars": found, "title": "speedup", "unit": DisplayUnit(None), "ratio": True, **options})


def test_neighbours_that_failed_alike_share_a_note_where_each_has_no_room() -> None:
    """Notes on each other could not be read; one says all of a row."""
    one = bars(
        Bar(row="m", series="a", value=2.0, note="wrong"), Bar(row="m", series="b", value=None, note="OOM"),
        Bar(row="m", series="c", value=None, note="OOM"), Bar(row="n", series="a", value=None, note="OOM"),
        Bar(row="n", series="b", value=None, note="timeout"), Bar(row="n", series="c", value=None, note="OOM"),
    )  # fmt: skip

    assert one.fields["shared"] == ["", "wrong, OOM ×2", "", "", "OOM ×2, timeout", ""]
    shown = {high: one.spec(False, (6.0, high), 60.0)["layer"][-1]["encoding"]["text"]["field"] for high in (4.0, 1.6)}
    assert shown == {4.0: "note", 1.6: "shared"}
    assert (
        one.spec(True, (6.0, 4.0), 60.0)["layer"][-1]["encoding"]["text"]["field"] == "shared"
    )  # letters have one size there


@pytest.mark.parametrize("high", [4.0, 1.6])
@pytest.mark.parametrize("values", [(2.0, 3.0, None), (0.5, 0.2, None), (1.1, None, 1.02)])
def test_no_note_lies_over_a_bar(values: tuple[float | None, ...], high: float) -> None:
    """It begins beyond all bars and intervals of its row, of all rows where it is higher than one, and ends within the plot."""
    form = bars(
        *(
            Bar(
                row=row, series=series, value=value, low=value and value * 0.9, high=value and value * 1.1,
                note="" if value == 2 else "fail_to_run",
            )
            for row, factor in (("m", 1.0), ("n", 1.2), ("o", 0.9))
            for series, value in zip("abc", (value and value * factor for value in values), strict=True)
        ),
        wanted_size=(6.0, high),
    )  # fmt: skip
    drawn, note = form.fields, form.spec(False, (6.0, high), 60.0)["layer"][-1]
    place, text = note["encoding"]["x"], drawn[note["encoding"]["text"]["field"]]
    sign, width = (1 if note["mark"]["align"] == "left" else -1), form._plot_area((6.0, high), 60.0).width
    per_point = math.log(form.domain[1] / form.domain[0]) / width

    for row, at, said in zip(drawn["row"], drawn["at"], text, strict=True):
        same = [k for k, other in enumerate(drawn["row"]) if other == row or "datum" in place]
        ends = [drawn[end][k] for k in same for end in ("value", "low", "high") if drawn[end][k] is not None]
        begins = math.log(place.get("datum", at)) * sign
        assert all(begins >= math.log(end) * sign for end in (1.0, *ends))
        room = (math.log(form.domain[sign > 0]) * sign - begins) / per_point
        assert not said or ems(said) * note["mark"]["fontSize"] + 4 <= room


def test_rows_of_their_own_share_a_note_too() -> None:
    """As where a row has more series than colours tell apart."""
    failed = [Bar(row="m", series=f"s{number}", value=None, note="OOM") for number in range(9)]

    assert bars(*failed, Bar(row="n", series="s0", value=2.0)).fields["shared"].count("OOM ×9") == 1


def test_an_interval_that_the_axis_cuts_off_has_no_end_there() -> None:
    """An end would be read as that of the interval."""
    form = bars(
        Bar(row="m", series="a", value=1.1, low=1.0, high=1.2), Bar(row="n", series="a", value=1.1, low=1e-6, high=1.2)
    )

    assert form.cut == 1
    assert form.fields["low_end"] == [1.0, None] and form.fields["high_end"] == [1.2, 1.2]
    assert form.fields["low"][1] == form.domain[0]


def panels(count: int, size: tuple[float, float], **options: Any) -> dict[str, Any]:
    """The chart of so many panels in that size."""
    points = [Point(panel=place, series=name, x=x, y=x) for place in range(count) for name in "ab" for x in (1.0, 2.0)]
    each = [Panel(y_title="most", title=f"panel {place}", unit=DisplayUnit("%")) for place in range(count)]
    form = Lines(points=points, panels=each, x_title="x")
    facts = ["a fact of some length"] * 9
    made = Chart(title="T", facts=facts, form=form, sql="", rows=[{"x": 1}], parameters={}, **options)
    return made.figure("x", size=size).still("f")


@pytest.mark.parametrize(("count", "columns"), [(2, 2), (3, 2), (4, 2)])
def test_panels_stand_beside_each_other_where_they_would_be_too_low(count: int, columns: int) -> None:
    """In a column of a paper, below a heading that leaves them their room; in a tall image they stand in one."""
    low, tall = panels(count, COLUMN), panels(count, (3.3, 8.0))

    assert (low["columns"], tall["columns"]) == (columns, 1)
    assert min(view["height"] for view in low["concat"]) >= 16
    assert len(low["title"]["subtitle"]) < len(tall["title"]["subtitle"])


def test_low_panels_have_the_unit_above_them() -> None:
    """Their axes have no room for a title, and their own titles say what it is of."""
    low, tall = panels(4, COLUMN), panels(4, (3.3, 8.0))

    assert [view["layer"][-1]["mark"]["text"] for view in low["concat"]] == [f"panel {place} · %" for place in range(4)]
    assert [view["layer"][-1]["mark"]["text"] for view in tall["concat"]] == [f"panel {place}" for place in range(4)]
    titles = [drawn["concat"][0]["layer"][0]["encoding"]["y"]["title"] for drawn in (low, tall)]
    assert titles == [None, "most [%]"]


def test_titles_of_panels_that_are_cut_are_counted() -> None:
    """Beside each other in a column of a paper, titles that differ at their ends could not be told apart."""
    titles = ["short", *(f"huggingface {metric}" for metric in ("geometric mean", "compile time", "memory"))]
    each = [Panel(y_title="y", title=title, unit=DisplayUnit("%")) for title in titles]
    points = [Point(panel=place, series="a", x=x, y=x) for place in range(4) for x in (1.0, 2.0)]
    form = Lines(points=points, panels=each, x_title="x", wanted_size=COLUMN)

    assert form.left_out(COLUMN, 0) == ["the whole title of 2 of 4 panels"]
    assert form.left_out((9.0, 8.0), 0) == []


def test_a_legend_leaves_names_out_rather_than_what_tells_them_apart() -> None:
    """Of models, configs and backends none is cut to what another could be, whatever the room."""
    names = [
        f"{m} · {c} · {b}" for m in ("bert", "mlp") for c in ("base", "pr") for b in ("eager", "inductor", "tensorrt")
    ]
    legend = Legend.fitting(names, COLUMN)

    assert legend.left_out == ["5 names of the legend"]
    assert not [label for label in legend.labels.values() if "·2" in label]
    assert legend.labels["bert · base · eager"] == "bert · base · eager"


def test_a_legend_below_is_no_wider_than_the_figure() -> None:
    """Whatever the letters that are left of its names: ellipses and digits are broader than what they stand for."""
    prefix = "meta-llama/Llama-3.1-405B-Instruct-fp8-tp8-max-num-batched-tokens-"
    legend = Legend.fitting([f"{prefix}{256 * n}{end}" for n in range(1, 7) for end in ("", "-chunked")], COLUMN)

    letter, entry, axis = theme.LABEL * theme.scale_of(COLUMN[0]), 24, 46
    widest = max(map(ems, legend.labels.values())) * letter + entry
    assert axis + legend.columns * widest + theme.PADDING <= COLUMN[0] * theme.POINTS_PER_INCH


def test_names_of_rows_leave_room_for_the_second_line_of_a_title() -> None:
    """Their letters are smaller, rather than every second name missing without a word."""
    rows = [Bar(row=f"resnet{number}", series="a", value=2.0) for number in range(11)]

    def letters(title: str) -> float:
        axis = bars(*rows, title=title).spec(False, COLUMN, 40.0)["layer"][1]["encoding"]["y"]["axis"]
        return float(axis.get("labelFontSize", theme.LABEL))

    assert letters("latency, change of the median [x, log; above 1 is better]") < letters("latency [x]")


def test_rows_have_more_room_where_their_names_need_it() -> None:
    """As long as that tells them apart; others keep to a third of the image."""
    names = [
        f"timm/vit_base_patch16_224-in1k-{size} · {name} · vllm-0.9-tp{n}-batch{m}"
        for size in ("small", "large") for name in ("inductor", "tensorrt") for n in (1, 2) for m in (256, 1024)
    ]  # fmt: skip
    found = row_labels(names, 3.3)

    assert 26 < max(map(len, found.values())) <= 39
    assert not [label for label in found.values() if "·2" in label]
    assert max(map(len, row_labels([f"{'x' * 40}{n}" for n in range(3)], 3.3).values())) <= 26


def test_a_phone_has_labels_that_tell_rows_apart() -> None:
    """The page carries them beside those in full, which would be cut at their ends."""
    found = [Bar(row=f"resnet · inductor · config-{number}", series="a", value=2.0) for number in range(12)]
    form = bars(*found)

    brief = form.spec(True, form.size, 60.0)["usermeta"]["brief"]
    assert [full for full, _ in brief] == [bar.row for bar in found]
    assert len({short for _, short in brief}) == 12 and max(len(short) for _, short in brief) <= 25
    assert "usermeta" not in form.spec(False, form.size, 60.0)


def test_a_picture_of_cells_has_a_pixel_for_each() -> None:
    """Rows count from the bottom; a later cell lies over an earlier one by Porter and Duff, and what is empty is transparent."""
    pillow = pytest.importorskip("PIL.Image")
    cells = [(ShadedCell(0, 0, 0.5), "#ff0000"), (ShadedCell(2, 1, 0.5), "#0080ff"), (ShadedCell(2, 1, 1.0), "#ff0000")]

    drawn = pillow.open(io.BytesIO(picture(cells, (3, 2)))).convert("RGBA")

    alpha = 0.7 + 0.3 * 0.35
    over = (
        round(255 * 0.7 / alpha),
        round(128 * 0.3 * 0.35 / alpha),
        round(255 * 0.3 * 0.35 / alpha),
        round(255 * alpha),
    )
    assert drawn.size == (3, 2)
    pixels = {(x, y): drawn.getpixel((x, y)) for x in range(3) for y in range(2)}
    assert {at: ink for at, ink in pixels.items() if ink[3]} == {(0, 1): (255, 0, 0, round(255 * 0.35)), (2, 0): over}


def test_where_nothing_differs_the_axis_is_that_of_the_intervals() -> None:
    """All values are 0: there is nothing that long intervals would hide."""
    low, high = extent([0.0, 0.0], [-300.0, 500.0, math.inf], zero=True)

    assert -500 <= low < -300 and 500 < high < 1100
    assert extent([0.0], [], zero=True) == (0.0, 1.0)
