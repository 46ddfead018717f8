"""Streams of forward pass metrics: sockets that engines publish on, and files that grow. What comes is hostile until it is read.

A stream gives what has arrived since it was asked last, and never waits. Records are bounded in size: a longer one is a reject.
"""

import glob
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...warehouse.errors import BenchError

MOST_BYTES = 1 << 20  # of a record
RECEIVED_BYTES = 16 << 20  # of a message; libzmq hangs up on a sender of longer ones
BLOCK_BYTES = 1 << 18
MESSAGES_AT_ONCE, BLOCKS_AT_ONCE = 2000, 20  # of one stream, before others have their turn
GZIP = 31  # zlib's word for it
MOST_FILES = 500  # followed at once
ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz")  # of files in a folder
INSTALL = "pip install 'bench-warehouse[serving]'"


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One record: decoded, or why it could not be."""

    source: str  # address or file
    number: int  # from 1, as messages arrive or lines stand in the file
    document: Any = None
    reason: str | None = None
    data: bytes = b""  # what a reject keeps of it


class Stream(Protocol):
    """The source of records."""

    name: str

    def is_there(self) -> bool:
        """Return whether its source is there by now, as far as that can be told."""
        ...

    def take(self) -> Iterator[StreamRecord]:
        """The records available now, up to a bound."""
        ...

    def last(self) -> Iterator[StreamRecord]:
        """The last records, which are whole only because no more will be read."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_stream(address: str) -> Stream:
    """A stream by its address: zmq://HOST:PORT, zmq:///PATH, tcp://…, ipc://…, or a file, a folder or a pattern.

    Raises:
        BenchError: The address is none, or what it needs is not installed.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        return GrowingFiles(address)
    if scheme == "zmq":
        scheme = "ipc" if rest.startswith("/") else "tcp"
    if scheme not in ("tcp", "ipc") or not rest or (scheme == "tcp" and not _has_port(rest)):
        raise BenchError(f"{address!r} is not an address. Write zmq://HOST:PORT, ipc:///PATH, or the path of a file.")
    return Socket(f"{scheme}://{rest}")


def _has_port(address: str) -> bool:
    """Return whether it ends in one; libzmq takes 65537 for 1."""
    port = address.rpartition(":")[2]
    return re.fullmatch("[0-9]{1,5}", port) is not None and 0 < int(port) < 1 << 16


class Socket:
    """A ZMQ publisher's messages, of one to three frames; the last one is a record in msgpack."""

    def __init__(self, endpoint: str) -> None:
        """Subscribe. The publisher need not be there yet.

        Raises:
            BenchError: The endpoint is none, or pyzmq or msgpack is not installed.
        """
        try:
            import msgpack
            import zmq
        except ImportError as error:
            raise BenchError(f"{endpoint} cannot be read without {error.name}. Install it: {INSTALL}") from None
        self.name = endpoint
        self._unpack, self._zmq, self._count = msgpack.unpackb, zmq, 0
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVHWM, 20_000)
        self._socket.setsockopt(zmq.MAXMSGSIZE, RECEIVED_BYTES)
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise BenchError(
                f"cannot subscribe to {endpoint}: {error}. Write zmq://HOST:PORT or ipc:///PATH."
            ) from None

    def is_there(self) -> bool:
        """Return whether the file of a local socket is there; of others nobody knows."""
        scheme, _, path = self.name.partition("://")
        return scheme != "ipc" or path.startswith("@") or os.path.exists(path)

    def take(self) -> Iterator[StreamRecord]:
        """The messages that have come."""
        for _ in range(MESSAGES_AT_ONCE):
            try:
                data = self._socket.recv_multipart(self._zmq.NOBLOCK)[-1]
            except self._zmq.Again:
                return
            self._count += 1
            yield self._read(data)

    def _read(self, data: bytes) -> StreamRecord:
        if len(data) > MOST_BYTES:
            return StreamRecord(self.name, self._count, reason=_too_long(len(data)), data=data)
        try:
            return StreamRecord(self.name, self._count, self._unpack(data, strict_map_key=False), data=data)
        except Exception as error:  # whatever msgpack raises for bytes that are none of its own
            return StreamRecord(self.name, self._count, reason=f"no msgpack: {_one_line(error)}", data=data)

    def last(self) -> Iterator[StreamRecord]:
        """Nothing: a message is whole when it comes."""
        return iter(())

    def close(self) -> None:
        """Hang up."""
        self._socket.close(0)
        self._context.term()


