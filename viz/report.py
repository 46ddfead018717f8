"""`bench report`: the results of a run as Markdown or as one offline page, or piped into a command that posts them."""

import contextlib
import functools
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import click

from ..query.comparison.compare import CHANGES
from ..query.document import COMMENT_LIMIT
from ..query.question import AllRuns, Asker, PeopleTable, Question, Reply, command_of
from ..sql.rules import MAX_COMPILE_SECONDS, MIN_COMPRESSION, MIN_SPEEDUP
from ..warehouse.console.completion import complete
from ..warehouse.console.declared import Backends, Option, Positional, Suites, Surface
from ..warehouse.console.numbers import file_size
from ..warehouse.console.options import notify
from ..warehouse.errors import BenchError, Exit, MissingExtra
from ..warehouse.store import Store

if TYPE_CHECKING:
    from ..query.document import Document
    from ..query.report import Report
    from ..warehouse.database import Warehouse
    from .output.figure import Figure
    from .output.render import Renderer

PICTURED = 4  # cases of which a finding is drawn
FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


@dataclass(frozen=True, slots=True)
class ReportRun(Question["Report"]):
    """Report a run: verdict, summary, every case, regressions, changes, warnings, history, environment.

    Markdown in a file has its charts as PNG files beside it. Warnings leave out eager and aot_eager unless --backends names
    them.

    RUN is the beginning of an id, a config, the beginning of a commit, a day, tag:NAME, a path that was ingested, or
    latest (the default), or latest~1, the one before. With BASE the report opens with what bench compare says of
    both; else RUN is judged by the runs before it of the same config. The exit code is 0 whatever the verdict: `bench
    regressions` is the one to fail a CI job.

    \b
        bench report
        bench report -o report.html
        bench report main my-branch --post 'gh pr comment 123 -F -'
        bench report A B --all-runs
    """

    name = "report"
    writes_rows, text_alone = False, True
    for_agents = (
        "The report of a run as Markdown, against a base if one is given, else against the runs before of its config."
    )

    run: Annotated[str, Positional("The run to report.", metavar="[[BASE] RUN]", shell_complete=complete)] = "latest"
    base: Annotated[
        str | None,
        Positional(
            "The side to compare it with; on the command line it comes first.", metavar="", shell_complete=complete
        ),
    ] = None
    _: KW_ONLY
    output: Annotated[
        Sequence[Path],
        Option(
            "File to write, .md or .html; several may be given. Without it, Markdown on standard output.",
            "-o --output",
            on=Surface.COMMAND,
            cls=click.Option,
            multiple=True,
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
        ),
    ] = ()
    post: Annotated[
        str | None,
        Option(
            "Pipe the Markdown into this command, such as: 'gh issue comment 123 -F -'",
            on=Surface.COMMAND,
            metavar="COMMAND",
        ),
    ] = None
    limit: Annotated[
        int,
        Option(
            "Longest Markdown; the least important tables are cut, and the report says so. 0 for any length.",
            on=Surface.COMMAND,
            type=click.IntRange(0),
            metavar="CHARACTERS",
        ),
    ] = COMMENT_LIMIT
    min_speedup: Annotated[
        float, Option("Warn of speedups below this.", on=Surface.PEOPLE, type=click.FloatRange(0))
    ] = MIN_SPEEDUP
    max_compile_seconds: Annotated[
        float, Option("Warn of compile times above this.", on=Surface.PEOPLE, type=click.FloatRange(0))
    ] = MAX_COMPILE_SECONDS
    min_compression: Annotated[
        float, Option("Warn of memory compression ratios below this.", on=Surface.PEOPLE, type=click.FloatRange(0))
    ] = MIN_COMPRESSION
    suites: Suites = ()
    backends: Backends = ()
    all_runs: AllRuns = False

    def __post_init__(self) -> None:
        if self.all_runs and self.base is None:
            raise BenchError("--all-runs works only with two sides: bench report BASE RUN --all-runs")
        for path in self.output:
            if path.suffix.lower() not in FORMATS:
                raise BenchError(f"cannot tell the format of {str(path)!r}. Name it .md or .html.")

    def prepared(self, store: Store) -> Self:
        """The same question of the sides as a command has them, the base first."""
        return self if self.base is None else replace(self, run=self.base, base=self.run)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> "Reply[Report]":
        """The document; a command writes it to its files."""
        from ..query.regression.regressions import Limits
        from ..query.report import report

        limits = Limits(
            min_speedup=self.min_speedup,
            max_compile_seconds=self.max_compile_seconds,
            min_compression=self.min_compression,
        )
        texts = any(FORMATS[path.suffix.lower()] == "markdown" for path in self.output)
        with contextlib.ExitStack() as stack:
            renderer = stack.enter_context(_renderer()) if texts else None  # it starts while the warehouse is asked
            found = report(
                warehouse, self.run, self.base, limits=limits, suites=self.suites, backends=self.backends,
                all_runs=self.all_runs,
            )  # fmt: skip
            running = stack.pop_all()

        def deliver() -> None:
            with running:
                self._write_files(warehouse, found, renderer)

        return Reply(
            result=found,
            columns=tuple,
            rows=(),
            table=lambda: PeopleTable((), ()),
            blocks=lambda: [found.document.markdown(self.limit or None)],
            deliver=deliver,
        )

    def _write_files(self, warehouse: "Warehouse", found: "Report", renderer: "Renderer | None") -> None:
        for path in self.output:
            if FORMATS[path.suffix.lower()] == "html":
                _write(path, page(warehouse, found))
            else:
                _write(path, _with_images(warehouse, found, path, renderer).markdown(self.limit or None).encode())
        if self.post is not None:
            _post(self.post, found.document.markdown(self.limit or None))
        elif not self.output:
            click.echo(found.document.markdown(self.limit or None), nl=False)


