import itertools
import random

import pytest
from bench.viz import fonts, labels, palette, text
from bench.viz.legend import Legend
from bench.viz.text import Series

NAMES = [f"config-{number}" for number in range(40)]


def test_a_config_looks_the_same_in_whatever_order_it_is_named() -> None:
    """Colours depend on the set of names, never on their order."""
    shuffled = random.Random(1).sample(NAMES, len(NAMES))

    assert palette.styles(NAMES) == palette.styles(shuffled)


def test_a_config_alone_looks_as_it_does_beside_another() -> None:
    """Where two do not ask for the same colour, both keep their own."""
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


@pytest.mark.parametrize("deficiency", ["none", "deutan", "protan"])
def test_the_first_colours_stay_apart_without_red_or_green_cones(deficiency: str) -> None:
    """Any two of the colours that small charts use differ by 10 or more in Lab, simulated after Viénot 1999."""
    seen = [_lab(_simulate(colour, deficiency)) for colour in palette.COLOURS[: palette.FIRST_COLOURS]]

    assert (
        min(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) ** 0.5 for p, q in itertools.combinations(seen, 2))
        > 10
    )


def _simulate(colour: str, deficiency: str) -> list[float]:
    linear = [_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    matrix = {
        "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "protan": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
        "deutan": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
    }[deficiency]
    return [sum(m * v for m, v in zip(row, linear, strict=True)) for row in matrix]


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _lab(rgb: list[float]) -> tuple[float, float, float]:
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (
        sum(m * v for m, v in zip(row, rgb, strict=True)) / white
        for row, white in zip(rows, (0.9505, 1, 1.089), strict=True)
    )
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def test_long_names_lose_their_middle() -> None:
    """Both ends of a name tell it from its neighbours."""
    assert labels.shorten("llama-70b/tp8/max-num-seqs-16", 17) == "llama-70…-seqs-16"
    assert labels.shorten("基线基线基线配置", 9) == "基线…配置"


def test_labels_are_never_alike() -> None:
    """Two names that shorten to the same text are told apart by a number."""
    found = labels.labels(["a" * 30 + "x" + "b" * 30, "a" * 30 + "y" + "b" * 30], 12)

    assert len(set(found.values())) == 2
    assert all(labels.width(label) <= 12 for label in found.values())


def test_nothing_in_a_label_can_steer_a_terminal() -> None:
    """Line breaks, escape sequences and direction marks are written out."""
    assert labels.printable("a\nb\x1b[31m\u202e中") == r"a\nb\x1b[31m\u202e中"


def test_a_legend_of_short_names_stands_beside_the_plot() -> None:
    """The plot keeps its height."""
    legend = Legend.fitting(["A", "B"], 6)

    assert (legend.orient, legend.inches) == ("right", 0)


def test_a_legend_of_many_names_makes_the_figure_taller() -> None:
    """Forty names go below, in columns, and take no height from the plot."""
    legend = Legend.fitting(NAMES, 6)

    assert legend.orient == "bottom"
    assert legend.columns > 1
    assert legend.inches > 1


def draw(series: list[Series], colour: bool = False) -> str:
    axes = text.Axis("x", 0, max(max(one.x) for one in series)), text.Axis("y", 0, max(max(one.y) for one in series))
    return "\n".join(text.plot(series, *axes, columns=60, rows=10, colour=colour) + text.legend(series, 60, colour))


def test_one_series_is_drawn_in_braille() -> None:
    """Its dots are finer than characters; both ends of the axes are named."""
    picture = draw([Series("A", [0, 1024, 2048], [0, 50, 100])])

    assert any(0x2800 < ord(char) < 0x2900 for char in picture)
    assert "2,048" in picture
    assert "\x1b" not in picture


def test_several_series_without_colour_are_told_apart_by_letters() -> None:
    """A legend whose marks all look alike says nothing."""
    picture = draw([Series("A", [1], [1]), Series("B", [2], [2])])

    assert "  o A" in picture
    assert "  x B" in picture


def test_with_colour_every_series_has_its_own() -> None:
    """Escape sequences appear only when asked for."""
    picture = draw([Series("A", [1], [1]), Series("B", [2], [2])], colour=True)

    assert "\x1b[34m⣿\x1b[0m A" in picture
    assert "\x1b[31m⣿\x1b[0m B" in picture


def test_a_line_with_a_mark_of_its_own_lies_over_the_points() -> None:
    """And leaves them in dots, as if it were not there."""
    picture = draw([Series("A", [0, 5, 10], [0, 9, 10]), Series("fit", [0, 10], [0, 10], mark="━")])

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


def test_chinese_is_drawn_in_a_sans_font_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The renderer left alone would take a serif one."""
    monkeypatch.setattr(fonts, "_installed", lambda: {"Noto Sans CJK SC": [(0x4E00, 0x9FFF)]})

    assert fonts.choose("基线") == ("Noto Sans CJK SC, sans-serif", None)
