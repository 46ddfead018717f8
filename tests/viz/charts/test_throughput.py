"""throughput: medians of like steps, and the roofs over them."""

from typing import Any

import pytest
from bench.viz.charts.throughput import draw

from ..steps import few
from .test_runtime_vs_tokens import costly


def roofs(figure: Any) -> list[list[tuple[float, float]]]:
    """The dashed curves: x and y of each of their points."""
    (layer,) = [layer for layer in figure.spec(False)["layer"] if "strokeDash" in layer["mark"]]
    rows = layer["data"]["values"]
    return [
        [(row["x"], row["y"]) for row in rows if row["curve"] == curve]
        for curve in dict.fromkeys(r["curve"] for r in rows)
    ]


def test_a_point_is_the_median_of_steps_of_about_so_many_tokens() -> None:
    """With the middle 90 %, and how many they are."""
    figure = draw(few("A", [(64, 10.0), (64, 20.0), (64, 40.0), (1000, 10.0)]))

    assert figure.fields["x"] == [64, 1000]
    assert figure.fields["y"] == [3200, 100_000]
    assert [figure.fields[end][0] for end in ("low", "high")] == pytest.approx([1760, 6080])
    assert figure.fields["t0"] == [3, 1]


def test_reading_the_weights_and_computing_are_the_roofs() -> None:
    """They meet at the knee; the subtitle says how much of the flat one is achieved."""
    figure = draw(few("A", [*costly(10.0, 500)]), max_model_run_ms=1e9)
    (start, knee), (_, end) = roofs(figure)
    said = " ".join(figure.spec(False)["title"]["subtitle"])

    assert start[1] / start[0] == pytest.approx(100, rel=0.01)  # tokens a second for each token, at 10 ms
    assert list(knee) == pytest.approx([500, 50_000], rel=0.05)
    assert end[1] == knee[1]
    assert "% of the limit of 50,0" in said or "% of the limit of 49,9" in said
    assert "dashed: the limits that the cost model sets" in said


def test_without_a_fit_there_are_points_and_the_reason() -> None:
    """No roof is drawn that is not known."""
    figure = draw(few("A", [(64, 10.0), (1000, 10.0)]))

    assert all("data" not in layer for layer in figure.spec(False)["layer"])
    assert "limit unknown: 2 steps are too few" in " ".join(figure.spec(False)["title"]["subtitle"])


def test_steps_without_tokens_or_time_are_counted() -> None:
    """They have no throughput."""
    (counts,) = draw(few("A", [(0, 10.0), (10, None), (10, 0.0), (10, 1.0)])).provenance.counts

    assert (counts["incomplete"], counts["drawn"]) == (3, 1)
