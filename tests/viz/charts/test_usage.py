"""usage: FEATURES B2, and what it says of values that cannot be drawn."""

from collections.abc import Sequence
from typing import Any

import pytest
from bench.viz.charts.usage import draw
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName

from ...builders import Builder, case, memory, metric, outcome, run, timing
from ..steps import fields

Cell = tuple[str, int, int, float]  # model, batch size, sequence length, seconds
CELLS: tuple[Cell, ...] = (("bert", 8, 32, 1.0), ("bert", 8, 64, 2.0), ("gpt2", 8, 32, 0.5), ("gpt2", 16, 32, 0.8))


def imported(cells: Sequence[Cell] = CELLS, config: str = "main", **axes: Any) -> Builder:
    """A run as `model,batch_size,sequence_length,result` becomes it."""
    builder = Builder().add(run(config, config))
    for name, batch_size, sequence_length, seconds in cells:
        one = case(name, config, batch_size=batch_size, sequence_length=sequence_length, mode="inference", **axes)
        builder.add(one, metric(one, "latency", seconds * 1e9, unit="ns", better="lower"))
    return builder


def test_a_line_is_a_model_at_one_value_of_the_other_axis() -> None:
    """Named as the scripts name it, over sequence lengths unless asked otherwise."""
    store = imported()

    assert fields(draw(store), "series", "x", "y") == [
        ("bert - bsz: 8", 32, 1.0), ("bert - bsz: 8", 64, 2.0), ("gpt2 - bsz: 8", 32, 0.5), ("gpt2 - bsz: 16", 32, 0.8),
    ]  # fmt: skip
    assert fields(draw(store, x="batch-size", models=["gpt2"]), "series", "x", "y") == [
        ("gpt2 - len: 32", 8, 500.0), ("gpt2 - len: 32", 16, 800.0),
    ]  # fmt: skip


def test_a_model_has_one_colour_and_stands_where_it_was_asked_for() -> None:
    """Its sizes differ in their markers; another chart of it has the same colour."""
    figure = draw(imported(), models=["gpt2", "bert"])
    looks = figure.spec(False)["layer"][-1]["encoding"]
    colours, markers = looks["color"]["scale"]["range"], looks["shape"]["scale"]["range"]

    assert looks["color"]["scale"]["domain"] == ["gpt2 - bsz: 8", "gpt2 - bsz: 16", "bert - bsz: 8"]
    assert colours[0] == colours[1] != colours[2] and markers[0] != markers[1]


def test_a_model_that_was_asked_for_and_has_no_such_size_is_named() -> None:
    """It is not left out in silence."""
    store = imported()
    store.add(one := case("mlp", "main", batch_size=8, mode="inference"), metric(one, "latency", 1e9, unit="ns"))

    subtitle = draw(store, models=["mlp", "bert"]).spec(False)["title"]["subtitle"]
    assert "no time at any sequence length: mlp" in " ".join(subtitle)


def test_title_axes_and_dashes_are_those_of_the_scripts() -> None:
    """`Time usage for inference A vs. B`, log-log unless told otherwise, dashed lines."""
    figure = draw(imported())
    spec = figure.spec(False)

    assert spec["title"]["text"] == ["Time usage for inference bert vs. gpt2"]
    assert {layer["encoding"][axis]["scale"]["type"] for layer in spec["layer"] for axis in "xy"} == {"log"}
    assert "strokeDash" in spec["layer"][0]["mark"]
    linear = draw(imported(), no_log=True).spec(False)["layer"][0]["encoding"]
    assert [linear[axis]["scale"]["domain"][0] for axis in "xy"] == [0, 0]


def test_a_title_of_both_modes_is_a_phrase_too() -> None:
    """`Time usage of A vs. B`: no mode stands between the two."""
    builder = imported()
    training = case("bert", "main", batch_size=8, sequence_length=8, mode="training")
    builder.add(training, outcome(training), timing(training, 1_000_000))

    assert draw(builder).spec(False)["title"]["text"] == ["Time usage of bert vs. gpt2"]


