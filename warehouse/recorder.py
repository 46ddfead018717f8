"""Recording: what a measurement script calls, cheap enough for a server's hot loop.

    with bench.run("my-config") as run:
        case = run.case("matmul", batch_size=8)
        with case.time():
            work()
        run.schedule_chunk([512, 1, 1], schedule_ms=0.4, model_run_ms=21.7)

Every event is safe from SIGKILL when its call returns. When the run ends its events become Parquet in the store;
`bench ingest` does the same for a process that died.

This file is long because the fast paths repeat what the general path does, with as few instructions as possible. For the same
reason what a hot loop calls has no keyword-only parameters: Python looks up the default of each in a dictionary, which made a
timing an eighth longer. Give them by name all the same.
"""

import atexit
import contextlib
import functools
import hashlib
import itertools
import json
import os
import shlex
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from .._version import __version__
from . import environment, events
from .errors import BenchError, UnknownName, described
from .events import Event, Instant, as_json
from .journal import (
    ABSENT_FLOAT,
    ABSENT_INT,
    KIND_OF_EVENT,
    LAYOUTS,
    MISFITS,
    NARROW_CHUNK,
    ROTATE_BYTES,
    WINDOW_PAGE,
    Journal,
    JournalClosed,
    is_own,
)
from .processes.program_end import exception_at_exit, watch_exits
from .processes.shared_runs import announce_to_children, find_shared_run
from .secrets import masked_command, masked_parameters, without_secrets
from .settings import setting
from .store import Store

SYNC_SECONDS = 5.0

REFUSALS = (struct.error, *MISFITS)  # by `struct`, and by the window

_clock = time.perf_counter_ns
_now = time.time_ns


