"""Statistics of torch's compiler: its counters, the reasons for graph breaks, and the time of its phases."""

import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from ...query.why.guards import failed_guard
from ..engine.program import Fact

GRAPH_BREAK = "graph_break:"  # and the reason: read by the view graph_break_reasons
PHASE = "compile_phase:"
RECOMPILE = "recompile:"  # and the reason
FLAGS = "compiler_flags"  # read by the view _run_flags


def caches(folder: str) -> dict[str, str]:
    """The environment variables that make torch's compilers cache their code in a folder."""
    return {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": os.path.join(folder, "triton")}


def own_cache(folder: str) -> Path | None:
    """Restrict compile caches to a folder of this name, and empty the caches in memory.

    The folder, which is returned, lies in the one the runner made for this worker; a worker that finds something there starts
    warm. Without a runner there is none.
    """
    from torch._inductor.utils import clear_caches

    clear_caches()
    root = os.environ.setdefault("BENCH_COMPILE_CACHE", os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""))
    if not root:
        return None
    own = Path(root, re.sub(r"\W", "_", folder))
    os.environ |= caches(str(own))
    return own


def drop() -> None:
    """Drop all compiled code and what it holds, CUDA graphs and their memory among it."""
    import torch

    torch._dynamo.reset()


def forget() -> None:
    """Reset the counters for the next backend; compiled code stays."""
    from torch._dynamo import utils

    utils.counters.clear()
    utils.graph_break_reasons.clear()
    utils.compilation_time_metrics.clear()
    utils.clear_compilation_metrics()


def flags() -> Fact:
    """The settings of dynamo, functorch and inductor that are not torch's defaults, whoever set them, as a JSON object."""
    from torch import _dynamo, _functorch, _inductor

    found: dict[str, str] = {}
    with warnings.catch_warnings(action="ignore"):  # of deprecated settings
        for module in (_dynamo, _functorch, _inductor):
            config: Any = module.config
            for name, entry in config._config.items():  # nothing public knows the defaults
                if not hasattr(entry, "default") or entry.alias is not None:
                    continue
                if (value := getattr(config, name)) != entry.default:
                    found[f"{module.__name__.removeprefix('torch._')}.{name}"] = repr(value)
    return Fact(FLAGS, None, text=json.dumps(dict(sorted(found.items()))))


def facts() -> list[Fact]:
    """Everything counted since the last reset: counters, graph breaks, recompilations, and phases of compiling."""
    from torch._dynamo import utils

    compiled = utils.get_compilation_metrics()
    found = [
        *_counters(utils.counters, compiled),
        *_breaks(utils.counters["graph_break"], utils.graph_break_reasons),
        *_recompiles(compiled),
        # phases are nested: their sum has no meaning
        *(Fact(PHASE + name, sum(times) * 1e9, "ns") for name, times in utils.compilation_time_metrics.items()),
    ]
    forget()
    return found


def _counters(counters: Any, compiled: list[Any]) -> list[Fact]:
    """The counters PyTorch's own benchmarks report, by the names they have there, and those of the caches."""
    stats, cache = counters["stats"], counters["inductor"]
    autograd, breaks = counters["compiled_autograd"], counters["graph_break"]
    return [
        Fact("calls_captured", stats["calls_captured"]),
        Fact("unique_graphs", stats["unique_graphs"]),
        Fact("graph_breaks", sum(breaks.values()), better="lower"),
        Fact("unique_graph_breaks", len(breaks), better="lower"),
        Fact("autograd_captures", autograd["captures"]),
        Fact("autograd_compiles", autograd["compiles"]),
        Fact("cudagraph_skips", cache["cudagraph_skips"], better="lower"),
        Fact("recompiles", sum(map(_again, compiled)), better="lower"),
        Fact("fxgraph_cache_hits", cache["fxgraph_cache_hit"]),
        Fact("fxgraph_cache_misses", cache["fxgraph_cache_miss"]),
    ]


def _again(compiled: Any) -> bool:
    """Return whether a compilation was of code this backend had compiled before."""
    return bool(compiled.recompile_reason) and "BACKEND_MATCH" not in compiled.recompile_reason


def _breaks(counted: Any, reasons: list[Any]) -> list[Fact]:
    """Each reason and place once, and how often; a reason that left no place has no text."""
    found = Counter((shortened(reason.reason), stack(reason.user_stack)) for reason in reasons)
    seen = {reason for reason, _ in found}
    more = Counter({(short, ""): n for reason, n in counted.items() if (short := shortened(reason)) not in seen})
    return [
        Fact(GRAPH_BREAK + reason, n, better="lower", text=where or None)
        for (reason, where), n in (found + more).items()
    ]


def _recompiles(compiled: list[Any]) -> list[Fact]:
    guards = [
        failed_guard(one.recompile_reason, str(one.co_filename), one.co_firstlineno, one.co_name)
        for one in compiled
        if _again(one)
    ]
    found = Counter((shortened(guard), where) for guard, where in guards)
    return [Fact(RECOMPILE + guard, n, better="lower", text=where) for (guard, where), n in found.items()]


def shortened(reason: str) -> str:
    """A reason in one line: what happened and the explanation, without hints and without memory addresses."""
    head, _, rest = reason.partition("\n")
    explained = re.search(r"^\s*Explanation: (.*)", rest, re.M)
    text = f"{head.strip()}: {explained[1].strip()}" if explained else head.strip()
    return re.sub(r"( at | \(id=)0x[0-9a-f]+\)?", "", text)[:500]


def stack(frames: list[Any]) -> str:
    """The places in the user's code where it happened, the innermost last: `file.py:12 in forward`, a line for each frame."""
    return "\n".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
