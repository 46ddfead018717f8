"""The runner: starts a fresh worker for every workload, and gives every case an outcome however that worker ends.

All cases of the plan are announced before the first worker starts, so that even a killed runner leaves them in the
log. The runner sleeps while a worker works: threads block on the worker's pipes and on its end. When a worker dies in the
phase of one backend, the failure is attributed to that backend and the others get another worker, as they do when a
backend's failure took the device with it. A backend that runs out of a GPU's memory beside others gets another worker with the
baseline alone. When a worker dies while it computes the float64 reference, no backend is blamed: all get another worker, which
judges without a reference.
"""

import contextlib
import itertools
import json
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...warehouse.events import Metric
from ...warehouse.recorder import Case, Run, case_ids
from ..pytorch.compiler_stats import caches
from ..suites.source_digest import DIGEST, source_digest
from ..system.own_process import own_command
from ..system.process_sampler import sampled
from . import launcher
from .estimate import ProcessEstimate, combined
from .messages import TAIL_BYTES, clean, first_line
from .program import REFERENCE
from .progress import ProgressListener
from .runner_overhead import OwnCost
from .workload import NOT_FAILURES, Job, Settings, Workload

TORCH_PROGRAM = f"{__name__.rsplit('.', 2)[0]}.pytorch.program:TorchProgram"
SAMPLED = ("warmup", "steady")
UNJUDGED = ("load", "cold")  # phases in which a model's output is still to be judged
# As Python's warnings print one, with the line of code below it; and as torch logs one.
WARNINGS = re.compile(  # a warning has several lines at times, and ends with the indented line of source that warned
    r"^(.*:\d+: \w*Warning: .*\n?((^(?!Traceback)\S.*\n){0,9}?^[ \t]+\S.*\n?)?|[VIW]\d{4} [\d:.]+ .*\n?)", re.MULTILINE
)


@dataclass(slots=True)
class Progress:
    """The progress that a worker reported."""

    phase: str = "load"
    backend: str | None = None  # that is running; None if the phase concerns all
    ended: dict[str, str] = field(default_factory=dict)  # backend -> status of its performance outcome
    accuracy: dict[str, str] = field(default_factory=dict)  # backend -> status of its accuracy outcome
    crowded: list[str] = field(default_factory=list)  # backends that ran out of memory beside others
    lost: str = ""  # why the device runs nothing any more


