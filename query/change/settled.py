"""Searches that are not repeated: of a long series what came before a mark, where what follows is as before.

A search of all values costs more the longer a series is, and each night adds a value to every one. So a series of LONG or more is
searched up to a mark that moves every SPACING values, and what was found stands for all of it unless the values behind the mark
differ from the last ones before it, and a search of these alone finds a change there; then all are searched. This depends on the
values alone, so a search that remembers the last one says what a search from nothing says.
"""

import dataclasses
import functools
import hashlib
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..._version import __version__
from .levels import ChangePoint
from .segments import median_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LONG = 512  # values from which a series has a mark
SPACING = 32  # values from mark to mark
COMPARED = 256  # last values before the mark that what follows is compared with
YOUNG = 16  # values: a change nearer to the mark is searched with all that follows
DIFFERS = 3.9  # standard errors of the mean of any values in a row; a change needs 4.0 in COMPARED values, 4.1 in LONG


def mark_of(x: "Floats") -> int:
    """The mark of a series, in values; all of them where it is not long."""
    import numpy as np

    n = len(x)
    if n < LONG:
        return n
    own = zlib.crc32(np.frexp(x[:1])[0].tobytes())  # each series has its own nights, so that no night costs all at once
    return n - (n - own) % SPACING


def is_alike(x: "Floats", mark: int, since: int) -> bool:
    """Return whether no values behind a mark differ from the last ones before it, of which there are enough from `since` on."""
    import numpy as np

    known = x[max(since, mark - COMPARED) : mark]
    if len(known) < YOUNG:
        return False
    level = median_of(known)
    noise = 1.4826 * median_of(np.abs(known - level))
    sums = np.concatenate([[0.0], np.cumsum(x[mark:] - level)])
    moved = np.abs(sums[:, np.newaxis] - sums)
    return bool((moved <= noise * _reach(len(sums), len(known))).all())


@functools.lru_cache(maxsize=1024)
def _reach(sums: int, known: int) -> "Floats":
    """The most that the values between any two of so many sums may add up to, in units of the noise."""
    import numpy as np

    size = np.abs(np.arange(sums)[:, np.newaxis] - np.arange(sums))
    return np.asarray(DIFFERS * np.sqrt(size + size**2 * (math.pi / 2 / known)))


@dataclass(slots=True)
class Searches:
    """Findings in series by their values and what counted: those of the last time, and those of this time."""

    before: Mapping[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)

    def known(self, x: "Floats", exponent: int, significance: float, min_magnitude: float) -> list[ChangePoint] | None:
        """The changes of these values, which stay known; None if they were not searched for such."""
        key = _key(x, exponent, significance, min_magnitude)
        found = self.before.get(key)
        if found is None:
            return None
        self.kept[key] = found
        return [ChangePoint(*change) for change in found]

    def keep(
        self, x: "Floats", exponent: int, significance: float, min_magnitude: float, found: Iterable[ChangePoint]
    ) -> None:
        """Remember what was found."""
        self.kept[_key(x, exponent, significance, min_magnitude)] = [
            list(dataclasses.astuple(change)) for change in found
        ]


def _key(x: "Floats", exponent: int, significance: float, min_magnitude: float) -> str:
    """A checksum of the values, their exponent, what counts, and bench's version, whose search it is."""
    asked = f"{__version__} {exponent} {significance!r} {min_magnitude!r} "
    return hashlib.sha256(asked.encode() + x.tobytes()).hexdigest()[:24]
