"""Runtime against tokens: how long the model ran in each scheduler step, over the tokens the step scheduled."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..warehouse.options import Command
from . import reduce, steps, text
from .data import Row, ask
from .figure import SIZE, Figure, public
from .labels import printable
from .legend import Legend
from .options import chart_options
from .playing import Tip, faded, params, tooltip
from .provenance import Provenance, sha256_of
from .steps import Question, step_options

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

NAME = "runtime-vs-tokens"
TITLE = "Model run time against scheduled tokens"
X_TITLE, Y_TITLE = "scheduled tokens per step", "model run [ms]"
_TABLE = {  # columns of a table of what is drawn, and what the query calls them
    "config": "config", "tokens": "x", "model_run_ms": "y", "batch_size": "batch_size", "schedule_ms": "schedule_ms",
    "step": "rank", "path": "path", "line": "line", "steps": "n",
}  # fmt: skip


@click.command(NAME, cls=Command)
@step_options
@click.option(
    "--color-by", type=click.Choice(["config", "batch"]), default="config", show_default=True, help="What colour says."
)
@chart_options
def command(**options: Any) -> "Callable[[Warehouse], Figure]":
    """Model run time of each scheduler step over the tokens it scheduled.

    Counts of what was read, left out and drawn go to standard error. Without -o the chart is drawn as text.

    \b
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench viz runtime-vs-tokens --configs A --color-by batch -o chart.svg
    """
    return functools.partial(draw, **options)


def draw(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] | None = None,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
    color_by: str = "config",
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """The model run time of each scheduler step over its tokens.

    Args:
        warehouse: Where the steps are.
        configs: Configs to draw; all that have steps unless given.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out.
        color_by: "config" or "batch" (requests in the step).
        title: Title instead of the default.
        size: Width and height in inches.

    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: No step is left to draw.
    """
    question = steps.question(
        warehouse, configs, trim=trim, max_schedule_ms=max_schedule_ms, max_model_run_ms=max_model_run_ms
    )
    counts = steps.counts(warehouse, question)
    grid = (
        None
        if sum(count["kept"] for count in counts.values()) <= reduce.DRAW_ALL_BELOW
        else reduce.grid_of(size or SIZE)
    )
    rows = _rows(warehouse, question, grid)
    if not rows:
        raise steps.nothing(question, counts)
    for config, count in counts.items():
        own = [row["n"] for row in rows if row["config"] == config]
        count |= {"incomplete": count["kept"] - sum(own), "kept": sum(own), "drawn": len(own)}
    legend = Legend.fitting([config for config, count in counts.items() if count["drawn"]], (size or SIZE)[0])
    budget = steps.budget(warehouse, question)
    return _Drawn(question, rows, counts, grid, color_by, printable(title or TITLE), legend, budget).figure(size)


runtime_vs_tokens = public(draw)


def _points(question: Question) -> str:
    """One row per step as `reduce` wants them, as narrow as can be: config is its place, a file or run its hash.

    No condition here: DuckDB would add the tokens up once more to check it.
    """
    return f"""  SELECT list_position({question.list()}, config)::SMALLINT AS config, coalesce(batch_id, line, 0) AS rank, line,
    tokens::DOUBLE AS x, model_run_ms AS y, batch_size::INTEGER AS batch_size, schedule_ms,
    hash(coalesce(source_id, run_id)) AS origin
  FROM runtime_vs_tokens({question.arguments()})"""


def _named(question: Question, query: str) -> str:
    """The rows of `query` with config, run and file by name."""
    return f"""SELECT {question.list()}[drawn.config] AS config, x, y, batch_size, schedule_ms, rank, line, n, halvings,
  run_id, source_id, path
