"""Energy of a call on a GPU, by NVML's counter of the energy that the whole GPU has taken since its driver was loaded.

The counter moves in steps, some 20 to 100 ms apart. A window that saw too few of them says nothing, and is None instead of
0 or of a step too many. Windows begin and end at a step, and calls run one after the other all the while.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST_STEPS = 10  # so that a step more or less is at most 10 %
LEAST_S = 0.5
LONGEST_S = 5.0


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """Energy of one call in J and mean power in W; both None, with the reason, where the counter does not tell."""

    joules: float | None = None
    watts: float | None = None
    reason: str | None = None


def energy_of(
    batch: Callable[[], int], counter_mj: Callable[[], int | None], now: Callable[[], float] = time.monotonic
) -> EnergyReading:
    """Run batches of calls until the counter has moved often enough.

    Args:
        batch: Runs some calls to their end, and returns how many.
        counter_mj: Reads the counter, mJ; None where the driver does not tell.
        now: Seconds.
    """
    if (first := counter_mj()) is None:
        return EnergyReading(reason="NVML does not tell the energy of this GPU")
    deadline = now() + LONGEST_S
    begin: tuple[int, float] | None = None  # energy and time at the step that the window begins with
    last, calls, steps = first, 0, 0
    while now() < deadline:
        calls += batch()
        value, at = counter_mj(), now()
        if value is None or value == last:
            continue
        last = value
        if begin is None:
            begin, calls = (value, at), 0
            continue
        steps += 1
        if steps >= LEAST_STEPS and at - begin[1] >= LEAST_S:
            joules = (value - begin[0]) / 1e3
            return EnergyReading(joules / calls, joules / (at - begin[1]))
    return EnergyReading(reason=f"the counter moved {steps} times in {LONGEST_S:g} s, which is too seldom to tell")
