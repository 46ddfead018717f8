"""Pages in a real Chromium: nothing executes, nothing is blank, nothing is asked of the network."""

from pathlib import Path

import pytest
from bench.viz.chart import Chart
from bench.viz.charts import query
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.command import CHARTS
from bench.viz.marks.bars import Bar, Bars
from bench.viz.output import files
from bench.viz.output.figure import Figure
from bench.viz.style.units import DisplayUnit

from ..builders import Builder
from ..exhaustive import exhaustive, first_of, sampled
from .browser import PROGRAM, Page
from .steps import add_few, many
from .stores import HOSTILE, state
from .test_charts import drawn

pytest.importorskip("vl_convert")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages"),
]
POINTS: list[tuple[int, float | None]] = [(64, 10.0), (512, 30.0), (1024, 50.0), (2048, 80.0)]


def write(figure: Figure, path: Path) -> Path:
    """Write the page of a figure."""
    wanted = files.targets([str(path)], None)
    renderer = files.renderer_for(wanted)
    try:
        files.write(figure, wanted, renderer)
    finally:
        if renderer is not None:
            renderer.__exit__(None, None, None)
    return path


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two configs with many steps."""
    return write(draw(many(10_000)), tmp_path_factory.mktemp("two") / "two.html")


def quiet(page: Page) -> bool:
    """Nothing but the file itself was asked for, nothing failed, nobody spoke."""
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.dialogs == []
    assert page.errors == []
    return True


@pytest.mark.parametrize("color_by", sampled(["config", "batch"], "batch"))
def test_hostile_names_are_only_text(browser: Page, tmp_path: Path, color_by: str) -> None:
    """As config, path and title; shown, hovered over and chosen: nothing of them runs."""
    builder = Builder()
    for name in HOSTILE:
        add_few(builder, name, POINTS)
    title = "".join(HOSTILE[:3])
    browser.open(write(draw(builder, color_by=color_by, title=title), tmp_path / "hostile.html"))

    x, y = browser.first_mark()
    for step in (-1, 0):
        browser.mouse("mouseMoved", x + step, y)
    assert browser.ask("document.querySelector('#vg-tooltip-element.visible').innerText")
    assert browser.ask("document.querySelectorAll('#show-0 option').length") == len(HOSTILE) + 1
    browser.ask(
        "(s => { s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })(document.getElementById('show-0'))"
    )

    assert quiet(browser)
    assert browser.ask("document.title") == title
    assert browser.ask("document.querySelectorAll('script').length") == 4
    assert browser.ask("document.querySelectorAll('img, iframe, link, object').length") == 0
    assert browser.marks() > 100


@pytest.mark.parametrize("name", sampled(HOSTILE, HOSTILE[0]))
def test_one_hostile_config_is_not_blank(browser: Page, tmp_path: Path, name: str) -> None:
    """Whatever a config is called, its points are there."""
    builder = add_few(Builder(), name, POINTS)
    browser.open(write(draw(builder), tmp_path / "one.html"))

    assert quiet(browser)
    assert browser.marks() > 40


def test_the_page_draws_offline_in_light_and_dark(browser: Page, two: Path) -> None:
    """The same marks on either paper, and not one request."""
    light = browser.open(two).marks()
    assert quiet(browser)
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    dark = browser.open(two, dark=True).marks()

    assert quiet(browser)
    assert light > 5_000
    assert dark == pytest.approx(light, rel=0.2)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != paper


@pytest.mark.parametrize(("look", "paper"), first_of(1, [("dark", "rgb(13, 17, 23)"), ("paper", "rgb(255, 255, 255)")]))
def test_a_theme_asked_for_holds_whatever_the_system_is(browser: Page, tmp_path: Path, look: str, paper: str) -> None:
    """The page and the chart on it."""
    figure = draw(add_few(Builder(), "A", POINTS))
    path = tmp_path / "page.html"
    path.write_bytes(figure.page("sans-serif", files.bundle(), look))

    browser.open(path, dark=look == "paper")

    assert quiet(browser)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == paper
    corner = "document.querySelector('#chart-0 canvas').getContext('2d').getImageData(1, 1, 1, 1).data"
    assert f"rgb({', '.join(str(browser.ask(f'{corner}[{i}]')) for i in range(3))})" == paper


def test_a_tooltip_tells_the_step_and_how_to_find_it(browser: Page, tmp_path: Path) -> None:
    """Config, numbers, file and line, and the command that looks the step up."""
    builder = add_few(Builder(), "A", [(100, 50.0), (200, 40.0)])
    browser.open(write(draw(builder), tmp_path / "tip.html"))
    x, y = browser.first_mark()
    for step in (-1, 0):
        browser.mouse("mouseMoved", x + step, y)
    told = browser.ask("document.querySelector('#vg-tooltip-element.visible').innerText")

    assert "runs/A.jsonl:11" in told
    assert 'bench sql "FROM schedule_chunks WHERE source_id = ' in told
    assert "50.000" in told


@pytest.mark.exhaustive
def test_a_config_can_be_shown_alone_by_keyboard(browser: Page, two: Path) -> None:
    """The list of configs is reached by Tab and fades the others; `all` brings them back."""
    both = browser.open(two).marks()
    browser.ask("document.getElementById('show-0').focus()")
    choose = "(s => { s.selectedIndex = %d; s.dispatchEvent(new Event('change')); })(document.activeElement)"
    browser.ask(choose % 1)
    alone = browser.marks()
    browser.ask(choose % 0)

    assert alone < both * 0.8
    assert browser.marks() == both


@pytest.mark.exhaustive
def test_a_colour_bar_lies_above_the_plot_on_a_phone(browser: Page, tmp_path: Path) -> None:
    """Beside it, it took half of the width, and what stands above the plot pushed the title out of the picture."""
    path = write(draw(many(3000), color_by="batch"), tmp_path / "batch.html")
    browser.window(390, 844, phone=True)
    try:
        browser.open(path)

        assert browser.coloured_in_first_row() > 100
        assert quiet(browser)
    finally:
        browser.window(1200, 1000)


@pytest.mark.parametrize("width", first_of(1, [390, 1200]))
def test_the_legend_of_a_long_chart_stays_in_sight(browser: Page, tmp_path: Path, width: int) -> None:
    """On a phone, and where a chart is higher than the window: names in full, and one that is pressed is shown alone."""
    from bench.viz.charts import speedups

    path = write(speedups.draw(state("long"), all_cases=True), tmp_path / "long.html")
    browser.window(width, 300)
    try:
        browser.open(path, dark=True)
        browser.ask("scrollTo(0, document.querySelector('.chart').offsetTop + 150)")
        box = browser.ask("document.querySelector('.legend').getBoundingClientRect().toJSON()")
        names = browser.ask("[...document.querySelectorAll('.legend button')].map(b => b.textContent.slice(1))")
        browser.ask("document.querySelector('.legend button').click()")

        assert (box["top"], names) == (
            0,
            browser.ask("[...document.querySelector('#show-0').options].slice(1).map(o => o.text)"),
        )
        assert browser.ask("document.querySelector('#show-0').value") == "0"
        assert browser.ask("document.querySelector('.legend button').getAttribute('aria-pressed')") == "true"
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert quiet(browser)
    finally:
        browser.window(1200, 1000)


def test_a_name_in_the_legend_is_shown_alone(browser: Page, two: Path) -> None:
    """A click on it fades the others."""
    both = browser.open(two).marks()
    browser.click(*browser.symbol())
    browser.ask("new Promise(done => setTimeout(done, 200))")

    assert browser.marks() < both * 0.8


def test_the_wheel_zooms(browser: Page, two: Path) -> None:
    """Scrolling over the plot changes what is seen."""
    before = browser.open(two).marks()
    browser.mouse("mouseMoved", 400, 300)
    for _ in range(6):
        browser.mouse("mouseWheel", 400, 300, deltaX=0, deltaY=-200)
    browser.ask("new Promise(done => setTimeout(done, 300))")

    assert browser.marks() != before
    assert quiet(browser)


@pytest.mark.parametrize("name", sampled([*CHARTS], "history"))
def test_hostile_names_are_only_text_in_every_chart(browser: Page, tmp_path: Path, name: str) -> None:
    """As config, model and backend: something is drawn, and nothing of them runs."""
    browser.open(write(drawn(name, "hostile"), tmp_path / "hostile.html"))

    assert quiet(browser)
    assert browser.ask("document.title") != "PWNED"
    assert browser.ask("document.querySelectorAll('img, iframe, link, object').length") == 0
    assert browser.marks() > 100


@pytest.mark.exhaustive
def test_hostile_rows_are_only_text_in_a_spec_of_ones_own(browser: Page, tmp_path: Path) -> None:
    """Drawn as text, coloured by, put into tooltips as they are: nothing of them runs."""
    text = {"field": "name", "type": "nominal"}
    spec = {
        "mark": {"type": "bar", "tooltip": {"content": "data"}},
        "encoding": {
            "y": text,
            "color": text,
            "x": {"field": "n", "type": "quantitative"},
            "tooltip": [text, {"field": "image"}],
        },
    }
    hostile = "SELECT name, count(*) AS n, name AS image FROM cases GROUP BY ALL ORDER BY ALL"
    browser.open(write(query.draw(state("hostile"), hostile, spec=spec), tmp_path / "spec.html"))

    x, y = browser.first_mark()
    for step in (-1, 0):
        browser.mouse("mouseMoved", x + step, y + 3)
    assert quiet(browser)
    assert "PWNED" not in browser.ask("document.title")
    assert browser.ask("document.querySelectorAll('img, iframe, link, object').length") == 0
    assert browser.marks() > 100


@pytest.mark.parametrize("name", sampled([*CHARTS], "speedups", "history"))
def test_every_chart_is_used_by_keyboard_in_light_and_in_dark(browser: Page, tmp_path: Path, name: str) -> None:
    """Nothing but two scripts may run and nothing may be loaded; the list of series is reached by Tab and fades the others."""
    figure = drawn(name, "few")
    path = write(figure, tmp_path / "chart.html")
    browser.open(path, dark=True)
    assert quiet(browser) and browser.marks() > 100
    both = browser.open(path).marks()
    policy = browser.ask("document.querySelector('meta[http-equiv=Content-Security-Policy]').content")

    assert quiet(browser) and both > 100
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe-eval" not in policy
    assert browser.ask("document.querySelector('.chart').getAttribute('aria-label')") == figure.provenance.title
    if len(figure.names) > 1:
        for _ in range(4):  # two buttons, and what the subtitle folds away
            browser.key("Tab")
            if browser.ask("document.activeElement.id") == "show-0":
                break
        assert browser.ask("document.activeElement.id") == "show-0"
        browser.key("ArrowDown")
        browser.ask("new Promise(done => setTimeout(done, 150))")
        assert browser.ask("document.activeElement.selectedIndex") == 1
        assert browser.marks() < both
    assert quiet(browser)


@pytest.mark.parametrize(
    ("name", "title"),
    sampled([*((name, None) for name in CHARTS), ("speedups", "")], ("pass-rate", None), ("speedups", "")),
)
def test_every_chart_is_readable_on_a_phone(browser: Page, tmp_path: Path, name: str, title: str | None) -> None:
    """390 pixels wide, with a heading and without: nothing sticks out at the side, and there is something to see."""
    browser.window(390, 800, phone=True)
    try:
        sides = {"candidate": "run-1-0"} if name == "why" else {}  # which differ: of others there is nothing to see
        browser.open(write(drawn(name, "few", title=title, **sides), tmp_path / "phone.html"))

        assert quiet(browser)
        assert browser.ask("document.documentElement.scrollWidth") <= 390
        assert browser.marks() > 50
    finally:
        browser.window(1200, 1000)


@exhaustive
def test_many_cases_are_shown_by_turns(browser: Page, tmp_path: Path) -> None:
    """A page of 30 cases × 4 series begins with as many cases as a screen holds; a switch shows the others, or all."""
    bars = [
        Bar(row=f"case {row:02}", series=series, value=1.1 + row / 100)
        for row in range(30)
        for series in ("a", "b", "c", "d")
    ]
    form = Bars(bars=bars, title="speedup", unit=DisplayUnit(None), ratio=True)
    rows = [{"n": place} for place in range(len(bars))]
    figure = Chart(title="t", form=form, sql="", rows=rows, parameters={}).figure("speedups", title="")
    browser.window(1200, 1000)
    browser.open(write(figure, tmp_path / "turns.html"))
    options = browser.ask("[...document.getElementById('rows-0').options].map(option => option.text)")
    height = "document.querySelector('#chart-0 canvas').clientHeight"
    first = browser.ask(height)
    chosen = (
        "(async (i) => { const field = document.getElementById('rows-0'), mark = performance.getEntriesByName('drawn').length;"
        " field.selectedIndex = i; field.dispatchEvent(new Event('change'));"
        " while (performance.getEntriesByName('drawn').length === mark) await new Promise(done => setTimeout(done, 20)); })"
    )
    browser.ask(f"{chosen}({len(options) - 1})")

    assert options == ["1–15: case 00 … case 14", "16–30: case 15 … case 29", "all 30"]
    assert first < 1000 < browser.ask(height)
    assert quiet(browser)
