"""Names that older tools have for what bench calls otherwise: an unknown name that is one of them is answered with today's."""

from collections.abc import Iterable

TODAY = {  # of metrics, backends and suites: the first that is known counts
    "abs_latency": ("absolute_latency", "latency"),
    "cache_lookup_time": ("cache_lookup_latency",),
    "compilation_latency": ("compile_latency",),
    "compilation_time": ("compile_latency",),
    "dynamo_peak_mem": ("compiled_peak_memory", "rss_peak", "cuda_allocated_peak"),
    "eager_peak_mem": ("eager_peak_memory", "rss_peak", "cuda_allocated_peak"),
    "pct_ops": ("captured_ops_share",),
    "pct_time": ("captured_time_share",),
    "dynamo_eager": ("torch:eager", "eager"),
    "aot_inductor": ("aotinductor",),
    "export_aot_inductor": ("aotinductor",),
    "inductor_cudagraphs": ("inductor-reduce-overhead", "inductor"),
    "inductor_max_autotune": ("inductor-max-autotune",),
    "inductor_no_cudagraphs": ("inductor-no-cudagraphs", "inductor"),
    "torchao": ("quantized",),
    "torchscript_jit_trace": ("torchscript",),
    "ts": ("torchscript",),
    "timm_models": ("timm",),
}


def today(name: str, known: Iterable[str]) -> str | None:
    """The known name of what an older tool calls so; None if it is no such name, or what it means is not known."""
    names = set(known)
    return next((found for found in TODAY.get(name, ()) if found in names), None)
