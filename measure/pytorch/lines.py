"""Memory line by line of a model by eager, in a process of its own: times and peaks are measured without a trace.

The process builds the model, and then two steps are traced: the first, which allocates what stays (gradients, an optimizer's
state), and a steady one. A line is of the model's own modules; in training also of the step around it, with its backward pass
and its optimizer.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...warehouse.recorder import Case, Run
from ..engine.messages import resolve
from ..engine.workload import Job
from ..line_memory.run import TracedProgram, trace
from ..line_memory.trace import Scope

STEPS = 2
TRACE = "trace_lines"  # a metric without a value: why there is no trace


def trace_lines(job: Job, run: Run, case: Case) -> str | None:
    """Trace a workload's baseline into its case; returns why that failed, or None."""
    if job.workload.parameters.get("distributed"):
        return "a model over several ranks is not traced"
    workload = replace(job.workload, backends=(job.workload.baseline,), no_reference="lines are traced without")
    text = json.dumps(replace(job, workload=workload).to_dict())
    program = TracedProgram("prepared", f"{__name__}:prepared", (text,))
    traced = trace(run, program, Scope.of(job.settings.trace_lines or {}), timeout_s=job.settings.timeout_s, of=case)
    if traced.status != "ok":
        return f"{traced.status}: {traced.reason}"
    return next((note for note in traced.notes if note.startswith("no line was traced")), None)


def prepared(text: str) -> tuple[Callable[[], None], tuple[str, ...]]:
    """The objects, in that process, that take the steps, and the modules that these are of."""
    job = Job.from_dict(json.loads(text))
    program = resolve(job.program)(job.workload, job.settings, alone=True)
    call = program.prepare(job.workload.baseline)

    def steps() -> None:
        for _ in range(STEPS):
            call()

    own = (f"{__package__}.step",) if job.workload.mode == "training" else ()
    return steps, (*modules(program.module), *own)


def modules(module: Any) -> tuple[str, ...]:
    """The modules of Python that define the classes of a model, without torch's own."""
    names = {type(part).__module__ for part in module.modules()}
    return tuple(sorted(name for name in names if name.partition(".")[0] != "torch"))
