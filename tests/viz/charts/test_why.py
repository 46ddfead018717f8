"""why: the title of a difference whose largest part is sure."""

import pytest
from bench.query.why.parts import NOTHING_DIFFERS, Decomposition, DifferencePart
from bench.viz.charts import why

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


def title_of(found: Decomposition, monkeypatch: pytest.MonkeyPatch) -> str:
    """The title of the chart of these parts."""
    monkeypatch.setattr(why, "why", lambda *_, **__: found)
    builder = Builder()
    for name in "ab":
        one = case("step", name)
        builder.add(run(name, name), one, outcome(one))
    return why.draw(builder, "a", "b").provenance.title
