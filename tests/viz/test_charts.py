"""What holds for every chart: valid specs, text, data, states, files and commands. A new chart is covered by its name."""

import csv
import functools
import importlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench.viz
import numpy as np
import pytest
from bench.viz.command import CHARTS, viz
from bench.viz.output import files, provenance, render
from bench.viz.output.figure import Figure
from bench.warehouse.console.tables import write_rows
from bench.warehouse.errors import NothingToShow, UnknownName
from click.testing import CliRunner
from pyarrow import parquet

from ..exhaustive import sampled
from .stores import STATES, state_of

GOLDEN = Path(__file__).parent / "golden"
ARGUMENTS: dict[str, dict[str, Any]] = {  # what a chart must be told to draw any store
    "distribution": {"sides": ["run-0-0", "run-0-1"]},
    "flame": {"base": "run-0-0", "candidate": "run-0-1"},
    "movers": {"base": "run-0-0", "candidate": "run-0-1"},
    "query": {
        "query": "SELECT name, backend, min(median) AS fastest_ns FROM cells WHERE metric = 'latency' GROUP BY ALL ORDER BY ALL",
        "color": "backend",
    },
    "slo-curve": {"ttft": 150.0, "tpot": 40.0},  # without limits all curves are one line at 100 %
    "usage": {"x": "batch-size"},
    "why": {"base": "run-0-0", "candidate": "run-0-1"},
}  # fmt: skip

every_chart = pytest.mark.parametrize("name", sampled([*CHARTS], "runtime-vs-tokens", "speedups", "history", "query"))
every_state = pytest.mark.parametrize("of", sampled(STATES, "few", "hostile"))


def module(name: str) -> Any:
    return importlib.import_module(f"bench.viz.charts.{name.replace('-', '_')}")


def drawn(name: str, of: str, **options: Any) -> Figure:
    figure: Figure = module(name).draw(state_of(name, of), **{**ARGUMENTS.get(name, {}), **options})
    return figure


@functools.cache
def figure_of(name: str, of: str) -> Figure:
    """A figure that many tests look at."""
    return drawn(name, of)


@every_chart
@pytest.mark.parametrize("of", sampled(["few", "hostile"], "hostile"))
def test_the_spec_is_valid(name: str, of: str) -> None:
    """Vega-Lite's schema accepts what is drawn and what is played with."""
    altair = pytest.importorskip("altair")
    schema = validator()
    figure = figure_of(name, of)

    for spec in (figure.still("sans-serif"), figure.interactive()):
        spec["data"]["values"] = spec["data"]["values"][:1]  # the schema takes any row, and its time for each
        if not schema.is_valid(spec):
            altair.Chart.from_dict(spec)  # says what is wrong, in ten times the time
            pytest.fail("the schema refuses the spec")


@functools.cache
def validator() -> Any:
    """Of Vega-Lite specs, by the schema that altair brings."""
    schema = importlib.import_module("altair.vegalite.v6.schema.core").load_schema()
    return pytest.importorskip("jsonschema").Draft7Validator(schema)


@every_chart
@every_state
def test_the_spec_is_strict_json(name: str, of: str) -> None:
    """No NaN, no infinity, nothing that only Python knows."""
    figure = figure_of(name, of)

    json.dumps([figure.still("sans-serif"), figure.interactive()], allow_nan=False)


