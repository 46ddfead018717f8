"""One number has one interval: every command, format, chart, tool and page prints what the views hold."""

import base64
import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.agents.tools import Questions
from bench.api import OpenStore
from bench.cli import cli
from bench.measure.functions.report import FUNCTION_COLUMNS, results
from bench.viz.publish import site
from bench.warehouse.database import Warehouse
from bench.warehouse.recorder import run as record
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...builders import stored
from ...exhaustive import sampled

Interval = tuple[float, float]
SIDES = ("base", "candidate")


def _recorded(folder: Path, *configs: str) -> Store:
    """A function in three processes that differ, measured as each of the configs; the last takes twice as long."""
    here = Store(folder / "store")
    for factor, config in enumerate(configs, 1):
        with record(config, store=here) as run:
            it = run.case("f", suite="function", backend="work:f")
            for number in range(30):
                process, block = divmod(number, 10)
                ns = factor * (100_000 + 700 * process + 100 * (block * 37 % 11))
                it.timing(ns, loops=10, details={"process": process, "block": block})
            it.outcome("ok")
    return here


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return _recorded(tmp_path_factory.mktemp("sides"), *SIDES)


def _said(store: Store, *words: str) -> str:
    found = CliRunner().invoke(cli, [*words, "--store", str(store.root)])
    assert found.exit_code == 0, found.output
    return found.output


def _numbers(pattern: str, text: str, scale: float = 1) -> Interval:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1]) * scale, float(found[2]) * scale


def _data(store: Store, kind: str) -> list[bytes]:
    """The bytes of each file of a kind of the site of the store."""
    folder = store.root.parent / "site"
    if not folder.exists():
        with Warehouse.open(store) as warehouse:
            site.publish(warehouse, folder, title="work")
    paths = (folder / "data").glob(f"{kind}-*.js")
    return [gzip.decompress(base64.b64decode(path.read_text(encoding="utf-8").split('"')[3])) for path in paths]


def _measured(store: Store) -> Interval:
    with Warehouse.open(store) as warehouse:
        (found,) = results(warehouse, warehouse.rows("SELECT max_by(run_id, started_at) FROM runs")[0][0])
    row = dict(zip(FUNCTION_COLUMNS, found.values(), strict=True))
    return row["time_low_ns"], row["time_high_ns"]


def _tile(store: Store) -> Interval:
    """The interval of the slower run; the two runs are in one tile or, as their ids have it, in two."""
    found: list[Interval] = []
    for data in _data(store, "tile"):
        size = 4 + int.from_bytes(data[:4], "little")
        header = json.loads(data[4:size])
        assert header["more"][:2] == ["median_low", "median_high"]
        runs = header["runs"]
        lows, highs = np.frombuffer(data, "<f4", 2 * runs, size + 8 * runs * len(header["series"])).reshape(2, runs)
        found += zip(lows.tolist(), highs.tolist(), strict=True)
    assert len(found) == 2
    return max(found)


def _drawn(store: Store) -> Interval:
    path = store.root.parent / "samples.csv"
    _said(store, "viz", "distribution", "latest", "-o", str(path))
    *_, row = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return float(row["median_low"]), float(row["median_high"])


def _of_row(rows: object) -> Interval:
    (row,) = (row for row in rows if row["metric"] == "latency")  # type: ignore[attr-defined]
    return row["low"], row["high"]


def _of_csv(text: str) -> Interval:
    (row,) = (row for row in csv.DictReader(text.splitlines()) if row["metric"] == "latency")
    return float(row["low"]), float(row["high"])


