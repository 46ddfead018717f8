"""Snapshots of the memory of GPUs: what `torch.cuda.memory._dump_snapshot` writes, a pickle of plain values.

A pickle can call any function when it is loaded. Here only the instructions are known that make plain values: at any other the
file is refused, and nothing of it is loaded.
"""

import functools
import mmap
import pickle
import struct
from typing import Any

from ...query.why.allocations import ALLOCATED, LIVE_AT_PEAK, CallPath, out_of_memory, peaks
from ...warehouse.console.numbers import amount, counted
from ...warehouse.events import MemorySample, Metric
from ...warehouse.log import Batch
from ..format import FILE, Format, Head, Part, Tally
from ..readers.document import BadRecord
from ..readers.json_format import reject_file
from ..readers.results import Results

MOST_BYTES = 1 << 30  # of a file: its values take some ten times that in memory
LOOK = 1 << 16  # bytes in which the keys are looked for
FIRST = 64  # in which the first key stands
KEYS = (b"segments", b"device_traces")
PLAIN = (  # instructions of a pickle
    pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.POP, pickle.POP_MARK, pickle.NONE, pickle.NEWTRUE,
    pickle.NEWFALSE, pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1, pickle.BINFLOAT, pickle.BINUNICODE,
    pickle.SHORT_BINUNICODE, pickle.BINUNICODE8, pickle.BINBYTES, pickle.SHORT_BINBYTES, pickle.EMPTY_DICT, pickle.SETITEM,
    pickle.SETITEMS, pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS, pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1,
    pickle.TUPLE2, pickle.TUPLE3, pickle.MEMOIZE, pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET,
)  # fmt: skip
CUT = "it is cut off, as where a program ended while it wrote: record and copy it again"


class _PlainUnpickler(pickle._Unpickler):
    """An unpickler that knows no class and no call; that of C takes any number of a value, and memory for so many."""

    dispatch = {code: pickle._Unpickler.dispatch[code] for code in (each[0] for each in PLAIN)}


class CudaMemory(Format):
    """A snapshot of the allocator of GPUs."""

    name = "cuda-memory"
    doc = "snapshot of torch's allocator of GPU memory (torch.cuda.memory._dump_snapshot), a pickle of plain values"
    becomes = (
        "GPU → case with its peak; what lived then by call path → view `peak_parts`, for [why](why.md). Only plain values are "
        "read: a pickle with anything to call is refused"
    )
    lost = "segments, and events before and after the peak"
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether it is a pickle that names its keys early."""
        start = head.data[:LOOK]
        return start.startswith(pickle.PROTO) and KEYS[0] in start and _has_traces(head)

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a GPU."""
        results = Results(part, batch)
        results.run()
        try:
            snapshot = _load(part)
            found = list(peaks(snapshot))
        except (BadRecord, ValueError) as error:
            reject_file(results, BadRecord(str(error)))
            return results.close()
        for device, paths in found:
            text = f"GPU {device}: {counted(len(paths), 'call path')}"
            results.record(functools.partial(_add, results, device, paths), text)
        if not found:
            results.note(
                "holds no block that is in use, and no event: nothing was allocated, or no history was recorded"
            )
        if times := out_of_memory(snapshot):
            results.note(f"found no memory {counted(times, 'time')}: what was asked for then is in no peak")
        return results.close()


def _has_traces(head: Head) -> bool:
    """True if its other key stands at the beginning, or somewhere in the file; or if that is cut off behind the first key."""
    if KEYS[1] in head.data:
        return True
    with head.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(KEYS[1]) >= 0 or (KEYS[0] in head.data[:FIRST] and _is_cut(mapped))


def _is_cut(data: mmap.mmap) -> bool:
    return data[-1:] != pickle.STOP


def _load(part: Part) -> Any:
    """The values of a file.

    Raises:
        BadRecord: It is too large, damaged, or more than plain values.
    """
    if part.end_byte > MOST_BYTES:
        raise BadRecord(
            f"it has {amount(part.end_byte, 'bytes')}, and at most {amount(MOST_BYTES, 'bytes')} are read: record fewer events,"
            " with torch.cuda.memory._record_memory_history(max_entries=100000)"
        )
    with part.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        try:
            return _PlainUnpickler(mapped, encoding="utf-8", errors="backslashreplace").load()
        except KeyError as error:
            raise BadRecord(
                f"at byte {mapped.tell() - 1:,} it is more than plain values (instruction {error}): it may run code when it is"
                " loaded, and is not read"
            ) from None
        except (
            EOFError, pickle.UnpicklingError, struct.error, ValueError, TypeError, IndexError, AttributeError, OverflowError,
            MemoryError,
        ) as error:  # fmt: skip
            raise BadRecord(CUT if _is_cut(mapped) else f"it is damaged: {error}".removesuffix(": ")) from None


def _add(results: Results, device: int, paths: "dict[CallPath, int]") -> None:
    """The peak of a GPU, and what lived then."""
    subject = results.case(f"GPU {device}", device="cuda")
    subject.is_measured = True
    at = {**subject.place(), "device_index": device}
    results.add([MemorySample(source=ALLOCATED, size_bytes=sum(paths.values()), **at)])
    place = subject.place()
    results.add(
        Metric(metric=LIVE_AT_PEAK, value=float(size), unit="bytes", original_value=path.place, **place)
        for path, size in sorted(paths.items(), key=lambda each: -each[1])
    )
