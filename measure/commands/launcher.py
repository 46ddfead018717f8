"""The small process that starts measured commands, one at a time: a script, `python -I -S launcher.py`.

The kernel's peak of a process includes the memory it had before it called exec, including pages of its parent. Commands are
therefore started from this script, which imports almost nothing, and not from bench. It reads requests from stdin and writes
replies to stdout, both in marshal; when stdin closes it kills what it started and exits.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal itself imports more than all the rest
import marshal
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

LOOK_NS = 10_000_000  # how often memory is looked at; after 3 and 6 ms as well, a command of 5 ms takes 2 % longer
TAIL_BYTES = 4096
PIPE_READS = 64  # of TAIL_BYTES: all that a pipe holds, even if someone goes on writing
PAGE = os.sysconf("SC_PAGE_SIZE")
# Python ignores these, and what it ignores its children would.
DEFAULTS = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """Answer requests until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for bench, which closes stdin
    with open(0, "rb") as requests, open(1, "wb") as replies:
        _reply(replies, _high_water(os.getpid()))  # below that the kernel tells no peak of a command
        while True:
            try:
                request = marshal.load(requests)
            except EOFError:
                os._exit(0)  # skip Python's cleanup, which nobody should wait for
            _reply(replies, _run(request, replies))


def _run(request: dict[str, Any], replies: BinaryIO) -> dict[str, Any]:
    """Run a command to its end, and return what it took."""
    arguments, seconds = request["arguments"], request["timeout_s"]
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(writing, True)
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, request["stdin"], os.O_RDONLY, 0)]
    if request["shown"]:
        actions += [(os.POSIX_SPAWN_DUP2, 2, 1)]
    else:
        actions += [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, writing, 2)]
    began = time.perf_counter_ns()
    try:
        pid = os.posix_spawn(
            request["path"], arguments, os.environ, file_actions=actions, setpgroup=0, setsigdef=DEFAULTS
        )
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return {"error": error.strerror}
    os.close(writing)
    if request["tell"]:
        _reply(replies, pid)
    tail = bytearray()
    deadline = None if seconds is None else began + int(seconds * 1e9)
    ended, timed_out, seen, together = _wait(pid, reading, tail, deadline)
    _, status, usage = os.wait4(pid, 0)
    for _ in range(PIPE_READS):
        if not _read(reading, tail):
            break
    os.close(reading)
    return {
        "duration_ns": ended - began, "timed_out": timed_out, "code": os.waitstatus_to_exitcode(status),
        "left_group": pid if _has_members(pid) else None,
        "user_ns": round(usage.ru_utime * 1e9), "system_ns": round(usage.ru_stime * 1e9),
        "peak_bytes": usage.ru_maxrss * 1024, "seen_bytes": seen, "tree_bytes": together,
        "minor_faults": usage.ru_minflt, "major_faults": usage.ru_majflt,
        "voluntary_switches": usage.ru_nvcsw, "involuntary_switches": usage.ru_nivcsw, "stderr": bytes(tail),
    }  # fmt: skip


def _wait(pid: int, reading: int, tail: bytearray, deadline: int | None) -> tuple[int, bool, int, int | None]:
    """Sleep until the command ends.

    Returns:
        When it ended, whether that was after the timeout, the largest memory seen in one process, and the largest memory
        seen in all processes together.
    """
    process = os.pidfd_open(pid)
    waiting = select.poll()
    for descriptor in (process, reading):
        waiting.register(descriptor, select.POLLIN)
    waiting.register(0, 0)  # hang-ups are told in any case
    now = time.perf_counter_ns()
    killed, seen, together, look = False, 0, None, now + LOOK_NS
    try:
        while True:
            ready = dict(waiting.poll(max(0, look - now) / 1e6))
            now = time.perf_counter_ns()
            late = deadline is not None and now >= deadline
            if process in ready:
                return now, late, seen, together
            if 0 in ready:  # bench is gone, or wants no more
                _kill(pid)
                os._exit(1)
            if reading in ready and not _read(reading, tail):
                waiting.unregister(reading)
            if late and not killed:
                killed = True
                _kill(pid)
            if now >= look:
                look = now + LOOK_NS
                sizes = dict(_tree(pid))
                seen = max(seen, _high_water(pid), *sizes.values())
                if len(sizes) > 1:
                    together = max(together or 0, sum(sizes.values()))
    finally:
        os.close(process)


def _read(reading: int, tail: bytearray) -> bool:
    """Read what is available and keep its tail; returns whether there was anything."""
    try:
        chunk = os.read(reading, TAIL_BYTES)
    except BlockingIOError:
        return False
    tail += chunk
    del tail[:-TAIL_BYTES]
    return bool(chunk)


def _tree(pid: int) -> list[tuple[int, int]]:
    """A process and its descendants, with their resident bytes, without those that end meanwhile.

    Five processes take 0.09 ms of the 10 ms between two looks; psutil takes 1.6 ms, and a command would begin
    with the memory that it needs.
    """
    try:
        found = [(pid, int(_read_proc(pid, "statm").split()[1]) * PAGE)]
        return found + [one for child in _read_proc(pid, f"task/{pid}/children").split() for one in _tree(int(child))]
    except (OSError, IndexError, ValueError):
        return []


def _kill(pid: int) -> None:
    """End a command, its process group, and descendants that left the group."""
    for kill, whom in [*((os.kill, one) for one, _ in _tree(pid)), (os.killpg, pid)]:
        try:
            kill(whom, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _has_members(group: int) -> bool:
    """Return whether a process group has processes, ended ones among them that nobody waited for."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _high_water(pid: int) -> int:
    """The peak memory of a process since it called exec; 0 if it has ended."""
    try:
        return int(_read_proc(pid, "status").partition(b"VmHWM:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError):
        return 0


def _read_proc(pid: int, name: str) -> bytes:
    """A file of /proc about a process, read in half the time that `open` takes."""
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(file, 4 * TAIL_BYTES), b""))
    finally:
        os.close(file)


def _reply(replies: BinaryIO, what: Any) -> None:
    marshal.dump(what, replies)
    replies.flush()


if __name__ == "__main__":
    main()
