"""The runner's own CPU time while workers sample: it should sleep, and this checks that it does."""

import time
from collections.abc import Callable


class OwnCost:
    """Measures the runner's processor time while workers take samples, warm-up included."""

    def __init__(self, now: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.process_time) -> None:
        """Take the clocks, in seconds."""
        self._clocks = (now, cpu)
        self._began: tuple[float, ...] | None = None
        self._spent = (0.0, 0.0)

    def begin(self) -> None:
        """A worker takes samples from now on; calling it again changes nothing."""
        self._began = self._began or tuple(clock() for clock in self._clocks)

    def end(self) -> None:
        """The worker is done."""
        if self._began is not None:
            wall, cpu = (clock() - then for clock, then in zip(self._clocks, self._began, strict=True))
            self._spent = (self._spent[0] + wall, self._spent[1] + cpu)
        self._began = None

    @property
    def share(self) -> float | None:
        """The share of one processor; None before any sample."""
        wall, cpu = self._spent
        return cpu / wall if wall else None
