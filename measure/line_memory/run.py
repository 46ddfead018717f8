"""Memory line by line: run a program under the line trace, and record the numbers of every line."""

import contextlib
import functools
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...warehouse.errors import BenchError
from ...warehouse.events import Instant, MemoryLine, MemorySample
from ...warehouse.recorder import Case, Run
from ..engine.messages import TAIL_BYTES, clean
from ..engine.runner import End
from ..options import as_module
from ..system.own_process import own_command
from .ledger import Reader
from .trace import Scope
from .worker import TraceJob

GRACE_SECONDS = 5.0
TRACED = "traced"  # the phase of readings of a trace beside a measurement, which views of its peaks leave out


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """The program to run: a script's path, a module's name, `module:callable`, or a function that prepares one."""

    kind: str  # script, module, callable or prepared, see TraceJob
    target: str
    arguments: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of its own code."""
        return Path(self.target).resolve().parent if self.kind == "script" else Path.cwd()


@dataclass(frozen=True, slots=True)
class MeasuredLines:
    """The end of a trace: status and reason of the outcome, and notes."""

    run_id: str
    case_id: str
    name: str
    status: str
    reason: str | None
    notes: list[str]
    interrupted: bool  # by Ctrl-C


def program_of(target: str, arguments: tuple[str, ...], *, module: bool = False) -> TracedProgram:
    """Read the target and its arguments.

    Raises:
        BenchError: There is no such script, the file of a callable cannot be imported, or it was given arguments.
    """
    if module:
        return TracedProgram("module", target, arguments)
    if os.path.exists(target) or ":" not in target:
        if not os.path.isfile(target):
            raise BenchError(f"no script {target!r}. A module is run with -m, a function named as module:callable.")
        return TracedProgram("script", target, arguments)
    target = as_module(target)
    if arguments:
        raise BenchError(f"{target} is called without arguments; leave out: {' '.join(arguments)}")
    return TracedProgram("callable", target)


def trace(
    run: Run, program: TracedProgram, scope: Scope, *, timeout_s: float | None = None,
    beside: Callable[[int, Case], contextlib.AbstractContextManager[Any]] = lambda pid, case: contextlib.nullcontext(),
    of: Case | None = None,
) -> MeasuredLines:  # fmt: skip
    """Run a program, and record its lines however it ends.

    Args:
        run: Run to record into; closed by the caller.
        program: What to run. What it prints goes to stderr.
        scope: Which lines to follow.
        timeout_s: Most time it may take.
        beside: Gives a context to hold while it runs, from its process id and the case, such as a sampler's.
        of: The case whose lines these are, if it is measured by others: its outcome and its peaks are theirs.
    """
    arguments = {"arguments": list(program.arguments)} if program.arguments else None
    case = of or run.case(program.target, parameters=arguments)
    with tempfile.TemporaryDirectory(prefix="bench-lines-", ignore_cleanup_errors=True) as folder:
        job = TraceJob(folder, program.kind, program.target, program.arguments, scope)
        with _Worker(job) as worker, beside(worker.pid, case):
            worker.wait(timeout_s)
        reader = Reader(Path(folder))
        _record(run, case, reader, TRACED if of else "steady")
        status, reason, details = worker.outcome(timeout_s)
        if of is None:
            case.outcome(status, phase="steady", reason=reason, **details)
        notes = [*worker.notes(), *_notes(reader)]
        if status == "ok" and not any(reader.lines()):
            notes.append(
                "no line was traced: nothing that ran belongs to the modules to trace. Name others with --modules"
            )
        return MeasuredLines(run.run_id, case.case_id, program.target, status, reason, notes, worker.interrupted)


class _Worker:
    """The process that runs the program, from its start to its end."""

    def __init__(self, job: TraceJob) -> None:
        self._job = job
        self._tail = bytearray()
        self._reported: dict[str, Any] = {}
        self._started: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._timed_out = False
        self.interrupted = False

    def __enter__(self) -> "_Worker":
        reports, reporting = os.pipe()
        command = own_command(f"{__package__}.worker", self._job.text(), str(reporting))
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(reporting,),
        )  # fmt: skip
        os.close(reporting)
        self._threads = [
            threading.Thread(target=target, args=args, daemon=True)
            for target, args in ((self._listen, (reports,)), (self._pass_on, ()), (self._await_end, ()))
        ]
        for thread in self._threads:
            thread.start()
        self._started.get()
        return self

    @property
    def pid(self) -> int:
        """The process that runs the program; of the worker itself where that never got so far."""
        return int(self._reported.get("pid", self._process.pid))

    def wait(self, timeout_s: float | None) -> None:
        """Sleep until it ends, until the timeout, or until Ctrl-C."""
        try:
            self._over.get(timeout=timeout_s)
        except queue.Empty:
            self._timed_out = True
        except KeyboardInterrupt:
            self.interrupted = True
            if not _in_foreground():
                self._process.send_signal(signal.SIGTERM)  # which it passes on as Ctrl-C
            with contextlib.suppress(queue.Empty, KeyboardInterrupt):
                self._over.get(timeout=GRACE_SECONDS)

    def __exit__(self, *error: object) -> None:
        *pipes, waiter = self._threads
        if waiter.is_alive():
            self._process.kill()  # and the program dies with its parent
        waiter.join()  # before the process is reaped, whose number may then be another's
        self._process.wait()
        for thread in pipes:
            thread.join(timeout=1.0)  # a grandchild may hold a pipe open: not our concern

    def outcome(self, timeout_s: float | None) -> tuple[str, str | None, dict[str, Any]]:
        """Status, reason and details of how the program ended."""
        tail = clean(bytes(self._tail).decode("utf-8", "replace"))
        if self.interrupted:
            return "interrupted", "Ctrl-C", {}
        if not self._timed_out and "code" in self._reported:
            details = {k: v for k, v in self._reported.items() if k in ("exception", "message", "stderr_tail")}
            code = self._reported["code"]
            if "status" in self._reported:
                return self._reported["status"], self._reported["reason"], {**details, "exit_code": code}
            if code == 0:
                return "ok", None, {"exit_code": 0}
        code = self._process.returncode
        if code == 0 and not self._timed_out:  # by os._exit, or as another program
            return "ok", None, {"exit_code": 0}
        end = End(
            exit_code=code if code >= 0 and not self._timed_out else None,
            signal=-code if code < 0 and not self._timed_out else None,
            timed_out=self._timed_out,
            stderr_tail=tail,
        )
        status, reason = end.details(timeout_s or 0.0)
        details = {"exit_code": end.exit_code, "signal": end.signal, "stderr_tail": tail or None}
        return status, reason.replace("worker", "the program"), details

    def notes(self) -> list[str]:
        """Notes about what the trace could not follow."""
        if "code" not in self._reported and self._process.returncode == 0:
            return ["the program left by os._exit, or for another by exec, which is not measured"]
        if self._reported.get("kept", True):
            return []
        return ["the trace was taken away, by the program itself (a debugger, coverage?) or by Python at a RecursionError: "
                "later lines are not measured"]  # fmt: skip

    def _listen(self, reports: int) -> None:
        with open(reports, "rb") as lines:
            for line in lines:
                self._reported |= json.loads(line)
                self._started.put(None)
        self._started.put(None)  # it died before it could say anything

    def _pass_on(self) -> None:
        assert self._process.stdout is not None
        while chunk := self._process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
            sys.stderr.buffer.write(chunk)
            sys.stderr.flush()
            self._tail.extend(chunk)
            del self._tail[:-TAIL_BYTES]

    def _await_end(self) -> None:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._over.put(None)


def _in_foreground() -> bool:
    """Return whether a terminal that sent Ctrl-C to this process has sent it to the program, too."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _record(run: Run, case: Case, reader: Reader, phase: str) -> None:
    """Record the lines, every reading in which memory moved, and the peak of it all, unless it was traced beside."""
    names = {"run_id": run.run_id, "case_id": case.case_id}
    hits = 0
    for line in reader.lines():
        hits += line.hits if line.source.device_index is None else 0
        run.emit(
            MemoryLine(
                **names, file=_short(line.file), line=line.line, function=line.function or None, text=_text(line.file, line.line),
                hits=line.hits, start_bytes=line.start, peak_bytes=line.peak, end_bytes=line.end,
                transient_bytes=line.transient, increase_bytes=line.increase, decrease_bytes=line.decrease,
                source=line.source.source, device_index=line.source.device_index,
                error_bound_bytes=line.source.error_bound_bytes,
            )
        )  # fmt: skip
    highest: dict[Any, MemorySample] = {}
    for sample in _readings(names, reader, phase):
        run.emit(sample)
        so_far = highest.setdefault((sample.source, sample.device_index), sample)
        if sample.size_bytes > so_far.size_bytes:
            highest[sample.source, sample.device_index] = sample
    for sample in highest.values() if phase != TRACED else ():
        run.emit(replace(sample, statistic="peak", line=None))
    case.metric("line_events", hits, unit="count")


