import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from bench import viz
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.marks.scatter import token_ticks
from bench.viz.output.figure import Figure
from bench.warehouse.errors import NothingToShow, UnknownName

from ...builders import Builder, chunk, run, source
from ...exhaustive import exhaustive, first_of
from ..steps import add_few, few, many

GOLDEN = Path(__file__).parents[1] / "golden"


def rows(figure: Figure, *names: str) -> list[tuple[Any, ...]]:
    places = [figure.columns.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in figure.rows]


def test_each_step_kept_is_one_point() -> None:
    """x is the tokens scheduled, y the model run; lines at the ends of a file are left out."""
    figure = draw(few(), configs=["A"])

    assert rows(figure, "tokens", "model_run_ms", "line") == [(64, 10, 11), (128, 12, 12), (2048, 80, 13)]


def test_without_configs_all_are_drawn() -> None:
    """Every config that has steps, by name."""
    figure = draw(add_few(few("B"), "A", [(1, 1.0)]))

    assert [name for name, _ in figure.names] == ["A", "B"]


def test_every_line_is_accounted_for() -> None:
    """read = trimmed + rejected + filtered + incomplete + kept, and drawn says how many are in the file."""
    builder = few("A", [(10, 1.0), (20, 500.0), (30, None), (40, 2.0)])

    (counts,) = draw(builder).provenance.counts

    assert counts == {
        "config": "A", "read": 24, "trimmed": 20, "rejected": 0, "filtered": 1, "incomplete": 1, "kept": 2, "drawn": 2,
    }  # fmt: skip


@exhaustive
def test_many_steps_are_reduced_and_the_subtitle_says_so() -> None:
    """The subtitle counts what is drawn and what it stands for; the counts add up to all."""
    figure = draw(many(30_000), max_model_run_ms=1e9)

    total = 30_000 - 40
    assert figure.provenance.total == total
    assert len(figure.rows) < total
    subtitle = " · ".join(figure.spec(False)["title"]["subtitle"])
    assert f"30,000 lines read · 40 trimmed · {total:,} steps drawn, darker where more are" in subtitle
    assert sum(n for (n,) in rows(figure, "steps")) == total


def slow_and_fast(outliers: int = 5, ms: float = 150.0) -> Builder:
    """Twice 3,000 steps of 10 to 20 ms, B 10 % above A, and a few far above both."""
    builder = Builder()
    for factor, config in enumerate("AB", start=10):
        bulk = [
            (1 + 8 * (step % 128), (10 + step % 128 / 12.8 + 0.01 * (step % 7)) * factor / 10) for step in range(3000)
        ]
        add_few(builder, config, [*bulk, *((500 + step, ms) for step in range(outliers))])
    return builder


def layers(figure: Figure) -> dict[str, Any]:
    """The layers of a still by their names, or by their marks."""
    found = figure.spec(False)["layer"]
    return {layer.get("name", layer["mark"]["type"]): layer for layer in found}


@exhaustive
def test_many_steps_are_shaded_by_how_many_are_where() -> None:
    """A cell is the darker the more steps it stands for; outliers are points, and counted."""
    figure = draw(slow_and_fast())
    shades = {
        n: shade for n, shade in zip(figure.fields["c6"], figure.fields["shade"], strict=True) if shade is not None
    }
    ordered = [shades[n] for n in sorted(shades)]

    assert {"cells", "steps", "area", "line"} <= layers(figure).keys()
    assert ordered == sorted(ordered) and ordered[0] < ordered[-1]
    apart = [y for y, shade in zip(figure.fields["c2"], figure.fields["shade"], strict=True) if shade is None]
    assert set(apart) == {150}
    assert "10 outliers as points · line: median, band: middle 90 %" in " · ".join(
        figure.spec(False)["title"]["subtitle"]
    )


@pytest.mark.exhaustive
def test_an_image_of_shades_is_one_picture_and_the_outliers() -> None:
    """A still has no data of shaded cells, and draws them by one mark; a page has the step of each cell."""
    figure = draw(slow_and_fast())
    values = figure.still("sans-serif")["data"]["values"]

    assert {tuple(value) for value in values} == {("c0", "c1", "c2")} and {value["c2"] for value in values} == {150}
    assert layers(figure)["cells"]["mark"]["type"] == "image" and len(layers(figure)["cells"]["data"]["values"]) == 1
    assert {"c1", "c2", "shade"} <= figure.interactive()["data"]["values"][0].keys()
    assert len(figure.interactive()["data"]["values"]) == len(figure.rows) > len(values)


