"""The second day: files of every format change as their tools change them, are ingested again, and the store stays sound."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ingest.run import ingest
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store
from bench.warehouse.upkeep.verify import verify

from ..exhaustive import in_parts
from .formats.reading import lay
from .formats.samples import SAMPLES

pytestmark = pytest.mark.usefixtures("nothing_derived")

Change = Callable[[bytes], bytes | None]
DATA_JS = b"window.BENCHMARK_DATA = "


def grown(data: bytes) -> bytes | None:
    """The last line once more, as of a log or a history that repeats a row."""
    lines = data.splitlines(keepends=True)
    return None if len(lines) < 2 or data.lstrip()[:1] in b"[{" else data.rstrip(b"\n") + b"\n" + lines[-1]


def newest_first(data: bytes) -> bytes | None:
    """A table whose rows come in the other order, after a new one."""
    head, *rows = data.splitlines(keepends=True)
    return None if len(rows) < 2 or b"," not in head else head + b"".join([*other(rows[-1:]), *rows[::-1]])


def other(rows: list[bytes]) -> list[bytes]:
    """The rows with another last digit."""
    return [re.sub(rb"(\d)(\D*)$", lambda found: b"%d" % (9 - int(found[1])) + found[2], row) for row in rows]


def one_record_more(data: bytes) -> bytes | None:
    """A document whose every list of objects has its last object once more, with other numbers."""
    prefix = DATA_JS if data.startswith(DATA_JS) else b""
    try:
        document = json.loads(data.removeprefix(prefix))
    except ValueError:
        return None
    return prefix + json.dumps(_more(document)).encode()


def _more(value: object) -> object:
    if isinstance(value, dict):
        return {key: _more(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        return [*value, _changed(value[-1])]
    return value


def _changed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _changed(inner) for key, inner in value.items()}
    return value * 1.5 if isinstance(value, float) else value


def emptied(data: bytes) -> bytes | None:
    """A document whose lists hold nothing, such as an API's answer without results."""
    try:
        document = json.loads(data)
    except ValueError:
        return None
    return json.dumps(
        {key: [] if isinstance(value, list) else value for key, value in document.items()}
        if isinstance(document, dict)
        else []
    ).encode()


def newer(data: bytes) -> bytes | None:
    """What the next run of the tool writes beside the file: the same with other numbers."""
    return one_record_more(data) or newest_first(data)


DAYS: tuple[Change, ...] = (grown, newest_first, one_record_more, newer, emptied)


def live_through(folders: list[Path], store: Store) -> None:
    """Ingest the folders, change every file in each way, ingest again, and verify after each day."""
    originals = {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
    for change in (None, *DAYS):
        for path, data in originals.items():
            packed = path.suffix == ".gz"
            after = data if change is None else change(gzip.decompress(data) if packed else data)
            if after is not None and change is not None:
                place = path.with_name(f"next_{path.name}") if change is newer else path
                place.write_bytes(gzip.compress(after) if packed else after)
        _ingest(store, folders)
        assert verify(store).problems == {}, change


def _ingest(store: Store, folders: list[Path]) -> None:
    """Ingest folders in one call; where one of them holds nothing any more, by halves."""
    try:
        ingest(store, list(map(str, folders)))
    except BenchError as error:
        assert error.exit_code == 2, error
        if len(folders) > 1:
            _ingest(store, folders[: len(folders) // 2])
            _ingest(store, folders[len(folders) // 2 :])


@pytest.mark.exhaustive
@pytest.mark.parametrize("kinds", in_parts([*SAMPLES], every=4))
def test_no_second_day_turns_verify_red(kinds: list[str], tmp_path: Path) -> None:
    """A history that grew, a row twice, the newest first, an empty list, files that describe a machine: all are accounted for."""
    for kind in kinds:
        lay(tmp_path / "days" / kind, SAMPLES[kind])

    live_through(sorted((tmp_path / "days").iterdir()), Store(tmp_path / "store"))


@pytest.mark.exhaustive
def test_no_second_day_of_real_files_turns_verify_red(tmp_path: Path, shared_data: Path) -> None:
    """The same with what tools wrote."""
    shutil.copytree(shared_data, tmp_path / "data")
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    folders = sorted({path.parent for path in (tmp_path / "data").rglob("*") if path.is_file()})

    live_through(folders, Store(tmp_path / "store"))