class GrowingFiles:
    """The files of a pattern, plain or gzip, those too that appear later; each from its first line."""

    def __init__(self, pattern: str) -> None:
        """Look for a file, the files of a folder, or those that a pattern such as 'trace.*.jsonl.gz' fits."""
        self.name = pattern
        self._files: dict[str, GrowingFile] = {}
        self._left_out: set[str] = set()

    def is_there(self) -> bool:
        """Return whether there is a file by now."""
        return bool(self._paths())

    def take(self) -> Iterator[StreamRecord]:
        """The lines that have come, file by file: the next one when nothing is left of the one before it."""
        for path in self._paths():
            if path not in self._files and (reason := self._open(path)) and path not in self._left_out:
                self._left_out.add(path)
                yield StreamRecord(path, 1, reason=reason)
        for path, file in list(self._files.items()):
            replaced = file.is_replaced()  # first: what came before is read to its end
            arrived = False
            for record in file.take():
                arrived = True
                yield record
            if replaced and not arrived:
                yield from file.last()
                self._files.pop(path).close()
            if file.is_behind:
                return

    def _open(self, path: str) -> str | None:
        """Follow one more file, or say why not."""
        if len(self._files) >= MOST_FILES:
            return f"not followed, because {MOST_FILES} files are. Load it with: bench ingest"
        try:
            file = GrowingFile(path)
        except FileNotFoundError:  # gone again
            return None
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        old_name = next((name for name, known in self._files.items() if known.identity == file.identity), None)
        if old_name is not None:  # renamed, as by a rotation of logs: what was read stays read
            file.close()
            file = self._files.pop(old_name)
            file.name = path
        self._files[path] = file
        return None

    def last(self) -> Iterator[StreamRecord]:
        """The last lines of all files, if they are whole."""
        for file in self._files.values():
            yield from file.last()

    def _paths(self) -> list[str]:
        if os.path.isdir(self.name):
            found = [str(path) for path in Path(self.name).iterdir() if path.name.endswith(ENDINGS)]
        else:
            found = [self.name] if os.path.exists(self.name) else glob.glob(self.name)
        return sorted(found, key=_by_number)

    def close(self) -> None:
        """Close them."""
        for file in self._files.values():
            file.close()


class GrowingFile:
    """One file. What was read is forgotten; an unended line waits for its end."""

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            OSError: It cannot be read.
        """
        self.name = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe without a writer must not wait
        status = os.fstat(self._file)
        self.identity = status.st_dev, status.st_ino
        if not stat.S_ISREG(status.st_mode):
            os.close(self._file)
            raise OSError("it is not a file")
        self._start()

    def _start(self) -> None:
        self._unpacker = zlib.decompressobj(GZIP) if self.name.endswith(".gz") else None
        self._packed = b""  # read and not yet unpacked
        self._rest = bytearray()  # of a line without its end
        self._skipped = 0  # bytes of that line which are thrown away, because it is too long
        self._lines = self._position = 0
        self._broken = False
        self.is_behind = False  # more is there than one turn takes

    def is_replaced(self) -> bool:
        """Return whether its name has gone, or leads to another file now."""
        try:
            status = os.stat(self.name)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self.identity

    def take(self) -> Iterator[StreamRecord]:
        """The lines that have come."""
        self.is_behind = False
        for _ in range(BLOCKS_AT_ONCE):
            try:
                block = self._block()
            except zlib.error as error:
                self._broken, self._lines = True, self._lines + 1
                yield StreamRecord(self.name, self._lines, reason=f"the rest of the file is not valid gzip: {error}")
                return
            if not block:
                return
            yield from self._split(block)
        self.is_behind = True

    def last(self) -> Iterator[StreamRecord]:
        """The line without an end, if it is a whole record: nobody ends the last line of some files."""
        self._lines += 1
        record = self._read(bytes(self._rest))
        self._rest.clear()
        if isinstance(record.document, dict):
            yield record

    def _block(self) -> bytes:
        """Some bytes more, unpacked."""
        if self._broken:
            return b""
        if os.fstat(self._file).st_size < self._position:  # it was emptied, and is written anew
            os.lseek(self._file, 0, os.SEEK_SET)
            self._start()
        if not self._packed:
            self._packed = os.read(self._file, BLOCK_BYTES)
            self._position += len(self._packed)
        if self._unpacker is not None:
            return self._unpack()
        block, self._packed = self._packed, b""
        return block

    def _unpack(self) -> bytes:
        """Unpack so many bytes at most; a line of them is not longer, however much it was compressed."""
        while self._packed:
            assert self._unpacker is not None
            block = self._unpacker.decompress(self._packed, BLOCK_BYTES)
            if self._unpacker.eof:  # the end of a gzip member; another one may follow
                self._packed, self._unpacker = self._unpacker.unused_data, zlib.decompressobj(GZIP)
            else:
                self._packed = self._unpacker.unconsumed_tail
            if block:
                return block
        return b""

    def _split(self, block: bytes) -> Iterator[StreamRecord]:
        *ended, rest = block.split(b"\n")
        for piece in ended:
            self._lines += 1
            length = self._skipped + len(self._rest) + len(piece)
            line = bytes(self._rest + piece)[:MOST_BYTES]
            self._rest.clear()
            self._skipped = 0
            if length > MOST_BYTES:
                yield StreamRecord(self.name, self._lines, reason=_too_long(length), data=line)
            elif line.strip():
                yield self._read(line)
        self._rest += rest
        if len(self._rest) > MOST_BYTES:
            self._skipped += len(self._rest) - MOST_BYTES
            del self._rest[MOST_BYTES:]

    def _read(self, line: bytes) -> StreamRecord:
        try:
            return StreamRecord(self.name, self._lines, json.loads(line), data=line)
        except (ValueError, RecursionError) as error:
            return StreamRecord(self.name, self._lines, reason=f"no JSON: {_one_line(error)}", data=line)

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


def _by_number(path: str) -> list[str | int]:
    """The key that puts segment 2 before segment 10."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"([0-9]+)", path))]


def _too_long(length: int) -> str:
    return f"{length:,} bytes are more than the {MOST_BYTES:,} of a record"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