FROM (
{query}
) AS drawn
LEFT JOIN (
  SELECT hash(source_id) AS origin, NULL AS run_id, source_id, min(path) AS path FROM sources GROUP BY source_id
  UNION ALL SELECT DISTINCT hash(run_id), run_id, NULL, NULL FROM runs
) USING (origin)
ORDER BY rank, drawn.config, line, x, y"""


def _sql(question: Question, grid: tuple[int, int] | None) -> str:
    """The whole query as one statement."""
    points = _points(question)
    return _named(question, reduce.all_rows(points) if grid is None else reduce.reduced(points, grid))


def _rows(warehouse: "Warehouse", question: Question, grid: tuple[int, int] | None) -> list[Row]:
    """The rows to draw, in drawing order.

    The points are put into a temporary table first: 3 times faster at 10M than the same step within the statement.
    """
    warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE points AS {_points(question)}")
    try:
        return ask(warehouse, _named(question, reduce.drawing_of_all() if grid is None else reduce.reduction(grid)))
    finally:
        warehouse.connection.execute("DROP TABLE points")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The answer, on its way to a figure."""

    question: Question
    rows: list[Row]
    counts: steps.Counts
    grid: tuple[int, int] | None  # None: every row is drawn
    color_by: str
    title: str
    legend: Legend
    budget: int | None

    def figure(self, size: tuple[float, float] | None) -> Figure:
        provenance = self._provenance()
        return Figure(
            provenance=provenance,
            size=size or (SIZE[0], round(SIZE[1] + self.legend.inches, 2)),
            columns=tuple(_TABLE),
            rows=[tuple(row[name] for name in _TABLE.values()) for row in self.rows],
            fields=self._fields(),
            drawn_fields=("c0", "c1", "c2", "c4") if self.color_by == "batch" else ("c0", "c1", "c2"),
            spec=self._spec,
            text=self._text,
            names=[(printable(config), label) for config, label in self.legend.labels.items()],
            said="".join((self.title, self._subtitle(), *self.legend.labels.values())),
            notes=[
                f"no step to draw in {printable(name)!r}" for name, count in self.counts.items() if not count["drawn"]
            ],
        )

    def _provenance(self) -> Provenance:
        return Provenance(
            chart=NAME,
            title=self.title,
            sql=_sql(self.question, self.grid),
            parameters={**self.question.parameters(), "color_by": self.color_by, "grid": self.grid},
            counts=[{"config": config, **count} for config, count in self.counts.items()],
            drawn=len(self.rows),
            total=sum(row["n"] for row in self.rows),
            data_sha256=sha256_of([list(row.values()) for row in self.rows]),
        )

    def _subtitle(self) -> str:
        drawn, total = len(self.rows), sum(row["n"] for row in self.rows)
        alone = f"{next(iter(self.legend.labels.values()))} · " if len(self.legend.labels) == 1 else ""
        if self.grid is None:
            return f"{alone}{'the only step' if total == 1 else f'all {total:,} steps'} drawn"
        halved = 2 ** self.rows[0]["halvings"]
        return f"{alone}{drawn:,} of {total:,} steps drawn (grid {-(-self.grid[0] // halved)}×{-(-self.grid[1] // halved)})"

    def _fields(self) -> dict[str, list[Any]]:
        """Columns under names that no spec can misread; c0 to c4 are drawn, all are told in tooltips."""
        return {
            "c0": [self.legend.labels[row["config"]] for row in self.rows],
            "c1": [row["x"] for row in self.rows],
            "c2": [row["y"] for row in self.rows],
            "c3": [printable(row["config"]) for row in self.rows],
            "c4": [row["batch_size"] for row in self.rows],
            "c5": [row["schedule_ms"] for row in self.rows],
            "c6": [row["n"] for row in self.rows],
            "c7": [printable(row["path"] or "recorded by bench") for row in self.rows],
            "c8": [row["line"] for row in self.rows],
            "c9": [_origin(row) for row in self.rows],
        }

    def _spec(self, interactive: bool) -> dict[str, Any]:
        x_end = max(row["x"] for row in self.rows) or 1
        y_end = max(row["y"] for row in self.rows) or 1
        ticks = {"tickCount": 10, "tickMinStep": 1} if interactive else {"values": token_ticks(x_end, self.budget)}
        mark = {
            "type": "point",
            "filled": True,
            "size": _area(len(self.rows)) * (2 if interactive else 1),
            "opacity": 1,
            "strokeWidth": 0,
        }
        spec: dict[str, Any] = {
            "title": {"text": self.title, "subtitle": self._subtitle()},
            "description": f"{self.title}. {self._subtitle()}.",
            "mark": {**mark, "clip": True} if interactive else {**mark, "aria": False},
            "encoding": {
                "x": {
                    "field": "c1",
                    "type": "quantitative",
                    "title": X_TITLE,
                    "scale": {"domain": [0, x_end * 1.02], "nice": False},
                    "axis": {"format": ",d", **ticks},
                },
                "y": {
                    "field": "c2",
                    "type": "quantitative",
                    "title": Y_TITLE,
                    "scale": {"domain": [0, y_end * 1.02], "nice": not interactive},
                },
                **self.legend.encodings("c0", colour=self.color_by == "config"),
                **({"color": self._batch_colour()} if self.color_by == "batch" else {}),
            },
        }
        return _playable(spec) if interactive else spec

    def _batch_colour(self) -> dict[str, Any]:
        sizes = sorted({row["batch_size"] for row in self.rows if (row["batch_size"] or 0) > 0}) or [1]
        wide = sizes[-1] / sizes[0] >= 16
        scale = {"scheme": "viridis", "domain": [sizes[0], sizes[-1]], "nice": False}
        return {
            "condition": {
                "test": "isValid(datum.c4) && datum.c4 > 0",
                "field": "c4",
                "type": "quantitative",
                "scale": {**scale, "type": "log", "base": 2} if wide else scale,
                "legend": {
                    "title": "requests per step",
                    "values": _batch_ticks(sizes, wide),
                    "format": ",d",
                    "gradientThickness": 9,
                },
            },
            "value": "#9a9a9a",
        }

    def _text(self, columns: int, rows: int, colour: bool) -> str:
        series = []
        for config, label in self.legend.labels.items():
            own = [row for row in self.rows if row["config"] == config]
            note = f"{self.counts[config]['kept']:,} steps"
            series.append(text.Series(label, [row["x"] for row in own], [row["y"] for row in own], note))
        return text.scatter(
            series,
            title=self.title,
            subtitle=self._subtitle(),
            x_title=X_TITLE,
            y_title=Y_TITLE,
            columns=columns,
            rows=rows,
            colour=colour,
        )


