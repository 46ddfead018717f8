"""A published site in a real Chromium, opened as a file: pages, numbers, search, and nothing that a name could run."""

import itertools
import json
import random
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.query.comparison import render
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import find_sides
from bench.viz.publish import pairs, site
from bench.viz.publish.private import shortened
from bench.warehouse.console.numbers import amount, change_of, factor_of, signed
from bench.warehouse.events import Instant, Reject

from ...builders import Builder, case, metric, outcome, run, source, timing
from ...exhaustive import exhaustive
from ..browser import PROGRAM, Page
from ..stores import HOSTILE
from .sites import DAY_US, nights, publish

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages"),
]
NAMES = ("bert", "mlp", *HOSTILE, "名" * 100 + "x" * 200)
UNITS = ("ns", "bytes", "count", "tokens/s", None, "bytes/s")


def values() -> list[float]:
    """Numbers of every size, among them those that lie half-way between two roundings."""
    generator = random.Random(1)
    halves = [12.125 * 2**20, 1.0625 * 2**30, 1000.5, 2.5, 0.5, 12345.0, 1234500.0, 2**53, 999.95, 999_950.0, 1e-7, 3.0]
    return [*halves, *(generator.uniform(1, 10) * 10.0 ** generator.randint(-6, 16) for _ in range(60))]


@pytest.fixture(scope="module")
def warehouse() -> Builder:
    """Nights of models with hostile names, and two runs of numbers."""
    made = nights(14, NAMES, slower_from=10)
    for number, run_id in enumerate(("first", "second")):
        made.append(run(run_id, HOSTILE[0], started_at=Instant(DAY_US * (number + 1)), git_commit=HOSTILE[2]))
        for place, value in enumerate(values()):
            one = case(f"value-{place}", run_id, suite="numbers")
            unit = UNITS[place % len(UNITS)]
            made += [one, outcome(one), metric(one, "size", value * (1 + number / 7), unit=unit, better="lower")]
    sampled = case("accurate", "sampled", suite="numbers")  # the only one with intervals
    made += [run("sampled", "others", started_at=Instant(DAY_US * 3)), sampled, outcome(sampled)]
    made += [timing(sampled, 1_000_000 + block, block=block) for block in range(8)]
    broken = case("broken", "second", suite="numbers")
    log = f"{HOSTILE[1]}\nin /home/me/work.py"
    made += [
        source("s", lines=3, run="second", rejected=1),
        broken,
        outcome(broken, "fail_to_run", message=HOSTILE[0], stderr_tail=log),
    ]
    return Builder().add(*made, Reject(source_id="s", run_id="second", line=3, reason=HOSTILE[0], text=HOSTILE[1]))


