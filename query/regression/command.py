"""`bench regressions`: what got worse, for people and for a CI job."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import click

from ...sql.rules import FDR, MAX_COMPILE_SECONDS, MIN_COMPRESSION, MIN_SPEEDUP, WINDOW
from ...warehouse.console.completion import complete
from ...warehouse.console.declared import Backends, Models, Option, Positional, Suites, Surface
from ...warehouse.console.numbers import amount, counted, percent_change
from ...warehouse.console.options import notify
from ...warehouse.console.parameters import ParametersText, parameters_of, without_shared_parameters
from ...warehouse.errors import Exit
from ...warehouse.store import Store
from ..axes import AXES, HEADINGS
from ..command_services import command_services
from ..comparison.compare import VERDICTS, WORSE
from ..comparison.render import metric, why
from ..comparison.settling import is_open, settled_rows
from ..document import markdown_text
from ..filters import asked_metrics
from ..question import Asker, Floor, PeopleTable, Question, Reply, Share, Where, command_of
from ..recorded_options import options_of
from .regressions import (
    FINDING_COLUMNS,
    Limits,
    RegressionRule,
    Row,
    at_known_levels,
    axis_text,
    choose,
    doubtful,
    doubtful_shifts,
    environment_changes,
    exit_code,
    fold,
    is_judged,
    is_of_one_run,
    judge,
    judged_runs,
    large_and_unsure,
    most_telling,
    shift_text,
    worse_cases,
)

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

HIDDEN = ("SAME", "UNSURE", "ADDED")  # verdicts that are shown with --all only
WHOLE_MACHINE = 0.5  # share of all comparisons; when more of them are worse the machine is a suspect
SPARE = ("since", "now")  # columns of a table that may go where there is no room
QUIET = {  # what a night without findings is told by, above the counts
    Exit.OK: "nothing got worse beyond noise",
    Exit.TOO_LITTLE: "nothing is surely worse, but too little is known to judge",
}
NAMED = 3  # differences of the environment that a sentence names


@dataclass(frozen=True, slots=True)
class Regressions(Question[list[Row]]):
    """What got worse since the runs before: beyond noise, beyond a limit, or gone.

    RUNS are id prefixes, configs, commits, latest (the default) or latest~1; each with its round: what the same night
    measured of its config. Each is judged by earlier rounds on its class of machine. SLOWER and WORSE changed beyond
    noise, or are newly beyond a limit; where one run alone shows it, it may have had a bad machine: --confirm measures
    it again. BROKEN and REMOVED passed before and do not now. What all cases of a run share has a row of its own.

    Ends with 1 if anything got worse, 3 if something is only gone, 4 if there is too little data to judge most cases.

    \b
        bench regressions --confirm
        bench regressions main --metrics latency --floor 5% --format markdown
    """

    name = "regressions"
    views: ClassVar = {"": "regression_findings"}
    has_verdicts = True
    for_agents = """What got worse in the newest run, or in the runs named, against the runs before of the same config.

        Only what changed is listed, or with `everything` also what is the same or UNSURE.
        """

    runs: Annotated[
        Sequence[str],
        Positional("The runs to judge, as `compare` names them; latest if none is given.", shell_complete=complete),
    ] = ()
    _: KW_ONLY
    confirm: Annotated[
        int | None,
        Option(
            "Measure what looks worse again, N times (1), before reporting it; write RUNS before this option.",
            on=Surface.COMMAND,
            type=click.IntRange(1),
            is_flag=False,
            flag_value=1,
            metavar="[N]",
        ),
    ] = None
    last: Annotated[
        int, Option("Runs before to compare with.", "--window", on=Surface.PEOPLE, type=click.IntRange(1))
    ] = WINDOW
    floor: Floor = None
    fdr: Annotated[float, Share("False alarms to accept, of all alarms.", on=Surface.PEOPLE)] = FDR
    min_speedup: Annotated[float, Option("Flag a speedup that is newly below this.", on=Surface.PEOPLE, type=float)] = (
        MIN_SPEEDUP
    )
    max_compile_seconds: Annotated[
        float, Option("Flag a compile time that is newly above this.", on=Surface.PEOPLE, type=float)
    ] = MAX_COMPILE_SECONDS
    min_compression: Annotated[
        float, Option("Flag a memory compression ratio that is newly below this.", on=Surface.PEOPLE, type=float)
    ] = MIN_COMPRESSION
    fail_on: Annotated[
        str,
        Option(
            "End with 1 if anything is slower or worse, or likely so.",
            on=Surface.COMMAND,
            type=click.Choice(["slower", "likely"]),
        ),
    ] = "slower"
    strict: Annotated[
        bool, Option("End with 4 if a case moved by 20 % or more and stays UNSURE.", on=Surface.COMMAND)
    ] = False
    everything: Annotated[bool, Option("Show every comparison, not only what changed.", "--all")] = False
    parts: Annotated[
        bool, Option("Take the worst apart: the first rows of `bench why`.", "--why", on=Surface.COMMAND)
    ] = False
    members: Annotated[
        bool, Option("Show every case, not a line for those that moved together.", on=Surface.PEOPLE)
    ] = False
    metrics: Annotated[Sequence[str], Option("Only these metrics.", on=Surface.PEOPLE)] = ()
    phases: Annotated[
        Sequence[str], Option("Only these phases: cold, compile, warmup, steady.", on=Surface.PEOPLE)
    ] = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    where: Where = None

    def prepared(self, store: Store) -> Self:
        """Measure again first, with --confirm, what looks worse; then the same runs are judged."""
        if not self.confirm:
            return self
        from ...warehouse.database import Warehouse
        from .remeasure import measure_again

        with Warehouse.open(store).plan_briefly() as warehouse:
            judged, rows = self._judge(warehouse, Asker(notify, command=True))
            commands = list(_confirming(warehouse, doubtful(rows)))
        for turn in range(self.confirm):
            for run_id, command in commands:
                notify(f"looks worse, measuring again ({turn + 1} of {self.confirm}): {shlex.join(command)}")
                measure_again(command, f"confirms={run_id}", command_services().measure_again)
        return replace(self, runs=tuple(judged))

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[list[Row]]:
        """The rows of `regression_findings`; the result has those that are not shown, too."""
        judged, rows = self._judge(warehouse, asker)
        shown = [row for row in rows if self.everything or row["verdict"] not in HIDDEN]
        told = shown if self.members or self.everything else fold(shown)
        said = list(sentences(warehouse, rows, judged, parts=self.parts))
        ended = exit_code(rows, strict=self.strict, likely=self.fail_on == "likely")
        lead = [QUIET[ended]] if ended in QUIET else []
        return Reply(
            result=rows,
            columns=lambda: FINDING_COLUMNS,
            rows=_with_settling(warehouse, shown),
            table=lambda: PeopleTable(*render(told), shared=[*HEADINGS.values()], spare=SPARE, reason="why"),
            sentences=lambda: said,
            hints=lambda: self._hints(warehouse, shown, told, doubtful(rows)),
            markdown_without_rows=lambda: "".join(f"{markdown_text(sentence)}\n\n" for sentence in (*lead, *said)),
            lead=lambda: lead,
            headings_alone=False,
            exit_code=ended,
        )

    def _judge(self, warehouse: "Warehouse", asker: Asker) -> tuple[list[str], list[Row]]:
        """The runs that are judged, and what is found of what was asked for."""
        rule = RegressionRule(last=self.last, floor=self.floor, fdr=self.fdr)
        limits = Limits(
            min_speedup=self.min_speedup,
            max_compile_seconds=self.max_compile_seconds,
            min_compression=self.min_compression,
        )
        judged = judged_runs(warehouse, *(self.runs or ("latest",)))
        where = {"phase": self.phases, "suite": self.suites, "backend": self.backends, "name": self.models}
        where |= self.where or {}
        if self.metrics or (asker.command and "metric" not in where):
            where["metric"] = asked_metrics(warehouse, self.metrics)
        return judged, choose(judge(warehouse, judged, rule, limits), where)

    def _hints(
        self, warehouse: "Warehouse", shown: Sequence[Row], told: Sequence[Row], alone: Sequence[Row]
    ) -> Iterator[str]:
        if len(told) < len(shown):
            yield f"{counted(len(shown), 'finding')} in {counted(len(told), 'line')}; list each with: --members"
        repeatable = set() if self.confirm else _repeatable(warehouse, alone)
        if count := sum(row["run_id"] in repeatable for row in alone):
            yield f"{counted(count, 'finding')} of one run; let another confirm it with: bench regressions --confirm"
        elif not alone and (unsettled := next(filter(is_open, shown), None)):
            yield _settled_by(unsettled)


regressions = command_of(Regressions)


def _confirming(warehouse: "Warehouse", rows: Iterable[Row]) -> Iterator[tuple[str, list[str]]]:
    """The run that each command confirms, and the command; a notice names what cannot be measured again."""
    from .remeasure import commands_for, obstacle

    suspects: dict[str, set[str]] = {}
    for row in rows:
        if row["case_id"] is not None:
            suspects.setdefault(row["run_id"], set()).add(row["case_id"])
    for run_id, case_ids in suspects.items():
        commands = obstacle(warehouse, run_id) or commands_for(warehouse, run_id, case_ids)
        if isinstance(commands, str):
            notify(f"cannot measure {counted(len(case_ids), 'case')} of run {run_id[:13]} again: {commands}")
        else:
            yield from ((run_id, command) for command in commands)


def _with_settling(warehouse: "Warehouse", rows: Sequence[Row]) -> Iterator[Row]:
    """The rows, with what settles each whose verdict is open or stands on one run."""
    repeatable = _repeatable(warehouse, rows)
    yield from settled_rows(
        rows, lambda row: _settled_by(row, repeatable) if is_open(row) or is_of_one_run(row) else ""
    )


def _settled_by(row: Row, repeatable: Collection[str] = ()) -> str:
    """The sentence with the command that settles a verdict."""
    if is_of_one_run(row) and row["run_id"] in repeatable:
        return f"to settle it: bench regressions {row['run_id'][:13]} --confirm"
    config = shlex.quote(row["config"])
    return f"to settle it, record another run of {config}, then: bench regressions {config}"


def _repeatable(warehouse: "Warehouse", rows: Iterable[Row]) -> set[str]:
    """The runs of some rows that keep the options by which --confirm can repeat them."""
    runs = {row["run_id"] for row in rows if row["run_id"] is not None}  # what all cases share has none
    return {run_id for run_id in runs if not isinstance(options_of(warehouse, run_id), str)}


def render(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Rows as a table for people; axes that nobody set are left out."""
    measured = [row for row in rows if row["finding"] == "statistics"]
    hosts = [next((column for column in ("machine", "host") if len({row[column] for row in measured}) > 1), "")]
    axes = [*filter(None, hosts), *(axis for axis in AXES if any(row[axis] is not None for row in rows))]
    names = [HEADINGS.get(axis, axis) for axis in axes]
    # what all cases share has their axes where these are one
    of_cases = [row for row in rows if row["finding"] != "shift"]
    alike = {axis: values.pop() for axis in axes if len(values := {axis_text(row, axis) for row in of_cases}) == 1}
    shared, _ = without_shared_parameters([parameters_of(row["parameters"]) for row in of_cases])
    alike["parameters"] = ParametersText.of(shared)
    return ["verdict", *names, "metric", "before", "now", "change", "since", "why"], [
        [
            row["verdict"], *(axis_text(row, axis) or alike.get(axis) for axis in axes), metric(row), _before(row),
            amount(row["value"], row["unit"]), _change(row), _since(row), "; ".join(why(row)),
        ]
        for row in rows
    ]  # fmt: skip


