"""Colours and markers: the same config looks the same in every chart."""

import hashlib
from collections.abc import Sequence

# Okabe-Ito without its black and yellow (lost on dark and on white paper), then four that stay apart from it
# under the common colour-vision deficiencies.
COLOURS = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
    "#8F2D56",  # wine
    "#8C8B2A",  # olive
    "#6A5ACD",  # violet
    "#7A7A7A",  # grey
)
# Vega's own shapes, then an eight-pointed star and a hexagon as paths in the unit square -1..1.
MARKERS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "M0,-1L.26,-.36L.95,-.31L.42,.14L.59,.81L0,.44L-.59,.81L-.42,.14L-.95,-.31L-.26,-.36Z",
    "triangle-right",
    "M0,-.95L.82,-.48L.82,.48L0,.95L-.82,.48L-.82,-.48Z",
)

# Charts of few configs use only these, the easiest to tell apart.
FIRST_COLOURS = 6
FIRST_MARKERS = 5


def styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each name.

    Each name asks for the slots its hash points to, so it keeps its look from chart to chart. Where two ask for the
    same, the one whose hash is lower gets it and the other takes the next free slot: the answer does not depend on
    the order of `names`. No two names share both while there are fewer than 90.
    """
    digests = {name: hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest() for name in names}
    order = sorted(digests, key=lambda name: digests[name])
    colours = _slots([(name, digests[name][0]) for name in order], len(COLOURS), FIRST_COLOURS)
    markers = _slots([(name, digests[name][1]) for name in order], len(MARKERS), FIRST_MARKERS)
    taken: set[tuple[int, int]] = set()
    for name in order:
        for _ in MARKERS:
            if (colours[name], markers[name]) not in taken:
                break
            markers[name] = (markers[name] + 1) % len(MARKERS)
        taken.add((colours[name], markers[name]))
    return {name: (COLOURS[colours[name]], MARKERS[markers[name]]) for name in names}


def _slots(wishes: list[tuple[str, int]], slots: int, first: int) -> dict[str, int]:
    """Give every name the slot it wishes for among the first, or the next one used as seldom as any."""
    used = [0] * slots
    chosen = {}
    for name, wish in wishes:
        fewest = min(used)
        preferred = [(wish + step) % first for step in range(first)]
        slot = next(slot for slot in (*preferred, *range(first, slots)) if used[slot] == fewest)
        used[slot] += 1
        chosen[name] = slot
    return chosen