@dataclass(frozen=True, slots=True)
class End:
    """The end of a worker process; `signal` and `exit_code` exclude each other."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    stderr_tail: str

    def details(self, timeout_s: float) -> tuple[str, str]:
        """Status and reason for the cases that it left without an outcome."""
        if self.timed_out:
            return "timeout", f"longer than the {timeout_s:g} s allowed"
        if self.signal is not None:
            name = signal.Signals(self.signal).name if self.signal in set(signal.Signals) else f"signal {self.signal}"
            hint = ", which is what the kernel sends when memory runs out" if self.signal == signal.SIGKILL else ""
            return "killed" if self.signal in (
                signal.SIGKILL,
                signal.SIGTERM,
            ) else "crashed", f"worker ended by {name}{hint}"
        last = self.last_words
        return "fail_to_run", f"worker ended with exit code {self.exit_code}{': ' + last if last else ''}"

    @property
    def last_words(self) -> str:
        """The last non-empty line on stderr that belongs to no warning: compilers warn of much that ends nothing."""
        return first_line("\n".join(reversed(WARNINGS.sub("", self.stderr_tail).splitlines())))


@dataclass(slots=True)
class WorkloadFindings:
    """Findings so far of the processes of one workload; `parts` by case, one for each process."""

    parts: dict[str, list[ProcessEstimate]] = field(default_factory=dict)
    sampled_s: float = 0.0

    @property
    def precision(self) -> float:
        """Half-width of the widest interval, as a fraction; infinite where nothing is known."""
        return max((combined(parts).precision for parts in self.parts.values()), default=math.inf)


HeartbeatCount = Callable[[Progress, dict[str, Any]], None]


class Runner:
    """Measures a plan, workload by workload."""

    def __init__(
        self, run: Run, settings: Settings, *, program: str = TORCH_PROGRAM, watch: ProgressListener | None = None
    ) -> None:
        """Prepare to measure into `run`.

        The caller closes the run. `program` makes a workload runnable, as `module:callable`; see program.MakeProgram.
        """
        self._run = run
        self._settings = settings
        self._program = program
        self._watch = watch or ProgressListener()
        self._workers = 0
        self._cost = OwnCost()
        self._cases: dict[str, Case] = {}  # of the workload at its turn, by backend
        self._findings: dict[str, WorkloadFindings] = {}  # by the case of the first backend
        self._failed: set[str] = set()  # cases that failed, in any process

    def measure(self, plan: Iterable[Workload], further: Iterable[Workload] = ()) -> int:
        """Measure every workload. `further` is asked one by one after the plan: it may depend on what was found.

        Returns:
            How many cases failed, skipped ones not counted.

        Raises:
            KeyboardInterrupt: Ctrl-C; the remaining cases have an outcome all the same.
        """
        if isinstance(plan, Sequence):
            self._watch.plan(len(plan))
        return sum(self.turns(plan, further))

    def found(self, workload: Workload) -> WorkloadFindings:
        """The findings of a workload so far."""
        return self._findings.get(case_ids(**workload.axes(workload.backends[0]))[0], WorkloadFindings())

    def has_failed(self, workload: Workload, backend: str) -> bool:
        """Return whether a backend failed in any process so far."""
        return case_ids(**workload.axes(backend))[0] in self._failed

    def turns(self, plan: Iterable[Workload], further: Iterable[Workload] = ()) -> Iterator[int]:
        """Announce the whole plan now, and measure one workload whenever asked for the next; gives how many cases failed.

        Of a plan that is not known yet, as it is claimed bit by bit, each workload is announced when its turn comes, to
        the watch, too; of others the caller has told it how many there are.
        """
        self._run.emit(Metric(run_id=self._run.run_id, metric="seed", value=float(self._settings.seed)))
        known = plan if isinstance(plan, Sequence) else ()
        return self._turns(itertools.chain(plan, further), [self._announce(workload) for workload in known])

    def _announce(self, workload: Workload) -> dict[str, Case]:
        cases = {name: self._run.case(**workload.axes(name)) for name in workload.backends}
        if digest := source_digest(workload.target):
            for case in cases.values():
                case.metric(DIGEST, None, text=digest)
        return cases

    def _turns(self, plan: Iterable[Workload], announced: Sequence[dict[str, Case]]) -> Iterator[int]:
        try:
            for number, workload in enumerate(plan):
                if all(self.has_failed(workload, name) for name in workload.backends):
                    continue  # another process would fail alike
                known = number < len(announced)
                if not known:
                    self._watch.plan(1)
                self._watch.begin(workload)
                try:
                    ended = self._workload(workload, announced[number] if known else self._announce(workload))
                except KeyboardInterrupt:
                    for left in announced[number + 1 :]:
                        _end(left.values(), "interrupted", reason="Ctrl-C before its turn")
                    raise
                self._watch.end(ended)
                failed = [name for name, status in ended.items() if status not in NOT_FAILURES]
                self._failed.update(self._cases[name].case_id for name in failed)
                yield len(failed)
        finally:
            if (share := self._cost.share) is not None:
                self._run.emit(Metric(run_id=self._run.run_id, metric="runner_cpu", value=share, unit="ratio"))

    def _workload(self, workload: Workload, cases: dict[str, Case]) -> dict[str, str]:
        """Measure one workload, in as many workers as it takes; the worst status of each backend."""
        self._cases = cases
        ended: dict[str, str] = {}
        for name in cases.keys() & workload.skips.keys():
            _end([cases[name]], "skipped", reason=workload.skips[name])
            ended[name] = "skipped"
        wrong: dict[str, str] = {}
        crowded: set[str] = set()  # measured one by one, each with the baseline alone
        while left := tuple(name for name in workload.backends if name not in ended):
            progress = Progress()
            backends = tuple(name for name in left if name not in crowded) or (workload.baseline, left[0])
            try:
                end = self._worker(replace(workload, backends=backends), progress)
            except KeyboardInterrupt:
                unfinished = [cases[name] for name in left if name not in progress.ended]
                _end(unfinished, "interrupted", reason="Ctrl-C", phase=progress.phase)
                raise
            status, reason = end.details(self._settings.timeout_s)
            if progress.phase == REFERENCE:
                workload = replace(workload, no_reference=f"float64 failed: {progress.lost or reason}")
                continue
            ended |= progress.ended
            wrong |= {name: status for name, status in progress.accuracy.items() if status not in NOT_FAILURES}
            crowded.update(progress.crowded)
            if progress.lost and (progress.ended or progress.crowded):
                continue
            missing = [name for name in backends if name not in ended and name not in progress.crowded]
            guilty = [progress.backend] if progress.backend in missing else missing
            _end(
                [cases[name] for name in guilty], status, reason=reason, phase=progress.phase,
                exit_code=end.exit_code, signal=end.signal, stderr_tail=end.stderr_tail or None,
            )  # fmt: skip
            if workload.mode and progress.phase in UNJUDGED:
                judged = "timeout" if end.timed_out else "infra_error"
                _end(
                    [cases[name] for name in guilty if name not in progress.accuracy],
                    judged,
                    kind="accuracy",
                    reason=reason,
                )
            ended |= dict.fromkeys(guilty, status)
        return {name: wrong.get(name, status) if status in NOT_FAILURES else status for name, status in ended.items()}

    def tried(self, workload: Workload) -> tuple[str, str]:
        """Let a worker take a few steps of the baseline; returns the status and the reason."""
        progress = Progress()
        end = self._worker(replace(workload, backends=(workload.baseline,)), progress, trial=True)
        if status := progress.ended.get(workload.baseline):
            return status, end.last_words
        return end.details(self._settings.timeout_s)

    def _worker(self, workload: Workload, progress: Progress, *, trial: bool = False) -> End:
        """Run one worker to its end; none of its processes outlives this call."""
        job = Job(
            run_id=self._run.run_id, store=str(self._run.store.root), process=self._workers, workload=workload,
            settings=self._settings, program=self._program, trial=trial,
        )  # fmt: skip
        self._workers += not trial
        cache = tempfile.mkdtemp(prefix="bench-worker-")  # empty, so that the cold compile is cold
        reports, reporting = os.pipe()
        address = launcher.pipe_address(reports, reporting)
        try:
            process = subprocess.Popen(
                [*launcher.words(self._settings.launcher), *own_command(f"{__package__}.worker", address)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(reporting,),
                start_new_session=True, env={**os.environ, **caches(cache), "TMPDIR": cache},
            )  # fmt: skip
            os.close(reporting)
            with sampled(self._run, process.pid, self._settings.sample_hz):
                return _attend(process, job, reports, progress, _record_message if trial else self._receive)
        finally:
            self._cost.end()
            shutil.rmtree(cache, ignore_errors=True)

    def _receive(self, progress: Progress, message: dict[str, Any]) -> None:
        """Handle a message of a worker; called from the thread that reads its pipe."""
        _record_message(progress, message)
        if "phase" in message:
            if progress.phase in SAMPLED:
                self._cost.begin()
            self._watch.enter(progress.phase, progress.backend)
        elif "lost" in message or "crowded" in message:
            return
        elif "found" in message:
            self._add(message["found"], message["numbers"])
            self._watch.found(message["found"], message["numbers"])
        elif message["kind"] == "performance":
            self._watch.found(message["ended"], {"status": message["status"]})

    def _add(self, backend: str, numbers: dict[str, Any]) -> None:
        """Keep what a process found of a side."""
        first = next(iter(self._cases.values()))
        findings = self._findings.setdefault(first.case_id, WorkloadFindings())
        findings.sampled_s += numbers.get("sampled_s", 0.0)
        if "part" in numbers:
            parts = findings.parts.setdefault(self._cases[backend].case_id, [])
            parts.append(ProcessEstimate(*numbers["part"]))


def _record_message(progress: Progress, message: dict[str, Any]) -> None:
    """Update the progress of a worker from its message."""
    if "phase" in message:
        progress.phase, progress.backend = message["phase"], message["backend"]
    elif "ended" in message:
        (progress.accuracy if message["kind"] == "accuracy" else progress.ended)[message["ended"]] = message["status"]
    elif "crowded" in message:
        progress.crowded.append(message["crowded"])
    elif "lost" in message:
        progress.lost = message["lost"]


def _attend(
    process: "subprocess.Popen[bytes]", job: Job, reports: int, progress: Progress, receive: HeartbeatCount
) -> End:
    """Wait for the worker without polling; on timeout, interruption and at its end its whole group is killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    tail = bytearray()
    over: queue.SimpleQueue[None] = queue.SimpleQueue()

    def listen() -> None:
        with open(reports, "rb") as lines:
            for line in lines:
                receive(progress, json.loads(line))

    def read() -> None:
        while chunk := process.stdout.read1(1 << 16):  # type: ignore[union-attr]
            tail.extend(chunk)
            del tail[:-TAIL_BYTES]

    def wait() -> None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # not reaped, so that its group cannot be another's
        over.put(None)

    listener, reader, waiter = threads = [
        threading.Thread(target=target, daemon=True) for target in (listen, read, wait)
    ]
    for thread in threads:
        thread.start()
    timed_out = False
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(job.to_dict()).encode() + b"\n")
            process.stdin.flush()
        try:
            over.get(timeout=job.settings.timeout_s)
        except queue.Empty:
            timed_out = True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        waiter.join()
        code = process.wait()
        for thread in (listener, reader):
            thread.join(timeout=1.0)  # a grandchild that left the group may hold a pipe open: not our concern
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    return End(
        exit_code=code if code >= 0 and not timed_out else None,
        signal=-code if code < 0 and not timed_out else None,
        timed_out=timed_out,
        stderr_tail=clean(bytes(tail).decode("utf-8", "replace")),
    )


def _end(cases: Iterable[Case], status: str, **details: Any) -> None:
    for case in cases:
        case.outcome(status, **details)
