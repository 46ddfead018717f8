"""A torch model made runnable by any number of backends."""

import contextlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import size
from ...warehouse.errors import described
from ..engine.messages import status_of
from ..engine.program import REFERENCE, Agreement, DeviceLost, Enter, Fact, Measured, ModelFailed
from ..engine.workload import BASELINE, Settings, Workload
from ..system.devices import Device, device
from ..system.host_memory import Peak
from . import (
    accuracy,
    compiler_start,
    compiler_stats,
    inspection,
    memory_process,
    minifier,
    profiles,
    registry,
)
from .backend import Backend, Example
from .loading import build
from .ranks import Ranks, spread
from .settings import RANKS, Knobs
from .step import PreparedModel, TrainingStep, mark_batch, step, turned, types

if TYPE_CHECKING:
    from .accuracy import Tensors

REFERENCE_SIZE = 6  # times the weights: twice as wide, with gradients, and as much again for what lies between


class TorchProgram:
    """One torch model at one size, for any number of backends, each with weights of its own where it changes them."""

    def __init__(
        self, workload: Workload, settings: Settings, enter: Enter = lambda phase: None, *, alone: bool = False
    ) -> None:
        """Build the model and its inputs, the same for the same seed.

        `enter` is called with each phase. `alone`: one backend is prepared, once; it takes the model itself instead of a copy.

        Raises:
            ModelFailed: They could not be built.
            DeviceLost: The float64 reference ended the device's context.
        """
        import torch

        if settings.threads is not None:
            torch.set_num_threads(settings.threads)
        torch.set_grad_enabled(workload.mode == "training")
        self._workload = workload
        self._settings = settings
        self._alone = alone
        self._start_ns = 0
        self._rough = False  # whether the backend prepared last is
        self._wrong: set[str] = set()  # backends that do not agree with eager
        self._unmeasured: list[str] = []  # backends whose memory process is to begin
        self._measuring: dict[str, Measured] = {}  # those whose memory process has begun
        self._random = False  # whether eager draws random numbers
        self._last = BASELINE  # backend prepared last
        self._weights: list[tuple[Any, Any]] = []  # its parameters and buffers with copies, where it is to be rewound
        self._forget: Callable[[], None] = lambda: None  # clears the state of its optimizer
        self._knobs = Knobs.of(workload.parameters)
        self.device: Device = device(workload.device, flush_l2=self._knobs.flush_l2)
        if self.device.missing() is not None:
            return
        try:
            self.device.use()
            self._knobs.apply(torch, workload.device)
            self._reseed()
            built = build(workload)
            original = PreparedModel(built.module, built.args, built.kwargs)
            self._reference, self._unchecked = self._float64(original, enter)
            dtype, self._amp = types(workload.dtype, workload.device)
            self._model = turned(original.cast(workload.device, dtype), self._knobs, workload.mode)
            if self._knobs.dynamic_batch:
                mark_batch(self._model, workload.batch_size)
            self._ranks = Ranks(workload, settings, self._knobs.ranks or RANKS) if self._knobs.distributed else None
        except DeviceLost:
            raise
        except Exception as error:
            raise ModelFailed from error

    def _float64(self, model: PreparedModel, enter: Enter) -> tuple["Tensors | None", str]:
        """The model's float64 output, from its weights before they are cast to the dtype; or why there is none."""
        import torch

        if self._knobs.cosine:
            return None, "by cosine, as asked"
        if self._workload.no_reference:
            return None, f"by cosine, as {self._workload.no_reference}"
        needed = REFERENCE_SIZE * model.size_bytes
        if needed > self.device.free_bytes():
            return None, f"by cosine, as float64 needs {size(needed)}"
        workload = self._workload
        enter(REFERENCE)
        try:
            wide = turned(model.copied().cast(workload.device, torch.float64), self._knobs, workload.mode)
            self._reseed()
            found = accuracy.kept(step(wide, wide.module, workload.mode, contextlib.nullcontext, self._knobs)())
            why = ""
        except Exception as error:  # an operator that has no float64, or memory after all
            if reason := self.device.lost():
                raise DeviceLost(reason) from error
            found, why = None, f"by cosine, as float64 failed: {type(error).__name__}"
        enter("load")  # not if an exception left the block
        return found, why

    def _reseed(self) -> None:
        """Reset the random seed, so that every backend draws the same numbers."""
        import torch

        random.seed(self._settings.seed)
        torch.manual_seed(self._settings.seed)

    def _random_state(self) -> tuple[Any, ...]:
        """The state of all generators that a step may draw from, as it compares."""
        import torch

        devices = torch.cuda.get_rng_state_all() if self._workload.device.startswith("cuda") else []
        return random.getstate(), *(state.numpy().tobytes() for state in (torch.get_rng_state(), *devices))

    def missing(self, backend: str) -> str | None:
        """The reason for which that backend cannot run here, with the cure; None if it can."""
        return self.device.missing() or registry.backend(backend).unavailable(
            self._workload.device, self._workload.mode
        )

    def prepare(self, backend: str) -> Callable[[], Any]:
        """One step of the workload with that backend; its first call compiles."""
        found, mode = registry.backend(backend), self._workload.mode
        self._rough, self._last = found.rough, backend
        if backend != BASELINE:
            self._start(found)
            compiler_stats.own_cache(backend)
            compiler_stats.forget()  # and no dynamo reset: it would make the backends prepared before compile anew
        self._reseed()
        ranks, kind = self._ranks, self._knobs.distributed
        if ranks:
            ranks.prepare(backend)
        own = (mode == "training" or found.changes or ranks) and not self._alone
        model = self._model.copied() if own else self._model
        called = spread(model.module, kind) if kind else model.module
        example = Example(
            model.args, model.kwargs, self._workload.device, mode, self._knobs.fullgraph, self._knobs.dynamic or None,
            self._workload.target,
        )  # fmt: skip
        forward: Callable[..., Any] | None = None

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal forward
            if forward is None:
                forward = found.prepare(called, example)
            return forward(*args, **kwargs)

        backward: Callable[[], Any] = contextlib.nullcontext
        if self._knobs.compiled_autograd and found.dynamo:
            backward = registry.compiled_backward(found, example)
        taken = step(model, call, mode, self._amp, self._knobs, backward)
        self._weights, self._forget = [], lambda: None
        if isinstance(taken, TrainingStep) and self.first_calls(backend) > 1:
            self._weights = [(x, x.detach().to("cpu", copy=True)) for x in model.weights()]
            self._forget = taken.optimizer.state.clear
        return ranks.together(taken) if ranks else taken

    def first_calls(self, backend: str) -> int:
        """Three where a CUDA graph is recorded: the first runs without, the second records, the third replays. Ranks take one."""
        graphs = registry.backend(backend).graphs and self._workload.device.startswith("cuda")
        return 3 if graphs and self._ranks is None else 1

    def rewind(self) -> None:
        """Give the backend prepared last its first weights again, in their places, and the same random numbers."""
        import torch

        with torch.no_grad():
            for weight, first in self._weights:
                weight.copy_(first)
        self._forget()
        self._reseed()

    def release(self) -> None:
        """Drop the model, its reference, and what compilers hold of it."""
        self._weights, self._forget, self._reference = [], lambda: None, None
        del self._model
        compiler_stats.drop()
        self.device.release()

    def _start(self, backend: Backend) -> None:
        """Do the one-time work of a process, such as imports and finding a compiler, with a model of one operator."""
        import torch

        probes = compiler_stats.own_cache("start")
        began = time.perf_counter_ns()
        with contextlib.suppress(Exception), compiler_start.shared(probes) if probes else contextlib.nullcontext():
            # what fails here fails in the model's own first call, too, which says why
            if backend.inductor and self._workload.device == "cpu":
                compiler_start.load()
            x = torch.ones(2, 2, device=self._workload.device)
            module = torch.nn.Tanh().train(self._workload.mode == "training")
            backend.prepare(module, Example((x,), {}, self._workload.device))(x)
        self._start_ns = time.perf_counter_ns() - began

    def facts(self, backend: str) -> list[Fact]:
        """Activity of the compiler since the last call; for a backend without counters, how long it took to start."""
        if backend == BASELINE:
            return []
        start = [Fact("compiler_start", self._start_ns, "ns")] if self._start_ns else []
        self._start_ns = 0
        return [
            *start,
            *([compiler_stats.flags(), *compiler_stats.facts()] if registry.backend(backend).dynamo else []),
        ]

    def keep(self, output: Any) -> "Tensors":
        """A copy of a step's output (and loss and gradients) that later steps leave alone."""
        return accuracy.kept(output)

    def trust(self, output: "Tensors") -> Agreement | None:
        """True if eager gives the same output to the last bit when run again with the same weights and random numbers."""
        try:
            call = self.prepare(BASELINE)
            before = self._random_state()
            again = self.keep(call())
            self._random = self._random_state() != before
        except Exception as error:
            status = "eager_2nd_run_OOM" if status_of(error) == "OOM" else "eager_2nd_run_fail"
            return Agreement(False, described(error), None, status)
        digest = accuracy.digest(output)
        if digest != accuracy.digest(again):
            most = accuracy.compare(output, again, None, self._rule()).error
            if not self.device.repeatable and accuracy.compare(output, again, None, self._rule()).equal:
                what = (
                    f"two runs of eager differ by up to {most:.2g}, as additions in any order do, within the tolerance"
                )
                return Agreement(True, what, most, None, self.agree(output, again).metrics, digest)
            cure = "" if self._knobs.deterministic else ". Measure it with: --deterministic"
            what = f"two runs of eager differ by up to {most:.2g}{cure}"
            return Agreement(False, what, most, "eager_two_runs_differ", digest=digest)
        if self._random and self._reference and not self._draws_alike(output, self._reference):
            self._reference, self._unchecked = None, "by cosine, as float64 draws random numbers of its own"
        found = self.agree(output, output)
        return Agreement(True, "two runs of eager are equal to the last bit", None, None, found.metrics, digest)

    def _draws_alike(self, output: "Tensors", reference: "Tensors") -> bool:
        """True unless float64 drew other random numbers than eager, so that its output says nothing of any backend's."""
        same = {place: reference[place].to(tensor.dtype) for place, tensor in output.items() if place in reference}
        return accuracy.compare(output, same, None, self._rule()).equal

    def agree(self, expected: "Tensors", actual: "Tensors") -> Agreement:
        """Compare with eager's output by the rule of `accuracy`."""
        rule = self._rule()
        found = accuracy.compare(expected, actual, self._reference, rule)
        metrics = {
            "accuracy_rmse": found.rmse,
            "accuracy_eager_rmse": found.eager_rmse,
            "accuracy_cosine": found.cosine,
        }
        what = found.what or f"largest difference from eager {found.error:.2g}"
        if not found.equal and not found.both_nan:
            self._wrong.add(self._last)
            if self._random and not self._knobs.deterministic:
                what += "; the model draws random numbers, each backend its own. Compare it with: --deterministic"
        how = f"tolerance {rule.tolerance:g}{', ' + self._unchecked if self._unchecked else ''}"
        return Agreement(
            found.equal, f"{what} ({how})", found.error, "both_nan" if found.both_nan else None,
            metrics={name: value for name, value in metrics.items() if value is not None}, digest=accuracy.digest(actual),
        )  # fmt: skip

    def _rule(self) -> accuracy.ToleranceRule:
        workload, knobs = self._workload, self._knobs
        tolerance = workload.tolerances.get(self._last) if knobs.tolerance is None else knobs.tolerance
        return accuracy.rule(workload.dtype, workload.mode, tolerance=tolerance, cosine=knobs.cosine or self._rough)

    def trace(self, backend: str, call: Callable[[], Any], place: Path) -> list[Fact]:
        """The requested files: a profile, a memory snapshot, for eager an inspection."""
        import torch

        found = []
        if self._settings.profile:
            found += profiles.profile(torch, call, place.with_name(place.name + ".trace.json.gz"))
        if self._settings.memory_snapshot:
            path = place.with_name(place.name + ".snapshot.pickle")
            found += profiles.memory_snapshot(torch, call, path, self._workload.device)
        if self._settings.inspect and backend == BASELINE:
            found += inspection.operators(
                torch, call, place.with_name(place.name + ".operators.txt"), self.device.synchronize
            )
            graphs = place.with_name(place.name + ".graphs.txt")
            found += inspection.graphs(self._compiled_step, graphs, self.device.synchronize)
        return found

    def minify(self, backend: str, place: Path) -> list[Fact]:
        """The smallest script that shows why a backend of torch.compile is wrong; of ranks there is none."""
        if backend not in self._wrong or not registry.backend(backend).dynamo or self._ranks is not None:
            return []
        return [minifier.repro(self._workload, self._settings, backend, place.with_name(place.name + ".minifier"))]

    def _compiled_step(self, backend: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        """A step whose forward pass is compiled by a given function of graphs."""
        model = self._model.copied()
        called = registry.compiled(model.module, Example(), backend=backend)
        return step(model, called, self._workload.mode, self._amp, self._knobs)

    def memory(self, backend: str, call: Callable[[], Any]) -> Measured:
        """Take a step; the peaks and parts of the memory of a process that runs this backend alone, of ranks the step's peaks."""
        if self._ranks is not None:  # they can be started once only
            with self.device.peaks() as peaks:
                call()
            own = [self._own(peak, peaks, call) for peak in peaks]
            return lambda: (own, [])
        call()
        if not self._settings.memory:
            return lambda: ([], [])
        self._unmeasured.append(backend)
        return lambda: self._memory_of(backend)

    def _memory_of(self, backend: str) -> tuple[list[Peak], list[Fact]]:
        """Wait for the memory process of a backend; meanwhile that of the next one runs, where there is room for two."""
        self.device.release()  # what nobody holds, to the processes that begin now
        while self._unmeasured and len(self._measuring) < self._at_once():
            name = self._unmeasured.pop(0)
            self._measuring[name] = memory_process.measure(self._workload, self._settings, name)
        return self._measuring.pop(backend)()

    def _at_once(self) -> int:
        """The number of memory processes that run beside each other: on a GPU they would share its memory."""
        needed = 2 * self.device.memory.resident_bytes()  # each holds what this process does, at most
        return (
            2
            if self._workload.device == "cpu" and (os.cpu_count() or 1) > 1 and needed < self.device.free_bytes()
            else 1
        )

    def _own(self, peak: Peak, peaks: list[Peak], call: Callable[[], Any]) -> Peak:
        """A peak of this backend's own: of a GPU's allocator, without what the others hold."""
        if peak.source != "cuda_allocated":
            return peak
        growth = next(one.size_bytes for one in peaks if one.source == "cuda_growth")
        step = getattr(call, "step", call)
        held = step.held_bytes if isinstance(step, TrainingStep) else self.weight_bytes
        return replace(peak, size_bytes=growth + held)

    @property
    def module(self) -> Any:
        """The model as it was built."""
        return self._model.module

    @property
    def weight_bytes(self) -> int:
        """The size of the model's parameters and buffers."""
        return self._model.size_bytes

    def settle(self) -> None:
        """End the compiler's idle helper processes, so that none runs beside the samples."""
        with contextlib.suppress(ImportError, AttributeError):
            from torch._inductor.async_compile import shutdown_compile_workers

            shutdown_compile_workers()
