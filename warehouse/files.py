"""Files of a store: what stands by their names may be anything, and new ones get the permissions of the folder they are in."""

import contextlib
import errno
import json
import os
import shutil
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import Any

from .errors import BenchError, DiskFull, Exit, NotWritable

SMALL_BYTES = 1 << 26  # most of a file that is read as a whole into memory
_FULL = errno.ENOSPC, errno.EDQUOT
_NOT_ALLOWED = errno.EACCES, errno.EPERM, errno.EROFS


def may_not_write(error: BaseException) -> bool:
    """True for an error of a store that cannot be written now: another user's, read-only, or on a full disk."""
    cause = error.__cause__
    return getattr(cause, "errno", None) in (*_NOT_ALLOWED, *_FULL) or _says(str(cause), _FULL)


def disk_error(message: str, reason: str, *, otherwise: Exit = Exit.INTERNAL) -> BenchError:
    """An error of writing, of the class and with the exit code of its reason, or for other reasons `otherwise`."""
    error = (DiskFull if _says(reason, _FULL) else NotWritable if _says(reason, _NOT_ALLOWED) else BenchError)(message)
    error.exit_code = otherwise if type(error) is BenchError else exit_code(reason)
    return error


def cure(reason: str) -> str:
    """The cure of a write error, to end a sentence with."""
    if _says(reason, _FULL):
        return "free some space"
    return "ask who may write there" if _says(reason, _NOT_ALLOWED) else "look at what is there, and who may write it"


def exit_code(reason: str) -> Exit:
    """The exit code of an error of writing."""
    if _says(reason, _FULL):
        return Exit.FULL
    return Exit.NOT_WRITABLE if _says(reason, _NOT_ALLOWED) else Exit.INTERNAL


def cannot_write(path: str | os.PathLike[str], error: OSError, *, choose: str = "another place with -o") -> BenchError:
    """The error of a file that a user wanted, by default with -o; `choose` ends its cure."""
    reason = error.strerror or str(error)
    verb = "Free some space, or choose" if _says(reason, _FULL) else "Choose"
    sentence = f"cannot write {os.fspath(path)}: {reason}. {verb} {choose}."
    return disk_error(sentence, reason, otherwise=Exit.USAGE)


def _says(reason: str, codes: Iterable[int]) -> bool:
    return any(os.strerror(code) in reason for code in codes)


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading, without waiting for a pipe and without an end of a device.

    Raises:
        OSError: It cannot be opened, or is a folder, a pipe, a device or a link that leads nowhere.
    """
    try:
        file = open_regular(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        if path.is_symlink():  # which is not taken for a file that was never written
            raise OSError(errno.ELOOP, "it is a link that leads nowhere", str(path)) from None
        raise
    return os.fdopen(file, "rb")


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file, created if `flags` say so.

    Raises:
        OSError: It cannot be opened, or is a folder, a pipe or a device.
    """
    file = os.open(path, flags | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_text(path: Path) -> str:
    """The content of a small file.

    Raises:
        OSError: It cannot be read, or is too large.
        ValueError: It is no UTF-8.
    """
    with open_file(path) as file:
        content = file.read(SMALL_BYTES + 1)
    if len(content) > SMALL_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {SMALL_BYTES >> 20} MB", str(path))
    return content.decode()


def read_json(path: Path) -> Any:
    """The content of a small JSON file.

    Raises:
        OSError: As `read_text`.
        ValueError: It is no JSON.
    """
    try:
        return json.loads(read_text(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def publish_text(path: Path, text: str) -> None:
    """Write a small file, durably; it appears whole or not at all.

    Its temporary name is always the same, so that the next write takes away what a killed one left.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w") as file:
            take_after_folder(temporary)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.replace(temporary, path)
        except FileNotFoundError:
            if not path.exists():  # else another process has written it just now
                raise
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def cache_folder(name: str) -> Path:
    """The folder in which this user keeps what can be made again: below $XDG_CACHE_HOME, else ~/.cache.

    Raises:
        RuntimeError: The user has no home.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bench" / name


def make_folder(folder: Path) -> None:
    """Make a folder and those above that are missing, each with the permissions of the one that it is in."""
    if not folder.is_dir():
        make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):  # made by another process just now
            folder.mkdir()
            take_after_folder(folder)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def take_after_folder(path: Path) -> None:
    """Give a new file or folder the permissions of the folder that it is in, so that whoever shares a store can use all of it.

    The kernel gives it the group where that folder has the setgid bit. Where the file system has no permissions it stays.
    """
    with contextlib.suppress(OSError):
        mine, above = path.stat().st_mode, path.parent.stat().st_mode
        wanted = stat.S_IMODE(above) if stat.S_ISDIR(mine) else above & 0o666
        if stat.S_IMODE(mine) != wanted:
            path.chmod(wanted)


def remove(paths: Iterable[Path]) -> None:
    """Remove what killed processes left, whatever it is; what may not be removed stays."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            shutil.rmtree(path, ignore_errors=True)


def sync(path: Path) -> None:
    """Make a file's content, or the renames within a folder, survive power loss."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
