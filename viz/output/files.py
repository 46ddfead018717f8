"""Files of figures: every format, each whole or not at all; and figures on the terminal."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ...warehouse.console.numbers import file_size
from ...warehouse.console.tables import obeys, write_rows
from ...warehouse.errors import BenchError
from ...warehouse.files import cannot_write
from ..style import fonts
from ..style.labels import printable
from . import html
from . import provenance as embedding
from .figure import Figure
from .render import BUNDLE, Renderer, RenderRequest

IMAGES = ("png", "svg", "pdf")
TABLES = ("csv", "jsonl", "markdown", "parquet")
FORMATS = (*IMAGES, "html", "json", *TABLES)
_STDOUT = Path("-")
_SUFFIXES = {".htm": "html", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One file to write."""

    path: Path
    format: str


def targets(outputs: Sequence[str], chosen: str | None) -> list[OutputFile]:
    """The files to write, and as what: the format is `chosen`, else what the name ends in.

    Raises:
        BenchError: No format follows from the name, its folder is not there, or an image has no name at all.
    """
    if not outputs and chosen in (*IMAGES, "html"):
        raise BenchError(f"{chosen} goes into a file. Name it with -o, such as: -o chart.{chosen}")
    found = []
    for output in outputs:
        path = Path(output)
        suffix = path.suffix.lower()
        fmt = chosen or _SUFFIXES.get(suffix, suffix.removeprefix("."))
        if fmt not in FORMATS:
            raise BenchError(f"cannot tell the format of {output!r}. Name it .{', .'.join(FORMATS)}, or say --format.")
        if not path.parent.is_dir():
            raise BenchError(
                f"no folder {str(path.parent)!r} to write {path.name!r} into. Make it first: mkdir -p {path.parent}"
            )
        found.append(OutputFile(path, fmt))
    return found


def renderer_for(wanted: Sequence[OutputFile]) -> Renderer | None:
    """Start the renderer if these files need it, so that it is warm when the query is done."""
    needs = any(target.format in IMAGES for target in wanted)
    needs |= any(target.format == "html" for target in wanted) and html.cached_bundle() is None
    return Renderer() if needs else None


def write(
    figure: Figure, wanted: Sequence[OutputFile], renderer: Renderer | None, *, ppi: float = 300, font: str | None = None,
    look: str | None = None,
) -> None:  # fmt: skip
    """Write every file, replacing what was there; files appear whole or not at all.

    Without a look of `theme.THEMES` images are on white, and pages as the reader's system is.

    Raises:
        BenchError: A file cannot be written, or the renderer failed.
    """
    family, warning = fonts.choose(figure.letters, font)
    if font is not None and not fonts.is_installed(font):
        click.echo(
            f"warning: no font {font!r} is installed; another is used. List them with: fc-list : family", err=True
        )
    if warning and any(target.format in IMAGES for target in wanted):
        click.echo(f"warning: {warning}", err=True)
    rendered = _render(figure, wanted, renderer, ppi, family, look or "paper")
    for target in wanted:
        with replacing(target.path) as half:
            if target.format in TABLES:
                write_rows(figure.columns, figure.rows, target.format, half)
            else:
                half.write_bytes(_content(figure, target.format, rendered, family, look or "screen"))
            size = half.stat().st_size
        width, height = figure.size
        extent = f"{width:g}x{height:g} in, {ppi:g} DPI, " if target.format == "png" else ""
        click.echo(f"wrote {printable(str(target.path))} ({extent}{file_size(size)})", err=True)


def _render(
    figure: Figure, wanted: Sequence[OutputFile], renderer: Renderer | None, ppi: float, family: str, look: str
) -> dict[str, bytes]:
    """All images, rendered together, by format."""
    kinds = [kind for kind in IMAGES if any(target.format == kind for target in wanted)]
    kept = html.cached_bundle() if any(target.format == "html" for target in wanted) else None
    rendered = {} if kept is None else {BUNDLE: kept}
    if renderer is None:
        return rendered
    spec = figure.still(family, look) if kinds else None
    jobs = [RenderRequest(kind, spec, ppi) for kind in kinds]
    if kept is None and any(target.format == "html" for target in wanted):
        jobs.append(RenderRequest(BUNDLE))
    rendered |= dict(zip((job.kind for job in jobs), renderer.render(jobs), strict=True))
    if kept is None and BUNDLE in rendered:
        html.keep_bundle(rendered[BUNDLE])
    return rendered


def png(figure: Figure, ppi: float = 100) -> bytes:
    """A figure as PNG, with its provenance.

    Raises:
        MissingExtra: vl-convert is not installed.
        BenchError: The renderer failed.
    """
    family, _ = fonts.choose(figure.letters)
    with Renderer() as renderer:
        (image,) = renderer.render([RenderRequest("png", figure.still(family), ppi)])
    return _content(figure, "png", {"png": image}, family, "paper")


def bundle() -> bytes:
    """The JavaScript of a page, which is generated once and then cached.

    Raises:
        MissingExtra: vl-convert is not installed.
        RenderError: The renderer failed.
    """
    found = html.cached_bundle()
    if found is None:
        with Renderer() as renderer:
            (found,) = renderer.render([RenderRequest(BUNDLE)])
        html.keep_bundle(found)
    return found


def _content(figure: Figure, fmt: str, rendered: dict[str, bytes], family: str, look: str) -> bytes:
    if fmt == "png":
        return embedding.embed_png(rendered[fmt], figure.provenance)
    if fmt == "svg":
        return embedding.embed_svg(rendered[fmt], figure.provenance)
    if fmt == "pdf":
        return embedding.embed_pdf(rendered[fmt], figure.provenance)
    if fmt == "html":
        return figure.page(family, rendered[BUNDLE], look)
    return _json(figure, family).encode()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces `path` on success and is removed otherwise.

    A pipe or a device stays what it is, and gets the bytes; so does standard output, which is called `-`.
    """
    special = path == _STDOUT or (path.exists() and not path.is_file())
    place = path if special else path.resolve()  # a link goes on pointing where it did
    folder = Path(tempfile.gettempdir()) if special else place.parent
    half = folder / f".{place.name}.{os.getpid()}"
    try:
        yield half
        if path == _STDOUT:
            sys.stdout.buffer.write(half.read_bytes())
            sys.stdout.buffer.flush()
        elif special:
            place.write_bytes(half.read_bytes())
        else:
            half.replace(place)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # a disk that is read-only refuses, though there is no such file
            half.unlink()


def show(figure: Figure, fmt: str | None = None) -> None:
    """Write to standard output: a table, the spec, or text; in colour only on a terminal that allows it."""
    import shutil

    if fmt in TABLES:
        write_rows(figure.columns, figure.rows, fmt)
    elif fmt == "json":
        click.echo(_json(figure, fonts.choose(figure.letters)[0]))
    else:
        terminal = shutil.get_terminal_size((100, 32))
        colour = obeys(sys.stdout) and not os.environ.get("NO_COLOR")
        rows = max(8, min(24, terminal.lines - len(figure.names) - 9))
        click.echo(figure.text(max(40, min(140, terminal.columns)), rows, colour), color=colour)


def _json(figure: Figure, family: str) -> str:
    return json.dumps(figure.interactive(family), allow_nan=False, indent=1)
