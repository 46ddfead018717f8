"""Interaction on a page: tooltips, zoom, a legend that shows one series alone.

Expressions name fields only: no name from data is ever part of one.
"""

from collections.abc import Sequence
from typing import Any

Tip = tuple[str, str, str | None]  # field, what people call it, its d3 format where it is a number
ALONE = "show"  # parameter: the series to show alone, null for all


def tooltip(tips: Sequence[Tip]) -> list[dict[str, Any]]:
    """The tooltip's encoding."""
    return [
        {
            "field": name,
            "title": title,
            "type": "quantitative" if form else "nominal",
            **({"format": form} if form else {}),
        }
        for name, title, form in tips
    ]


def params(series: str, *, zoom: bool = True, views: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Parameters of a chart whose series stand in that field; in layers and panels they belong to the named views."""
    where = {} if views is None else {"views": list(views)}
    return [
        {"name": ALONE, "value": None},
        {"name": "pick", "select": {"type": "point", "fields": [series]}, "bind": "legend", **where},
        *([{"name": "zoom", "select": "interval", "bind": "scales", **where}] if zoom else []),
    ]


def fade_others(series: str, faint: float = 0.03) -> dict[str, Any]:
    """Opacity: full for what was picked or is shown alone, else faint."""
    test = {"and": [{"param": "pick"}, f"{ALONE} === null || datum.{series} === {ALONE}"]}
    return {"condition": {"test": test, "value": 1}, "value": faint}
