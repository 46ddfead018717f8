"""Files of other tools in numbers: an archive of reports, a trace of a gigabyte, ten thousand files of any format to tell apart."""

import datetime
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..ingest.formats.samples import BINARY, SAMPLES
from .figures import BENCH, Figures, python, weigh

DAYS, COMPILERS, MODELS = 32, ("eager", "aot_eager", "inductor", "inductor_no_cudagraphs"), (45, 61, 60)
TRACE_MB, PART_MB, BLOCK_MB = 1000, 100, 10
COMPARED_MB = 130  # 400,000 events
MOST_LOADS = 3 / 1.8  # times json.load of one trace, for the comparison of two
MIXED = 10_000

READ_CSV = """
import csv, pathlib, sys
print(sum(1 for path in pathlib.Path(sys.argv[1]).glob("*/*.csv") for row in csv.DictReader(path.open())))
"""
LOAD_JSON = "import json, sys; print(len(json.load(open(sys.argv[1]))['traceEvents']))"
RECOGNISE = """
import pathlib, sys, time
from bench.ingest.readers.files import read_head
from bench.ingest.registry import formats
formats()
began = time.perf_counter()
found = 0
for path in pathlib.Path(sys.argv[1]).rglob("*.*"):
    head = read_head(path)
    found += any((kind.unpacks or not head.packed) and kind.recognise(head) for kind in formats().values())
print(time.perf_counter() - began, found)
"""
HEADS = """
import pathlib, sys, time
from bench.ingest.readers.files import read_head
began = time.perf_counter()
size = sum(len(read_head(path).data) for path in pathlib.Path(sys.argv[1]).rglob("*.*"))
print(time.perf_counter() - began)
"""


