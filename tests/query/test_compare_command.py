"""`bench compare`: its whole output, in every format, and its exit codes."""

import csv
import functools
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from bench.cli import cli
from bench.query.document import Document
from bench.warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from bench.warehouse.recorder import run
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ..exhaustive import exhaustive, first_of

AXES: dict[str, Any] = {"suite": "builtin", "mode": "inference", "device": "cpu", "dtype": "float32", "batch_size": 8}
LEVELS = {"main": {"mlp": 1000, "lstm": 2000, "conv": 500}, "branch": {"mlp": 1200, "lstm": 1000, "conv": 500}}

TABLE = """\
name  backend   metric   base      candidate  difference  change                         verdict  why
────  ────────  ───────  ────────  ─────────  ──────────  ─────────────────────────────  ───────  ──────────────────────────────────────────
lstm  inductor  latency  2.005 ms                                                        BROKEN   candidate OOM: out of memory
mlp   eager     latency  1.004 ms  1.204 ms   +200 µs     1.20x slower (95 % 1.17–1.23)  SLOWER   q below 0.001; one run each, not confirmed
mlp   inductor  latency  1.004 ms  1.204 ms   +200 µs     1.20x slower (95 % 1.17–1.23)  SLOWER   q below 0.001; one run each, not confirmed
lstm  eager     latency  2.005 ms  1.004 ms   −1 ms       2.00x faster (95 % 1.95–2.04)  FASTER   q below 0.001; one run each, not confirmed
"""  # noqa: E501
SAID = """\
2 slower (worst mlp eager 1.20x), 1 newly failing, 1 faster (lstm eager 2.00x) of 6 comparisons; 2 the same
main (run main-3; 2 more with --all-runs) against branch (run branch-3; 2 more with --all-runs): 1 BROKEN, 2 SLOWER, 1 FASTER, 2 SAME (SAME is shown with --all)
all cases: suite builtin, mode inference, device cpu, dtype float32, batch 8
all intervals: noise of a run 0.6 %
builtin eager latency: geomean 1.19x faster (95 % 1.16–1.21) over 3 of 3 matched
builtin inductor latency: geomean 1.10x slower (95 % 1.07–1.12) over 2 of 3 matched; only the base has lstm
not judged: calls_captured (6); show them with --all or --metrics
"""  # noqa: E501
DOCUMENT = """\
## main → branch

❌ **2 slower (worst mlp eager 1.20x), 1 newly failing, 1 faster (lstm eager 2.00x) of 6 comparisons; 2 the same**

base `main-3` · candidate `branch-3`

### What changed

all cases: suite builtin, mode inference, device cpu, dtype float32, batch 8

all intervals: noise of a run 0.6 %

| name | backend | metric | base | candidate | difference | change | verdict | why |
|---|---|---|---|---|---|---|---|---|
| lstm | inductor | latency | 2.005 ms |  |  |  | BROKEN | candidate OOM: out of memory |
| mlp | eager | latency | 1.004 ms | 1.204 ms | +200 µs | 1.20x slower (95 % 1.17–1.23) | SLOWER | q below 0.001; one run each, not confirmed |
| mlp | inductor | latency | 1.004 ms | 1.204 ms | +200 µs | 1.20x slower (95 % 1.17–1.23) | SLOWER | q below 0.001; one run each, not confirmed |
| lstm | eager | latency | 2.005 ms | 1.004 ms | −1 ms | 2.00x faster (95 % 1.95–2.04) | FASTER | q below 0.001; one run each, not confirmed |

### Geometric means

builtin eager latency: geomean 1.19x faster (95 % 1.16–1.21) over 3 of 3 matched

builtin inductor latency: geomean 1.10x slower (95 % 1.07–1.12) over 2 of 3 matched; only the base has lstm

<details>
<summary>The same within 3 %: 2</summary>

| name | backend | metric | base | candidate | difference | change | verdict | why |
|---|---|---|---|---|---|---|---|---|
| conv | eager | latency | 504.5 µs | 504.5 µs | 0 ns | 1.00x (95 % 0.98–1.02) | SAME | within 3 %; one run each |
| conv | inductor | latency | 504.5 µs | 504.5 µs | 0 ns | 1.00x (95 % 0.98–1.02) | SAME | within 3 %; one run each |

</details>
"""  # noqa: E501


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two runs of three models, recorded outside of any repository; the branch fails on one of them."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for config, levels in LEVELS.items():
            for number in (1, 2, 3):
                with run(config, store=folder / ".bench", run_id=f"{config}-{number}", suite="builtin") as recorder:
                    for name, level in levels.items():
                        for backend in ("eager", "inductor"):
                            it = recorder.case(name, backend=backend, **AXES)
                            for i in range(10):
                                it.timing((level + i) * 1000)
                            failed = (config, name, backend) == ("branch", "lstm", "inductor")
                            it.outcome("OOM" if failed else "ok", reason="out of memory" if failed else None)
                            it.metric("calls_captured", 3, unit="count")
    return Store(folder / ".bench")


