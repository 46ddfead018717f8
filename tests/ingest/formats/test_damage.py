"""Damage of every kind, to every format: nothing is raised, and every record is accounted for."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench.ingest.readers import document
from bench.ingest.registry import find_format, formats
from bench.warehouse.events import Reject

from ...exhaustive import in_parts
from . import fuzz
from .reading import lay, read_file, recognised
from .samples import BINARY, SAMPLES

OWN_TESTS = {"scheduler", "dynamo-fpm", "aiperf"}


def test_every_format_has_a_sample() -> None:
    """A format without a sample would not be tried."""
    assert (
        set(SAMPLES | BINARY)
        == {name for name, kind in formats().items() if kind.__module__.startswith("bench.")} - OWN_TESTS
    )


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_sample_is_of_one_format_and_loads_whole(tmp_path: Path, kind: str) -> None:
    """Recognised from its content, whatever it is called; in UTF-16, with a mark and packed too."""
    lay(tmp_path, SAMPLES[kind])
    name = next(iter(SAMPLES[kind]))
    (tmp_path / name).rename(tmp_path / name.replace(".", "_"))
    path = tmp_path / name.replace(".", "_")
    plain = path.read_bytes()
    plain = gzip.decompress(plain) if plain.startswith(b"\x1f\x8b") else plain
    accounting = set()
    for data in (plain, b"\xef\xbb\xbf" + plain, plain.decode().encode("utf-16"), gzip.compress(plain)):
        path.write_bytes(data)
        assert recognised(path) == [kind]
        read = read_file(find_format(kind), path, name)
        accounting.add(read.accounting)
        assert read.rejects() == []
        assert read.tally.loaded > 0
    assert len(accounting) == 1


@pytest.mark.parametrize("places", in_parts(range(80), every=10))
@pytest.mark.parametrize("kind", SAMPLES | BINARY)
def test_a_file_cut_anywhere(tmp_path: Path, kind: str, places: Sequence[int]) -> None:
    """At eighty places of each sample, the last twenty bytes among them; the fuzz cuts at every byte."""
    files = (SAMPLES | BINARY)[kind]
    lay(tmp_path, files)
    name, data = next(iter(files.items()))
    ends = [*(1 + place * (len(data) - 21) // 60 for place in range(60)), *range(len(data) - 20, len(data))]
    for end in map(ends.__getitem__, places):
        (tmp_path / name).write_bytes(data[:end])
        fuzz.check(find_format(kind), tmp_path / name, name)


@pytest.mark.exhaustive
def test_damaged_files() -> None:
    """Twelve a format of what `python -m tests.ingest.formats.fuzz` does; some go through a store."""
    counts = fuzz.run(12 * len(SAMPLES | BINARY), seed=5, stored=300)

    assert all(counts[f"{kind} rejected"] for kind in SAMPLES | BINARY)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("google-benchmark-text", b"bytes_per_second=", b"bytes_per_second=e"),
        ("gungraun", b'"Int": 1500', b'"Int": {"": []}'),
        ("hf-benchmark", b'"dt_tokens": ', b'"dt_tokens": true, "dt": '),
        ("vllm", b'"output_lens": [3, 0]', b'"output_lens": []'),
        ("vllm", b'"ttfts": [0.01, 0.0]', b'"ttfts": []'),
        ("mlperf-training", b'"key": "global_batch_size"', b'"key1": 5'),
        ("mlperf-training", b'"time_ms": 1767226600100', b'"time": 5'),
        ("mlperf-training", b'"time_ms": 1767225600000', b'"time_ms": 1e300'),
    ],
)
def test_damage_that_a_reader_once_raised_at(tmp_path: Path, kind: str, old: bytes, new: bytes) -> None:
    """Found by the fuzz."""
    files = dict(SAMPLES[kind])
    name = next(iter(files))
    assert old in files[name]

    fuzz.check_files(kind, tmp_path, {**files, name: files[name].replace(old, new)}, "one place is another")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", SAMPLES)
def test_ten_megabytes_of_text(tmp_path: Path, kind: str) -> None:
    """In the place of every tenth short text; what is kept of it is short."""
    name = next(iter(SAMPLES[kind]))
    data = SAMPLES[kind][name]
    packed = data.startswith(b"\x1f\x8b")
    data = gzip.decompress(data) if packed else data
    at = data.find(b'"', len(data) // 2) + 1
    data = data[:at] + b"x" * (10 << 20) + data[at:]
    lay(tmp_path, SAMPLES[kind] | {name: gzip.compress(data, 1) if packed else data})

    read = fuzz.check(find_format(kind), tmp_path / name, name)

    assert all(len(text or "") <= 70_000 for text in [event.text for event in read.of(Reject)])


@pytest.mark.parametrize("count", [0, 1])
def test_a_trace_that_ends_before_its_events_is_a_reject(tmp_path: Path, count: int) -> None:
    """Its writer was killed; a trace without any event is whole."""
    files = dict(SAMPLES["torch-trace"])
    name, data = next(iter(files.items()))
    end = data.index(b'"traceEvents": [') + len(b'"traceEvents": [')

    read = fuzz.check_files(
        "torch-trace", tmp_path, {**files, name: data[:end] + b"]}" * count}, "cut before its events"
    )

    assert (read.tally.loaded, read.tally.rejected) == (0, 1 - count)


def test_a_file_too_large_for_a_document_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have to be held in memory."""
    monkeypatch.setattr(document, "MAX_BYTES", 1 << 20)
    lay(tmp_path, {"x.json": b'{"results": [{"command": "' + b"0" * (2 << 20) + b'", "mean": 1}]}'})

    assert read_file(find_format("hyperfine"), tmp_path / "x.json").rejects() == [
        (1, "the file is larger than 1 MiB, and is read as a whole: split it into files of fewer records")
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "not valid JSON"),
        ('{"results": ' + "[" * 100 + "]" * 100 + "}", "nested deeper than 64 levels"),
        ('{"results": [' + "{}," * 5_000_000 + "{}]}", "more than 4,000,000 lists and objects"),
        ('{"results": ' + "9" * 10_000 + "}", "not valid JSON: Exceeds the limit"),
        ("", "not valid JSON: Expecting value"),
    ],
    ids=["unclosed", "deep", "many", "digits", "empty"],
)
def test_what_is_too_much_is_a_reject(tmp_path: Path, text: str, reason: str) -> None:
    """Of the whole file, before it is in memory many times over."""
    lay(tmp_path, {"x.json": text})

    ((line, said),) = read_file(find_format("hyperfine"), tmp_path / "x.json").rejects()
    assert line == 1
    assert said.startswith(reason) or said in ("nested too deeply", "nested deeper than 64 levels")
