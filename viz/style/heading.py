"""The heading of a figure: its title and its subtitle."""

from collections.abc import Sequence
from dataclasses import dataclass

from . import theme
from .labels import ems, shorten_to_fit, wrap

_SHARE = 0.34  # of the height of a figure whose size is given, at most
_LINES = 20  # of a subtitle, at most
_SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Heading:
    """Lines that fit into a figure."""

    title: list[str]
    subtitle: list[str]
    points: float  # of height
    left_out: Sequence[str] = ()  # facts that have no room

    @classmethod
    def fitting(
        cls,
        title: str,
        facts: Sequence[str],
        width: float,
        height: float | None = None,
        *,
        least: float = 0.0,
        wide: bool = False,
    ) -> "Heading":
        """The heading of a figure of that size.

        Args:
            title: Title.
            facts: What the subtitle says, part by part.
            width: Inches.
            height: Inches, where the figure cannot become higher: the plot has its share of them. The title then has
                two lines at most, and of the facts those are left out that have no room.
            least: Points of that height which the plot needs.
            wide: Whether the figure has Chinese characters: their fonts draw Latin ones wider, too.
        """
        scale = theme.scale_of(width)
        across = (width * theme.POINTS_PER_INCH - 2 * theme.PADDING) / scale / (theme.WIDER if wide else 1)
        titles = wrap([title], across, " ", _title_points)
        if height is None:
            subtitles = _lines(facts, across)
            return cls(titles, subtitles, theme.heading_points(len(titles), len(subtitles), scale))
        whole = height * theme.POINTS_PER_INCH
        most = min(_SHARE * whole, whole - least)
        rows = 2 if theme.heading_points(2, 1, scale) <= most else 1
        if len(titles) > rows:
            titles = [*titles[: rows - 1], shorten_to_fit(" ".join(titles[rows - 1 :]), across, _title_points)]
        rows = next((n for n in range(_LINES, 1, -1) if theme.heading_points(len(titles), n, scale) <= most), 1)
        kept = len(facts)
        subtitles = _lines(facts, across)
        while len(subtitles) > rows and kept:
            kept -= 1
            subtitles = _lines([*facts[:kept], "…"], across)
        return cls(titles, subtitles, theme.heading_points(len(titles), len(subtitles), scale), facts[kept:])


def _title_points(text: str) -> float:
    return ems(text) * theme.TITLE * theme.BOLD


def _lines(facts: Sequence[str], across: float) -> list[str]:
    return wrap(facts, across, _SEPARATOR, lambda text: ems(text) * theme.LABEL)
