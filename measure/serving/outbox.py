"""A queue between a server's own thread, which must not wait, and a thread that writes."""

import atexit
import time
from collections import deque
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

MOST_QUEUED = 1000
PAUSE_SECONDS = 0.02

T = TypeVar("T")


class Outbox(Generic[T]):
    """A queue that a thread of its own writes in order.

    A process that is killed loses what is queued: the last 20 ms. The queue has an end, so that nothing grows where a disk
    hangs; what comes beyond it is counted as lost. After the first error nothing is written any more.
    """

    def __init__(self, name: str, write: Callable[[T], None], fail: Callable[[Exception], None]) -> None:
        """Start the thread. `fail` is called once, with the error that ended it, or at the end if something was lost."""
        self.name = name
        self.lost = 0
        self.failed = False
        self._write, self._fail = write, fail
        self._queue: deque[T] = deque()
        self._ending = False
        self._thread = Thread(target=self._run, name=f"bench-{name}", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # before runs are closed, as their atexit is older

    def put(self, item: T) -> None:
        """Queue one."""
        if self.failed or len(self._queue) >= MOST_QUEUED:
            self.lost += 1
        else:
            self._queue.append(item)

    def close(self) -> None:
        """Return when all is written, or after ten seconds."""
        atexit.unregister(self.close)
        self._ending = True
        self._thread.join(timeout=10)
        if self.lost and not self.failed:
            self.failed = True
            self._fail(
                RuntimeError(
                    f"{self.lost} records of {self.name} are missing: they came faster than they could be written"
                )
            )

    def _run(self) -> None:
        while True:
            ending = self._ending
            try:
                while self._queue:
                    self._write(self._queue.popleft())
                    time.sleep(0)  # the server's turn, if it waits for the interpreter
            except Exception as error:
                self.failed = True
                self.lost += 1 + len(self._queue)
                self._queue.clear()
                self._fail(error)
                return
            if ending:
                return
            time.sleep(PAUSE_SECONDS)