def _before(row: Row) -> str | None:
    text = amount(row["baseline"], row["unit"])
    return f"{text} (n={row['n']})" if text and row["n"] else text


def _change(row: Row) -> str | None:
    told = percent_change(row["change"], row["low"], row["high"])
    return told.replace("(95 % ", "(") if told and "folded" in row else told


def _since(row: Row) -> str | None:
    if row["since_run_id"] is None:
        return None
    date = f"{row['since_at']:%Y-%m-%d}" if row["since_at"] is not None else None
    return " ".join(filter(None, (date, (row["since_commit"] or row["since_run_id"])[:9])))


def _is_excused(row: Row) -> bool:
    """True for a limit that noise alone takes the case across: the case has its verdict in a row of its own."""
    return bool(row["finding"] == "limit" and row["verdict"] == "SAME")


def sentences(
    warehouse: "Warehouse", rows: Sequence[Row], judged: Sequence[str], *, parts: bool = False
) -> Iterator[str]:
    """Sentences below the table: how much was judged, why some was not, other possible causes, and what to do next.

    With `parts` the worst is taken apart.
    """
    added = {row["case_id"]: "ADDED" for row in rows if row["verdict"] == "ADDED"}
    counts = Counter(
        [*added.values(), *(row["verdict"] for row in rows if row["verdict"] != "ADDED" and not _is_excused(row))]
    )
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict and counts[verdict])
    runs = f"run{'s' if len(judged) > 1 else ''} {', '.join(run_id[:13] for run_id in judged)}"
    compared = f"{counted(sum(counts.values()), 'comparison')} of {runs} with runs before"
    yield f"{compared}: {listed or 'nothing measured has a better and a worse'}"
    unjudged = Counter(
        (None if row["machine"] else row["host"], why(row)[0])
        for row in rows
        if row["finding"] == "statistics" and row["p"] is None and row["verdict"] == "UNSURE"
    )
    for (host, reason), count in unjudged.most_common():
        yield f"{count} not judged{f' on {host}' if host else ''}: {reason}"
    for row in doubtful_shifts(rows):
        yield f"{shift_text(row)}; {row['reason']}"
    if large := large_and_unsure(rows):
        yield f"{counted(len(large), 'case')} moved by 20 % or more with too little data to be sure (--all lists them)"
    if known := at_known_levels(rows):
        names = ", ".join(f"{row['name']} {percent_change(row['change'])}" for row in known[:NAMED])
        more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
        yield f"{counted(len(known), 'case')} at a slower level that earlier runs were at, too: {names}{more} (see --all)"
    failing = worse_cases(rows)
    if not failing:
        return
    from ..bisect.suggest import bisect_command
    from ..why.next_question import question_since

    cases = [row for row in rows if row["finding"] == "statistics" and is_judged(row)]
    worse = sum(row["verdict"] in WORSE for row in cases)
    if len(cases) >= 10 and worse > WHOLE_MACHINE * len(cases):
        yield f"{worse} of {len(cases)} got worse together: a slower machine looks like that, too"
    if changes := environment_changes(warehouse, judged):
        more = f" and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
        yield f"the environment is not that of the run before: {'; '.join(map(str, changes[:NAMED]))}{more}"
    worst = most_telling(failing)
    if worst["good_commit"] and worst["since_commit"]:
        yield f"the worst began with one of: git log {worst['good_commit'][:9]}..{worst['since_commit'][:9]}"
        if find := bisect_command(
            warehouse, worst["run_id"], f"{worst['good_commit'][:9]}..{worst['since_commit'][:9]}", worst
        ):
            yield f"find the commit with: {shlex.join(find)}"
        yield from question_since(warehouse, worst["good_commit"][:9], worst, answered=parts)
    ids = [worst["run_id"], worst["case_id"]]
    if warehouse.rows(
        "SELECT 1 FROM cases WHERE run_id = ? AND case_id = ? LIMIT 1", ids
    ):  # steps are no announced cases
        words = ["bench", "explain", worst["case_id"], "--run", worst["run_id"], "--metric", worst["metric"]]
        yield f"see the worst with: {shlex.join(words)}"
