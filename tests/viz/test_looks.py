import itertools
import random
from typing import Any

import numpy as np
import pytest
from bench.viz.data import all_configs
from bench.viz.marks.legend import Legend
from bench.viz.style import fonts, labels, palette, terminal, theme
from bench.viz.style.terminal import TextSeries
from bench.warehouse.console.tables import width
from hypothesis import given
from hypothesis import strategies as st

from ..builders import Builder, run, source
from .colours import CONES, ciede2000, contrast, lab, linear
from .stores import state

NAMES = [f"config-{number}" for number in range(40)]


def test_a_config_looks_the_same_in_whatever_order_it_is_named() -> None:
    """Colours depend on the set of names, never on their order."""
    shuffled = random.Random(1).sample(NAMES, len(NAMES))

    assert palette.styles(NAMES) == palette.styles(shuffled)


def test_a_config_alone_looks_as_it_does_beside_another() -> None:
    """If two do not ask for the same colour, both keep their own."""
    pairs = list(itertools.combinations(NAMES[:10], 2))
    alone = {name: palette.styles([name])[name] for name in NAMES}
    kept = [
        pair for pair in pairs if len({alone[name][0] for name in pair}) == len({alone[name][1] for name in pair}) == 2
    ]

    assert kept
    assert all(palette.styles(pair) == {name: alone[name] for name in pair} for pair in kept)


@pytest.mark.parametrize("count", [2, 6, 12, 40, 80])
def test_no_two_configs_look_alike(count: int) -> None:
    """Colour and marker together tell any of them apart."""
    looks = palette.styles([f"c{number}" for number in range(count)])

    assert count == len(set(looks.values()))
    assert min(count, len(palette.COLOURS)) == len({colour for colour, _ in looks.values()})


@pytest.mark.parametrize("deficiency", CONES)
def test_colours_stay_apart_without_red_or_green_cones(deficiency: str) -> None:
    """Any two of the twelve differ by 12 or more (CIEDE2000), as Machado 2009 simulates what is seen."""
    seen = [lab(CONES[deficiency] @ linear(colour)) for colour in palette.COLOURS]

    assert min(ciede2000(one, other) for one, other in itertools.combinations(seen, 2)) >= 12


@pytest.mark.parametrize("deficiency", CONES)
def test_parts_of_a_difference_stay_apart_without_red_or_green_cones(deficiency: str) -> None:
    """More, less, what nothing explains, and the whole."""
    colours = (palette.MORE, palette.LESS, palette.UNEXPLAINED, palette.WHOLE)
    seen = [lab(CONES[deficiency] @ linear(colour)) for colour in colours]

    assert min(ciede2000(one, other) for one, other in itertools.combinations(seen, 2)) >= 12
    assert min(contrast(colour, paper) for colour in colours for paper in ("#ffffff", "#0d1117")) >= 2


def test_colours_differ_in_grey_too() -> None:
    """Printed without colour, neighbours differ by 10 or more in lightness, any two of the first six by 5."""
    grey = [float(lab(linear(colour))[0]) for colour in palette.COLOURS]
    first = grey[: palette.FIRST_COLOURS]

    assert min(abs(one - other) for one, other in [*itertools.pairwise(grey), (first[-1], first[0])]) >= 10
    assert min(abs(one - other) for one, other in itertools.combinations(first, 2)) >= 5


@pytest.mark.parametrize("paper", ["#ffffff", "#0d1117"])
def test_every_colour_is_seen_on_white_and_on_dark_paper(paper: str) -> None:
    """At a contrast of 2 or more."""
    assert min(contrast(colour, paper) for colour in palette.COLOURS) >= 2


@pytest.mark.parametrize(
    ("look", "paper"), [("paper", "#ffffff"), ("dark", "#0d1117"), ("screen", "#ffffff"), ("screen", "#0d1117")]
)
def test_every_theme_can_be_read_on_its_ground(look: str, paper: str) -> None:
    """Text at a contrast of 3.9 or more; that of `screen` on a white page as on a dark one."""
    config = theme.image_config("sans-serif", look)

    assert min(contrast(config["axis"][part], paper) for part in ("labelColor", "titleColor")) >= 3.9
    assert (config["background"] == "transparent") == (look == "screen")


