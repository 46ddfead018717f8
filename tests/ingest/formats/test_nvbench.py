"""NVBench: states, summaries, skips, and the binary files of samples."""

import json
import struct
from typing import Any

import pytest
from bench.warehouse.events import CaseRecord

from .reading import Read, read

DEVICES = [{"id": 0, "name": "A GPU", "sm_version": 900}, {"id": 1, "name": "B GPU"}]
META = {"argv": ["bin/bench", "--json", "x.json"], "version": {"nvbench": {"string": "0.1.0"}}}


def summary(tag: str, value: object, hint: str | None = None, **more: object) -> dict[str, Any]:
    """One summary; values are texts in these files."""
    data = {"value": value, **more} if value is not ... else more
    return {
        "tag": tag, "name": "N", "description": "D", **({"hint": hint} if hint else {}),
        "data": [{"name": name, "type": "float64", "value": said} for name, said in data.items()],
    }  # fmt: skip


def state(*summaries: object, device: int = 0, **fields: Any) -> dict[str, Any]:
    """One state."""
    axes = [{"name": "N", "type": "int64", "value": "64"}]
    return {
        "name": "Device=0 N=64",
        "device": device,
        "axis_values": axes,
        "summaries": list(summaries),
        "is_skipped": False,
    } | fields


def load(*states: object, devices: object = DEVICES, **beside: bytes) -> Read:
    """Read a file of one benchmark, with files beside it."""
    document = {"meta": META, "devices": devices, "benchmarks": [{"name": "copy", "states": list(states)}]}
    return read("nvbench", document, beside={f"x.json-bin/{name}.bin": content for name, content in beside.items()})


def samples(file: str = "x.json-bin/a.bin", size: int = 2) -> dict[str, Any]:
    """A summary that names a file."""
    return summary("nv/json/bin:nv/cold/sample_times", ..., "file/sample_times", filename=file, size=str(size))


def test_axes_and_gpu_are_parameters() -> None:
    """Two devices are two cases, by name; twins by number."""
    got = load(state(), state(device=1))
    assert [json.loads(case.parameters or "") for case in got.of(CaseRecord)] == [
        {"N": "64", "gpu": "A GPU"}, {"N": "64", "gpu": "B GPU"},
    ]  # fmt: skip
    assert {case.device for case in got.of(CaseRecord)} == {"cuda"}
    assert got.environment.gpus == ["A GPU", "B GPU"]
    assert got.runs[0].command == "bin/bench --json x.json"

    twins = load(state(device=1), devices=[{"id": 0, "name": "G"}, {"id": 1, "name": "G"}])
    assert json.loads(twins.of(CaseRecord)[0].parameters or "")["gpu"] == "G #1"


def test_summaries_are_aggregates_by_what_they_measure() -> None:
    """GPU time is the latency; noise is a ratio without direction; rates are better when higher."""
    got = load(state(
        summary("nv/cold/time/gpu/mean", "0.001", "duration"), summary("nv/cold/time/gpu/stdev/relative", "0.5", "percentage"),
        summary("nv/cold/time/cpu/mean", "0.002", "duration"), summary("nv/batch/time/gpu/mean", "0.0005", "duration"),
        summary("nv/cold/bw/global/bytes_per_second", "1e9", "byte_rate"), summary("nv/cold/walltime", "0.5", "duration"),
        summary("nv/cold/sample_size", "499", "sample_size"), summary("my/tag", "7"),
    ))  # fmt: skip

    assert got.metrics() == {
        "latency_mean": (1e6, "ns"), "latency_cv": (0.5, "ratio"), "host_time_mean": (2e6, "ns"),
        "batch_latency_mean": (5e5, "ns"), "cold_bw_global_bytes_per_second": (1e9, "bytes/s"),
        "cold_walltime": (5e8, "ns"), "cold_sample_size": (499.0, "count"), "my_tag": (7.0, None),
    }  # fmt: skip
    assert got.better()["cold_bw_global_bytes_per_second"] == "higher"
    assert (got.better()["latency_mean"], got.better()["latency_cv"], got.better()["cold_walltime"]) == (
        "lower",
        None,
        None,
    )


def test_sample_files_are_timings() -> None:
    """32-bit floats in seconds, beside the JSON or where the program ran."""
    content = struct.pack("<2f", 1e-3, 2e-3)

    assert load(state(samples()), a=content).samples() == [(1_000_000, 1), (2_000_000, 1)]
    assert len(load(state(samples("out/x.json-bin/a.bin")), a=content).samples()) == 2


@pytest.mark.parametrize(
    ("file", "size", "note"),
    [
        ("x.json-bin/none.bin", 2, "is not there"), ("../../etc/passwd", 2, "is not there"), ("/etc/passwd", 2, "is not there"),
        ("x.json-bin/a.bin", 3, "does not hold the 3 samples"), ("x\0y", 2, "is not there"),
    ],
)  # fmt: skip
def test_sample_files_that_are_not_what_they_should_be(file: str, size: int, note: str) -> None:
    """Missing, of another size, or out of the folder: the rest of the state stands, and it is said."""
    got = load(state(samples(file, size), summary("nv/cold/time/gpu/mean", "0.001", "duration")), a=b"\0" * 8)

    assert got.samples() == []
    assert got.metrics()["latency_mean"] == (1e6, "ns")
    assert any(note in said for said in got.tally.notes)


def test_skipped_states_say_why() -> None:
    """They have no summaries at all."""
    got = load(state(is_skipped=True, skip_reason="Not a conversion.", summaries=None))

    assert got.outcomes() == [("skipped", "Not a conversion.")]


def test_infinite_noise_is_null() -> None:
    """NVBench writes null where JSON has no word for infinity."""
    got = load(state(summary("nv/cold/time/gpu/stdev/relative", None, "percentage")))

    assert got.metrics() == {"latency_cv": "inf"}
