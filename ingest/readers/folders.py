"""Names of folders and files of results: which are repeats, which are configs, and which dates they hold."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path, PurePath

_REPEAT = re.compile(
    r"(?:(?:day|night|week|run|rep|repeat|repetition|round|trial|seed|iter|iteration|session|attempt)s?[-_. ]?\d+"
    r"|(?:\w*[-_.])?\d{4}([-_.]?)\d{2}\1\d{2}(?:[-_.T ]?\d{2}[-_.:h]?\d{2}(?:[-_.:m]?\d{2})?)?\w?)",
    re.IGNORECASE,
)
_DATE = re.compile(  # neither a part of a longer number nor of a checksum
    r"(?<![0-9a-fA-F])(20\d\d)([-_.]?)(\d\d)\2(\d\d)"
    r"(?:[-_.T ]?([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?)?(?![0-9a-fA-F])"
)
_DATED = re.compile(rf"[-_. ]?{_DATE.pattern}(?:\.[0-9]+)?Z?")
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip")


def date_in(name: str) -> datetime | None:
    """The date in the name of a file or folder, with the time of day if that follows it: `nightly-2026-11-01.csv`."""
    for year, _, month, day, *clock in _DATE.findall(name):
        hour, minute, second = (int(number or 0) for number in clock)
        try:
            return datetime(int(year), int(month), int(day), hour, minute, second, tzinfo=UTC)
        except ValueError:  # no day of the calendar
            continue
    return None


def undated(name: str) -> str:
    """A name without its dates, which are those of a run: `softmax_2026-11-01` is softmax in each night."""
    return _DATED.sub(lambda match: "" if date_in(match[0]) else match[0], name).strip("-_. ")


def file_stem(name: str) -> str:
    """The name of a file without folders, ending and that of a packed file."""
    path = PurePath(name)
    return (PurePath(path.stem) if path.suffix.lower() in _PACKED else path).stem


def is_repeat(name: str) -> bool:
    """True if a folder's name only counts or dates what is in it (`day-3`, `run_2`, `2026-11-28`), and names no config.

    A plain number names a config: it may be a budget of tokens or a batch size, and repeats are told by a word.
    """
    return _REPEAT.fullmatch(name) is not None


def folder_config(folder: Path, above: Path) -> str:
    """The config of a folder somewhere below a PATH: the names between them that are no repeats, else that of the PATH."""
    names = [name for name in folder.relative_to(above).parts if not is_repeat(name)]
    return "/".join(names) or above.resolve().name


def folders_in(path: Path) -> list[Path]:
    """The folders in a folder, in order of their names, without links, hidden ones and stores of bench's own."""
    if not path.is_dir():
        return []
    with os.scandir(path) as entries:
        names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith("."))
    return [folder for name in names if not ((folder := path / name) / "events").is_dir()]
