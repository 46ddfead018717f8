"""Runs that are named by a path: those that were loaded from the files there, found by their content, or read in place."""

import contextlib
import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..warehouse.console.options import store_words
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


def store_to_ask(warehouse: "Warehouse") -> str:
    """The option that a command which asks this store again needs, after a space; none for paths that were read in place."""
    return "" if isinstance(warehouse.store, GatheredStore) else store_words(warehouse.store)


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
    place = place_of(warehouse, text)
    if place and place.runs is not None:
        return [*place.runs]
    label, path = label_and_path(text)
    query = "SELECT sha256, end_byte, source_id, name FROM sources WHERE config = coalesce(?, config)"
    found = warehouse.rows(query, [label or (place.name if place else None)])  # both sides may hold the same file
    found = found or warehouse.rows(query, [label])
    known: dict[tuple[str, int], set[str]] = {}
    for sha256, end, source, _ in found:
        known.setdefault((sha256, end), set()).add(source)
    folders = os.walk(path)  # nothing of what is no folder, or cannot be read
    loaded = _sources([path] if os.path.isfile(path) else _files(itertools.islice(folders, 1)), known)
    if loaded:  # what belongs to these files may lie below them
        below = {os.path.join(path, name) for *_, name in found if os.path.dirname(name)}
        loaded += _sources(filter(os.path.isfile, sorted(below)), known)
    else:
        loaded = _sources(_files(folders), known)
    rows = warehouse.rows(
        "SELECT DISTINCT config, run_id, source_id, loaded_at, began_at FROM run_sources"
        " WHERE list_contains(?::VARCHAR[], source_id)"
        " ORDER BY loaded_at DESC NULLS LAST, config, began_at DESC NULLS LAST, run_id DESC",
        [list(set[str]().union(*loaded))],
    )
    of_config: dict[str, dict[str, set[str]]] = {}
    for config, run_id, source_id, *_ in rows:
        of_config.setdefault(config, {}).setdefault(source_id, set()).add(run_id)
    if not of_config and place:
        raise BenchError(f"{text} holds no result")
    if not of_config:
        raise BenchError(f"nothing of {text} is in {warehouse.store}. Load it with: bench ingest {text}")
    runs_of = max(of_config.values(), key=lambda runs_of: sum(not ids.isdisjoint(runs_of) for ids in loaded))
    chosen = _runs_of_most(loaded, runs_of)
    return [*dict.fromkeys(run_id for _, run_id, *_ in rows if run_id in chosen)]


def _runs_of_most(files: Iterable[Set[str]], runs_of: Mapping[str, Set[str]]) -> set[str]:
    """The runs of some files: of a file that several result sets share those of the set that holds most of the files.

    Args:
        files: The sources that have each file's content.
        runs_of: The runs of each source, the source to take among equals first.
    """
    places = {source: place for place, source in enumerate(runs_of)}
    known = [sorted(ids & places.keys(), key=places.__getitem__) for ids in files]
    held = Counter(run_id for sources in known for run_id in set[str]().union(*map(runs_of.__getitem__, sources)))
    best = (
        max(sources, key=lambda source: max(map(held.__getitem__, runs_of[source]))) for sources in known if sources
    )
    return set[str]().union(*map(runs_of.__getitem__, best))


def _files(folders: Iterable[tuple[str, list[str], list[str]]]) -> Iterator[str]:
    paths = (os.path.join(folder, name) for folder, _, names in folders for name in names)
    return filter(os.path.isfile, paths)


def _sources(files: Iterable[str], known: Mapping[tuple[str, int], Set[str]]) -> list[Set[str]]:
    """Ids of the content of each file that was imported; a file that has grown since is found by its beginning."""
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
