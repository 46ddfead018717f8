"""Scheduler records to ingest."""

import json
from typing import Any


def step(batch_id: Any = 0, **fields: Any) -> dict[str, Any]:
    """A record of writer 1; `fields` replace or add some."""
    record = {
        "batch_id": batch_id, "timestamp": 3437048.5, "total_scheduled_tokens": 3, "chunk_sizes": [1, 2],
        "all_computed_tokens": [10, 20], "all_cached_tokens": [0, 0], "schedule_duration_ms": 0.25,
        "num_waiting_reqs": 4, "num_running_reqs": 2, "model_run_duration_ms": 7.5,
    }  # fmt: skip
    return record | fields


def lines(*records: dict[str, Any] | str) -> str:
    """JSON lines."""
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
