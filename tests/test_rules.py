"""The rules of judgement: each stands in one place, and everything follows it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import bench.sql
import pytest
from bench.sql import rules

ROOT = Path(bench.sql.__file__).parents[1]
CHANGED = """
import runpy, sys
from bench.sql import rules
rules.FLOOR = rules.RULES["floor"] = 0.06
rules.FDR = rules.RULES["fdr"] = 0.11
from bench import sql
from bench.asking import OpenStore
from bench.query.comparison.compare import compare
from bench.query.regression.regressions import RegressionRule
from bench.viz.charts import movers
from bench.warehouse.settings import SETTINGS
import inspect
arguments = {a.name: a.default for a in sql.views()["comparisons"].arguments}
print(arguments["floor"], arguments["fdr"], RegressionRule().floor, RegressionRule().fdr, SETTINGS["floor"].default,
    *(inspect.signature(function).parameters["floor"].default for function in (compare, OpenStore.compare, movers.draw)))
"""


def test_everything_follows_a_changed_rule() -> None:
    """SQL defaults, Python, settings and charts have the floor and the false discovery rate of `rules.py`."""
    told = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True, check=True).stdout

    assert told.split() == ["0.06", "0.11", "0.06", "0.11", "0.06", "0.06", "0.06", "0.06"]


@pytest.mark.parametrize("name", ["floor", "fdr", "min_speedup", "max_compile_seconds", "min_compression"])
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
