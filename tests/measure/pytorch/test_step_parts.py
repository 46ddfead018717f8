"""Where the time of a step goes: shares of operators and kernels that add up."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch import step_parts
from bench.measure.pytorch.step_parts import Pass, kernel_spans, self_times, shares, slowdowns


def kernel(name: str, start: float, end: float, device: str = "DeviceType.CUDA", **more: Any) -> Any:
    """An event of the profiler, in µs."""
    return SimpleNamespace(name=name, time_range=SimpleNamespace(start=start, end=end), device_type=device, **more)


def test_kernels_that_overlap_count_once() -> None:
    """For the one that began first; the host's events and annotations are no kernels."""
    found = kernel_spans([
        kernel("b", 5, 12), kernel("a", 0, 10), kernel("a", 6, 8), kernel("host", 0, 99, "DeviceType.CPU"),
        kernel("mark", 0, 99, is_user_annotation=True),
    ])  # fmt: skip

    assert found == {"a": (10_000, 2), "b": (2_000, 1)}


def test_the_time_of_an_operator_is_without_what_it_calls() -> None:
    """All its calls together."""
    found = self_times(SimpleNamespace(name="aten::gelu", self_cpu_time_total=2.0) for _ in range(2))

    assert found == {"aten::gelu": (4_000, 2)}


def test_shares_of_a_pass_add_up_to_one() -> None:
    """With what no operator does, and also where a pass lacks an operator."""
    facts = shares("operator_part", [Pass(80, 100, 3, {"a": (60, 2), "b": (10, 1)}), Pass(90, 100, 2, {"a": (50, 2)})])
    found = [(json.loads(fact.text)["function"], round(fact.value or 0, 9)) for fact in facts if fact.text]

    assert found == [("a", 0.6), ("a", 0.5), ("b", 0.1), ("b", 0.0), ("", 0.3), ("", 0.5)]


def test_a_disturbed_pass_does_not_make_the_profiler_fast() -> None:
    """The fastest with the profiler stand against the fastest without it, in whichever pass these were."""
    quick = [Pass(80, 100, 1, {}) for _ in range(step_parts.KEPT)]
    disturbed = [Pass(400, 99, 1, {}), Pass(81, 900, 1, {})]

    assert {fact.value for fact in slowdowns([*quick, *disturbed])} == {99 / 80, 100 / 80, 100 / 81} - {100 / 81}


def test_operators_of_torch_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own names, each as often as a step calls it."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(step_parts, "PASSES", 3)
    monkeypatch.setattr(step_parts, "FEWEST", 3)
    monkeypatch.setattr(step_parts, "KEPT", 2)
    x = torch.ones(3)
    facts = step_parts.step_parts(torch, lambda: (x.tanh(), x.tanh()), lambda: None, on_gpu=False)

    places = [json.loads(fact.text) for fact in facts if fact.text]
    assert places.count({"function": "aten::tanh", "calls": 2.0}) == 2
    assert sum(fact.value or 0.0 for fact in facts if fact.text) == pytest.approx(2.0)
