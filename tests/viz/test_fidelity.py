import io
from typing import Any

import numpy as np
import pytest
from bench.viz import downsample
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.output import render
from bench.viz.output.figure import Figure

from ..exhaustive import exhaustive, sampled
from .steps import add_few, few, many

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


CORNERS: dict[str, list[tuple[int, float | None]]] = {"A": [(5, 0.5), (2000, 40.0)], "B": [(5, 40.0), (2000, 0.5)]}


SIZES = ((6, 4), (3.3, 2.2), (13.3, 7.5))


@pytest.mark.parametrize(
    ("y_scale", "size"),
    sampled(
        [(scale, size) for scale in ("linear", "log", "robust") for size in SIZES],
        ("log", (3.3, 2.2)),
    ),
)
def test_a_step_lies_under_its_cell(renderer: render.Renderer, y_scale: str, size: tuple[float, float]) -> None:
    """Cells at all corners have the colours of their configs, and there is none where no step is."""
    far: list[tuple[int, float | None]] = [(1000, 190.0)] * 3  # beyond the break of a robust axis
    builder = few("A", [*CORNERS["A"] * 1000, *(far if y_scale == "robust" else [])])
    figure = draw(add_few(builder, "B", CORNERS["B"] * 1000), y_scale=y_scale, size=size)
    spec = {key: value for key, value in figure.still("sans-serif").items() if key != "title"}
    cells, steps = spec["layer"][:2]
    for axis in ("x", "y"):
        cells["encoding"][axis]["axis"] = None
    drawn = rendered(renderer, {**spec, "layer": [cells]})
    across, down = (300 * inches / number for inches, number in zip(size, grid_of(figure), strict=True))

    elsewhere = (drawn < 250).any(axis=2)
    for config, (tokens, ms) in ((config, step) for config, both in CORNERS.items() for step in both):
        marked = rendered(renderer, {**spec, "layer": [cells, probe(steps, tokens, ms)]})
        y, x = np.argwhere((marked != drawn).any(axis=2)).mean(axis=0).round().astype(int)
        darkest = drawn[y - 1 : y + 2, x - 1 : x + 2].min(axis=(0, 1))
        assert darkest == pytest.approx(255 - 0.63 * (255 - colour_of(steps, config)), abs=3)
        elsewhere[max(0, y - round(down)) : y + round(down), max(0, x - round(across)) : x + round(across)] = False
    assert not elsewhere.any()


def grid_of(figure: Figure) -> tuple[int, int]:
    """Cells across and down."""
    across, down = figure.provenance.parameters["grid"]
    return across, down


def probe(steps: dict[str, Any], tokens: int, ms: float | None) -> dict[str, Any]:
    """A layer with a black point at one step."""
    encoding = {name: steps["encoding"][name] for name in "xy"}
    mark = {"type": "point", "shape": "square", "size": 1, "filled": True, "color": "black", "opacity": 1}
    return {"data": {"values": [{"c1": tokens, "c2": ms}]}, "mark": mark, "encoding": encoding}


def colour_of(steps: dict[str, Any], config: str) -> Any:
    """Red, green and blue of a config in the legend."""
    scale = steps["encoding"]["color"]["scale"]
    return np.array([*bytes.fromhex(scale["range"][scale["domain"].index(config)][1:])])


def pixels(figure: Figure) -> Any:
    """The plot as drawn, without the title: it says how many points there are, and a longer one leaves another height."""
    spec = {key: value for key, value in figure.still("sans-serif").items() if key != "title"}
    with render.Renderer() as renderer:
        return rendered(renderer, {**spec, "height": 300})


def rendered(renderer: render.Renderer, spec: dict[str, Any]) -> Any:
    """Red, green and blue of each pixel, at 300 dots per inch."""
    (content,) = renderer.render([render.RenderRequest("png", spec, 300)])
    return np.asarray(image.open(io.BytesIO(content)).convert("RGB"), dtype=float)


def psnr(one: Any, other: Any) -> float:
    """Peak signal-to-noise ratio in dB."""
    return float(10 * np.log10(255**2 / np.mean((one - other) ** 2)))
