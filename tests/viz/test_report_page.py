"""The report's page in a real Chromium: it sorts, filters and copies, reads on a phone, and runs nothing of a name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.query.document import Document, Section, Table, TableColumn, Told
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.output import files, report_page

from ..builders import Builder
from ..exhaustive import exhaustive
from .browser import PROGRAM, Page
from .steps import add_few
from .stores import HOSTILE

pytest.importorskip("vl_convert")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages"),
]


def written(folder: Path, names: Sequence[str]) -> Path:
    """A report whose every text is one of these names."""
    rows = [[name, 10.0 - i if i else None, 1e6 * (i + 1)] for i, name in enumerate(names)]
    table = Table([TableColumn(names[0]), TableColumn("ratio", "ratio"), TableColumn("latency", "duration")], rows)
    sections = [
        Section(key="charted", title=names[0], sentences=names, tables=[table]),
        Section(key="folded", title="folded", tables=[table], folded=True),
    ]
    document = Document(title=names[-1], verdict=names[0], good=False, facts=[(names[0], names[-1])], sections=sections)
    builder = Builder()
    for name in names[:2]:
        add_few(builder, name, [(64, 10.0), (512, 30.0), (1024, 50.0)])
    charts = {"charted": [draw(builder)]}
    path = folder / "report.html"
    path.write_bytes(report_page.page(document, charts, font="sans-serif", bundle=files.bundle()))
    return path


def column(browser: Page, at: int) -> list[str]:
    """What stands in a column of the first table, in order, hidden rows left out."""
    rows = "document.querySelector('.table').querySelectorAll('tbody:not([hidden]) tr:not(.note)')"
    found: list[str] = browser.ask(f"[...{rows}].map(row => row.cells[{at}].textContent)")
    return found


def press(browser: Page, selector: str) -> None:
    """Click as the keyboard does: on the element that has the focus."""
    browser.ask(f"(e => {{ e.focus(); document.activeElement.click(); }})(document.querySelector({selector!r}))")


def test_nothing_of_a_name_runs(browser: Page, tmp_path: Path) -> None:
    """Title, verdict, facts, headings, sentences, cells and charts made of hostile names are text, and ask for nothing."""
    browser.open(written(tmp_path, HOSTILE))

    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert (browser.dialogs, browser.errors) == ([], [])
    assert browser.ask("document.querySelectorAll('script').length") == 3
    assert browser.ask("document.querySelectorAll('img, iframe, link, object').length") == 0
    assert browser.marks() > 50
    assert browser.ask("document.querySelector('.chart summary').getAttribute('aria-label')") == "Save the chart"


def test_a_click_on_a_heading_sorts(browser: Page, tmp_path: Path) -> None:
    """Numbers by size, once down and once up, what is missing last both times."""
    browser.open(written(tmp_path, ["a10", "a9", "b", "c"]))

    press(browser, ".table th:nth-child(2) button")
    down = column(browser, 1)
    press(browser, ".table th:nth-child(2) button")
    up = column(browser, 1)
    press(browser, ".table th:nth-child(1) button")

    assert (up, down) == (["7.00x", "8.00x", "9.00x", ""], ["9.00x", "8.00x", "7.00x", ""])
    assert column(browser, 0) == ["a9", "a10", "b", "c"]
    assert browser.ask("document.querySelector('.table th').getAttribute('aria-sort')") == "ascending"


def test_what_is_said_of_a_row_stands_below_it_and_moves_with_it(browser: Page, tmp_path: Path) -> None:
    """In lines of its own as wide as the table; a number in words sorts by its value, and nothing scrolls sideways."""
    columns = [TableColumn("case"), TableColumn("change", "told"), TableColumn("why", "note")]
    rows: list[list[Any]] = [
        ["a", Told(1.5, "1.50x slower (95 % 1.4–1.6)"), "because " * 60],
        ["b", Told(0.5, "2.00x faster"), ""],
        ["c", None, "gone"],
    ]
    sections = [Section(key="one", title="One", tables=[Table(columns, rows)])]
    document = Document(title="t", verdict="v", good=None, sections=sections)
    path = tmp_path / "notes.html"
    path.write_bytes(report_page.page(document, {}, font="sans-serif", bundle=b""))
    browser.window(1300, 800)
    browser.open(path)
    press(browser, ".table th:nth-child(2) button")

    assert column(browser, 0) == ["b", "a", "c"]
    notes = "[...document.querySelectorAll('tr.note')].map(row => row.parentElement.textContent)"
    assert [(text[0], text[-8:]) for text in browser.ask(notes)] == [("a", "because "), ("c", "cgone")]
    assert browser.ask("document.querySelectorAll('.table th').length") == 2
    assert browser.ask("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.table .scroll'))") == 0


@exhaustive
def test_typing_filters_and_copying_takes_what_is_shown(browser: Page, tmp_path: Path) -> None:
    """Every word must be somewhere in the row; a copy has exact values between tabs."""
    browser.open(written(tmp_path, [f"model-{number}" for number in range(30)]))

    typed = "(i => { i.value = 'MODEL-2 ms'; i.dispatchEvent(new Event('input')); })(document.querySelector('.table input'))"
    browser.ask(typed)
    press(browser, ".table .copy")

    assert column(browser, 0) == ["model-2", *(f"model-{number}" for number in range(20, 30))]
    assert browser.ask("document.documentElement.dataset.copied").splitlines()[:2] == [
        "model-0\tratio\tlatency",
        "model-2\t8.0\t3000000.0",
    ]


@pytest.mark.exhaustive
def test_it_reads_on_a_phone_and_in_the_dark(browser: Page, tmp_path: Path) -> None:
    """The page is no wider than the window; wide tables scroll past their first column; ink stands out from paper."""
    path = written(tmp_path, ["x" * 300, "another config with a long name", "短", "d"])
    browser.window(390, 800)
    try:
        browser.open(path, dark=True)

        assert browser.ask("document.documentElement.scrollWidth") <= 390
        at = "document.querySelector('.table tbody td').getBoundingClientRect().left"
        before = browser.ask(at)
        browser.ask(
            "(box => { box.style.width = '160px'; box.scrollLeft = 50 })(document.querySelector('.table .scroll'))"
        )
        assert browser.ask("document.querySelector('.table .scroll').scrollLeft") > 0
        assert browser.ask(at) == before
        assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
        assert browser.ask("getComputedStyle(document.querySelector('td')).color") == "rgb(230, 237, 243)"
    finally:
        browser.window(1200, 1000)


def test_wide_tables_fit_a_window_of_1300_pixels(browser: Page, tmp_path: Path) -> None:
    """A summary with all columns and changes of all axes need no scrolling; a name breaks at its underscores alone."""
    told = TableColumn("change", "told")
    summary = {
        "suite": "huggingface", "mode": "inference", "dtype": "bfloat16", "backend": "inductor_no_cudagraphs",
        "geomean speedup": "1.37x", "over": "124", "speedup before": "1.37x", "slowdowns as 1": "1.39x",
        "on all backends": "1.37x", "cases on all": "124", "passing": "99%, 124/125", "passing before": "100%, 125/125",
        "compile": "41.3 s", "compile before": "41.1 s", "memory": "0.89x", "memory before": "0.89x", "flagged": "43",
    }  # fmt: skip
    changes = {
        "verdict": "SLOWER", "suite": "huggingface", "name": "DebertaV2ForQuestionAnswering", "mode": "inference",
        "device": "cuda", "dtype": "bfloat16", "backend": "inductor_no_cudagraphs", "batch": "24", "length": "512",
        "metric": "cuda_allocated_peak", "base": "4.657 GiB", "candidate": "6.519 GiB",
    }  # fmt: skip
    tables = [
        Table([TableColumn(name) for name in summary], [[*summary.values()]]),
        Table([*map(TableColumn, changes), told], [[*changes.values(), Told(1.4, "1.40x larger (95 % 1.38–1.42)")]]),
    ]
    document = Document(
        title="a", verdict="b", good=True, facts=[], sections=[Section(key="a", title="A", tables=tables)]
    )
    path = tmp_path / "report.html"
    path.write_bytes(report_page.page(document, {}, font="sans-serif", bundle=files.bundle()))
    browser.window(1300, 1000)
    try:
        browser.open(path)
        beyond = "[...document.querySelectorAll('.table .scroll')].map(box => box.scrollWidth - box.clientWidth)"
        assert browser.ask(beyond) == [0, 0]
        lines = """[...document.querySelectorAll('td.name')].filter(cell => cell.textContent === 'huggingface').map(cell => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return range.getClientRects().length;
        })"""
        assert browser.ask(lines) == [1, 1]
    finally:
        browser.window(1200, 1000)


@exhaustive
def test_a_fold_opens_at_its_link(browser: Page, tmp_path: Path) -> None:
    """Everything is reached from the top, by keyboard too."""
    browser.open(written(tmp_path, ["a", "b", "c", "d"]))

    press(browser, "nav a[href='#folded']")

    assert browser.ask("document.querySelector('#folded').open")