Bench = Callable[..., Result]


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run `bench compare` against that store; its exit code is what the command returns."""
    monkeypatch.setenv("BENCH_STORE", str(store.root))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["compare", *arguments], standalone_mode=False)

    return invoke


def test_the_table(bench: Bench) -> None:
    """All of stdout, and all that is said beside it."""
    result = bench("main", "branch", "--wide")

    assert (result.stdout, result.stderr) == (TABLE, SAID)


@exhaustive
@pytest.mark.parametrize(("room", "without"), [(90, "difference"), (70, "difference, base, candidate")])
def test_the_table_fits(bench: Bench, monkeypatch: pytest.MonkeyPatch, room: int, without: str) -> None:
    """Without --wide lines keep to the terminal; intervals, verdicts and reasons are whole; a note names what is missing."""
    monkeypatch.setenv("COLUMNS", str(room))
    result = bench("main", "branch")

    assert max(map(len, result.stdout.splitlines())) <= room
    assert "1.20x slower (95 % 1.17–1.23)  SLOWER" in result.stdout
    assert f"not shown: {without};" in result.stderr


@exhaustive
def test_the_document(bench: Bench, tmp_path: Path) -> None:
    """Markdown ready for a pull request, also into a file."""
    result = bench("main", "branch", "--format", "markdown")
    bench("main", "branch", "--format", "markdown", "-o", str(tmp_path / "comment.md"))

    assert (result.stdout, result.stderr) == (DOCUMENT, "")
    assert (tmp_path / "comment.md").read_text() == result.stdout


def test_what_a_comment_has_no_room_for_is_listed_by_the_same_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the options that chose the rows; what is folded because it did not change needs --all."""
    monkeypatch.setattr(Document, "markdown", functools.partialmethod(Document.markdown, 900))
    chosen = ("--suites", "builtin", "--metrics", "latency", "--floor", "4%", "--all-runs")
    text = bench("main", "branch", *chosen, "--format", "markdown").stdout

    command = "bench compare main branch --metrics latency --suites builtin --floor 0.04 --all-runs"
    assert f"more_: `{command}`" in text
    assert f"more_: `{command} --all`" in text


@exhaustive
def test_data_carry_every_row(bench: Bench, tmp_path: Path) -> None:
    """Every row and column of the macro, what is the same and what has no direction too; nothing is said."""
    rows = list(csv.DictReader(io.StringIO(bench("main", "branch", "--format", "csv").stdout)))
    objects = json.loads(bench("main", "branch", "--format", "json").stdout)
    lines = bench("main", "branch", "--format", "jsonl").stdout.splitlines()
    result = bench("main", "branch", "--format", "parquet", "-o", str(tmp_path / "rows.parquet"))
    table = pq.read_table(tmp_path / "rows.parquet").to_pylist()

    assert len(rows) == len(objects) == len(lines) == len(table) == 6 + 6
    assert (
        [row["verdict"] or None for row in rows]
        == [row["verdict"] for row in objects]
        == [row["verdict"] for row in table]
    )
    assert {row["verdict"] for row in objects} == {"BROKEN", "SLOWER", "FASTER", "SAME", None}
    assert result.stderr == ""


