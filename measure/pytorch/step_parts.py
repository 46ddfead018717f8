"""The parts of a step's time: operators of torch on a CPU, kernels of a GPU, in passes of their own with torch's profiler.

The profiler slows a step, so a pass records shares of its own time; `bench why` scales them to the time measured without it. As
many steps without it precede a pass, whose time says how much it slows them, whatever else the machine does meanwhile.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.program import Fact

PASSES, FEWEST, KEPT = 40, 20, 10  # with the profiler, where a step is longer than a pass, and those kept: the fastest
PASS_NS = 2e6  # of a pass, at least one step: one in which others get no turn at the processor is soon found
MOST_EVENTS = 4_000  # of a pass, unless a step has more: torch reads each in Python
OPERATOR, KERNEL = "operator_part", "kernel_part"  # share of the time of a pass; the text is its place in the step
SLOWED = "profiler_slowdown"  # time of a step with the profiler / without it

Spent = dict[str, tuple[float, float]]  # by name: ns and calls


@dataclass(frozen=True, slots=True)
class Pass:
    """Steps with the profiler, after as many without it; times of one step."""

    alone: float  # ns without the profiler
    took: float  # ns with it
    events: int  # of all steps
    spent: Spent


def step_parts(torch: Any, call: Callable[[], Any], synchronize: Callable[[], None], *, on_gpu: bool) -> list[Fact]:
    """Facts of the parts of a step: one a part and pass, and one a pass with its time."""
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CUDA] if on_gpu else [kinds.CPU]

    def timed(steps: int) -> float:
        began = time.perf_counter_ns()
        for _ in range(steps):
            call()
        synchronize()
        return (time.perf_counter_ns() - began) / steps

    def one_pass(steps: int) -> Pass:
        alone = timed(steps)
        with torch.profiler.profile(activities=activities) as profiler:
            took = timed(steps)
        events = profiler.events()
        found = kernel_spans(events) if on_gpu else self_times(events)
        return Pass(alone, took, len(events), {name: (ns / steps, n / steps) for name, (ns, n) in found.items()})

    one_pass(1)  # starts the profiler's own threads
    first = one_pass(1)
    steps = max(1, min(int(PASS_NS / max(first.took, 1)), MOST_EVENTS // max(first.events, 1)))
    passes = [one_pass(steps) for _ in range(PASSES if first.took < PASS_NS else FEWEST)]
    return [*slowdowns(passes), *shares(KERNEL if on_gpu else OPERATOR, undisturbed(passes))]


def self_times(events: Iterable[Any]) -> Spent:
    """Time and number of operators by name: the time of one without that of those which it calls."""
    found = defaultdict[str, list[float]](lambda: [0.0, 0.0])
    for event in events:
        entry = found[event.name]
        entry[0] += event.self_cpu_time_total * 1e3
        entry[1] += 1
    return {name: (ns, n) for name, (ns, n) in found.items()}


def kernel_spans(events: Iterable[Any]) -> Spent:
    """Time and number of a GPU's kernels by name: time in which several run counts for the one that began first."""
    spans = sorted(
        (event.time_range.start * 1e3, event.time_range.end * 1e3, event.name)
        for event in events
        if str(event.device_type).endswith("CUDA") and not getattr(event, "is_user_annotation", False)
    )
    spent, calls, reached = Counter[str](), Counter[str](), float("-inf")
    for start, end, name in spans:
        spent[name] += max(end - max(start, reached), 0.0)
        calls[name] += 1
        reached = max(reached, end)
    return {name: (spent[name], n) for name, n in calls.items()}


def undisturbed(passes: Sequence[Pass]) -> list[Pass]:
    """The fastest of them."""
    return sorted(passes, key=lambda one: one.took)[:KEPT]


def slowdowns(passes: Sequence[Pass]) -> list[Fact]:
    """The factor by which the profiler slows a step: the fastest with it by the fastest without it, maybe of another pass.

    Within a pass other work of the machine may disturb the steps without the profiler alone.
    """
    with_it, without = (sorted(getattr(one, name) for one in passes)[:KEPT] for name in ("took", "alone"))
    return [Fact(SLOWED, took / alone, "ratio") for took, alone in zip(with_it, without, strict=True) if alone]


def shares(kind: str, passes: Sequence[Pass]) -> list[Fact]:
    """The facts of passes; what no part has is the one without a name."""
    facts = []
    for name in sorted({name for one in passes for name in one.spent}):
        found = [one.spent.get(name, (0.0, 0.0)) for one in passes]
        calls = sum(n for _, n in found) / len(passes)
        place = json.dumps({"function": name, "calls": calls}, ensure_ascii=False)
        facts += [Fact(kind, ns / one.took, "ratio", text=place) for one, (ns, _) in zip(passes, found, strict=True)]
    outside = json.dumps({"function": "", "calls": 0})
    return [
        *facts,
        *(Fact(kind, 1 - sum(ns for ns, _ in one.spent.values()) / one.took, "ratio", text=outside) for one in passes),
    ]
