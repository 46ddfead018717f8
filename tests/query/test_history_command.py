"""`bench history`: its whole output, in every format, and its exit codes."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench.cli import cli
from bench.query.change.command import _Progress
from bench.query.change.history import COLUMNS
from bench.query.change.render import confidence, sparkline
from bench.warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from bench.warehouse.events import Event
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ..builders import case, outcome, run, timing
from ..exhaustive import exhaustive

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}
DAY = 86_400_000_000
SPREAD = (0, 4, -3, 2, -4, 1, -1, 3, -2, 0)  # per mille

TABLE = """\
verdict  since       what     change    cases  where  commits               from      to
───────  ──────────  ───────  ────────  ─────  ─────  ────────────────────  ────────  ────────
SLOWER   1970-01-30  latency  +100.0 %      1  lstm   280000000..290000000  +100.0 %  +100.0 %
SLOWER   1970-01-17  latency  +20.0 %       1  mlp    150000000..160000000  +20.0 %   +20.0 %
SLOWER   1970-01-13  latency  +99.4 %       1  lstm   110000000..120000000  +99.4 %   +99.4 %
FASTER   1970-01-25  latency  -20.0 %       1  mlp    230000000..240000000  -20.0 %   -20.0 %
"""
MEMBERS = """\
incident  verdict  name  backend   metric   kind       since       commits               before       after           change                           confidence  history
────────  ───────  ────  ────────  ───────  ─────────  ──────────  ────────────────────  ───────────  ──────────────  ───────────────────────────────  ──────────  ────────────────────────
       1  SLOWER   lstm  inductor  latency  excursion  1970-01-30  280000000..290000000  3 ms (n=28)  6 ms (n=1)      +100.0 % (95 % +99.4 to +100.5)  > 99.99 %   ▅█▂▁▆▄█▃▅██▁▆▄█▃▅█▂▁▆▄█▃
       2  SLOWER   mlp   inductor  latency  step       1970-01-17  150000000..160000000  1 ms (n=15)  1.2 ms (n=14)   +20.0 % (95 % +19.7 to +20.2)    > 99.99 %   ▁▁▁▁▁▁▁▁▁▁▁▁▁███████████
       3  SLOWER   lstm  inductor  latency  excursion  1970-01-13  110000000..120000000  3 ms (n=28)  5.982 ms (n=1)  +99.4 % (95 % +98.8 to +99.9)    > 99.99 %   ▅█▂▁▆▄█▃▅██▁▆▄█▃▅█▂▁▆▄█▃
       4  FASTER   mlp   eager     latency  step       1970-01-25  230000000..240000000  2 ms (n=24)  1.599 ms (n=6)  -20.0 % (95 % -20.3 to -19.8)    > 99.99 %   ███████████████████▁▁▁▁▁
"""  # noqa: E501
SAID = """\
all: config main, suite s, mode inference, device cpu, dtype float32
2 excursions and 2 steps in 3 of 4 series judged; a change counts up to p = 0.02
4 changes in 4 incidents; list the changes with: --members
series that end in an excursion, too new to tell from a step: 1
see the largest with: bench compare run-28 run-29
its cause is among: git log 280000000..290000000
"""
CHART = """\
latency of mlp inference inductor (main): 29 runs

1.205 ms │                ▇█▇███▇█▇█▇█▇█
         │                ██████████████
         │                ██████████████
         │                ██████████████
  996 µs │▁▂▁▂ ▁▁▂▁▁▁▂▁▂▁▁██████████████
         └──────────────────────────────
                          ▲
          1970-01-01          1970-01-30
▲ step