def test_the_difference_of_colours_is_that_of_the_standard() -> None:
    """Three pairs of Sharma, Wu and Dalal, Color Research and Application 30, 2005, table 1."""
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]

    assert [ciede2000(np.array(p), np.array(q)) for p, q, _ in pairs] == pytest.approx([d for *_, d in pairs], abs=1e-4)


def test_configs_of_a_store_look_the_same_whichever_of_them_are_drawn() -> None:
    """Twelve configs have twelve colours, and each keeps its own in charts of one, of some and of all."""
    known = NAMES[:12]
    together = palette.styles(known, known)

    assert len({colour for colour, _ in together.values()}) == 12
    for names in (known[:1], known[3:9], random.Random(2).sample(known, 5)):
        assert palette.styles(names, known) == {name: together[name] for name in names}


def test_a_config_keeps_its_look_when_others_come() -> None:
    """The configs of a store keep their looks."""
    before = palette.styles(NAMES[:5], NAMES[:5])

    assert {name: palette.styles(NAMES[:12], NAMES[:12])[name] for name in NAMES[:5]} == before


def test_of_imports_that_say_no_time_the_one_loaded_first_is_the_oldest() -> None:
    """Scheduler profiles do not say when they began; one whose name sorts first takes no colour from those before."""
    early, late = (source(name, run=name, recorded_at=at) for name, at in (("z", 1), ("a", 2)))

    assert all_configs(Builder().add(run("z"), run("a"), early, late)) == ("z", "a")


def test_of_many_configs_no_two_of_a_chart_have_one_colour() -> None:
    """If a store has more configs than colours, a chart's own come first."""
    looks = palette.styles(NAMES[::4], NAMES)

    assert len({colour for colour, _ in looks.values()}) == len(NAMES[::4]) == 10


def test_numbers_in_names_count_by_their_size() -> None:
    """However many digits or zeros they have; names that differ in nothing else stay apart."""
    names = ["config-10", "config-2", "v1.10-rc2", "config-02", "v1.9-rc10", "config", "v1.10-rc10"]

    assert sorted(names, key=labels.natural_key) == [
        "config", "config-02", "config-2", "config-10", "v1.9-rc10", "v1.10-rc2", "v1.10-rc10",
    ]  # fmt: skip


@given(st.lists(st.text("ab-0129 :·中", max_size=12), max_size=8, unique=True))
def test_names_are_sorted_alike_in_sql_and_in_python(names: list[str]) -> None:
    """Rows by `natural_order`, and what is called by several columns by `natural_key`."""
    query = "SELECT name FROM (SELECT unnest(?::VARCHAR[]) AS name) ORDER BY natural_order(name)"

    assert [name for (name,) in state("few").rows(query, [names])] == sorted(names, key=labels.natural_key)


def test_labels_are_never_alike() -> None:
    """Two names that shorten to the same text are told apart by a number."""
    found = labels.labels(["a" * 30 + "x" + "b" * 30, "a" * 30 + "y" + "b" * 30], 12)

    assert len(set(found.values())) == 2
    assert all(width(label) <= 12 for label in found.values())


def test_long_names_leave_out_words_that_others_have_too() -> None:
    """From the left, and never what tells them apart; short ones stay whole, and so does what begins another."""
    models = [f"some-organisation/{model}-base-uncased - bsz: 8" for model in ("bert", "distilbert")]

    assert list(labels.labels(models, 28).values()) == ["…bert-base-uncased - bsz: 8", "…distilbert…uncased - bsz: 8"]
    assert list(labels.labels(models, 60).values()) == models
    assert list(labels.labels(["the-model", "the-model-with-more"], 10).values()) == ["the-model", "…with-more"]
    numbered = [f"torchbench-inductor-batch-256-run-{number}" for number in range(30)]
    assert list(labels.labels(numbered, 9).values()) == [f"…run-{number}" for number in range(10)] + [
        f"…-{number}" if number > 99 else f"…run-{number}" for number in range(10, 30)
    ]


def test_words_that_names_share_are_cut_rather_than_what_tells_them_apart() -> None:
    """If whole words are too long for the room, the number stays, and the word after it loses its end."""
    names = [f"tokens-{256 * n}{end}" for n in range(1, 5) for end in ("", "-chunked")]

    assert list(labels.labels(names, 9).values())[:4] == ["…256", "…256-chu…", "…512", "…512-chu…"]


