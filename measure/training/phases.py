"""Phases of a training step: what ran between which moments.

torch says when a backward pass and an optimizer begin and end, and its DataLoader when a batch is waited for. What lies between a
batch and the backward pass is the forward pass, loss and copies included; all else is `other`. Modules are not watched: a hook on
each costs more than one per cent of a step of 5 ms, and torch.compile traces it.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from ...warehouse.errors import described

DATA_WAIT, BACKWARD, OPTIMIZER = "data", "backward", "optimizer"
FORWARD, OTHER = "forward", "other"
PHASES = (DATA_WAIT, FORWARD, BACKWARD, OPTIMIZER, OTHER)
TIMES = {phase: f"{phase}_time" for phase in PHASES}  # the metric of each
FORWARD_TIME, OTHER_TIME = TIMES[FORWARD], TIMES[OTHER]
END = ""  # of the innermost of the phases that torch announces

_clock = time.perf_counter_ns


class Moments:
    """The moments of one step at which a phase begins or ends; of a GPU as events in its stream, too."""

    __slots__ = ("_event", "events", "failure", "kinds", "times")

    def __init__(self, event: Callable[[], Any] | None) -> None:
        """The step begins now; `event` records an event in the stream of a GPU."""
        self._event = event
        self.kinds: list[str] = []  # of all moments but the first
        self.failure: tuple[str, str] | None = None  # the phase that raised, and what
        self.events = [] if event is None else [event()]
        self.times = [_clock()]

    def add(self, kind: str) -> None:
        """A phase begins, or with END the innermost ends."""
        self.kinds.append(kind)
        self.times.append(_clock())
        if self._event is not None:
            self.events.append(self._event())

    def raised(self, phase: str, error: BaseException) -> None:
        """A phase ended by an exception."""
        self.failure = phase, described(error)
        self.add(END)

    def phase(self) -> str:
        """The phase that the step is in, or that failed, as far as torch says it."""
        if self.failure is not None:
            return self.failure[0]
        inside: list[str] = []
        for kind in self.kinds:
            if kind != END:
                inside.append(kind)
            elif inside:
                inside.pop()
        if inside:
            return inside[-1]
        return OTHER if BACKWARD in self.kinds else FORWARD

    def host_ns(self) -> dict[str, int]:
        """The time of each phase by the host's clock."""
        return durations(self.kinds, self.times)

    def device_ns(self) -> dict[str, int]:
        """The time of each phase in the stream of the GPU, whose events are done."""
        times = [0]
        for one, following in zip(self.events, self.events[1:], strict=False):
            times.append(times[-1] + round(one.elapsed_time(following) * 1e6))
        return durations(self.kinds, times)


open_steps: dict[
    int, Moments
] = {}  # of the step that a thread is in; `threading.local` takes twice as long with cold caches


def durations(kinds: Sequence[str], times: Sequence[int]) -> dict[str, int]:
    """The time of each phase by its metric, from the moments at which they begin and end; `times` has one before all of them.

    Phases lie in one another where an optimizer computes its own gradients, or a backward pass runs optimizers: the innermost
    counts. A phase that took no time is left out.
    """
    found: dict[str, int] = {}
    inside: list[str] = []
    between = 0  # time in no phase, that is of the forward pass if a backward pass comes next
    began = times[0]
    for kind, ended in zip(kinds, times[1:], strict=False):
        spent, began = ended - began, ended
        if not inside:
            between += spent
        elif spent:
            found[inside[-1]] = found.get(inside[-1], 0) + spent
        if kind == END:
            if inside:
                inside.pop()
            continue
        if between and not inside:
            metric = FORWARD_TIME if kind == BACKWARD else OTHER_TIME
            found[metric] = found.get(metric, 0) + between
            between = 0
        inside.append(TIMES[kind])
    if between:
        found[OTHER_TIME] = found.get(OTHER_TIME, 0) + between
    return found


@functools.cache
def watch(torch: Any) -> None:
    """Have torch say from now on in which phase the step of a thread is.

    A compiler that traces a whole step sees none of it, and does not compile what is called between its graphs.
    """
    import torch.optim.optimizer as optimizers
    import torch.utils.data.dataloader as loading

    is_compiling = torch.compiler.is_dynamo_compiling  # a constant for the compiler, and for others

    def announce(kind: str, *_: Any) -> None:
        if not is_compiling() and (moments := open_steps.get(get_ident())) is not None:
            moments.add(kind)

    def watched(function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or (moments := open_steps.get(get_ident())) is None:
                return function(*args, **kwargs)
            moments.add(phase)
            try:
                result = function(*args, **kwargs)
            except StopIteration:
                moments.add(END)
                raise
            except BaseException as error:
                moments.raised(phase, error)
                raise
            moments.add(END)
            return result

        _leave_uncompiled(torch, call)
        return call

    torch.autograd.backward = watched(torch.autograd.backward, BACKWARD)
    iterator = loading._BaseDataLoaderIter
    iterator.__next__ = watched(iterator.__next__, DATA_WAIT)  # type: ignore[method-assign]
    optimizers.register_optimizer_step_pre_hook(functools.partial(announce, OPTIMIZER))
    optimizers.register_optimizer_step_post_hook(functools.partial(announce, END))
    for function in (announce, Moments.add, Moments.raised):
        _leave_uncompiled(torch, function)


def _leave_uncompiled(torch: Any, function: Any) -> None:
    """Have torch.compile pass over a function of ours that runs between its graphs."""
    with contextlib.suppress(AttributeError):  # a torch without it
        torch._C._dynamo.eval_frame.skip_code(function.__code__)
