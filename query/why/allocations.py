"""The memory that lived on a GPU when its allocator held most, by the call path that asked for it: from a snapshot of torch.

A snapshot (`torch.cuda.memory._snapshot`) has the blocks there are, and of each GPU the events before it: allocations and frees
with their addresses, sizes and stacks. Going through them gives what was held at each moment. A file of it may be hostile:
nothing in it is trusted to be there or to be of its type.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeGuard

CALLED_BY = "called by "  # and the callers of a call path, the innermost first: its text
LIVE_AT_PEAK = "live_at_peak"  # bytes of a call path; its text is the path's `place`
ALLOCATED = "cuda_allocated"
MOST_GPUS = 1024
_TAKEN, _FREED = "alloc", ("free_requested", "free")  # `free` is of old versions
_MOST_CALLERS = 8  # of user code, that are named
_LONGEST = 500  # characters of a file or a function
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3\.\d+[/\\]|^<frozen ")
_Stack = Any  # as a snapshot has it: a list of frames, the innermost first


@dataclass(frozen=True, slots=True)
class CallPath:
    """The innermost place of the user's code that asked for memory, and who called it; `line` is 0 where that is not known."""

    file: str
    line: int
    function: str
    text: str

    @property
    def place(self) -> str:
        """All of it, as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


UNKNOWN = CallPath("", 0, "no stack recorded", "")


def peaks(snapshot: Any) -> Iterator[tuple[int, Counter[CallPath]]]:
    """Each GPU of a snapshot that held something, with the bytes of each call path when it held most, the first such moment.

    Raises:
        ValueError: It is no snapshot.
    """
    if not isinstance(snapshot, Mapping) or not isinstance(snapshot.get("segments"), list):
        raise ValueError("no snapshot of torch's allocator: it has no list of segments")
    traces = snapshot.get("device_traces")
    traces = traces if isinstance(traces, list) else []
    blocks: dict[int, dict[int, tuple[int, _Stack]]] = {}
    for segment in _dicts(snapshot["segments"]):
        device = segment.get("device", 0)
        if _is_count(device) and device < MOST_GPUS:
            blocks.setdefault(device, {}).update(_held(segment))
    for device in sorted({*blocks, *range(min(len(traces), MOST_GPUS))}):
        events = list(_events(traces[device])) if device < len(traces) else []
        found = _at_peak(blocks.get(device, {}), events)
        if found:
            yield device, found


def out_of_memory(snapshot: Any) -> int:
    """The times that the allocator found no memory."""
    traces = snapshot.get("device_traces") if isinstance(snapshot, Mapping) else None
    return sum(event.get("action") == "oom" for trace in traces or () for event in _dicts(trace))


def _held(segment: Mapping[str, Any]) -> Iterator[tuple[int, tuple[int, _Stack]]]:
    """The blocks in use of a segment by address, each with the bytes that were asked for and its stack."""
    address = segment.get("address")
    for block in _dicts(segment.get("blocks")):
        size = block.get("size")
        begins = block.get("address", address)
        asked = block.get("requested_size", size)
        if block.get("state") == "active_allocated" and _is_count(begins) and _is_count(asked):
            yield begins, (asked, block.get("frames"))
        if _is_count(address) and _is_count(size):  # old versions give no block an address of its own
            address += size


def _events(trace: Any) -> Iterator[tuple[bool, int, int, _Stack]]:
    """The allocations and frees of a trace: whether it is an allocation, address, bytes and stack."""
    for event in _dicts(trace):
        action, address, size = event.get("action"), event.get("addr"), event.get("size")
        if (action == _TAKEN or action in _FREED) and _is_count(address) and _is_count(size):
            yield action == _TAKEN, address, size, event.get("frames")


def _at_peak(left: Mapping[int, tuple[int, _Stack]], events: list[tuple[bool, int, int, _Stack]]) -> Counter[CallPath]:
    """The memory of each call path at the peak, from the blocks that are left and the events before."""
    first: dict[int, tuple[bool, int]] = {}
    for is_allocation, address, size, _ in events:
        first.setdefault(address, (is_allocation, size))
    # of what was there before the events, the freed have no stack
    live: dict[int, tuple[int, _Stack]] = {a: (size, None) for a, (is_new, size) in first.items() if not is_new}
    live |= {address: block for address, block in left.items() if address not in first}
    held = most = sum(size for size, _ in live.values())
    sizes = {address: size for address, (size, _) in live.items()}
    peak = 0
    for number, (is_allocation, address, size, _) in enumerate(events, 1):
        held -= sizes.pop(address, 0)
        if is_allocation:
            sizes[address] = size
            held += size
        if held > most:
            most, peak = held, number
    for is_allocation, address, size, stack in itertools.islice(events, peak):
        live.pop(address, None)
        if is_allocation:
            live[address] = size, stack
    found: Counter[CallPath] = Counter()
    known: dict[int, CallPath] = {}  # by the identity of a stack, which a pickle has once
    for size, stack in live.values():
        path = known.get(id(stack))
        if path is None:
            path = known[id(stack)] = call_path(stack)
        found[path] += size
    return +found


def call_path(stack: _Stack) -> CallPath:
    """The call path of a stack: its innermost frame of the user's Python, else of any Python, else of C++, and its callers."""
    frames = [frame for frame in _dicts(stack) if isinstance(frame.get("filename"), str)]
    python = [frame for frame in frames if frame["filename"].endswith((".py", ">"))]
    own = [frame for frame in python if not _LIBRARY.search(frame["filename"])]
    chosen = own or python or frames
    if not chosen:
        return UNKNOWN
    line, names = chosen[0].get("line"), [str(frame.get("name") or "?")[:_LONGEST] for frame in chosen]
    callers = names[1 : _MOST_CALLERS + 1]
    text = f"{CALLED_BY}{', '.join(callers)}" if callers else ""
    return CallPath(chosen[0]["filename"][:_LONGEST], line if _is_count(line) else 0, names[0], text)


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**63
