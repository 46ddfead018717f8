"""The rules of judgement: each stands in one place, and everything follows it."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import bench.sql
import pytest
from bench.cli import cli
from bench.sql import rules
from bench.warehouse.database import Warehouse
from bench.warehouse.recorder import run
from bench.warehouse.settings import FloorRule, floor_of
from bench.warehouse.store import Store
from click.testing import CliRunner

from .exhaustive import sampled

ROOT = Path(bench.sql.__file__).parents[1]
CHANGED = """
import runpy, sys
from bench.sql import rules
rules.FLOOR = rules.RULES["floor"] = 0.06
rules.FDR = rules.RULES["fdr"] = 0.11
from bench import sql
from bench.api import OpenStore
from bench.query.comparison.compare import compare
from bench.query.regression.regressions import RegressionRule
from bench.viz.charts import movers
from bench.warehouse.settings import SETTINGS
import inspect
arguments = {a.name: a.default for a in sql.views()["comparisons"].arguments}
print(arguments["fdr"], RegressionRule().fdr, SETTINGS["floor"].default, "0.06e0" in sql.views()["_floor_of"].body,
    arguments["floor"], RegressionRule().floor,
    *(inspect.signature(function).parameters["floor"].default for function in (compare, OpenStore.compare, movers.draw)))
"""


def test_everything_follows_a_changed_rule() -> None:
    """SQL, Python and settings have the false discovery rate of `rules.py`; its floor is in one place, which all ask."""
    told = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True, check=True).stdout

    assert told.split() == ["0.11", "0.11", "0.06", "True", "NULL", *["None"] * 4]


@pytest.mark.parametrize("name", ["fdr", "min_speedup", "max_compile_seconds", "min_compression"])
def test_no_header_writes_a_rule_out(name: str) -> None:
    """An argument with the name of a rule has its value, whatever that is."""
    values = {
        (view.name, argument.default)
        for view in bench.sql.views().values()
        for argument in view.arguments or ()
        if argument.name == name and argument.default is not None
    }

    assert {default for _, default in values} == {f"{rules.RULES[name]:g}"}
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "sql").rglob("*.sql")}
    assert [file for file, text in texts.items() if re.search(rf"\b{name} := [\d.]", text)] == []


def test_a_text_without_rules_stays_as_it_is() -> None:
    """Braces of structs are no rules."""
    assert rules.with_rules("{'floor': 1} {unknown} {floor}") == f"{{'floor': 1}} {{unknown}} {rules.FLOOR:g}"
    assert inspect.getdoc(rules)


FLOORS = """
floor = "4%"
floors = [{ metric = "rss_*", floor = "1%" }, { case = "io/*", floor = "60%" }, { case = "io/[x]?", floor = 0.5 }]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A project with floors of its own, and a store in which three runs of `base` took 1 ms and three of `slow` 1.5 ms."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_FLOOR", raising=False)
    (tmp_path / "bench.toml").write_text(FLOORS)
    store = Store(tmp_path / ".bench")
    for config, level in (("base", 1000), ("slow", 1500)):
        for turn in range(3):
            with run(config, store=store, run_id=f"{config}-{turn}") as recorder:
                for name in ("io/read", "work"):
                    case = recorder.case(name)
                    for i in range(10):
                        case.timing(1000 * (level + turn + i))
                    case.metric("rss_peak", level + turn, unit="bytes", better="lower")
                    case.outcome("ok")
    return store


def verdicts(*options: str) -> dict[str, str]:
    """The verdicts on latency by case, and by the floor that held, as `bench compare` says them."""
    asked = ["compare", "base", "slow", "--all-runs", "--format", "json", *options]
    rows = json.loads(CliRunner().invoke(cli, asked).stdout)
    return {f"{row['name']} {row['metric']} {row['floor']:g}": row["verdict"] for row in rows}


def test_floors_of_the_project_hold_by_metric_and_case(project: Store) -> None:
    """The last rule that fits counts, then the project's floor; an option overrules all, and regressions judges alike."""
    assert verdicts("--metrics", "latency") == {"io/read latency 0.6": "SAME", "work latency 0.04": "SLOWER"}
    assert verdicts("--metrics", "rss_peak") == {"io/read rss_peak 0.6": "SAME", "work rss_peak 0.01": "WORSE"}
    assert verdicts("--metrics", "latency", "--floor", "3%") == {
        "io/read latency 0.03": "SLOWER",
        "work latency 0.03": "SLOWER",
    }

    with Warehouse.open(project) as warehouse:
        reasons = dict(warehouse.rows("SELECT name, reason FROM regressions(['slow-2']) WHERE unit = 'ns'"))
    found = {name: reason.partition(";")[0] for name, reason in reasons.items()}
    assert found == {"io/read": "within 60 %", "work": "within 4 %"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sampled(["io/read", "io/[x]y", "io", "work", "i\no/", "IO/x"], "io/[x]y"))
def test_python_reads_floors_as_sql_does(project: Store, name: str) -> None:
    """A pattern with * and ? means the same to a search for a commit, and signs of regular expressions are letters."""
    for metric in ("latency", "rss_peak", "RSS_peak"):
        with Warehouse.open(project) as warehouse:
            ((floor,),) = warehouse.rows(
                "SELECT _floor_of(NULL, floors, floor_metrics, floor_names, ?, ?) FROM _floor_rules", [metric, name]
            )

        assert floor == floor_of(metric, name)
    assert FloorRule("*", "a.c", 1).fits("", "a.c") and not FloorRule("*", "a.c", 1).fits("", "abc")
