"""Explanations: what is printed is what the printed statement gives, down to samples, files and lines."""

import csv
import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.explain.explain import explain_case, explain_geomean
from bench.query.pasteable_sql import fill, paste
from bench.warehouse import events
from bench.warehouse.console.numbers import amount, ratio
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from bench.warehouse.recorder import run as record
from bench.warehouse.store import Store
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ..builders import Builder, case, chunk, metric, options, outcome, run, source, timing
from ..exhaustive import exhaustive
from .conftest import AXES, Bench

NASTY = "x'; DROP TABLE runs; --\"$(id)`\\!\n\x1b[31m 中"
SHOWN: dict[str, Callable[[float], str]] = {
    "latency": lambda ns: amount(ns, "ns"), "rss_peak": lambda size: f"{size / 2**20:.4g} MiB", "graph_breaks": "{:g}".format,
}  # fmt: skip
STATEMENT = re.compile(r"^  (bench sql .*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A run of two backends in blocks, slow where it was interrupted; a failure; names of the nastiest kind."""
    store = Store(tmp_path_factory.mktemp("explain") / "it's [a] store")
    with record(NASTY, store=store.root, run_id="r-1", suite="builtin") as recorder:
        for name in ("mlp", NASTY):
            for backend, each in (("eager", 2000), ("inductor", 1000)):
                it = recorder.case(name, backend=backend, **AXES)  # type: ignore[arg-type]
                it.timing(9000, phase="cold")
                for block in range(20):
                    interrupted = block % 5 == 4
                    details = {
                        "block": block,
                        "process": 0,
                        "involuntary_switches": 3 * interrupted,
                        "gc_collections": 0,
                    }
                    it.timing(each + block + 500 * interrupted, details=details)
                it.memory(2**20, source="rss", phase="steady")
                it.metric("graph_breaks", 3.0, unit="count")
                it.outcome("ok")
        recorder.case("broken", backend="eager").outcome("OOM", reason="no memory", stderr_tail="one\n\x1b[31mtwo")
    return store


@pytest.fixture
def ask(recorded: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command line against that store."""
    monkeypatch.setenv("BENCH_STORE", str(recorded.root))
    return lambda *arguments: CliRunner().invoke(cli, arguments, catch_exceptions=True)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mlp", NASTY])
@pytest.mark.parametrize("metric_", ["latency", "rss_peak", "graph_breaks"])
def test_every_printed_statement_gives_what_is_printed_above_it(
    ask: Callable[..., Result], recorded: Store, name: str, metric_: str
) -> None:
    """Figures by their value, tables by their rows; pasted into a shell word for word."""
    from bench.warehouse.database import Warehouse

    arguments = ("explain", name, "--backend", "inductor", "--metric", metric_)
    printed = STATEMENT.findall(ask(*arguments, "--sql").stdout)
    with Warehouse.open(recorded) as warehouse:
        parts = explain_case(warehouse, name, backend="inductor", metric=metric_).parts
    stated = [part for part in parts if part.sql is not None]

    assert len(printed) == len(stated)
    for command, part in zip(printed, stated, strict=True):
        found = json.loads(ask(*shlex.split(command)[1:], "--format", "json").stdout)
        if part.figure:
            (row,) = found
            if "speedup" in row:
                assert str(ratio(row["speedup"], row["low"], row["high"], row["n"])) in part.sentences[0]
            else:
                assert f"median {SHOWN[metric_](row['median'])} " in part.sentences[0]
        else:  # the last words of a worker are sentences, and no column of the table
            width = len(part.columns)
            assert [list(row.values())[:width] for row in found] == json.loads(json.dumps(part.rows))


def test_an_explanation_names_what_stands_behind_the_figure(ask: Callable[..., Result]) -> None:
    """Its doubt, the speedup, all phases, the samples, what disturbed them, the outcome and the file."""
    text = ask("explain", "mlp", "--backend", "inductor").stdout

    assert text.startswith("mlp inference cpu float32 8 inductor\ncase ")
    assert "\nlatency, steady\n  median 1.012 µs (95 % 1.006 µs–1.017 µs, n=20); quartiles " in text
    assert re.search(r"\nspeedup\n  1\.9\d*x \(95 % 1\.9\d*–2\.0\d*, n=16\) over eager: trimmed mean of the logs", text)
    assert re.search(r"\nphases\nphase .*\n─.*\ncold +1 +9 µs .*\nsteady +20 ", text)
    assert "\nsamples (first and last 3 of 21; all with --format csv)\n" in text
    assert "beyond chance (rank correlation): involuntary_switches (+0.69)" in text
    assert "4 of 20 lie more than 1.5 quartile ranges outside the quartiles" in text
    assert re.search(r"\nrecorded in\npath +records\n.*\n.*/events/timings/.*\.parquet +21\n", text)
    assert "\nmeasure it again\n  " in text
    assert text.count("bench sql") == 2


def test_formats_carry_every_sample(ask: Callable[..., Result]) -> None:
    """Unrounded, warm-up and cold ones among them, and nothing else."""
    found = rows(ask("explain", "mlp", "--backend", "eager", "--format", "csv").stdout)

    assert len(found) == 21
    assert [found[0]["phase"], found[0]["each_ns"], found[-1]["block"]] == ["cold", "9000.0", "19"]


@pytest.mark.exhaustive
def test_nothing_printed_can_steer_a_terminal(ask: Callable[..., Result]) -> None:
    """Names with escapes and line breaks, and what a worker wrote last, are shown and not sent."""
    for arguments in ([NASTY, "--backend", "eager", "--sql"], ["broken"], ["geomean"]):
        result = ask("explain", *arguments)
        assert result.exception is None
        assert all(line.isprintable() for line in result.stdout.split("\n"))


def test_a_case_without_a_number_is_explained_by_its_end(ask: Callable[..., Result]) -> None:
    """Status, reason, and the last words of its worker."""
    text = ask("explain", "broken").stdout

    assert re.search(r"performance +OOM +no memory", text)
    assert "last words on stderr:\n    one\n    \\x1b[31mtwo\n" in text
    assert rows(ask("explain", "broken", "--format", "csv").stdout)[0]["status"] == "OOM"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mlp"], r"'mlp' is 2 cases. Give --backend, or the beginning of an id:\n  \w{16}  mlp .*eager\n"),
        (["mpl"], "no case 'mpl'. Nearest: 'mlp'"),
        (["mlp", "--backend", "inducter"], "no backend 'inducter' in case 'mlp'. Nearest: 'inductor'"),
        (["mlp", "--backend", "eager", "--metric", "latencies"], "no metric 'latencies' .* Nearest: 'latency'"),
        (["mlp", "--run", "r-2"], "no run 'r-2'"),
        (["geomean", "--backend", "inducter"], "no backend 'inducter' in run r-1. Nearest: 'inductor'"),
        (["a", "b"], "bench explain CASE"),
        (["a", "b", "c", "--run", "r-1"], "--run works only with a single case"),
        (["geomean", "--metric", "latency"], "--metric works only with two sides"),
    ],
)
def test_a_mistake_is_answered_with_the_cure(ask: Callable[..., Result], arguments: list[str], message: str) -> None:
    """The nearest name, or the ids to choose from."""
    error = ask("explain", *arguments).exception

    assert isinstance(error, BenchError)
    assert re.search(message, str(error))


def test_a_measured_speedup_is_explained_with_the_latency(ask: Callable[..., Result]) -> None:
    """It is no metric of its own."""
    arguments = ("explain", "mlp", "--backend", "inductor")

    assert ask(*arguments, "--metric", "speedup").stdout == ask(*arguments).stdout


def test_the_beginning_of_an_id_is_enough(ask: Callable[..., Result]) -> None:
    """Several cases of one name have different ids."""
    case_id = rows(
        ask("sql", "SELECT case_id FROM cases WHERE name = 'mlp' AND backend = 'eager'", "--format", "csv").stdout
    )

    assert ask("explain", case_id[0]["case_id"][:8]).stdout.startswith("mlp inference cpu float32 8 eager\n")


def test_a_chart_is_explained_elsewhere(ask: Callable[..., Result], tmp_path: Path) -> None:
    """By the command that reads what the file carries."""
    (tmp_path / "c h.png").touch()

    assert f"bench viz explain '{tmp_path}/c h.png'" in str(ask("explain", str(tmp_path / "c h.png")).exception)


@exhaustive
def test_another_store_stands_in_the_command(recorded: Store, bench: Bench) -> None:
    """A printed command can be pasted anywhere."""
    printed = STATEMENT.findall(bench("explain", "mlp", "--backend", "eager", "--store", str(recorded.root)).stdout)

    assert shlex.split(printed[0])[-2:] == ["--store", str(recorded.root)]
    assert bench(*shlex.split(printed[0])[1:]).exception is None


def imported() -> Any:
    """A file of results: a speedup and a latency on its third line, in a unit of its own, and a failure on its fourth."""
    fine, failed = (case(name, backend="inductor", source_id="a.csv", line=line) for name, line in (("m", 3), ("n", 4)))
    return Builder().add(
        run("run", "A: b", source="torch-compile"), source("a.csv", lines=4, config="A: b"), fine, failed,
        metric(fine, "speedup", 1.5, unit="ratio", source_id="a.csv", line=3),
        metric(fine, "absolute_latency", 2e6, unit="ns", original_value="2.0", original_unit="ms", source_id="a.csv", line=3),
        outcome(fine, source_id="a.csv", line=3), outcome(failed, "fail_to_run", source_id="a.csv", line=4),
    )  # fmt: skip


def test_an_imported_figure_leads_to_its_line() -> None:
    """The file, the line and the text as it was written; what loads it again."""
    warehouse = imported()
    found = explain_case(warehouse, "m", metric="absolute_latency")
    parts = {part.title: part for part in found.parts}

    assert parts["absolute_latency"].sentences == ["median 2 ms (n=1)"]
    assert found.data.rows == [(None, 2e6, "ns", "2.0", "ms", "profiles/a.csv", 3)]
    assert parts["imported from"].rows == [("profiles/a.csv", 3, 3, 1)]
    assert parts["measure it again"].sentences == ["bench ingest 'A: b:profiles/a.csv'"]
    warehouse.add(source("b.csv", config="A: b"))
    parts = {part.title: part for part in explain_case(warehouse, "m", metric="absolute_latency").parts}
    assert parts["measure it again"].sentences == ["bench ingest 'A: b:profiles'"]  # a result set


@exhaustive
def test_what_bench_measured_has_the_command_that_measures_it_again(warehouse: Builder) -> None:
    """This case alone, as that run did; and why it will not be quite the same."""
    it = case("mlp", backend="inductor", mode="inference", suite="builtin", source_id="f")
    recorded = options("measure models", ("what", "--models", "mlp", "lstm"), ("how", "--quick"))
    warehouse.add(run("run", "main", source="measure", options=recorded, host="far"), it, outcome(it))
    warehouse.store = Store(Path("/s"))
    warehouse.add(metric(it, "x", 1.0, source_id="f"))

    (again,) = [part for part in explain_case(warehouse, "mlp").parts if part.title == "measure it again"]
    assert again.sentences[0] == (
        "bench measure models --suites builtin --models mlp --backends inductor --modes inference --quick --config main"
        " --store /s"
    )
    assert again.sentences[1].startswith("not quite as it was: it was measured on far, and this is ")


@exhaustive
def test_the_reported_speedup_is_explained_where_there_is_no_latency() -> None:
    """A failure has none; its line says why."""
    warehouse = imported()

    cell, reported, *_ = explain_case(warehouse, "m").parts
    assert [cell.sentences, reported.sentences] == [
        ["median 1.50x (n=1)"], ["1.50x (no interval) over eager, as reported in what was imported"],
    ]  # fmt: skip
    failed = explain_case(warehouse, "n")
    assert failed.parts[0].sentences == ["none: fail_to_run"]
    assert failed.data.rows == [("performance", "fail_to_run", None, "profiles/a.csv", 4)]


@exhaustive
def test_a_case_without_blocks_has_the_ratio_of_medians(warehouse: Builder) -> None:
    """And no interval; one sample has none either; a sample without counters has nothing to be disturbed by."""
    sides = [case("m", backend=backend, source_id="f") for backend in ("eager", "inductor")]
    samples = [timing(it, ns, source_id="f") for it, ns in zip(sides, (300, 100), strict=True)]
    warehouse.add(run(), *sides, *map(outcome, sides), *samples)

    parts = {part.title: part.sentences for part in explain_case(warehouse, "m", backend="inductor").parts}
    assert parts["latency, steady"] == ["median 100 ns (n=1)"]
    assert parts["speedup"][0].startswith(
        "3.00x (no interval) over eager: the ratio of the medians (eager 300 ns, this 100 ns)"
    )
    assert "what comes with slow samples" not in parts


def test_a_geometric_mean_is_that_of_its_cases(warehouse: Builder) -> None:
    """Those that pass give the mean; those left out have their reason, and it is said which pass on every backend."""
    names = {"fast": 4.0, "slow": 0.5, "failed": None, "elsewhere": 3.0}
    sides = {name: case(name, backend="inductor", mode="inference") for name in names}
    other = [case(name, backend="other", mode="inference") for name in names]
    warehouse.add(run(source="torch-compile"), *sides.values(), *other)
    warehouse.add(*(outcome(it, "OOM" if names[name] is None else "ok") for name, it in sides.items()))
    warehouse.add(*(metric(sides[name], "speedup", value) for name, value in names.items() if value))
    warehouse.add(*(outcome(it, "timeout" if it.name == "elsewhere" else "ok") for it in other))
    warehouse.add(*(metric(it, "speedup", 2.0) for it in other if it.name != "elsewhere"))

    found = explain_geomean(warehouse, backend="inductor")
    assert [tuple(row[-5:]) for row in found.parts[0].rows] == [
        ("inductor", pytest.approx(6 ** (1 / 3)), pytest.approx(12 ** (1 / 3)), 3, 4)
    ]
    columns = [column.name for column in found.data.columns]
    table = [dict(zip(columns, row, strict=True)) for row in found.data.rows]
    assert [(row["name"], row["speedup"], row["left_out"], row["matched"]) for row in table] == [
        ("elsewhere", 3.0, None, False), ("failed", None, "OOM", False), ("fast", 4.0, None, True), ("slow", 0.5, None, True),
    ]  # fmt: skip


def test_without_speedups_there_is_no_mean_to_explain(warehouse: Builder) -> None:
    """Nor a case in an empty store."""
    with pytest.raises(NothingToShow, match="bench measure models"):
        explain_geomean(warehouse)
    with pytest.raises(UnknownName, match="no case 'm'"):
        explain_case(warehouse, "m")


BUILT = Builder()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_literal_is_the_text_and_printable(text: str) -> None:
    """Whatever it holds."""
    sql = fill("SELECT {}", text)

    assert BUILT.rows(sql) == [(text,)]
    assert sql.isprintable()


@pytest.mark.parametrize("sql", ["SELECT 'a'", 'SELECT "a"', "SELECT '$HOME `id` \\ ! \"'", "SELECT 'it''s'"])
def test_a_pasted_command_gives_bench_the_statement(sql: str) -> None:
    """A shell changes nothing in it."""
    command = paste(sql).removeprefix("bench sql")

    assert (
        subprocess.run(["bash", "-c", f"printf %s {command}"], capture_output=True, text=True, check=True).stdout == sql
    )


@exhaustive
def test_a_scheduler_step_leads_to_its_lines(warehouse: Builder) -> None:
    """A bin of tokens is a case, named as `bench compare` prints it: its steps, their lines, and what loads them again."""
    warehouse.add(
        run("run", "A", source="scheduler"), source("p.jsonl", lines=3, config="A"),
        *(chunk(n, [size], model_run_ms=size / 10, source_id="p.jsonl") for n, size in ((1, 600), (2, 70), (3, 700))),
    )  # fmt: skip

    assert len(explain_case(warehouse, "step").data.rows) == 3
    ((bin_,),) = warehouse.rows("SELECT DISTINCT case_id FROM step_cells WHERE parameters->>'tokens' = '512–1023'")
    found = explain_case(warehouse, bin_)
    assert (
        found.title
        == explain_case(warehouse, "tokens:512-1023").title
        == explain_case(warehouse, "tokens:512–1023").title
    )
    with pytest.raises(UnknownName, match="Nearest: 'tokens:512–1023'"):
        explain_case(warehouse, "tokens:512-1024")
    parts = {part.title: part for part in found.parts}
    assert parts["model_run, steady"].sentences[0].startswith("median 65 ms (n=2)")
    assert [(row[1], row[4], row[-1]) for row in found.data.rows] == [(600, 60.0, 1), (700, 70.0, 3)]
    assert parts["imported from"].rows == [("profiles/p.jsonl", 1, 3, 2)]
    assert parts["measure it again"].sentences == ["bench ingest A:profiles/p.jsonl"]


@exhaustive
def test_a_value_of_the_run_as_a_whole_is_explained_by_that_name(warehouse: Builder) -> None:
    """It has no case; what repeats it is the command of the run."""
    cost = events.Metric(run_id="run", metric="sampler_cost", unit="ratio", value=0.01, source_id="f")
    warehouse.add(run("run", command="python train.py"), cost)

    found = explain_case(warehouse, "run")
    assert found.title.startswith("run\nrun run, ")
    assert found.data.rows == [(None, 0.01, "ratio", None, None, None, None)]
    assert found.parts[-1].sentences == ["its own command was: python train.py"]