@pytest.fixture(scope="module")
def folder(warehouse: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its site, in which the nights are judged and the two runs of numbers are not."""
    root = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pairs, "chosen", lambda *_: [("night-012", "night-013")])
        site.publish(warehouse, root, title=HOSTILE[1], logs=True)
    yield root


def go(browser: Page, address: str) -> None:
    """Follow an address within the site and wait until its page is drawn."""
    browser.ask(f"location.hash = {json.dumps(address)}")
    deadline = time.monotonic() + 20
    while browser.ask("document.documentElement.dataset.drawn") != browser.ask("location.hash"):
        assert time.monotonic() < deadline, browser.errors
        time.sleep(0.02)


def table(browser: Page) -> list[dict[str, str]]:
    """The rows of the table that is shown, by heading."""
    found: list[dict[str, str]] = browser.ask("""(() => {
      const table = document.querySelector('#view table');
      const texts = row => [...row.cells].map(cell => cell.textContent), heads = texts(table.tHead.rows[0]);
      return [...table.tBodies[0].rows].map(row => Object.fromEntries(texts(row).map((text, i) => [heads[i], text])));
    })()""")
    return found


def type_into(browser: Page, selector: str, text: str) -> None:
    """Type into a field."""
    browser.ask(
        f"(field => {{ field.focus(); field.value = {json.dumps(text)};"
        f" field.dispatchEvent(new Event('input')); }})(document.querySelector({selector!r}))"
    )


def foreign(browser: Page) -> list[str]:
    """Requests to anything but the site's own files."""
    return [url for url in browser.requests if not url.startswith("file:")]


def test_nothing_of_a_name_runs_on_any_page(browser: Page, folder: Path, warehouse: Builder) -> None:
    """Every page is drawn from hostile names without an error, a dialog, or a request to elsewhere."""
    browser.open(folder / "index.html")
    ids = [case_id for (case_id,) in warehouse.rows("SELECT case_id FROM case_axes ORDER BY name LIMIT 4")]
    pages = ("#/runs", "#/cases", "#/compare", "#/run/night-013", "#/run/first", "#/case/none", "#/run/%", "#/<b>")
    pairs_of = ("#/compare/night-012/night-013", "#/compare/first/second")
    for address in (*pages, *pairs_of, *(f"#/case/{each}" for each in ids)):
        go(browser, address)

    assert (browser.errors, browser.dialogs, foreign(browser)) == ([], [], [])
    assert (
        browser.ask("document.querySelectorAll('img, iframe, object, style, [style], [onclick], [onload]').length") == 0
    )
    policy = browser.ask("document.querySelector('meta[http-equiv]').content")
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_a_judged_pair_shows_what_compare_prints(browser: Page, folder: Path, warehouse: Builder) -> None:
    """Base, candidate, change and verdict of 20 random rows, letter by letter; the link holds what is shown."""
    found = compare(warehouse, *find_sides(warehouse, "night-012", "night-013"))
    columns, cells = render.render(found, render.shown(found, everything=True))
    verdicts = {str(row[columns.index("verdict")]) for row in cells}
    browser.open(folder / "index.html")
    go(browser, f"#/compare/night-012/night-013?v={','.join(sorted(verdicts))}")
    shown = [[row[name] for name in ("metric", "base", "candidate", "change")] for row in table(browser)]

    wanted = [
        [str(row[columns.index(name)] or "") for name in ("metric", "base", "candidate", "change")] for row in cells
    ]
    assert len(shown) == len(wanted)
    assert all(row in shown for row in random.Random(1).sample(wanted, min(20, len(wanted))))
    type_into(browser, "#view .tools input", "bert")
    address = browser.ask("location.hash")
    browser.open(folder / "index.html")
    go(browser, address)
    assert {row["name"] for row in table(browser)} == {"bert"}


def test_numbers_of_an_unjudged_pair_are_printed_as_by_compare(browser: Page, folder: Path) -> None:
    """Values of every size and unit, half-way ones to the even digit; no verdict is claimed, and the page says so."""
    browser.open(folder / "index.html")
    go(browser, "#/compare/first/second")
    shown = {row["name"]: row for row in table(browser)}

    for place, value in enumerate(values()):
        row, unit, after = shown[f"value-{place}"], UNITS[place % len(UNITS)], value * (1 + 1 / 7)
        assert (row["base"], row["candidate"]) == (amount(value, unit), amount(after, unit)), value
        assert row["change"] == factor_of({"ratio": value / after, "unit": unit, "better": "lower"})
    assert "verdict" not in shown["value-0"]
    assert "were not judged" in browser.ask("document.querySelector('#view .lead').textContent")


@pytest.mark.exhaustive
@pytest.mark.parametrize("column", ["base", "difference"])
def test_values_are_sorted_by_size_whatever_their_units(browser: Page, folder: Path, column: str) -> None:
    """999 µs stand before 1 ms; a click turns the order."""
    browser.open(folder / "index.html")
    go(browser, "#/compare/first/second")
    head = f"[...document.querySelectorAll('#view th button')].find(button => button.textContent === '{column}')"
    browser.ask(f"{head}.click()")
    down = [row["name"] for row in table(browser)]
    sizes = {f"value-{place}": value for place, value in enumerate(values())}
    shown = [sizes[model] for model in down]
    browser.ask(f"{head}.click()")
    up = [row["name"] for row in table(browser)]

    assert len(shown) == len(sizes)
    assert all(second <= first * 1.001 for first, second in itertools.pairwise(shown))
    assert sizes[up[0]] == min(shown) and sizes[up[-1]] == max(shown)


@exhaustive
def test_numbers_of_a_pair_are_those_of_their_queries(browser: Page, folder: Path, warehouse: Builder) -> None:
    """Of 20 random cells each hands over a question in SQL whose answer, printed, is the cell."""
    browser.open(folder / "index.html")
    go(browser, "#/compare/night-012/night-013?v=SAME,UNSURE,FASTER,SLOWER,LIKELY%20FASTER,LIKELY%20SLOWER")
    cells = browser.ask("""[...document.querySelectorAll('#view tbody tr')].flatMap(row =>
      [...row.querySelectorAll('button.n')].map((cell, place) => [cell.textContent, cell.dataset.q, place]))""")
    asked = random.Random(1).sample(cells, 20)

    for text, query, place in asked:
        ((base, candidate, ratio, low, high, *_),) = warehouse.rows(statement_of(query))
        change = {"ratio": ratio, "low": low, "high": high, "unit": "ns", "better": "lower"}
        difference = signed(candidate - base, "ns")
        assert text == (amount(base, "ns"), amount(candidate, "ns"), difference, change_of(change))[place]


def statement_of(query: str) -> str:
    """The SQL of a command that was pasted into a shell."""
    program, verb, statement = shlex.split(query)
    assert (program, verb) == ("bench", "sql")
    return statement


def test_the_compare_page_opens_with_the_newest_round(browser: Page, folder: Path) -> None:
    """Against the one before, with an address that holds both."""
    browser.open(folder / "index.html")
    browser.ask("location.hash = '#/compare'")
    deadline = time.monotonic() + 20
    while not str(browser.ask("document.documentElement.dataset.drawn")).startswith("#/compare"):
        assert time.monotonic() < deadline, browser.errors
        time.sleep(0.02)

    assert browser.ask("location.hash") == "#/compare/night-012/night-013"
    assert len(table(browser)) > 0


def test_axe_finds_nothing(browser: Page, folder: Path, warehouse: Builder) -> None:
    """No page fails a rule of axe-core, light or dark; a button without a name, put in, is found."""
    axe = Path(pytest.importorskip("axe_core_python").__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    ((case_id,),) = warehouse.rows("SELECT case_id FROM case_axes WHERE name = 'bert'")
    ask = "axe.run(document, {preload: false}).then(all => all.violations.map(one => [one.impact, one.id, one.nodes[0].html]))"
    pages = ("#/", "#/runs", "#/cases", "#/compare/night-012/night-013", "#/run/night-013", f"#/case/{case_id}")
    for dark in (False, True):
        browser.open(folder / "index.html", dark=dark)
        browser.ask(f"{axe};0")
        for address in pages:
            go(browser, address)
            assert browser.ask(ask) == [], address
    browser.ask("document.getElementById('view').append(document.createElement('button'))")
    assert "button-name" in [name for _, name, _ in browser.ask(ask)]
    assert browser.errors == []


def test_a_case_shows_its_step_and_its_query(browser: Page, folder: Path, warehouse: Builder) -> None:
    """The series is drawn, the step is marked, and a number hands over the command that makes it."""
    ((case_id,),) = warehouse.rows("SELECT case_id FROM case_axes WHERE name = 'bert'")
    browser.open(folder / "index.html")
    go(browser, f"#/case/{case_id}")

    assert browser.ask("document.querySelectorAll('#view .chart circle').length") == 14
    assert browser.ask("document.querySelectorAll('#view .chart .change.worse').length") == 1
    assert "slower step since" in browser.ask("document.querySelector('#view .changes').textContent")
    browser.ask("document.querySelector('#view .readout .n:last-of-type').click()")
    query = browser.ask("document.querySelector('#query code').textContent")
    statement = query.removeprefix('bench sql "').removesuffix('"')
    ((median, *_),) = warehouse.rows(statement)
    assert amount(median, "ns") == browser.ask("document.querySelector('#view .readout .n:last-of-type').textContent")


def test_searching_finds_cases_runs_and_changes(browser: Page, folder: Path) -> None:
    """Every word must be in it; Enter follows the first."""
    browser.open(folder / "index.html")
    type_into(browser, "#search", "zoo BERT")
    deadline = time.monotonic() + 30
    while browser.ask("document.getElementById('search').dataset.found") is None and time.monotonic() < deadline:
        time.sleep(0.02)

    kinds = browser.ask("[...document.querySelectorAll('#found .kind')].map(kind => kind.textContent)")
    assert "case" in kinds
    browser.ask("document.getElementById('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    time.sleep(0.3)
    assert browser.ask("location.hash").startswith("#/case/")


def test_keys_alone_reach_a_page_and_leave_it(browser: Page, folder: Path) -> None:
    """The focus is on the page that was chosen, the link past the navigation stays on it, and a choice keeps its field."""
    focus = "(e => e.getAttribute('aria-label') ?? e.tagName)(document.activeElement)"
    browser.open(folder / "index.html")
    go(browser, "#/runs")
    assert browser.ask(focus) == "MAIN"
    browser.ask("document.querySelector('.skip').focus(); document.querySelector('.skip').click()")
    assert (browser.ask(focus), browser.ask("location.hash")) == ("MAIN", "#/runs")
    browser.ask("document.querySelector('#view input').focus()")
    go(browser, "#/runs?q=night")
    assert browser.ask(focus) == "filter runs"


@exhaustive
def test_the_address_of_a_folded_change_opens_it(browser: Page, tmp_path: Path) -> None:
    """Those that are over since stand in a closed table; a link to one opens that."""
    publish(Builder().add(*nights(30, ("bert",), slower_from=20)), tmp_path)
    browser.open(tmp_path / "index.html")
    anchor = browser.ask("document.querySelector('details.rest tr[id]').id")
    assert not browser.ask("document.querySelector('details.rest').open")
    browser.ask(f"location.hash = '#{anchor}'")
    assert browser.ask("new Promise(done => setTimeout(() => done(document.querySelector('details.rest').open), 300))")


def test_an_empty_store_has_pages(browser: Page, tmp_path: Path) -> None:
    """Each says that nothing is recorded."""
    publish(Builder(), tmp_path)
    browser.open(tmp_path / "index.html")
    for address in ("#/runs", "#/cases", "#/compare"):
        go(browser, address)
        assert "Nothing is recorded yet." in browser.ask("document.getElementById('view').textContent"), address
    assert browser.errors == []


@pytest.mark.exhaustive
def test_it_fits_a_phone_and_reads_in_the_dark(browser: Page, folder: Path) -> None:
    """No page is wider than the window; ink stands out from paper."""
    browser.window(390, 844, phone=True)
    try:
        browser.open(folder / "index.html", dark=True)
        for address in ("#/", "#/runs", "#/cases", "#/compare/night-012/night-013"):
            go(browser, address)
            assert browser.ask("document.documentElement.scrollWidth") <= 390, address
        assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    finally:
        browser.window(1200, 1000)


def test_a_run_shows_the_logs_of_its_failures(browser: Page, folder: Path) -> None:
    """As text: what a program wrote is run nowhere; a run where nothing failed has none."""
    browser.open(folder / "index.html")
    go(browser, "#/run/second")

    shown = browser.ask("[...document.querySelectorAll('#view .log pre')].map(log => log.textContent)")
    assert shown == [shortened(f"{HOSTILE[0]}\n{HOSTILE[1]}\nin /home/me/work.py")]
    go(browser, "#/run/first")
    assert browser.ask("document.querySelectorAll('#view .log').length") == 0
    assert (browser.errors, browser.dialogs) == ([], [])


def test_a_run_says_how_to_see_what_could_not_be_read(browser: Page, folder: Path, warehouse: Builder) -> None:
    """The reasons quote what was measured, so they stay in the store: the page has the question that lists them."""
    browser.open(folder / "index.html")
    go(browser, "#/run/second")

    query = browser.ask(
        "[...document.querySelectorAll('#view [data-copy]')].map(b => b.dataset.copy).find(c => c.includes('rejected'))"
    )
    assert [row["line"] for row in warehouse.dicts(statement_of(query))] == [3]


def labelled(browser: Page) -> Any:
    """Fields and buttons that say nothing to a screen reader."""
    return browser.ask("""[...document.querySelectorAll('#view button, #view input, #view select, #view a, header input')]
      .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.title))
      .map(e => e.outerHTML)""")


@pytest.mark.exhaustive
def test_every_control_has_a_name(browser: Page, folder: Path) -> None:
    """A screen reader says what each is for."""
    browser.open(folder / "index.html")
    for address in ("#/runs", "#/run/night-013", "#/compare/night-012/night-013"):
        go(browser, address)
        assert labelled(browser) == []


@exhaustive
def test_a_comparison_with_many_columns_fits_a_window(browser: Page, tmp_path: Path) -> None:
    """Suite, long model, batch, values, change and reason stand beside each other in 1,300 and 1,000 pixels, none cut off."""
    made = Builder()
    suites, many = (
        ("huggingface", "torchbench", "timm_models"),
        ("absolute_latency", "compile_latency", "startup", "speedup"),
    )
    for night in range(3):
        run_id = f"night-{night:03}"
        made.add(run(run_id, "nightly", started_at=Instant(DAY_US * (night + 1))))
        for place, name in enumerate(
            ("BlenderbotSmallForConditionalGeneration", "pytorch_CycleGAN_and_pix2pix", "dlrm")
        ):
            one = case(name, run_id, suite=suites[place], backend="inductor", batch_size=512 * (place + 1))
            broken = place == 2 and night == 2
            made.add(one, outcome(one, "fail_accuracy" if broken else "ok"))
            value = 5.5e6 * (1.0 + 0.001 * night) * (1.6 if night == 2 else 1.0)
            made.add(*(metric(one, each, value, unit="ns", better="lower") for each in many if not broken))
    publish(made, tmp_path)
    browser.open(tmp_path / "index.html")
    go(browser, "#/compare/night-001/night-002?v=BROKEN,SLOWER,LIKELY SLOWER,UNSURE".replace(" ", "%20"))
    assert browser.ask("document.querySelectorAll('#view tbody tr').length") > 5
    for width in (1300, 1000):
        browser.window(width, 1000)
        wide, room = browser.ask("(s => [s.scrollWidth, s.clientWidth])(document.querySelector('#view .scroll'))")
        assert wide <= room, width