def token_ticks(end: float, budget: int | None) -> list[int]:
    """Ticks for an axis of tokens from 0: the budget (else the largest power of two) and its halves, as far as they fit."""
    top = budget if budget and budget <= end else 2 ** max(0, int(math.log2(max(end, 1))))
    ticks = [top]
    while ticks[-1] % 2 == 0 and ticks[-1] / 2 >= end / 20:
        ticks.append(ticks[-1] // 2)
    return [0, *reversed(ticks)]


def _batch_ticks(sizes: list[int], wide: bool) -> list[int]:
    """Sizes that occur, as many as a colour bar has room for."""
    if len(sizes) <= 6:
        return sizes
    if wide:
        return [size for size in sizes if size & (size - 1) == 0 or size == sizes[-1]][-9:]
    return sizes[:: -(-len(sizes) // 6)]


def _area(rows: int) -> float:
    """Area of a marker in square points: single ones are seen, many do not run into each other."""
    return 36 if rows <= 60 else 20 if rows <= 1_000 else 11 if rows <= 5_000 else 7


def _origin(row: Row) -> str:
    """The condition that finds the step again, less its line; empty where an id could do harm in a shell."""
    column = "run_id" if row["source_id"] is None else "source_id"
    if not re.fullmatch(r"[\w.-]+", str(row[column]), re.ASCII) or row["line"] is None:
        return ""
    return f"{column} = '{row[column]}' AND line = "


def _playable(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with zoom, legend and tooltips that tell each step's file, line and how to look it up."""
    tips: list[Tip] = [
        ("c3", "config", None),
        ("c1", "tokens", ",d"),
        ("c2", "model run [ms]", ",.3f"),
        ("c5", "schedule [ms]", ",.3f"),
        ("c4", "requests", ",d"),
        ("c6", "steps in this cell", ",d"),
        ("t0", "from", None),
        ("t1", "look it up", None),
    ]
    return {
        **spec,
        "params": params("c0"),
        "transform": [
            {"calculate": "datum.c8 === null ? datum.c7 : datum.c7 + ':' + datum.c8", "as": "t0"},
            {
                "calculate": "datum.c9 === '' ? '' : 'bench sql \"FROM schedule_chunks WHERE ' + datum.c9 + datum.c8 + '\"'",
                "as": "t1",
            },
        ],
        "encoding": {**spec["encoding"], "opacity": faded("c0"), "tooltip": tooltip(tips)},
    }