def test_what_all_names_share_is_told_where_labels_leave_it_out() -> None:
    """In the subtitle, once; short names need no such words."""
    names = [f"meta-llama/model-{number}-int4" for number in range(3)]

    assert labels.shared_part(names, list(labels.labels(names, 12).values())) == "meta-llama/model-…-int4"
    assert labels.shared_part(names, names) == ""
    assert labels.shared_part(["meta/a", "b"], ["…a", "b"]) == ""


@given(st.lists(st.text("ab-/ ·中", min_size=1, max_size=30), min_size=1, max_size=8, unique=True), st.integers(8, 30))
def test_labels_differ_and_fit_whatever_the_names(names: list[str], columns: int) -> None:
    """Even where nothing but a number can tell them apart."""
    found = list(labels.labels(names, columns).values())

    assert len(set(found)) == len(names)
    assert max(map(width, found)) <= columns


def test_a_name_in_parts_keeps_its_first() -> None:
    """Of `model · backend · config` readers look for the model; what they share of backends and configs is cut before it."""
    names = [
        f"{model} · {backend} · {config}"
        for model in ("eca_botnext26ts_256", "lcnet_050")
        for backend in ("inductor", "inductor_no_cudagraphs")
        for config in ("main", "my-branch")
    ]

    found = labels.labels(names, 33)

    assert found["lcnet_050 · inductor_no_cudagraphs · my-branch"] == "lcnet_050 · …cudagraphs · …branch"
    assert all(("botnext26" if name[:3] == "eca" else "lcnet") in label for name, label in found.items())


def test_what_is_shortened_twice_has_one_ellipsis() -> None:
    """A title of which a long word lost its middle may lose its own there, too."""
    assert labels.shorten_to_fit("abcd…fghijklmno", 10, width) == "abcd…lmno"


def test_a_label_is_as_wide_as_it_may_be_and_no_wider() -> None:
    """However few characters there are for however many parts."""
    name = " · ".join(["中文模型", "b", "a-config-of-some-length", "cuda"])

    for columns in range(8, 50):
        assert width(labels.labels([name], columns)[name]) <= columns


