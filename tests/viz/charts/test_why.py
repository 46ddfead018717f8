"""why: the title of a difference whose largest part is sure."""

import pytest
from bench.query.why.parts import NOTHING_DIFFERS, Decomposition, DifferencePart
from bench.viz.charts import why
from bench.viz.output.figure import Figure
from bench.viz.style import palette

from ...builders import Builder, case, outcome, run

LEFT = DifferencePart("unattributed", None, None, 0.0, None, None)


@pytest.mark.parametrize(
    ("whole", "largest", "title"),
    [
        ((9e6, 11e6), (6e6, 10e6), "step: +10 ms, of which +8 ms matmul"),
        ((-1e6, 21e6), (6e6, 10e6), "Why step differs from a to b"),
        ((9e6, 11e6), (-1e6, 17e6), "Why step differs from a to b"),
        ((None, None), (6e6, 10e6), "Why step differs from a to b"),
    ],
)
def test_the_title_is_the_largest_part_where_both_are_sure(
    monkeypatch: pytest.MonkeyPatch, whole: tuple[float, float], largest: tuple[float, float], title: str
) -> None:
    """It says what is drawn where the interval of the whole or of the part holds 0, or none is known."""
    found = Decomposition(
        "ns",
        DifferencePart("step", 20e6, 30e6, 10e6, *whole),
        [DifferencePart("matmul", 10e6, 18e6, 8e6, *largest), DifferencePart("copy", 10e6, 12e6, 2e6, 1e6, 3e6)],
        LEFT,
    )

    assert title_of(found, monkeypatch) == title


def test_the_title_says_that_nothing_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference that is judged, with no part beyond noise, is titled so."""
    part = DifferencePart("matmul", 10e6, 11e6, 1e6, -2e6, 4e6)
    found = Decomposition("ns", DifferencePart("step", 20e6, 21e6, 1e6, -3e6, 5e6), [part], LEFT, [NOTHING_DIFFERS])

    assert title_of(found, monkeypatch) == "step: nothing differs beyond noise"


def test_colours_say_which_way_a_part_went(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of them there are: a colour is not that of a config that has the name."""
    parts = [DifferencePart("copy", 9e6, 7e6, -2e6, -3e6, -1e6)]
    found = Decomposition("ns", DifferencePart("step", 20e6, 18e6, -2e6, -3e6, -1e6), parts, LEFT)
    colours = next(
        layer["encoding"]["color"] for layer in drawn(found, monkeypatch).spec(False)["layer"] if "name" in layer
    )

    assert dict(zip(colours["scale"]["domain"], colours["scale"]["range"], strict=True)) == {
        "less": palette.LESS, "unattributed": palette.UNEXPLAINED, "whole": palette.WHOLE
    }  # fmt: skip


def test_where_nothing_differs_at_all_the_unit_is_that_of_the_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 800,000 ns."""
    found = Decomposition(
        "ns",
        DifferencePart("step", 2e6, 2e6, 0.0, -8e5, 9e5),
        [],
        DifferencePart("unattributed", 0.0, 0.0, 0.0, -8e5, 9e5),
    )

    assert "µs" in str(drawn(found, monkeypatch).spec(False))


def test_the_place_of_a_line_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text loses its end; a kernel has its name first."""
    whole = DifferencePart("work:score", 1e6, 2e6, 1e6, 9e5, 1.1e6)
    text = "score: rows = sorted(rows, key=lambda n: -n, reverse=False)[::-1]"
    parts = [
        DifferencePart(text, 0.0, 9e5, 9e5, 8e5, 1e6, "/far/away/work.py", 11),
        DifferencePart("fused_gelu", 0.0, 9e4, 9e4, 8e4, 1e5, "/far/away/work.py", 12),
    ]
    found = Decomposition("ns", whole, parts, DifferencePart("unattributed", None, None, 1e4, 0.0, 2e4))
    labels = [values[0] for values in drawn(found, monkeypatch).rows]

    assert labels[:2] == [f"work.py:11  {text}", "fused_gelu (work.py:12)"]
    shown = drawn(found, monkeypatch).text(90, 30, False)
    assert "work.py:11  s" in shown and "fused_gelu (work.py:12)" in shown


def title_of(found: Decomposition, monkeypatch: pytest.MonkeyPatch) -> str:
    """The title of the chart of these parts."""
    return drawn(found, monkeypatch).provenance.title


def drawn(found: Decomposition, monkeypatch: pytest.MonkeyPatch) -> Figure:
    """The chart of these parts."""
    monkeypatch.setattr(why, "why", lambda *_, **__: found)
    builder = Builder()
    for name in "ab":
        one = case("step", name)
        builder.add(run(name, name), one, outcome(one))
    return why.draw(builder, "a", "b")
