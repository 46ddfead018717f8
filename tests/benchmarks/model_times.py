"""Times of models as `bench measure models` takes them, beside a plain loop around the same step, written by hand.

The cases are some of docs/cpu-report.md, at the sizes it has. Processes have their own luck with memory and caches: medians
of one script differ by 40 % from process to process on a virtual machine. So both are timed in one process, in turn: bench
takes eager and inductor in random order, as it always does; the loop has each alone, as a script has. Two copies of a model
in one process have different luck still, up to 5 % either way, so the median over several processes counts.
"""

import json
import statistics

from .figures import Figures, python
from .model_memory import STEP

MODELS = {
    "mlp": ("builtin", "mlp", 32, 8),
    "cnn": ("builtin", "cnn", 8, 8),
    "bert": ("huggingface-small", "bert-small", 4, 64),
}
BACKENDS = ("eager", "inductor")
MODES = ("inference", "training")
NEAR = 2  # % of the loop
PROCESSES, ROUNDS = 5, 3
BOTH = (
    STEP
    + """
import json
import statistics
import time
from functools import partial

from bench.measure.engine.sampling import Sampler
from bench.measure.engine.workload import Settings
from bench.measure.models.product import product
from bench.measure.pytorch.program import TorchProgram
from bench.measure.suites.registry import models_of

BACKENDS = tuple(sys.argv[8:])
suite, name, rounds = sys.argv[5], sys.argv[6], int(sys.argv[7])
(workload,) = product(suite, models_of(suite, (name,)), backends=BACKENDS, modes=[mode], devices=["cpu"], dtypes=["float32"])
program = TorchProgram(workload, Settings())
ours = [program.prepare(backend) for backend in BACKENDS]
plain = [stepper(backend) for backend in BACKENDS]
for step in (*ours, *plain):
    for _ in range(10):
        step()

def alone(step, seconds=1.0):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)

found = {backend: [] for backend in BACKENDS}
for number in range(rounds):
    samples = []
    clocks = [partial(program.device.time, step) for step in ours]
    Sampler(clocks, samples.append, seed=number).run(precision=0, budget_s=2.5)
    for side, backend in enumerate(BACKENDS):
        steady = [s.reading.each_ns for s in samples if (s.side, s.phase) == (side, "steady")]
        found[backend].append((statistics.median(steady), alone(plain[side])))
print(json.dumps(found))
"""
)


def measure(figures: Figures) -> None:
    """The median over processes of the ratio of both medians, itself a median over rounds, for each case."""
    for name, (suite, script, batch, length) in MODELS.items():
        for mode in MODES:
            command = script, mode, str(batch), str(length), suite, name, str(ROUNDS), *BACKENDS
            found = [json.loads(python(BOTH, *command).stdout) for _ in range(PROCESSES)]
            for backend in BACKENDS:
                ratio = statistics.median(
                    statistics.median(ours / plain for ours, plain in it[backend]) for it in found
                )
                plain = statistics.median(plain for it in found for _, plain in it[backend])
                figures.add(
                    f"time of {name} {mode} {backend}, off a plain loop", 100 * abs(ratio - 1), "%", most=NEAR,
                    against=f"the loop: {plain / 1e6:.3f} ms",
                )  # fmt: skip