VALUES: dict[str, Callable[[Store], Interval]] = {
    "measure function": _measured,
    "show": lambda store: _numbers(r"([\d.]+)–([\d.]+) µs", _said(store, "show"), 1000),
    "show as CSV": lambda store: _of_csv(_said(store, "show", "--format", "csv")),
    "show as JSON": lambda store: _of_row(json.loads(_said(store, "show", "--format", "json"))),
    "explain": lambda store: _numbers(r"95 % ([\d.]+)[ µs]*–([\d.]+) µs", _said(store, "explain", "f"), 1000),
    "report": lambda store: _numbers(r"([\d.]+)–([\d.]+) µs", _said(store, "report"), 1000),
    "a chart's data": _drawn,
    "Python": lambda store: _of_row(OpenStore(store).show("latest").rows),
    "an agent's tool": lambda store: _of_row(Questions(OpenStore(store)).show(["latest"]).rows),
    "a site": _tile,
}
CHANGE = r"95 % \+([\d.]+) to \+([\d.]+)"
SLOWER = r"x slower \(95 % ([\d.]+)–([\d.]+)\)"


def _inverse(interval: Interval) -> Interval:
    """How many times slower, of a ratio above 1 where it is better."""
    return 1 / interval[1], 1 / interval[0]


def _more(percent: Interval) -> Interval:
    """How many times slower, of a change in percent."""
    return 1 + percent[0] / 100, 1 + percent[1] / 100


RATIOS: dict[str, Callable[[Store], Interval]] = {
    "compare": lambda store: _numbers(SLOWER, _said(store, "compare", *SIDES)),
    "compare as CSV": lambda store: _inverse(_of_csv(_said(store, "compare", *SIDES, "--format", "csv"))),
    "compare as JSON": lambda store: _inverse(_of_row(json.loads(_said(store, "compare", *SIDES, "--format", "json")))),
    "compare as Markdown": lambda store: _numbers(SLOWER, _said(store, "compare", *SIDES, "--format", "markdown")),
    "explain": lambda store: _numbers(SLOWER, _said(store, "explain", *SIDES, "f")),
    "report": lambda store: _numbers(SLOWER, _said(store, "report", *SIDES)),
    "Python": lambda store: _inverse(_of_row(OpenStore(store).compare(*SIDES).rows)),
    "an agent's tool": lambda store: _inverse(_of_row(Questions(OpenStore(store)).compare(*SIDES).rows)),
    "a site": lambda store: _numbers(SLOWER, b"".join(_data(store, "pair")).decode()),
    "regressions": lambda store: _more(
        _numbers(CHANGE, _said(_recorded(store.root.parent / "nights", "n", "n"), "regressions"))
    ),
}


@pytest.fixture(scope="module")
def known(store: Store) -> tuple[Interval, Interval]:
    """What the views hold of the candidate: its time, and how many times slower it is."""
    runs = "(SELECT [{}_by(run_id, started_at)] FROM runs)"
    time = "SELECT arg_max(median_low, median), arg_max(median_high, median) FROM cells WHERE metric = 'latency'"
    ratio = f"SELECT 1 / high, 1 / low FROM comparisons({runs.format('min')}, {runs.format('max')}) WHERE verdict = 'SLOWER'"
    of_time, of_ratio = (stored(query, store) for query in (time, ratio))
    return of_time[0], of_ratio[0]


@pytest.mark.parametrize("door", sampled([*VALUES], *[*VALUES][1::4]))
def test_a_value_has_one_interval(store: Store, known: tuple[Interval, Interval], door: str) -> None:
    """That of `cells`, which counts processes, whoever prints it."""
    assert known[0][1] / known[0][0] > 1.02
    assert VALUES[door](store) == pytest.approx(known[0], rel=1e-3)


@pytest.mark.parametrize("door", sampled([*RATIOS], *[*RATIOS][::4]))
def test_a_ratio_has_one_interval(store: Store, known: tuple[Interval, Interval], door: str) -> None:
    """That of `comparisons`, which adds what sessions are assumed to do, whoever prints it."""
    assert known[1][1] / known[1][0] > 1.1
    assert RATIOS[door](store) == pytest.approx(known[1], rel=0.01)
