"""Runtime against tokens: how long the model ran in each scheduler step, over the tokens the step scheduled."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..warehouse.errors import NothingToShow, UnknownName
from . import reduce, text
from .figure import Figure, plain
from .labels import printable
from .legend import Legend
from .provenance import Provenance, sha256_of

if TYPE_CHECKING:
    import altair
    import duckdb

    from ..warehouse.database import Warehouse

NAME = "runtime-vs-tokens"
TITLE = "Model run time against scheduled tokens"
X_TITLE, Y_TITLE = "scheduled tokens per step", "model run [ms]"
SIZE = (6.0, 4.0)
_TABLE = {  # columns of a table of what is drawn, and what the query calls them
    "config": "config", "tokens": "x", "model_run_ms": "y", "batch_size": "batch_size", "schedule_ms": "schedule_ms",
    "step": "rank", "path": "path", "line": "line", "steps": "n",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the warehouse: FEATURES A3, A5 and A7."""

    configs: tuple[str, ...]
    trim: int = 10
    max_schedule_ms: float = 300
    max_model_run_ms: float = 200

    def list(self) -> str:
        """The configs, as an SQL list."""
        return f"[{', '.join(_literal(config) for config in self.configs)}]"

    def arguments(self) -> str:
        """The macros' arguments, as SQL."""
        return (
            f'configs := {self.list()}, "trim" := {self.trim:d},'
            f" max_schedule_ms := {_number(self.max_schedule_ms)}, max_model_run_ms := {_number(self.max_model_run_ms)}"
        )


def _number(value: float) -> str:
    """An SQL number; infinity, which leaves nothing out, has no literal of its own."""
    return repr(value) if math.isfinite(value) else f"'{value}'::DOUBLE"


def _literal(value: str) -> str:
    """An SQL string literal of printable characters only, so that a printed query can be pasted."""
    parts = re.split(r"([^\x20-\x7e])", value)
    quoted = ["'" + p.replace("'", "''") + "'" if p.isprintable() else f"chr({ord(p)})" for p in parts if p]
    return " || ".join(quoted) or "''"


def runtime_vs_tokens(
    warehouse: "Warehouse",
    *,
    configs: Sequence[str] | None = None,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
    color_by: str = "config",
    title: str | None = None,
) -> "altair.Chart":
    """The chart as an Altair object, to look at in a notebook or to build on.

    Args:
        warehouse: Where the steps are.
        configs: Configs to draw; all that have steps unless given.
        trim: Lines left out at the start and at the end of each file.
        max_schedule_ms: Steps whose scheduling took this long or longer are left out.
        max_model_run_ms: Steps whose model run took this long or longer are left out.
        color_by: "config" or "batch" (requests in the step).
        title: Title instead of the default.

    Raises:
        UnknownName: The warehouse holds no such config.
        NothingToShow: No step is left to draw.
        MissingExtra: altair is not installed.
    """
    try:
        import altair
    except ImportError:
        from ..warehouse.errors import MissingExtra

        raise MissingExtra("altair", "viz") from None
    figure = draw(
        warehouse.connection,
        configs=configs,
        trim=trim,
        max_schedule_ms=max_schedule_ms,
        max_model_run_ms=max_model_run_ms,
        color_by=color_by,
        title=title,
    )
    return altair.Chart.from_dict(figure.interactive())