@pytest.mark.exhaustive
def test_an_image_is_clipped_only_where_a_curve_leaves_the_plot() -> None:
    """Each clipped line costs an image as much time as a thousand cells; on a page one may zoom in."""
    figure = draw(slow_and_fast())

    lines = ("area", "line")
    assert [layers(figure)[mark]["mark"]["clip"] for mark in lines] == [False, False]
    assert all(layer["mark"]["clip"] for layer in figure.spec(True)["layer"] if layer["mark"]["type"] in lines)


@pytest.mark.exhaustive
def test_medians_say_which_config_is_above() -> None:
    """A line for each, within its band, through steps of about the same tokens."""
    line = layers(draw(slow_and_fast()))["line"]["data"]["values"]
    below, above = ([row["y"] for row in line if row["of"] == config] for config in "AB")

    assert len(below) == len(above) > 30
    assert above == pytest.approx([1.1 * y for y in below], rel=0.01)
    assert all(row["low"] <= row["y"] <= row["high"] for row in line)


@exhaustive
def test_a_line_of_medians_ends_where_steps_are_few() -> None:
    """Ten steps at ten times the tokens have no median of about so many tokens."""
    steps: list[tuple[int, float | None]] = [(1 + step % 100, 10.0 + step % 3) for step in range(3000)]
    builder = few("A", [*steps, *((1000 + 100 * i, 50.0) for i in range(10))])

    line = layers(draw(builder))["line"]["data"]["values"]

    assert max(row["x"] for row in line) <= 130


@pytest.mark.exhaustive
def test_outliers_leave_the_bulk_its_room() -> None:
    """Beyond a marked break the axis is compressed; where nothing is far off there is none, nor where it is not wanted."""
    broken = draw(slow_and_fast()).spec(False)["layer"]
    domain = broken[0]["encoding"]["y"]["scale"]["domain"]

    assert domain[0] == 0 and 20 < domain[1] < 30 and domain[2] == 150
    assert any(layer["encoding"].get("y", {}).get("datum") == domain[1] for layer in broken)
    for figure in (draw(slow_and_fast(0)), draw(slow_and_fast(), y_scale="linear")):
        assert len(figure.spec(False)["layer"][0]["encoding"]["y"]["scale"]["domain"]) == 2
        assert "150" in figure.text(90, 20, False) or max(rows(figure, "model_run_ms")) < (30,)


@exhaustive
def test_the_text_has_the_break_too() -> None:
    """The part below it has four fifths of the lines: half of the height is two thirds of the way to the break."""
    figure = draw(slow_and_fast(1), configs=["A"])

    assert re.findall(r"^ *([0-9.]+) ┤", figure.text(90, 20, False), re.MULTILINE) == ["150", "12.7", "0"]


def test_a_logarithmic_axis_has_no_place_for_zero() -> None:
    """Such a step is counted among those without a time."""
    figure = draw(few("A", [(1, 0.0), (2, 1.0), (3, 1000.0)]), y_scale="log", max_model_run_ms=1e9)

    assert rows(figure, "model_run_ms") == [(1,), (1000,)]
    assert figure.provenance.counts[0]["incomplete"] == 1


@pytest.mark.exhaustive
def test_a_sample_is_drawn_as_points_of_the_look_asked_for() -> None:
    """So many of each config, the same every time, and the subtitle says that it is a sample."""
    first, second = (draw(slow_and_fast(), sample_points=100, alpha=0.3, point_size=4) for _ in range(2))

    mark = layers(first)["steps"]["mark"]
    assert (len(first.rows), mark["fillOpacity"], mark["size"]) == (200, 0.3, 16)
    assert first.rows == second.rows
    assert "200 of 6,010 steps drawn, chosen by chance" in " ".join(first.spec(False)["title"]["subtitle"])


def test_few_steps_are_drawn_as_they_are() -> None:
    """Nothing is reduced that need not be."""
    figure = draw(few(), trim=0)

    assert figure.spec(False)["title"]["subtitle"] == ["A · all 23 steps drawn"]


