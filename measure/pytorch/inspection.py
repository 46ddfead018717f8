"""Inspection of a model: the operators that eager runs with their inputs and times, and the graphs that a compiler captures.

Times are those of the calls themselves, without the Python around them; on a GPU until it is done. What graphs cover is seen in a
step whose graphs are run operator by operator: which calls, and how much of the operators' time, lie inside them.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ..engine.program import Fact

OPERATOR = "operator:"  # and its name: how often one step runs it; read by the view operator_calls, as the next is
GRAPH_OPERATOR = "graph_operator:"  # how often it stands in the captured graphs
TIME, GRAPH_TIME = "operator_time:", "graph_operator_time:"  # of its calls in one step, and of those that graphs make
CAPTURED = "as captured"
STEPS = 5  # of whose times the median is taken


@dataclass(slots=True)
class OperatorTimes:
    """Calls and time of a step, by operator and by whether a graph ran it."""

    calls: Counter[tuple[str, bool]] = field(default_factory=Counter)
    ns: Counter[tuple[str, bool]] = field(default_factory=Counter)
    graph_calls: int = 0
    depth: int = 0  # of graphs that are running

    def inside(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A graph's function that counts what it runs as captured."""

        def run(*args: Any) -> Any:
            self.graph_calls += 1
            self.depth += 1
            try:
                return function(*args)
            finally:
                self.depth -= 1

        return run

    def of(self, call: Callable[[], Any], synchronize: Callable[[], None]) -> Self:
        """Run a step, and time its operators."""
        from torch.utils._python_dispatch import TorchDispatchMode

        found = self

        class Times(TorchDispatchMode):  # type: ignore[no-untyped-call]
            @classmethod
            def ignore_compile_internals(cls) -> bool:
                return True  # else torch.compile stands aside

            def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                began = time.perf_counter_ns()
                result = function(*args, **(kwargs or {}))
                synchronize()
                if function.namespace != "profiler":
                    key = str(function), found.depth > 0
                    found.ns[key] += time.perf_counter_ns() - began
                    found.calls[key] += 1
                return result

        self.calls.clear()
        self.ns.clear()
        self.graph_calls = 0
        with Times():  # type: ignore[no-untyped-call]
            call()
        return self


def operators(torch: Any, call: Callable[[], Any], path: Path, synchronize: Callable[[], None]) -> list[Fact]:
    """Log the ATen operators of one step, each kind of input once, into a file of lines `count operator(inputs)`.

    Returns:
        The number of kinds with the file, how often each operator ran in a step, and for how long, the median of STEPS.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: Counter[tuple[str, str]] = Counter()

    class Log(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = [_described(torch, x) for x in args] + [
                f"{k}={_described(torch, x)}" for k, x in (kwargs or {}).items()
            ]
            if function.namespace != "profiler":  # marks of a stretch, as optimizers make
                seen[str(function), ", ".join(given)] += 1
            return function(*args, **(kwargs or {}))

    with Log():  # type: ignore[no-untyped-call]
        call()
    path.write_text("".join(f"{n} {name}({given})\n" for (name, given), n in sorted(seen.items())))
    totals = Counter[str]()
    for (name, _), n in seen.items():
        totals[name] += n
    return [
        Fact("operator_inputs", len(seen), text=str(path)),
        *(Fact(OPERATOR + name, n) for name, n in sorted(totals.items())),
        *_times(TIME, [dict(OperatorTimes().of(call, synchronize).ns) for _ in range(STEPS)]),
    ]


def _times(kind: str, steps: list[dict[tuple[str, bool], int]], *, captured: bool = False) -> list[Fact]:
    """The median time of each operator in a step, in graphs or outside."""
    names = sorted({name for step in steps for name, inside in step if inside is captured})
    return [
        Fact(kind + name, statistics.median(step.get((name, captured), 0) for step in steps), "ns") for name in names
    ]


def _described(torch: Any, value: Any) -> str:
    """An input in few words: a tensor by type and shape, a list by its parts, all else as it is."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_described(torch, item) for item in value)}]"
    return repr(value)


def graphs(step_by: Callable[[Any], Callable[[], Any]], path: Path, synchronize: Callable[[], None]) -> list[Fact]:
    """Write the graphs torch.compile captures of one step, as Python and as ATen operators, into a file.

    `step_by` gives the step, compiled by the given backend at its first call.

    Returns:
        The number of graphs, with the file, and how many calls of each ATen operator stand in them; then what graphs cover
        of a step, forward and backward, as PyTorch's coverage experiment names it: calls of operators and their time.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._ops import OpOverload

    texts: list[str] = []
    calls = Counter[str]()
    times = OperatorTimes()

    def keep(kind: str) -> Callable[[Any, Any], Any]:
        def compiler(graph: Any, inputs: Any) -> Any:
            texts.append(f"# {kind}\n{graph.print_readable(print_output=False)}")
            if kind != CAPTURED:
                calls.update(str(node.target) for node in graph.graph.nodes if isinstance(node.target, OpOverload))
            return make_boxed_func(times.inside(graph.forward))

        return compiler

    captured, aten = keep(CAPTURED), aot_autograd(fw_compiler=keep("ATen"), bw_compiler=keep("ATen, backward"))

    def both(graph: Any, inputs: Any) -> Any:
        captured(graph, inputs)
        return aten(graph, inputs)

    step = step_by(both)
    step()
    path.write_text("\n".join(texts))
    found = [
        Fact("graphs", sum(text.startswith(f"# {CAPTURED}") for text in texts), text=str(path)),
        *(Fact(GRAPH_OPERATOR + name, n) for name, n in sorted(calls.items())),
    ]
    step()
    steps, shares = [], []
    for _ in range(STEPS):
        times.of(step, synchronize)
        steps.append(dict(times.ns))
        shares.append(_share(times.ns))
    inside, total = sum(n for (_, own), n in times.calls.items() if own), times.calls.total()
    coverage = [
        Fact("graph_calls", times.graph_calls), Fact("captured_ops", inside), Fact("total_ops", total),
        Fact("captured_ops_share", inside / total if total else None, "ratio", "higher"),
        Fact("captured_time_share", statistics.median(shares) if total else None, "ratio", "higher"),
    ]  # fmt: skip
    return [*found, *coverage, *_times(GRAPH_TIME, steps, captured=True)]


def _share(ns: Counter[tuple[str, bool]]) -> float:
    """The share of time that is in graphs."""
    return sum(time for (_, inside), time in ns.items() if inside) / max(ns.total(), 1)
