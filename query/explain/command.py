"""Commands that give reasons: explain, env-diff, plan."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import click

from ...sql.rules import ALPHA, FLOOR
from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Backends, Configs, Models, Option, Positional, Suites, Surface
from ...warehouse.console.numbers import counted
from ...warehouse.console.tables import escape
from ...warehouse.errors import BenchError
from ...warehouse.store import Store
from ..axes import GEOMEAN
from ..question import AllRuns, Asker, HeadedRows, PeopleTable, Question, Reply, Row, Share, Where, command_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse
    from ..comparison.environments import EnvironmentField
    from ..document import TableColumn
    from .evidence import EvidenceStep
    from .explain import Explanation

CHARTS = (".png", ".svg", ".pdf", ".html", ".json")
ENDS = 3  # rows of a long table that are shown at either end


@dataclass(frozen=True, slots=True)
class Plan(Question[list[Row]]):
    """How many runs it takes to see a change on this machine, and how small a change some runs can show.

    The noise is what the store has seen from run to run: each config, case and metric has its own. The summary comes
    last, on stderr. Ends with 4 where no case was measured twice.

    \b
        bench plan --detect 3%
        bench plan --runs 5 --power 90% --correct bonferroni --configs main
    """

    name = "plan"
    views: ClassVar = {"": "detectable_effects"}
    fitted = False
    for_agents = "How many runs on each side it takes to see a change of the size `detect`, from the noise seen so far."

    effect: Annotated[float, Share("Change to see, either way.", "--detect", most=100, tool="detect")] = FLOOR
    _: KW_ONLY
    runs: Annotated[
        int,
        Option("Runs on each side; the smallest change that they can show is printed.", type=click.IntRange(1)),
    ] = 3
    power: Annotated[float, Share("How often to see the change where there is one.")] = 0.8
    alpha: Annotated[float, Share("How often to see a change in a case that has none.", on=Surface.PEOPLE)] = ALPHA
    correction: Annotated[
        str,
        Option(
            "Make alpha hold for all cases together: bonferroni for any false alarm, bh for their share among alarms.",
            "--correct",
            on=Surface.PEOPLE,
            type=click.Choice(("none", "bonferroni", "bh")),
        ),
    ] = "none"
    changed: Annotated[float, Share("Share of the cases that change; used by bh only.", on=Surface.PEOPLE)] = 0.1
    configs: Configs = ()
    hosts: Annotated[Sequence[str], Option("Only these machines.", on=Surface.PEOPLE)] = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    metrics: Annotated[
        Sequence[str],
        Option("These metrics; if left out latency, else those with a direction.", on=Surface.PEOPLE),
    ] = ()
    where: Where = None

    def __post_init__(self) -> None:
        if not 0 < self.effect < 100 or not 0 < self.power < 1 or self.runs < 1:
            raise BenchError("detect is a fraction above 0, power one between 0 and 1, and runs 1 or more.")

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[list[Row]]:
        """The rows of `detectable_effects`."""
        from .run_count import DetectionGoal, effects, render, sentences

        goal = DetectionGoal(
            effect=self.effect, runs=self.runs, power=self.power, alpha=self.alpha, correction=self.correction,
            changed=self.changed,
        )  # fmt: skip
        where = {
            "config": self.configs, "host": self.hosts, "suite": self.suites, "backend": self.backends, "name": self.models,
            "metric": self.metrics, **(self.where or {}),
        }  # fmt: skip
        found = effects(warehouse, goal, where)
        return Reply(
            result=found,
            columns=lambda: list(found[0]),
            rows=found,
            table=lambda: PeopleTable(*render(found, goal), shared=("parameters",)),
            sentences=lambda: sentences(found, effects(warehouse, replace(goal, correction="bonferroni"), where), goal),
        )


@dataclass(frozen=True, slots=True)
class EnvironmentDifference(Question["list[EnvironmentField]"]):
    """Field by field, what differs between the environments of two sides.

    Each side is a run, or a config or commit with its repeats: machine, software, flags, environment variables, code
    and command line. How much is the same is said on stderr; csv and the like carry those fields, too.

    \b
        bench env-diff main my-branch
        bench env-diff latest~1 latest --format json
    """

    name = "env-diff"
    views: ClassVar = {"": "environment_differences"}
    fitted = False

    base: Annotated[str, Positional("The side to compare with.", shell_complete=complete)]
    candidate: Annotated[str, Positional("The other side.", shell_complete=complete)]

    def places(self) -> Sequence[str]:
        """Both sides."""
        return (self.base, self.candidate)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> "Reply[list[EnvironmentField]]":
        """The rows of `environment_differences`, of fields that are the same, too."""
        from ..comparison.environments import ENVIRONMENT_COLUMNS, facts, render, sentence
        from ..comparison.sides import find_sides

        sides = find_sides(warehouse, self.base, self.candidate, notify=asker.notify)
        found = facts(warehouse, *(side.runs for side in sides))
        fields = ((fact.kind, fact.field, fact.base, fact.candidate, fact.same) for fact in found)
        return Reply(
            result=found,
            columns=lambda: ENVIRONMENT_COLUMNS,
            rows=(dict(zip(ENVIRONMENT_COLUMNS, each, strict=True)) for each in fields),
            table=lambda: PeopleTable(*render(found, *(side.name for side in sides))),
            sentences=lambda: [sentence(found)],
        )


plan, env_diff = command_of(Plan), command_of(EnvironmentDifference)


@dataclass(frozen=True, slots=True)
class Explain(Question["Explanation"]):
    """Trace a figure to its SQL, its samples and the files they lie in, and say how to measure it again.

    CASE is the name of a case, or the beginning of its id; `step` stands for all steps of a scheduler together,
    `tokens:64–127` for a bin of them as `bench compare` names it, `run` for what was measured of a run as a whole,
    `geomean` for the geometric means. With two sides, the difference between them is explained. The formats for
    programs carry every sample, or every case of a mean. A chart is explained by: bench viz explain FILE

    \b
        bench explain attention --backend inductor
        bench explain attention --run main~1 --metric compile_latency --format csv
        bench explain geomean --run main
        bench explain main my-branch attention --backend inductor
        bench explain A B tokens:64–127 --all-runs
    """

    name = "explain"
    views: ClassVar = {
        "": tuple(
            f"explain ({kind})"
            for kind in ("samples", "values", "memory", "steps", "outcomes", "mean of a run", "mean of two sides")
        )
    }
    fitted, text_alone = False, True
    for_agents = """Trace a figure to its SQL, samples, noise and files.

        `names` is a case, or a base, a candidate and a case, whose difference is then explained. A case is a name or the
        beginning of a case id; also `step`, `run` or `geomean`.
        """

    names: Annotated[
        Sequence[str],
        Positional(
            "A case; or two sides and a case.", required=True, metavar="[BASE CANDIDATE] CASE|step|run|geomean",
            shell_complete=complete,
        ),
    ] = ()  # fmt: skip
    _: KW_ONLY
    run: Annotated[
        str | None,
        Option(
            "Run to look at, by any of its names. If left out, the newest that has the case; one of `bench bisect` only if no"
            " other has it."
        ),
    ] = None
    metric: Annotated[str | None, Option("Metric to explain; latency, else speedup, else the first if left out.")] = (
        None
    )
    backend: Annotated[str | None, Option("Backend, where the case was measured on several.")] = None
    all_runs: AllRuns = False
    with_sql: Annotated[bool, Option("Print the statement behind every table, too.", "--sql", on=Surface.COMMAND)] = (
        False
    )

    def __post_init__(self) -> None:
        if len(self.names) not in (1, 3):
            raise BenchError(
                f"want a case, or two sides and a case, and got {counted(len(self.names), 'name')}:"
                " bench explain CASE, or bench explain BASE CANDIDATE CASE"
            )
        if self.run is not None and len(self.names) == 3:
            raise BenchError("--run works only with a single case: of two sides, these are the runs")
        if self.all_runs and len(self.names) == 1:
            raise BenchError("--all-runs works only with two sides; of a case alone, --run chooses the run")
        if self.metric is not None and tuple(self.names) == (GEOMEAN,):
            raise BenchError(
                "the geometric means of a run are of speedups: --metric works only with two sides, or with a case"
            )

    def prepared(self, store: Store) -> Self:
        """The same question, if it is not about a file.

        Raises:
            BenchError: It is.
        """
        if Path(self.names[0]).suffix in CHARTS and Path(self.names[0]).is_file():
            raise BenchError(
                f"{self.names[0]} is a file. If it is a chart: bench viz explain {shlex.quote(self.names[0])}"
            )
        return self

    def answer(self, warehouse: "Warehouse", asker: Asker) -> "Reply[Explanation]":
        """The rows that the figure is made of; for people, step by step."""
        from .explain import explain

        found = explain(
            warehouse, self.names, run=self.run, backend=self.backend, metric=self.metric, all_runs=self.all_runs,
            notify=asker.notify,
        )  # fmt: skip
        columns = [column.name for column in found.data.columns]

        def lines() -> Iterator[str | HeadedRows]:
            yield found.title
            for part in found.parts:
                if part.sentences or part.rows:
                    yield ""
                    yield from blocks(
                        part, warehouse.store if self.with_sql or part.figure else None, part is found.data
                    )

        return Reply(
            result=found,
            columns=lambda: columns,
            rows=(dict(zip(columns, row, strict=True)) for row in found.data.rows),
            table=lambda: PeopleTable(columns, found.data.rows),
            blocks=lines,
        )


explain, plan, env_diff = command_of(Explain), command_of(Plan), command_of(EnvironmentDifference)


def blocks(part: "EvidenceStep", store: Store | None, is_data: bool) -> Iterator[str | HeadedRows]:
    """A part for people: its sentences, its statement if there is a store to put it to, and the ends of its table."""
    from ..pasteable_sql import paste

    left_out = len(part.rows) - 2 * ENDS if part.long else 0
    rest = f" (first and last {ENDS} of {len(part.rows)}; all with {'--format csv' if is_data else '--sql'})"
    yield f"{escape(part.title)}{rest if left_out > 0 else ''}"
    for sentence in part.sentences:
        yield f"  {escape(sentence)}"
    if part.sql is not None and store is not None:
        usual = Store.find().root == store.root
        yield f"  {paste(part.sql)}{'' if usual else f' --store {shlex.quote(str(store))}'}"
    if part.rows:
        empty = (None, 0) if part.long else (None,)
        keep = [i for i in range(len(part.columns)) if any(row[i] not in empty for row in part.rows)]
        rows = [[_cell(part.columns[i], row[i]) for i in keep] for row in part.rows]
        if left_out > 0:
            rows[ENDS:-ENDS] = [["…"] * len(keep)]
        yield [_heading(part.columns[i]) for i in keep], rows


def _cell(column: "TableColumn", value: Any) -> Any:
    return value if column.kind == "number" else column.shown(value)


def _heading(column: "TableColumn") -> str:
    return column.name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
