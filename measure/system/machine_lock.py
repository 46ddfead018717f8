"""One measurement at a time on a machine: two that overlap measure each other.

The lock is the kernel's, on a file that all users share; it goes when its holder dies, however that happens. What a
measurement starts, such as `bench measure command -- bench …`, runs under its holder's lock and takes none.
"""

import contextlib
import json
import os
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ...warehouse.console.numbers import span
from ...warehouse.console.tables import escape
from ...warehouse.errors import BenchError, Exit, NoLocks
from ...warehouse.locks import lock as lock_file
from ...warehouse.store import Notify
from ..options import SECONDS, talk

FILE = "/tmp/bench-measure.lock"  # not where TMPDIR says: that may be each user's own
PLACE = "BENCH_LOCK_FILE"  # another file, such as one that containers share
HELD = "BENCH_LOCK_HELD"  # set for what the holder starts
CHOICES = ("wait", "fail", "off")
LONGEST_WAIT_S = 86_400.0
_LOOK_S = 0.1  # between two looks at a lock that is held


def lock_choice(text: str) -> str:
    """One of CHOICES, or the seconds to wait at most.

    Raises:
        BenchError: It is neither.
    """
    if text not in CHOICES:
        try:
            SECONDS.convert(text, None, None)
        except click.BadParameter:
            raise BenchError(
                f"--lock {text!r} must be one of {', '.join(CHOICES)}, or the number of seconds to wait."
            ) from None
    return text


lock_option: Callable[[Any], Any] = click.option(
    "--lock", type=click.types.FuncParamType(lock_choice), metavar="[wait|fail|off|SECONDS]",
    default="wait", show_default=True, envvar="BENCH_LOCK", show_envvar=True,
    help="While another measurement runs on this machine: wait for its end (24 hours at most, or SECONDS), fail, or "
    "measure beside it.",
)  # fmt: skip


class MachineBusy(BenchError):
    """Another measurement runs on this machine."""

    exit_code = Exit.BUSY


@contextlib.contextmanager
def alone(lock: str = "wait", *, notify: Notify = talk) -> Iterator[None]:
    """Hold the machine's measurement lock within the context.

    Args:
        lock: What to do while another holds it: wait, for LONGEST_WAIT_S or so many seconds; fail; or off, which takes
            no lock.
        notify: Called with a sentence that names the holder to wait for, or says why there can be no lock.

    Raises:
        MachineBusy: Another holds it, and `lock` is fail, or it held it for too long.
    """
    if HELD in os.environ:
        yield
        return
    descriptor = None if lock == "off" else _open(notify)
    try:
        if descriptor is not None:
            _acquire(descriptor, lock, notify)
            _write(descriptor, _myself())
        os.environ[HELD] = str(os.getpid())  # what is started within measures, too, and waits for nobody
        try:
            yield
        finally:
            os.environ.pop(HELD, None)
            if descriptor is not None:
                _write(descriptor, b"")
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(notify: Notify) -> int | None:
    path = Path(os.environ.get(PLACE) or FILE)
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    for attempt in (flags, flags | os.O_CREAT | os.O_EXCL, flags):  # O_CREAT on another's file in /tmp is refused
        try:
            descriptor = os.open(path, attempt, 0o666)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError as error:
            notify(f"cannot lock {path} ({error.strerror}): another measurement may run at the same time")
            return None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:  # a pipe, or another name of somebody's file
            os.close(descriptor)
            notify(f"{path} is not a lock file: another measurement may run at the same time")
            return None
        with contextlib.suppress(OSError):  # another's: they have done that
            os.fchmod(descriptor, 0o666)
        return descriptor
    notify(f"cannot make {path}: another measurement may run at the same time")
    return None


def _acquire(descriptor: int, lock: str, notify: Notify) -> None:
    if _taken(descriptor):
        return
    advice = "Try again when it is done, or measure at the same time with --lock off."
    if lock == "fail":
        raise MachineBusy(f"{_holder(descriptor)}. {advice}")
    longest = LONGEST_WAIT_S if lock == "wait" else float(lock)
    notify(f"waiting for {span(longest)} at most: {_holder(descriptor)}. Measure at the same time with --lock off")
    end = time.monotonic() + longest
    while not _taken(descriptor):
        if time.monotonic() >= end:
            raise MachineBusy(f"waited for {span(longest)}, and {_holder(descriptor)}. {advice}")
        time.sleep(_LOOK_S)


def _taken(descriptor: int) -> bool:
    try:
        has_locks = lock_file(descriptor)
    except BlockingIOError:
        return False
    if not has_locks:
        raise NoLocks(
            f"the disk of {os.environ.get(PLACE) or FILE} has no file locks. Name a file on another disk with {PLACE}, or "
            "measure with --lock off."
        )
    return True


def _myself() -> bytes:
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"user {os.getuid()}"
    holder = {"pid": os.getpid(), "user": user, "since": time.strftime("%F %T"), "command": shlex.join(sys.argv)[:300]}
    return json.dumps(holder).encode()


def _holder(descriptor: int) -> str:
    """The holder in words; the lock file may still be empty if the holder has just begun or ended, or say anything."""
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return escape(
            f"process {holder['pid']} of {holder['user']} measures since {holder['since']} ({holder['command']})"
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process measures"


def _write(descriptor: int, text: bytes) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)