def test_lines_without_markers_are_dashed_where_colours_repeat() -> None:
    """Twelve have a colour each; of more no two look alike."""
    few, many = (Legend.fitting(NAMES[:count]).strokes("series") for count in (12, 30))

    assert "strokeDash" not in few
    looks = zip(many["color"]["scale"]["range"], map(tuple, many["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 30
    assert many["color"]["legend"] == many["strokeDash"]["legend"]


def test_nothing_in_a_label_can_steer_a_terminal() -> None:
    """Line breaks, escape sequences and direction marks are written out."""
    assert labels.printable("a\nb\x1b[31m\u202e中") == r"a\nb\x1b[31m\u202e中"


def test_a_legend_of_short_names_stands_beside_the_plot() -> None:
    """The plot keeps its height."""
    legend = Legend.fitting(["A", "B"])

    assert (legend.orient, legend.inches) == ("right", 0)


def test_a_legend_of_many_names_makes_the_figure_taller() -> None:
    """Forty names go below, in columns, and take no height from the plot."""
    legend = Legend.fitting(NAMES)

    assert legend.orient == "bottom"
    assert legend.columns > 1
    assert legend.inches > 1


def test_a_legend_of_many_short_names_takes_the_width_of_the_figure() -> None:
    """Four columns would leave half of it empty, and be twenty rows high."""
    names = [f"config{number:02}" for number in range(80)]
    legend = Legend.fitting(names)

    assert legend.columns == 6
    assert list(legend.labels.values()) == names


@pytest.mark.parametrize("length", [10, 26, 60])
def test_a_legend_below_ends_where_the_figure_does(length: int) -> None:
    """It begins where the plot does, so the labels of the axis beside it are no room for columns."""
    legend = Legend.fitting([f"{number:x>{length}}" for number in range(20)], below=True)

    assert 8 + legend.columns * (4 + max(map(len, legend.labels.values()))) <= 6 * 15


def draw(series: list[TextSeries], colour: bool = False) -> str:
    axes = (
        terminal.Axis("x", 0, max(max(one.x) for one in series)),
        terminal.Axis("y", 0, max(max(one.y) for one in series)),
    )
    return "\n".join(
        terminal.plot(series, *axes, columns=60, rows=10, colour=colour) + terminal.legend(series, 60, colour)
    )


def test_one_series_is_drawn_in_braille() -> None:
    """Its dots are finer than characters; both ends of the axes are named."""
    picture = draw([TextSeries("A", [0, 1024, 2048], [0, 50, 100])])

    assert any(0x2800 < ord(char) < 0x2900 for char in picture)
    assert "2,048" in picture
    assert "\x1b" not in picture


def test_several_series_without_colour_are_told_apart_by_letters() -> None:
    """A legend whose marks all look alike says nothing."""
    picture = draw([TextSeries("A", [1], [1]), TextSeries("B", [2], [2])])

    assert "  o A" in picture
    assert "  x B" in picture


def test_with_colour_every_series_has_its_own() -> None:
    """Escape sequences appear only when asked for."""
    picture = draw([TextSeries("A", [1], [1]), TextSeries("B", [2], [2])], colour=True)

    assert "\x1b[34m⣿\x1b[0m A" in picture
    assert "\x1b[31m⣿\x1b[0m B" in picture


def test_a_line_with_a_mark_of_its_own_lies_over_the_points() -> None:
    """And leaves them in dots, as if it were not there."""
    picture = draw([TextSeries("A", [0, 5, 10], [0, 9, 10]), TextSeries("fit", [0, 10], [0, 10], mark="━")])

    assert any(0x2800 < ord(char) < 0x2900 for char in picture)
    assert picture.count("━") > 40
    assert "  ━ fit" in picture


def test_latin_text_needs_no_font_but_the_bundled() -> None:
    """No program is asked, no warning given."""
    assert fonts.choose("Modèle — Ωμ Привет, 12 × 4…") == ("sans-serif", None)


def test_characters_no_font_has_are_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes instead of Chinese are never silent."""
    monkeypatch.setattr(fonts, "_installed", lambda: {"Latin Only": [(0x20, 0x7E)]})

    _, warning = fonts.choose("基线 A")

    assert warning is not None
    assert "基" in warning
    assert "fonts-noto-cjk" in warning
    _, of_another_script = fonts.choose("🚀")
    assert of_another_script is not None and "fonts-noto-cjk" not in of_another_script


def test_chinese_is_drawn_in_a_sans_font_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The renderer left alone would take a serif one."""
    monkeypatch.setattr(fonts, "_installed", lambda: {"Noto Sans CJK SC": [(0x4E00, 0x9FFF)]})

    assert fonts.choose("基线") == ("Noto Sans CJK SC, sans-serif", None)


@pytest.mark.exhaustive
def test_series_of_bars_stand_in_the_order_asked_for() -> None:
    """In the legend, in each row, and where each has a row of its own; else by name, whatever their values are."""
    from bench.viz.charts import compile_time, distribution, movers, speedups

    asked: dict[str, Any] = {"backends": ["tensorrt", "inductor"], "configs": ["pr", "base"]}
    wanted = ["tensorrt · pr", "tensorrt · base", "inductor · pr", "inductor · base"]
    for draw in (speedups.draw, compile_time.draw):
        assert [name for name, _ in draw(state("few"), **asked).names] == wanted
        assert [name for name, _ in draw(state("few")).names] == sorted(wanted)
    crowded = speedups.draw(
        state("many"), backends=["tensorrt", "inductor"], configs=["config-9", "config-3", "config-5", "config-4"]
    )
    assert [row.partition(" · ")[2] for row in crowded.fields["row"][:5]] == [
        f"{backend} · config-{n}" for backend, n in [*(("tensorrt", n) for n in (9, 3, 5, 4)), ("inductor", 9)]
    ]
    assert [name for name, _ in movers.draw(state("few"), "base", "pr", backends=asked["backends"]).names] == asked[
        "backends"
    ]
    sides = distribution.draw(state("few"), ["pr", "base"], backends=["inductor"])
    assert [name for name, _ in sides.names] == ["pr", "base"]
