"""Lists: runs, configs, cases, sources, rejects, and the speedups of backends."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..warehouse.console.declared import Backends, Configs, Limit, Models, Option, Runs, Statuses, Suites, Surface
from ..warehouse.console.numbers import counted
from ..warehouse.console.parameters import value_text
from ..warehouse.store import Store
from .question import Asker, PeopleTable, Question, Reply, Row, command_of
from .tables import newest_runs, select

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Chosen = Mapping[str, Sequence[str]]  # column → values to keep

# The columns that a table for people shows of a view that has more than a screen.
_FOR_PEOPLE = {
    "listed_runs": (
        "run", "config", "source", "suite", "date_trunc('second', began_at) AS began_at",
        "left(git_commit, 9) AS commit", "machine", "status", "cases", "failed", "samples", "steps", "files", "rejected",
    ),
    "forgotten_runs": (
        "left(run_id, 13) AS run", "config", "source", "suite", "date_trunc('second', began_at) AS began_at",
        "date_trunc('second', forgotten_at) AS forgotten_at", "reason", "CASE WHEN dropped THEN 'removed' END AS events",
        "array_to_string(files, ', ') AS files",
    ),
    "config_summaries": (
        "config", "runs", "date_trunc('second', last_at) AS last_at", "array_to_string(sources, ', ') AS sources",
        "cases", "failed", "samples", "steps", "files", "rejected",
    ),
    "case_outcomes": (
        "left(run_id, 13) AS run", "config", "suite", "name", "mode", "device", "dtype", "backend",
        "batch_size AS batch", "sequence_length AS length", "parameters", "kind", "status", "reason",
    ),
    "source_files": (
        "config", "path", "format", "bytes", "lines", "loaded", "rejected", "known",
        "date_trunc('second', loaded_at) AS loaded_at", "notes",
    ),
    "rejected_records": ("config", "path", "line", "reason", "text"),
}  # fmt: skip
# said once if equal
_SHARED = (
    "run", "machine", "source", "sources", "suite", "mode", "device", "dtype", "parameters", "format", "commit", "kind",
)  # fmt: skip
_SPARE = (
    "source", "dropped", "files", "kind", "device", "dtype", "bytes", "loaded_at", "samples", "steps", "lines", "mode", "suite",
    "commit", "sources", "known",
)  # fmt: skip
_REASONS = {"case_outcomes": "reason", "source_files": "notes", "rejected_records": "text"}


class _AllColumns:
    """All columns of a view, asked when a program wants them."""

    def __init__(self, warehouse: "Warehouse", view: str, where: Chosen, order: str, limit: int | None = None) -> None:
        self._answer = functools.cache(lambda: select(warehouse, view, where, order=order, limit=limit))

    def columns(self) -> Sequence[str]:
        return self._answer().columns

    def __iter__(self) -> Iterator[Row]:
        return self._answer().dicts()


def _list(
    warehouse: "Warehouse",
    view: str,
    where: Chosen,
    limit: int | None = None,
    *,
    order: str = "ALL",
    for_people: tuple[str, str] | None = None,
    sentences: Callable[[], Iterable[str]] = tuple,
) -> Reply[None]:
    """All columns of a view for programs; for people those that matter and hold anything.

    Args:
        warehouse: Where to look.
        view: The view.
        where: The rows.
        limit: Most rows.
        order: ORDER BY, as SQL.
        for_people: View and order of the table for people, where these are others.
        sentences: What is said below, in every format.
    """
    seen, seen_order = for_people or (view, order)

    def table() -> PeopleTable:
        answer = select(warehouse, seen, where, columns=_FOR_PEOPLE[seen], order=seen_order, limit=limit)
        columns, cells = without_empty(answer.columns, list(answer.rows))
        for place in (place for place, name in enumerate(columns) if name == "parameters"):
            cells = [[*row[:place], value_text(row[place]), *row[place + 1 :]] for row in cells]
        return PeopleTable(columns, cells, shared=_SHARED, spare=_SPARE, reason=_REASONS.get(seen))

    rows = _AllColumns(warehouse, view, where, order, limit)
    return Reply(result=None, columns=rows.columns, rows=rows, table=table, sentences=sentences, says_always=True)


def without_empty(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns that hold anything; all of them where there are no rows."""
    keep = [i for i in range(len(columns)) if not rows or any(row[i] is not None for row in rows)]
    return [columns[i] for i in keep], [[row[i] for i in keep] for row in rows]


