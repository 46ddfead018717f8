"""Runs that are named by a path: those that were loaded from the files there, found by their content, or read in place."""

import contextlib
import hashlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..warehouse.errors import BenchError
from ..warehouse.store import Store

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class ReadInPlace:
    """A part of a side: how it is called, its runs where a store holds them, and how many more its config has there."""

    name: str
    runs: tuple[str, ...] | None = None  # None: those that were read from the files there
    others: int = 0


@dataclass(frozen=True, slots=True)
class GatheredStore(Store):
    """A store in a temporary folder, with what a question asks about in place of `of`: see `in_place.gathered`."""

    of: str = ""
    places: Mapping[str, ReadInPlace] = field(
        default_factory=dict, hash=False, compare=False
    )  # by the text of the part

    def __str__(self) -> str:
        return self.of


def place_of(warehouse: "Warehouse", text: str) -> ReadInPlace | None:
    """The path that a part of a side was read from, if it was read in place."""
    return warehouse.store.places.get(text) if isinstance(warehouse.store, GatheredStore) else None


_ADDRESS = re.compile(r"[a-z][a-z0-9]+://\S+")


def is_address(text: str) -> bool:
    """Return whether a text is written as the address of a bucket, such as s3://bucket/prefix."""
    return _ADDRESS.fullmatch(text) is not None


def is_path(text: str) -> bool:
    """Return whether a text is a path that exists or an address, or NAME: and one of these."""
    path = label_and_path(text)[1]
    return os.path.exists(path) or is_address(path)


def near_files(text: str) -> list[str]:
    """Files whose names are like a text that is written as a file of a folder is, with an ending."""
    import difflib

    folder, name = os.path.split(text)
    if not os.path.splitext(name)[1] or not os.path.isdir(folder or "."):
        return []
    return [
        os.path.join(folder, near) for near in difflib.get_close_matches(name, os.listdir(folder or "."), cutoff=0.75)
    ]


def label_and_path(text: str) -> tuple[str | None, str]:
    """NAME and PATH of `NAME:PATH`, split at the first colon that is followed by a path or an address; else None and the text."""
    if not os.path.exists(text) and not is_address(text):
        for place, character in enumerate(text):
            if character == ":" and place and (os.path.exists(text[place + 1 :]) or is_address(text[place + 1 :])):
                return text[:place], text[place + 1 :]
    return None, text


def runs_of_path(warehouse: "Warehouse", text: str) -> list[str]:
    """The runs loaded from the files at a path, found by content; if several configs loaded them, those of the last.

    Of another store that was gathered they are the runs that were meant there.
    """
    if (place := place_of(warehouse, text)) and place.runs is not None:
        return [*place.runs]
    label, path = label_and_path(text)
    query = "SELECT sha256, end_byte, source_id FROM sources WHERE config = coalesce(?, config)"
    found = warehouse.rows(query, [label or (place.name if place else None)])  # both sides may hold the same file
    known = {(sha256, end): source for sha256, end, source in found or warehouse.rows(query, [label])}
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
