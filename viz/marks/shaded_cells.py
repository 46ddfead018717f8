"""Shaded cells of a grid as one picture, which is rendered sooner than a mark for each and makes smaller files."""

from collections.abc import Iterable
from typing import NamedTuple

from ..output import png

_STILL = 0.7  # of shades in a still image, where nothing fades


class ShadedCell(NamedTuple):
    """A cell that holds something."""

    column: int
    row: int  # from the bottom
    shade: float  # 0 to 1


def picture(cells: Iterable[tuple[ShadedCell, str]], grid: tuple[int, int]) -> bytes:
    """A PNG with a pixel for each cell of the grid.

    Importing numpy would take longer than 10,000 cells take here.

    Args:
        cells: With their colours, as `#rrggbb`; later ones lie over earlier ones.
        grid: Cells across and down.
    """
    across, down = grid
    inks: dict[int, tuple[float, float, float, float]] = {}  # of each pixel: its colour, multiplied by alpha, and alpha
    rgb: dict[str, bytes] = {}
    for (column, row, shade), colour in cells:
        if colour not in rgb:
            rgb[colour] = bytes.fromhex(colour[1:])
        at = (down - 1 - row) * across + column
        red, green, blue = rgb[colour]
        red_below, green_below, blue_below, alpha_below = inks.get(at, (0.0, 0.0, 0.0, 0.0))
        alpha = _STILL * shade
        rest = 1 - alpha
        inks[at] = (
            alpha * red + rest * red_below, alpha * green + rest * green_below, alpha * blue + rest * blue_below,
            alpha + rest * alpha_below,
        )  # fmt: skip
    pixels = bytearray(4 * across * down)
    for at, (reds, greens, blues, alpha) in inks.items():
        straight = round(reds / alpha), round(greens / alpha), round(blues / alpha), round(255 * alpha)
        pixels[4 * at : 4 * at + 4] = bytes(straight)
    return png.encode(across, down, bytes(pixels))
