"""Snapshots of torch's allocator: what lived at the peak, and pickles that mean harm."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from bench.ingest.formats import cuda_memory
from bench.ingest.registry import formats
from bench.warehouse.events import MemorySample, Metric, Reject

from . import fuzz
from .reading import lay, read, read_file, recognised
from .snapshots import MIB, allocation, block, free, snapshot

KIND = "cuda-memory"


def dumped(value: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> bytes:
    """A pickle as torch writes it."""
    return pickle.dumps(value, protocol)


def live(data: bytes) -> dict[str | None, float | None]:
    """The bytes of each call path of a pickle."""
    return {metric.original_value: metric.value for metric in read(KIND, data, "a.pickle").of(Metric)}


@pytest.mark.exhaustive
def test_a_snapshot_cut_at_any_byte_is_a_reject() -> None:
    """Inside of a number, too, whose bytes `struct` misses."""
    assert fuzz.cut([KIND]) > 700


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_the_peak_is_a_reading_and_its_call_paths_add_up_to_it(protocol: int) -> None:
    """Of blocks that were there before the history, and of those that are freed again."""
    data = dumped(snapshot([block(0, 64, line=5)], [allocation(1, 32, line=12), free(1, 32)]), protocol)
    found = read(KIND, data, "a.pickle")

    (peak,) = found.of(MemorySample)
    assert (peak.source, peak.statistic, peak.size_bytes, peak.device_index) == ("cuda_allocated", "peak", 96 * MIB, 0)
    assert sum(metric.value or 0 for metric in found.of(Metric)) == 96 * MIB
    assert {metric.metric for metric in found.of(Metric)} == {"live_at_peak"}
    assert found.accounting == (1, 1, 0)


def test_a_device_is_a_case() -> None:
    """Each with its own peak."""
    two = snapshot([block(0, 1, line=5), {**block(7, 2, line=5), "device": 1}], [])

    assert [peak.size_bytes for peak in read(KIND, dumped(two), "a.pickle").of(MemorySample)] == [MIB, 2 * MIB]


def test_what_lacks_memory_is_told() -> None:
    """The allocation that failed is in no peak."""
    oom = {"action": "oom", "addr": 0, "size": 8, "frames": []}
    found = read(KIND, dumped(snapshot([block(0, 1, line=5)], [oom])), "a.pickle")

    assert found.tally.notes == ["a.pickle: found no memory 1 time: what was asked for then is in no peak"]


def test_a_snapshot_without_blocks_says_so() -> None:
    """No history was recorded, or nothing was allocated."""
    assert "no history was recorded" in read(KIND, dumped(snapshot([], [])), "a.pickle").tally.notes[0]


class Harm:
    """A value whose pickle would make a folder where it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def refused(data: bytes, folder: Path) -> str:
    """Why a file has no rows, if it is said to be a snapshot."""
    lay(folder, {"a.pickle": data})
    found = read_file(formats()[KIND], folder / "a.pickle")
    (reject,) = found.of(Reject)
    assert not found.of(Metric) and not found.of(MemorySample)
    return reject.reason


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_with_a_call_is_refused(protocol: int, tmp_path: Path) -> None:
    """It is found at its place, before anything ran."""
    made = tmp_path / "made"
    reason = refused(dumped({**snapshot([], []), "harm": Harm(made)}, protocol), tmp_path)

    assert "more than plain values" in reason and "may run code" in reason
    assert not made.exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (dumped(snapshot([block(0, 1, line=5)], []))[:-40], "cut off,"),
        (b"\x80\x04h\x07.segments device_traces", "cut off,"),
        (b"\x80\x04]\x94.", "no snapshot of torch's allocator"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fsegments", "cut off"),  # a text of 8 EiB
        (b"\x80\x02}r\xff\xff\xff\x7f.", "it has no list of segments"),  # a value of a number for which C takes 16 GiB
        (b"\x80\x04K\x01a.", "damaged"),
    ],
)
def test_damage_is_said_in_a_sentence(data: bytes, said: str, tmp_path: Path) -> None:
    """Whatever the bytes, and without taking the memory that they claim."""
    assert said in refused(data, tmp_path)


def test_a_file_that_is_too_large_has_a_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The values of a pickle take many times its size."""
    monkeypatch.setattr(cuda_memory, "MOST_BYTES", 100)

    assert "max_entries" in refused(dumped(snapshot([block(0, 1, line=5)], [])), tmp_path)


@pytest.mark.parametrize(
    "broken",
    [
        {"segments": [7, {"blocks": 3}, {"device": "x"}, {"blocks": [{"state": "active_allocated", "size": -1}]}]},
        {"segments": [], "device_traces": {"a": 1}},
        {"segments": [], "device_traces": [7, [{"action": ["alloc"], "addr": True}]]},
        {
            "segments": [
                {"blocks": [{"state": "active_allocated", "address": 1, "size": 1, "frames": [{"filename": 1}]}]}
            ]
        },
    ],
)
def test_values_of_other_types_do_not_matter(broken: dict[str, Any]) -> None:
    """They are as if they were not there."""
    assert sum(value or 0 for value in live(dumped({"device_traces": [], **broken})).values()) in (0, 1)


def test_it_is_recognised_by_its_keys_alone(tmp_path: Path) -> None:
    """Any other pickle is none, but one that is cut off before the second of them."""
    whole = {"a.pickle": dumped(snapshot([], [])), "b.pickle": dumped({"segments": []}), "c.pickle": dumped([1])}
    files = {**whole, "d.pickle": dumped(snapshot([block(0, 1, line=5)], []))[:60], "e.pickle": whole["c.pickle"][:-1]}
    lay(tmp_path, files)

    assert [name for name in files if recognised(tmp_path / name) == [KIND]] == ["a.pickle", "d.pickle"]
    assert [name for name in files if not recognised(tmp_path / name)] == ["b.pickle", "c.pickle", "e.pickle"]
