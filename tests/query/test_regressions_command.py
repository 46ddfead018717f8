"""bench regressions: the table, the sentences, the exit code, and what looks worse measured again."""

import csv
import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.bisect.command import _from_regression
from bench.query.comparison.render import metric as metric_text
from bench.query.explain.explain import explain_case
from bench.query.regression.regressions import FINDING_COLUMNS, fold
from bench.query.resolve import resolve_run
from bench.warehouse import environment
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import UnknownName
from bench.warehouse.events import Event, Json
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ..builders import case, metric, options, outcome, run, timing
from ..exhaustive import exhaustive

AXES: dict[str, Any] = {
    "suite": "builtin", "mode": "inference", "device": "cpu", "dtype": "float32", "backend": "eager", "batch_size": 8,
}  # fmt: skip
DAY = 86_400_000_000
SPREAD = (0, 10, -10, 5, -5, 0, 8, -8)  # per mille
GIT = ("c8" * 20, "main", False)

Bench = Callable[..., Result]


def add(
    store: Store, run_id: str, day: float, models: Mapping[str, float], *, commit: str = "c8",
    operators: Mapping[str, float] | None = None, **fields: Any,
) -> None:  # fmt: skip
    """A run of `bench measure` on this machine: ms of each model; one that takes none failed; shares of operators of all."""
    events: list[Event] = []
    for model, ms in models.items():
        it = case(model, run=run_id, **AXES)
        events += [it, outcome(it, "ok" if ms else "OOM")] + ([timing(it, round(ms * 1e6))] if ms else [])
        for name, share in (operators or {}).items():
            place = json.dumps({"function": name, "calls": 1.0})
            events += [
                metric(it, "operator_part", share + d, unit="ratio", original_value=place) for d in (0, 0.001, 0.002)
            ]
    usual = {
        "config": "main", "source": "measure", "started_at": round(day * DAY), "host": socket.gethostname(), "git_dirty": False,
        "git_commit": commit * 20, "environment_id": environment.capture().environment_id,
        "command": "bench measure models --repeat 5", "options": options("measure models", ("how", "--repeat", "5")),
    }  # fmt: skip
    events.append(run(run_id, **{**usual, **fields}))
    for kind in {type(event) for event in events}:
        EventLog(store).write(kind, [event for event in events if type(event) is kind], f"{run_id}.{kind.TABLE}")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Eight quiet runs of three models, and the code of the ninth checked out."""
    store = Store(tmp_path / ".bench").create()
    for day, spread in enumerate(SPREAD):
        add(store, f"run-{day}", day, dict.fromkeys(("mlp", "lstm", "cnn"), 1 + spread / 1000), commit=f"c{day}")
    monkeypatch.setenv("BENCH_STORE", str(store.root))
    monkeypatch.setattr(environment, "git", lambda folder=None: GIT)
    return store


@pytest.fixture
def bench() -> Bench:
    """Run the command, which prints all of its table."""
    return lambda *arguments: CliRunner().invoke(cli, ["regressions", "--wide", *arguments], standalone_mode=False)


@exhaustive
def test_nothing_worse_is_fine(store: Store, bench: Bench) -> None:
    """A sentence that says so and one with how much was judged, exit code 0, no headings; --all shows every comparison.

    As Markdown, which may be all that a comment holds, it is these.
    """
    add(store, "run-8", 8, {"mlp": 1.0, "lstm": 1.001, "cnn": 0.999})

    done = bench()
    said = ["nothing got worse beyond noise", "3 comparisons of run run-8 with runs before: 3 SAME"]
    assert (done.return_value, done.stdout, done.stderr.splitlines()) == (0, "", said)
    assert bench("--format", "markdown").stdout == "".join(f"{sentence}\n\n" for sentence in said)
    assert bench("--all").stdout.count("within 3 %; 8 against 1 run") == 3


@pytest.mark.exhaustive
def test_the_worst_is_taken_apart(store: Store, bench: Bench) -> None:
    """With --why the first rows of `bench why` follow its call; without recorded parts it says how to record them."""
    add(store, "run-8", 8, {"mlp": 1.3}, commit="c8")
    assert "bench measure models … --profile" in bench("--why").stderr

    add(store, "run-7b", 7.5, {"mlp": 1.0}, commit="c7", operators={"gelu": 0.2, "addmm": 0.7})
    add(store, "run-9", 9, {"mlp": 1.301}, commit="c8", operators={"gelu": 0.4, "addmm": 0.5})
    said = bench("--why").stderr.splitlines()
    place = next(number for number, line in enumerate(said) if line.startswith("why: bench why"))
    assert said[place + 1].startswith("  gelu: +")
    assert not [line for line in bench().stderr.splitlines() if line.startswith("  gelu")]


@pytest.mark.exhaustive
def test_each_verdict_is_counted_once(store: Store, bench: Bench) -> None:
    """A limit that noise alone crosses is no second verdict of its case, and a new case with two metrics is one."""
    for day, value in enumerate((0.96, 0.97, 0.95, 0.96, 0.98, 0.96, 0.97, 0.94)):
        events: list[Event] = [run(f"night-{day}", "night", source="torch-compile", started_at=day * DAY)]
        for name in ("near", *(["new"] if day == 7 else [])):
            it = case(name, run=f"night-{day}", source_id="file", **AXES)
            events += [it, outcome(it), metric(it, "speedup", value, unit="ratio", better="higher")]
            events += [metric(it, "graph_breaks", 1.0, unit="count", better="lower")]
        for kind in {type(event) for event in events}:
            EventLog(store).write(kind, [event for event in events if type(event) is kind], f"night-{day}.{kind.TABLE}")

    assert "3 comparisons of run night-7 with runs before: 1 ADDED, 1 UNSURE, 1 SAME\n" in bench("night").stderr


def test_what_got_worse_is_told_worst_first(store: Store, bench: Bench) -> None:
    """Two runs show it: SLOWER, with before, now, interval, since when, and what to run next; exit code 1."""
    for run_id, day, factor in (("run-8", 8, 1.0), ("again", 8.1, 1.001)):
        add(store, run_id, day, {"mlp": 1.2 * factor, "lstm": 0.7 * factor, "cnn": 1.3 * factor})

    done = bench("--format", "markdown")
    assert done.stdout.splitlines() == [
        "| verdict | suite | name | mode | device | dtype | backend | batch | metric | before | now | change | since | why |",
        "|---|---|---|---|---|---|---|--:|---|---|---|---|---|---|",
        "| SLOWER | builtin | cnn | inference | cpu | float32 | eager | 8 | latency | 1 ms (n=8) | 1.301 ms |"
        " +30.1 % (95 % +28.0 to +32.2) | 1970-01-09 c8c8c8c8c | q below 0.001; 8 against 2 runs,"
        " confirmed; noise of a run 0.7 % |",
        "| SLOWER | builtin | mlp | inference | cpu | float32 | eager | 8 | latency | 1 ms (n=8) | 1.201 ms |"
        " +20.1 % (95 % +18.2 to +22.0) | 1970-01-09 c8c8c8c8c | q below 0.001; 8 against 2 runs,"
        " confirmed; noise of a run 0.7 % |",
        "| FASTER | builtin | lstm | inference | cpu | float32 | eager | 8 | latency | 1 ms (n=8) | 700.4 µs |"
        " -30.0 % (95 % -31.1 to -28.8) | 1970-01-09 c8c8c8c8c | q below 0.001; 8 against 2 runs,"
        " confirmed; noise of a run 0.7 % |",
    ]
    assert done.return_value == 1
    assert done.stderr.splitlines() == [
        "3 comparisons of runs run-8, again with runs before: 2 SLOWER, 1 FASTER",
        "the worst began with one of: git log c7c7c7c7c..c8c8c8c8c",
        "find the commit with: bench bisect c7c7c7c7c..c8c8c8c8c --models cnn --backends eager -- measure models --repeat 5",
        f"see the worst with: bench explain {case('cnn', **AXES).case_id} --run run-8 --metric latency",
    ]
    assert [line.split()[0] for line in bench().stdout.splitlines()[2:]] == ["SLOWER", "SLOWER", "FASTER"]


@pytest.mark.exhaustive
def test_what_all_findings_share_is_said_above_them(store: Store) -> None:
    """Sizes too, under the headings that they have."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 0.7, "cnn": 1.3})

    done = CliRunner().invoke(cli, ["regressions"], standalone_mode=False)

    assert "all: suite builtin, mode inference, device cpu, dtype float32, backend eager, batch 8\n" in done.stderr
    assert done.stdout.split()[:3] == ["verdict", "name", "metric"]


