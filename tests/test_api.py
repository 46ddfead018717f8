"""`bench.open`: the answers of the commands as values, and the notebook that shows them."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench
import pytest
from bench.api import OpenStore, Verdicts
from bench.warehouse.errors import BenchError, UnknownName

from .exhaustive import first_of

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> OpenStore:
    """Two runs, one of a model with a hostile name."""
    folder = tmp_path_factory.mktemp("asking") / ".bench"
    for config, cost in (("main", 1000), ("fuse", 500)):
        with bench.run(config, store=folder) as run:
            for model in ("mlp", HOSTILE):
                case = run.case(model, backend="eager")
                for sample in range(30):
                    case.timing(cost * 1000 + sample)
            for step in range(10):
                run.schedule_chunk([step + 1], schedule_ms=0.1, model_run_ms=5.0 + step)
    return bench.open(folder)


def test_a_query_gives_rows_in_every_form(store: OpenStore) -> None:
    """Parameters are values; several statements give the rows of the last."""
    found = store.sql("SELECT config, count(*) AS n FROM runs WHERE config > ? GROUP BY 1", ["a"])

    assert found.columns == ["config", "n"]
    assert sorted(found.rows()) == [("fuse", 1), ("main", 1)]
    assert sorted(row["config"] for row in found.dicts()) == ["fuse", "main"]
    assert found.arrow().column("n").to_pylist() == [1, 1]
    assert store.sql("SET threads = 1; SELECT 1 AS one").arrow().to_pylist() == [{"one": 1}]
    assert store.sql("FROM change_points").rows() == []


@pytest.mark.parametrize(("form", "package"), first_of(1, [("df", "pandas"), ("pl", "polars")]))
def test_a_data_frame_needs_its_package(store: OpenStore, form: str, package: str) -> None:
    """It is given where the package is installed; else the error says how to install it."""
    asked = getattr(store.sql("SELECT 1 AS one"), form)
    if importlib.util.find_spec(package):
        assert list(asked()["one"]) == [1]
    else:
        with pytest.raises(BenchError, match=f"this needs {package}, which is not installed. .*pip install {package}"):
            asked()


@pytest.mark.parametrize("form", first_of(1, ["rows", "arrow"]))
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM speedup", "no table or view 'speedup'. Nearest: speedups"),
        ("COPY runs TO 'x.csv'", "bench sql only reads: COPY is refused"),
        ("SELECT 'a'::INTEGER", "Could not convert"),
        ("SET threads = 1", "returns no rows"),
        ("", "the query is empty"),
    ],
)
def test_a_query_that_cannot_be_asked_is_an_error_that_says_why(
    store: OpenStore, form: str, query: str, message: str
) -> None:
    """In whatever form its rows are wanted."""
    with pytest.raises(BenchError, match=message):
        getattr(store.sql(query), form)()


@pytest.mark.exhaustive
def test_a_question_sees_what_was_recorded_since(tmp_path: Path) -> None:
    """Nothing has to be opened again."""
    with bench.run("first", store=tmp_path):
        pass
    store = bench.open(tmp_path)
    asked = store.sql("SELECT count(*) FROM runs")
    assert (asked.rows(), repr(store)) == ([(1,)], f"<store {tmp_path}: 1 run of 1 config>")
    with bench.run("second", store=tmp_path):
        pass

    assert asked.rows() == [(2,)]


def answers(store: OpenStore) -> dict[str, Any]:
    """Every kind of answer."""
    return {
        "sql": store.sql("SELECT name FROM cases"),
        "compare": store.compare("main", "fuse", where={"metric": ["latency"]}),
        "regressions": store.regressions("fuse"),
        "history": store.history(),
        "explain": store.explain("mlp", run="fuse"),
        "explain two sides": store.explain("main", "fuse", "mlp"),
        "report": store.report("fuse", "main"),
    }


def test_every_answer_prints_as_the_command_does_and_is_safe_html(store: OpenStore) -> None:
    """Names are escaped wherever they stand."""
    for name, answer in answers(store).items():
        assert repr(answer).strip(), name
        assert HOSTILE not in getattr(answer, "_repr_html_", str)(), name
    assert "&lt;script&gt;" in store.sql("SELECT name FROM cases")._repr_html_()


def test_a_comparison_carries_its_rows_and_its_result(store: OpenStore) -> None:
    """All columns of every row, and the value of the function behind the command."""
    found = store.compare("main", "fuse", where={"metric": ["latency"]})

    assert isinstance(found, Verdicts)
    assert sorted((row["name"], round(row["ratio"], 1)) for row in found.rows) == [(HOSTILE, 2.0), ("mlp", 2.0)]
    assert found.result.base.name == "main"
    assert "2.0" in repr(found)


def test_views_and_their_columns_are_values(store: OpenStore) -> None:
    """They are those that `bench views` lists and describes."""
    assert "speedups" in [row["name"] for row in store.views()]
    assert ("speedup", "DOUBLE") in [column[:2] for column in store.view("speedups").columns]
    with pytest.raises(UnknownName, match="Nearest: 'speedups'"):
        store.view("speedup")


def test_a_plan_needs_repeated_runs(store: OpenStore) -> None:
    """Two configs of one run each tell nothing of the noise; the error says what to do."""
    with pytest.raises(BenchError, match="the noise from run to run is not known"):
        store.plan(0.05)


def test_an_explanation_is_what_the_command_prints(store: OpenStore) -> None:
    """The figure, its statement and the samples; neither two names nor none are a case."""
    text = repr(store.explain("mlp", run="fuse"))

    assert "bench sql" in text and "samples" in text
    with pytest.raises(BenchError, match="want a case, or two sides and a case, and got 2 names"):
        store.explain("main", "fuse")


def test_what_is_in_a_run_is_asked_from_python(store: OpenStore) -> None:
    """Its cases are rows, and its details a table each."""
    assert {"mlp", HOSTILE} < {row["name"] for row in store.show("fuse").rows}
    assert "config" in repr(store.show("fuse", details=True))


def test_a_sandbox_reaches_no_files(store: OpenStore, tmp_path: Path) -> None:
    """Neither by a query nor by a chart of one; without it, a file is as near as in `bench sql`."""
    (tmp_path / "a.csv").write_text("x\n1\n")
    query = f"SELECT x FROM read_csv('{tmp_path}/a.csv')"
    shut = bench.open(store.store.root, sandbox=True)

    assert store.sql(query).rows() == [(1,)]
    with pytest.raises(BenchError, match="disabled by configuration"):
        shut.sql(query).rows()
    pytest.importorskip("altair")
    with pytest.raises(BenchError, match="disabled by configuration"):
        shut.figure("query", query=query)


def test_a_long_answer_says_that_it_is_cut(store: OpenStore) -> None:
    """A prompt and a notebook show the first rows."""
    found = store.sql("SELECT range AS x FROM range(100)")

    assert "the first 20 rows" in repr(found)
    assert "the first 20 rows" in found._repr_html_()
    assert len(found.rows()) == 100


def test_unknown_names_are_errors_with_the_nearest(store: OpenStore, tmp_path: Path) -> None:
    """Of charts, their options, runs, and stores."""
    with pytest.raises(UnknownName, match=r"no chart 'runtime-vs-token'\. Nearest: 'runtime-vs-tokens'"):
        store.chart("runtime-vs-token")
    with pytest.raises(UnknownName, match=r"no option 'confgs' in the chart runtime-vs-tokens\. Nearest: 'configs'"):
        store.chart("runtime_vs_tokens", confgs=["A"])
    with pytest.raises(UnknownName, match=r"no run 'mian' in .*Nearest: 'main'"):
        store.compare("mian", "fuse")
    with pytest.raises(BenchError, match="there is no store at"):
        bench.open(tmp_path / "none")


def test_a_chart_is_an_altair_chart(store: OpenStore) -> None:
    """With the data in it."""
    altair = pytest.importorskip("altair")

    chart = store.chart("runtime-vs-tokens", configs=["main"], trim=0)

    assert isinstance(chart, altair.TopLevelMixin)
    assert [len(values) for values in chart.to_dict()["datasets"].values()] == [10]


@pytest.mark.exhaustive
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells are executed as a notebook would; what a cell ends in shows itself, as a table where it is one."""
    pytest.importorskip("altair")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))

    assert all(map(repr, shown))
    assert sum(hasattr(value, "_repr_html_") for value in shown) == 5
    assert sum(hasattr(value, "_repr_mimebundle_") for value in shown) == 1
    assert names["store"].sql("SELECT count(*) FROM runs").rows() == [(11,)]
    assert all(cell["outputs"] == [] for cell in cells)


def test_asking_imports_nothing_heavy_until_it_asks() -> None:
    """`bench.open` alone costs what a command costs to start."""
    code = "import bench, sys; bench.open; print(sorted({'altair', 'duckdb', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)

    assert done.stdout.strip() == "[]"
