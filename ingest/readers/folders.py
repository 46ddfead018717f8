"""Folders of results: which of them are repeats, and which are configs."""

import os
import re
from pathlib import Path

_REPEAT = re.compile(
    r"(?:(?:day|night|week|run|rep|repeat|repetition|round|trial|seed|iter|iteration|session|attempt)s?[-_. ]?\d+"
    r"|(?:\w*[-_.])?\d{4}([-_.]?)\d{2}\1\d{2}(?:[-_.T ]?\d{2}[-_.:h]?\d{2}(?:[-_.:m]?\d{2})?)?\w?)",
    re.IGNORECASE,
)


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
