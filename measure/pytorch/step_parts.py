"""The parts of a step's time: operators of torch on a CPU, kernels of a GPU, with torch's profiler in processes of their own.

The profiler slows a step, so a pass records shares of its own time; `bench why` scales them to the time measured without it. As
many steps without it precede a pass, whose time says how much it slows them, whatever else the machine does meanwhile.

A process is one sample of a share: the shares of its passes were 2 to 4 times as alike as those of other processes.
"""

import gc
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.program import SLOWED, Fact, Program
from ..engine.workload import Job
from .child import answer, facts_of_replicas, found_by

PASSES, FEWEST, KEPT = 8, 6, 3  # of a process, where a step is longer than a pass, and those kept: the fastest
PASS_NS = 2e6  # of a pass, at least one step: one in which others get no turn at the processor is soon found
MOST_EVENTS = 4_000  # of a pass, unless a step has more: torch reads each in Python
OPERATOR, KERNEL = "operator_part", "kernel_part"  # share of the time of a pass; the text is its place in the step
OF_RANKS = "the parts of a model over several ranks are not recorded"

Spent = dict[str, tuple[float, float]]  # by name: ns and calls


@dataclass(frozen=True, slots=True)
class Pass:
    """Steps with the profiler, after as many without it; times of one step."""

    alone: float  # ns without the profiler
    took: float  # ns with it
    events: int  # of all steps
    spent: Spent


@dataclass(frozen=True, slots=True)
class StepParts:
    """The answer of a process: the share of each part in the time of a step, with its calls; how much the profiler slows it."""

    slowdown: float
    shares: Mapping[str, Sequence[float]]  # and calls; by name, empty for what no part has


def part_facts(job: Job) -> Iterator[tuple[str, Fact]]:
    """Facts of each backend: the share of each part in each process, how much the profiler slowed it; or why there are none."""
    kind = KERNEL if _is_on_gpu(job) else OPERATOR
    return facts_of_replicas(
        __name__,
        job,
        kind,
        lambda answers: facts_of(kind, [StepParts(*each) for each in answers]),
        doing="records the parts of a step",
        of_ranks=OF_RANKS,
    )


def facts_of(kind: str, found: Sequence[StepParts]) -> Iterator[Fact]:
    """The facts of processes; a part that one of them lacks has no share there."""
    yield from (Fact(SLOWED, each.slowdown, "ratio") for each in found)
    for name in sorted({name for each in found for name in each.shares}):
        shares = [each.shares.get(name, (0.0, 0.0)) for each in found]
        calls = sum(n for _, n in shares) / len(found)
        place = json.dumps({"function": name, "calls": calls}, ensure_ascii=False)
        yield from (Fact(kind, share, "ratio", text=place) for share, _ in shares)


def _is_on_gpu(job: Job) -> bool:
    return job.workload.device.startswith("cuda")


def step_parts(torch: Any, call: Callable[[], Any], synchronize: Callable[[], None], *, on_gpu: bool) -> StepParts:
    """The parts of a step, in passes with the profiler in this process."""
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
    return StepParts(slowdown(passes), shares(undisturbed(passes)))


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


def slowdown(passes: Sequence[Pass]) -> float:
    """The factor by which the profiler slows a step: the fastest with it by the fastest without it, maybe of another pass.

    Within a pass other work of the machine may disturb the steps without the profiler alone.
    """
    with_it, without = (sorted(getattr(one, name) for one in passes)[:KEPT] for name in ("took", "alone"))
    return float(statistics.median(took / alone for took, alone in zip(with_it, without, strict=True)))


def shares(passes: Sequence[Pass]) -> dict[str, tuple[float, float]]:
    """The mean share of each part in the time of a pass, and its calls; what no part has is the one without a name."""
    found = {}
    for name in sorted({name for one in passes for name in one.spent}):
        parts = [(one.spent.get(name, (0.0, 0.0)), one.took) for one in passes]
        share = statistics.fmean(ns / took for (ns, _), took in parts)
        found[name] = share, statistics.fmean(n for (_, n), _ in parts)
    return {**found, "": (1 - sum(share for share, _ in found.values()), 0.0)}


def _found(job: Job, program: Program, step: Callable[[], Any]) -> tuple[float, Mapping[str, Sequence[float]]]:
    import torch

    step()
    gc.collect()
    gc.freeze()  # as where it is timed
    found = step_parts(torch, step, program.device.synchronize, on_gpu=_is_on_gpu(job))
    return found.slowdown, found.shares


def main() -> None:
    """Answer the job on stdin."""
    answer(lambda job: found_by(job, lambda program, step: _found(job, program, step)))
