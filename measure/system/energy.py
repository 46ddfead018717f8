"""Energy of a call on a GPU, by NVML's counter of the energy that the whole GPU has taken since its driver was loaded.

The counter moves in steps, some 20 to 100 ms apart, so a window begins and ends at a step and holds ten at least. To read it
takes milliseconds, in which the GPU idles: it is read near both ends alone, and calls run one after the other in between.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST_STEPS = 10
LEAST_S = 1.0
LONGEST_S = 5.0


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """Energy of one call in J and mean power in W; both None, with the reason, where the counter does not tell."""

    joules: float | None = None
    watts: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """A moment at which the counter was seen to move: its value in mJ, the time in s, and the calls until then."""

    mj: int
    at_s: float
    calls: int


class _TooSeldom(Exception):
    """The counter did not move in time."""


def energy_of(
    batch: Callable[[], int], counter_mj: Callable[[], int | None], now: Callable[[], float] = time.monotonic
) -> EnergyReading:
    """Run batches of calls until the counter has moved often enough.

    `batch` runs calls to their end and returns how many; the counter is None where the driver does not tell.
    """
    if counter_mj() is None:
        return EnergyReading(reason="NVML does not tell the energy of this GPU")
    deadline, calls = now() + LONGEST_S, 0

    def step(unread_until: float = 0.0) -> _Step:
        nonlocal calls
        while now() < unread_until:
            calls += batch()
        before = counter_mj()
        while now() < deadline:
            calls += batch()
            if (value := counter_mj()) not in (before, None):
                return _Step(value, now(), calls)
        raise _TooSeldom

    try:
        earlier, begin = step(), step()
        until = begin.at_s + max(LEAST_S, LEAST_STEPS * (begin.at_s - earlier.at_s))
        end = step(min(until, deadline))
    except _TooSeldom:
        return EnergyReading(reason=f"NVML's counter moves too seldom to tell within {LONGEST_S:g} s")
    joules = (end.mj - begin.mj) / 1e3
    return EnergyReading(joules / (end.calls - begin.calls), joules / (end.at_s - begin.at_s))
