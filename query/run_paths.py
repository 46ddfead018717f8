"""Runs that are named by a path: those that were loaded from the files there, found by their content."""

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..warehouse.errors import BenchError

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


def labelled(text: str) -> tuple[str, str] | None:
    """NAME and PATH of `NAME:PATH`, split at the first colon that is followed by a path."""
    places = (i for i, character in enumerate(text) if character == ":" and i and os.path.exists(text[i + 1 :]))
    place = next(places, None)
    return None if place is None else (text[:place], text[place + 1 :])


def runs_of_path(warehouse: "Warehouse", text: str) -> list[str]:
    """The runs loaded from the files at a path, found by content; if several configs loaded them, those of the last."""
    label, path = (None, text) if os.path.exists(text) else labelled(text) or (None, text)
    query = "SELECT sha256, end_byte, source_id FROM sources WHERE config = coalesce(?, config)"
    known = {(sha256, end): source for sha256, end, source in warehouse.rows(query, [label])}
    folders = os.walk(path)  # nothing of what is no folder, or cannot be read
    loaded = _sources([path] if os.path.isfile(path) else _files(itertools.islice(folders, 1)), known)
    loaded = loaded or _sources(_files(folders), known)
    rows = warehouse.rows(
        "SELECT DISTINCT config, run_id, loaded_at, began_at FROM run_sources WHERE list_contains(?::VARCHAR[], source_id)"
        " ORDER BY loaded_at DESC NULLS LAST, config, began_at DESC NULLS LAST, run_id DESC",
        [loaded],
    )
    runs = [run_id for config, run_id, *_ in rows if config == rows[0][0]]
    if not runs:
        raise BenchError(f"nothing of {text} is in {warehouse.store}. Load it with: bench ingest {text}")
    return runs


def _files(folders: Iterable[tuple[str, list[str], list[str]]]) -> Iterator[str]:
    paths = (os.path.join(folder, name) for folder, _, names in folders for name in names)
    return filter(os.path.isfile, paths)


def _sources(files: Iterable[str], known: Mapping[tuple[str, int], str]) -> list[str]:
    """The ids of files that were imported; a file that has grown since is found by its beginning."""
    ends = sorted({end for _, end in known})
    found = []
    for file in files:
        with contextlib.suppress(OSError):  # loading it has already reported this
            matches = [known[prefix] for prefix in _prefixes(file, ends) if prefix in known]
            found += matches[-1:]
    return found


def _prefixes(file: str, ends: Sequence[int]) -> Iterator[tuple[str, int]]:
    """SHA-256 of a file's beginnings of these lengths, shortest first."""
    digest, done = hashlib.sha256(), 0
    with open(file, "rb") as opened:
        for end in ends:
            while done < end and (block := opened.read(min(1 << 20, end - done))):
                digest.update(block)
                done += len(block)
            if done < end:
                return
            yield digest.hexdigest(), end