def draw(
    connection: "duckdb.DuckDBPyConnection",
    *,
    configs: Sequence[str] | None = None,
    trim: int = 10,
    max_schedule_ms: float = 300,
    max_model_run_ms: float = 200,
    color_by: str = "config",
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """The figure: `runtime_vs_tokens` without altair, and with a size in inches."""
    question = Question(
        configs=tuple(dict.fromkeys(configs)) if configs else tuple(_known(connection)),
        trim=trim,
        max_schedule_ms=float(max_schedule_ms),
        max_model_run_ms=float(max_model_run_ms),
    )
    counts = _counts(connection, question)
    grid = (
        None
        if sum(count["kept"] for count in counts.values()) <= reduce.DRAW_ALL_BELOW
        else reduce.grid_of(size or SIZE)
    )
    rows = _rows(connection, question, grid)
    if not rows:
        raise _nothing(question, counts)
    for config, count in counts.items():
        own = [row["n"] for row in rows if row["config"] == config]
        count |= {"incomplete": count["kept"] - sum(own), "kept": sum(own), "drawn": len(own)}
    legend = Legend.fitting([config for config, count in counts.items() if count["drawn"]], (size or SIZE)[0])
    drawn = _Drawn(
        question, rows, counts, grid, color_by, printable(title or TITLE), legend, _budget(connection, question)
    )
    return drawn.figure(size)


def _known(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    """Configs that have scheduler steps, or files that should have had some."""
    query = "SELECT config FROM runtime_vs_tokens_counts() ORDER BY config"
    return [str(config) for (config,) in connection.execute(query).fetchall()]


def _counts(connection: "duckdb.DuckDBPyConnection", question: Question) -> dict[str, dict[str, int]]:
    """By config, what became of its lines."""
    query = (
        f"SELECT config, read, trimmed, rejected, filtered, kept FROM runtime_vs_tokens_counts({question.arguments()})"
    )
    found = {row[0]: row[1:] for row in connection.execute(query).fetchall()}
    if missing := [config for config in question.configs if config not in found]:
        known = connection.execute("SELECT DISTINCT config FROM runs ORDER BY config").fetchall()
        names = [str(config) for (config,) in known]
        if not names:
            raise NothingToShow("the store holds no runs. Load some with: bench ingest NAME:PATH")
        for config in missing:
            if config not in names:
                raise UnknownName("config", printable(config), names, cure="List them with: bench configs")
    counts = {}
    for config in question.configs:
        read, trimmed, rejected, filtered, kept = (int(n or 0) for n in found.get(config, (0,) * 5))
        counts[config] = {
            "read": read, "trimmed": trimmed, "rejected": rejected, "filtered": filtered,
            "incomplete": 0, "kept": kept, "drawn": 0,
        }  # fmt: skip
    return counts


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


def _rows(
    connection: "duckdb.DuckDBPyConnection", question: Question, grid: tuple[int, int] | None
) -> list[dict[str, Any]]:
    """The rows to draw, in drawing order.

    The points are put into a temporary table first: 3 times faster at 10M than the same step within the statement.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE points AS {_points(question)}")
    try:
        cursor = connection.execute(
            _named(question, reduce.drawing_of_all() if grid is None else reduce.reduction(grid))
        )
        names = [column[0] for column in cursor.description or ()]
        columns = map(plain, zip(*cursor.fetchall(), strict=True))
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    finally:
        connection.execute("DROP TABLE points")


def _budget(connection: "duckdb.DuckDBPyConnection", question: Question) -> int | None:
    """Most tokens a step may schedule, where the writer says."""
    runs = f"SELECT run_id FROM runs WHERE list_contains({question.list()}, config)"
    query = f"SELECT max(token_budget) FROM schedule_chunks WHERE run_id IN ({runs})"
    row = connection.execute(query).fetchone()
    return int(row[0]) if row and row[0] else None


def _nothing(question: Question, counts: dict[str, dict[str, int]]) -> NothingToShow:
    """Why nothing is left, and what to change."""
    total = {key: sum(c[key] for c in counts.values()) for key in ("read", "trimmed", "rejected", "filtered", "kept")}
    configs = ", ".join(repr(printable(config)) for config in question.configs) or "the store"
    if not total["read"]:
        return NothingToShow(f"no scheduler steps in {configs}. Load some with: bench ingest NAME:PATH")
    lines = f"nothing to draw of {total['read']:,} lines in {configs}:"
    if total["trimmed"] == total["read"]:
        return NothingToShow(f"{lines} all lie within the first or last {question.trim} of their file. Try --trim 0")
    if total["kept"]:
        return NothingToShow(f"{lines} {total['kept']:,} steps lack their tokens or their model run time.")
    if total["filtered"]:
        return NothingToShow(
            f"{lines} {total['filtered']:,} steps took {question.max_schedule_ms:g} ms or longer to schedule, or"
            f" {question.max_model_run_ms:g} ms or longer to run. Try a higher --max-schedule-ms or --max-model-run-ms"
        )
    return NothingToShow(f"{lines} {total['rejected']:,} could not be read. See them with: bench rejects")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The answer, on its way to a figure."""

    question: Question
    rows: list[dict[str, Any]]
    counts: dict[str, dict[str, int]]
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
            parameters={**_strict(asdict(self.question)), "color_by": self.color_by, "grid": self.grid},
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


def _strict(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as strict JSON, which has no infinity."""
    return {key: str(value) if value in (math.inf, -math.inf) else value for key, value in parameters.items()}


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


def _origin(row: dict[str, Any]) -> str:
    """The condition that finds the step again, less its line; empty where an id could do harm in a shell."""
    column = "run_id" if row["source_id"] is None else "source_id"
    if not re.fullmatch(r"[\w.-]+", str(row[column]), re.ASCII) or row["line"] is None:
        return ""
    return f"{column} = '{row[column]}' AND line = "


def _playable(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with zoom, legend and tooltips. Expressions name fields only: no name from data is ever part of one."""
    tips = [
        ("c3", "config", None),
        ("c1", "tokens", ",d"),
        ("c2", "model run [ms]", ",.3f"),
        ("c5", "schedule [ms]", ",.3f"),
        ("c4", "requests", ",d"),
        ("c6", "steps in this cell", ",d"),
        ("t0", "from", None),
        ("t1", "look it up", None),
    ]
    encoding = {
        **spec["encoding"],
        "opacity": {
            "condition": {"test": {"and": [{"param": "pick"}, "show === null || datum.c0 === show"]}, "value": 1},
            "value": 0.03,
        },
        "tooltip": [
            {
                "field": name,
                "title": title,
                "type": "quantitative" if form else "nominal",
                **({"format": form} if form else {}),
            }
            for name, title, form in tips
        ],
    }
    return {
        **spec,
        "params": [
            {"name": "show", "value": None},
            {"name": "pick", "select": {"type": "point", "fields": ["c0"]}, "bind": "legend"},
            {"name": "zoom", "select": "interval", "bind": "scales"},
        ],
        "transform": [
            {"calculate": "datum.c8 === null ? datum.c7 : datum.c7 + ':' + datum.c8", "as": "t0"},
            {
                "calculate": "datum.c9 === '' ? '' : 'bench sql \"FROM schedule_chunks WHERE ' + datum.c9 + datum.c8 + '\"'",
                "as": "t1",
            },
        ],
        "encoding": encoding,
    }
