"""How the ways in grow from 10^5 rows on: processor time and peak memory of an ingest, each size in a process of its own.

The slope is the exponent of time over rows: 1 grows like the file. `scale` measures what a store costs that has grown.
"""

import math
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .figures import BENCH, Figures, weigh
from .formats import make_event
from .ingest import make_record
from .tables import KINDS, MAPPING, write

EVENTS = 10_000  # of a trace, over and over at later times
Write = Callable[[Path, int], object]


def measure(figures: Figures) -> None:
    """A table by a mapping, lines of a scheduler, and a trace."""
    ways: tuple[tuple[str, str, Write, tuple[str, ...], tuple[int, ...], int], ...] = (
        ("rows of CSV", "table.csv", _write_csv, MAPPING, (5, 6, 7), 2000),
        ("scheduler lines", "steps_0.jsonl", _write_steps, (), (5, 6), 800),
        ("trace events", "trace.json", _write_trace, (), (5, 6, 7), 2000),
    )
    for name, file, write_file, words, powers, most in ways:
        before: tuple[int, float] | None = None
        for power in powers:
            with tempfile.TemporaryDirectory() as folder:
                path, rows, title = Path(folder, file), 10**power, f"ingest 10^{power} {name}"
                write_file(path, rows)
                weighed = weigh([*BENCH, "ingest", str(path), *words, "--store", str(Path(folder, "store"))])
                shutil.rmtree(Path(folder, "store"))
            figures.add(title, weighed.processor_seconds, "s of a processor")
            figures.add(f"{title}, peak memory", weighed.peak_bytes / 1e6, "MB", most=most)
            if before is not None:
                slope = math.log(weighed.processor_seconds / before[1]) / math.log(rows / before[0])
                figures.add(f"{title}: slope", slope, "exponent", most=1.1)
            before = rows, weighed.processor_seconds


def _write_csv(path: Path, rows: int) -> None:
    write(path, rows, *KINDS["CSV"][:2])


def _write_steps(path: Path, rows: int) -> None:
    rng = random.Random(1)
    with path.open("w") as out:
        out.writelines(make_record(step, rng) for step in range(rows))


def _write_trace(path: Path, rows: int) -> None:
    rng = random.Random(1)
    block = "".join(make_event(rng, f"@{number:06}", f"{rng.random() * 100:.3f}") for number in range(EVENTS))
    with path.open("w") as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        out.writelines(block.replace("@", str(100 + count)) for count in range(rows // EVENTS - 1))
        out.write(block.replace("@", str(100 + rows // EVENTS)).rstrip(",\n"))
        out.write('\n], "baseTimeNanoseconds": 1727743122000000000}\n')