@pytest.mark.exhaustive
def test_many_cases_that_moved_together_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    """With the mean, least and most of their changes; --members lists each, and data have them all."""
    store = Store(tmp_path / ".bench").create()
    monkeypatch.setenv("BENCH_STORE", str(store.root))
    monkeypatch.setattr(environment, "git", lambda folder=None: GIT)
    models = [f"m{number:02}" for number in range(24)]
    for day in range(10):
        slower = {model: 1.2 + place / 20 for place, model in enumerate(models[:7])} if day > 7 else {}
        spread = {model: 1 + SPREAD[(day + place) % 8] / 1000 for place, model in enumerate(models)}
        add(
            store,
            f"run-{day}",
            day if day < 9 else 8.1,
            {m: slower.get(m, 1) * spread[m] for m in models},
            commit=f"c{min(day, 8)}",
        )
    told = bench("run-8")
    line = next(line for line in told.stdout.splitlines() if "7 cases" in line)

    assert line.split("  ")[0] == "SLOWER" and "7 cases: m00, m01, m02 and 4 more" in line
    assert "+34." in line and "(+2" in line and " to +" in line
    assert "7 findings in 1 line; list each with: --members" in told.stderr
    assert sum(model in bench("run-8", "--members").stdout for model in models[:7]) == 7
    assert sum(row["verdict"] == "SLOWER" for row in json.loads(bench("run-8", "--format", "json").stdout)) == 7


