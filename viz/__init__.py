"""Charts of queries.

Each chart is a function of this package that returns an `altair.Chart`:

    from bench import viz

    chart = viz.runtime_vs_tokens(warehouse, configs=["A", "B"])
"""

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair


def __getattr__(name: str) -> "Callable[..., altair.Chart]":
    """Import a chart on first use (PEP 562): it takes what the `draw` of its module takes."""
    from .command import CHARTS, draw_of

    command = name.replace("_", "-")
    if command not in CHARTS:
        raise AttributeError(f"module 'bench.viz' has no attribute {name!r}")
    draw = draw_of(command)

    @functools.wraps(draw)
    def chart(*args: Any, **kwargs: Any) -> "altair.Chart":
        return draw(*args, **kwargs).altair()

    return chart
