"""Follows streams of forward pass metrics and records each pass as a scheduler step, until it is told to stop."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...warehouse.console.numbers import duration
from ...warehouse.events import Instant, Metric, Reject, ScheduleChunk
from ...warehouse.forward_pass import BadPass, ForwardPass, HeartbeatCount, PassCounters, read_pass
from ...warehouse.recorder import Run
from .streams import Stream, StreamRecord

IDLE_SECONDS = 0.05  # between looks, where nothing came
MOST_REJECTS = 1000  # stored of a run; those beyond it are counted
MOST_REJECT_BYTES = 4096  # of a record that could not be read
WINDOW_SECONDS = 2.0  # that the live figures are taken over


@dataclass(slots=True)
class LiveFigures:
    """Rates of the last seconds."""

    steps: deque[tuple[float, int, float | None]] = field(default_factory=deque)  # when, tokens, ms
    waiting: dict[tuple[str, int], int] = field(default_factory=dict)  # of each worker and rank
    context: dict[tuple[str, int], int] = field(default_factory=dict)  # the same; KV tokens that decoding requests hold

    def see(self, now: float, record: ForwardPass) -> None:
        """Count a pass."""
        key, columns = (record.worker_id, record.dp_rank), record.columns
        self.steps.append((now, columns["total_tokens"], columns.get("model_run_ms")))
        if key in self.waiting or len(self.waiting) < 1000:
            self.waiting[key], self.context[key] = columns["waiting"], columns["decode_kv_tokens"]

    def text(self, now: float) -> str:
        """One line of it."""
        while self.steps and now - self.steps[0][0] > WINDOW_SECONDS:
            self.steps.popleft()
        tokens = sum(count for _, count, _ in self.steps) / WINDOW_SECONDS
        times = [ms for *_, ms in self.steps if ms is not None]
        step = duration(1e6 * sum(times) / len(times) if times else None)
        return (
            f"{tokens:,.0f} tokens/s   step {step}   queue {sum(self.waiting.values()):,}   "
            f"KV {sum(self.context.values()):,} tokens"
        )


class Follower:
    """Records what comes on some streams into a run."""

    def __init__(self, run: Run, streams: Sequence[Stream], *, time_span: str) -> None:
        """Prepare; `follow` does it."""
        self.run = run
        self.streams = streams
        self.time_span = time_span
        self.counters = PassCounters()
        self.live = LiveFigures()
        self.records = self.steps = self.heartbeats = self.rejected = self.sampled = 0

    def follow(
        self,
        stopped: Callable[[], bool],
        *,
        idle_s: float = float("inf"),
        show: Callable[[str], None] = lambda text: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Record until told to stop, or until nothing has come for so long.

        Args:
            stopped: Whether to stop.
            idle_s: Seconds without a record after which a stream has ended.
            show: Called once a second with the live figures.
            now: Gives seconds.
        """
        last, shown = now(), now()
        while not stopped() and now() - last < idle_s:
            count = self.records
            for stream in self.streams:
                for arrived in stream.take():
                    self.take(arrived, now())
                    if stopped():
                        break
            if self.records > count:
                last = now()
            else:
                time.sleep(IDLE_SECONDS)
            if now() - shown >= 1:
                shown = now()
                show(self.live.text(shown))
        for stream in self.streams:
            for arrived in stream.last():
                self.take(arrived, now())

    def take(self, arrived: StreamRecord, now: float) -> None:
        """Record one."""
        self.records += 1
        try:
            if arrived.reason is not None:
                raise BadPass(arrived.reason)
            record = read_pass(arrived.document, time_span=self.time_span)
        except BadPass as bad:
            self._reject(arrived, str(bad))
            return
        self.counters.see(record)
        if record.heartbeat:
            self.heartbeats += 1
            self.run.emit(self._heartbeat(record))
            return
        self.steps += 1
        self.sampled += record.sampled
        self.live.see(now, record)
        columns = {"recorded_at": Instant(time.time_ns() // 1000), **record.columns}
        self.run.emit(ScheduleChunk(run_id=self.run.run_id, line=self.steps, **columns))

    def _heartbeat(self, record: ForwardPass) -> Metric:
        """The event of one heartbeat; all of them are summed, so that a follower that is killed loses none."""
        heard = HeartbeatCount(1, record.counter_id, record.counter_id)
        columns, at = record.columns, Instant(time.time_ns() // 1000)
        return heard.metric(self.run.run_id, columns.get("worker_id"), record.dp_rank, recorded_at=at)

    def _reject(self, arrived: StreamRecord, reason: str) -> None:
        self.rejected += 1
        if self.rejected <= MOST_REJECTS:
            self.run.emit(
                Reject(
                    run_id=self.run.run_id,
                    source_id=hashlib.sha256(f"{self.run.run_id} {arrived.source}".encode()).hexdigest()[:16],
                    line=arrived.number,
                    reason=f"{arrived.source}: {reason}",
                    text=arrived.data[:MOST_REJECT_BYTES].decode("utf-8", "backslashreplace"),
                )
            )

    def finish(self) -> None:
        """Record what became of all records: steps + heartbeats + rejected = records."""
        counts = {
            "records": self.records, "steps": self.steps, "rejected_records": self.rejected,
            "missing_passes": self.counters.missing, "counter_restarts": self.counters.restarts,
        }  # fmt: skip
        at = Instant(time.time_ns() // 1000)
        for name, count in counts.items():
            self.run.emit(Metric(run_id=self.run.run_id, metric=name, value=float(count), unit="count", recorded_at=at))