@exhaustive
@pytest.mark.parametrize("fmt", ["json", "csv"])
def test_what_all_cases_share_is_a_row_of_data(store: Store, bench: Bench, fmt: str) -> None:
    """A factor of 24 cases together is a finding of no run of its own, in the formats for programs as in the table."""
    models = [f"m{number:02}" for number in range(24)]
    machine = environment.capture()  # where none is known, a shared factor may be another machine
    EventLog(store).write(type(machine), [machine], "environment")
    for day in range(9):
        shared = 1.2 if day == 8 else 1
        times = {model: shared * (1 + SPREAD[(day + place) % 8] / 1000) for place, model in enumerate(models)}
        add(store, f"wide-{day}", 10 + day, times, commit=f"a{day}", config="wide")
    told = bench("wide", "--format", fmt).stdout
    rows = json.loads(told) if fmt == "json" else [*csv.DictReader(io.StringIO(told))]

    assert [row["verdict"] for row in rows if row["finding"] == "shift"] == ["SLOWER"]


def test_the_metrics_of_a_case_that_is_mended_are_one_line() -> None:
    """A fact about the case is said once; what a metric alone did has a line of its own."""
    found = [
        ("a", "FIXED", "latency"),
        ("a", "FIXED", "speedup"),
        ("b", "FIXED", "latency"),
        ("b", "SLOWER", "latency"),
    ]
    rows = [
        {**dict.fromkeys(FINDING_COLUMNS), "case_id": it, "verdict": verdict, "metric": name}
        for it, verdict, name in found
    ]

    assert [(row["case_id"], row["verdict"], metric_text(row)) for row in fold(rows)] == [
        ("a", "FIXED", "latency and 1 more"), ("b", "FIXED", "latency"), ("b", "SLOWER", "latency"),
    ]  # fmt: skip