@dataclass(frozen=True, slots=True)
class ListRuns(Question[None]):
    """List runs, newest first, with their machines; a round, what one night measured of a config, stands above its runs.

    \b
        bench list runs
        bench list runs --configs main --limit 5
        bench list runs --live
    """

    name = "runs"
    views: ClassVar = {"": "run_summaries", "--forgotten": "forgotten_runs"}

    _: KW_ONLY
    configs: Configs = ()
    limit: Limit = None
    forgotten: Annotated[bool, Option("List the runs that were forgotten, the last one first.", on=Surface.PEOPLE)] = (
        False
    )
    live: Annotated[
        bool, Option("List the runs that are being recorded now, with what they have so far.", on=Surface.COMMAND)
    ] = False

    def asked_store(self, store: Store) -> contextlib.AbstractContextManager[Store]:
        """The store to ask; with `live`, one that also has the runs being recorded into `store`."""
        from ..warehouse.journals.live import live_store

        return live_store(store) if self.live and not self.forgotten else contextlib.nullcontext(store)

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """List them."""
        from .resolve import removed_runs

        where = {"config": self.configs}
        if self.forgotten:
            order = "forgotten_runs.forgotten_at DESC, run_id"
            return _list(warehouse, "forgotten_runs", where, self.limit, order=order)
        return _list(
            warehouse, "run_summaries", where, self.limit,
            order="run_summaries.began_at DESC NULLS LAST, run_id DESC",
            for_people=("listed_runs", "round_at DESC NULLS LAST, round_id DESC, machine, run_id NULLS FIRST"),
            sentences=lambda: removed_runs(warehouse),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListConfigs(Question[None]):
    """List configs and what is known of each.

    \b
        bench list configs
    """

    name = "configs"
    views: ClassVar = {"": "config_summaries"}

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """List them."""
        return _list(warehouse, "config_summaries", {})


@dataclass(frozen=True, slots=True)
class ListCases(Question[None]):
    """List cases and how each ended.

    \b
        bench list cases --runs latest
        bench list cases --statuses OOM timeout --format csv
    """

    name = "cases"
    views: ClassVar = {"": "case_outcomes"}

    _: KW_ONLY
    runs: Runs = ()
    configs: Configs = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()
    statuses: Statuses = ()
    limit: Limit = None

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """List them."""
        where = {
            "run_id": self.runs, "config": self.configs, "suite": self.suites, "backend": self.backends,
            "name": self.models, "status": self.statuses,
        }  # fmt: skip
        order = "config, run_id, suite, name, mode, device, dtype, batch_size, sequence_length, backend, kind"
        return _list(
            warehouse, "case_outcomes", where, self.limit, order=order, sentences=lambda: _steps_apart(warehouse, where)
        )


def _steps_apart(warehouse: "Warehouse", where: Chosen) -> Iterator[str]:
    """The command that shows scheduler steps, where their tokens are the only cases of runs and end in no way to list."""
    runs = {"run_id": where["run_id"], "config": where["config"]}
    ended = "run_id IN (SELECT run_id FROM case_outcomes)"
    steps = select(warehouse, "run_summaries", runs, columns=["run_id", f"steps > 0 AND NOT {ended} AS apart"])
    found = [run for run, apart in steps.rows if apart]
    if found:
        yield (
            f"{counted(len(found), 'run')} of scheduler steps, whose cases are numbers of tokens,"
            f" {'is' if len(found) == 1 else 'are'} not listed; see them with: bench show {found[0][:13]}"
        )


@dataclass(frozen=True, slots=True)
class ListSources(Question[None]):
    """List imported files with the accounting of their lines.

    \b
        bench list sources
    """

    name = "sources"
    views: ClassVar = {"": "source_files"}

    _: KW_ONLY
    configs: Configs = ()
    limit: Limit = None

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """List them."""
        order = "config, path, source_id"
        return _list(warehouse, "source_files", {"config": self.configs}, self.limit, order=order)


@dataclass(frozen=True, slots=True)
class ListRejects(Question[None]):
    """List records that could not be read, and why.

    \b
        bench list rejects --limit 20
    """

    name = "rejects"
    views: ClassVar = {"": "rejected_records"}

    _: KW_ONLY
    configs: Configs = ()
    limit: Limit = None

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """List them."""
        order = "config, path, line"
        return _list(warehouse, "rejected_records", {"config": self.configs}, self.limit, order=order)


@dataclass(frozen=True, slots=True)
class Speedups(Question[None]):
    """Every backend against its baseline: the ratio, its 95 % interval, and what failed.

    Of each config the newest run is shown, with those that shared its plan. The geometric mean over the cases that pass
    on every backend comes last, on stderr, with what it leaves out.

    \b
        bench speedups
        bench speedups --backends inductor --format csv
    """

    name = "speedups"
    views: ClassVar = {"": "speedups"}

    _: KW_ONLY
    runs: Runs = ()
    all_runs: Annotated[bool, Option("All runs rather than the newest of each config.", "--all", on=Surface.PEOPLE)] = (
        False
    )
    configs: Configs = ()
    suites: Suites = ()
    backends: Backends = ()
    models: Models = ()

    def answer(self, warehouse: "Warehouse", asker: Asker) -> Reply[None]:
        """The rows and, unless some models are named, the geometric means.

        Raises:
            NothingToShow: No case was measured against a baseline, and people ask.
        """
        from .comparison.speedups import FOR_PEOPLE, SPEEDUP_SPARE, geomeans, no_baseline, render

        runs = self.runs if self.runs or self.all_runs else newest_runs(warehouse, "speedups")
        where = {"run_id": runs, "config": self.configs, "suite": self.suites, "backend": self.backends}
        order = "config, run_id, suite, mode, device, dtype, name, batch_size, sequence_length, backend"
        named = {**where, "name": self.models}

        def table() -> PeopleTable:
            rows = list(select(warehouse, "speedups", named, columns=FOR_PEOPLE, order=order).rows)
            if not rows:
                raise no_baseline(warehouse)
            return PeopleTable(*render(rows), spare=SPEEDUP_SPARE)

        rows = _AllColumns(warehouse, "speedups", named, order)
        means = () if self.models else geomeans(warehouse, where)
        return Reply(result=None, columns=rows.columns, rows=rows, table=table, sentences=lambda: means)


runs, configs, cases = command_of(ListRuns), command_of(ListConfigs), command_of(ListCases)
sources, rejects, speedups = command_of(ListSources), command_of(ListRejects), command_of(Speedups)
