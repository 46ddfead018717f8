"""What `bench.steps` costs a training loop, as a share of a step."""

import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bench
import torch
from torch import nn

from ..figures import Figures

PAIRS, STEPS, WARM = 30, 20, 10
WIDTH, BATCH, LAYERS = 512, 64, 6


def measure(figures: Figures) -> None:
    """Steps of about 5 ms, recorded and not recorded in turns: the median ratio of the processor time of a pair of turns."""
    torch.set_num_threads(1)
    layers = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(BATCH, WIDTH)

    def turn(batches: Iterable[Any]) -> float:
        began = time.process_time()
        for batch in batches:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        return time.process_time() - began

    with tempfile.TemporaryDirectory() as folder, bench.run("steps", store=Path(folder) / "store"):
        recorded, plain = bench.steps([inputs] * STEPS, tokens=BATCH, peak_flops=1e12), [inputs] * STEPS
        for _ in range(WARM):
            turn(recorded)
            turn(plain)
        pairs = []
        for number in range(PAIRS):
            order = (recorded, plain) if number % 2 else (plain, recorded)
            times = {id(batches): turn(batches) for batches in order}
            pairs.append((times[id(recorded)], times[id(plain)]))
    step_ms = statistics.median(plain for _, plain in pairs) / STEPS * 1e3
    share = statistics.median(one / other for one, other in pairs) - 1
    figures.add("steps: processor time of a step without bench", step_ms, "ms")
    figures.add("steps: what bench adds to it", 100 * share, "%", most=1.0)