def test_models_have_short_names() -> None:
    """In the order of the models; one too few is an error."""
    store = imported()

    figure = draw(store, models=["gpt2", "bert"], short_names=["G", "B"])

    assert {name for name, _ in figure.names} == {"B - bsz: 8", "G - bsz: 8", "G - bsz: 16"}
    with pytest.raises(BenchError, match="2 models and 1 short name"):
        draw(store, models=["gpt2", "bert"], short_names=["G"])


def test_the_newest_value_of_each_case_is_drawn() -> None:
    """A second run of the config replaces what it measured again, and nothing else."""
    builder = imported()
    one = case("bert", "newer", batch_size=8, sequence_length=32, mode="inference")
    builder.add(run("newer", "main", started_at=1), one, metric(one, "latency", 3e9, unit="ns"))

    assert fields(draw(builder), "series", "x", "y")[:2] == [
        ("bert - bsz: 8", 32, 3.0),
        ("bert - bsz: 8", 64, 2.0),
    ]


def test_a_run_that_is_named_is_drawn_though_a_newer_one_has_its_cases() -> None:
    """The newest of each case is that of the runs that were chosen."""
    builder = imported([("bert", 8, 32, 1.0)])
    one = case("bert", "newer", batch_size=8, sequence_length=32, mode="inference")
    builder.add(run("newer", "main", started_at=1), one, metric(one, "latency", 3e9, unit="ns"))

    assert fields(draw(builder, runs=["main~1"]), "x", "y") == [(32, 1.0)]


@pytest.mark.exhaustive
def test_an_axis_is_not_blamed_for_what_the_divisor_lacks(warehouse: Builder) -> None:
    """Nor failed cases for what no case that passed measured."""
    store = imported([("bert", 8, 32, 1.0), ("gpt2", 8, 64, 1.0)])
    with pytest.raises(NothingToShow, match="bert has no result at the sizes of the others"):
        draw(store, relative_to="bert")
    with pytest.raises(NothingToShow, match="none of 1 result has a sequence-length or batch-size"):
        draw(warehouse.add(run(), case("m"), metric(case("m"), "latency", 1.0, unit="ns")))
    good, bad = (case(name, "main", batch_size=1, sequence_length=8) for name in ("good", "bad"))
    store = imported().add(good, outcome(good), bad, outcome(bad, "OOM"))
    with pytest.raises(NothingToShow, match="no gpu-memory was measured"):
        draw(store, metric="gpu-memory")


def test_measured_cases_have_intervals() -> None:
    """Samples of our own runs are drawn with the interval of their median."""
    one = case("mlp", sequence_length=8, batch_size=1)
    builder = Builder().add(run(), one, outcome(one), *(timing(one, 1000 + i) for i in range(10)))

    assert fields(draw(builder), "y", "low", "high") == [(1.0045, 1.001, 1.008)]


def test_relative_to_a_model_divides_at_the_same_sizes() -> None:
    """Sizes that this model lacks cannot be divided, and are left out; the model itself is no line."""
    figure = draw(imported(), relative_to="bert")

    assert fields(figure, "series", "x", "y") == [("gpt2 - bsz: 8", 32, 0.5)]
    assert figure.spec(False)["layer"][0]["encoding"]["y"]["title"] == "time relative to bert [x]"
    with pytest.raises(UnknownName, match="'bert'"):
        draw(imported(), relative_to="brt")


def test_zero_has_no_place_on_a_logarithmic_axis() -> None:
    """It is counted and told, and drawn on a linear one."""
    store = imported([("m", 1, 32, 0.0), ("m", 1, 64, 1.0)])

    figure = draw(store)

    assert figure.notes == ["1 value not above 0: no place on a logarithmic axis; see --no-log"]
    assert figure.provenance.counts == [{"config": "main", "results": 2, "drawn": 1}]
    assert fields(figure, "x") == [(64,)]
    assert fields(draw(store, no_log=True), "x") == [(32,), (64,)]


