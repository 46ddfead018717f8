"""What an event costs its caller, in the mean over a million."""

import json
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import bench

from .figures import Figures

COUNT = 1_000_000
SIZES = [512, *[1] * 15]


def measure(figures: Figures) -> None:
    """A timing, a span and a schedule chunk of 16 sizes, beside the same fields as a JSON line."""
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
                "timing event", _nanoseconds(timing), "ns", reference=json_ns, most=500, ratio_least=5, against=beside
            )
            figures.add("timed with block", _nanoseconds(span), "ns", reference=json_ns, against=beside)
            figures.add("schedule chunk of 16", _nanoseconds(chunk), "ns", reference=chunk_json_ns, most=2000,
                        ratio_least=5, against=beside)  # fmt: skip
        start = time.perf_counter()
        run.close()
        events = 3 * COUNT
        figures.add("sealing an event into Parquet", (time.perf_counter() - start) / events * 1e9, "ns")


def _nanoseconds(function: Callable[[], None]) -> float:
    start = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - start) / COUNT
