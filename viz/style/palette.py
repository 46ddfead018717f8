"""Colours and markers: the same config looks the same in every chart."""

import hashlib
from collections.abc import Container, Mapping, Sequence

# Near Okabe-Ito without its black and yellow (lost on dark and on white paper), then six that a search found farthest from these
# and from each other: any two differ by 12 or more (CIEDE2000), with and without red or green cones (Machado 2009). In grey,
# neighbours differ by 10 or more in lightness, any two of the first six by 5.
COLOURS = (
    "#F0AA2E",  # orange
    "#D1510C",  # vermilion
    "#45B0F5",  # sky blue
    "#2D9B68",  # bluish green
    "#0B70AE",  # blue
    "#CA81B2",  # reddish purple
    "#7B3000",  # brown
    "#D5A7A8",  # pale pink
    "#25496E",  # navy
    "#8F6078",  # mauve
    "#494B4A",  # charcoal
    "#796049",  # taupe
)
# Of what a candidate takes more or less of than its base, of what nothing explains, and of the whole: told apart as the above;
# dark letters are read on the first two.
MORE, LESS, UNEXPLAINED, WHOLE = "#EE7F4B", "#45B0F5", "#7D858E", "#6A3FA0"
# Vega's own shapes, then an eight-pointed star and a hexagon as paths in the unit square -1..1.
MARKERS = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down",
    "M0,-1L.26,-.36L.95,-.31L.42,.14L.59,.81L0,.44L-.59,.81L-.42,.14L-.95,-.31L-.26,-.36Z", "triangle-right",
    "M0,-.95L.82,-.48L.82,.48L0,.95L-.82,.48L-.82,-.48Z",
)  # fmt: skip

# Of lines without markers, whose looks have a marker all the same: as many as there are of those.
DASHES = ([1, 0], [5, 2], [2, 2], [5, 2, 1, 2], [3, 3], [1, 2], [7, 3], [3, 1, 1, 1], [4, 1])

# Charts of few configs use only these, the easiest to tell apart.
FIRST_COLOURS = 6
FIRST_MARKERS = 5


def styles(names: Sequence[str], known: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each name.

    Each name asks for the slots its hash points to, so it looks alike in stores that have nothing else in common. Of the
    known names, those of a store from the oldest on, the older gets what two ask for and keeps it in every chart; of
    others the one whose hash is lower. The answer does not depend on the order of `names`. No two share both while there
    are fewer than 108, nor a colour while there are 12.
    """
    settled = _looks(list(dict.fromkeys(known)), {})
    others = sorted(set(names) - settled.keys(), key=_digest)
    looks = _looks([name for name in settled if name in names] + others, settled)
    return {name: (COLOURS[looks[name][0]], MARKERS[looks[name][1]]) for name in names}


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def _looks(order: Sequence[str], settled: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Places of colour and marker for each name, the first choosing first; what is settled is what is asked for."""
    wishes = [
        (name, settled.get(name) or (_digest(name)[0] % FIRST_COLOURS, _digest(name)[1] % FIRST_MARKERS))
        for name in order
    ]
    colours = _slots([(name, colour) for name, (colour, _) in wishes], len(COLOURS), FIRST_COLOURS)
    markers = _slots([(name, marker) for name, (_, marker) in wishes], len(MARKERS), FIRST_MARKERS, settled)
    taken: set[tuple[int, int]] = set()
    for name in order:
        for _ in MARKERS:
            if (colours[name], markers[name]) not in taken:
                break
            markers[name] = (markers[name] + 1) % len(MARKERS)
        taken.add((colours[name], markers[name]))
    return {name: (colours[name], markers[name]) for name in order}


def _slots(wishes: list[tuple[str, int]], slots: int, first: int, settled: Container[str] = ()) -> dict[str, int]:
    """Give every name the slot it wishes for, or the next one, first of the first, used as seldom as any.

    What is settled gets what it wishes for, however often that is used.
    """
    used = [0] * slots
    chosen = {}
    for name, wish in wishes:
        fewest = min(used)
        preferred = [wish, *((wish + step) % first for step in range(first))]
        free = (slot for slot in (*preferred, *range(first, slots)) if used[slot] == fewest)
        slot = wish if name in settled else next(free)
        used[slot] += 1
        chosen[name] = slot
    return chosen
