"""The files of the log that count: committed imports, merged files, parts of files that were split; and which can be read."""

import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from .console.numbers import counted
from .events import TABLES, Source
from .log import IMPORT, MERGED, RESTORE, SPLIT, LogFile, metadata, replaced, sha256_once, splits, unmerged
from .upkeep.salvage import salvage

DAMAGED = f"is damaged. {RESTORE}"


def covered_names(files: list[LogFile]) -> dict[str, set[str]]:
    """The names of all files that each merged file replaces, including merged files of other stores that it contains."""
    covered = {file.name: set(replaced(file.path)) for file in files if file.stem.startswith(MERGED)}
    held = {name: unmerged(names) for name, names in covered.items()}
    holders: dict[str, set[str]] = {}  # of what was recorded or imported: the merged files that hold it
    for name, mine in held.items():
        for one in mine:
            holders.setdefault(one, set()).add(name)
    for other, theirs in held.items():
        for name in set.intersection(*(holders[one] for one in theirs)) if theirs else ():
            if name < other or theirs < held[name]:
                covered[name].add(other)
    return covered


def counting_files(files: list[LogFile], loaded: Set[str] | None = None) -> list[LogFile]:
    """The files whose import was committed, which its `sources` file says, but for parts of others that count.

    Args:
        files: All files of a log.
        loaded: Names of files that are loaded, and so count; where there are no others no file is opened.
    """
    if loaded is not None and all(file.name in loaded for file in files):
        return files
    files = _without_parts(files)
    sources = [file for file in files if file.table == Source.TABLE]
    committed = {file.stem for file in sources}
    if any(file.stem.startswith(IMPORT) and file.commit not in committed for file in files):
        others = [file.path for file in sources if file.stem.startswith((MERGED, SPLIT))]
        committed |= {name.rpartition("-")[0] for path in others for name in (*replaced(path), *splits(path))}
    return [f for f in files if not f.stem.startswith(IMPORT) or f.commit in committed]


def _without_parts(files: list[LogFile]) -> list[LogFile]:
    """The files without parts of a file that is among them or was merged into one of them."""
    parts = {file: set(splits(file.path)) for file in files if file.stem.startswith(SPLIT)}
    if not parts:
        return files
    here = {file.name for file in files}.union(*(replaced(file.path) for file in files if file.stem.startswith(MERGED)))
    return [file for file in files if not parts.get(file, set()) & here]


class LeftOut(dict[str, str]):
    """The reasons for which files were left out, by name, in words that follow it."""

    def __init__(self, reasons: dict[str, str] | None = None) -> None:
        super().__init__(reasons or {})
        self.newer: dict[str, tuple[str, int]] = {}  # of a newer bench: their table, and its version
        self.partly: dict[str, LogFile] = {}  # damaged, of which the rest is loaded: as they stand in the log

    def sentences(self) -> dict[str, str]:
        """Notes by the first file that each is about: a sentence a file, but one a version for those of a newer bench."""
        told = {name: f"{name} {why}" for name, why in self.items() if name not in self.newer}
        versions: dict[int, list[str]] = {}
        for name, (_, version) in sorted(self.newer.items()):
            versions.setdefault(version, []).append(name)
        for version, (first, *more) in sorted(versions.items()):
            told[first] = f"{first} {self[first]}"
            if more:
                tables = ", ".join(sorted({self.newer[name][0] for name in (first, *more)}))
                told[first] += f" So were {counted(len(more), 'other file')}, all v{version} of: {tables}."
        return told


def readable(files: Sequence[LogFile], left_out: "LeftOut", salvaged: Path | None = None) -> list[LogFile]:
    """The files that are what their names say and are not newer than this bench; the others are noted as left out.

    In the folder `salvaged` come files with what is left of damaged ones; without a folder these are left out whole.
    A file is read once more for its checksum: a flipped bit may decode to another value, and no error tells it. Spark asks at
    each question, so a process does it once.
    """
    good = []
    for file in _whole(files, left_out, salvaged):
        version = _version(file.path)
        newest = TABLES[file.table].VERSION
        if version is not None and version <= newest:
            good.append(file)
            continue
        left_out.partly.pop(file.name, None)
        if version is None:
            left_out[file.name] = "was not written by bench: it says no version."
        else:
            left_out.newer[file.name] = file.table, version
            left_out[file.name] = (
                f"was written as {file.table} v{version}; this bench reads up to v{newest}. Update bench to ingest it."
            )
    return good


def _whole(files: Sequence[LogFile], left_out: "LeftOut", salvaged: Path | None) -> Iterator[LogFile]:
    """The files that are what their names say, and what is left of others."""
    for file in files:
        try:
            if sha256_once(file.path)[:16] == file.digest:
                yield file
                continue
        except OSError as error:
            left_out[file.name] = f"cannot be read: {error.strerror}. {RESTORE}"
            continue
        rest = salvage(file, salvaged) if salvaged is not None else None
        left_out[file.name] = DAMAGED if rest is None else rest[1]
        if rest is not None:
            left_out.partly[file.name] = file
            yield rest[0]


def _version(path: Path) -> int | None:
    """The version that bench wrote; None for a file of others, or one that is damaged."""
    version = metadata(path).get("bench.version", "")
    return int(version) if re.fullmatch("[0-9]{1,9}", version) else None
