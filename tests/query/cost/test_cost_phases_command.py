"""`bench cost-model --by phase` and `--against`: tables with doubt, rows, a record, and refusals."""

from typing import Any

import pytest
from bench.query.cost.phases import phase_model_of
from bench.query.cost.residuals import residuals_by_region
from bench.warehouse import events
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, NothingToShow
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ...builders import chunk, run
from ...exhaustive import exhaustive
from .conftest import Bench, rows
from .phase_steps import columns, phases


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two days of A, the second with slower prefill; the same sampled, without phases, and without KV tokens."""
    sides: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "day-1": ("A", columns(phases(620, 1))),
        "day-2": ("A", columns(phases(620, 2, (6.0, 0.025, 0.015, 0.00004)))),
        "some": ("sampled", [{**each, "capture_mode": "sampled"} for each in columns(phases(300))]),
        "chunks": ("chunks", [{"model_run_ms": 9.0}] * 300),
        "totals": ("totals", [{**each, "decode_kv_tokens": None} for each in columns(phases(300))]),
        "host": ("host", [{**each, "time_span": "iteration"} for each in columns(phases(300))]),
    }
    found: list[events.Event] = []
    for day, (run_id, (config, steps)) in enumerate(sides.items()):
        found.append(run(run_id, config, started_at=day * 86_400_000_000))
        found += [chunk(line, run=run_id, writer="w", **fields) for line, fields in enumerate(steps, start=1)]
    store = Store(tmp_path_factory.mktemp("phases") / ".bench").create()
    for kind in {type(event) for event in found}:
        EventLog(store).write(kind, [event for event in found if type(event) is kind], f"all.{kind.TABLE}")
    return store


def test_each_phase_has_its_cost_with_its_doubt(bench: Bench) -> None:
    """The newest run; the sentence says how many steps and what is refused, and a sampled capture is."""
    result = bench("--by", "phase", "--configs", "A", "sampled", "totals")

    header, _, a, sampled, totals = result.stdout.splitlines()
    assert "per prefill token" in header and "per KV token" in header
    assert a.startswith("A          600  ") and " µs (95 % 24." in a and a.endswith("ok")
    assert sampled.split() == ["sampled", "280", "sampled"]
    assert "partial" in totals
    assert "sampled: 280 steps, 0 of them outliers; a sampled capture left steps out." in result.stderr
    assert "KV tokens are not recorded" in result.stderr
    assert result.return_value == 0


def test_nothing_to_tell_has_its_exit_code(bench: Bench) -> None:
    """4 where every config is refused."""
    assert bench("--by", "phase", "--configs", "sampled", "chunks").return_value == 4
    result = bench("--against", "sampled")
    assert isinstance(result.exception, NothingToShow) and result.stdout == ""
    assert result.exception.exit_code == 4
    assert "sampled cannot be fitted: a sampled capture left steps out" in str(result.exception)


@exhaustive
def test_the_record_has_the_rows_that_are_printed(bench: Bench, store: Store) -> None:
    """Column by column, from the view."""
    (printed, *_) = rows(bench("--by", "phase", "--configs", "A", "--record", "--format", "csv").stdout)

    with Warehouse.open(store) as warehouse:
        answer = warehouse.connection.execute("SELECT * EXCLUDE (run_id, fitted_at, parameters) FROM step_phase_costs")
        names, (recorded,) = [column[0] for column in answer.description], answer.fetchall()
    assert [*printed] == names
    for text, value in zip(printed.values(), recorded, strict=True):
        assert (
            text == ("" if value is None else value)
            if isinstance(value, str | None)
            else float(text) == pytest.approx(value)
        )


@exhaustive
def test_today_against_yesterday_by_region(bench: Bench) -> None:
    """A run by its name; rows are those of the function, the table says where it differs."""
    found = rows(bench("--configs", "A", "--against", "day-1", "--format", "csv").stdout)
    today = phases(620, 2, (6.0, 0.025, 0.015, 0.00004))
    yesterday = phases(620, 1)
    inner = slice(10, -10)
    cut = [
        type(each)(work=each.work[inner], ms=each.ms[inner], time_spans=each.time_spans) for each in (today, yesterday)
    ]
    expected = residuals_by_region("A", cut[0], "day-1", phase_model_of("day-1", cut[1]))

    assert [float(row["residual"]) for row in found] == pytest.approx([each.residual for each in expected])
    table = bench("--configs", "A", "--against", "day-1").stdout
    assert "prefill-heavy  all" in table and "differs by" in table and " % (95 % +" in table


@pytest.mark.exhaustive
def test_what_cannot_be_compared_is_said(bench: Bench) -> None:
    """Steps without what the fit needs, with times of another span, or of the fit itself."""
    result = bench("--against", "A")

    assert {row.split()[0] for row in result.stdout.splitlines()[2:]} == {"A"}
    for sentence in (
        "A: its own steps are in the fit", "sampled: a sampled capture", "chunks: no step that is kept says its prefill tokens",
        "totals: its KV tokens are not recorded", "host: its times span iteration, those of A cuda",
    ):  # fmt: skip
        assert sentence in result.stderr


@pytest.mark.parametrize(
    "options", [["--line", "--by", "phase"], ["--line", "--against", "A"], ["--record", "--against", "A"]]
)
def test_options_that_do_not_go_together(bench: Bench, options: list[str]) -> None:
    """Each is a usage error with a way out."""
    assert "leave out --by and --against" in str(bench(*options).exception) or "--by phase --record" in str(
        bench(*options).exception
    )


@exhaustive
def test_a_side_is_held_against_another(bench: Bench) -> None:
    """As by their config, if that is their newest run."""
    by_side = bench("day-2", "--against", "day-1", "--format", "csv")

    told, expected = (
        rows(done.stdout) for done in (by_side, bench("--configs", "A", "--against", "day-1", "--format", "csv"))
    )
    assert [{**row, "config": "day-2"} for row in expected] == told
    without = bench("chunks", "--against", "host")
    assert "chunks: no step" in without.stderr


def test_an_unknown_name_is_an_error_that_names_the_nearest(bench: Bench) -> None:
    """Of --against too."""
    result = bench("--against", "day-3")
    assert isinstance(result.exception, BenchError) and "day-3" in str(result.exception)
