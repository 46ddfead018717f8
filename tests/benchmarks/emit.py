"""What an event costs its caller, in the mean over a million."""

import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import bench

from .figures import Figures, python

COUNT = 1_000_000

# Seals what waits in a store, then writes the same tables anew: processor seconds of each, and the peak memory of sealing.
SEALING = """
import resource, sys, time
from pathlib import Path
import pyarrow.parquet as pq
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

log = EventLog(Store.find(sys.argv[1]))
start = time.process_time()
for journal in log.journals():
    log.seal(journal)
sealing, writing = time.process_time() - start, 0.0
peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
for file in log.files():
    parts = pq.ParquetFile(file.path)
    with pq.ParquetWriter(f"{sys.argv[1]}/again.parquet", parts.schema_arrow, compression="zstd", compression_level=1) as writer:
        for group in range(parts.num_row_groups):
            table = parts.read_row_group(group)
            start = time.process_time()
            writer.write_table(table)
            writing += time.process_time() - start
print(sealing, writing, peak_bytes)
"""

# Reads what is being recorded, as `bench show --follow` does.
READING = """
import sys, time
from bench.warehouse.journals.live import live_store
from bench.warehouse.store import Store

while True:
    with live_store(Store.find(sys.argv[1])):
        time.sleep(2)
"""
SIZES = [512, *[1] * 15]


def measure(figures: Figures) -> None:
    """A timing, a metric, a span and a schedule chunk of 16 sizes, beside the same fields as a JSON line."""
    with tempfile.TemporaryDirectory() as folder:
        run = bench.run("emit", store=Path(folder) / "store")
        case = run.case("case")
        with (Path(folder) / "lines.jsonl").open("w") as lines:
            now, dumps, write, writer = time.time_ns, json.dumps, lines.write, str(uuid.uuid4())

            def timing() -> None:
                emit = case.timing
                for number in range(COUNT):
                    emit(number)

            def timing_json() -> None:
                for number in range(COUNT):
                    write(dumps({"run_id": run.run_id, "case_id": case.case_id, "metric": "latency", "phase": "steady",
                                 "duration_ns": number, "loops": 1, "sample": number, "recorded_at": now() // 1000}) + "\n")  # fmt: skip

            def metric() -> None:
                emit = case.metric
                for number in range(COUNT):
                    emit("loss", number / 7, unit="nats", better="lower")

            def span() -> None:
                for _ in range(COUNT):
                    with case.time():
                        pass

            def chunk() -> None:
                emit = run.schedule_chunk
                for _ in range(COUNT):
                    emit(SIZES, schedule_ms=0.41, model_run_ms=21.7, waiting=3, running=16)

            def chunk_json() -> None:
                for number in range(COUNT):
                    write(dumps({"run_id": run.run_id, "writer": writer, "batch_id": number, "line": number + 1, "chunk_sizes": SIZES, "schedule_ms": 0.41,
                                 "model_run_ms": 21.7, "waiting": 3, "running": 16, "recorded_at": now() // 1000}) + "\n")  # fmt: skip

            json_ns, chunk_json_ns = _nanoseconds(timing_json), _nanoseconds(chunk_json)
            beside = "json.dumps + buffered write"
            figures.add(
                "timing event", _nanoseconds(timing), "ns", reference=json_ns, most=450, ratio_least=5, against=beside
            )
            figures.add(
                "metric event", _nanoseconds(metric), "ns", reference=json_ns, most=1000, ratio_least=2, against=beside
            )
            figures.add("timed with block", _nanoseconds(span), "ns", reference=json_ns, against=beside)
            figures.add("schedule chunk of 16", _nanoseconds(chunk), "ns", reference=chunk_json_ns, most=1000,
                        ratio_least=5, against=beside)  # fmt: skip
        run.close()
        _sealing(figures, Path(folder) / "timings")
        _size(figures, Path(folder) / "size")
        _live(figures, Path(folder) / "live")


def _sealing(figures: Figures, folder: Path) -> None:
    """Journals of timings become Parquet, in a process of its own."""
    run = bench.run("sealing", store=folder)
    emit = run.case("case").timing
    for number in range(3 * COUNT):
        emit(number * 7919 % 100_003)
    run.close(seal=False)
    sealing_s, writing_s, peak_bytes = map(float, python(SEALING, str(folder)).stdout.split())
    figures.add("sealing a timing into Parquet", sealing_s / (3 * COUNT) * 1e9, "ns", reference=writing_s / (3 * COUNT) * 1e9,
                most=320, ratio_most=1.5, against="pyarrow.write_table of the same columns")  # fmt: skip
    figures.add("peak memory of sealing", peak_bytes / 1e6, "MB", most=200)


def _size(figures: Figures, folder: Path) -> None:
    """The journal of 20,000 timings, beside the bytes of their rows and of two windows."""
    run = bench.run("size", store=folder)
    emit = run.case("case").timing
    for number in range(20_000):
        emit(number)
    run.close(seal=False)
    rows = 20_000 * 57 + 2 * (1 << 18)
    figures.add("journal of 20,000 timings", run._journal.path.stat().st_size / 1e6, "MB", reference=rows / 1e6, ratio_most=1.03,
                against="its rows and windows")  # fmt: skip


def _live(figures: Figures, folder: Path) -> None:
    """Timings while another process follows them, beside the same while that process is stopped, in turns."""
    run = bench.run("live", store=folder)
    emit = run.case("case").timing
    reader = subprocess.Popen([sys.executable, "-c", READING, str(folder)])
    taken: dict[signal.Signals, list[float]] = {signal.SIGCONT: [], signal.SIGSTOP: []}
    try:
        for turn in range(200):
            how = (signal.SIGCONT, signal.SIGSTOP)[turn % 2]
            reader.send_signal(how)
            start = time.process_time_ns()
            for number in range(COUNT // 25):
                emit(number)
            taken[how].append((time.process_time_ns() - start) / (COUNT // 25))
    finally:
        reader.kill()
        reader.wait()
    run.close(seal=False)
    followed, alone = (statistics.median(times) for times in taken.values())
    figures.add("timing event while it is followed", followed, "ns", reference=alone, ratio_most=1.01,
                against="the same, not followed; processor time")  # fmt: skip


def _nanoseconds(function: Callable[[], None]) -> float:
    start = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - start) / COUNT
