"""The charts of runs and of compared pairs: those of `bench viz`, drawn when publishing, as pictures in files of their own.

A browser shows them as images, which run nothing and fetch nothing; they are dark where the reader's system is.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from typing import TYPE_CHECKING

from ..._version import __version__
from ...warehouse.console.options import notify
from ...warehouse.errors import BenchError, MissingExtra
from ..charts import pareto, runtime_vs_tokens, slo_curve, step_breakdown, why
from ..output.render import Renderer, RenderRequest
from ..style import fonts, theme
from .folder import SiteFolder
from .pairs import Pair
from .payload import DATA, named
from .private import shortened

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..output.figure import Figure

RUNS = 20  # newest of a kind whose charts are drawn; of the others stands the command
CASES = 2  # of a pair, whose difference is taken apart: those whose parts differ most
STEPS, REQUESTS = "run_details WHERE steps > 0", "requests"
_PROFILED = (
    "SELECT case_id FROM time_part_sides([?], [?]) GROUP BY case_id"
    " ORDER BY max(abs(candidate - base)) DESC, case_id LIMIT ?"
)
_TEXT = re.compile(r"(<text\b[^>]*>)([^<]*)")
_SPOKEN = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')  # of marks; the page says what an image shows

Picture = tuple[str, str, str, str]  # file, what it shows, of what it is drawn, the command that draws it


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture to draw, unless the site before has it."""

    of: str  # run, or `base|candidate`
    command: str
    draw: "Callable[..., Figure]"  # without its heading, which the page has as text


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
    stepped, served = (
        {run for (run,) in warehouse.rows(f"SELECT DISTINCT run_id FROM {source}")} for source in (STEPS, REQUESTS)
    )
    if not (stepped or served or warehouse.rows("SELECT 1 FROM time_parts LIMIT 1")):
        return {}
    drawings = [*_of_runs(runs, stepped, served), *_of_pairs(warehouse, pairs, stepped, served)]
    return _written(warehouse, folder, drawings, digests)


def _of_runs(runs: Sequence[str], stepped: set[str], served: set[str]) -> Iterator[Drawing]:
    """The pictures of the newest runs that have steps of a scheduler, or requests."""
    for run in [run for run in reversed(runs) if run in stepped][:RUNS]:
        yield Drawing(run, f"runtime-vs-tokens {run}", partial(runtime_vs_tokens.draw, runs=[run]))
        yield Drawing(run, f"step-breakdown {run}", partial(step_breakdown.draw, runs=[run]))
    for run in [run for run in reversed(runs) if run in served][:RUNS]:
        yield Drawing(run, f"slo-curve {run}", partial(slo_curve.draw, runs=[run]))
        yield Drawing(run, f"pareto {run}", partial(pareto.draw, runs=[run]))


def _of_pairs(warehouse: "Warehouse", pairs: Sequence[Pair], stepped: set[str], served: set[str]) -> Iterator[Drawing]:
    """The pictures of pairs: both in one chart, and the parts of a difference where both sides recorded them."""
    for base, candidate in pairs:
        of, words = f"{base}|{candidate}", f"{base} {candidate}"
        both = [base, candidate]
        if stepped.issuperset(both):
            # as in a report: by run, for both may be of one config
            yield Drawing(
                of, f"runtime-vs-tokens {words} --split-by run",
                partial(runtime_vs_tokens.draw, runs=both, split_by="run"),
            )  # fmt: skip
            yield Drawing(
                of, f"why {words} --case step", partial(why.draw, base=base, candidate=candidate, case="step")
            )
        if served.issuperset(both):
            yield Drawing(of, f"slo-curve {words}", partial(slo_curve.draw, runs=both))
            yield Drawing(of, f"pareto {words}", partial(pareto.draw, runs=both))
        for (case,) in warehouse.rows(_PROFILED, [base, candidate, CASES]):
            yield Drawing(
                of, f"why {words} --case {case}", partial(why.draw, base=base, candidate=candidate, case=case)
            )


def _written(
    warehouse: "Warehouse", folder: SiteFolder, drawings: Sequence[Drawing], digests: Mapping[str, str]
) -> dict[str, list[Picture]]:
    found: dict[str, list[Picture]] = {}
    drawn: list[tuple[Drawing, str, Figure]] = []
    for one in drawings:
        said = f"{__version__} {one.command} {[digests.get(run) for run in one.of.split('|')]}"
        key = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
        kept = folder.reused("figures", key)
        if kept is not None:
            found.setdefault(one.of, []).extend(tuple(picture) for picture in kept)
            continue
        try:
            drawn.append((one, key, one.draw(warehouse, title="")))
        except BenchError:  # such as a run without times: there is nothing to show
            folder.keep("figures", key, [])
    for (one, key, figure), image in zip(drawn, _rendered([figure for *_, figure in drawn]), strict=False):
        file = folder.add(f"{DATA}/{named('figure.svg', image)}", image)
        title = figure.provenance.title
        facts = figure.spec(False)["description"].removeprefix(f"{title}. ")
        picture = (file, shortened(title), shortened(facts), f"bench viz {one.command}")
        folder.keep("figures", key, [picture])
        found.setdefault(one.of, []).append(picture)
    return found


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


def _private(image: bytes) -> bytes:
    """An image whose texts are as they may be published, and whose colours follow the reader's."""
    text = _SPOKEN.sub("", image.decode())
    text = text.replace(">", f"><style>{theme.dark_style()}</style>", 1)
    return _TEXT.sub(lambda found: found[1] + escape(shortened(unescape(found[2])), quote=False), text).encode()