report = command_of(ReportRun)


def _write(path: Path, content: bytes) -> None:
    from .output.files import replacing

    with replacing(path) as half:
        half.write_bytes(content)
    click.echo(f"wrote {path} ({file_size(len(content))})", err=True)


def _renderer() -> "contextlib.AbstractContextManager[Renderer | None]":
    """The renderer, which starts while the warehouse is asked; None where its package is missing."""
    from .output.render import Renderer

    try:
        return Renderer()
    except MissingExtra:
        return contextlib.nullcontext()


def _with_images(
    warehouse: "Warehouse", report: "Report", path: Path, renderer: "Renderer | None"
) -> "Document":  # fmt: skip
    """The document with its charts, which are written as PNG files beside the file at this path, named after it."""
    import dataclasses

    from .output import files

    document = _with_pictures(report.document)
    try:
        found = {key: figures[0] for key, figures in _figures(warehouse, report, document)}
        targets = {key: files.targets([str(path.with_name(f"{path.stem}-{key}.png"))], None) for key in found}
        if renderer is None:  # for lack of a package, which is told only of a report with charts
            files.renderer_for([target for each in targets.values() for target in each])
        for key, figure in found.items():
            files.write(figure, targets[key], renderer, ppi=144)
    except MissingExtra as error:
        notify(f"the report has no charts: {error}")
        return report.document
    sections = [
        dataclasses.replace(section, pictures=[(section.title, targets[section.key][0].path.name)])
        if section.key in targets
        else section
        for section in document.sections
    ]
    return dataclasses.replace(
        document, sections=[part for part in sections if part.pictures or part.key != "speedups"]
    )


def _post(command: str, markdown: str) -> None:
    """Pipe the Markdown into a command of the user."""
    try:
        words = shlex.split(command)
        done = subprocess.run(words, input=markdown.encode())
    except (OSError, ValueError, IndexError) as error:
        raise BenchError(f"cannot run {command!r} to post the report: {error}.") from error
    if done.returncode:
        failed = BenchError(
            f"{words[0]} exited with {done.returncode}; the report was not posted. Keep it with -o report.md"
        )
        failed.exit_code = Exit.FAILED
        raise failed


def page(warehouse: "Warehouse", report: "Report") -> bytes:
    """The offline HTML page of a report, with the charts that the run has rows for."""
    from .output import report_page
    from .output.files import bundle
    from .style import fonts

    document = _with_pictures(report.document)
    figures = dict(_figures(warehouse, report, document))
    letters = "".join(figure.letters for found in figures.values() for figure in found)
    return report_page.page(document, figures, font=fonts.choose(letters)[0], bundle=bundle())


def _with_pictures(document: "Document") -> "Document":
    """The document with a section that has only a chart: the slowest cases, after the summary."""
    import dataclasses

    from ..query.document import Section

    sections = list(document.sections)
    places = [place for place, section in enumerate(sections) if section.key == "summary"]
    if places:
        sentence = "The slowest cases; all of them stand in the tables of their suites."
        sections.insert(places[-1] + 1, Section(key="speedups", title="Slowest cases", sentences=[sentence]))
    return dataclasses.replace(document, sections=sections)


def _worst_cases(findings: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[str]], list[str]] | None:
    """The first cases whose worst metric changed, as values of columns, and that metric; None if no case changed.

    What crossed a limit may be no metric of its own: a speedup is computed from two.
    """
    changed = [row for row in findings if row["verdict"] in CHANGES and row["finding"] == "statistics"]
    if not changed:
        return None
    metric = changed[0]["metric"]
    alike = [row for row in changed if row["metric"] == metric][:PICTURED]
    columns = {column: list(dict.fromkeys(row[column] for row in alike)) for column in ("config", "case_id")}
    return {"name": [], "backend": [], **columns}, [metric]


def _figures(
    warehouse: "Warehouse", report: "Report", document: "Document"
) -> Iterator[tuple[str, Sequence["Figure"]]]:
    """The charts of each section; one that has nothing to draw is left out."""
    from .case_history import chart_of_cases
    from .charts import history, movers, speedups
    from .data import all_configs
    from .run_charts import DrawableRuns

    sides = report.sides
    runs = [side.runs[0] for side in sides] if sides else report.parts
    charts: dict[str, Sequence[Callable[[], Figure]]] = {
        "speedups": [lambda: speedups.draw(warehouse, runs=runs, suites=report.suites, backends=report.backends)],
        "history": [
            lambda: history.draw(
                warehouse, configs=list(dict.fromkeys(report.configs)), suites=report.suites, backends=report.backends
            )
        ],
        "scheduler": [
            functools.partial(chart.draw, warehouse) for chart in DrawableRuns.of(warehouse).of_steps(report.runs)
        ],
    }
    moved: Callable[[str, str], Figure] = lambda base, candidate: movers.draw(  # noqa: E731
        warehouse, base, candidate, suites=report.suites, backends=report.backends, all_runs=report.all_runs,
    )  # fmt: skip
    if worst := _worst_cases(report.findings):
        of_worst = chart_of_cases(warehouse, *worst, last=None)
        charts["regressions"] = [lambda: of_worst.figure("history", configs=all_configs(warehouse))]
    if sides:
        charts["changed"] = [lambda: moved(sides[0].name, sides[1].name)]
    elif before := report.before:
        charts["changes"] = [lambda: moved(before, runs[-1])]
    for section in document.sections:
        drawn = []
        for draw in charts.get(section.key, ()):
            with contextlib.suppress(BenchError):  # such as runs without latency, or that repeat each other
                drawn.append(draw())
        if drawn:
            yield section.key, drawn