@every_chart
def test_the_public_function_returns_an_altair_chart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called as the module is, with the same arguments as `draw`."""
    altair = pytest.importorskip("altair")
    unchecked = functools.partial(altair.Chart.from_dict, validate=False)  # specs are valid, as shown above
    monkeypatch.setattr(altair.Chart, "from_dict", unchecked)

    chart = getattr(bench.viz, name.replace("-", "_"))(state_of(name, "few"), **ARGUMENTS.get(name, {}))

    assert isinstance(chart, altair.TopLevelMixin)


@every_chart
def test_the_text_is_the_one_looked_at(name: str) -> None:
    """BENCH_GOLDEN=1 writes it anew; then look at it."""
    path = GOLDEN / f"{name}.txt"
    text = figure_of(name, "few").text(100, 16, False) + "\n"
    if os.environ.get("BENCH_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text


@every_chart
@every_state
def test_the_text_fits_and_cannot_steer_a_terminal(name: str, of: str) -> None:
    """No line is much wider than asked for, none holds a control character."""
    from bench.warehouse.console.tables import width

    text = figure_of(name, of).text(90, 12, False)

    assert not [char for char in text if not char.isprintable() and char != "\n"]
    assert max(map(width, text.splitlines())) <= 90


@every_chart
@every_state
def test_the_embedded_query_gives_what_is_drawn(name: str, of: str) -> None:
    """Whoever pastes the SQL of a chart gets its rows, in its order."""
    figure = figure_of(name, of)

    asked = state_of(name, of).rows(figure.provenance.sql)

    assert len(asked) == len(figure.rows)
    assert all(line.isprintable() for line in figure.provenance.sql.split("\n"))


@every_chart
def test_configs_stand_in_the_order_of_their_numbers(name: str) -> None:
    """Without another order config-2 stands before config-10, in legends as on axes."""
    figure = figure_of(name, "many")
    for called in (
        [shown for shown, _ in figure.names],
        figure.fields.get("row", []) if name == "step-breakdown" else [],
    ):
        numbers: dict[str, list[int]] = {}
        for before, number in re.findall(r"(?m)^(.*)\bconfig-(\d+)$", "\n".join(dict.fromkeys(called))):
            numbers.setdefault(before, []).append(int(number))
        assert all(own == sorted(own) for own in numbers.values())


@every_chart
def test_an_empty_store_is_told_how_to_fill_it(name: str) -> None:
    """Never a blank chart."""
    with pytest.raises((NothingToShow, UnknownName), match="bench "):
        drawn(name, "none")


@every_chart
@every_state
def test_the_subtitle_counts_what_is_drawn(name: str, of: str) -> None:
    """It counts the rows, steps and cases behind the picture, and no more are drawn than there are."""
    figure = figure_of(name, of)

    assert re.search(r"\d|the only", " ".join(figure.spec(False)["title"]["subtitle"]))
    assert figure.provenance.counts
    assert len(figure.rows) == figure.provenance.drawn


@every_chart
def test_numbers_without_a_place_are_neither_drawn_nor_fatal(name: str) -> None:
    """NULL, NaN, infinity, 0 and less: strict JSON, valid on a logarithmic axis, and the chart's own numbers stay."""
    figure = drawn(name, "nasty")

    for spec in (figure.still("f"), figure.interactive()):
        json.dumps(spec, allow_nan=False)
        for scale, field in logarithmic(spec):
            assert min(scale["domain"]) > 0
            values = [row[field] for row in spec["data"]["values"] if row.get(field) is not None]
            assert not values or min(values) > 0
    assert len(state_of(name, "nasty").rows(figure.provenance.sql)) == len(figure.rows)


def logarithmic(node: Any) -> Iterator[tuple[Any, str]]:
    """Every logarithmic scale of a spec, with the field that stands on it."""
    if isinstance(node, dict):
        if isinstance(node.get("scale"), dict) and node["scale"].get("type") == "log" and "field" in node:
            yield node["scale"], node["field"]
        for value in node.values():
            yield from logarithmic(value)
    elif isinstance(node, list):
        for value in node:
            yield from logarithmic(value)


@every_chart
def test_a_run_in_which_everything_failed_says_so(name: str) -> None:
    """A chart with the status in it, or a sentence with the next command; never a blank picture."""
    try:
        figure = drawn(name, "failed")
    except (NothingToShow, UnknownName) as error:
        assert "bench " in str(error)
    else:
        assert re.search("OOM|out of memory|0%|0 %|passing", figure.text(100, 12, False))


@every_chart
def test_the_same_store_draws_the_same_chart(name: str) -> None:
    """Equal data, equal bytes."""
    first, second = (drawn(name, "few") for _ in range(2))

    assert first.provenance == second.provenance
    assert json.dumps(first.still("f")) == json.dumps(second.still("f"))
    assert json.dumps(first.interactive()) == json.dumps(second.interactive())


