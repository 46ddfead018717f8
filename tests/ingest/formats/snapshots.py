"""Snapshots of torch's allocator of GPU memory, in the shape that it documents, for machines without a GPU."""

from collections.abc import Sequence
from typing import Any

MIB = 2**20
_BASE = 0x7F00_0000_0000


def stack(line: int) -> list[dict[str, Any]]:
    """Frames as torch has them, the innermost first: C++, a library, and the user's code."""
    frames = [
        ("torch/csrc/autograd/generated/VariableType.cpp", 1, "at::empty"),
        ("/env/lib/python3.12/site-packages/torch/nn/functional.py", 90, "gelu"),
        ("/home/user/net.py", line, "forward"), ("/home/user/train.py", 30, "step"), ("/home/user/train.py", 40, "main"),
    ]  # fmt: skip
    return [{"filename": filename, "line": number, "name": name} for filename, number, name in frames]


def block(place: int, mib: int, *, line: int) -> dict[str, Any]:
    """A segment with one block in use."""
    here = {"address": _BASE + place * 2**30, "stream": 0}
    size = mib * MIB
    used = {**here, "size": size + 512, "requested_size": size, "state": "active_allocated", "frames": stack(line)}
    return {**here, "device": 0, "total_size": size + MIB, "segment_type": "large", "blocks": [used]}


def allocation(place: int, mib: int, *, line: int) -> dict[str, Any]:
    """An event of a trace."""
    return {
        "action": "alloc", "addr": _BASE + place * 2**30, "size": mib * MIB, "stream": 0, "frames": stack(line), "time_us": 1,
    }  # fmt: skip


def free(place: int, mib: int) -> dict[str, Any]:
    """The event of giving it back."""
    return {**allocation(place, mib, line=1), "action": "free_requested", "frames": []}


def snapshot(segments: Sequence[dict[str, Any]], events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A snapshot of one GPU."""
    return {
        "segments": [*segments], "device_traces": [[*events]], "allocator_settings": {"expandable_segments": False},
        "external_annotations": [],
    }  # fmt: skip
