"""Lines of forward pass traces, as Dynamo and a plain recorder write them."""

import gzip
import json
from pathlib import Path
from typing import Any


def fpm(
    counter: int = 0, *, prefill: int = 0, decode: int = 0, worker: str = "w1", rank: int = 0, **changes: Any
) -> dict[str, Any]:
    """The metrics of a pass: so many prefill tokens (of one request) and decoding requests."""
    return {
        "version": 1, "worker_id": worker, "dp_rank": rank, "counter_id": counter,
        "wall_time": 0.02 if prefill or decode else 0.0,
        "scheduled_requests": {
            "num_prefill_requests": int(prefill > 0), "sum_prefill_tokens": prefill, "var_prefill_length": 0.0,
            "sum_prefill_kv_tokens": 7 * (prefill > 0), "num_decode_requests": decode, "sum_decode_kv_tokens": 100 * decode,
            "var_decode_kv_tokens": 2.5,
        },
        "queued_requests": {
            "num_prefill_requests": 3, "sum_prefill_tokens": 300, "var_prefill_length": 1.5, "num_decode_requests": 1,
            "sum_decode_kv_tokens": 40, "var_decode_kv_tokens": 0.0,
        },
    } | changes  # fmt: skip


def traced(metrics: dict[str, Any], *, mode: str = "full", producer: str = "p1", **changes: Any) -> str:
    """A line of the trace."""
    event = {
        "schema": "dynamo.fpm.trace.v1", "source": {"namespace": "n", "component": "backend", "producer_id": producer},
        "capture_mode": mode, "observed_at_unix_ms": 1_760_000_000_000 + metrics["counter_id"] * 20, "fpm": metrics,
    } | changes  # fmt: skip
    return json.dumps({"timestamp": metrics["counter_id"] * 20, "event": event})


def received(metrics: dict[str, Any]) -> str:
    """A line of a plain recorder."""
    return json.dumps({"received_at_ns": 1_760_000_000_000_000_000 + metrics["counter_id"], "metrics": metrics})


def segment(folder: Path, lines: list[str], *, producer: str = "p1", index: int = 0) -> Path:
    """A segment of a trace, packed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fpm.{producer}.{index}.jsonl.gz"
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    return path
