"""compile-time: bars from 0, the slowest first."""

from bench.viz.charts.compile_time import draw

from ...builders import Builder, case, metric, outcome, run


def compiled(*cases: tuple[str, str, float | None]) -> Builder:
    """A run of cases: model, backend, seconds; None for one that ran out of memory."""
    builder = Builder().add(run("main"))
    for name, backend, seconds in cases:
        one = case(name, "main", backend=backend)
        builder.add(one, outcome(one, "OOM" if seconds is None else "ok"))
        if seconds is not None:
            builder.add(metric(one, "compile_latency", seconds * 1e9, unit="ns", better="lower"))
    return builder


def test_the_slowest_come_first_and_failures_last() -> None:
    """In the unit that suits them; a failed case has its status and no bar."""
    figure = draw(compiled(("a", "inductor", 2.0), ("b", "inductor", 60.0), ("c", "inductor", None)))

    assert figure.fields["row"] == ["b", "a", "c"]
    assert figure.fields["value"] == [60.0, 2.0, None]
    assert figure.fields["note"] == ["", "", "OOM"]
    layer = figure.spec(False)["layer"][0]["encoding"]
    assert (layer["x"]["title"], layer["x"]["scale"]["domain"][0]) == ("compile time [s]", 0)


def test_a_backend_that_compiles_nothing_is_left_out() -> None:
    """Eager has no compile time, and is no failure."""
    builder = compiled(("a", "inductor", 2.0))
    eager = case("a", "main", backend="eager")

    figure = draw(builder.add(eager, outcome(eager)))

    assert figure.fields["series"] == ["inductor"]
    assert figure.provenance.counts == [{"backend": "inductor", "drawn": 1, "without": 0}]


def test_a_case_of_no_backend_has_its_bar() -> None:
    """A log of compilations says what was compiled, and by nobody's name."""
    builder = compiled(("a", "inductor", 2.0))
    logged = case("torch.compile", "main")

    figure = draw(
        builder.add(logged, outcome(logged), metric(logged, "compile_latency", 1e9, unit="ns", better="lower"))
    )

    assert figure.fields["row"] == ["a", "torch.compile"]
    assert [count["backend"] for count in figure.provenance.counts] == [None, "inductor"]


def test_the_slowest_are_chosen() -> None:
    """The subtitle says of how many."""
    store = compiled(*((f"m{i}", "inductor", float(i)) for i in range(1, 6)))

    figure = draw(store, top=2)

    assert figure.fields["row"] == ["m5", "m4"]
    assert "2 of 5 results, the 2 slowest cases" in figure.spec(False)["title"]["subtitle"][0]
    assert len(draw(store, top=2, all_cases=True).rows) == 5
