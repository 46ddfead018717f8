"""A figure before it has a file format, and its way into every one of them."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ..warehouse.errors import BenchError
from ..warehouse.output import write_rows
from . import fonts, html, theme
from . import provenance as embedding
from .labels import printable
from .provenance import Provenance
from .render import BUNDLE, Job, Renderer

IMAGES = ("png", "svg", "pdf")
TABLES = ("csv", "jsonl", "markdown", "parquet")
FORMATS = (*IMAGES, "html", "json", *TABLES)
_SUFFIXES = {".htm": "html", ".md": "markdown"}
_SAFE_INTEGER = 2**53  # JavaScript has no larger ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One chart: what is drawn, and how."""

    provenance: Provenance
    size: tuple[float, float]  # inches
    columns: tuple[str, ...]  # of `rows`, as people call them
    rows: list[tuple[Any, ...]]  # what is drawn, in drawing order
    fields: dict[str, list[Any]]  # the same by column as the spec calls them, plus what tooltips say
    drawn_fields: tuple[str, ...]  # those that a still image needs
    spec: Callable[[bool], dict[str, Any]]  # Vega-Lite without data and config; True: to be played with
    text: Callable[[int, int, bool], str]  # columns, rows, colour -> the chart in characters
    names: list[tuple[str, str]]  # series: full name, value in the data
    said: str  # all text of the figure, for its choice of fonts
    notes: list[str] = field(default_factory=list)  # warnings

    def still(self, font: str) -> dict[str, Any]:
        """The spec for an image of exactly `size`."""
        width, height = (round(inches * theme.POINTS_PER_INCH, 2) for inches in self.size)
        return {
            "$schema": theme.SCHEMA,
            "width": width,
            "height": height,
            "autosize": {"type": "fit", "contains": "padding"},
            "padding": 6,
            "data": {"values": self._values(self.drawn_fields)},
            **self.spec(False),
            "config": theme.print_config(font),
        }

    def interactive(self, font: str = "sans-serif") -> dict[str, Any]:
        """The whole spec with data, tooltips and provenance, for JSON files and notebooks."""
        return {
            "$schema": theme.SCHEMA,
            "usermeta": {embedding.KEYWORD: json.loads(self.provenance.json())},
            "width": 640,
            "height": 420,
            "data": {"values": self._values(tuple(self.fields))},
            **self.spec(True),
            "config": theme.screen_config(font, dark=False),
        }

    def page(self, font: str, bundle: bytes) -> bytes:
        """The offline HTML page."""
        spec = {
            "$schema": theme.SCHEMA,
            "width": "container",
            "height": 520,
            "autosize": {"type": "fit", "contains": "padding"},
            **self.spec(True),
        }
        light, dark = (theme.screen_config(f"system-ui, {font}", dark=dark) for dark in (False, True))
        columns = [_coded(name, values) for name, values in self.fields.items()]
        return html.page(
            spec, columns=columns, names=self.names, light=light, dark=dark, provenance=self.provenance, bundle=bundle
        )

    def _values(self, names: Sequence[str]) -> list[dict[str, Any]]:
        columns = [self.fields[name] for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _coded(name: str, values: list[Any]) -> dict[str, Any]:
    """A column as JSON: texts as codes into the list of those there are."""
    if not any(isinstance(value, str) for value in values):
        return {"name": name, "values": values}
    codes: dict[Any, int] = {}
    coded = [codes.setdefault(value, len(codes)) for value in values]
    return {"name": name, "values": list(codes), "codes": coded}


def plain(column: Sequence[Any]) -> Sequence[Any]:
    """A column as JSON and JavaScript can hold it: Decimal as float, integers past 2^53 as text."""
    kinds = set(map(type, column)) - {str, float, bool, type(None)}
    if not kinds or (kinds == {int} and all(abs(value) <= _SAFE_INTEGER for value in column if type(value) is int)):
        return column
    return [_plain(value) for value in column]


def _plain(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value if value is None or isinstance(value, (str, int, float)) else float(value)


@dataclass(frozen=True, slots=True)
class Target:
    """One file to write."""

    path: Path
    format: str


def targets(outputs: Sequence[str], chosen: str | None) -> list[Target]:
    """Where to write what: the format is `chosen`, else what the name ends in.

    Raises:
        BenchError: No format follows from the name, or its folder is not there.
    """
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
        found.append(Target(path, fmt))
    return found


def renderer_for(wanted: Sequence[Target]) -> Renderer | None:
    """Start the renderer if these files need it, so that it is warm when the query is done."""
    needs = any(target.format in IMAGES for target in wanted)
    needs |= any(target.format == "html" for target in wanted) and html.cached_bundle() is None
    return Renderer() if needs else None


def write(
    figure: Figure, wanted: Sequence[Target], renderer: Renderer | None, *, ppi: float = 300, font: str | None = None
) -> None:
    """Write every file, replacing what was there; files appear whole or not at all.

    Raises:
        BenchError: A file cannot be written, or the renderer failed.
    """
    family, warning = fonts.choose(figure.said, font)
    if font is not None and not fonts.is_installed(font):
        click.echo(
            f"warning: no font {font!r} is installed; another is used. List them with: fc-list : family", err=True
        )
    if warning and any(target.format in IMAGES for target in wanted):
        click.echo(f"warning: {warning}", err=True)
    rendered = _render(figure, wanted, renderer, ppi, family)
    for target in wanted:
        with _replacing(target.path) as half:
            if target.format in TABLES:
                write_rows(figure.columns, figure.rows, target.format, half)
            else:
                half.write_bytes(_content(figure, target.format, rendered, family))
            size = half.stat().st_size
        width, height = figure.size
        extent = f"{width:g}x{height:g} in, {ppi:g} DPI, " if target.format == "png" else ""
        click.echo(f"wrote {printable(str(target.path))} ({extent}{size / 1000:,.0f} kB)", err=True)


def _render(
    figure: Figure, wanted: Sequence[Target], renderer: Renderer | None, ppi: float, family: str
) -> dict[str, bytes]:
    """Everything the renderer has to make, in one go, by format."""
    kinds = [kind for kind in IMAGES if any(target.format == kind for target in wanted)]
    bundle = html.cached_bundle() if any(target.format == "html" for target in wanted) else None
    rendered = {} if bundle is None else {BUNDLE: bundle}
    if renderer is None:
        return rendered
    spec = figure.still(family) if kinds else None
    jobs = [Job(kind, spec, ppi) for kind in kinds]
    if bundle is None and any(target.format == "html" for target in wanted):
        jobs.append(Job(BUNDLE))
    rendered |= dict(zip((job.kind for job in jobs), renderer.render(jobs), strict=True))
    if bundle is None and BUNDLE in rendered:
        html.keep_bundle(rendered[BUNDLE])
    return rendered


def _content(figure: Figure, fmt: str, rendered: dict[str, bytes], family: str) -> bytes:
    if fmt == "png":
        return embedding.embed_png(rendered[fmt], figure.provenance)
    if fmt == "svg":
        return embedding.embed_svg(rendered[fmt], figure.provenance)
    if fmt == "pdf":
        return embedding.embed_pdf(rendered[fmt], figure.provenance)
    if fmt == "html":
        return figure.page(family, rendered[BUNDLE])
    return json.dumps(figure.interactive(family), allow_nan=False, indent=1).encode()


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when all went well, and is gone otherwise.

    A pipe or a device stays what it is, and gets the bytes.
    """
    special = path.exists() and not path.is_file()
    place = path if special else path.resolve()  # a link goes on pointing where it did
    folder = Path(tempfile.gettempdir()) if special else place.parent
    half = folder / f".{place.name}.{os.getpid()}"
    try:
        yield half
        if special:
            place.write_bytes(half.read_bytes())
        else:
            half.replace(place)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}. Choose another place with -o.") from error
    finally:
        half.unlink(missing_ok=True)


def show(figure: Figure) -> None:
    """Draw on standard output in characters; with colour only where a person looks on and wants it."""
    import shutil

    terminal = shutil.get_terminal_size((100, 32))
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    rows = max(8, min(24, terminal.lines - len(figure.names) - 9))
    click.echo(figure.text(max(40, min(140, terminal.columns)), rows, colour), color=colour)
