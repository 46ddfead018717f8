"""Find the files at a path and in the subfolders that formats use, and read their beginnings."""

import contextlib
import errno
import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError
from ..format import MAX_LINE_BYTES, Format, Head
from .packing import PackingError, packing_of, unpacked

HEAD_BYTES = 1 << 16
_TRIES = 5  # of a look below a folder
FOLDERS_NAMED = 3  # subfolders that a note names, rather than a pattern
LOOKED_AT = 100  # files beside the layout of a tool that are looked at for results of their own

# A source is known by the content of its files, which may be read again.
NO_PIPE = "is a pipe, and results are read from files. Write them to one: … > results.json && bench ingest results.json"


class NoFilesError(BenchError):
    """A path holds no file that can be read.

    Attributes:
        looks: What each file in it looks like, by name.
        proposes: Whether the message proposes how to read one of them.
    """

    def __init__(self, message: str, looks: Mapping[str, str] | None = None, *, proposes: bool = False) -> None:
        super().__init__(message)
        self.looks = looks or {}
        self.proposes = proposes


@dataclass(frozen=True, slots=True)
class FileLocation:
    """The place of a file."""

    path: Path
    name: str  # its path below the folder given
    below: Format | None = None  # the format whose places it is one of, if it does not lie in that folder itself


def find_files(path: Path, kinds: Callable[[], Iterable[Format]], notes: list[str]) -> list[FileLocation]:
    """The regular files of a path, and those in the places below it that the formats name; what else lies there is noted.

    Raises:
        NoFilesError: It is a folder without files.
        BenchError: It is a special file.
    """
    if not path.is_dir():
        if path.is_fifo():
            raise BenchError(f"{path} {NO_PIPE}")
        if not path.is_file():
            raise BenchError(f"{path} is neither a file nor a folder.")
        return [FileLocation(path, path.name)]
    inside = path.resolve()
    found: list[FileLocation] = []
    folders = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        target = Path(entry.path)
        if entry.is_symlink() and (way := _astray(target, inside, deep=False)):
            notes.append(f"{target} leads {way}; not followed")
        elif entry.is_file():
            found.append(FileLocation(target, entry.name))
        elif entry.is_dir():
            folders.append(entry.name)
        elif not target.exists():
            notes.append(f"{target} leads nowhere; left out")
        else:
            notes.append(f"{target} is a special file ({stat.filemode(entry.stat().st_mode)[0]}); left out")
    if folders:
        found += [*_below(path, inside, {kind.name: kind for kind in kinds()}, found, notes)]
    if not found:
        raise NoFilesError(f"the folder {path} holds no files.")
    return found


def _below(
    path: Path, inside: Path, kinds: Mapping[str, Format], here: Iterable[FileLocation], notes: list[str]
) -> Iterator[FileLocation]:
    """The files below a folder where a format's may lie, if they are of it; links that lead out are not followed.

    `here` is what lies in the folder itself.
    """
    for kind in kinds.values():
        targets = sorted({target for pattern in kind.places for target in _matches(path, pattern)})
        if targets and kind.beside:
            others = [kinds[name] for name in kind.beside if name in kinds]
            if not any(_is(other, place.path) for place in here for other in others):
                continue
        for target in targets:
            if way := _astray(target, inside, deep=True):
                if (note := f"{target} leads {way}; not followed") not in notes:
                    notes.append(note)
            elif target.is_file() and _is(kind, target):
                yield FileLocation(target, target.relative_to(path).as_posix(), kind)