@exhaustive
def test_rows_as_data_are_raw(store: Store, bench: Bench, tmp_path: Path) -> None:
    """Every column of the view, unrounded, and nothing on stderr; of the same rows in every format."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 1.0})

    found = json.loads(bench("--format", "json").stdout)
    assert [(row["finding"], row["verdict"], row["name"]) for row in found] == [
        ("statistics", "SLOWER", "mlp"), ("coverage", "REMOVED", "cnn"),
    ]  # fmt: skip
    assert found[0]["low"] < found[0]["change"] < found[0]["high"]
    done = bench("--format", "csv", "-o", str(tmp_path / "found.csv"))
    assert (done.stdout, done.stderr, done.return_value) == ("", "", 1)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "found.csv").read_text())))
    assert [(row["name"], row["reason"]) for row in rows][1] == ("cnn", "absent: the run did not announce it")


@pytest.mark.exhaustive
def test_only_lost_coverage_has_its_own_exit_code(store: Store, bench: Bench) -> None:
    """A model that failed or is gone, and nothing that got slower: 3."""
    add(store, "run-8", 8, {"mlp": 1.0, "lstm": 0})

    done = bench()
    assert (done.return_value, done.stdout.count("BROKEN"), done.stdout.count("REMOVED")) == (3, 1, 1)


@pytest.mark.exhaustive
def test_too_little_to_judge_anything_has_its_own_exit_code(store: Store, bench: Bench) -> None:
    """A config with one run: 4, and why."""
    add(store, "other-0", 8, {"mlp": 1.0}, config="other")

    done = bench("other")
    assert done.return_value == 4
    assert ": no earlier run of its config on its class of machine" in done.stderr


@pytest.mark.exhaustive
def test_rows_can_be_chosen_and_the_rule_turned(store: Store, bench: Bench) -> None:
    """The exit code is that of what is shown; an unknown value names the nearest."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 1.0, "cnn": 1.0})

    assert bench("--models", "lstm", "cnn").return_value == 0
    assert bench("--floor", "25%").return_value == 0
    assert bench("run-7").return_value == 0
    assert bench("--window", "5", "--all", "--format", "csv").stdout.count(",5,") >= 3
    assert isinstance(bench("--models", "mpl").exception, UnknownName)


@exhaustive
def test_a_slower_machine_and_another_environment_are_pointed_out(store: Store, bench: Bench) -> None:
    """When most comparisons are worse together, and when torch is another than in the run before."""
    models = {f"m{i}": 1.0 for i in range(12)}
    for day, spread in enumerate(SPREAD):
        add(
            store,
            f"wide-{day}",
            10 + day,
            {m: ms + spread / 1000 for m, ms in models.items()},
            commit=f"a{day}",
            config="wide",
        )
    changed = environment.identified(replace(environment.capture(), torch="0.0.1"))
    EventLog(store).write(type(changed), [environment.capture(), changed], "environment")
    add(store, "wide-8", 20, dict.fromkeys(models, 1.2), config="wide", environment_id=changed.environment_id)

    said = bench("wide").stderr
    assert "12 of 12 got worse together: a slower machine looks like that, too" in said
    assert (
        f"the environment is not that of the run before: torch: {environment.capture().torch or '–'} → 0.0.1\n" in said
    )


def confirmed_by(store: Store, monkeypatch: pytest.MonkeyPatch, *factors: float) -> list[list[str]]:
    """Let each measuring again record the models it was asked for, so many times as slow as usual; collects the commands."""
    commands: list[list[str]] = []

    def fake(words: list[str], **_: Any) -> Any:
        names = words[words.index("--models") + 1 : words.index("--backends")]
        tags = Json(json.dumps(dict([words[words.index("--tag") + 1].split("=")])))
        number = len(commands)
        add(store, f"confirming-{number}", 8.5 + number / 100, dict.fromkeys(names, factors[number]), tags=tags)
        commands.append(words)
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(subprocess, "run", fake)
    return commands


