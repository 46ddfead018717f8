"""Locks of files, also on disks that have none: Lustre without -o flock, NFS without lockd.

The kernel's lock goes with its holder. Where the disk has none, a file of a name of its own says who the holder is: it is made
at most once (O_EXCL), and taken over when its holder is gone. On this machine that is known by the process; of another machine by
the age of the file, which its holder touches.
"""

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import environment
from .files import read_json

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_NO_LOCKS = (*map(os.strerror, NO_LOCKS), "File locks are not supported")  # the last are DuckDB's words
STALE_S = 600.0  # a file of another machine that nobody has touched for so long has lost its holder
TOUCH_S = 60.0


def lock(descriptor: int, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> bool:
    """Take the kernel's lock; whether the disk has locks.

    Raises:
        BlockingIOError: Another process holds it.
        OSError: It cannot be taken.
    """
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return False
    return True


def lacks_locks(error: BaseException) -> bool:
    """True for an error of DuckDB's, which takes a lock of each database that it opens, of a file on a disk without."""
    return "Could not set lock" in str(error) and any(reason in str(error) for reason in _NO_LOCKS)


def claim(path: Path) -> None:
    """Make a file that says that this process is the holder.

    Raises:
        BlockingIOError: Another process that lives is.
        OSError: The file cannot be made.
    """
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            if not _take_away(path):
                raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it", str(path)) from None
            continue
        with os.fdopen(descriptor, "w") as file:
            json.dump(_myself(), file)
        return


def claim_of(journal: Path) -> Path:
    """The file that says who writes a journal, on a disk without locks."""
    return journal.with_suffix(".writer")


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Hold what `claim` made for a `with` block, touched now and then, and remove it at the end."""
    done = threading.Event()

    def touch() -> None:
        while not done.wait(TOUCH_S):
            with contextlib.suppress(OSError):
                os.utime(path)

    toucher = threading.Thread(target=touch, name="lock-by-name", daemon=True)
    toucher.start()
    try:
        yield
    finally:
        done.set()
        toucher.join()
        if _holder(path) == _myself():
            path.unlink(missing_ok=True)


def holder_lives(path: Path, held: Path) -> bool:
    """Return whether the process that a file of `claim` names still lives; `held` is what it holds, and touches.

    Without that file nobody does, unless what is held was made just now.
    """
    holder = _holder(path)
    if holder is None:
        return _is_fresh(path) or (_is_fresh(held) and not held.stat().st_size)
    here = environment.machine()
    if {key: holder.get(key) for key in here} == here:
        return _started(holder.get("pid")) == holder.get("started") is not None
    return _is_fresh(held)


def process_of(path: Path) -> str:
    """The holder in words."""
    holder = _holder(path) or {}
    host = holder.get("host")
    elsewhere = f" on {host}" if host and host != environment.machine()["host"] else ""
    return f"process {holder['pid']}{elsewhere}" if "pid" in holder else "another process"


def _take_away(path: Path) -> bool:
    """Remove the file of a holder that is gone; whether nobody has it now. Of two that try one does it."""
    before = _holder(path)
    if holder_lives(path, path):
        return False
    mine = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        os.rename(path, mine)
    except FileNotFoundError:  # somebody else did
        return True
    if _holder(mine) != before:  # and made another since
        with contextlib.suppress(OSError):
            os.link(mine, path)
    mine.unlink(missing_ok=True)
    return True


def _holder(path: Path) -> dict[str, Any] | None:
    try:
        holder = read_json(path)
    except (OSError, ValueError):
        return None
    return holder if isinstance(holder, dict) else None


def _myself() -> Mapping[str, Any]:
    return {**environment.machine(), "pid": os.getpid(), "started": _started(os.getpid())}


def _started(pid: Any) -> str | None:
    """The time when a process of this machine began, in ticks of its boot; None where there is none, or only its remains."""
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text()
    except (OSError, ValueError, TypeError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _is_fresh(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - path.stat().st_mtime < STALE_S
    return False
