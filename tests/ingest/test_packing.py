"""Packed files: read as what they hold, whatever packed them, and never more of it than a bound."""

import bz2
import gzip
import io
import json
import lzma
import random
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from bench.ingest.plan import SourceOptions
from bench.ingest.readers import document, text_pieces
from bench.ingest.readers.packing import PackingError, unpacked
from bench.ingest.registry import find_format
from bench.ingest.user_formats import mapped
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.ingest.user_formats.pattern import Pattern
from bench.warehouse.errors import BenchError

from ..exhaustive import first_of
from .conftest import Load, Rows
from .formats.reading import read_file, recognised
from .records import lines, step

pytestmark = pytest.mark.usefixtures("nothing_derived")

RESULTS = json.dumps({"results": [{"command": "a", "times": [0.5, 0.25], "mean": 0.375}]}).encode()


def zipped(*files: bytes) -> bytes:
    """A zip of files, as macOS makes it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results/", b"")
        for index, data in enumerate(files):
            archive.writestr(f"results/{index}.json", data)
            archive.writestr(f"__MACOSX/results/._{index}.json", b"\0")
    return made.getvalue()


def zstd(data: bytes) -> bytes:
    """One frame."""
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "x.json.gz": gzip.compress, "x.json.zst": zstd, "x.json.xz": lzma.compress, "x.json.bz2": bz2.compress, "x.zip": zipped,
}  # fmt: skip
STREAMS = [name for name in PACKED if name != "x.zip"]


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize("name", first_of(1, PACKED))
def test_a_packed_file_is_what_it_holds(tmp_path: Path, load: Load, rows: Rows, name: str) -> None:
    """Recognised and read by what is inside."""
    (tmp_path / name).write_bytes(PACKED[name](RESULTS))

    load(tmp_path / name)

    assert rows("SELECT name, n, mean FROM cells WHERE metric = 'latency'") == [("a", 2, 3.75e8)]


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize("name", first_of(1, PACKED))
def test_a_table_may_be_packed(tmp_path: Path, load: Load, rows: Rows, name: str) -> None:
    """A mapping reads it as if it were not."""
    (tmp_path / name).write_bytes(PACKED[name](b"model,ms\nbert,1.5\ngpt,2.5\n"))

    load(tmp_path / name, sources=SourceOptions(own=MappedFormat(parse_mapping(["name=model,value=ms,unit=ms"]))))

    assert rows("SELECT name, median FROM cells ORDER BY name") == [("bert", 1.5e6), ("gpt", 2.5e6)]


@pytest.mark.parametrize("name", STREAMS)
def test_a_file_of_several_streams_is_read_to_its_end(tmp_path: Path, name: str) -> None:
    """As `cat a.gz b.gz` makes it."""
    (tmp_path / name).write_bytes(PACKED[name](b"a" * 3000) + PACKED[name](b"b" * 3000))

    assert b"".join(unpacked(tmp_path / name)) == b"a" * 3000 + b"b" * 3000


@pytest.mark.parametrize("name", first_of(2, PACKED))
def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Beyond the limit nothing is read, whether the document is held whole or in blocks; the file is one reject."""
    monkeypatch.setattr(document, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(text_pieces, "UNPACKED_BYTES", 1 << 20)
    kinds = [find_format("hyperfine"), find_format("torch-trace")]
    path = tmp_path / name
    path.write_bytes(PACKED[name](RESULTS))
    for kind in kinds:  # imports what it needs
        read_file(kind, path)
    path.write_bytes(PACKED[name](b'{"results": [{"command": "a", "mean": 1}], "x": "' + b"0" * (32 << 20)))
    assert recognised(path) == ["hyperfine"]
    tracemalloc.start()

    document_said, trace_said = (read_file(kind, path).rejects() for kind in kinds)

    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    said = "unpacks to more than 1 MiB, and is read as a whole: split it into files of fewer records"
    assert document_said == [(1, said)]
    assert trace_said == [(1, "unpacks to more than 0 GiB")]


def test_xz_takes_no_more_memory_than_a_bound(tmp_path: Path) -> None:
    """However large a dictionary the file asks for."""
    data = bytearray(lzma.compress(RESULTS))
    assert data[14:16] == b"\x21\x01"  # LZMA2 with one byte of properties: the size of its dictionary
    data[16] = 36  # 1 GiB
    data[20:24] = zlib.crc32(data[12:20]).to_bytes(4, "little")
    (tmp_path / "x.xz").write_bytes(data)

    with pytest.raises(PackingError, match="cannot be unpacked: Memory usage limit exceeded"):
        b"".join(unpacked(tmp_path / "x.xz"))


@pytest.mark.parametrize("name", first_of(2, STREAMS))
def test_a_file_cut_short_says_so(tmp_path: Path, name: str) -> None:
    """Recognised by what can be read, and then a reject."""
    whole = PACKED[name](RESULTS + random.Random(1).randbytes(300_000).hex().encode())
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])

    ((line, reason),) = read_file(find_format("hyperfine"), tmp_path / name).rejects()

    assert (line, reason.partition(":")[0]) == (1, "cannot be unpacked")


