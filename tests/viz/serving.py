"""Stores with serving benchmarks for charts: requests of several configs under several loads."""

import random
from collections.abc import Sequence

from bench.warehouse.events import Event, RunRecord

from ..builders import Builder, case, metric, run, timing


def benchmarks(
    configs: Sequence[str] = ("base", "pr"), loads: Sequence[int] = (1, 2, 4, 8), *, model: str = "llama",
    requests: int = 240, runs: int = 1
) -> Builder:  # fmt: skip
    """Config number c is faster for each user and serves fewer of them than number c - 1; times grow with the load."""
    return add_benchmarks(Builder(), configs, loads, model=model, requests=requests, runs=runs)


def add_benchmarks(
    builder: Builder, configs: Sequence[str], loads: Sequence[int] = (1, 2, 4, 8), *, model: str = "llama",
    requests: int = 240, runs: int = 1,
    first_day: int = 1,
) -> Builder:  # fmt: skip
    """Add such benchmarks to a store."""
    generator = random.Random(1)
    made: list[Event] = []
    for c, config in enumerate(configs):
        for r in range(runs):
            record: RunRecord = run(f"run-{c}-{r}", config, started_at=(first_day + r) * 86_400_000_000)
            made.append(record)
            for load in loads:
                one = case(model, record.run_id, suite="serving", parameters={"max_concurrency": load, "tp_size": 2})
                made.append(one)
                each = 10 * (1 + 0.4 * load) * 0.8**c
                rate = 3 * load ** (0.9 - 0.12 * c)
                for i in range(requests):
                    ttft, tpot, tokens = (
                        generator.expovariate(1 / (60 + 15 * load)),
                        generator.gauss(each, 1),
                        generator.randint(20, 60),
                    )
                    made += [
                        timing(one, round(ttft * 1e6), metric="ttft", sample=i),
                        timing(one, round((ttft + tpot * (tokens - 1)) * 1e6), sample=i),
                        metric(one, "output_tokens", tokens, sample=i),
                        metric(one, "start_time", i / rate * 1e9, unit="ns", sample=i),
                    ]  # fmt: skip
    return builder.add(*made)
