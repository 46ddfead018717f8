"""Which files of the log count: committed imports, merged files, and parts of files that were split."""

from collections.abc import Set

from .events import Source
from .log import IMPORT, MERGED, SPLIT, LogFile, replaced, splits, unmerged


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