verdict """
SUMMARY = """\
backend   measure    oldest                    history     latest
────────  ─────────  ────────────────────────  ──────────  ────────────────────────
eager     pass rate  100 %, 2/2                ▅▅▅▅▅▅▅▅▅▅  100 %, 2/2
inductor  geomean    1.67x (no interval, n=2)  ████▆▆▆▆▆▁  1.05x (no interval, n=2)
inductor  pass rate  100 %, 2/2                ▅▅▅▅▅▅▅▅▅▅  100 %, 2/2
"""
VALUES = """\
config  suite  name  mode       device  dtype    backend   metric   began                run     commit     value     n  status
──────  ─────  ────  ─────────  ──────  ───────  ────────  ───────  ───────────────────  ──────  ─────────  ────────  ─  ──────
main    s      mlp   inference  cpu     float32  inductor  latency  1970-01-04 00:00:00  run-03  030000000  1.002 ms  1  ok
main    s      mlp   inference  cpu     float32  inductor  latency  1970-01-05 00:00:00  run-04  040000000               OOM
main    s      mlp   inference  cpu     float32  inductor  latency  1970-01-06 00:00:00  run-05  050000000  1.001 ms  1  ok
"""

Bench = Callable[..., Result]


def record(store: Store, day: int, milliseconds: dict[tuple[str, str], float | None]) -> None:
    """A run with commits and a day: ms by model and backend; None failed."""
    run_id = f"run-{day:02}"
    events: list[Event] = [run(run_id, "main", started_at=day * DAY, git_commit=f"{day:02}" + "0" * 38)]
    for (model, backend), ms in milliseconds.items():
        one = case(model, run_id, backend=backend, **AXES)
        events += [one, outcome(one, "OOM" if ms is None else "ok")] + ([timing(one, round(ms * 1e6))] if ms else [])
    for kind in {type(event) for event in events}:
        EventLog(store).write(kind, [event for event in events if type(event) is kind], f"{run_id}.{kind.TABLE}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Thirty days: mlp gets slower on inductor and faster on eager, a run of it failed; lstm stays, but for two runs."""
    store = Store(tmp_path_factory.mktemp("history") / ".bench").create()
    for day in range(30):
        noise = 1 + SPREAD[day % 10] / 1000
        record(
            store,
            day,
            {
                ("mlp", "inductor"): None if day == 4 else noise * (1.2 if day >= 16 else 1),
                ("mlp", "eager"): 2 * noise * (0.8 if day >= 24 else 1),
                ("lstm", "inductor"): 3 * noise * (2 if day in (12, 29) else 1),
                ("lstm", "eager"): 5 * noise,
            },
        )
    return store


