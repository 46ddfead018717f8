"""Provenance: every chart file contains the query, the parameters and the counts that it was drawn from.

Where it lies: PNG an iTXt chunk, SVG a <metadata> element, PDF the document's Info dictionary, HTML a JSON script
element, a Vega-Lite JSON file its `usermeta`. Nothing in it depends on when or where the file was written.
"""

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..._version import __version__
from ...warehouse.errors import BenchError
from .png import SIGNATURE, chunk

KEYWORD = "bench-provenance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The query, parameters and counts of a chart."""

    chart: str  # command that draws it
    title: str  # printable
    sql: str  # one statement, which `bench sql` runs as it is
    parameters: dict[str, Any]
    counts: list[dict[str, Any]]  # one for each config (or what comes first): config, read, … drawn
    drawn: int  # rows in the file
    total: int  # rows they stand for
    data_sha256: str  # of the drawn rows
    bench_version: str = __version__

    def json(self) -> str:
        """The same bytes for the same chart, and ASCII, so that it can stand anywhere."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def explain(self) -> str:
        """The provenance as text for people; the SQL can be pasted as it is."""
        from ..style.labels import printable

        parameters = [
            f"{key}={printable(json.dumps(value, ensure_ascii=False))}" for key, value in self.parameters.items()
        ]
        lines = [
            f"chart       bench viz {self.chart}",
            f"title       {self.title}",
            f"drawn       {self.drawn:,} of {self.total:,} rows",
            f"parameters  {', '.join(parameters)}",
            f"data        sha256 {self.data_sha256}",
            f"bench       {self.bench_version}",
            "counts",
            *(f"  {sentence(counts)}" for counts in self.counts),
            "sql",
            *("  " + printable(line) for line in self.sql.splitlines()),
        ]
        return "\n".join(lines)


def sentence(counts: dict[str, Any]) -> str:
    """The counts of one config, or of whatever comes first in them: `A: read 20,000 · trimmed 20 · drawn 4,120`."""
    from ..style.labels import printable

    (kind, whose), *numbers = counts.items()
    parts = [
        f"{key.replace('_', ' ')} {f'{value:,}' if isinstance(value, int) else printable(str(value))}"
        for key, value in numbers
    ]
    return f"{printable(str(whose)) if whose else f'no {kind}'}: {' · '.join(parts)}"


def sha256_of(rows: Sequence[Sequence[Any]]) -> str:
    """Hash of rows by value: equal rows in equal order, equal hash.

    Numbers count to twelve digits: sums of floats differ in their last bits from run to run, as threads add them up.
    """
    settled = [[f"{value:.12g}" if type(value) is float else value for value in row] for row in rows]
    return hashlib.sha256(json.dumps(settled, separators=(",", ":"), default=str).encode()).hexdigest()


def embed_png(image: bytes, provenance: Provenance) -> bytes:
    """The image with the provenance as compressed iTXt, its pixels packed tighter."""
    chunks = list(_chunks(image))
    pixels = zlib.compress(zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT")), 6)
    text = KEYWORD.encode() + b"\0\x01\0\0\0" + zlib.compress(provenance.json().encode(), 9)
    head = [(kind, body) for kind, body in chunks if kind not in (b"IDAT", b"IEND")]
    return SIGNATURE + b"".join(
        chunk(kind, body) for kind, body in [*head, (b"iTXt", text), (b"IDAT", pixels), (b"IEND", b"")]
    )


def embed_svg(image: bytes, provenance: Provenance) -> bytes:
    """The image with a title for screen readers and the provenance as metadata."""
    ids: dict[str, str] = {}  # the renderer numbers them over all it has drawn
    settled = re.sub(
        r'(?<=")(url\(#)?(clip|gradient_)(\d+)(?=\)?")',
        lambda found: f"{found[1] or ''}{ids.setdefault(found[2] + found[3], f'{found[2]}{len(ids)}')}",
        image.decode(),
    )
    inside = f'<title>{escape(provenance.title)}</title><metadata id="{KEYWORD}">{escape(provenance.json())}</metadata>'
    head, end, body = settled.partition(">")
    return f"{head}{end}{inside}{body}".encode()


def embed_pdf(document: bytes, provenance: Provenance) -> bytes:
    """The document with an incremental update (ISO 32000-1, 7.5.6) that replaces its Info dictionary."""
    trailer = document[document.rindex(b"trailer") :]
    start = int(_found(rb"startxref\s+(\d+)", trailer))
    number = int(_found(rb"/Size\s+(\d+)", trailer))
    root = _found(rb"/Root\s+(\d+ \d+ R)", trailer).decode()
    base = document if document.endswith(b"\n") else document + b"\n"
    carried = provenance.json().encode().hex()
    about = f"/Title <{_utf16(provenance.title)}>\n/Producer (bench {provenance.bench_version})"
    info = f"{about}\n/BenchProvenance <{carried}>"
    entry = f"{number} 0 obj\n<<\n{info}\n>>\nendobj\n"
    table = (
        f"xref\n{number} 1\n{len(base):010d} 00000 n\r\ntrailer\n<<\n/Size {number + 1}\n/Root {root}\n"
        f"/Info {number} 0 R\n/Prev {start}\n>>\nstartxref\n{len(base) + len(entry)}\n%%EOF\n"
    )
    return base + entry.encode() + table.encode()


def read(path: Path) -> Provenance:
    """The provenance in a file, whose type is found from its content.

    Raises:
        BenchError: The file cannot be read, or carries none.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}.") from error
    text = _extract(content)
    if text is None:
        raise BenchError(
            f"{path} carries no provenance of bench. PNG, SVG, PDF, HTML and JSON files written by 'bench viz' do;"
            " tables and files that another program saved again do not."
        )
    try:
        return Provenance(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise BenchError(
            f"{path} carries provenance that this bench {__version__} cannot read. Update bench."
        ) from error


def _extract(content: bytes) -> str | bytes | None:
    if content.startswith(SIGNATURE):
        prefix = KEYWORD.encode() + b"\0\x01\0\0\0"
        return next(
            (
                _inflate(body[len(prefix) :])
                for kind, body in _chunks(content)
                if kind == b"iTXt" and body.startswith(prefix)
            ),
            None,
        )
    if content.startswith(b"%PDF"):
        carried = re.findall(rb"/BenchProvenance <([0-9a-f]*)>", content)
        return bytes.fromhex(carried[-1].decode()) if carried else None
    if content.lstrip().startswith(b"{"):
        try:
            usermeta = json.loads(content)["usermeta"][KEYWORD]
        except (ValueError, KeyError, TypeError):
            return None
        return json.dumps(usermeta)
    if found := re.search(rb'<metadata id="%s">(.*?)</metadata>' % KEYWORD.encode(), content):
        from html import unescape

        return unescape(found[1].decode(errors="replace"))
    found = re.search(rb'<script type="application/json" id="%s">(.*?)</script>' % KEYWORD.encode(), content)
    return found[1] if found else None


def _chunks(image: bytes) -> Any:
    at = len(SIGNATURE)
    while at + 12 <= len(image):
        (size,) = struct.unpack_from(">I", image, at)
        yield image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
        at += 12 + size


def _inflate(body: bytes) -> bytes | None:
    try:
        return zlib.decompress(body)
    except zlib.error:
        return None


def _found(pattern: bytes, text: bytes) -> bytes:
    match = re.search(pattern, text)
    if match is None:
        raise BenchError("the renderer wrote a PDF without a classic cross-reference table; write PNG or SVG instead.")
    return match[1]


def _utf16(text: str) -> str:
    return ("\ufeff" + text).encode("utf-16-be").hex()
