"""Files: every format carries its provenance, is stable, and appears whole or not at all."""

import json
import re
import struct
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from bench.viz.charts.runtime_vs_tokens import draw
from bench.viz.output import files, provenance, render
from bench.viz.output.figure import Figure
from bench.warehouse.errors import BenchError, MissingExtra

from ..exhaustive import exhaustive
from .steps import add_few, few

pytest.importorskip("vl_convert")
HOSTILE = '</metadata></title><script>alert(1)</script> ]]> " & % \n 中 \x1b[31m'


def drawn(tmp_path: Path, *formats: str, name: str = "B", **options: Any) -> tuple[Figure, list[Path]]:
    """A figure of two configs written in these formats; returns it with the paths."""
    figure = draw(add_few(few("A"), name, [(32, 8.0), (512, 30.0)]), **options)
    wanted = files.targets([str(tmp_path / f"chart.{fmt}") for fmt in formats], None)
    renderer = files.renderer_for(wanted)
    if renderer is None:
        files.write(figure, wanted, None)
    else:
        with renderer:
            files.write(figure, wanted, renderer)
    return figure, [target.path for target in wanted]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Figure, list[Path]]:
    """One figure with a hostile config and title in every format that carries provenance."""
    return drawn(tmp_path_factory.mktemp("files"), "png", "svg", "pdf", "html", "json", name=HOSTILE, title=HOSTILE)


@exhaustive
def test_every_format_gives_its_provenance_back(hostile: tuple[Figure, list[Path]]) -> None:
    """Query, parameters, counts and hash come out of the file as they went in."""
    figure, paths = hostile

    for path in paths:
        back = provenance.read(path)
        assert json.loads(back.json()) == json.loads(figure.provenance.json()), path.suffix
        assert "\x1b" not in back.explain()


def test_the_png_has_the_size_and_density_asked_for(hostile: tuple[Figure, list[Path]]) -> None:
    """6 inches at 300 dots per inch, and a density that says so."""
    image = hostile[1][0].read_bytes()

    width, height = struct.unpack_from(">II", image, 16)
    assert (width, height) == (1800, pytest.approx(hostile[0].size[1] * 300, abs=2))
    density = re.search(rb"pHYs(.{4})(.{4})\x01", image, re.DOTALL)
    assert density is not None
    assert int.from_bytes(density[1], "big") == 11811  # dots per metre


def test_the_svg_is_well_formed(hostile: tuple[Figure, list[Path]]) -> None:
    """Names and provenance are text in it, and nothing else."""
    from xml.etree import ElementTree

    root = ElementTree.fromstring(hostile[1][1].read_bytes())

    assert root.tag.endswith("svg")
    assert not [element for element in root.iter() if element.tag.endswith("script")]


def test_the_pdf_is_still_a_pdf(hostile: tuple[Figure, list[Path]]) -> None:
    """The last cross-reference table is where the file says, and holds the object it says."""
    document = hostile[1][2].read_bytes()

    start = int(re.findall(rb"startxref\s+(\d+)", document)[-1])
    found = re.match(rb"xref\n(\d+) 1\n(\d{10}) 00000 n\r\n", document[start:])
    assert found is not None
    number, offset = found.groups()
    assert document[int(offset) :].startswith(number + b" 0 obj")
    assert document.rstrip().endswith(b"%%EOF")


@exhaustive
def test_images_are_the_same_bytes_again(tmp_path: Path) -> None:
    """A chart under version control changes only when it changes."""
    (tmp_path / "again").mkdir()

    _, first = drawn(tmp_path, "png", "svg")
    _, second = drawn(tmp_path / "again", "png", "svg")

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@exhaustive
def test_embedding_leaves_every_pixel_alone(tmp_path: Path) -> None:
    """Provenance and tighter packing change no pixel."""
    pillow = pytest.importorskip("PIL.Image")
    figure, (path,) = drawn(tmp_path, "png")
    with render.Renderer() as renderer:
        (bare,) = renderer.render([render.RenderRequest("png", figure.still("sans-serif"), 300)])
    (tmp_path / "bare.png").write_bytes(bare)

    assert pillow.open(path).tobytes() == pillow.open(tmp_path / "bare.png").tobytes()


def test_names_never_stand_raw_in_the_page(hostile: tuple[Figure, list[Path]]) -> None:
    """No `<` of a name survives in the HTML; the only scripts are those the policy lists, and nothing is linked."""
    page = hostile[1][3].read_bytes()
    head = page[: page.index(b'id="chart-data"')]

    assert b"alert(1)</script>" not in page.replace(b"&lt;/script&gt;", b"")
    assert page.count(b'<script type="module">') == 2
    assert b"<script>" not in page[page.index(b'id="chart-data"') :]
    assert page.count(b"'sha256-") == 2
    assert not re.search(rb"\b(src|href)=", head)