@every_chart
@every_state
def test_the_data_come_as_a_table_in_every_format(tmp_path: Path, name: str, of: str) -> None:
    """A row for each that is drawn, with the names of the query."""
    figure = figure_of(name, of)
    written = {fmt: tmp_path / fmt for fmt in files.TABLES}
    for fmt, path in written.items():
        write_rows(figure.columns, figure.rows, fmt, path)

    with open(written["csv"], encoding="utf-8", newline="") as opened:
        header, *rows = csv.reader(opened)
    assert tuple(header) == figure.columns and len(rows) == len(figure.rows)
    assert [tuple(json.loads(line)) for line in written["jsonl"].read_text(encoding="utf-8").split("\n")[:-1]] == [
        figure.columns
    ] * len(figure.rows)
    assert len(written["markdown"].read_text(encoding="utf-8").split("\n")) == len(figure.rows) + 3
    assert parquet.read_metadata(written["parquet"]).num_rows == len(figure.rows)


@every_chart
@every_state
def test_the_image_has_its_size_and_is_not_blank(renderer: render.Renderer, name: str, of: str) -> None:
    """The inches asked for, with coloured marks in them."""
    pillow = pytest.importorskip("PIL.Image")
    (png,) = renderer.render([render.RenderRequest("png", figure_of(name, of).still("sans-serif"), 72)])
    picture = np.asarray(pillow.open(io.BytesIO(png)).convert("RGB"))

    width, height = figure_of(name, of).size
    assert abs(picture.shape[1] - width * 72) <= 1 and abs(picture.shape[0] - height * 72) <= 1
    assert (picture.max(axis=2) - picture.min(axis=2) > 60).sum() > 20


@pytest.fixture(scope="module")
def again() -> Iterator[dict[tuple[str, str], bytes]]:
    """Every chart as PNG at 72 dots per inch and as SVG, by one more renderer."""
    pytest.importorskip("vl_convert")
    wanted = [(name, kind) for name in CHARTS for kind in ("png", "svg")]
    with render.Renderer() as renderer:
        jobs = (render.RenderRequest(kind, figure_of(name, "few").still("sans-serif"), 72) for name, kind in wanted)
        yield dict(zip(wanted, renderer.render(jobs), strict=True))


@pytest.mark.exhaustive
@every_chart
def test_every_format_carries_where_the_chart_comes_from(
    tmp_path: Path, again: dict[tuple[str, str], bytes], renderer: render.Renderer, name: str
) -> None:
    """PNG, SVG, PDF, HTML and JSON; those of images are the same bytes again."""
    figure = figure_of(name, "few")
    wanted = files.targets([str(tmp_path / f"chart.{kind}") for kind in ("png", "svg", "pdf", "html", "json")], None)
    files.write(figure, wanted, renderer, ppi=72)

    for target in wanted:
        back = provenance.read(target.path)
        assert (back.chart, back.data_sha256, back.sql) == (
            name, figure.provenance.data_sha256, figure.provenance.sql,
        )  # fmt: skip
    embed = {"png": provenance.embed_png, "svg": provenance.embed_svg}
    for kind, carrying in embed.items():
        assert (tmp_path / f"chart.{kind}").read_bytes() == carrying(again[name, kind], figure.provenance)


@every_chart
def test_a_size_asked_for_is_kept(name: str) -> None:
    """`--size 8x5` is 8 by 5 inches, whatever the rows need."""
    assert drawn(name, "few", size=(8.0, 5.0)).size == (8.0, 5.0)


@every_chart
def test_a_title_asked_for_is_kept(name: str) -> None:
    """In the image, in the text and in what the file says about itself."""
    figure = drawn(name, "few", title="My own title")

    assert figure.provenance.title == "My own title"
    assert "My own title" in figure.text(100, 12, False)


@every_chart
def test_the_command_is_listed_with_its_use(name: str) -> None:
    """`bench viz --help` says what each chart is for, and the chart's own help how to draw it."""
    listed = CliRunner().invoke(viz, ["--help"]).stdout
    own = CliRunner().invoke(viz, [name, "--help"]).stdout

    assert name in listed
    assert CHARTS[name].endswith(".")
    assert f"bench viz {name}" in own