def test_what_looks_worse_is_measured_again_before_it_is_said(
    store: Store, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the two suspects; the one that was a hiccup is cleared, the other is confirmed by both runs."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 1.0, "cnn": 1.2})
    commands = confirmed_by(store, monkeypatch, 1.19)

    done = bench("--confirm")
    assert [words[words.index("--models") :][:3] for words in commands] == [["--models", "cnn", "mlp"]]
    assert commands[0][:5] == [sys.executable, "-P", "-m", "bench", "measure"]
    assert "looks worse, measuring again (1 of 1): bench measure models --suites builtin --models cnn" in done.stderr
    assert (done.stdout.count(", confirmed"), done.return_value) == (2, 1)
    assert "2 SLOWER, 1 SAME" in done.stderr


@pytest.mark.exhaustive
def test_every_confirming_run_must_show_it(store: Store, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two were asked for, the second does not: nothing got worse. The losses of a part of a run are none."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 1.0, "cnn": 1.0})
    commands = confirmed_by(store, monkeypatch, 1.2, 1.0)

    done = bench("--confirm", "2", "--all")
    assert (len(commands), done.return_value) == (2, 0)
    assert "its runs disagree" in done.stdout
    assert bench().return_value == 0


@pytest.mark.exhaustive
def test_what_cannot_be_measured_again_stays_unconfirmed(
    store: Store, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other code is checked out: it says so, runs nothing, and ends with 1."""
    add(store, "run-8", 8, {"mlp": 1.2, "lstm": 1.0, "cnn": 1.0}, commit="d9")
    commands = confirmed_by(store, monkeypatch)

    done = bench("--confirm")
    assert (commands, done.return_value, done.stdout.count("not confirmed")) == ([], 1, 1)
    assert (
        "cannot measure 1 case of run run-8 again: it measured commit d9d9d9d9d, and c8c8c8c8c is checked out"
        in done.stderr
    )


@pytest.mark.exhaustive
def test_nothing_worse_is_not_measured_again(store: Store, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An improvement needs no confirming."""
    add(store, "run-8", 8, {"mlp": 0.5, "lstm": 1.0, "cnn": 1.0})
    commands = confirmed_by(store, monkeypatch)

    assert (bench("--confirm").return_value, commands) == (0, [])


@pytest.mark.exhaustive
def test_a_store_without_anything_to_judge(store: Store, bench: Bench) -> None:
    """A run that measured nothing: sentences that say so, and exit code 4."""
    add(store, "empty-0", 9, {}, config="empty")

    done = bench("empty")
    assert (done.return_value, done.stdout, done.stderr.splitlines()) == (4, "", [
        "nothing is surely worse, but too little is known to judge",
        "0 comparisons of run empty-0 with runs before: nothing measured has a better and a worse",
    ])  # fmt: skip


@pytest.mark.exhaustive
def test_the_worst_is_searched_by_its_steady_calls(store: Store, bench: Bench) -> None:
    """First calls that became slower are few; `bench bisect --from-regression` takes the same number."""
    add(store, "run-8", 8, {"mlp": 1.3})
    for day, cold_ms in enumerate([*(5 + spread / 1000 for spread in SPREAD), 9]):
        first = timing(case("mlp", run=f"run-{day}", **AXES), round(cold_ms * 1e6), phase="cold")
        EventLog(store).write(type(first), [first, first], f"run-{day}.cold")
    done = bench()

    slower = [line for line in done.stdout.splitlines() if line.startswith("SLOWER")]
    assert len(slower) == 2 and "latency (cold)" in slower[0]
    (find,) = [line for line in done.stderr.splitlines() if line.startswith("find the commit with: ")]
    assert find.endswith("bench bisect c7c7c7c7c..c8c8c8c8c --models mlp --backends eager -- measure models --repeat 5")
    commits, words, chosen, wider = _from_regression(store, "latest", {"phase": "steady"})
    assert (commits, words[0], wider) == (f"{'c7' * 20}..{'c8' * 20}", "measure", None)
    assert chosen == {"metric": "latency", "phase": "steady", "models": ["mlp"], "backends": ["eager"]}


@exhaustive
def test_a_search_can_go_on_to_the_newest_run(store: Store) -> None:
    """A run that had a bad machine just before a regression ends the commits too early: the whole range is a command, too."""
    add(store, "run-8", 8, {"mlp": 1.3})
    add(store, "run-9", 9, {"mlp": 1.3}, commit="d9")

    commits, _, _, wider = _from_regression(store, "latest", {"phase": "steady"})
    assert commits == f"{'c7' * 20}..{'c8' * 20}"
    assert wider is not None and wider.startswith("bench bisect c7c7c7c7c..d9d9d9d9d --models mlp ")


@pytest.mark.exhaustive
def test_what_a_search_measured_is_not_the_latest_run(store: Store, bench: Bench) -> None:
    """Neither its summary nor the revisions that it measured; of nothing else the newest is. `bench explain` goes by it, too."""
    before = bench().stderr
    with Warehouse.open(store) as warehouse:
        explained = explain_case(warehouse, "mlp").title
    searched: list[dict[str, Any]] = [{"tags": Json('{"bisect": "5ea4c4"}')}, {"source": "bisect"}]
    for number, fields in enumerate(searched):
        add(store, f"searched-{number}", 20 + number, {"mlp": 9.0}, config=f"search-{number}", **fields)

    assert bench().stderr == before
    with Warehouse.open(store) as warehouse:
        assert explain_case(warehouse, "mlp").title == explained
    other = Store(store.root.with_name("other")).create()
    add(other, "searched", 20, {"mlp": 9.0}, source="bisect")
    with Warehouse.open(other) as warehouse:
        assert resolve_run(warehouse, "latest") == "searched"
