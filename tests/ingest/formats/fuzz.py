"""Damaged files, for every format: `python -m tests.ingest.formats.fuzz --inputs 100000 --seed 1`.

Whatever was done to a sample, reading it raises nothing, every record is loaded, rejected or known, what is written can be
stored, and each value is finite or NULL.
"""

import argparse
import copy
import gzip
import json
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.ingest.format import Format
from bench.ingest.readers.document import MAX_DEPTH
from bench.ingest.readers.files import read_head
from bench.ingest.readers.unrecognised import describe
from bench.ingest.registry import formats
from bench.ingest.run import ingest
from bench.warehouse.database import Warehouse
from bench.warehouse.events import Metric, Timing
from bench.warehouse.log import table_of
from bench.warehouse.store import Store

from .reading import Read, lay, read_file, recognised
from .samples import BINARY, SAMPLES

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**30, -(2**63), 2**64, 1e308, float("nan"), float("inf"), "", "NaN", "x" * 300, "\ud800",
    "\0", "2024-13-45", [], {}, [[]], [None], {"a": 1}, [1, "x", None], "𝔘🦀", "1e999", {"": {"": []}},
]  # fmt: skip
ODD_BYTES = b'"{}[]:,\\\n\r\t\0\xff\xfe\xc3 eE+-.0129tfn#/=;'


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Cut at any byte."""
    return data[: rng.randrange(len(data))]


def flip(data: bytes, rng: random.Random) -> bytes:
    """A few bytes are others, gone or doubled."""
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) or 1)
        one = bytes([rng.choice(ODD_BYTES)]) if rng.random() < 0.7 else bytes([rng.randrange(256)])
        data = rng.choice((data[:at] + one + data[at + 1 :], data[:at] + data[at + 1 :], data[:at] + one + data[at:]))
    return data


def swap(data: bytes, rng: random.Random) -> bytes:
    """A value somewhere in the document is of another type, a key has another name, or is gone."""
    prefix, found, text = data.partition(b"= ") if data.startswith(b"window") else (b"", b"", data)
    lines = text.split(b"\n") if text.count(b"\n{") else [text]
    at = rng.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except ValueError:
        return words(data, rng)
    for _ in range(rng.randint(1, 3)):
        parents = list(containers(document))
        if not parents:
            break
        parent = rng.choice(parents)
        odd = copy.deepcopy(rng.choice(ODD_VALUES))
        if isinstance(parent, list):
            parent[rng.randrange(len(parent))] = odd
        else:
            key = rng.choice(list(parent))
            value = parent.pop(key)
            if rng.random() < 0.7:
                parent[key if rng.random() < 0.9 else "odd"] = odd if rng.random() < 0.9 else {"in": value}
    lines[at] = json.dumps(document, ensure_ascii=rng.random() < 0.8).encode("utf-8", "surrogatepass")
    return prefix + found + b"\n".join(lines)


def containers(value: Any) -> Iterator[Any]:
    """The lists and objects of a document that are not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


def words(data: bytes, rng: random.Random) -> bytes:
    """A word is another."""
    parts = data.split(b" ")
    parts[rng.randrange(len(parts))] = rng.choice(
        (b"", b"NaN", b"1e999", b"-5", b"x" * 5000, b'"', b"\xff\xfe", b"9" * 400)
    )
    return b" ".join(parts)


def repeat_key(data: bytes, rng: random.Random) -> bytes:
    """A key stands twice in its object."""
    starts = [at for at in range(len(data)) if data[at : at + 1] == b"{"]
    if not starts:
        return data + data
    at = rng.choice(starts) + 1
    key = rng.choice((b'"name": 1, "name": 2, ', b'"a": {}, "a": [], ', b'"stats": null, "stats": 5, '))
    return data[:at] + key + data[at:]


def encode(data: bytes, rng: random.Random) -> bytes:
    """Another encoding, line end, mark or package."""
    text = data.decode("utf-8", "replace")
    ways: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-le"),
        lambda: text.encode("latin-1", "replace"),
        lambda: b"\xff\xfe" + data,
        lambda: gzip.compress(data, 1),
        lambda: gzip.compress(data, 1)[: rng.randrange(40, 400)],
        lambda: b"\x1f\x8b" + data,
    ]
    return rng.choice(ways)()


def nest(data: bytes, rng: random.Random) -> bytes:
    """A value nested as deep as may be, or a hundred thousand times."""
    depth = rng.choice((MAX_DEPTH - 8, MAX_DEPTH, 500, 5000, 100_000))
    places = [at for at in range(len(data)) if data[at : at + 1] == b":"]
    at = rng.choice(places) + 1 if places else len(data)
    return (
        data[:at] + b"[" * depth + b"]" * depth + b"," + data[at:]
        if rng.random() < 0.5
        else data[:at] + b'{"a":' * depth + data[at:]
    )


def join(data: bytes, rng: random.Random) -> bytes:
    """Two samples in one file."""
    other = next(iter(rng.choice(list(SAMPLES.values())).values()))
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


