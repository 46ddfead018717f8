"""Contents of a place, what another lacks, and which merged files count where there is no lock.

Files of the log never change, so most are compared by name. What could count twice are merged files, which stand for
others: two stores may have merged the same files, or different ones, each for itself. So they are compared by the *sealed*
files they stand for, those that no merging made.

In a bucket no lock keeps two machines from merging the same files at once. There a merged file counts only while the newest
of the records `merges/00000001`, `merges/00000002`, … names it. The next record is made by whoever is first to create it,
after comparing what he adds with what the last one names; who comes second compares again.
"""

import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..console.numbers import counted
from ..errors import Missing
from ..events import TABLES, Source
from ..log import MERGED, replaced, unmerged
from .places import Bucket, Entry, Place

AT_ONCE = 16  # requests: most of the time of each is waiting
FOOTER_BYTES = 1 << 16  # of a Parquet file, as much as most have

# What a file must be called to be taken: names in a bucket are anybody's.
_NAME = re.compile(rf"events/({'|'.join(TABLES)})/[0-9A-Za-z][\w.-]*-[0-9a-f]{{16}}\.parquet", re.ASCII)

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class Holding:
    """The event files of one place that count, by name, and the names of the files that merged ones among them stand for."""

    files: dict[str, Entry]
    merged: dict[str, frozenset[str]]

    def names(self) -> set[str]:
        """Names of files that are here or merged into one that is, without folders."""
        return set(map(base_name, self.files)).union(*self.merged.values())

    def without(self, names: Collection[str]) -> "Holding":
        """All but these files."""
        files = {name: entry for name, entry in self.files.items() if name not in names}
        return Holding(files, {name: stands for name, stands in self.merged.items() if name not in names})


def base_name(name: str) -> str:
    """The name of a file without its folders, as merged files note it."""
    return name.rpartition("/")[2]


def is_merged(name: str) -> bool:
    """Return whether a file stands for others."""
    return base_name(name).startswith(MERGED)


def is_event_file(name: str) -> bool:
    """Return whether a name is one that the log gives, of a table we know."""
    return _NAME.fullmatch(name) is not None


def holding(place: Place) -> Holding:
    """List all that a place holds."""
    while True:
        files: dict[str, Entry] = {}
        # `sources` first: the other files of an import that one commits were there before it, and will be seen
        for table in sorted(TABLES, key=lambda table: table != Source.TABLE):
            files |= {entry.name: entry for entry in place.list(f"events/{table}") if is_event_file(entry.name)}
        if not isinstance(place, Bucket):
            return holding_of(place, files)
        # after the listing: for what is deleted meanwhile another counts already
        number, counted = newest_record(place)
        files = counting(files, counted)
        late = at_once(place.stat, sorted(filter(is_event_file, counted - files.keys())))
        found = holding_of(place, files | {entry.name: entry for entry in late if entry})
        if counted <= found.merged.keys() or newest_record(place)[0] == number:  # what is gone was not merged meanwhile
            return found


def counting(files: Mapping[str, Entry], counted: Collection[str]) -> dict[str, Entry]:
    """Without the merged files that are not among those that count."""
    return {name: entry for name, entry in files.items() if not is_merged(name) or name in counted}


def holding_of(place: Place, files: Mapping[str, Entry]) -> Holding:
    """Some files of a place, with what the merged ones stand for; without merged ones that are gone meanwhile."""

    def read(name: str) -> frozenset[str] | None:
        try:
            return stands_for(place, name)
        except Missing:
            return None

    names = [name for name in files if is_merged(name)]
    contents = zip(names, at_once(read, names), strict=True)
    merged = {name: stands for name, stands in contents if stands is not None}
    return Holding({n: entry for n, entry in files.items() if not is_merged(n) or n in merged}, merged)


def stands_for(place: Place, name: str) -> frozenset[str]:
    """Names of the files that a merged file stands for, from the footer of it."""
    tail = place.read(name, last=FOOTER_BYTES)
    size = int.from_bytes(tail[-8:-4], "little") + 8
    return frozenset(replaced(io.BytesIO(tail if size <= len(tail) else place.read(name, last=size))))


def missing(has: Holding, have: Holding, *, exactly: bool = False) -> tuple[list[Entry], dict[str, str]]:
    """The files that one place has and another lacks. `exactly`: a merged file is lacked though all it stands for is there.

    Returns:
        The files to copy, by name; and those that cannot be copied because both places hold some of their events in
        merged files, with the reason.
    """
    there = have.names()
    superseded: set[str] = set().union(*has.merged.values())
    wanted, clashes = [], {}
    for name, entry in sorted(has.files.items()):
        if base_name(name) in there or base_name(name) in superseded:
            continue
        if is_merged(name):
            mine = unmerged(has.merged[name])
            if _within(mine, there) and not exactly:
                continue
            if clash := _clash(name, mine, have.merged):
                clashes[name] = clash
                continue
        wanted.append(entry)
    return wanted, clashes


def _within(some: set[str], all_: set[str]) -> bool:
    return bool(some) and some <= all_


def _clash(name: str, mine: set[str], merged: Mapping[str, Collection[str]]) -> str | None:
    """The reason for which a merged file cannot lie beside others: it shares some files with one of them, and each has more."""
    for other, names in merged.items():
        theirs = unmerged(names)
        if mine & theirs and not mine <= theirs and not theirs <= mine:
            return (
                f"{name} and {other} were merged apart and hold {counted(len(mine & theirs), 'file')} in common, "
                "which would count twice; it is left out. Copy between two stores before merging in both."
            )
    return None


def newest_record(bucket: Bucket) -> tuple[int, set[str]]:
    """The number of the last record of merged files, 0 if there is none, and the names of those that count."""
    names = [entry.name for entry in bucket.list("merges") if re.fullmatch(r"merges/\d{8}", entry.name)]
    return (int(names[-1][-8:]), set(json.loads(bucket.read(names[-1])))) if names else (0, set())


def commit(bucket: Bucket, new: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Have merged files count that were uploaded, and those no longer all of whose files they stand for.

    `new` has their names, and what they stand for.

    Returns:
        Those that must not count, with the reason; one whose events all count already is not among them.
    """
    known: dict[str, frozenset[str]] = dict(new)
    while True:
        number, counted = newest_record(bucket)
        unknown = [name for name in counted if name not in known]
        known |= zip(unknown, at_once(lambda name: stands_for(bucket, name), unknown), strict=True)
        clashes: dict[str, str] = {}
        after = set(counted)
        for name in sorted(new.keys() - counted):
            mine, others = unmerged(new[name]), {other: known[other] for other in after}
            if clash := _clash(name, mine, others):
                clashes[name] = clash
            elif not any(_within(mine, unmerged(names)) for names in others.values()):
                after = {other for other, names in others.items() if not _within(unmerged(names), mine)} | {name}
        if after == counted or bucket.create(f"merges/{number + 1:08d}", json.dumps(sorted(after)).encode()):
            return clashes


def at_once(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Apply a function that waits for a server to many things at once; results come in their order."""
    try:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(AT_ONCE)
        results = pool.map(function, items)
    except RuntimeError:  # the interpreter is about to end, and starts no threads
        yield from map(function, items)
        return
    try:
        yield from results
    finally:
        pool.shutdown(cancel_futures=True)