@pytest.mark.exhaustive
def test_a_bin_of_steps_is_named_with_a_hyphen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dash of its name is on few keyboards."""
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / ".bench"))
    for config in ("main", "branch"):
        with run(config) as recorder:
            recorder.schedule_chunk([5], model_run_ms=1.0)
    typed = ["compare", "main", "branch", "--format", "json", "--where"]
    hyphen, dash = (CliRunner().invoke(cli, [*typed, f'parameters={{"tokens":"4{it}7"}}']).stdout for it in "-–")

    assert hyphen == dash
    assert {row["parameters"] for row in json.loads(hyphen)} == {'{"tokens":"4–7"}'}


@pytest.mark.exhaustive
def test_what_is_the_same_is_shown_if_asked_for(bench: Bench) -> None:
    """Metrics without a direction, too; rows are chosen by metric, backend, model or any other column."""
    lines = bench("main", "branch", "--all", "--backends", "eager").stdout.splitlines()
    assert len([line for line in lines if not line.startswith("  ")]) == 2 + 3 + 3  # each reason stands below its row
    assert sum("calls_captured" in line for line in lines) == 3
    assert bench("main", "branch", "--where", "name=conv", "backend=eager", "--all").stdout.count("conv") == 2
    assert bench("main", "branch", "--models", "mlp", "--metrics", "calls_captured").stdout.count("calls_captured") == 2


@exhaustive
def test_a_metric_may_be_named_by_where(bench: Bench) -> None:
    """--where metric=… keeps its rows, although --metrics names none."""
    rows = json.loads(bench("main", "branch", "--where", "metric=latency", "--format", "json").stdout)

    assert {row["metric"] for row in rows} == {"latency"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    first_of(2, [
        ((), Exit.OK), (("--fail-on", "slower"), Exit.FAILED), (("--models", "lstm", "--fail-on", "slower"), Exit.NOTHING),
        (("--models", "conv", "--fail-on", "slower"), Exit.OK),
        (("--floor", "500%", "--models", "mlp", "--fail-on", "slower"), Exit.OK),
        (("--models", "mlp", "--metrics", "calls_captured", "--fail-on", "slower"), Exit.TOO_LITTLE),
    ]),
)  # fmt: skip
def test_a_ci_job_is_one_line(bench: Bench, arguments: tuple[str, ...], code: Exit) -> None:
    """0 unless --fail-on; then 1 slower, 3 gone, 4 nothing to judge, whatever the format."""
    assert bench("main", "branch", *arguments).return_value == code
    assert bench("main", "branch", *arguments, "--format", "csv").return_value == code


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    first_of(3, [
        (("main", "brnch"), UnknownName, "Nearest: 'branch'"), (("main", "main"), BenchError, "on both sides"),
        (("main", "branch", "--where", "mode"), BenchError, "COLUMN=VALUE"),
        (("main", "branch", "--where", "mod=x"), UnknownName, "Nearest: 'mode'"),
        (("main", "branch", "--backends", "inducter"), UnknownName, "Nearest: 'inductor'"),
        (("main", "branch", "--models", "conv", "--where", "verdict=SLOWER"), NothingToShow, "measured any of this"),
        (("main", "branch", "--format", "markdown", "-o", "/nowhere/x.md"), BenchError, "cannot write"),
        (("main", "branch", "--fail-on", "faster"), click.UsageError, "slower"),
    ]),
)  # fmt: skip
def test_a_mistake_is_a_sentence(
    bench: Bench, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    """It names the fault, its place and the nearest name that would do."""
    result = bench(*arguments)

    assert isinstance(result.exception, error)
    assert message in str(result.exception)


def test_a_store_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names only, none is made."""
    monkeypatch.setenv("BENCH_STORE", str(tmp_path / "none"))

    result = CliRunner().invoke(cli, ["compare", "main", "branch"], standalone_mode=False)

    assert "there is no store" in str(result.exception)
    assert not (tmp_path / "none").exists()
