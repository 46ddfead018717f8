"""How fast tables of any kind come in by `--map` and `--pattern`, beside DuckDB turning the same CSV into Parquet in turns; how ways in grow.

The slope from 10^5 rows on is the exponent of processor time over rows: 1 grows like the file. `scale` measures what a store
costs that has grown.
"""

import json
import math
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .figures import BENCH, Figures, python, weigh
from .formats import make_event
from .ingest import make_record

ROWS, ROUNDS = 300_000, 3
EVENTS = 10_000  # of a trace, over and over at later times
MOST = 15.0  # times the reference
DAMAGED_ROWS, WAYS, NEW_LINE = 1_000_000, 1000, "\n"
ACCOUNTS = """
SELECT sum(loaded + rejected + known + left_out)::BIGINT AS counted, sum(rejected)::BIGINT AS rejected,
    (SELECT count(*) FROM rejects WHERE line IS NOT NULL AND reason <> '') AS told,
    (SELECT count(*) FROM timings WHERE case_id IN (SELECT case_id FROM cases WHERE regexp_full_match(name, 'model_[0-9]+')))
        AS timings
FROM sources
"""
CSV = """
import duckdb, sys
duckdb.connect().execute(f"COPY (FROM read_csv('{sys.argv[1]}')) TO '{sys.argv[2]}' (FORMAT parquet)")
"""
START = "import duckdb"
MAPPING = ("--map", "name=model,value=result,unit=ms")
PATTERN = ("--pattern", r"step (?P<name>\S+) bs=(?P<batch_size>\d+) took (?P<value>\S+) (?P<unit>ms)")
Write = Callable[[Path, int], object]
Row = tuple[str, int, str, int, float]
KINDS: dict[str, tuple[Callable[[Row], str], str, tuple[str, ...]]] = {
    "CSV": (lambda row: ",".join(map(str, row)), "model,batch_size,dtype,tile,result\n", MAPPING),
    "JSON lines": (
        lambda row: json.dumps(dict(zip(("model", "batch_size", "dtype", "tile", "result"), row, strict=True))), "", MAPPING,
    ),
    "lines of a pattern": (lambda row: f"INFO step {row[0]} bs={row[1]} took {row[4]} ms", "", PATTERN),
}  # fmt: skip


def measure(figures: Figures) -> None:
    """Each kind beside the reference, in turns; then a table with a thousand kinds of damage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, (line, header, words) in KINDS.items():
            table, csv = write(folder / "table", ROWS, line, header), folder / "table.csv"
            write(csv, ROWS, *KINDS["CSV"][:2])
            ours, theirs, start = [], [], []
            for _ in range(ROUNDS):
                ours.append(_ingest(table, folder, words)[0])
                theirs.append(python(CSV, str(csv), str(folder / "table.parquet")).seconds)
                start.append(python(START).seconds)
            figures.add(
                f"ingest {ROWS:,} rows: {kind}", min(ours), "s", reference=max(min(theirs) - min(start), 0.01), ratio_most=MOST,
                against="DuckDB, CSV to Parquet, beyond its start",
            )  # fmt: skip
        _damage(figures, folder)
    _grow(figures)


def _grow(figures: Figures) -> None:
    """A table by a mapping, lines of a scheduler, and a trace: processor time, its slope, and peak memory, in a process each."""
    ways: tuple[tuple[str, str, Write, tuple[str, ...], tuple[int, ...], int], ...] = (
        ("rows of CSV", "table.csv", _write_csv, MAPPING, (5, 6, 7), 2000),
        ("scheduler lines", "steps_0.jsonl", _write_steps, (), (5, 6), 400),
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


def _damage(figures: Figures, folder: Path) -> None:
    """A million rows, of which every thousandth is damaged in a way of its own: all are loaded, rejected, known or left out."""
    table, store = write(folder / "table", DAMAGED_ROWS, *KINDS["CSV"][:2]), folder / "store"
    header, *lines = table.read_bytes().splitlines()
    for way in range(WAYS):
        at = way * (DAMAGED_ROWS // WAYS)
        lines[at] = DAMAGES[way % len(DAMAGES)](lines[at].replace(b"model_", b"hurt_"), way // len(DAMAGES))
    table.write_bytes(b"\n".join((header, *lines)) + b"\n")
    weigh([*BENCH, "ingest", str(table), *MAPPING, "--store", str(store)])
    found = weigh([*BENCH, "sql", ACCOUNTS, "--format", "jsonl", "--store", str(store)]).stdout
    shutil.rmtree(store)
    counted, rejected, told, timings = json.loads(found).values()
    figures.add(
        f"{WAYS:,} kinds of damage in 10^6 rows: in none of the counts", abs(DAMAGED_ROWS - counted), "rows", most=0
    )
    figures.add(f"{WAYS:,} kinds of damage: rejects without line and reason", rejected - told, "rows", most=0)
    figures.add(
        f"{WAYS:,} kinds of damage: undamaged rows that are lost", DAMAGED_ROWS - WAYS - timings, "rows", most=0
    )


def _at(line: bytes, place: int, byte: bytes) -> bytes:
    place %= len(line)
    return line[:place] + byte + line[place:]


def _with(line: bytes, column: int, cell: str) -> bytes:
    cells = line.split(b",")
    cells[column] = cell.encode()
    return b",".join(cells)


DAMAGES: tuple[Callable[[bytes, int], bytes], ...] = (
    lambda line, n: line[: n % len(line)], lambda line, n: line + b"," * (n + 1), lambda line, n: _at(line, n, b"\0"),
    lambda line, n: _at(line, n, bytes([0x80 + n])), lambda line, n: _at(line, n, b'"'), lambda line, n: _at(line, n, b"\r"),
    lambda line, n: _at(line, n, bytes([1 + n % 8])), lambda line, n: _at(line, n, b","), lambda line, n: b" " * n,
    lambda line, n: _with(line, 0, f'"quoted{NEW_LINE * (1 + n % 5)}{n}"'), lambda line, n: _with(line, 0, " " * n),
    lambda line, n: _with(line, 1, f"{n}.5"), lambda line, n: _with(line, 3, "x" * ((1 << 20) + n)),
    lambda line, n: _with(line, 4, f'"{n},5"'), lambda line, n: _with(line, 4, f'"{n + 1},234.5"'),
    lambda line, n: _with(line, 4, f"{n + 1}'234.5"), lambda line, n: _with(line, 4, f"slow {n}"),
    lambda line, n: _with(line, 4, f"1e{400 + n}"), lambda line, n: _with(line, 4, f"-{n + 1}"),
    lambda line, n: _with(line, 4, f"{n} furlongs"),
)  # fmt: skip


def _ingest(table: Path, folder: Path, words: tuple[str, ...]) -> tuple[float, int]:
    weighed = weigh([*BENCH, "ingest", str(table), *words, "--store", str(folder / "store")])
    shutil.rmtree(folder / "store")
    return weighed.seconds, weighed.peak_bytes


def write(path: Path, rows: int, line: Callable[[Row], str], header: str) -> Path:
    """Write so many rows, the same each time, below a header; returns the path."""
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