def _matches(path: Path, pattern: str) -> list[Path]:
    """The paths below a folder that a pattern matches, where others may remove folders meanwhile."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            return [*path.glob(pattern)]
    raise NoFilesError(f"folders below {path} are removed while they are looked at. Load it when that has ended.")


def left_below(path: Path, found: Iterable[FileLocation], kinds: Callable[[], Iterable[Format]]) -> str | None:
    """A sentence that counts the files in subfolders which were not found, with the command that loads them.

    Beside the layout of a tool, which knows what it wants of it, that is a command for what is of a format.
    Hidden folders and stores are passed over; None where nothing is left.
    """
    taken = {place.path for place in found if place.below is not None}
    folders: Counter[Path] = Counter()
    for at, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not (name.startswith(".") or Path(at, name, "events").is_dir()))
        if Path(at) != path and (count := sum(Path(at, name) not in taken for name in names)):
            folders[Path(at)] = count
    if not folders:
        return None
    left = f"{counted(folders.total(), 'file')} in subfolders of {path} {'is' if folders.total() == 1 else 'are'} not loaded"
    if taken:
        others = _results_beside(taken, folders, kinds())
        if not others:
            return f"{left}: they belong to the layout, or are of no format"
        each = " ".join(shlex.quote(os.fspath(folder)) for folder in others[:FOLDERS_NAMED])
        return f"{left}. {counted(len(others), 'folder')} beside the layout can be loaded with: bench ingest {each}"
    if len(folders) <= FOLDERS_NAMED:
        each = " ".join(shlex.quote(os.fspath(folder)) for folder in folders)
        return f"{left}. Load each folder as a result set with: bench ingest {each}"
    place = shlex.quote(os.fspath(path))
    if all(folder.parent == path for folder in folders):
        return f"{left}. Load each folder as a result set with: bench ingest {place}/*/"
    find = f"find {place} -mindepth 2 -type f -printf '%h\\n' | sort -u | xargs -d '\\n' bench ingest"
    return f"{left}. Load each folder as a result set with: {find}"


def _results_beside(taken: Iterable[Path], folders: Iterable[Path], kinds: Iterable[Format]) -> list[Path]:
    """The folders, neither above nor below files that were taken, which hold a file of some format."""
    layout = {folder for file in taken for folder in file.parents}
    deepest = {file.parent for file in taken}
    beside = [each for each in folders if each not in layout and deepest.isdisjoint(each.parents)]
    places = [place for folder in beside for place in sorted(folder.iterdir()) if place.is_file()]
    known = [*kinds]
    return [*dict.fromkeys(file.parent for file in places[:LOOKED_AT] if any(_is(kind, file) for kind in known))]


def _astray(path: Path, inside: Path, *, deep: bool) -> str | None:
    """The target of a path that lies outside the folder; None if it lies inside."""
    if is_circle(path):
        return "round in a circle"
    end = path.resolve()
    return None if end.parent == inside or (deep and end.is_relative_to(inside)) else "out of its folder"


def is_circle(path: Path) -> bool:
    """True if a link leads to itself; `resolve` raises RuntimeError for one until Python 3.12, and nothing from 3.13 on."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _is(kind: Format, path: Path) -> bool:
    try:
        head = read_head(path)
    except OSError:
        return False
    return kind.takes(head) and kind.left_out(head) is None


def read_head(path: Path) -> Head:
    """The beginning of a file: 64 KiB, or more where the first line is longer; of one that is packed, unpacked."""
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
        while b"\n" not in data and len(data) < MAX_LINE_BYTES and (more := file.read(1 << 20)):
            data += more
    if packing_of(data):
        if inside := _beginning(path):
            return Head(path, inside, packed=True)
        return Head(path, data)
    cut = data.rfind(b"\n") + 1
    return Head(path, data[:cut] if cut and len(data) >= HEAD_BYTES else data)


def _beginning(path: Path) -> bytes:
    """The first 64 KiB of what is packed, more where the first line is longer, or what of it can be unpacked."""
    data = bytearray()
    with contextlib.suppress(PackingError):
        for piece in unpacked(path):
            begins = len(data)
            data += piece
            if len(data) >= MAX_LINE_BYTES or (
                len(data) >= HEAD_BYTES and data.find(b"\n", 0 if begins < HEAD_BYTES else begins) >= 0
            ):
                break
    return bytes(data[: max(HEAD_BYTES, data.find(b"\n") + 1 or len(data))])