def _readings(names: dict[str, str], reader: Reader, phase: str) -> Iterator[MemorySample]:
    """Memory after each step, and before it the peak within, where that is gone by then; numbered from 1."""
    numbers = itertools.count(1)
    for step in reader.steps():
        place = f"{_short(step.file)}:{step.line}" if step.line else step.file
        for size in [step.peak, step.end] if step.peak > max(step.start, step.end) else [step.end]:
            yield MemorySample(
                **names, source=step.source.source, size_bytes=size, statistic="reading", phase=phase,
                error_bound_bytes=step.source.error_bound_bytes, device_index=step.source.device_index, place=place,
                recorded_at=Instant(step.at_ns // 1000), line=next(numbers),
            )  # fmt: skip


def _notes(reader: Reader) -> list[str]:
    from ...warehouse.console.numbers import size

    names = {"elsewhere": "while no traced line ran", "no room": "at lines beyond the first million"}
    return [
        f"{names[where]}, memory rose by {size(rose)} and fell by {size(fell)}"
        for where, (rose, fell) in reader.elsewhere().items()
    ]


@functools.cache
def _short(file: str) -> str:
    """A path as seen from here where it lies below, so that the same program is the same elsewhere."""
    below = os.path.relpath(file) if os.path.isabs(file) else file
    return file if below.startswith("..") else below


def _text(file: str, line: int) -> str | None:
    import linecache

    return linecache.getline(file, line).strip() or None