def run(
    config: str | None = None,
    *,
    suite: str | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    source: str = "api",
    command: str | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    options: Sequence[Mapping[str, Any]] | None = None,
    run_id: str | None = None,
) -> "Run":
    """Begin a run; use it as a context manager, or `close` it. One left open closes itself at exit.

    Ranks that torchrun started record into one run, with the rank as a parameter of their cases. So does a child that
    `multiprocessing` spawns and that imports the script again.

    Args:
        config: Label that runs of the same setting share; that of the project's settings, else the git branch, else "default",
            if left out.
        suite: Set of workloads the run is about.
        store: Folder to record into; else $BENCH_STORE, the project's, the nearest .bench upward, or .bench here.
        source: What measures: "api" for scripts.
        command: Command line to repeat it, stored without its secrets; this process's own if left out.
        tags: Labels of your own, added to those of the project's settings.
        settings: How it measures, by name; those that are None are left out.
        options: Rows of `run_options` without their place: role, option and arguments of each. They are stored as they are:
            without secrets, then.
        run_id: Identity to use instead of a new one.

    Raises:
        BenchError: The store cannot be created or written.
    """
    found = Store.find(store) if not isinstance(store, Store) else store
    shared = find_shared_run() if source == "api" and run_id is None else None
    if shared is not None and not shared.begins:
        return Run(shared.run_id, found, owner=False, axes=shared.axes)
    if shared is not None:
        run_id = shared.run_id
    commit, branch, dirty = environment.git()
    machine = environment.capture()
    labels = masked_parameters({**setting("tags"), **(tags or {})})
    given = {name: value for name, value in masked_parameters(settings or {}).items() if value is not None}
    recorder = Run(run_id or uuid7(), found, owner=True, axes=shared.axes if shared else None)
    if source == "api":
        announce_to_children(recorder.run_id)
        watch_exits()
    recorder.emit(machine)
    recorder.emit(
        events.RunRecord(
            run_id=recorder.run_id,
            config=config or default_config(branch),
            source=source,
            suite=suite,
            command=command or shlex.join(sys.orig_argv),
            started_at=Instant(_now() // 1000),
            git_commit=commit,
            git_branch=branch,
            git_dirty=dirty,
            host=os.uname().nodename,
            environment_id=machine.environment_id,
            tags=as_json(labels) if labels else None,
            bench_version=__version__,
            settings=as_json(given) if given else None,
            options=as_json(options) if options else None,
        )
    )
    return recorder


def default_config(branch: str | None) -> str:
    """The config of a run that is given none: that of the project's settings, else its git branch, else "default"."""
    found: str | None = setting("config")
    return found or branch or "default"


def open_run() -> "Run | None":
    """The run of this process that began last and is open; None if there is none."""
    return next(reversed(_open_runs), None)


def join(run_id: str, store: Store | str | os.PathLike[str] | None = None) -> "Run":
    """Record into a run that another process began, such as from its worker."""
    return Run(run_id, Store.find(store) if not isinstance(store, Store) else store, owner=False)


def case_ids(
    *,
    name: str,
    suite: str | None = None,
    mode: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    backend: str | None = None,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """The identity of a case and of its work, the same in every run and on every machine.

    Returns:
        case_id, the hash of all axes, and work_hash, the hash of all but the backend: 16 hexadecimal digits each.
    """
    work = [
        suite, masked_command(name), mode, device, dtype, batch_size, sequence_length,
        masked_parameters(parameters) if parameters else None,
    ]  # fmt: skip
    return _digest([*work, backend]), _digest(work)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def uuid7() -> str:
    """A new UUID that sorts by time of creation (RFC 9562, version 7)."""
    chance = int.from_bytes(os.urandom(10))
    digits = f"{_now() // 1_000_000:012x}7{chance >> 68:03x}{0b10 << 62 | chance & (1 << 62) - 1:016x}"
    return "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


class Run:
    """A run being recorded. Any thread may use it; a forked child records into a journal of its own."""

    def __init__(self, run_id: str, store: Store, *, owner: bool, axes: Mapping[str, Any] | None = None) -> None:
        """Open a journal for this process; `run` and `join` are how to get here. `axes` are parameters of all its cases."""
        self.run_id = run_id
        self._axes = axes or {}
        self.store = store.create()
        self.status: str | None = None  # how it ended
        self._owner = os.getpid() if owner else None
        self._writer = uuid7()
        self._lines = itertools.count(1)  # of scheduler steps
        self._announced: set[str] = set()
        self._timed: set[str] = set()  # cases of which a block was timed
        self._raised: dict[str, str] = {}  # cases of which a block was not, and what the last such block raised
        self._turning = threading.RLock()
        self._closed = False
        self.at_end: list[Callable[[BaseException | None], None]] = []  # called before it ends, with what ended it
        self._error: BaseException | None = None
        self._rotated: list[Journal] = []
        self._journal = self._open()
        _open_runs[self] = None
        _start_syncing()

    def _open(self) -> Journal:
        path = self.store.journals / f"{uuid7()}.journal"
        header = {
            "run_id": self.run_id,
            "writer": self._writer,
            "pid": os.getpid(),
            "bench": __version__,
            **environment.machine(),
        }
        return Journal(path, header)

    def case(
        self,
        name: str,
        *,
        suite: str | None = None,
        mode: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        backend: str | None = None,
        batch_size: int | None = None,
        sequence_length: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        announce: bool = True,
    ) -> "Case":
        """Announce a case: from now on it counts as interrupted until it has an outcome or the run ends well.

        One that this run announced before is attached to again, and is no second row.

        Args:
            name: Model, function, command or benchmark.
            suite: Set the workload belongs to.
            mode: inference or training.
            device: cpu, cuda …
            dtype: float32, bfloat16 …
            backend: Implementation under test: eager, inductor …
            batch_size: Samples in a batch.
            sequence_length: Tokens in a sequence.
            parameters: Further axes.
            announce: False where another process announces it.
        """
        axes: dict[str, Any] = {
            "name": name, "suite": suite, "mode": mode, "device": device, "dtype": dtype, "backend": backend,
            "batch_size": batch_size, "sequence_length": sequence_length,
        }  # fmt: skip
        parameters = masked_parameters({**self._axes, **(parameters or {})})
        axes["name"] = masked_command(name)
        case_id, work_hash = case_ids(**axes, parameters=parameters)
        if announce and case_id not in self._announced:
            self._announced.add(case_id)
            axes_json = as_json(parameters) if parameters else None
            now = Instant(_now() // 1000)
            self.emit(
                events.CaseRecord(
                    run_id=self.run_id,
                    case_id=case_id,
                    work_hash=work_hash,
                    parameters=axes_json,
                    recorded_at=now,
                    **axes,
                )
            )
        return Case(self, case_id)

    def emit(self, event: Event) -> None:
        """Record any event of this run.

        Raises:
            BenchError: The run is closed, the disk is full, or a value does not fit its column.
        """
        public = without_secrets(event)
        self._write(lambda journal: journal.add(public))

    def _write(self, append: Callable[[Journal], None]) -> None:
        """Append to the current journal, or to its successor if another thread has just rotated it."""
        while True:
            journal = self._current()
            try:
                return append(journal)
            except JournalClosed:
                continue

    def _current(self) -> Journal:
        """The journal to write to, a new one if the last is long enough."""
        journal = self._journal
        if not journal.closed and journal.size_bytes < ROTATE_BYTES:
            return journal
        with self._turning:
            if self._closed:
                raise BenchError(f"run {self.run_id} is closed: begin another with bench.run()")
            if journal is self._journal:
                following = self._open()
                journal = self._journal  # a signal handler may have come here meanwhile
                rotated = [*self._rotated, journal]
                self._journal, self._rotated = following, rotated  # together, whatever a handler raises
                journal.close()
            return self._journal

    def schedule_chunk(
        self,
        chunk_sizes: Sequence[int],
        schedule_ms: float | None = ABSENT_FLOAT,
        model_run_ms: float | None = ABSENT_FLOAT,
        batch_id: int | None = ABSENT_INT,
        step_ms: float | None = ABSENT_FLOAT,
        waiting: int | None = ABSENT_INT,
        running: int | None = ABSENT_INT,
        prefill: int | None = ABSENT_INT,
        decode: int | None = ABSENT_INT,
        token_budget: int | None = ABSENT_INT,
        kv_cache_usage: float | None = ABSENT_FLOAT,
    ) -> None:
        """Record one scheduler step, in a microsecond or two. What is left out, or None, is NULL; left out is faster.

        Args:
            chunk_sizes: Tokens scheduled for each request.
            schedule_ms: Time the scheduler took.
            model_run_ms: Time the model took.
            batch_id: Number of the step, if it has one of its own; views number the others in order.
            step_ms: Time of the whole step.
            waiting: Requests waiting.
            running: Requests being served.
            prefill: Requests in prefill.
            decode: Requests in decode.
            token_budget: Most tokens a step may schedule.
            kv_cache_usage: Share of the KV cache in use, 0 to 1.
        """
        now = _now()
        line = next(self._lines)
        none = ABSENT_INT
        try:
            write = self._journal.write  # not called as an attribute, which Python 3.11 would look up as a method first
            if (batch_id is none and prefill is none and decode is none and token_budget is none
                    and step_ms is ABSENT_FLOAT and kv_cache_usage is ABSENT_FLOAT):  # fmt: skip
                pack_sizes, pack, head, length = _chunk_packers[len(chunk_sizes)]
                write(pack(
                    head, pack_sizes(*chunk_sizes), schedule_ms, model_run_ms, waiting, running, now, line, length,
                ))  # fmt: skip
            else:
                pack_sizes, pack, head, length = _whole_chunk_packers[len(chunk_sizes)]
                write(pack(
                    head, pack_sizes(*chunk_sizes), schedule_ms, model_run_ms, waiting, running, now, line,
                    batch_id, step_ms, prefill, decode, token_budget, kv_cache_usage, length,
                ))  # fmt: skip
            return
        except REFUSALS as error:  # a value does not fit, or the window is full: the slow path knows what to do
            if not is_own(error):
                raise
        fields = {
            "batch_id": batch_id, "schedule_ms": schedule_ms, "model_run_ms": model_run_ms, "step_ms": step_ms,
            "waiting": waiting, "running": running, "prefill": prefill, "decode": decode, "token_budget": token_budget,
            "kv_cache_usage": kv_cache_usage,
        }  # fmt: skip
        given: dict[str, Any] = {
            name: value for name, value in fields.items() if value is not ABSENT_FLOAT and value is not ABSENT_INT
        }
        self.emit(
            events.ScheduleChunk(
                run_id=self.run_id, chunk_sizes=list(chunk_sizes), recorded_at=Instant(now // 1000), line=line, **given
            )
        )

    def __repr__(self) -> str:
        return f"<run {self.run_id} in {self.store}{', closed: ' + str(self.status) if self._closed else ''}>"

    def flush(self) -> None:
        """Return when everything recorded so far would survive power loss."""
        for journal in (*self._rotated, self._journal):
            journal.sync()

    def close(self, status: str = "ok", reason: str | None = None, *, seal: bool = True) -> None:
        """End the run and seal its events into Parquet; safe to call twice.

        Without pyarrow, or `seal` in a store that is a folder, the journal stays, whole, for the next command that opens the
        store to seal.
        """
        with self._turning:
            if self._closed:
                return
            try:
                while self.at_end:
                    self.at_end.pop()(self._error)
                for case_id, raised in list(self._raised.items()):  # an outcome takes its case out
                    if case_id not in self._timed:
                        Case(self, case_id).outcome("fail_to_run", reason=raised)
                if self._owner == os.getpid() or (self._axes and status != "ok"):  # a rank that failed says so itself
                    now = Instant(_now() // 1000)
                    self.emit(events.Outcome(run_id=self.run_id, status=status, reason=reason, recorded_at=now))
            finally:
                self._closed, self.status = True, status
                _open_runs.pop(self, None)
                for journal in (*self._rotated, self._journal):  # an exception may have ended one's closing before
                    journal.close()
        if not seal and not self.store.remote:  # other machines wait for what is in a bucket
            return
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return
        from .log import EventLog

        log = EventLog(self.store)
        for journal in (*self._rotated, self._journal):
            log.seal(journal.path)
        if self.store.remote and self._owner == os.getpid():  # not while the processes of a run still measure
            from .remote.mirror import push

            push(self.store)

    def _after_fork(self) -> None:
        """Open a new journal at the first event in a forked child."""
        self._writer = uuid7()
        self._lines = itertools.count(1)
        self._turning = threading.RLock()  # another thread of the parent may have held it
        self._rotated = []
        self._timed, self._raised, self.at_end = set(), {}, []  # the parent says it of its own
        self._journal.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._error = error
        if kind is None or (isinstance(error, SystemExit) and not error.code):
            self.close()
        else:
            status = "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
            self.close(status, described(error) if error is not None else kind.__name__)


# Metric, phase and loops of no timing, and what follows.
_NOTHING: tuple[Any, Any, Any, Callable[[bytes], Any], bytes] = object(), None, None, bytes, b""

# What appends the row of a metric, what packs it, and three parts of that.
_Prepared = tuple[Callable[[bytes], Any], Callable[..., bytes], bytes, bytes, int]


class Case:
    """One cell of a plan, to attach samples to; get it from `Run.case`."""

    __slots__ = ("_has_samples", "_last", "_metrics", "_run", "_samples", "_together", "case_id")

    def __init__(self, run: Run, case_id: str) -> None:
        """Attach to a run; `Run.case` is how to get here."""
        self._run = run
        self.case_id = case_id
        self._samples = itertools.count()
        self._has_samples = False
        # Metric, phase and loops of the last timing, what appends the row of one like it, and what that begins with. One
        # attribute, so that threads which share the case see values that belong together.
        self._last: tuple[str, str, int, Callable[[bytes], Any], bytes] = _NOTHING
        self._metrics: dict[tuple[str | None, ...], _Prepared] = {}  # by name, unit, better, statistic and phase
        # Of `_last` what appends and what a row begins with, by metric and phase.
        self._together: dict[tuple[str, str], tuple[Callable[[bytes], Any], bytes]] = {}

    def __repr__(self) -> str:
        return f"<case {self.case_id} of run {self._run.run_id}>"

    def time(self, metric: str = "latency", loops: int = 1, phase: str = "steady") -> "_Span":
        """Time a `with` block as one sample of `loops` calls. A block that raises is not recorded.

        If none of a case's blocks ends well, the case has failed, unless it is given an outcome.
        """
        return _Span(self, metric, loops, phase)

    def timing(
        self,
        duration_ns: int,
        metric: str = "latency",
        phase: str = "steady",
        loops: int = 1,
        sample: int | None = None,
        details: Mapping[str, int | None] | None = None,
    ) -> None:
        """Record one timed sample, in half a microsecond.

        Args:
            duration_ns: Duration of all loops together, by a monotonic clock.
            metric: What was timed.
            phase: cold, compile, warmup or steady.
            loops: Calls in the sample.
            sample: Number of the sample; counted here if left out.
            details: Other nullable columns of `timings` by name: block, position, process, device_ns,
                voluntary_switches, involuntary_switches, minor_faults, major_faults, steal_ns, gc_collections,
                throttled.

        Raises:
            BenchError: The run is closed, the disk is full, or a detail is no column.
        """
        now = _now()
        if sample is None:
            sample = next(self._samples)
        last = self._last
        last_metric, last_phase, last_loops, write, head = last
        if metric is last_metric and phase is last_phase and loops == last_loops and details is None:
            try:
                record = _PLAIN(head, duration_ns, sample, now, _PLAIN_BYTES)
                if self._last is last:  # else a window was emptied while these were converted
                    write(record)
                    return
            except REFUSALS as error:  # a value does not fit, or the window is full: the slow path knows what to do
                if not is_own(error):
                    raise
        self._timing(metric, phase, duration_ns, loops, sample, now, details)

    def timings(self, durations_ns: Mapping[str, int], phase: str = "steady", sample: int | None = None) -> None:
        """Record timings of several metrics, by name, that belong to one sample, such as a step and its phases.

        Raises:
            BenchError: The run is closed, or the disk is full.
        """
        now = _now()
        if sample is None:
            sample = next(self._samples)
        for metric, duration_ns in durations_ns.items():
            together = self._together  # another one once a window was emptied, and what was prepared is void
            known = together.get((metric, phase))
            if known is not None:
                try:
                    record = _PLAIN(known[1], duration_ns, sample, now, _PLAIN_BYTES)
                    if self._together is together:
                        known[0](record)
                        continue
                except REFUSALS as error:  # as of `timing`
                    if not is_own(error):
                        raise
            self._timing(metric, phase, duration_ns, 1, sample, now, None)
            last = self._last
            if last[:3] == (metric, phase, 1):
                together[metric, phase] = last[3:]

    def _timing(
        self,
        metric: str,
        phase: str,
        duration_ns: int,
        loops: int,
        sample: int,
        now: int,
        details: Mapping[str, int | None] | None,
    ) -> None:
        """The slow path to the same row: any detail, a new journal, an error that says what is wrong."""
        try:
            event = events.Timing(
                run_id=self._run.run_id, case_id=self.case_id, metric=metric, phase=phase, duration_ns=duration_ns,
                loops=loops, sample=sample, recorded_at=Instant(now // 1000), **(details or {}),  # type: ignore[arg-type]
            )  # fmt: skip
        except TypeError as error:
            if not is_own(error):
                raise
            raise BenchError(f"cannot record this timing: {error}") from None
        self._run.emit(event)
        self._has_samples = True
        if details is not None:
            return
        together = self._together
        if prepared := self._run._journal.prepare(self, (self.case_id, metric, phase)):  # for the next one like it
            write, numbers = prepared
            head = _PLAIN_HEAD.pack(_PLAIN_BYTES, _TIMING_KIND, _PLAIN_MASK, *numbers, loops)
            self._last = metric, phase, loops, write, head
            if self._together is not together:  # a window was emptied since it was prepared
                self._last = _NOTHING

    def forget(self) -> None:
        """Prepare the next rows anew: their texts are to be defined where they go."""
        self._last, self._metrics, self._together = _NOTHING, {}, {}

    def memory(
        self,
        size_bytes: int,
        *,
        source: str = "rss",
        statistic: str = "peak",
        phase: str | None = None,
        error_bound_bytes: int | None = None,
        device_index: int | None = None,
    ) -> None:
        """Record a peak (or a "reading") of memory."""
        self._run.emit(
            events.MemorySample(
                run_id=self._run.run_id, case_id=self.case_id, source=source, size_bytes=size_bytes, statistic=statistic,
                phase=phase, error_bound_bytes=error_bound_bytes, device_index=device_index, recorded_at=Instant(_now() // 1000),
            )
        )  # fmt: skip

    def metric(
        self,
        name: str,
        value: float | None,
        unit: str | None = None,
        better: str | None = None,
        statistic: str | None = None,
        phase: str | None = None,
        text: str | None = None,
    ) -> None:
        """Record any other scalar; durations in ns, sizes in bytes, `better` is "higher", "lower" or None.

        `text` is what belongs to it in words, such as a stack or a path; it becomes `original_value`.

        Raises:
            BenchError: `better` is something else: nobody could say what a regression is.
        """
        now = _now()
        metrics = self._metrics  # as `_together`
        try:
            if text is None and (last := metrics.get((name, unit, better, statistic, phase))) is not None:
                write, pack, head, middle, length = last
                record = pack(head, value, middle, now, length)
                if self._metrics is metrics:
                    write(record)
                    return
        except REFUSALS as error:  # it is no number, or the window is full: the slow path knows what to do
            if not is_own(error):
                raise
        if better not in (None, "higher", "lower"):
            raise BenchError(f"better={better!r} is not a direction. Write 'higher', 'lower' or None.")
        self._run.emit(
            events.Metric(
                run_id=self._run.run_id, case_id=self.case_id, metric=name, value=None if value is None else float(value),
                unit=unit, better=better, statistic=statistic, phase=phase, original_value=text,
                recorded_at=Instant(now // 1000),
            )
        )  # fmt: skip
        if text is None and value is not None:  # the next one of this name may go the short way
            said = [value for value in (unit, better, statistic, phase) if value is not None]
            metrics = self._metrics
            if prepared := self._run._journal.prepare(self, (self.case_id, name, *said)):
                numbers = prepared[1]
                pack, head, length = _metric_packer(unit is None, better is None, statistic is None, phase is None)
                middle = struct.pack(f"<{len(said)}I", *numbers[2:])
                start = head + struct.pack("<2I", *numbers[:2])
                metrics[name, unit, better, statistic, phase] = prepared[0], pack, start, middle, length

    def outcome(self, status: str, *, kind: str = "performance", **details: Any) -> None:
        """Record how the case ended.

        Args:
            status: ok, pass, fail_to_run, fail_accuracy, OOM, timeout, skipped …
            kind: "performance" or "accuracy".
            details: Any other column of `outcomes`: reason, phase, exit_code, signal, exception, message, stderr_tail.

        Raises:
            UnknownName: There is no such status (`events.STATUSES`) or kind.
        """
        if status not in events.STATUSES:
            raise UnknownName("status", status, events.STATUSES)
        if kind not in ("performance", "accuracy"):
            raise UnknownName("kind of outcome", kind, ("performance", "accuracy"))
        self._run._raised.pop(self.case_id, None)
        now = Instant(_now() // 1000)
        self._run.emit(
            events.Outcome(
                run_id=self._run.run_id, case_id=self.case_id, kind=kind, status=status, recorded_at=now, **details
            )
        )


class _Span:
    """Times a `with` block."""

    __slots__ = ("_case", "_loops", "_metric", "_phase", "_start")

    def __init__(self, case: Case, metric: str, loops: int, phase: str) -> None:
        self._case, self._metric, self._loops, self._phase = case, metric, loops, phase

    def __enter__(self) -> None:
        self._start = _clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        duration = _clock() - self._start
        case = self._case
        if kind is None:
            case.timing(duration, self._metric, self._phase, self._loops)
            case._run._timed.add(case.case_id)
        elif isinstance(error, Exception) and not case._has_samples:
            case._run._raised[case.case_id] = described(error)


def _bits(kind: int) -> dict[str, int]:
    nullable = [name for name, _, null in LAYOUTS[kind].fields if null]
    return {name: 1 << index for index, name in enumerate(nullable)}


_TIMING_KIND = KIND_OF_EVENT[events.Timing]
_PLAIN_MASK = _bits(_TIMING_KIND)["sample"] | _bits(_TIMING_KIND)["recorded_at"]

# Packer of a step's chunks, packer of its row, what the row begins with, its length. A call with a list of arguments among others
# costs more than two calls.
_ChunkPacker = tuple[Callable[..., bytes], Callable[..., bytes], bytes, int]
_CHUNK_HEAD = struct.Struct("<IBII")  # length, kind, mask, number of chunks


class _ChunkPackers(dict[int, _ChunkPacker]):
    """Packers of scheduler steps by their number of chunks, made at the first step that has so many."""

    def __init__(self, mask: int) -> None:
        super().__init__()
        self._mask = mask

    def __missing__(self, count: int) -> _ChunkPacker:
        layout = LAYOUTS[NARROW_CHUNK].format(self._mask, (count,))
        sizes = struct.Struct(f"<{count}H")
        behind = layout.removeprefix(f"{_CHUNK_HEAD.format}{count}H")
        packer = struct.Struct(f"<{_CHUNK_HEAD.size}s{sizes.size}s{behind}I")
        if packer.size > WINDOW_PAGE:
            raise ValueError("the record needs a checksum")  # which the slow path adds
        made = sizes.pack, packer.pack, _CHUNK_HEAD.pack(packer.size, NARROW_CHUNK, self._mask, count), packer.size
        if len(self) < 10_000:
            self[count] = made
        return made


_chunk_packers = _ChunkPackers(0)
_whole_chunk_packers = _ChunkPackers(sum(_bits(NARROW_CHUNK).values()))


_METRIC_KIND = KIND_OF_EVENT[events.Metric]


@functools.cache
def _metric_packer(*absent: bool) -> tuple[Callable[..., bytes], bytes, int]:
    """The packer, beginning and length of a metric's row, by which of unit, better, statistic and phase are absent."""
    names = [name for name, none in zip(("unit", "better", "statistic", "phase"), absent, strict=True) if not none]
    mask = sum(bit for name, bit in _bits(_METRIC_KIND).items() if name in ("case_id", "value", "recorded_at", *names))
    assert LAYOUTS[_METRIC_KIND].format(mask, ()) == f"<IBIIId{'I' * len(names)}q"
    packer = struct.Struct(f"<17sd{4 * len(names)}sqI")
    return packer.pack, struct.pack("<IBI", packer.size, _METRIC_KIND, mask), packer.size


# The layout of a timing without details; its first seven fields are packed once for many rows.
_PLAIN_HEAD = struct.Struct("<IBIIIIq")
_PLAIN_STRUCT = struct.Struct("<29sqqqI")
_PLAIN, _PLAIN_BYTES = _PLAIN_STRUCT.pack, _PLAIN_STRUCT.size
assert LAYOUTS[_TIMING_KIND].format(_PLAIN_MASK, ()) == "<IBIIIIqqqq"

_open_runs: dict[Run, None] = {}  # in order; one that a function forgets on its way out is still to be closed at exit
_syncing: threading.Thread | None = None


def _start_syncing() -> None:
    """Start a daemon thread that syncs journals to disk every few seconds, against power loss."""
    global _syncing
    if _syncing is None or not _syncing.is_alive():
        _syncing = threading.Thread(target=_keep_syncing, name="bench-sync", daemon=True)
        _syncing.start()


def _keep_syncing() -> None:
    while True:
        time.sleep(SYNC_SECONDS)
        _sync_all()


def _sync_all() -> None:
    """Sync every open run; a function of its own, so that the thread, which outlives them, holds none while it sleeps."""
    for run in list(_open_runs):
        with contextlib.suppress(OSError, ValueError):
            run.flush()


def _close_all() -> None:
    """Close what is open, at exit; with the exception that ends the script, if one does."""
    error = exception_at_exit()
    for run in list(_open_runs):
        try:
            run.__exit__(type(error) if error else None, error, None)
        except (Exception, KeyboardInterrupt) as problem:
            why = str(problem) or type(problem).__name__
            sys.stderr.write(f"bench: run {run.run_id} was left open and could not be ended at exit: {why}\n")


def _child() -> None:
    runs = list(_open_runs)
    for run in runs:
        run._after_fork()
    if runs:
        _start_syncing()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_child)
