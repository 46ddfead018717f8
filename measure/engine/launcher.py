"""A launcher: a command in front of every worker, such as `numactl -C 0-3 -m 0`, which decides where and with what it runs.

`xeon …` stands for PyTorch's own, `torch.backends.xeon.run_cpu`. That one, and others, start the worker as a child with the three
standard files only: so a worker is told the path of its runner's pipe, beside the number that it has where it was inherited.
"""

import contextlib
import os
import shlex
import shutil
import stat
import sys

from ...warehouse.errors import BenchError

XEON = ("-m", "torch.backends.xeon.run_cpu", "--no-python")


def words(launcher: str | None) -> list[str]:
    """The words to put before a worker's own; none without a launcher.

    Raises:
        BenchError: It cannot be read, or there is no such command.
    """
    if not launcher:
        return []
    try:
        first, *rest = shlex.split(launcher)
    except ValueError as error:
        problem = str(error).lower()
        raise BenchError(f"--launcher {launcher!r}: {problem}. Write it as on a command line: 'numactl -C 0'") from None
    if first == "xeon":
        return [sys.executable, *XEON, *rest]
    if shutil.which(first) is None:
        raise BenchError(f"--launcher: there is no command {first!r}. Install it, or take: taskset -c 0-3")
    return [first, *rest]


def pipe_address(reading: int, writing: int) -> str:
    """The name by which a worker reaches a pipe of this process: by number if it inherits that, else by path."""
    return f"{writing}:/proc/{os.getpid()}/fd/{reading}"


def open_pipe(address: str) -> int:
    """The writing end of that pipe, in the worker. The path opens, too, as long as the launcher holds the pipe."""
    number, _, path = address.partition(":")
    with contextlib.suppress(OSError):
        if stat.S_ISFIFO(os.fstat(int(number)).st_mode):
            return int(number)
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC)
