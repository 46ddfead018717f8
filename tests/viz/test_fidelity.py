import io
from typing import Any

import numpy as np
import pytest
from bench.viz import downsample
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.output import render
from bench.viz.output.figure import Figure

from ..exhaustive import exhaustive
from .steps import many

image = pytest.importorskip("PIL.Image")
pytest.importorskip("vl_convert")


@exhaustive
def test_a_reduced_chart_looks_like_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 steps coloured by batch, reduced, against all of them drawn: 40 dB or better, at 300 dots per inch."""
    builder = many(100_000)
    reduced = pixels(draw(builder, color_by="batch"))
    monkeypatch.setattr(downsample, "DRAW_ALL_BELOW", 10**9)
    whole = draw(builder, color_by="batch")
    monkeypatch.setattr("bench.viz.marks.scatter._area", lambda rows: 7)

    assert len(whole.rows) > 99_000
    assert psnr(reduced, pixels(whole)) >= 40


def pixels(figure: Figure) -> Any:
    """The plot as drawn, without the title, which says how many points there are."""
    with render.Renderer() as renderer:
        (content,) = renderer.render([render.RenderRequest("png", figure.still("sans-serif"), 300)])
    return np.asarray(image.open(io.BytesIO(content)).convert("RGB"), dtype=float)[150:]


def psnr(one: Any, other: Any) -> float:
    """Peak signal-to-noise ratio in dB."""
    return float(10 * np.log10(255**2 / np.mean((one - other) ** 2)))