def test_failed_cases_are_counted_by_status() -> None:
    """A line that ends because memory did says so."""
    one = case("m", "main", batch_size=1, sequence_length=128)
    builder = imported().add(one, outcome(one, "OOM"))

    assert "failed: OOM 1" in draw(builder).spec(False)["title"]["subtitle"][0]


def test_failures_are_those_of_what_is_drawn() -> None:
    """Not of cases without a place on the x axis; a case that left its memory has failed in a chart of time."""
    no_length = case("resnet", "main", batch_size=1)
    half = case("m", "main", batch_size=1, sequence_length=128)
    builder = imported().add(no_length, outcome(no_length, "OOM"), half, outcome(half, "timeout"))
    store = builder.add(metric(half, "memory", 2.0**20, unit="bytes"))

    assert draw(store).spec(False)["title"]["subtitle"] == ["main · 4 results · failed: timeout 1"]
    assert draw(store, x="batch-size").spec(False)["title"]["subtitle"] == [
        "main · 4 results · failed: OOM 1, timeout 1"
    ]


def test_an_axis_that_nobody_measured_names_the_other(warehouse: Builder) -> None:
    """Models without a sequence length are drawn over batch sizes."""
    one = case("m", "main", batch_size=4)
    builder = warehouse.add(run("main"), one, metric(one, "latency", 1e9, unit="ns"))

    with pytest.raises(NothingToShow, match="--x batch-size"):
        draw(builder)


def test_what_was_not_measured_is_what_was_asked_for(warehouse: Builder) -> None:
    """A store of times has no memory to draw, which is not to say that nothing was measured."""
    one = case("m", "main", sequence_length=8)
    store = warehouse.add(run("main"), one, outcome(one), metric(one, "latency", 1e9, unit="ns"))

    with pytest.raises(NothingToShow, match="no memory was measured"):
        draw(store, metric="memory")


def test_memory_is_drawn_where_there_is_no_time(warehouse: Builder) -> None:
    """In the unit that suits it."""
    one = case("m", "main", batch_size=4, sequence_length=8)
    builder = warehouse.add(run("main"), one, metric(one, "memory", 5 * 2.0**20, unit="bytes"))

    figure = draw(builder)

    assert fields(figure, "y") == [(5.0,)]
    assert figure.spec(False)["layer"][0]["encoding"]["y"]["title"] == "process memory [MiB]"


def test_two_kinds_of_memory_are_never_on_one_axis(warehouse: Builder) -> None:
    """The kind that most cases have is drawn and named; cases that lack it are counted."""
    builder = warehouse.add(run("main"))
    for length in (32, 64):
        one = case("m", "main", batch_size=1, sequence_length=length)
        builder.add(one, metric(one, "memory", 5 * 2.0**20, unit="bytes"))
    gpu = case("on-a-gpu", "main", batch_size=1, sequence_length=32)
    builder.add(gpu, memory(gpu, 2**30, source="cuda_allocated", statistic="peak"))

    figure = draw(builder, metric="memory")

    assert fields(figure, "series", "y") == [("m - bsz: 1", 5), ("m - bsz: 1", 5)]
    assert "1 case with another kind of memory left out" in " ".join(figure.spec(False)["title"]["subtitle"])


def test_a_kind_of_memory_can_be_asked_for(warehouse: Builder) -> None:
    """Else it is the process that ran the case alone; the peak of a phase, in a process that others share, is another kind."""
    one = case("m", "main", batch_size=1, sequence_length=32)
    builder = warehouse.add(run("main"), one, memory(one, 3 * 2**20, source="rss_growth", phase="steady"))
    builder.add(memory(one, 5 * 2**20, phase=None), memory(one, 9 * 2**20, phase="steady"))
    store = builder

    drawn = {asked: draw(store, metric=asked) for asked in ("memory", "process-memory", "call-memory")}

    assert {asked: figure.fields["y"] for asked, figure in drawn.items()} == {
        "memory": [5], "process-memory": [5], "call-memory": [3],
    }  # fmt: skip
    title = drawn["call-memory"].spec(False)["layer"][0]["encoding"]["y"]["title"]
    assert title == "memory of a call [MiB]"
