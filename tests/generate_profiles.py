"""Writes scheduler profiles as an LLM server would: a small discrete simulation of continuous batching.

    python tests/generate_profiles.py demo/profiles/A --steps 20000 --token-budget 2048 --seed 1

Requests arrive in bursts, prompts are prefilled in chunks up to the token budget, running requests decode one token a
step. A step takes a floor (weights are read once however few tokens there are), grows with tokens once compute binds,
and with the cache that decoding reads; now and then the machine hiccups, some steps beyond the usual thresholds.
"""

import argparse
import itertools
import json
import math
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CACHE_TOKENS = 400_000


def steps(
    count: int, *, token_budget: int, seed: int, floor_ms: float = 7.2, per_token_us: float = 21.0
) -> Iterator[dict[str, Any]]:
    """Scheduler steps in the format of the first writer.

    Args:
        count: How many steps.
        token_budget: Most tokens a step may schedule.
        seed: Equal seeds give equal steps.
        floor_ms: Time of a step with hardly any tokens.
        per_token_us: Time of each further token once compute binds.
    """
    rng = random.Random(seed)
    clock_s, rate = 3_437_048.62, 1.0
    waiting: deque[list[int]] = deque()  # [prompt tokens, computed, tokens to decode]
    running: list[list[int]] = []
    for step in range(count):
        if step % 500 == 0:
            rate = rng.choice((0.25, 0.6, 1.0, 1.6))  # quiet and busy spells
        for _ in range(_arrivals(rng, 0.42 * rate * token_budget / 1024)):
            waiting.append(
                [
                    min(int(rng.lognormvariate(6.2, 0.9)) + 1, 16_000),
                    0,
                    min(int(rng.lognormvariate(4.6, 0.8)) + 1, 2_000),
                ]
            )
        scheduled = [(request, 1) for request in running if request[1] >= request[0]]
        left = token_budget - len(scheduled)
        used = sum(request[1] for request in running)
        for request in [r for r in running if r[1] < r[0]] + list(waiting):
            chunk = min(request[0] - request[1], left)
            if chunk <= 0 or len(scheduled) >= 256 or used + chunk > CACHE_TOKENS:
                break
            scheduled.append((request, chunk))
            left -= chunk
            used += chunk
            if waiting and request is waiting[0]:
                running.append(waiting.popleft())
        if not scheduled:
            scheduled = [([1, 0, 1], 1)]  # an idle server runs a dummy step
        chunks = [chunk for _, chunk in scheduled]
        computed = [request[1] for request, _ in scheduled]
        tokens, context = sum(chunks), sum(computed)
        compute_ms = per_token_us * tokens / 1000
        model_ms = (floor_ms**3 + compute_ms**3) ** (1 / 3) + 0.012 * context / 1000 + 0.004 * len(chunks)
        model_ms *= 1 + abs(rng.gauss(0, 0.025))
        schedule_ms = 0.03 + 0.004 * len(chunks) + rng.expovariate(1 / 0.02)
        hiccup = rng.random()
        if hiccup < 0.002:
            model_ms += rng.expovariate(1 / 150)
        elif hiccup < 0.003:
            schedule_ms += rng.expovariate(1 / 350)
        yield {
            "batch_id": step, "timestamp": clock_s, "total_scheduled_tokens": tokens, "chunk_sizes": chunks,
            "all_computed_tokens": computed, "all_cached_tokens": [0] * len(chunks), "schedule_duration_ms": schedule_ms,
            "num_waiting_reqs": len(waiting), "num_running_reqs": len(running), "model_run_duration_ms": model_ms,
        }  # fmt: skip
        clock_s += (model_ms + schedule_ms + 0.4) / 1000
        for request, chunk in scheduled:
            if request[1] < request[0]:
                request[1] += chunk
            else:
                request[1] += 1
                request[2] -= 1
        running = [request for request in running if request[2] > 0]


def _arrivals(rng: random.Random, mean: float) -> int:
    """A Poisson number (Knuth's multiplication method; the mean is small)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def write(folder: Path, count: int, files: int, **shape: Any) -> None:
    """Write the steps into `files` files, profile_0.jsonl and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    made = steps(count, **shape)
    for number in range(files):
        share = count // files + (number < count % files)
        with (folder / f"profile_{number}.jsonl").open("w") as out:
            for step in itertools.islice(made, share):
                out.write(json.dumps(step) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--token-budget", type=int, default=2048)
    parser.add_argument("--floor-ms", type=float, default=7.2)
    parser.add_argument("--per-token-us", type=float, default=21.0)
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args())
    write(given.pop("folder"), given.pop("steps"), given.pop("files"), **given)
