"""Packed files: gzip, Zstandard, xz, bzip2 and a zip of one file, unpacked a piece at a time so that no bomb fills memory."""

import bz2
import gzip
import lzma
import shlex
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PIECE_BYTES = 1 << 17  # of longer ones each would be memory of its own from the system, twice as slow to fill
XZ_MEMORY = 256 << 20  # bytes; `xz -9` needs 65 MiB, and a hostile file asks for 4 GiB before its first byte
BESIDE = ("__MACOSX/",)  # where macOS puts what Finder knows of a file
MAGIC = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip",
}  # fmt: skip

DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


class PackingError(Exception):
    """A file that cannot be unpacked; the message is the reason, in words that follow its name."""


def packing_of(data: bytes) -> str | None:
    """The compression of a file that begins with `data`; None if it is not packed."""
    return next((name for magic, name in MAGIC.items() if data.startswith(magic)), None)


def unpacked(path: Path) -> Iterator[bytes]:
    """The unpacked content, in pieces of at most PIECE_BYTES; of a file that was cut short, as far as it goes.

    Raises:
        PackingError: It is damaged, or a zip of no file or of several.
    """
    with path.open("rb") as file:
        kind = packing_of(file.read(8))
        file.seek(0)
        try:
            if kind == "zip":
                yield from _of_zip(file, path)
            elif kind == "xz":
                yield from _of_xz(file)
            else:
                yield from _of_stream(file, kind)
        except DAMAGES as error:
            raise PackingError(f"cannot be unpacked: {error}") from None


def _of_stream(file: IO[bytes], kind: str | None) -> Iterator[bytes]:
    if kind == "zstd":
        import pyarrow as pa

        with pa.CompressedInputStream(file, "zstd") as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
        return
    with gzip.GzipFile(fileobj=file) if kind == "gzip" else bz2.BZ2File(file) as stream:
        while piece := stream.read1(PIECE_BYTES):
            yield piece


def _of_xz(file: IO[bytes]) -> Iterator[bytes]:
    """Its streams one after the other. `lzma.open` would allocate whatever memory the file asks for."""
    data = file.read(PIECE_BYTES)
    while data:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        while not unpacker.eof:
            yield unpacker.decompress(data, PIECE_BYTES)
            data = file.read(PIECE_BYTES) if unpacker.needs_input and not unpacker.eof else b""
            if unpacker.needs_input and not data and not unpacker.eof:
                raise EOFError("it ends before its end mark")
        data = (unpacker.unused_data or file.read(PIECE_BYTES)).lstrip(b"\0")  # zeros may stand between streams


def _of_zip(file: IO[bytes], path: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(file) as archive:
        inside = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith(BESIDE)]
        if len(inside) != 1:
            name, folder = shlex.quote(str(path)), shlex.quote(str(path.with_suffix("")))
            cure = (
                f". Unpack it and load the folder: unzip {name} -d {folder} && bench ingest {folder}" if inside else ""
            )
            raise PackingError(f"is a zip of {len(inside)} files{cure}")
        with archive.open(inside[0]) as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