@pytest.fixture
def bench(store: Store, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Run the command."""
    monkeypatch.setenv("BENCH_STORE", str(store.root))
    return lambda *arguments: CliRunner().invoke(cli, ["history", "--wide", *arguments], standalone_mode=False)


def test_changes_are_told(bench: Bench) -> None:
    """By incident, the costliest first; what was judged and what to do next on stderr."""
    result = bench()

    assert result.stdout == TABLE
    assert result.stderr == SAID
    assert result.return_value == Exit.OK


def test_changes_of_an_incident_carry_their_doubt(bench: Bench) -> None:
    """Each on a line."""
    assert bench("--members").stdout == MEMBERS


@exhaustive
def test_changes_can_be_selected(bench: Bench, store: Store) -> None:
    """`bench sql` has what `bench history` prints as a table, and `bench views` lists and describes it."""

    def asked(*words: str) -> Result:
        return CliRunner().invoke(cli, [*words, "--store", str(store.root)], standalone_mode=False)

    query = "SELECT * FROM change_points WHERE verdict = 'SLOWER'"
    slower = [row for row in json.loads(bench("--format", "json").stdout) if row["verdict"] == "SLOWER"]
    assert json.loads(asked("sql", query, "--format", "json").stdout) == slower != []
    listed = asked("views", "--format", "json").stdout
    assert {row["name"]: row["kind"] for row in json.loads(listed)}["change_points"] == "computed"
    assert ["since_commit", "VARCHAR", "Commit it measured."] in [
        list(row.values()) for row in json.loads(asked("views", "change_points", "--format", "json").stdout)
    ]


def test_one_series_is_drawn(bench: Bench) -> None:
    """Gaps are gaps, and changes and spikes are marked."""
    assert bench("mlp", "--backends", "inductor").stdout.startswith(CHART)


def test_what_all_changes_share_is_said_once(bench: Bench) -> None:
    """Another backend of lstm was judged, too; no row is of it, so no column is needed to tell them apart."""
    result = bench("lstm")

    assert "backend" not in result.stdout.splitlines()[0]
    assert "all: config main, suite s, mode inference, device cpu, dtype float32, backend inductor\n" in result.stderr
    assert "in 1 of 2 series judged" in result.stderr


@pytest.mark.exhaustive
def test_changes_as_data_are_raw(bench: Bench, tmp_path: Path) -> None:
    """Every column in every format; nothing on stderr."""
    (last, first, second, hole) = json.loads(bench("--format", "json").stdout)

    assert tuple(first) == COLUMNS
    assert (first["since_at"], first["since_commit"], first["good_run_id"]) == (
        "1970-01-25T00:00:00",
        "24" + "0" * 38,
        "run-23",
    )
    assert second["change"] == pytest.approx(0.2, abs=0.002) and second["low"] < second["change"] < second["high"]
    assert [(row["kind"], row["since_run_id"], row["until_run_id"]) for row in (last, hole)] == [
        ("excursion", "run-29", "run-29"), ("excursion", "run-12", "run-12"),
    ]  # fmt: skip
    assert bench("--format", "json").stderr == ""
    for fmt in ("csv", "jsonl", "markdown"):
        assert len(bench("--format", fmt).stdout.splitlines()) == {"csv": 5, "jsonl": 4, "markdown": 6}[fmt]
    bench("--format", "parquet", "-o", str(tmp_path / "changes.parquet"))
    assert pq.read_table(tmp_path / "changes.parquet").column_names == list(COLUMNS)


@exhaustive
def test_the_values_are_listed(bench: Bench) -> None:
    """A row for every run, NULL with its status where there is none; as data with all columns."""
    lines = bench("mlp", "--backends", "inductor", "--all").stdout.splitlines(keepends=True)
    rows = list(csv.DictReader(io.StringIO(bench("mlp", "--all", "--since", "1970-01-29", "--format", "csv").stdout)))

    assert "".join([*lines[:2], *lines[5:8]]) == VALUES
    assert [(row["backend"], row["run_id"]) for row in rows] == [
        ("eager", "run-28"), ("eager", "run-29"), ("inductor", "run-28"), ("inductor", "run-29"),
    ]  # fmt: skip


def test_the_last_runs_are_summed_up(bench: Bench) -> None:
    """A line for each measure of a panel and backend; as data the rows of the macro `history`."""
    result = bench("--summary")

    assert result.stdout == SUMMARY
    assert result.stderr == "10 runs, 1970-01-21 to 1970-01-30, oldest left\n"
    rows = json.loads(bench("--summary", "-k", "3", "--backends", "eager", "--format", "json").stdout)
    assert [row["run_id"] for row in rows] == ["run-27", "run-28", "run-29"]


def test_a_failure_is_a_dip_of_the_pass_rate(bench: Bench) -> None:
    """One of two models failed in the fifth of thirty runs."""
    lines = bench("--summary", "-k", "30", "--backends", "inductor").stdout.splitlines()

    assert [line for line in lines if "████▁█████████████████████████" in line and "pass rate" in line]


@exhaustive
def test_nothing_changed_is_said(bench: Bench) -> None:
    """Above the chart no table; exit code 0."""
    result = bench("lstm", "--backends", "eager")

    assert ("verdict" in result.stdout, result.return_value) == (False, Exit.OK)
    assert "no change found in 1 series judged" in result.stderr
    assert bench("lstm", "--backends", "eager", "--format", "json").stdout == "[]\n"


def test_an_excursion_is_drawn_and_does_not_set_the_scale(bench: Bench) -> None:
    """Marked at its runs; an excursion that has not ended may become a step."""
    result = bench("lstm", "--backends", "inductor")
    lines = result.stdout.splitlines()

    assert lines[2].startswith("3.012 ms")
    assert [i for i, mark in enumerate(lines[8].removeprefix(" " * 10)) if mark == "!"] == [12, 29]
    assert "series that end in an excursion, too new to tell from a step: 1" in result.stderr
    assert "see the largest with: bench compare run-28 run-29" in result.stderr


def test_progress_is_told_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Every hundred series, and the line goes at the end."""
    progress = _Progress(250)
    for done in range(1, 251):
        progress(done)

    assert capsys.readouterr().err == "\rjudged: 100 of 250 series\rjudged: 200 of 250 series\r"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("nobody",), UnknownName, "no model 'nobody'. Known: 'lstm', 'mlp'"),
        (("main",), UnknownName, "It is a config: bench history --configs main"),
        (("--metrics", "latancy"), UnknownName, "'latency'"),
        (("--configs", "mian"), UnknownName, "'main'"),
        (
            ("--backends", "eager", "--models", "mlp", "--metrics", "latency", "--suites", "z"),
            UnknownName,
            "no suite 'z' in history_series. ",
        ),
        (("--summary", "--models", "mlp"), BenchError, "--summary covers all models"),
        (("--fdr", "0"), BenchError, "not a share between 0 and 1"),
    ],
)
def test_a_mistake_is_a_sentence(bench: Bench, arguments: tuple[str, ...], kind: type[Exception], message: str) -> None:
    """With the nearest name, or the cure."""
    error = bench(*arguments).exception

    assert isinstance(error, kind)
    assert message in str(error)