def test_json_is_a_whole_spec_without_nan(hostile: tuple[Figure, list[Path]]) -> None:
    """Strict JSON that any Vega-Lite viewer opens."""
    spec = json.loads(hostile[1][4].read_text(), parse_constant=lambda name: pytest.fail(name))

    assert len(spec["data"]["values"]) == 5


def test_a_file_without_provenance_says_what_carries_some(tmp_path: Path) -> None:
    """explain on a foreign file is an error with a cure, whatever its name."""
    for content in (b"", b"{}", b"[1]", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7", b"<svg/>", b'{"usermeta": 3}'):
        (tmp_path / "foreign.png").write_bytes(content)
        with pytest.raises(BenchError, match="no provenance"):
            provenance.read(tmp_path / "foreign.png")


def test_provenance_of_a_newer_bench_asks_to_update(tmp_path: Path) -> None:
    """An unknown field is no traceback."""
    (tmp_path / "newer.json").write_text(json.dumps({"usermeta": {provenance.KEYWORD: {"unheard": 1}}}))

    with pytest.raises(BenchError, match="Update bench"):
        provenance.read(tmp_path / "newer.json")


def test_an_unknown_ending_lists_the_formats(tmp_path: Path) -> None:
    """Before any work is done."""
    with pytest.raises(BenchError, match=r"cannot tell the format.*\.png"):
        files.targets([str(tmp_path / "chart.jpg")], None)


def test_a_missing_folder_is_said_before_the_work(tmp_path: Path) -> None:
    """Not after a minute of querying."""
    with pytest.raises(BenchError, match="mkdir"):
        files.targets([str(tmp_path / "no" / "chart.png")], None)


def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> render.Renderer:
    """A renderer whose child is this program."""
    (tmp_path / "worker.py").write_text(program)
    monkeypatch.setattr(render, "WORKER", tmp_path / "worker.py")
    return render.Renderer()


def test_a_renderer_that_is_killed_is_an_error_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V8 aborts its process when memory runs out; bench lives on and says so."""
    program = "import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.SIGTRAP)"
    with (
        worker(tmp_path, monkeypatch, program) as renderer,
        pytest.raises(render.RenderError, match=r"SIGTRAP.*memory"),
    ):
        renderer.render([render.RenderRequest("png", {})])


def test_a_renderer_that_is_dead_already_is_an_error_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing the job to a closed pipe is no traceback."""
    with (
        worker(tmp_path, monkeypatch, "raise SystemExit(3)") as renderer,
        pytest.raises(render.RenderError, match="code 3"),
    ):
        renderer._process.wait()
        renderer.render([render.RenderRequest("png", {"data": {"values": ["x" * 1_000_000]}})])


def test_a_renderer_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command waits for ever."""
    monkeypatch.setattr(render, "TIMEOUT_S", 0.3)
    with (
        worker(tmp_path, monkeypatch, "import time; time.sleep(60)") as renderer,
        pytest.raises(render.RenderError, match="stopped"),
    ):
        renderer.render([render.RenderRequest("png", {})])


def test_a_spec_the_renderer_refuses_is_told() -> None:
    """Its own words, not a traceback."""
    with render.Renderer() as renderer, pytest.raises(render.RenderError, match="refused"):
        renderer.render([render.RenderRequest("png", {"mark": "no such mark", "data": {"values": []}})])


def test_without_vl_convert_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image or a page asked for without its extra."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("importlib.metadata.version", missing)

    for ask in (render.Renderer, files.bundle):
        with pytest.raises(MissingExtra, match=r"vl-convert-python.*\[viz\]"):
            ask()


def missing(name: str) -> str:
    """What importlib.metadata does for a distribution that is not there."""
    raise PackageNotFoundError(name)


def test_drawing_imports_neither_altair_nor_arrow() -> None:
    """They would cost half a second and 100 MB on every chart."""
    import subprocess

    program = (
        "import sys, bench.viz.charts.runtime_vs_tokens, bench.viz.output.html\n"
        "print({'altair', 'pyarrow', 'duckdb'} & set(sys.modules))"
    )

    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "set()\n"
    )


def test_what_has_no_name_is_said_to_have_none() -> None:
    """Cases without a backend are counted like the others."""
    assert provenance.sentence({"backend": None, "runs": 3, "drawn": 2}) == "no backend: runs 3 · drawn 2"
    assert provenance.sentence({"backend": "", "runs": 1}) == "no backend: runs 1"
