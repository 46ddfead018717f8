"""Where the time of a step goes: shares of operators and kernels that add up."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from bench.measure.pytorch import child, step_parts
from bench.measure.pytorch.step_parts import (  # fmt: skip
    OF_RANKS,
    Pass,
    StepParts,
    facts_of,
    kernel_spans,
    self_times,
    shares,
    slowdown,
)

from .test_line_times import job_of


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


def test_shares_of_passes_add_up_to_one() -> None:
    """With what no operator does, and also where a pass lacks an operator."""
    found = shares([Pass(80, 100, 3, {"a": (60, 2), "b": (10, 1)}), Pass(90, 100, 2, {"a": (50, 2)})])

    assert {name: (round(share, 9), calls) for name, (share, calls) in found.items()} == {
        "a": (0.55, 2), "b": (0.05, 0.5), "": (0.4, 0),
    }  # fmt: skip


def test_a_process_gives_one_share_of_each_part() -> None:
    """None of what it lacks; calls are a mean."""
    found = [
        *facts_of("operator_part", [StepParts(1.5, {"a": (0.6, 2), "b": (0.4, 1)}), StepParts(1.2, {"a": (1.0, 2)})])
    ]
    parts = [(json.loads(fact.text), fact.value) for fact in found if fact.text]

    assert [fact.value for fact in found if fact.name == "profiler_slowdown"] == [1.5, 1.2]
    assert parts == [
        ({"function": "a", "calls": 2}, 0.6), ({"function": "a", "calls": 2}, 1.0),
        ({"function": "b", "calls": 0.5}, 0.4), ({"function": "b", "calls": 0.5}, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [({"distributed": "ddp"}, OF_RANKS), ({}, "the process that records the parts of a step ended with -9")],
)
def test_a_step_without_parts_says_why(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any], reason: str
) -> None:
    """Over several ranks, or in a process that ends early."""
    monkeypatch.setattr(child, "begin", lambda module, job: lambda: ([], "ended with -9"))
    job = job_of("net:Net", "eager", **parameters)

    assert [(fact.value, fact.text) for _, fact in step_parts.part_facts(job)] == [(None, reason)]


def test_a_disturbed_pass_does_not_make_the_profiler_fast() -> None:
    """The fastest with the profiler stand against the fastest without it, in whichever pass these were."""
    quick = [Pass(80, 100, 1, {}) for _ in range(step_parts.KEPT)]
    disturbed = [Pass(400, 99, 1, {}), Pass(81, 900, 1, {})]

    assert slowdown([*quick, *disturbed]) == 100 / 80


def test_operators_of_torch_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own names, each as often as a step calls it."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(step_parts, "PASSES", 3)
    monkeypatch.setattr(step_parts, "FEWEST", 3)
    monkeypatch.setattr(step_parts, "KEPT", 2)
    x = torch.ones(3)
    found = step_parts.step_parts(torch, lambda: (x.tanh(), x.tanh()), lambda: None, on_gpu=False)

    assert found.shares["aten::tanh"][1] == 2.0 and found.slowdown > 0
    assert sum(share for share, _ in found.shares.values()) == pytest.approx(1.0)
