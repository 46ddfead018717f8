"""The words of a site's pages: what a mark, a failure or a verdict means stands beside it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.viz.publish import pairs
from bench.warehouse.events import Environment, Instant

from ...builders import Builder, case, metric, outcome, run
from ...exhaustive import exhaustive
from ..browser import PROGRAM, Page
from .sites import DAY_US, publish
from .test_site_page import go, table

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium")
NIGHTS = 12
LONG = "x" * 300


@pytest.fixture(scope="module")
def warehouse() -> Builder:
    """Nights of three models, one of which always fails and one has parameters; the driver changes, and a model got slower."""
    made = Builder().add(*(Environment(environment_id=each, driver=each) for each in ("550", "560")))
    for night in range(NIGHTS):
        run_id = f"0192f000-0000-7000-{night:04}"
        made.add(
            run(
                run_id,
                "nightly",
                started_at=Instant(DAY_US * (night + 1)),
                environment_id="550" if night < 6 else "560",
            )
        )
        for name in ("{{7*7}}", LONG):
            one = case(name, run_id, suite="zoo", batch_size=8, parameters={"tokens": "1-2", "top": {"k": 1}})
            value = 1e6 * (1 + 0.001 * (night * 7 % 5)) * (1.3 if night == NIGHTS - 1 and name == LONG else 1)
            made.add(one, outcome(one), metric(one, "latency", value, unit="ns", better="lower"))
        for size in (1, 2):
            broken = case("broken", run_id, suite="zoo", batch_size=size)
            made.add(broken, outcome(broken, "fail_to_run", phase="compile", exception="RuntimeError", exit_code=1))
        last = case("last", run_id, suite="zoo", batch_size=8)
        if night == 0:  # of the same case, another config has a value
            made.add(
                run("other", "other", started_at=Instant(DAY_US)), case("last", "other", suite="zoo", batch_size=8)
            )
            made.add(
                metric(case("last", "other", suite="zoo", batch_size=8), "tokens_per_second", 9.0, unit="tokens/s")
            )
        made.add(last, outcome(last), metric(last, "tokens_per_second", 1000.0, unit="tokens/s", better="higher"))
    return made


@pytest.fixture(scope="module")
def folder(warehouse: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its site."""
    root = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pairs, "chosen", lambda *_: [(run_of(NIGHTS - 2), run_of(NIGHTS - 1))])
        publish(warehouse, root)
    yield root


@pytest.fixture
def page(browser: Page, folder: Path) -> Page:
    """The site, open."""
    return browser.open(folder / "index.html")


def run_of(night: int) -> str:
    """The id of its run."""
    return f"0192f000-0000-7000-{night:04}"


def text(page: Page, address: str, selector: str = "#view") -> str:
    """The text of a part of a page."""
    go(page, address)
    return re.sub(r"\s+", " ", page.ask(f"document.querySelector({selector!r})?.textContent ?? ''"))


def case_of(warehouse: Builder, name: str) -> str:
    """The id of a case."""
    return str(warehouse.rows("SELECT min(case_id) FROM case_axes WHERE name = ?", [name])[0][0])


def test_names_stand_as_they_are_and_parameters_as_words(page: Page) -> None:
    """Braces of a name are part of it; those of parameters are JSON."""
    go(page, "#/cases")
    rows = {row["name"]: row for row in table(page)}

    assert {"{{7*7}}", LONG, "broken", "last"} == rows.keys()
    assert rows["{{7*7}}"]["parameters"] == 'tokens: 1-2, top: {"k":1}'


def test_a_case_that_never_ran_says_how_often_and_when(page: Page, warehouse: Builder) -> None:
    """It says in words how it ended, in how many runs, and which is the newest."""
    shown = text(page, f"#/case/{case_of(warehouse, 'broken')}")

    assert "fail_to_run in compile: RuntimeError, exit code 1 · 12 runs, the newest nightly · 1970-01-13" in shown


def test_failures_of_one_name_are_told_apart(page: Page) -> None:
    """By the axes in which they differ; a name that is alone stays short."""
    shown = text(page, f"#/run/{run_of(3)}", "#view details ul")

    assert "broken · batch 1 · fail_to_run" in shown and "broken · batch 2 · fail_to_run" in shown


def test_a_run_without_a_common_metric_of_a_case_shows_one_of_its_own(page: Page) -> None:
    """No row of its table is empty."""
    go(page, f"#/run/{run_of(3)}")
    (last,) = [row for row in table(page) if row["name"] == "last"]

    assert last["tokens per second"] == "1000 tokens/s"


def test_the_command_of_a_run_names_no_other(page: Page) -> None:
    """Ids of runs of the same millisecond have the same beginning."""
    go(page, f"#/run/{run_of(3)}")
    commands = page.ask("[...document.querySelectorAll('#view [data-copy]')].map(button => button.dataset.copy)")

    assert f"bench show {run_of(3)}" in commands


def test_dotted_lines_of_a_case_are_told_in_words(page: Page, warehouse: Builder) -> None:
    """A phone and paper show no hints of a mouse."""
    shown = text(page, f"#/case/{case_of(warehouse, '{{7*7}}')}")

    assert "nightly · 1970-01-08 00:00: GPU driver 550 → 560" in shown


def test_the_values_of_a_case_are_counted_as_they_are_drawn(page: Page, warehouse: Builder) -> None:
    """Those of the config that is chosen, whose query gives as many."""
    shown = text(page, f"#/case/{case_of(warehouse, 'last')}")

    assert "No change found in 12 values." in shown


def test_sides_that_were_judged_the_other_way_round_lead_there(page: Page) -> None:
    """A click swaps them; the page of the other order has verdicts."""
    shown = text(page, f"#/compare/{run_of(NIGHTS - 1)}/{run_of(NIGHTS - 2)}")
    assert "The other way round they were judged." in shown

    assert "other way round" not in text(page, f"#/compare/{run_of(NIGHTS - 2)}/{run_of(NIGHTS - 1)}")
    assert "other way round" not in text(page, f"#/compare/{run_of(1)}/{run_of(2)}")


def test_a_comparison_explains_the_words_that_it_uses(page: Page) -> None:
    """And no others."""
    shown = text(page, f"#/compare/{run_of(NIGHTS - 2)}/{run_of(NIGHTS - 1)}", "#view details:last-of-type dl")

    assert "intervalIn brackets" in shown and "not confirmedNobody" in shown
    assert "added, removed" not in shown


@exhaustive
def test_a_long_name_leaves_room_on_the_front_page(folder: Path, tmp_path: Path) -> None:
    """It is cut in the middle, in the title and in the link; its command has it whole."""
    warehouse = Builder()
    for night in range(30):
        one = case(LONG, f"night-{night:03}", suite="zoo")
        warehouse.add(run(one.run_id, "nightly", started_at=Instant(DAY_US * (night + 1))), one, outcome(one))
        warehouse.add(metric(one, "latency", 1e9 * (1.2 if night >= 20 else 1), unit="ns", better="lower"))
    publish(warehouse, tmp_path)
    shown = re.sub(r"<code>.*?</code>|<[^>]*>", "", (tmp_path / "index.html").read_text(encoding="utf-8"))

    assert f"{'x' * 30}…{'x' * 29}: " in shown
    assert LONG not in shown.partition('{"version"')[0]
