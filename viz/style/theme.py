"""The look of every chart: quiet axes, thin grid, sizes for print and for the screen, on white, on black and on either."""

from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
POINTS_PER_INCH = 72
PADDING = 6  # points around an image
TITLE, LABEL, AXIS_TITLE, NOTE = 11.0, 8.0, 8.5, 7.0  # points of fonts
BOLD = 1.08  # times as wide as the same in regular letters
WIDER = 1.15  # fonts with Chinese characters draw dots and dashes as wide as those
_COLUMN, _SLIDE = 4.5, 9.0  # inches: narrower images are for a column of a page, wider ones for a slide
_LOOKS = {
    "paper": {"ink": "#1f2328", "soft": "#59636e", "grid": "#e4e7eb", "ground": "white"},
    "screen": {"ink": "#75797f", "soft": "#7b8087", "grid": "rgba(127, 127, 127, 0.25)", "ground": "transparent"},
    "dark": {"ink": "#e6edf3", "soft": "#9198a1", "grid": "#2a3038", "ground": "#0d1117"},
}
FAILED = "#d1553f"  # on white and on black
ON_AXIS = "#6e7781"  # marks on an axis, on white and on black


THEMES = ("paper", "screen", "dark")


def dark_style() -> str:
    """CSS for an SVG in the look `paper`: its inks and ground become those of `dark` where the reader's system is."""
    changes = [
        f'[{paint}="{colour}"]{{{paint}:{_LOOKS["dark"][part]}}}'
        for part, colour in _LOOKS["paper"].items() for paint in ("fill", "stroke")
    ]  # fmt: skip
    return f"@media (prefers-color-scheme: dark){{{''.join(changes)}}}"


def scale_of(inches: float) -> float:
    """Sizes in an image of that width: letters of 8 points, of 6.8 in a column of a paper, of 12 on a slide."""
    return 0.85 if inches < _COLUMN else 1.0 if inches < _SLIDE else 1.5


def image_config(font: str, theme: str = "paper", scale: float = 1.0) -> dict[str, Any]:
    """Vega-Lite config for images: sizes in points, as a figure in a paper wants them.

    `paper` is white; `dark` is dark; `screen` has no ground, and inks that are read on a light page as on a dark one.
    """
    return _config(font, scale=scale, **_LOOKS[theme])


def screen_config(font: str, *, dark: bool) -> dict[str, Any]:
    """Vega-Lite config for a page: larger, on the page's own background."""
    return _config(font, scale=1.45, **_LOOKS["dark" if dark else "paper"])


def heading_points(titles: int, subtitles: int, scale: float = 1.0) -> float:
    """Height of a title with that many lines, in points as an image has it."""
    return 16 + scale * (titles * 1.2 * TITLE + (3 + subtitles * 1.2 * LABEL if subtitles else 0))


def panel_title(text: str, scale: float) -> dict[str, Any]:
    """The layer with the title of one panel among several; larger on a page.

    A title of Vega's stands as high as labels and lines reach beyond a panel, so those of neighbours would differ.
    """
    mark = {
        "type": "text", "style": "panel-title", "text": text, "x": 0, "y": round(-5 * scale, 1),
        "fontSize": round(AXIS_TITLE * scale, 1),
    }  # fmt: skip
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {}}


def _config(font: str, *, scale: float, ink: str, soft: str, grid: str, ground: str) -> dict[str, Any]:
    def size(points: float) -> float:
        return round(points * scale, 1)

    return {
        "background": ground,
        "font": font,
        "view": {"stroke": None},
        "rule": {"color": ink, "strokeWidth": size(0.9)},
        "tick": {"color": ink, "thickness": size(0.9), "opacity": 1},
        "text": {"color": soft, "fontSize": size(NOTE)},
        "style": {"panel-title": {"color": ink, "fontWeight": "bold", "align": "left", "baseline": "alphabetic"}},
        "axis": {
            "labelFontSize": size(LABEL),
            "titleFontSize": size(AXIS_TITLE),
            "titleFontWeight": "normal",
            "titlePadding": size(6),
            "labelPadding": size(3),
            "labelFlush": False,
            "labelColor": soft,
            "titleColor": ink,
            "domainColor": soft,
            "domainWidth": 0.7,
            "tickColor": soft,
            "tickWidth": 0.7,
            "tickSize": size(3),
            "gridColor": grid,
            "gridWidth": 0.6,
        },
        "legend": {
            "labelFontSize": size(LABEL),
            "titleFontSize": size(AXIS_TITLE),
            "titleFontWeight": "normal",
            "labelColor": ink,
            "titleColor": ink,
            "symbolSize": round(34 * scale * scale, 1),
            "symbolStrokeWidth": 0,
            "rowPadding": size(1.5),
            "offset": size(8),
            "symbolLimit": 0,
        },
        "title": {
            "anchor": "start",
            "frame": "group",
            "fontSize": size(TITLE),
            "fontWeight": 600,
            "color": ink,
            "subtitleFontSize": size(LABEL),
            "subtitleColor": soft,
            "subtitlePadding": size(3),
            "offset": size(8),
        },
    }
