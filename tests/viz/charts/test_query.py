"""query: what is inferred from columns, what is counted, and whose spec may be drawn."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.viz import user_spec
from bench.viz.charts.query import draw
from bench.viz.command import viz
from bench.viz.output.figure import Figure
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.recorder import run
from click.testing import CliRunner

from ...builders import Builder
from ...exhaustive import first_of
from ..steps import fields
from ..stores import HOSTILE, state

POINTS = "SELECT * FROM (VALUES (1, 10.0, 'a'), (2, 20.0, 'a'), (1, 5.0, 'b')) AS t(tokens, run_ms, config)"
BARS = {"mark": "bar", "encoding": {"x": {"field": "config"}, "y": {"field": "run_ms", "type": "quantitative"}}}


@pytest.fixture(scope="module")
def empty() -> Warehouse:
    """A store whose tables hold nothing: literals are all these queries need."""
    return Builder()


def axis(figure: Figure, which: str) -> Any:
    return figure.spec(False)["layer"][0]["encoding"][which]


def said(figure: Figure) -> str:
    return " ".join(figure.spec(False)["title"]["subtitle"])


def test_numbers_over_numbers_are_points(empty: Warehouse) -> None:
    """x is the first column and y the next of numbers; the unit is what the name ends in."""
    figure = draw(empty, POINTS, color="config")

    assert fields(figure, "series", "x", "y") == [("a", 1, 10.0), ("a", 2, 20.0), ("b", 1, 5.0)]
    assert (axis(figure, "x")["title"], axis(figure, "y")["title"]) == ("tokens", "run [ms]")
    assert figure.spec(False)["layer"][0]["mark"]["type"] == "point"
    assert figure.columns == ("tokens", "run_ms", "config")
    assert figure.provenance.title == "Run over tokens, by config"


def test_numbers_over_names_are_bars(empty: Warehouse) -> None:
    """Whichever of the two is called x; the unit is the one that suits the values."""
    query = "SELECT * FROM (VALUES ('a', 2e9), ('b', 5e9)) AS t(name, compile_ns)"

    for figure in (draw(empty, query), draw(empty, query, x="compile_ns", y="name")):
        assert fields(figure, "row", "value") == [("a", 2.0), ("b", 5.0)]
        assert axis(figure, "x")["title"] == "compile [s]"


def test_numbers_over_time_are_a_line(empty: Warehouse) -> None:
    """In UTC, whatever the zone of the column; infinity has no place."""
    query = """SELECT * FROM (VALUES (TIMESTAMP '2026-01-01 12:00:00', 1), ('infinity', 2), ('2026-01-02', 3)) AS t(began, n)"""
    figure = draw(empty, query)

    assert axis(figure, "x")["type"] == "temporal"
    assert fields(figure, "x", "t0") == [(1767268800000, "2026-01-01 12:00:00"), (1767312000000, "2026-01-02 00:00:00")]
    assert said(figure) == "2 of 3 rows · 1 NaN or infinite"
    assert "2026-01-01 18:00" in figure.text(80, 10, False)
    assert fields(draw(empty, query.replace("TIMESTAMP", "TIMESTAMPTZ").replace("12:00:00", "13:00:00+01")), "x")[
        0
    ] == (1767268800000,)


def test_what_cannot_be_drawn_is_counted_with_its_reason(empty: Warehouse) -> None:
    """NULL, NaN, infinity, and on a logarithmic axis what is not above 0: read is the sum of all."""
    query = "SELECT * FROM (VALUES (1, 1e0), (2, NULL), (3, 'nan'), (4, 'inf'), (5, 0.0), (6, -1.0), (NULL, 1.0)) AS t(x, y)"

    (counts,) = draw(empty, query).provenance.counts
    figure = draw(empty, query, log_y=True)

    assert counts == {"of": "query", "read": 7, "null": 2, "not_finite": 2, "drawn": 3}
    assert figure.provenance.counts[0] == {
        "of": "query", "read": 7, "null": 2, "not_finite": 2, "not_positive": 2, "drawn": 1,
    }  # fmt: skip
    assert said(figure) == "1 of 7 rows · 2 NULL, 2 NaN or infinite, 2 not above 0 on a logarithmic axis"


def test_a_row_without_a_number_is_a_bar_that_says_so(empty: Warehouse) -> None:
    """A missing bar would look like a bar of 0."""
    figure = draw(empty, "SELECT * FROM (VALUES ('a', 1e0), ('b', NULL), ('c', 'nan'), ('d', 0.0)) AS t(name, y)")

    assert fields(figure, "row", "value", "note") == [
        ("a", 1.0, ""), ("b", None, "NULL"), ("c", None, "NaN or infinite"), ("d", 0.0, ""),
    ]  # fmt: skip
    with pytest.raises(NothingToShow, match="none of 1 row can be drawn: 1 NULL"):
        draw(empty, "SELECT 'a' AS name, NULL::INTEGER AS y")


def test_no_name_is_a_name(empty: Warehouse) -> None:
    """Rows grouped by what is not always known have one for NULL, as series have; it is no reason to leave them out."""
    figure = draw(empty, "SELECT * FROM (VALUES ('a', 1), (NULL, 2)) AS t(name, y)")

    assert fields(figure, "row", "value", "note") == [("a", 1.0, ""), ("NULL", 2.0, "")]
    assert said(figure) == "all 2 rows"


def test_bars_of_one_name_get_numbers(empty: Warehouse) -> None:
    """One would hide the other."""
    figure = draw(empty, "SELECT 'a' AS name, 1 AS y UNION ALL SELECT 'a', 2")

    assert [row for (row,) in fields(figure, "row")] == ["a", "a #2"]


def test_many_bars_and_many_series_are_cut_and_said(empty: Warehouse) -> None:
    """The first bars in the order of the query; the series with the most rows."""
    bars = draw(empty, "SELECT 'n' || i AS name, i AS y FROM range(150) t(i)")
    series = draw(
        empty, "SELECT i AS x, i AS y, 's' || least(i, 60) AS s FROM range(100) t(i)", x="x", y="y", color="s"
    )

    assert (len(bars.rows), bars.rows[0][0]) == (100, "n0")
    assert said(bars) == "100 of 150 rows · 50 beyond the first"
    assert "ORDER BY" in bars.notes[0]
    assert len(series.names) == 40 and "s60" in {name for name, _ in series.names}
    assert series.provenance.counts[0]["other_series"] == 21


@pytest.mark.parametrize("options", first_of(1, [{"log_x": True, "log_y": True}, {}]))
def test_many_points_become_those_one_can_see(empty: Warehouse, options: dict[str, Any]) -> None:
    """Their ends stay, each says for how many it stands, and the query in the file gives them again."""
    query = "SELECT i + 1 AS x, 1 + (i * 7919) % 50000 AS y, 'abb'[1 + i % 3] AS c FROM range(50000) t(i)"
    figure = draw(empty, query, color="c", **options)

    assert 1000 < len(figure.rows) < 30_000
    assert sum(n for (n,) in fields(figure, "t0")) == 50_000
    assert {1, 50_000} <= {x for (x,) in fields(figure, "x")}
    assert len(empty.rows(figure.provenance.sql)) == len(figure.rows)
    counts = figure.provenance.counts[0]
    assert counts["hidden"] + counts["drawn"] == counts["read"]


def test_names_are_found_as_sql_finds_them_and_told_where_wrong(empty: Warehouse) -> None:
    """Upper or lower case is the same; the nearest is named."""
    assert draw(empty, POINTS, x="TOKENS", y="Run_MS").columns[:2] == ("tokens", "run_ms")
    with pytest.raises(UnknownName, match=r"no column 'run_m' in what the query gives. Nearest: 'run_ms'"):
        draw(empty, POINTS, y="run_m")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1; SELECT 2", "one SELECT; this is SELECT, SELECT"),
        ("DROP TABLE runs", "only reads: DROP is refused"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "only reads: COPY is refused"),
        ("", "this is nothing"),
        ("SELEC 1", "syntax error"),
        ("FROM speedup", "no table or view 'speedup'. Nearest: speedups"),
        ("SELECT 1 AS a", "the query gives a INTEGER"),
        ("SELECT 'a' AS a, 'b' AS b", "the query gives a VARCHAR, b VARCHAR"),
    ],
)
def test_errors_say_what_to_do(empty: Warehouse, query: str, message: str) -> None:
    """One sentence names the fault; nothing is left behind."""
    with pytest.raises(BenchError, match=message):
        draw(empty, query)
    assert not [name for (name,) in empty.rows("SELECT table_name FROM duckdb_tables() WHERE temporary")]


def test_strange_columns_are_only_names(empty: Warehouse) -> None:
    """Dots, brackets, quotes, and what a tooltip would take for an image."""
    figure = draw(empty, """SELECT 1 AS "a.b[0]", 2 AS "it's ""y""\n", 'javascript:alert(1)' AS image, 3 AS title""")

    assert figure.columns == ("a.b[0]", 'it\'s "y"\n', "image", "title")
    titles = {tip["title"] for tip in figure.spec(True)["layer"][0]["encoding"]["tooltip"]}
    assert {"image (column)", "title (column)"} <= titles
    assert not {"image", "title"} & titles


def test_a_semicolon_and_a_comment_may_end_a_query(empty: Warehouse) -> None:
    """As people paste them."""
    assert len(draw(empty, f"{POINTS};  -- done").rows) == 3
    assert len(draw(empty, f"{POINTS} -- done; really").rows) == 3


def test_rows_become_the_data_of_a_spec_of_ones_own(empty: Warehouse) -> None:
    """With its title and its config; structs and instants as JSON has them."""
    query = f"SELECT *, TIMESTAMP '2026-01-01' AS began, {{'k': [1, 2]}} AS s FROM ({POINTS})"
    figure = draw(empty, query, spec={**BARS, "title": {"text": "Mine"}, "config": {"bar": {"color": "red"}}})
    spec = figure.interactive()

    assert spec["data"]["values"][0] == {
        "tokens": 1, "run_ms": 10.0, "config": "a", "began": "2026-01-01T00:00:00Z", "s": {"k": [1, 2]},
    }  # fmt: skip
    assert spec["title"]["text"] == ["Mine"] and spec["title"]["subtitle"] == ["all 3 rows of the query"]
    asked = draw(empty, query, spec={**BARS, "title": "Mine"}, title="Asked for").spec(False)
    assert asked["title"]["text"] == ["Asked for"]
    assert spec["config"]["bar"] == {"color": "red"} and spec["config"]["axis"]
    assert figure.notes == []


@pytest.mark.parametrize(
    "part",
    [
        {"data": {"url": "https://example.invalid/x.csv"}},
        {"transform": [{"lookup": "k", "from": {"data": {"url": "file:///etc/passwd"}, "key": "k"}}]},
        {"mark": {"type": "point", "href": "javascript:alert(1)"}},
        {"encoding": {"href": {"field": "config"}}},
        {"mark": "image"},
        {"layer": [{"mark": {"type": "image"}}]},
        {"usermeta": {"embedOptions": {"loader": {}}}},
        {"$schema": "https://vega.github.io/schema/vega/v6.json"},
    ],
)
def test_a_spec_that_would_fetch_is_refused(empty: Warehouse, part: dict[str, Any]) -> None:
    """Data, links, images, loaders; and what is no Vega-Lite."""
    with pytest.raises(BenchError, match="spec"):
        draw(empty, POINTS, spec={**BARS, **part})


def test_a_spec_that_draws_what_the_query_lacks_is_warned_of(empty: Warehouse) -> None:
    """A wrong field name makes a blank chart without a word."""
    spec = {"mark": "bar", "encoding": {"y": {"field": "rum_ms"}, "x": {"field": "made"}},
            "transform": [{"calculate": "1", "as": "made"}]}  # fmt: skip

    assert draw(empty, POINTS, spec=spec).notes == [
        "the spec draws the field 'rum_ms', which the query does not give. Nearest: 'run_ms'."
    ]


def test_too_many_rows_for_a_spec_are_an_error(empty: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take the renderer all its memory."""
    monkeypatch.setattr(user_spec, "MOST_ROWS", 2)

    with pytest.raises(BenchError, match="3 rows, and a spec draws them as they are: 2 at most"):
        draw(empty, POINTS, spec=BARS)


