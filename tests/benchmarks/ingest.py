"""How fast files of other tools come in: a million scheduler records, clean and with broken lines, and nothing new."""

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from .figures import BENCH, Figures, python, weigh

RECORDS, FILES = 1_000_000, 8

REFERENCE = """
import duckdb, sys
columns = {'batch_id': 'BIGINT', 'timestamp': 'DOUBLE', 'total_scheduled_tokens': 'BIGINT', 'chunk_sizes': 'BIGINT[]',
           'all_computed_tokens': 'BIGINT[]', 'all_cached_tokens': 'BIGINT[]', 'schedule_duration_ms': 'DOUBLE',
           'num_waiting_reqs': 'BIGINT', 'num_running_reqs': 'BIGINT', 'model_run_duration_ms': 'DOUBLE'}
connection = duckdb.connect(sys.argv[2])
connection.execute(f"CREATE TABLE steps AS FROM read_json('{sys.argv[1]}/*.jsonl', columns={columns}, format='newline_delimited')")
connection.close()
"""

# A process that does what any ingest must before it looks at a file: start.
START = "import bench.cli, bench.ingest.command"


def measure(figures: Figures) -> None:
    """All of it on generated files in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        profiles = _profiles(folder / "profiles")
        lines = RECORDS
        reference = python(REFERENCE, str(profiles), str(folder / "reference.duckdb"))
        ours = weigh([*BENCH, "ingest", f"A:{profiles}", "--store", str(folder / "store")])
        against = "DuckDB read_json(columns=…) into a file"
        figures.add(
            "ingest 1M records", ours.seconds, "s", reference=reference.seconds, ratio_most=2.5, against=against
        )
        figures.add("ingest 1M records, peak memory", ours.peak_bytes / 1e6, "MB", reference=reference.peak_bytes / 1e6,
                    most=400, against=against)  # fmt: skip
        shutil.rmtree(folder / "store")

        broken = _break(profiles)
        ours = weigh([*BENCH, "ingest", f"A:{profiles}", "--store", str(folder / "store")])
        # 200k rows/s were asked for where read_json reads a million clean ones in a second: five times its time.
        figures.add("1M records, 0.1 % broken", ours.seconds, "s", reference=reference.seconds, ratio_most=5,
                    against=f"{against}, clean lines")  # fmt: skip
        _check(folder / "store", lines, broken)
        shutil.rmtree(folder / "store")
        shutil.rmtree(profiles)

        small = folder / "small"
        small.mkdir()
        for number in range(1000):
            (small / f"steps_{number}.jsonl").write_text(
                "".join(make_record(number * 20 + i, random.Random(number)) for i in range(20))
            )
        command = [*BENCH, "ingest", f"A:{small}", "--store", str(folder / "store")]
        weigh(command)
        start = min(python(START).seconds for _ in range(5))
        again = min(weigh(command).seconds for _ in range(5))
        figures.add("re-ingest of 1,000 unchanged files, beyond the start", (again - start) * 1000, "ms", most=100,
                    reference=start * 1000, against="start of the process")  # fmt: skip


def _profiles(folder: Path) -> Path:
    """About 480 MB of scheduler records in 8 files."""
    folder.mkdir()
    rng = random.Random(1)
    for number in range(FILES):
        with (folder / f"profile_{number}.jsonl").open("w") as out:
            for step in range(RECORDS // FILES):
                out.write(make_record(step, rng))
    return folder


def make_record(step: int, rng: random.Random) -> str:
    count = rng.randint(1, 50)
    chunks = rng.choices((1, 16, 512), (20, 1, 1), k=count)
    return json.dumps({
        "batch_id": step, "timestamp": 3437048.62 + step * 0.01, "total_scheduled_tokens": sum(chunks), "chunk_sizes": chunks,
        "all_computed_tokens": rng.choices(range(1000), k=count), "all_cached_tokens": [0] * count,
        "schedule_duration_ms": rng.random(), "num_waiting_reqs": 0, "num_running_reqs": count,
        "model_run_duration_ms": rng.random() * 30,
    }) + "\n"  # fmt: skip


def _break(folder: Path) -> int:
    """Cut one line in a thousand short; returns how many."""
    broken = 0
    for path in sorted(folder.iterdir()):
        lines = path.read_text().splitlines()
        for index in range(500, len(lines), 1000):
            lines[index] = lines[index][: len(lines[index]) // 2]
            broken += 1
        path.write_text("\n".join(lines) + "\n")
    return broken


def _check(store: Path, lines: int, broken: int) -> None:
    query = "SELECT sum(lines)::BIGINT, sum(loaded)::BIGINT, sum(rejected)::BIGINT FROM sources"
    said = weigh([*BENCH, "sql", query, "--format", "jsonl", "--store", str(store)]).stdout
    if list(json.loads(said).values()) != [lines, lines - broken, broken]:
        sys.exit(f"accounting is off: {said.strip()}, wanted {[lines, lines - broken, broken]}")