@pytest.mark.exhaustive
def test_too_few_runs_are_said(tmp_path: Path) -> None:
    """Exit code 4, and what it would take; the values can be seen."""
    short = Store(tmp_path / ".bench").create()
    for day in range(5):
        record(short, day, {("mlp", "eager"): 1.0 + day})
    arguments = ["history", "--store", str(short.root)]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)

    assert isinstance(result.exception, BenchError) and result.exception.exit_code == Exit.TOO_LITTLE
    assert "none of 1 series has the 9 runs" in str(result.exception) and "the longest has 5" in str(result.exception)
    assert "latency of mlp inference eager (main): 5 runs" in result.stdout
    assert len(CliRunner().invoke(cli, [*arguments, "--all"], standalone_mode=False).stdout.splitlines()) == 7


@exhaustive
def test_an_empty_store_has_nothing_to_show(tmp_path: Path) -> None:
    """Exit code 3, with or without --summary."""
    empty = str(Store(tmp_path / ".bench").create().root)

    for more in ([], ["--all"], ["--summary"]):
        result = CliRunner().invoke(cli, ["history", "--store", empty, *more], standalone_mode=False)
        assert isinstance(result.exception, NothingToShow)


@pytest.mark.exhaustive
def test_hostile_names_are_text(tmp_path: Path) -> None:
    """Nothing steers the terminal, and what can be pasted into a shell is quoted."""
    hostile = Store(tmp_path / ".bench").create()
    for day in range(20):
        one = case("\x1b[31mred' OR 1=1 --", f"$(id)-{day:02}", suite="\x07s", backend="b")
        ran = run(f"$(id)-{day:02}", "main", started_at=day * DAY, git_commit=f"`id`{day:02}")
        for kind, events in (
            (type(ran), [ran]),
            (type(one), [one]),
            (type(timing(one, 1)), [timing(one, 1000 + 500 * (day > 9))]),
        ):
            EventLog(hostile).write(kind, events, f"{day}.{kind.TABLE}")
    result = CliRunner().invoke(cli, ["history", "RED'", "--store", str(hostile.root)], standalone_mode=False)

    assert result.exception is None
    assert not {"\x1b", "\x07"} & set(result.output)
    assert "bench compare '$(id)-09' '$(id)-10'" in result.stderr
    assert "git log '`id`09..`id`10'" in result.stderr


def test_confidence_is_never_rounded_up_to_certainty() -> None:
    """Two digits, and no more claimed than four nines."""
    assert [confidence(p) for p in (0.02, 0.0106, 1e-4, 4e-5, 0.0)] == [
        "98.00 %",
        "98.94 %",
        "99.99 %",
        "> 99.99 %",
        "> 99.99 %",
    ]


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=90).filter(any), st.integers(1, 40))
def test_a_sparkline_has_a_character_for_each_value_or_some(values: list[float | None], columns: int) -> None:
    """Gaps are dots, the lowest value the lowest block, the highest the highest."""
    (line,) = sparkline(values, columns)

    assert len(line) == min(len(values), columns)
    if len(values) <= columns:
        assert [mark == "·" for mark in line] == [value is None for value in values]
        present = [(value, mark) for value, mark in zip(values, line, strict=True) if value is not None]
        assert min(present)[1] == min(mark for _, mark in present)
        assert max(present)[1] == max(mark for _, mark in present)
