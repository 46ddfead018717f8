"""The choice of the revision to measure next.

It is the one whose run is expected to tell most about where the change is (mutual information; MacKay, Neural Computation 4,
1992), which for noise-free runs is the middle, as in `git bisect`, and for noisy ones the probabilistic bisection of Horstein
(IEEE Trans. Inf. Theory 9, 1963). Each split of the measured places predicts the run from its own level, effect and noise: a
revision whose side is certain is measured again where the level of that side is what decides.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .search import ChangePosterior

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ENDS = 2  # runs of either end before anything between them is measured
LEAST_BITS = 1e-4  # that a run must be expected to tell


def information(found: ChangePosterior, taken: Sequence[int] = ()) -> "Floats":
    """The expected information of a run of each commit about the place of the change, in bits.

    Every split of the measured places predicts the run by what it makes of the runs so far. So a run of a place whose side is
    known tells something, too, where the level of that side decides. Places in `taken` are being measured: their results are
    assumed to be known.
    """
    import numpy as np

    last = len(found.probability) - 1
    bits = np.zeros(last + 1)
    edges = sorted({place for place in taken if 0 <= place <= last})
    # Between two places that are being measured, what matters is where in between; what lies outside is nothing.
    for first, end in itertools.pairwise([0, *edges, last + 1]):
        places = np.arange(first, end)
        commits = np.arange(first + 1, min(end, last) + 1)
        bits[places] = _between(found, places, commits, nothing=end > last)
    return bits


def _between(found: ChangePosterior, places: "NDArray[Any]", commits: "NDArray[Any]", *, nothing: bool) -> "Floats":
    """Bits that a run of each of some places tells about which of some commits changed it, or none."""
    import numpy as np

    splits = len(found.good)
    of = found.of[commits - 1]
    whole = np.bincount(found.of, found.probability[1:], minlength=splits)
    within = np.bincount(of, found.probability[commits], minlength=splits)
    share = np.divide(within, whole, out=np.zeros(splits), where=whole > 0)[:, None]
    good, bad = share * found.good, share * found.bad
    same = found.same if nothing else np.zeros_like(found.same)
    # A place is after all commits of the splits before its own, before all of those behind, and after a part of its own.
    own = np.concatenate([[0], found.of])[places]
    reached = (
        np.cumsum(np.concatenate([[0.0], found.probability[commits]]))[places - places[0]] if len(commits) else 0 * own
    )
    earlier = np.concatenate([[0.0], np.cumsum(within)])[own]
    part = np.divide(reached - earlier, within[own], out=np.zeros(len(places)), where=within[own] > 0).clip(0, 1)

    def total(good: "Floats", bad: "Floats", same: "Floats") -> "Floats":
        """The sum over the splits for each place, each on the side of the change on which the place is."""
        after = np.concatenate([np.zeros_like(bad[:1]), np.cumsum(bad, axis=0)])
        before = good.sum(axis=0) - np.concatenate([np.zeros_like(good[:1]), np.cumsum(good, axis=0)])
        mix = part[:, None]
        return np.asarray(after[own] + before[own + 1] + mix * bad[own] + (1 - mix) * good[own] + same)

    def entropy(mass: "Floats") -> "Floats":
        """The entropy of densities, times their sums."""
        sums = mass.sum(axis=-1, keepdims=True)
        return np.asarray(-(mass * np.log2(np.maximum(mass, 1e-300) / np.maximum(sums, 1e-300))).sum(axis=-1))

    mixed = entropy(total(good, bad, same))
    apart = total(entropy(good)[:, None], entropy(bad)[:, None], entropy(same[None]))[:, 0]
    return np.maximum(mixed - apart, 0.0)


def next_places(
    found: ChangePosterior, counts: Mapping[int, int], *, count: int = 1, unusable: Collection[int] = (),
    taken: Sequence[int] = (),
) -> list[int]:  # fmt: skip
    """The places to measure next, together: first both ends, then those that are expected to tell most.

    `counts` includes the runs that are being measured; other machines measure places in `taken`.

    Returns:
        As many places, or fewer where no other tells anything.
    """
    import numpy as np

    last = len(found.probability) - 1
    ends = [place for place in (0, last) if counts.get(place, 0) < ENDS and place not in unusable]
    if ends:
        return sorted(ends, key=lambda place: counts.get(place, 0))[:count]
    chosen: list[int] = []
    for _ in range(count):
        bits = information(found, [*taken, *chosen])
        bits[[place for place in unusable if place <= last]] = -1.0
        place = int(np.argmax(bits))
        if bits[place] <= LEAST_BITS:
            break
        chosen.append(place)
    return chosen
