"""memory-timeline: readings over time, or peaks where there is nothing else."""

import pytest
from bench.viz.charts.memory_timeline import draw
from bench.warehouse.errors import NothingToShow
from bench.warehouse.events import CaseRecord

from ...builders import Builder, case, memory, run

SECOND_US = 1_000_000


def read(one: CaseRecord, *sizes: int, **fields: str) -> Builder:
    """A run with a reading a second."""
    readings = (
        memory(one, size, recorded_at=k * SECOND_US, **{"statistic": "reading", **fields})
        for k, size in enumerate(sizes)
    )
    return Builder().add(run(), one, *readings)


def test_readings_are_lines_from_the_first_on() -> None:
    """In the unit that suits them, by source."""
    figure = draw(read(case("m"), 2**30, 3 * 2**30))

    assert (figure.fields["series"], figure.fields["x"], figure.fields["y"]) == (["rss", "rss"], [0.0, 1.0], [1.0, 3.0])
    assert [layer["mark"]["type"] for layer in figure.spec(False)["layer"]] == ["line", "point"]
    assert figure.spec(False)["layer"][0]["mark"]["interpolate"] == "step-after"


def test_peaks_alone_are_points() -> None:
    """Nothing is known of the time between them, so no line joins them."""
    figure = draw(read(case("m"), 2**30, 3 * 2**30, statistic="peak"))

    assert [layer["mark"]["type"] for layer in figure.spec(False)["layer"]] == ["point"]
    assert "2 peaks" in figure.spec(False)["title"]["subtitle"][0]


def test_readings_without_a_time_are_counted() -> None:
    """They cannot be placed; where none can, nothing is drawn."""
    one = case("m")
    builder = read(one, 1, 2).add(memory(one, 3, statistic="reading"))

    assert "1 reading without a time left out" in " ".join(draw(builder).spec(False)["title"]["subtitle"])
    with pytest.raises(NothingToShow, match="no memory was recorded with its time"):
        draw(Builder().add(run(), one, memory(one, 3)))


def test_many_readings_keep_their_highest() -> None:
    """A spike between two intervals is no less high."""
    figure = draw(read(case("m"), *(100 if k == 1777 else 1 for k in range(3000))))

    assert len(figure.rows) <= 310
    assert max(figure.fields["y"]) == 100


def test_what_means_different_things_has_axes_of_its_own() -> None:
    """The whole process, and what a call added: two plots, each with its unit."""
    builder = read(case("m"), 2**30, statistic="peak")
    builder.add(memory(case("m"), 3 * 2**20, source="rss_growth", statistic="peak", recorded_at=SECOND_US))

    figure = draw(builder)

    assert list(zip(figure.fields["panel"], figure.fields["y"], strict=True)) == [(0, 1.0), (1, 3.0)]
    assert "rss_growth, added by a call" in str(figure.spec(False))


def test_of_many_cases_those_that_held_most_are_drawn() -> None:
    """As many as there are colours, and the subtitle says of how many; all are drawn where somebody asks."""
    builder = Builder().add(run())
    for number in range(20):
        one = case(f"m{number}")
        builder.add(one, memory(one, 1000 * (number + 1), recorded_at=0, statistic="reading"))
    store = builder

    figure = draw(store)

    assert sorted(figure.fields["y"])[0] == 9000 / 1024
    assert "the 12 of 20 cases that held most · 12 readings" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert (len(draw(store, top=3).rows), len(draw(store, all_cases=True).rows)) == (3, 20)