def test_what_was_cut_stands_in_the_picture() -> None:
    """In the subtitle or the caption, by reason, and as a line at the limit, on paper and in a terminal."""
    warehouse = few("A", [(tokens, 10 + 0.09 * tokens) for tokens in range(4, 4004, 4)])

    told = "A · 1,020 lines read · 20 trimmed · 473 over the limit of 200 ms · 527 steps drawn"
    figure = draw(warehouse)
    assert " · ".join(figure.spec(False)["title"]["subtitle"]) == f"Model run time against scheduled tokens · {told}"
    assert told in draw(warehouse, title="").notes[0]
    _, line, name = figure.spec(False)["layer"]
    assert (line["mark"]["type"], line["encoding"]["y"]["datum"]) == ("rule", 200)
    assert name["mark"]["text"] == "limit 200 ms: slower steps are not drawn"
    assert re.search(r"^ 200 ┤", figure.text(90, 20, False), re.MULTILINE)


@pytest.mark.exhaustive
def test_a_limit_far_above_what_is_drawn_is_only_told() -> None:
    """On the axis it would press the steps to the ground; a limit that cut nothing is not there at all."""
    far = draw(few("A", [(1, 10.0), (2, 500.0)]))
    none = draw(few("A", [(1, 10.0), (2, 199.0)]))

    assert far.spec(False)["title"]["subtitle"] == [
        "A · 22 lines read · 20 trimmed · 1 over the limit of 200 ms · the only step drawn"
    ]
    assert [figure.spec(False)["mark"]["type"] for figure in (far, none)] == ["point", "point"]


@pytest.mark.parametrize("count", first_of(1, [2_000, 30_000]))
def test_the_embedded_query_gives_what_is_drawn(count: int) -> None:
    """Whoever pastes the SQL of a chart gets its rows, in its order."""
    builder = many(count)
    figure = draw(builder)

    cursor = builder.connection.execute(figure.provenance.sql)
    names = [column[0] for column in cursor.description]
    asked = [(row[names.index("x")], row[names.index("y")], row[names.index("n")]) for row in cursor.fetchall()]

    assert asked == rows(figure, "tokens", "model_run_ms", "steps")


@pytest.mark.exhaustive
def test_the_same_store_draws_the_same_chart() -> None:
    """Equal data, equal hash: a figure can be checked against another."""
    first, second = (draw(many(25_000)).provenance for _ in range(2))

    assert first == second


def test_an_unknown_config_is_named_with_the_nearest() -> None:
    """A typing error is told apart from an empty chart."""
    with pytest.raises(UnknownName, match=r"no config 'baselin'.*Nearest: 'baseline'"):
        draw(few("baseline"), configs=["baselin"])


@pytest.mark.parametrize(
    ("points", "options", "reason"),
    first_of(
        1,
        [
            ([], {}, "--trim 0"),
            ([(1, 900.0)], {}, "--max-model-run-ms"),
            ([(1, None)], {}, "lack their tokens or their model run"),
        ],
    ),
)
def test_an_empty_chart_names_the_filter_that_emptied_it(
    points: list[Any], options: dict[str, Any], reason: str
) -> None:
    """Nothing is drawn, and what to change is said."""
    with pytest.raises(NothingToShow, match=reason):
        draw(few("A", points), **options)


def test_a_store_without_steps_says_how_to_get_some() -> None:
    """Never a blank chart."""
    with pytest.raises(NothingToShow, match="bench ingest"):
        draw(Builder())


def test_a_config_without_steps_is_said_beside_those_that_have_some() -> None:
    """One empty side of a comparison is a warning."""
    builder = add_few(few("A"), "B", [])

    figure = draw(builder, configs=["A", "B"])

    assert figure.notes == ["no step to draw in 'B'"]


def test_own_recordings_are_drawn_too(warehouse: Builder) -> None:
    """Steps recorded by bench itself have no file; each can still be looked up."""
    builder = warehouse.add(run("r", "mine"))
    builder.add(*(chunk(line, [line], run="r", batch_id=line) for line in range(1, 30)))

    figure = draw(builder, configs=["mine"], trim=10)

    assert rows(figure, "tokens", "path") == [(tokens, None) for tokens in range(11, 20)]
    assert (figure.fields["c9"][0], figure.fields["c8"][0]) == ("run_id = 'r' AND line = ", 11)


def test_numbers_javascript_cannot_hold_become_text(warehouse: Builder) -> None:
    """A step number past 2^53 would be another number in a browser."""
    builder = warehouse.add(run("A"), source("a.jsonl", lines=1, run="A"))
    builder.add(chunk(1, [5], run="A", source_id="a.jsonl", batch_id=2**60))

    assert rows(draw(builder, trim=0), "step") == [(str(2**60),)]