TABLES = {
    "csv": ("model,ms\n", "bert,%d\n", MappedFormat(parse_mapping(["name=model,value=ms,unit=ms"]))),
    "json lines": ("", '{"model": "bert", "ms": %d}\n', MappedFormat(parse_mapping(["name=model,value=ms,unit=ms"]))),
    "log": (
        "started\n",
        "bert took %d ms\n",
        Pattern(r"(?P<model>\w+) took (?P<ms>\d+)", ["name=model,value=ms,unit=ms"]),
    ),
}


@pytest.mark.parametrize("by_sql", [False, True])
@pytest.mark.parametrize("kind", first_of(1, TABLES))
def test_the_whole_lines_of_a_table_cut_short_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, by_sql: bool
) -> None:
    """However large it is; one reject stands for the rest, and for a file of which nothing can be read."""
    monkeypatch.setattr(document, "MAX_BYTES", 1 << 14)
    monkeypatch.setattr(mapped, "COMPILED_BYTES", 0 if by_sql else 1 << 40)
    header, row, own = TABLES[kind]
    text = header + "".join(row % (number * 7919 % 10_007 + 1) for number in range(6_000))
    path, whole = tmp_path / "x.gz", gzip.compress(text.encode(), 1)

    path.write_bytes(whole)
    assert read_file(own, path).tally.loaded == 6_000
    path.write_bytes(whole[: len(whole) // 2])
    found = read_file(own, path)
    ((line, reason),) = found.rejects()

    assert 2_000 < found.tally.loaded < 4_000 and line == found.tally.loaded + bool(header) + 1
    assert reason.startswith("the rest cannot be unpacked: ")
    path.write_bytes(whole[:20])
    assert read_file(own, path).tally.loaded == 0
    assert [line for line, _ in read_file(own, path).rejects()] == [1]


def test_a_damaged_file_is_answered_with_what_is_wrong(tmp_path: Path, load: Load) -> None:
    """Not with what its bytes look like."""
    (tmp_path / "x.json.zst").write_bytes(zstd(RESULTS)[:8] + b"x" * 100)

    with pytest.raises(BenchError, match=r"x\.json\.zst cannot be unpacked: ZSTD decompress failed"):
        load(tmp_path / "x.json.zst")


def test_a_zip_of_several_files_is_answered_with_what_to_do(tmp_path: Path, load: Load) -> None:
    """They are a folder, whose files belong together."""
    (tmp_path / "two runs.zip").write_bytes(zipped(RESULTS, RESULTS))

    with pytest.raises(BenchError) as error:
        load(tmp_path / "two runs.zip")

    place = tmp_path / "two runs"
    assert (
        f"two runs.zip is a zip of 2 files. Unpack it and load the folder: unzip '{place}.zip' -d '{place}' && "
        in str(error.value)
    )


@pytest.mark.parametrize("named", [None, "scheduler"])
def test_what_is_read_plain_only_is_to_be_unpacked(named: str | None, tmp_path: Path, load: Load) -> None:
    """A scheduler's log grows, and what grows is not packed; read as one by name, each packed byte was a bad record."""
    (tmp_path / "x.jsonl.zst").write_bytes(zstd(lines(step(0), step(1)).encode()))

    with pytest.raises(BenchError, match="is packed, and scheduler is read unpacked only: unpack it first"):
        load(tmp_path / "x.jsonl.zst", sources=SourceOptions(format=named))