def measure(figures: Figures) -> None:
    """All of it on generated files in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _archive(figures, folder)
        _trace(figures, folder)
        _comparison(figures, folder)
        _recognition(figures, folder)


def _archive(figures: Figures, folder: Path) -> None:
    """About 1,150 files of torch.compile results, 36 a day, in one command."""
    rng = random.Random(1)
    names = ("huggingface", "timm_models", "torchbench")
    kinds: list[tuple[str, str, Callable[[], str]]] = [
        ("performance", "speedup,abs_latency,compilation_latency,compression_ratio", lambda: _numbers(rng, 4)),
        ("accuracy", "accuracy", lambda: rng.choice(("pass",) * 20 + ("fail_accuracy",))),
        ("performance_compilation_metrics", ",".join(f"phase_{n}" for n in range(10)), lambda: _numbers(rng, 10)),
    ]
    for day in range(DAYS):
        date = datetime.date(2022, 12, 20) + datetime.timedelta(days=day)
        place = folder / "archive" / f"day_{date:%j}_{date:%d_%m_%y}_performance_amp_{100 + day}"
        place.mkdir(parents=True)
        for compiler in COMPILERS:
            for suite, models in zip(names, MODELS, strict=True):
                stem = place / f"{compiler}_{suite}_amp_training_cuda"
                head, rows = "dev,name,batch_size", [f"cuda,model_{model},{model}" for model in range(models)]
                for kind, columns, value in kinds:
                    lines = [f"{row},{value()}" for row in rows]
                    Path(f"{stem}_{kind}.csv").write_text("\n".join([f"{head},{columns}", *lines]) + "\n")
    reference = python(READ_CSV, str(folder / "archive"))
    ours = weigh([*BENCH, "ingest", f"main:{folder}/archive", "--store", str(folder / "archive-store")])
    files = DAYS * len(COMPILERS) * len(MODELS) * 3
    figures.add(f"ingest {files:,} CSV files of torch.compile", ours.seconds, "s", reference=reference.seconds, most=5,
                against="csv.DictReader, rows counted")  # fmt: skip


def _numbers(rng: random.Random, count: int) -> str:
    return ",".join(f"{rng.random() * 10 + 0.1:.4f}" for _ in range(count))


def _trace(figures: Figures, folder: Path) -> None:
    """A trace as Kineto writes it, and a tenth of it for json.load, which holds it in memory whole."""
    part = _write_trace(folder / "part.json", PART_MB)
    whole = _write_trace(folder / "whole" / "trace.json", TRACE_MB)
    reference = python(LOAD_JSON, str(part))
    ours = weigh([*BENCH, "ingest", str(whole), "--store", str(folder / "trace-store")])
    scale, against = TRACE_MB / PART_MB, "json.load of a tenth, times ten"
    figures.add("ingest 1 GB of torch trace", ours.seconds, "s", reference=reference.seconds * scale, most=TRACE_MB / 50,
                against=against)  # fmt: skip
    figures.add("1 GB of torch trace, peak memory", ours.peak_bytes / 1e6, "MB", reference=reference.peak_bytes / 1e6 * scale,
                most=1000, against=against)  # fmt: skip
    whole.unlink()


def _comparison(figures: Figures, folder: Path) -> None:
    """Two traces by operator and kernel."""
    sides = [str(_write_trace(folder / f"side-{seed}.json", COMPARED_MB, seed)) for seed in (1, 2)]
    reference = python(LOAD_JSON, sides[0])
    ours = weigh([*BENCH, "compare", *sides], cwd=folder)
    figures.add("compare two traces of 400,000 events", ours.seconds, "s", reference=reference.seconds,
                most=MOST_LOADS * reference.seconds, against="json.load of one")  # fmt: skip


def _write_trace(path: Path, megabytes: int, seed: int = 1) -> Path:
    """Ten megabytes of random events, over and over at later times and with other ids."""
    path.parent.mkdir(exist_ok=True)
    rng = random.Random(seed)
    events, size, number = [], 0, 0
    while size < BLOCK_MB * 1_000_000:
        number += 1
        events.append(make_event(rng, f"@{number:06}", f"{rng.random() * 100:.3f}"))
        size += len(events[-1])
    block = "".join(events)
    with path.open("w") as out:
        out.write(
            '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {"id": 0, "name": "GPU"}\n  ],\n  "traceEvents": [\n'
        )
        for count in range(megabytes // BLOCK_MB):
            out.write(block.replace("@", str(100 + count)))
        out.write(
            '  {"ph": "i", "name": "Record Window End", "ts": 1}\n  ],\n  "baseTimeNanoseconds": 1727743122000000000\n}\n'
        )
    return path


def make_event(rng: random.Random, unique: str, took: str) -> str:
    """One event, a kernel, an operator, a call or an arrow."""
    kind = rng.random()
    begin = f'    "pid": 1670242, "tid": 1670242,\n    "ts": {unique}.250, "dur": {took},\n    "args": {{\n      "External id": {unique}'
    if kind < 0.45:
        return (
            f'  {{\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_{rng.randrange(150)}",\n{begin}, "Record function id": 0, '
            '"Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], '
            f'"Input Dims": [[{rng.choice((64, 128, 256))}, 1024], [1024, 1024], []], "Ev Idx": {unique}\n    }}\n  }},\n'
        )
    if kind < 0.65:
        return (
            f'  {{\n    "ph": "X", "cat": "kernel", "name": "void at::kernel_{rng.randrange(200)}<float>(int, at::Tensor const&)",\n'
            f'{begin}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {unique}, "registers per thread": 16, '
            '"shared memory": 0, "blocks per SM": 0.009259, "warps per SM": 0.037037, '
            f'"grid": [{rng.choice((1, 64, 512))}, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 0\n    }}\n  }},\n'
        )
    if kind < 0.88:
        return (
            f'  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",\n{begin}, "cbid": 211, '
            f'"correlation": {unique}\n    }}\n  }},\n'
        )
    return f'  {{\n    "ph": "s", "id": {unique}, "pid": 0, "tid": 7, "ts": {unique}.250,\n    "cat": "ac2g", "name": "ac2g"\n  }},\n'


def _recognition(figures: Figures, folder: Path) -> None:
    """The first file of every format's sample, by turns, and as many that are of none."""
    firsts = [(name, files[name]) for files in (SAMPLES | BINARY).values() for name in [next(iter(files))]]
    firsts += [
        ("notes.txt", b"only words\n" * 50),
        ("data.csv", b"a,b,c\n1,2,3\n" * 50),
        ("data.json", b'{"a": [1, 2, 3]}'),
    ]
    for number in range(MIXED):
        name, data = firsts[number % len(firsts)]
        path = folder / "mixed" / str(number) / name.rpartition("/")[2]
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    seconds, found = python(RECOGNISE, str(folder / "mixed")).stdout.split()
    if int(found) < MIXED * 0.8:
        sys.exit(f"only {found} of {MIXED} files are recognised")
    heads = float(python(HEADS, str(folder / "mixed")).stdout)
    figures.add(
        f"recognise {MIXED:,} mixed files",
        float(seconds),
        "s",
        reference=heads,
        most=5,
        against="reading their beginnings",
    )