MUTATIONS = (truncate, flip, flip, swap, swap, swap, swap, words, repeat_key, encode, nest, join)


def check(kind: Format, path: Path, name: str) -> Read:
    """Read a file as a format, and hold it to what it promises."""
    head = read_head(path)
    for each in formats().values():
        assert isinstance(each.recognise(head), bool)
    describe(head, formats().values())
    read = read_file(kind, path, name)
    tally = read.tally
    assert tally.lines == tally.loaded + tally.rejected + tally.known + tally.left_out, tally
    assert len(read.rejects()) == tally.rejected
    assert min(tally.loaded, tally.rejected, tally.known) >= 0
    if shares := tally.shares.values():
        assert (tally.lines, tally.loaded) == (sum(s.lines for s in shares), sum(s.loaded for s in shares)), tally
    for event in {type(event) for event in read.events}:
        table_of(event, read.of(event))  # what does not fit its column raises
    for value in [metric.value for metric in read.of(Metric)]:
        assert value is None or math.isfinite(value)
    for timing in read.of(Timing):
        assert timing.duration_ns >= 0 and timing.loops > 0
    return read


def mutated(kind: str, rng: random.Random) -> tuple[dict[str, bytes], str]:
    """The files of a sample, one of them damaged, mostly the one that is read; and what was done."""
    files = dict((SAMPLES | BINARY)[kind])
    first = next(iter(files))
    target = first if rng.random() < 0.8 else rng.choice(list(files))
    mutation = rng.choice(MUTATIONS)
    packed = files[target].startswith(b"\x1f\x8b")
    data = gzip.decompress(files[target]) if packed and rng.random() < 0.8 else files[target]
    data = mutation(data, rng)
    if packed and not data.startswith(b"\x1f\x8b") and rng.random() < 0.9:
        data = gzip.compress(data, 1)
    return {**files, target: data or b" "}, f"{mutation.__name__} of {target}"


def run(inputs: int, seed: int, kinds: list[str] | None = None, stored: int = 500) -> Counter[str]:
    """Read so many damaged files, and put one in `stored` of them into a store; returns records by format and fate."""
    counts: Counter[str] = Counter()
    kinds = kinds or sorted(SAMPLES | BINARY)
    with tempfile.TemporaryDirectory() as folder:
        kept = []
        for index in range(inputs):
            kind = kinds[index % len(kinds)]
            files, what = mutated(kind, random.Random(f"{seed} {index}"))
            place = Path(folder, f"{kind}-{index}" if index % stored < len(kinds) else kind)
            read = check_files(kind, place, files, f"input {index} of seed {seed}: {what}")
            counts[f"{kind} loaded"] += read.tally.loaded
            counts[f"{kind} rejected"] += read.tally.rejected
            if place.name != kind:
                kept.append(place / next(iter(files)))
        store(Path(folder, "store"), kept)
    return counts


def cut(kinds: list[str] | None = None) -> int:
    """Read every sample cut at every byte; returns how many that were."""
    cuts = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or sorted(SAMPLES | BINARY):
            files = (SAMPLES | BINARY)[kind]
            name, data = next(iter(files.items()))
            for end in range(1, len(data)):
                check_files(kind, Path(folder, kind), {**files, name: data[:end]}, f"cut after byte {end}")
            cuts += len(data) - 1
    return cuts


def check_files(kind: str, place: Path, files: dict[str, bytes], what: str) -> Read:
    """Read the first of some files, and say what was done to them if that goes wrong."""
    lay(place, files)
    name = next(iter(files))
    try:
        return check(formats()[kind], place / name, name)
    except Exception as error:
        error.add_note(f"{kind}, {what}; the files are {files}"[:2000])
        raise


def store(folder: Path, paths: list[Path]) -> None:
    """What the formats made of damaged files, a warehouse takes: every line of every file is in it."""
    wanted = [f"c{index}:{path}" for index, path in enumerate(paths) if len(recognised(path)) == 1]
    if wanted:
        report = ingest(Store(folder), wanted)
        with Warehouse.open(Store(folder)) as warehouse:
            ((lines,),) = warehouse.rows("SELECT coalesce(sum(lines), 0) FROM source_files")
            assert lines == sum(line.lines for line in report.lines)
            warehouse.rows("SELECT count(*) FROM cells")
            warehouse.rows("SELECT tags ->> 'a' FROM runs")
            warehouse.rows("SELECT parameters ->> 'a' FROM cases")


def main() -> None:
    """Run it, and say what became of the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", nargs="*")
    arguments = parser.parse_args()
    began = time.monotonic()
    cuts = cut(arguments.formats)
    counts = run(arguments.inputs, arguments.seed, arguments.formats)
    for name in sorted(counts):
        print(f"{name}: {counts[name]}")
    sys.stdout.write(
        f"{cuts} samples cut at every byte and {arguments.inputs} damaged files in {time.monotonic() - began:.0f} s: "
        "no error, every record accounted for\n"
    )


if __name__ == "__main__":
    main()