def test_ticks_are_the_token_budget_and_its_halves() -> None:
    """As many as fit on a linear axis."""
    assert token_ticks(2048, 2048) == [0, 128, 256, 512, 1024, 2048]
    assert token_ticks(3000, None) == [0, 256, 512, 1024, 2048, 3000]
    assert token_ticks(4177, 2048) == [0, 256, 512, 1024, 2048, 4096]
    assert token_ticks(6000, 6000) == [0, 375, 750, 1500, 3000, 6000]
    assert token_ticks(1, 2048) == [0, 1]


@pytest.mark.parametrize("color_by", ["config", "batch"])
@pytest.mark.parametrize("configs", first_of(1, [1, 2, 40]))
def test_the_public_function_returns_a_valid_altair_chart(color_by: str, configs: int) -> None:
    """Altair's own schema accepts the spec."""
    altair = pytest.importorskip("altair")
    builder = Builder()
    for number in range(configs):
        add_few(builder, f"config.{number}[0]", [(number + 1, 1.0 + number), (512, 20.0)])

    chart = viz.runtime_vs_tokens(builder, color_by=color_by)

    assert isinstance(chart, altair.Chart)
    assert chart.to_dict(validate=True)["mark"]["type"] == "point"


@pytest.mark.parametrize("name", first_of(1, ["one", "two", "batch"]))
def test_the_spec_is_the_one_looked_at(name: str) -> None:
    """A change of the picture is a change of a golden file: BENCH_GOLDEN=1 writes it anew; then look at the chart."""
    builder = few("A") if name != "two" else add_few(few("A"), "B", [(32, 8.0), (512, 30.0)])
    figure = draw(builder, color_by="batch" if name == "batch" else "config")
    spec = {"still": figure.still("sans-serif"), "interactive": figure.spec(True)}
    path = GOLDEN / f"runtime_vs_tokens_{name}.json"
    if os.environ.get("BENCH_GOLDEN"):
        path.write_text(json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    assert json.loads(path.read_text(encoding="utf-8")) == spec


def costly(floor_ms: float = 10.0, knee: int = 500, steps: int = 1000, config: str = "A") -> list[tuple[int, float]]:
    """Steps that take a floor, and from a knee on as much more as they have more tokens."""
    tokens = [1 + (7919 * step) % 2000 for step in range(steps)]
    return [(n, floor_ms * max(1, n / knee) * (1 + 0.01 * ((31 * i) % 7 - 3))) for i, n in enumerate(tokens)]


@pytest.mark.exhaustive
def test_the_cost_model_is_drawn_over_the_steps_and_told() -> None:
    """A curve, a ring at the knee, and in the subtitle the parameters with their doubt and R²."""
    figure = draw(few("A", [*costly()]), fit=True, max_model_run_ms=1e9)
    spec = figure.spec(True)
    said = " ".join(spec["title"]["subtitle"])
    knee = spec["layer"][-1]["data"]["values"][0]

    assert re.search(r"(9\.99|10\.0)\d*±0\.\d+ ms, .* µs/token from (49\d|50\d)\S* on, R² 0\.9", said)
    assert knee["x"] == pytest.approx(500, rel=0.05) and knee["y"] == pytest.approx(10, rel=0.05)
    assert len(spec["layer"][1]["data"]["values"]) == 200
    assert figure.provenance.counts[0]["fit"] in said
    assert "━ cost model of A" in figure.text(80, 12, False)
    pytest.importorskip("altair").Chart.from_dict(figure.interactive())


@pytest.mark.exhaustive
def test_a_curve_says_for_how_many_requests_it_is_drawn(warehouse: Builder) -> None:
    """Steps of other batches lie above or below it, however good the fit is."""
    steps = [
        chunk(line, [int(tokens), *[1] * (line % 9)], "A", model_run_ms=ms + 0.5 * (line % 9))
        for line, (tokens, ms) in enumerate(costly(), 1)
    ]
    told = " ".join(draw(warehouse.add(run("A", "A"), *steps), fit=True).spec(True)["title"]["subtitle"])

    assert "line: fit for 5 requests" in told
    assert "requests" not in " ".join(draw(few("A", [*costly()]), fit=True).spec(True)["title"]["subtitle"])


@exhaustive
def test_each_step_has_its_fitted_time() -> None:
    """As a column of the table, from the query in the file."""
    builder = few("A", [*costly()])
    figure = draw(builder, fit=True, max_model_run_ms=1e9)
    pairs = rows(figure, "model_run_ms", "fitted_ms")

    assert all(fitted == pytest.approx(ms, rel=0.05) for ms, fitted in pairs)
    cursor = builder.connection.execute(figure.provenance.sql)
    place = [column[0] for column in cursor.description].index("fitted_ms")
    assert [row[place] for row in cursor.fetchall()] == [fitted for _, fitted in pairs]


@pytest.mark.exhaustive
def test_what_cannot_be_fitted_says_why() -> None:
    """The steps are drawn all the same."""
    builder = add_few(few("A"), "B", [*costly()])

    figure = draw(builder, fit=True)

    assert "A: no fit: 3 steps are too few, it takes 200" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert figure.provenance.counts[0]["fit"] == "no fit: 3 steps are too few, it takes 200"
    assert {row["of"] for row in figure.spec(False)["layer"][1]["data"]["values"]} == {"B"}


@pytest.mark.exhaustive
def test_of_many_models_the_subtitle_says_how_many_there_are() -> None:
    """A sentence for each would be a wall; the counts have them."""
    builder = Builder()
    for number in range(5):
        add_few(builder, f"c{number}", [*costly(10.0 + number)] if number else [(1, 1.0)])

    figure = draw(builder, fit=True, color_by="batch")

    assert "lines: cost models of 4 of 5 configs" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert all("fit" in count for count in figure.provenance.counts)


@exhaustive
@pytest.mark.parametrize("size", [None, (3.3, 2.2)])
def test_a_colour_bar_stands_beside_the_plot_and_the_names_below(size: tuple[float, float] | None) -> None:
    """Names below a bar as high as the plot would be cut off by the end of the image."""
    builder = Builder()
    for number in range(12):
        add_few(builder, f"config-{number}", [(64, 10.0), (128, 12.0)])

    encoding = draw(builder, color_by="batch", size=size).spec(False)["encoding"]

    assert encoding["shape"]["legend"]["orient"] == "bottom"
    bar = encoding["color"]["condition"]["legend"]["gradientLength"]
    assert bar < ((size or (6, 4))[1] * 72) / 1.4


@pytest.mark.exhaustive
def test_steps_that_share_a_cell_are_all_drawn() -> None:
    """The counts are of steps, as the subtitle's are: all that are kept, or as many as the sample has."""
    store = many(6000)
    shaded, sampled = draw(store), draw(store, sample_points=100)

    assert [count["drawn"] for count in shaded.provenance.counts] == [
        count["kept"] for count in shaded.provenance.counts
    ]
    assert len(shaded.rows) < sum(count["drawn"] for count in shaded.provenance.counts)
    assert [count["drawn"] for count in sampled.provenance.counts] == [100, 100]


def test_the_name_of_the_limit_stands_where_no_page_clips_it() -> None:
    """A page that can be zoomed clips what stands above its plot, which is the line of the limit; an image does not."""
    figure = draw(few("A", [(64, 10.0), (128, 90.0), (256, 150.0)]), max_model_run_ms=100)

    def baseline(interactive: bool) -> str:
        (name,) = [layer for layer in figure.spec(interactive)["layer"] if "limit" in str(layer["mark"].get("text"))]
        return str(name["mark"]["baseline"])

    assert (baseline(False), baseline(True)) == ("bottom", "top")


@exhaustive
def test_no_line_joins_medians_across_tokens_that_no_step_has() -> None:
    """A server that decodes one token or prefills 1,000 has two medians, and nothing is known between them."""
    points: list[tuple[int, float | None]] = [(1, 7.0 + n % 5 / 10) for n in range(1500)]
    points += [(1000, 33.0 + n % 5 / 10) for n in range(1500)]

    layers = draw(few("A", points)).spec(False)["layer"]

    (line,) = [layer for layer in layers if layer["mark"]["type"] == "line" and "stroke" not in layer["mark"]]
    spans: dict[int, set[float]] = {}
    for value in line["data"]["values"]:
        spans.setdefault(value["line"], set()).add(value["x"])
    assert [(min(span), max(span)) for span in spans.values()] == [(0.0, 11.0), (990.0, 1010.0)]
