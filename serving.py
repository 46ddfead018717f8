"""Classes of bench that vLLM imports, by names that a user types or that its plugins are found by.

    BENCH_STORE=.bench vllm serve MODEL --scheduler-cls bench.serving.RecordingScheduler

It is at the root, as `pytest_plugin` and `spark` are, because the name belongs to users; the code is in `measure/serving`.
vLLM is imported when a class is asked for, which only vLLM does, and need not be there for anything else.
"""

from typing import Any

from .measure.serving.vllm_run import announce

__all__ = ["RecordingScheduler", "StatLogger", "announce"]  # noqa: F822


def __getattr__(name: str) -> Any:
    """Make a class of vLLM's on first use."""
    if name not in ("RecordingScheduler", "StatLogger"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .measure.serving import vllm_classes

    made = vllm_classes.recording_scheduler() if name == "RecordingScheduler" else vllm_classes.stat_logger()
    made.__module__, made.__qualname__ = __name__, name
    return globals().setdefault(name, made)
