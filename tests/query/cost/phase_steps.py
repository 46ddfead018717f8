"""Scheduler steps of a simulated server whose cost by phase is planted."""

import math
from typing import Any

import numpy as np
from bench.query.cost.phases import PhaseSteps

COSTS = (6.0, 0.020, 0.015, 0.00004)  # ms: floor, prefill token, decoding request, KV token


def phases(
    count: int,
    seed: int = 1,
    costs: tuple[float, ...] = COSTS,
    *,
    noise: float = 0.02,
    hiccups: float = 0.0,
    kv: bool = True,
) -> PhaseSteps:
    """Prompts come in spells and are prefilled in chunks beside the decodes; the noise resembles its neighbours' (0.5)."""
    rng = np.random.default_rng(seed)
    steps = np.arange(count)
    load = np.repeat(rng.choice([0.2, 0.5, 1.0], count // 50 + 1), 50)[:count]
    decode = np.maximum(1, (20 + 80 * load + 10 * np.sin(steps / 40) + rng.normal(0, 4, count)).round())
    prefill = np.where(rng.random(count) < 0.6 * load, np.minimum(rng.lognormal(6, 1, count), 2048 - decode), 0).round()
    context = 600 + 400 * np.sin(steps / 170 + seed) + rng.normal(0, 30, count)
    work = np.column_stack([prefill, decode, (decode * context + prefill / 2).round()])
    drift = np.convolve(rng.normal(size=count + 12), 0.5 ** np.arange(13), "valid") * math.sqrt(0.75)
    ms = (costs[0] + work @ np.array(costs[1:])) * (1 + noise * drift)
    ms = ms + (rng.random(count) < hiccups) * rng.exponential(60, count)
    if not kv:
        work[:, 2] = math.nan
    return PhaseSteps(work=work, ms=ms, time_spans=frozenset({"cuda"}))


def columns(steps: PhaseSteps) -> list[dict[str, Any]]:
    """The same as columns of `schedule_chunks`, totals without chunk sizes."""
    return [
        {
            "total_tokens": int(prefill + decode), "prefill_tokens": int(prefill), "decode_tokens": int(decode),
            "prefill": int(prefill > 0), "decode": int(decode), "prefill_kv_tokens": 0, "decode_kv_tokens": int(kv),
            "model_run_ms": float(ms), "time_span": "cuda", "worker_id": "w", "dp_rank": 0, "counter_id": number,
        }
        for number, ((prefill, decode, kv), ms) in enumerate(zip(steps.work, steps.ms, strict=True))
    ]  # fmt: skip
