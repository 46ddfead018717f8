"""The charts of a site: drawn where a run or pair has the data, kept from night to night, and private as the rest is."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.viz.command import viz
from bench.viz.publish import figures, site
from bench.viz.publish.private import shortened
from bench.warehouse.errors import MissingExtra
from bench.warehouse.events import Event
from click.testing import CliRunner

from ...builders import Builder, case, metric, outcome, run, source, steps
from ...exhaustive import exhaustive
from ..browser import PROGRAM, Page
from ..stores import HOSTILE
from .sites import data, on_disk, publish
from .test_site_page import go

SERVERS = ("/home/me/server-A", HOSTILE[0])


@pytest.fixture(scope="module")
def made() -> list[Event]:
    """Steps of two servers whose names are a path and hostile; one takes 10 % longer."""
    found: list[Event] = []
    for place, config in enumerate(SERVERS):
        run_id = f"server-{place}"
        sizes = [1 + 37 * k % 900 for k in range(400)]
        times = [(5 + 0.02 * size) * (1 + 0.1 * place) * (1 + 0.01 * (size % 3)) for size in sizes]
        found += [run(run_id, config), source(f"{run_id}.jsonl", run=run_id, lines=400, config=config)]
        found += steps(run_id, sizes, times)
    return found


@pytest.fixture(scope="module")
def warehouse(made: list[Event]) -> Builder:
    """A warehouse of them."""
    return Builder().add(*made)


@pytest.fixture(scope="module")
def folder(warehouse: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Their site."""
    root = tmp_path_factory.mktemp("site")
    publish(warehouse, root)
    yield root


@exhaustive
def test_runs_and_pairs_with_steps_have_their_charts(folder: Path) -> None:
    """Time against tokens of each run and of both, where its time goes, and the waterfall of the difference."""
    (found,) = data(folder, "figures")
    commands = {of: [command for *_, command in pictures] for of, pictures in found.items()}

    of_one = ("bench viz runtime-vs-tokens --runs {0}", "bench viz step-breakdown --runs {0}")
    assert commands == {
        "server-0": [command.format("server-0") for command in of_one],
        "server-1": [command.format("server-1") for command in of_one],
        "server-0|server-1": [
            "bench viz runtime-vs-tokens --runs server-0 server-1", "bench viz why server-0 server-1 step",
        ],
    }  # fmt: skip
    assert all((folder / file).read_bytes().startswith(b"<svg") for pictures in found.values() for file, *_ in pictures)


@exhaustive
def test_the_command_beside_a_chart_draws_it(folder: Path, made: list[Event], tmp_path: Path) -> None:
    """Its title is the one that the page shows."""
    store = on_disk(made, tmp_path / ".bench")
    (found,) = data(folder, "figures")
    pictures = [picture for pictures in found.values() for picture in pictures]

    assert len(pictures) == 6
    for _, _, title, _, command in pictures:
        drawn = CliRunner().invoke(viz, [*shlex.split(command)[2:], "--store", str(store.root)])
        assert drawn.exit_code == 0, drawn.output
        assert title in shortened(" ".join(drawn.stdout.split())), command


def test_a_chart_shows_no_path(folder: Path) -> None:
    """A text of a picture is shortened as any other, and its marks tell nothing beside it."""
    pictures = [path.read_text(encoding="utf-8") for path in (folder / "data").glob("figure-*.svg")]

    assert pictures
    assert not any("/home" in picture or "aria-label" in picture for picture in pictures)


def test_publishing_again_draws_nothing(folder: Path, warehouse: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The renderer is not even started where no run changed."""
    monkeypatch.setattr(figures, "Renderer", None)
    before = {path.name for path in (folder / "data").glob("*.svg")}
    publish(warehouse, folder)

    assert {path.name for path in (folder / "data").glob("*.svg")} == before


@exhaustive
def test_without_the_package_that_draws_a_site_has_no_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is published, and a sentence says what to install."""

    def missing() -> None:
        raise MissingExtra("vl-convert-python", "viz")

    monkeypatch.setattr(figures, "Renderer", missing)
    one = Builder().add(run(), source(run="run", lines=20), *steps("run", range(1, 21), range(1, 21)))
    publish(one, tmp_path)

    assert data(tmp_path, "figures") == [{}]
    assert "vl-convert-python" in capsys.readouterr().err


def test_a_store_without_steps_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of cases alone has its table."""
    monkeypatch.setattr(figures, "Renderer", None)
    one = case()
    site.publish(Builder().add(run(), one, outcome(one), metric(one, "latency", 1e6, unit="ns")), tmp_path, title="t")

    assert data(tmp_path, "figures") == [{}]


@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages")
def test_a_page_shows_its_charts(browser: Page, folder: Path) -> None:
    """Each picture is loaded, light and dark, beside its title and command, and nothing in it runs."""
    for dark in (False, True):
        browser.open(folder / "index.html", dark=dark)
        for address, count in (("#/run/server-0", 2), ("#/compare/server-0/server-1", 2)):
            go(browser, address)
            browser.ask("Promise.all([...document.images].map(image => image.decode()))")
            assert browser.ask("[...document.images].filter(image => image.naturalWidth > 200).length") == count
            assert browser.ask("document.querySelectorAll('.drawn .copy').length") == count
    assert (browser.errors, browser.dialogs) == ([], [])


@exhaustive
@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages")
def test_the_letters_of_a_chart_can_be_read_on_a_phone(browser: Page, folder: Path) -> None:
    """None is smaller than 9 pixels there; a wide window has the wide picture, and 8."""
    shown = "[...document.images].map(image => [image.currentSrc.split('/').pop(), image.clientWidth])"
    browser.open(folder / "index.html")
    files = {}
    for width in (1200, 390):
        browser.window(width, 1000, phone=width < 1000)
        for address in ("#/run/server-0", "#/compare/server-0/server-1"):
            go(browser, address)
            browser.ask("Promise.all([...document.images].map(image => image.decode()))")
            files[width, address] = browser.ask(shown)
    browser.window(1200, 1000)

    for (width, address), images in files.items():
        assert len(images) == 2, address
        for file, pixels in images:
            picture = (folder / "data" / file).read_text(encoding="utf-8")
            points = float(re.findall(r'viewBox="\S+ \S+ (\S+)', picture)[0])
            letters = min(float(size) for size in re.findall(r'font-size="([\d.]+)', picture))
            assert letters * pixels / points >= (9 if width == 390 else 8), (width, address)
    assert not {file for file, _ in files[1200, "#/run/server-0"]} & {file for file, _ in files[390, "#/run/server-0"]}
