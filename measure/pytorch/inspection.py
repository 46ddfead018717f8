"""Inspection of a model: the operators that eager runs with their inputs, and the graphs that a compiler captures."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..engine.program import Fact

OPERATOR = "operator:"  # and its name: how often one step runs it; read by the view operator_calls, as the next is
GRAPH_OPERATOR = "graph_operator:"  # how often it stands in the captured graphs
CAPTURED = "as captured"


def operators(torch: Any, call: Callable[[], Any], path: Path) -> list[Fact]:
    """Log the ATen operators of one step, each kind of input once, into a file of lines `count operator(inputs)`.

    Returns:
        The number of kinds with the file, and how often each operator ran.
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
    ]


def _described(torch: Any, value: Any) -> str:
    """An input in few words: a tensor by type and shape, a list by its parts, all else as it is."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_described(torch, item) for item in value)}]"
    return repr(value)


def graphs(take: Callable[[Any], Any], path: Path) -> list[Fact]:
    """Write the graphs torch.compile captures of one step, as Python and as ATen operators, into a file.

    Args:
        take: Runs the step, compiled by the given backend.
        path: The file.

    Returns:
        The number of graphs, with the file, and how many calls of each ATen operator stand in them.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._ops import OpOverload

    texts: list[str] = []
    calls = Counter[str]()

    def keep(kind: str) -> Callable[[Any, Any], Any]:
        def compiler(graph: Any, inputs: Any) -> Any:
            texts.append(f"# {kind}\n{graph.print_readable(print_output=False)}")
            if kind != CAPTURED:
                calls.update(str(node.target) for node in graph.graph.nodes if isinstance(node.target, OpOverload))
            return make_boxed_func(graph.forward)

        return compiler

    captured, aten = keep(CAPTURED), aot_autograd(fw_compiler=keep("ATen"), bw_compiler=keep("ATen, backward"))

    def both(graph: Any, inputs: Any) -> Any:
        captured(graph, inputs)
        return aten(graph, inputs)

    take(both)
    path.write_text("\n".join(texts))
    return [
        Fact("graphs", sum(text.startswith(f"# {CAPTURED}") for text in texts), text=str(path)),
        *(Fact(GRAPH_OPERATOR + name, n) for name, n in sorted(calls.items())),
    ]
