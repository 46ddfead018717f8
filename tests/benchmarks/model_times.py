"""Times of models as `bench measure models` takes them, beside plain loops written by hand.

The cases are some of docs/cpu-report.md, at the sizes it has. Two loops: one around the very step that bench times, which says
what its sampling adds; and one around a second model, made as a script makes it, which says whether the step is the script's.
All three are timed in one process, in turn: bench takes eager and inductor in random order, as it always does; a loop has each
alone, as a script has. On a virtual machine one loop around one step differs by 5 to 40 % from second to second, and two models
that a script makes by 5 %. So the turns are short and many, and all cases together are held to the bar, too.
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
NEAR = 2  # % of a loop
PROCESSES, ROUNDS = 5, 12  # of 1.8 s
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

def alone(step, seconds=0.25):
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
    Sampler(clocks, samples.append, seed=number).run(precision=0, budget_s=0.8)
    for side, backend in enumerate(BACKENDS):
        steady = [s.reading.each_ns for s in samples if (s.side, s.phase) == (side, "steady")]
        found[backend].append((statistics.median(steady), alone(ours[side]), alone(plain[side])))
print(json.dumps(found))
"""
)


def measure(figures: Figures) -> None:
    """Of each case the median over processes of a ratio of medians, itself a median over rounds; of all cases the geometric mean."""
    ratios: dict[str, list[float]] = {"a loop around its step": [], "a script's own model": []}
    for name, (suite, script, batch, length) in MODELS.items():
        for mode in MODES:
            command = script, mode, str(batch), str(length), suite, name, str(ROUNDS), *BACKENDS
            found = [json.loads(python(BOTH, *command).stdout) for _ in range(PROCESSES)]
            for backend in BACKENDS:
                for place, (loop, others) in enumerate(ratios.items(), 1):
                    others.append(
                        statistics.median(
                            statistics.median(times[0] / times[place] for times in it[backend]) for it in found
                        )
                    )
                    off = 100 * abs(others[-1] - 1)
                    figures.add(f"time of {name} {mode} {backend}, off {loop}", off, "%", most=NEAR)
    for loop, others in ratios.items():
        off = 100 * abs(statistics.geometric_mean(others) - 1)
        figures.add(f"times of all cases together, off {loop}", off, "%", most=NEAR)