def test_a_spec_says_what_to_draw_alone(empty: Warehouse) -> None:
    """Two answers to one question are an error."""
    with pytest.raises(BenchError, match="leave out --x"):
        draw(empty, POINTS, spec=BARS, x="tokens")


@pytest.mark.parametrize("content", ["", "[1]", "{", "\x00"])
def test_a_file_that_is_no_spec_says_so(tmp_path: Path, content: str) -> None:
    """Not a traceback."""
    (tmp_path / "spec.json").write_text(content)

    with pytest.raises(BenchError, match="spec"):
        user_spec.SpecFile().convert(tmp_path / "spec.json", None, None)


@pytest.mark.exhaustive
def test_the_command_keeps_the_query_in_the_store(tmp_path: Path) -> None:
    """Files are out of its reach; every format comes out."""
    pytest.importorskip("vl_convert")
    with run("A", store=tmp_path / "store") as recording:
        recording.schedule_chunk([5], model_run_ms=5.0)
    (tmp_path / "spec.json").write_text(json.dumps(BARS))

    def invoke(query: str, *arguments: str) -> Any:
        return CliRunner().invoke(viz, ["query", query, *arguments, "--store", str(tmp_path / "store")])

    names = [f"chart.{ending}" for ending in ("png", "svg", "pdf", "html", "json", "csv", "md")]
    wanted = [part for name in names for part in ("-o", str(tmp_path / name))]
    assert invoke(POINTS, *wanted).exit_code == 0
    assert all((tmp_path / name).stat().st_size for name in names)
    assert invoke(POINTS, "--spec", str(tmp_path / "spec.json"), *wanted).exit_code == 0
    outside = invoke(f"FROM read_text('{tmp_path}/spec.json')")
    assert isinstance(outside.exception, BenchError) and "disabled" in str(outside.exception)


def test_hostile_rows_are_only_text_in_a_spec_of_ones_own() -> None:
    """They reach the page as data; see test_browser."""
    spec = {
        "mark": {"type": "text", "tooltip": {"content": "data"}},
        "encoding": {"text": {"field": "name"}, "y": {"field": "name"}},
    }
    figure = draw(state("hostile"), "SELECT DISTINCT name FROM cases ORDER BY ALL", spec=spec)

    assert [name for (name,) in figure.rows] == sorted(HOSTILE)


def test_the_only_series_is_named(empty: Warehouse) -> None:
    """One has no legend, so the subtitle says which it is."""
    figure = draw(empty, "SELECT 'a' AS name, 1 AS v, 'inductor' AS backend", color="backend")

    assert figure.spec(False)["title"]["subtitle"] == ["inductor · the only row"]
