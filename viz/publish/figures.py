"""The charts of runs and of compared pairs: those of `bench viz`, drawn when publishing, as pictures in files of their own.

A browser shows them as images, which run nothing and fetch nothing; they are dark where the reader's system is.
"""

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING

from ..._version import __version__
from ...warehouse.console.options import notify
from ...warehouse.errors import BenchError, MissingExtra
from ..output.figure import SIZE
from ..output.render import Renderer, RenderRequest
from ..run_charts import DrawableRuns, RunChart
from ..style import fonts, theme
from .folder import SiteFolder
from .pairs import Pair
from .payload import DATA_FOLDER, named
from .private import shortened

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..output.figure import Figure

FORMAT = 2  # of a picture: those of another are drawn anew
NARROW = 2.8, 3.0  # inches for a phone; a chart that is higher than most keeps its height
RUNS = 20  # newest of a kind whose charts are drawn; of the others stands the command
_TEXT = re.compile(r"(<text\b[^>]*>)([^<]*)")
_FONTS = 'font-family="Arial, Liberation Sans, Helvetica, sans-serif"'  # those of the widths that the picture was measured with
_ROOM = 0.05  # of the width of a picture, on each side
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_SPOKEN = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')  # of marks; the page says what an image shows

Picture = tuple[str, str, str, str, str]  # file, that for a phone, what it shows, of what, the command that draws it


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture to draw, unless the site before has it."""

    of: str  # run, or `base|candidate`
    chart: RunChart


def write(
    warehouse: "Warehouse", folder: SiteFolder, runs: Sequence[str], pairs: Sequence[Pair], digests: Mapping[str, str]
) -> dict[str, list[Picture]]:
    """Draw what changed since the site was published last.

    Args:
        warehouse: Of the store.
        folder: The site.
        runs: In order of time.
        pairs: Those that the site judges, the newest first.
        digests: Of each run.

    Returns:
        By run, or by `base|candidate`, its pictures.
    """
    recorded = DrawableRuns.of(warehouse)
    if not recorded.any():
        return {}
    return _written(warehouse, folder, [*_drawings(warehouse, recorded, runs, pairs)], digests)


def _drawings(
    warehouse: "Warehouse", recorded: DrawableRuns, runs: Sequence[str], pairs: Sequence[Pair]
) -> Iterator[Drawing]:
    """The charts of the newest runs that have any, and of pairs."""
    for known, charts in ((recorded.stepped, recorded.of_steps), (recorded.served, recorded.of_requests)):
        for run in [run for run in reversed(runs) if run in known][:RUNS]:
            yield from (Drawing(run, chart) for chart in charts([run]))
    for pair in pairs:
        found = (recorded.of_steps(pair), recorded.of_requests(pair), recorded.of_parts(warehouse, *pair))
        yield from (Drawing("|".join(pair), chart) for chart in itertools.chain(*found))


def _written(
    warehouse: "Warehouse", folder: SiteFolder, drawings: Sequence[Drawing], digests: Mapping[str, str]
) -> dict[str, list[Picture]]:
    found: dict[str, list[Picture]] = {}
    drawn: list[tuple[Drawing, str, Figure]] = []
    for one in drawings:
        said = f"{FORMAT} {__version__} {one.chart.command} {[digests.get(run) for run in one.of.split('|')]}"
        key = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
        kept = folder.reused("figures", key)
        if kept is not None:
            found.setdefault(one.of, []).extend(tuple(picture) for picture in kept)
            continue
        try:
            drawn.append((one, key, one.chart.draw(warehouse, title="")))  # the page has its heading as text
        except BenchError:  # such as a run without times: there is nothing to show
            folder.keep("figures", key, [])
    images = iter(_rendered([each for *_, figure in drawn for each in (figure, _narrow(figure))]))
    for (one, key, figure), *both in zip(drawn, images, images, strict=False):
        file, narrow = (folder.add(f"{DATA_FOLDER}/{named('figure.svg', image)}", image) for image in both)
        title = figure.provenance.title
        facts = figure.spec(False)["description"].removeprefix(f"{title}. ")
        picture = (file, narrow, shortened(title), shortened(facts), shortened(f"bench viz {one.chart.command}"))
        folder.keep("figures", key, [picture])
        found.setdefault(one.of, []).append(picture)
    return found


def _narrow(figure: "Figure") -> "Figure":
    """The chart for a phone, whose letters are as large as those of the page; one that is wider than most stays as it is."""
    width, height = figure.size
    if width > SIZE[0]:
        return figure
    return figure.sized((NARROW[0], height if height > SIZE[1] else min(height, NARROW[1])))


def _rendered(figures: "Sequence[Figure]") -> list[bytes]:
    """The pictures; none where the package that draws them is missing, which is told."""
    if not figures:
        return []
    jobs = [
        RenderRequest("svg", figure.still(fonts.choose(figure.letters)[0], "paper"))
        for figure in figures
    ]  # fmt: skip
    try:
        with Renderer() as renderer:
            return [_private(image) for image in renderer.render(jobs)]
    except MissingExtra as error:
        notify(f"the site has no charts of runs: {error}")
        return []


def _roomy(found: re.Match[str]) -> str:
    """Room on both sides: the reader's letters may be wider than those that the picture was measured with, as DejaVu's are."""
    width, height = float(found[1]), found[2]
    return f'viewBox="{-_ROOM * width:g} 0 {(1 + 2 * _ROOM) * width:g} {height}"'


def _private(image: bytes) -> bytes:
    """An image whose texts are as they may be published, and whose colours follow the reader's."""
    text = _SPOKEN.sub("", image.decode()).replace('font-family="sans-serif"', _FONTS)
    text = _VIEW.sub(_roomy, text, count=1)
    text = text.replace(">", f"><style>{theme.dark_style()}</style>", 1)
    return _TEXT.sub(lambda found: found[1] + escape(shortened(unescape(found[2])), quote=False), text).encode()
