"""`bench report`: Markdown to read or to post, a page to open, and an exit code that is not a verdict."""

import re
import sys
from pathlib import Path

import pytest
from bench.cli import cli
from bench.warehouse.recorder import run
from click.testing import CliRunner, Result

from ..exhaustive import exhaustive


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a config: a model on two backends, and a few scheduler steps."""
    folder = tmp_path_factory.mktemp("report") / ".bench"
    for run_id in ("aaaa-1", "aaaa-2"):
        with run("main", store=folder, run_id=run_id) as recorder:
            for backend, each in (("eager", 2000), ("inductor", 1000)):
                case = recorder.case("mlp", suite="builtin", mode="inference", backend=backend)
                for block in range(10):
                    case.timing((each + block) * 1000, details={"block": block, "process": 0})
                case.outcome("ok")
            for _ in range(50):
                recorder.schedule_chunk([64, 1], schedule_ms=0.5, model_run_ms=20.0)
    return folder


def report(store: Path, *arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(cli, ["report", *arguments, "--store", str(store)], catch_exceptions=True)


def test_without_a_file_it_is_markdown_on_standard_output(store: Path) -> None:
    """Ready for a pipe: nothing else stands there."""
    found = report(store)

    assert found.exit_code == 0
    assert found.stdout.startswith("## main: run aaaa-2\n")
    assert "### Summary" in found.stdout


def test_two_runs_stand_side_by_side(store: Path) -> None:
    """The second against the first, as `bench compare` says it; a third has no place."""
    found = report(store, "aaaa-2", "aaaa-1")

    assert found.stdout.startswith("## aaaa-2 → aaaa-1\n\n⚪ **no change found; 9 unsure**\n")
    assert "compared with `aaaa-2`" in found.stdout
    assert "unexpected extra argument (c)" in report(store, "a", "b", "c").stderr
    assert "--all-runs works only with two sides" in str(report(store, "main", "--all-runs").exception)


def test_files_hold_the_page_and_the_markdown(store: Path, tmp_path: Path) -> None:
    """One run of the command writes both; standard output stays empty."""
    pytest.importorskip("vl_convert")
    page, text = tmp_path / "r.html", tmp_path / "r.md"

    found = report(store, "-o", str(page), "-o", str(text))

    assert (found.exit_code, found.stdout) == (0, "")
    assert text.read_text().startswith("## main: run aaaa-2\n")
    assert page.read_bytes().count(b'class="chart"') == 4


@pytest.mark.exhaustive
def test_a_page_alone_takes_no_markdown(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10,000 changes it takes as long as all questions together, and nobody reads it."""
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("bench.query.document.Document.markdown", None)

    assert report(store, "-o", str(tmp_path / "r.html")).exit_code == 0
    assert (tmp_path / "r.html").exists()


@pytest.mark.exhaustive
def test_without_a_renderer_markdown_has_no_charts_and_says_so(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report itself is whole."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = report(store, "-o", str(tmp_path / "r.md"))

    assert found.exit_code == 0 and "the report has no charts" in found.stderr
    assert "![" not in (tmp_path / "r.md").read_text() and not list(tmp_path.glob("*.png"))


@pytest.mark.exhaustive
def test_markdown_in_a_file_links_its_charts(store: Path, tmp_path: Path) -> None:
    """PNG files beside it, named after it; what goes to standard output links to nothing."""
    pytest.importorskip("vl_convert")
    found = report(store, "-o", str(tmp_path / "r.md"))

    text = (tmp_path / "r.md").read_text()
    links = re.findall(r"!\[[^]]+\]\(<(.+?)>\)", text)
    assert found.exit_code == 0 and {"r-speedups.png", "r-scheduler.png"} <= {*links}
    assert all((tmp_path / link).read_bytes().startswith(b"\x89PNG") for link in links)
    assert "![" not in report(store).stdout


def test_a_name_without_a_format_is_refused_before_any_work(store: Path, tmp_path: Path) -> None:
    """Nothing is written."""
    found = report(store, "-o", str(tmp_path / "report.docx"))

    assert "Name it .md or .html" in str(found.exception)
    assert list(tmp_path.glob("report*")) == []


@exhaustive
def test_posting_hands_the_markdown_to_a_command(store: Path, tmp_path: Path) -> None:
    """To its standard input, without a shell between: `;` is an argument like any other."""
    script = tmp_path / "post.py"
    script.write_text("import sys; open(sys.argv[1], 'w').write(sys.argv[2] + sys.stdin.read())")

    found = report(store, "--post", f"{sys.executable} {script} {tmp_path}/posted ';touch'")

    assert (found.exit_code, found.stdout) == (0, "")
    assert (tmp_path / "posted").read_text().startswith(";touch## main: run aaaa-2\n")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program-anywhere", "cannot run"),
        ("false", "exited with 1"),
        ("a 'b", "cannot run"),
        ("", "cannot run"),
    ],
)
def test_a_command_that_fails_fails_the_report(store: Path, command: str, said: str) -> None:
    """Nobody believes a comment was posted that was not."""
    assert said in str(report(store, "--post", command).exception)


@pytest.mark.exhaustive
def test_the_limit_holds(store: Path) -> None:
    """In characters, whatever the run."""
    assert len(report(store, "--limit", "900").stdout) <= 900
    assert len(report(store, "--limit", "0").stdout) > 900


@exhaustive
def test_a_report_shows_what_got_slower_in_a_picture_before_its_table(tmp_path: Path) -> None:
    """The history of the case that changed, and of no other; a run as fast as those before has none."""
    pytest.importorskip("vl_convert")
    for day in range(6):
        with run("main", store=tmp_path / ".bench", run_id=f"day-{day}") as recorder:
            for name in ("calm", "slower"):
                case = recorder.case(name, backend="inductor")
                for block in range(10):
                    slow = 1.5 if (day, name) == (5, "slower") else 1
                    case.timing(int((1_000_000 + 1000 * ((7 * block + day) % 10)) * slow), details={"block": block})
                case.outcome("ok")
    pages = [tmp_path / "day-5.html", tmp_path / "day-4.html"]
    for page in pages:
        assert report(tmp_path / ".bench", page.stem, "-o", str(page)).exit_code == 0

    slower, calm = (page.read_text() for page in pages)
    assert 'class="chart"' in slower.partition('<section id="regressions">')[2].partition("<table")[0]
    assert 'class="chart"' not in calm.partition('<section id="regressions">')[2].partition("</section>")[0]


def test_a_speedup_below_its_limit_has_no_picture_of_its_own(tmp_path: Path) -> None:
    """No run measures it: a report of it alone once ended with an unknown metric."""
    pytest.importorskip("vl_convert")
    for day in range(2):
        with run("main", store=tmp_path / ".bench", run_id=f"day-{day}") as recorder:
            for backend, each in (("eager", 1_000_000), ("inductor", 1_200_000 if day == 1 else 1_045_000)):
                case = recorder.case("mlp", suite="builtin", mode="inference", backend=backend)
                for block in range(10):
                    case.timing(each + 1000 * ((7 * block + day) % 10), details={"block": block})
                case.outcome("ok")
    page = tmp_path / "day-1.html"

    assert report(tmp_path / ".bench", "-o", str(page)).exit_code == 0
    assert "speedup" in page.read_text().partition('<section id="regressions">')[2].partition("</section>")[0]
