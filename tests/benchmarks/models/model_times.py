"""Times of models as `bench measure models` takes them, beside plain loops written by hand.

The cases are some of docs/decisions/2026-11-26-models-on-a-cpu.md, at the sizes it has. Two loops: one around the very step
that bench times, which says what its sampling adds; and one around a second model, made as a script makes it, which says whether the step is the script's.
All are timed in one process, in turn: bench takes eager and inductor in random order, as it always does; a loop has each alone,
as a script has. On a virtual machine a loop around one step differs by 5 to 40 % from second to second. So the turns are short
and many, a third model that the script makes in the same way shows what chance does to a single case, and the bar is for all
cases of a model together.
"""

import json
import statistics
from collections.abc import Sequence

from ..figures import Figures, python
from .model_memory import STEP

MODELS = {
    "mlp": ("builtin", "mlp", 32, 8),
    "cnn": ("builtin", "cnn", 8, 8),
    "bert": ("huggingface-small", "bert-small", 4, 64),
}
BACKENDS = ("eager", "inductor")
MODES = ("inference", "training")
NEAR = 2  # % of a loop
PROCESSES, SECONDS = 5, 12
OWN, SCRIPT = "a loop around its step", "a script's own model"
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
suite, name, seconds = sys.argv[5], sys.argv[6], float(sys.argv[7])
(workload,) = product(suite, {name: models_of(suite)[name]}, backends=BACKENDS, modes=[mode], devices=["cpu"], dtypes=["float32"])
program = TorchProgram(workload, Settings())
ours = [program.prepare(backend) for backend in BACKENDS]
plain = [stepper(backend) for backend in BACKENDS]
again = [stepper(backend) for backend in BACKENDS]
for step in (*ours, *plain, *again):
    for _ in range(10):
        step()

def alone(step, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)

turn = max(0.03, 5e-9 * max(alone(step, 0.2) for step in ours))
found = {backend: [] for backend in BACKENDS}
end = time.perf_counter() + seconds
while time.perf_counter() < end:
    samples = []
    clocks = [partial(program.device.time, step) for step in ours]
    Sampler(clocks, samples.append, seed=len(found[BACKENDS[0]])).run(precision=0, budget_s=4 * turn)
    for side, backend in enumerate(BACKENDS):
        steady = [s.reading.each_ns for s in samples if (s.side, s.phase) == (side, "steady")]
        loops = [alone(steps[side], turn) for steps in (ours, plain, again)]
        found[backend].append((statistics.median(steady), *loops))
print(json.dumps(found))
"""
)


def measure(figures: Figures) -> None:
    """Of each case the median of a ratio over all turns of all processes; of several cases the geometric mean."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for name, (suite, script, batch, length) in MODELS.items():
        for mode in MODES:
            command = script, mode, str(batch), str(length), suite, name, str(SECONDS), *BACKENDS
            found = [json.loads(python(BOTH, *command).stdout) for _ in range(PROCESSES)]
            for backend in BACKENDS:
                bench, own, plain, again = zip(
                    *(turn for of_process in found for turn in of_process[backend]), strict=True
                )
                chance = _off(_ratio(again, plain))
                for loop, times in ((OWN, own), (SCRIPT, plain)):
                    ratios.setdefault((name, loop), []).append(_ratio(bench, times))
                    off = _off(ratios[name, loop][-1])
                    figures.add(f"time of {name} {mode} {backend}, off {loop}", off, "%", reference=chance,
                                against="two models of one script")  # fmt: skip
    for (name, loop), of_model in ratios.items():
        figures.add(
            f"times of {name}, all cases together, off {loop}",
            _off(statistics.geometric_mean(of_model)),
            "%",
            most=NEAR,
        )


def _ratio(some: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(some, others, strict=True))


def _off(ratio: float) -> float:
    """How far a ratio is from 1, in percent."""
    return 100 * abs(ratio - 1)
