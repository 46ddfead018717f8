"""Operators of models: what eager calls, and what of it compilers capture, by case and across models."""

from typing import Any

from bench.warehouse.events import Event

from ..builders import Builder, case, metric, run


def inspected(name: str, calls: dict[str, int], captured: dict[str, int] | None = None) -> list[Event]:
    """A model whose operators were counted; with graphs, unless they are None."""
    it = case(name, backend="eager", mode="inference", dtype="float32", device="cpu")
    found: list[Event] = [it, *(metric(it, f"operator:{operator}", n) for operator, n in calls.items())]
    if captured is not None:
        found += [
            metric(it, "graphs", 1),
            *(metric(it, f"graph_operator:{operator}", n) for operator, n in captured.items()),
        ]
    return found


def test_calls_and_what_graphs_have_of_them(warehouse: Builder) -> None:
    """An operator of one side only counts 0 on the other; without graphs nobody knows."""
    warehouse.add(
        run(),
        *inspected("a", {"aten.mm": 3, "aten.add_": 2}, {"aten.mm": 3, "aten.add": 2}),
        *inspected("b", {"aten.mm": 1}),
    )

    rows = warehouse.rows("SELECT name, operator, calls, captured FROM operator_calls ORDER BY ALL")

    assert rows == [
        ("a", "aten.add", 0, 2),
        ("a", "aten.add_", 2, 0),
        ("a", "aten.mm", 3, 3),
        ("b", "aten.mm", 1, None),
    ]


def test_an_operator_is_asked_for_across_models(warehouse: Builder) -> None:
    """Who calls it, and who in vain; what only a compiler calls is none of a model's."""
    warehouse.add(
        run(),
        *inspected("a", {"aten.mm": 3}, {"aten.mm": 3, "aten.fused": 1}),
        *inspected("b", {"aten.mm": 4}, {"aten.mm": 1}),
    )

    query = "SELECT operator, calls, captured, n_models, models, n_missed, missed FROM operator_coverage"
    assert warehouse.rows(query) == [("aten.mm", 7, 4, 2, ["a", "b"], 1, ["b"])]


def test_nothing_inspected_is_no_row(warehouse: Builder) -> None:
    """Not an error."""
    warehouse.add(run(), case("a"))

    assert warehouse.rows("SELECT * FROM operator_coverage") == []


def test_time_is_shared_out_by_operator(warehouse: Builder) -> None:
    """Of eager's step; what graphs take of it stands beside; without times there is no share."""
    timed = inspected("a", {"aten.mm": 2, "aten.add": 1}, {"aten.mm": 2})
    it: Any = timed[0]
    warehouse.add(
        run(), *timed, *inspected("b", {"aten.mm": 1}), metric(it, "operator_time:aten.mm", 300.0, unit="ns"),
        metric(it, "operator_time:aten.add", 100.0, unit="ns"), metric(it, "graph_operator_time:aten.mm", 280.0, unit="ns"),
    )  # fmt: skip

    rows = warehouse.rows(
        "SELECT name, operator, calls, time_ns, share, captured_time_ns FROM operator_calls ORDER BY ALL"
    )
    assert rows == [
        ("a", "aten.add", 1, 100.0, 0.25, None),
        ("a", "aten.mm", 2, 300.0, 0.75, 280.0),
        ("b", "aten.mm", 1, None, None, None),
    ]
    assert warehouse.rows("SELECT operator, time_ns, share FROM operator_coverage ORDER BY 1") == [
        ("aten.add", 100.0, 0.25),
        ("aten.mm", 300.0, 0.75),
    ]
