"""How fast tables of any kind come in by `--map` and `--pattern`, beside DuckDB turning the same CSV into Parquet in turns.

The slope from 10^5 rows on is the exponent of time over rows: 1 grows like the file.
"""

import json
import math
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .figures import BENCH, Figures, python, weigh

ROWS, ROUNDS = 300_000, 3
SIZES = (100_000, 1_000_000, 10_000_000)
MOST = 15.0  # times the reference
CSV = """
import duckdb, sys
duckdb.connect().execute(f"COPY (FROM read_csv('{sys.argv[1]}')) TO '{sys.argv[2]}' (FORMAT parquet)")
"""
START = "import duckdb"
MAPPING = ("--map", "name=model,value=result,unit=ms")
PATTERN = ("--pattern", r"step (?P<name>\S+) bs=(?P<batch_size>\d+) took (?P<value>\S+) (?P<unit>ms)")
Row = tuple[str, int, str, int, float]
KINDS: dict[str, tuple[Callable[[Row], str], str, tuple[str, ...]]] = {
    "CSV": (lambda row: ",".join(map(str, row)), "model,batch_size,dtype,tile,result\n", MAPPING),
    "JSON lines": (
        lambda row: json.dumps(dict(zip(("model", "batch_size", "dtype", "tile", "result"), row, strict=True))), "", MAPPING,
    ),
    "lines of a pattern": (lambda row: f"INFO step {row[0]} bs={row[1]} took {row[4]} ms", "", PATTERN),
}  # fmt: skip


def measure(figures: Figures) -> None:
    """Each kind beside the reference, in turns; then CSV from 10^5 to 10^7 rows, with its memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, (line, header, words) in KINDS.items():
            table, csv = _write(folder / "table", ROWS, line, header), folder / "table.csv"
            _write(csv, ROWS, *KINDS["CSV"][:2])
            ours, theirs, start = [], [], []
            for _ in range(ROUNDS):
                ours.append(_ingest(table, folder, words)[0])
                theirs.append(python(CSV, str(csv), str(folder / "table.parquet")).seconds)
                start.append(python(START).seconds)
            figures.add(
                f"ingest {ROWS:,} rows: {kind}", min(ours), "s", reference=max(min(theirs) - min(start), 0.01), ratio_most=MOST,
                against="DuckDB, CSV to Parquet, beyond its start",
            )  # fmt: skip
        _grow(figures, folder)


def _grow(figures: Figures, folder: Path) -> None:
    before: tuple[int, float] | None = None
    for rows in SIZES:
        seconds, memory = _ingest(_write(folder / "table", rows, *KINDS["CSV"][:2]), folder, MAPPING)
        size = f"10^{round(math.log10(rows))} rows of CSV"
        figures.add(f"ingest {size}", seconds, "s")
        figures.add(f"ingest {size}, peak memory", memory / 1e6, "MB", most=2000)
        if before is not None:
            slope = math.log(seconds / before[1]) / math.log(rows / before[0])
            figures.add(f"ingest {size}: slope", slope, "exponent", most=1.1)
        before = rows, seconds


def _ingest(table: Path, folder: Path, words: tuple[str, ...]) -> tuple[float, int]:
    weighed = weigh([*BENCH, "ingest", str(table), *words, "--store", str(folder / "store")])
    shutil.rmtree(folder / "store")
    return weighed.seconds, weighed.peak_bytes


def _write(path: Path, rows: int, line: Callable[[Row], str], header: str) -> Path:
    rng = random.Random(1)
    with path.open("w") as out:
        out.write(header)
        for _ in range(rows):
            of_case = (
                f"model_{rng.randrange(200)}",
                rng.choice((1, 8, 32)),
                rng.choice(("fp32", "bf16")),
                rng.choice((16, 32, 64)),
            )
            out.write(line((*of_case, round(rng.uniform(1, 50), 4))) + "\n")
    return path
