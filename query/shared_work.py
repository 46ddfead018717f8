"""Work on many items, shared out among processes: Python's own threads take turns, so they would gain nothing."""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def share_out(
    work: Callable[[Sequence[Item]], Iterable[Result]], items: Sequence[Item], shares: int
) -> Iterator[tuple[int, Result]]:
    """Yield what becomes of each item, with the item's place: first those that this process works on, then all others.

    The n-th item goes to the n-th process, and so on in turns: neighbours often take equally long.

    Args:
        work: A function of a module, or a partial of one: one result an item, in their order.
        items: What to work on. They and the results are pickled.
        shares: Processes to share it among, this one included; no more than there are processors.
    """
    shares = max(1, min(shares, len(items), _processors()))
    own, *others = [range(first, len(items), shares) for first in range(shares)]
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max(1, len(others))))
        asked = [
            pool.submit(
                stack.enter_context(_process()).communicate, pickle.dumps((work, [items[place] for place in places]))
            )
            for places in others
        ]
        yield from zip(own, work([items[place] for place in own]), strict=True)
        for places, answer in zip(others, asked, strict=True):
            yield from zip(
                places, _results(answer.result()[0]) or work([items[place] for place in places]), strict=True
            )


def _processors() -> int:
    """The processors that this process may use; 1 where it does not know its interpreter, as embedded ones do not."""
    if not sys.executable:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve() -> None:
    """Do the work that stands in the standard input."""
    work, items = pickle.load(sys.stdin.buffer)
    pickle.dump([*work(items)], sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)


@contextlib.contextmanager
def _process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that serves, and that ends with the work."""
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()


def _results(answer: bytes) -> Any:
    """The results that a process sent; None where it was killed, for want of memory perhaps."""
    try:
        return pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError):
        return None
