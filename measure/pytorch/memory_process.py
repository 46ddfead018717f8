"""Memory of one backend, in a process of its own that holds the workload and nothing else: no reference, no other backend.

The process builds the model, takes a few steps, and reports the most it held: what a script that does the same holds, with
the compiler's imports and without compiling, since the caches are filled. Then it takes one more step and reports
what that added at most.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from ..engine.messages import reason_of, resolve
from ..engine.program import Fact, Measured
from ..engine.workload import BASELINE, Job, Settings, Workload
from ..system.host_memory import Peak, error_bound_bytes
from .child import Answer, answer, begin
from .step import TrainingStep

PROGRAM = f"{__package__}.program:TorchProgram"
COMPILERS = ("dynamo_config", "inductor_config")  # they import the compilers, which eager does not run
STEPS = 3  # the second also holds what the first leaves: gradients and the optimizer's state


def measure(workload: Workload, settings: Settings, backend: str) -> Measured:
    """Start a process that runs one backend; the function waits for the peaks and parts of its memory.

    Returns:
        Peaks: `rss` of the whole process, where the kernel keeps it; `rss_growth` of a steady step; on a GPU those of its
        allocator in a steady step.
        Facts in bytes: `memory_framework`, what the process held before its first step, on a CPU less the weights:
        interpreter, imports, inputs; `memory_weights`, `memory_gradients`, `memory_optimizer`; `memory_step`, the rest of
        the steps' peak: activations, workspace, what a compiler keeps; `memory_loading`, what loading held at most beyond
        framework and weights. The first five add up to the process, or where loading held more, the first two and loading.
        `memory_first_call` is what the first step added at most. Where it failed a fact `memory` without a value, with the
        reason.
    """
    kept = {name: value for name, value in workload.parameters.items() if backend != BASELINE or name not in COMPILERS}
    alone = replace(workload, backends=(backend,), parameters=kept, no_reference="memory is measured without")
    job = Job(run_id="", store="", process=0, workload=alone, settings=settings, program=PROGRAM)
    answered = begin(__name__, job)

    def wait() -> tuple[list[Peak], list[Fact]]:
        found, end = answered()
        if not found or "reason" in found[0]:
            return [], [Fact("memory", None, "bytes", text=found[0]["reason"] if found else f"the process {end}")]
        return [Peak(**peak) for peak in found[0]["peaks"]], [Fact(**fact) for fact in found[0]["facts"]]

    return wait


def _measured(job: Job) -> Iterator[Answer]:
    """The one answer, in that process."""
    try:
        program = resolve(job.program)(job.workload, job.settings, alone=True)
        call = program.prepare(job.workload.backends[0])
        yield _taken(program, call, job.workload.device == "cpu")
    except Exception as error:
        yield {"reason": reason_of(error)}


def _taken(program: Any, call: Callable[[], Any], on_host: bool) -> Answer:
    device, memory = program.device, program.device.memory
    before = memory.resident_bytes()
    highest = memory.highest() if memory.exact else 0  # until now, while loading
    growth: dict[str, int] = {}
    if memory.exact:
        growth["loading"] = max(highest - before, 0)
        memory.forget()
    for step in range(STEPS):
        call()
        if memory.exact and not step:
            device.synchronize()
            growth["first_call"] = max(memory.highest() - before, 0)
    device.synchronize()
    stepping = memory.highest() if memory.exact else 0
    whole = [Peak("rss", max(highest, stepping), error_bound_bytes(), phase=None)] if memory.exact else []
    with device.peaks() as peaks:
        call()
    peaks = [*whole, *(peak for peak in peaks if peak.source != "rss")]
    parts = {"weights": program.weight_bytes}
    if isinstance(call, TrainingStep):
        parts |= {"gradients": call.gradient_bytes, "optimizer": call.optimizer_bytes}
    framework = before - (parts["weights"] if on_host else 0)
    held = {peak.source: peak.size_bytes for peak in peaks}
    total = stepping - framework if on_host else held.get("cuda_allocated", 0)
    rest = {"step": total - sum(parts.values())} if total > 0 else {}
    facts = [
        Fact(f"memory_{name}", size, "bytes", "lower")
        for name, size in {"framework": framework, **parts, **rest, **growth}.items()
    ]
    return {"peaks": [asdict(peak) for peak in peaks], "facts": [asdict(fact) for fact in facts]}


def main() -> None:
    """Answer the job on stdin."""
    answer(_measured)
