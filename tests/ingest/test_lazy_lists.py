"""Long lists stay text: what is decoded of them is what the document holds, whatever it holds."""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bench.ingest.format import Options, Part
from bench.ingest.readers import lazy_lists
from bench.ingest.readers.document import BadRecord
from bench.ingest.readers.json_format import UnlocatedRecords
from bench.ingest.readers.lazy_lists import LongList, count_in, read_document, records_in
from bench.ingest.registry import find_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .formats import fuzz
from .formats.reading import lay, read_file
from .formats.samples import SAMPLES

pytestmark = pytest.mark.usefixtures("nothing_derived")

TEXTS = st.text(st.sampled_from('ab"\\[]{},: \n\u00e9\u4e2d\U0001f980') | st.characters(codec="utf-8"), max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS | st.just('"rows": ['),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | st.just("rows"), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every list is long, and a window holds a few records."""
    monkeypatch.setattr(lazy_lists, "LONG_BYTES", -1)
    monkeypatch.setattr(lazy_lists, "WINDOW_BYTES", 24)


def read(data: bytes) -> Any:
    """The document of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        path.write_bytes(data)
        part = Part(path, "r", "s", 0, len(data), 1, Options(), duckdb.connect)
        return read_document(part, "rows", "others")


def whole(value: Any) -> Any:
    """A document with all its lists decoded."""
    if isinstance(value, list):
        return [whole(inner) for inner in records_in(value)]
    return {key: whole(inner) for key, inner in value.items()} if isinstance(value, dict) else value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_it_is_the_document(value: Any, indent: int | None, plain: bool) -> None:
    """In any layout, in ASCII or not."""
    document = {"a": value, "rows": [value, {"rows": value}], "others": value}

    assert whole(read(json.dumps(document, indent=indent, ensure_ascii=plain).encode())) == document


def test_a_list_is_counted_without_decoding_it() -> None:
    """Who does not know it takes it for empty."""
    rows = read(b'{"rows": [{"a": 1}, {"a": 2}, 3]}')["rows"]

    assert (type(rows), len(rows), count_in(rows), json.dumps(rows)) == (LongList, 0, 3, "[]")


def test_records_say_what_is_wrong_with_them() -> None:
    """A key that is there twice, a nest too deep; the others are read."""
    deep = b'{"a":' * 70 + b"1" + b"}" * 70
    records = list(records_in(read(b'{"rows": [{"a": 1, "a": 2}, ' + deep + b', {"a": 3}]}')["rows"]))

    assert [record.error.args[0] for record in records if isinstance(record, UnlocatedRecords)] == [
        "repeats the key 'a'", "nested deeper than 64 levels",
    ]  # fmt: skip
    assert records[-1] == {"a": 3}


@pytest.mark.parametrize(
    "data",
    [
        b'{"rows": [{"a": 1}, {"a"', b'{"rows": [1 2]}', b'{"rows": [1', b'{"rows": [{]}', b'{"rows": [' + b"[" * 100_000,
        b'{"rows": [1]', b'{"rows": ["\xff"]} \xff', b'\x1f\x8b\x08{"rows": [1]}', b"",
    ],
)  # fmt: skip
def test_what_is_no_document_says_why(data: bytes) -> None:
    """As one reject of the file."""
    with pytest.raises(BadRecord):
        read(data)


def test_packed_and_utf_16() -> None:
    """As any document."""
    text = '{"rows": [{"a": "\u00e9"}]}'

    for data in (gzip.compress(text.encode()), text.encode("utf-16"), b"\xef\xbb\xbf" + text.encode()):
        assert whole(read(data)) == {"rows": [{"a": "\u00e9"}]}


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the text, and of what is around the lists."""
    monkeypatch.setattr(lazy_lists, "MAX_BYTES", 100)
    with pytest.raises(BadRecord, match="larger than 0 MiB"):
        read(b'{"rows": [' + b"1, " * 100 + b"1]}")


KINDS = ["genai-perf", "guidellm", "vllm"]  # formats that read such lists


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_of_long_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A format makes the same events of them as of short ones."""
    lay(tmp_path, SAMPLES[kind])
    name = next(iter(SAMPLES[kind]))
    data = (tmp_path / name).read_bytes().partition(b"\n{")[0]  # the first line, where records are lines
    (tmp_path / name).write_bytes(data)
    long = read_file(find_format(kind), tmp_path / name)
    monkeypatch.setattr(lazy_lists, "LONG_BYTES", 1 << 20)
    short = read_file(find_format(kind), tmp_path / name)

    assert (long.events, long.accounting) == (short.events, short.accounting)
    assert long.tally.loaded == long.tally.lines > 0


@pytest.mark.exhaustive
def test_damaged_documents() -> None:
    """Nothing is raised, and every record is accounted for."""
    counts = fuzz.run(300, 3, KINDS)

    assert all(counts[f"{kind} rejected"] for kind in KINDS)
