"""Events for tests, with defaults that name only what matters, and a warehouse to ask."""

import functools
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import duckdb
import pyarrow as pa
from bench import sql
from bench.measure.models.command import command as models
from bench.measure.recorded_options import axes_of
from bench.warehouse import events
from bench.warehouse.database import Warehouse
from bench.warehouse.events import Event
from bench.warehouse.recorder import case_ids
from bench.warehouse.schema import arrow_schema
from bench.warehouse.snapshot import empty
from bench.warehouse.store import Store
from bench.warehouse.views import TOUCH, insertion, is_small

NUMBERS = {  # what a macro is given by the names of its arguments
    "last": "20", "floor": "0.03", "fdr": "0.05", "across": "false", "min_speedup": "0.95", "max_compile_seconds": "120",
    "min_compression": "0.9", "configs": "NULL", "margin": "1", "max_schedule_ms": "300", "max_model_run_ms": "200",
}  # fmt: skip

FEW_ROWS = 2_000
# Statements that leave the warehouse as it was to another connection.
_QUESTION = re.compile(r"\s*(?:FROM|SELECT|WITH|CREATE (?:OR REPLACE )?TEMP|PRAGMA (?:en|dis)able_optimizer)\b")


@functools.cache
def derived_below(name: str) -> frozenset[str]:
    """The derived tables that a view, a macro or a table reads, itself among them if it is one."""
    table_or_view = sql.tables().get(name) or sql.view(name)
    below = (derived_below(each) for each in table_or_view.reads & _names())
    return frozenset({name} & sql.tables().keys()).union(*below)


def derived_in(query: str) -> frozenset[str]:
    """The derived tables that a query reads, and those that these are computed from."""
    words = set(re.findall(r"\w+", query)) & _names()
    return frozenset[str]().union(*map(derived_below, words))


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(sql.tables() | sql.views())


class Tables:
    """A database of its own: events are inserted into it, and the derived tables that a question reads are computed.

    Statements that compute are planned once, which takes four fifths of their time; so a database serves many tests.
    """

    spare: ClassVar[list["Tables"]] = []  # of builders that nobody holds any more
    lent: ClassVar[set["Tables"]] = set()  # else a cycle that holds one would take its folder away before it is spare

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, "warehouse.duckdb")
        file.write_bytes(empty())
        self._deriving = duckdb.connect(str(file), config={"threads": 1})  # more would wait for each other: a few rows
        self._deriving.execute("PRAGMA disable_checkpoint_on_shutdown")  # half of a close: nobody opens it again
        self._deriving.execute("PRAGMA disable_optimizer")
        self._deriving.execute(TOUCH, [[]])
        self._planned: set[str] = set()
        self._inserting = self._deriving.cursor()  # whose temporary views let no plan of the other become void
        self._added: dict[type[Event], list[Event]] = {}
        self._inserted: set[str] = set()
        self._derived: frozenset[str] = frozenset()
        self.rows = 0

    @classmethod
    def taken(cls) -> "Tables":
        """Take an empty one: a spare one in a fifth of the time of a new one."""
        tables = cls.spare.pop() if cls.spare else cls()
        tables._empty()
        cls.lent.add(tables)
        return tables

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection to ask."""
        return self._deriving.cursor()

    def add(self, event: Event) -> None:
        """Take an event, which is inserted before the next question."""
        self._added.setdefault(type(event), []).append(event)

    def derive(self, query: str) -> bool:
        """Insert what was added, and compute what a query reads; True if something was done."""
        needed = self._derived | derived_in(query)
        missing = needed if self._added else needed - self._derived
        if not (self._added or (self._inserted and missing)):
            return False
        is_new = bool(self._added)
        if is_new:
            self._insert()
        self._deriving.begin()  # as a load does: the disk is waited for once
        if is_new:
            self._deriving.execute("DELETE FROM _touched")
            self._deriving.execute("INSERT INTO _touched SELECT run_id, min(config) FROM runs GROUP BY run_id")
        for name in filter(missing.__contains__, sql.in_order()):
            if name not in self._planned:
                self._deriving.execute(f"PREPARE compute_{name} AS {insertion(sql.tables()[name])}")
                self._planned.add(name)
            self._deriving.execute(f"EXECUTE compute_{name}")
        self._deriving.commit()
        self._derived = needed
        return True

    def _insert(self) -> None:
        self._inserting.begin()
        for name in self._derived:
            self._inserting.execute(f"DELETE FROM {name}")
        for kind, rows in self._added.items():
            names = [field.name for field in kind.fields()]
            values = {name: [getattr(row, name) for row in rows] for name in names}
            self._inserting.register("added", pa.table(values, schema=arrow_schema(kind)))
            self._inserting.execute(f"INSERT INTO {kind.TABLE} BY NAME SELECT * FROM added")
            self._inserting.unregister("added")
            self._inserted.add(kind.TABLE)
            self.rows += len(rows)
        self._inserting.commit()
        self._added.clear()

    def _empty(self) -> None:
        self._deriving.begin()
        for table in self._inserted | self._derived:
            self._deriving.execute(f"DELETE FROM {table}")
        self._deriving.commit()
        self._added.clear()
        self._inserted.clear()
        self._derived = frozenset()


class _Asked:
    """Passes all on to a connection; before a query, what this needs is computed."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._connection = tables.cursor()
        self._only_asked = True  # nothing else was done, as far as is known here

    def __getattr__(self, name: str) -> Any:
        if name == "cursor":  # whose queries are not known here
            self.tables.derive(" ".join(sql.tables()))
        self._only_asked &= name in ("description", "register", "unregister")  # whose views are this connection's own
        return getattr(self._connection, name)

    def execute(self, query: str | duckdb.Statement, *parameters: Any) -> duckdb.DuckDBPyConnection:
        self._ready(query if isinstance(query, str) else query.query)
        return self._connection.execute(query, *parameters)

    def sql(self, query: str, **options: Any) -> duckdb.DuckDBPyRelation:
        self._ready(query)
        return self._connection.sql(query, **options)

    def _ready(self, query: str) -> None:
        """Compute what a query needs, and let it run as bench's own do: as it stands, if the warehouse is small."""
        self._only_asked &= bool(_QUESTION.match(query))
        if self.tables.derive(query) and not Builder.optimizes:
            small = is_small(self._connection)
            self._connection.execute(f"PRAGMA {'disable' if small else 'enable'}_optimizer")

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        """Leave the database to another test.

        Not where the test did more than add and ask, or all so far added so many rows, which leave a trace where they were,
        that a new one is better.
        """
        self._connection.close()
        Tables.lent.discard(self.tables)
        if self._only_asked and self.tables.rows <= FEW_ROWS:
            Tables.spare.append(self.tables)


class Builder(Warehouse):
    """A warehouse of the test's own: add events, then ask.

    A question that follows events has them all inserted at once. Of the derived tables those are computed that it reads.
    """

    optimizes = False  # queries, which questions to so small a warehouse do not

    def __init__(self) -> None:
        self._asked = _Asked(Tables.taken())
        super().__init__(Store(Path("the store")), cast(Any, self._asked))
        self.connection = cast(Any, self._asked)

    def add(self, *added: Event) -> "Builder":
        """Take events; returns itself."""
        for event in added:
            self._asked.tables.add(event)
        return self


def call(view: sql.View, base: str, candidate: str, **others: str) -> str:
    """What stands behind FROM: a macro with runs of two sides, or of the candidate alone; SQL of lists of run ids.

    Args:
        others: SQL of arguments that have a default, by name; the view takes those it has.

    Raises:
        KeyError: A view has an argument of a new name: it belongs into this function.
    """
    if view.arguments is None:
        return view.name
    sides = {"base": base, "candidate": candidate, "judged": candidate, "runs": candidate}
    first = {"judged_run": f"{candidate}[1]", "own_run": f"{candidate}[1]"}
    needed = [(NUMBERS | sides | first)[argument.name] for argument in view.arguments if argument.default is None]
    chosen = [f"{argument.name} := {others[argument.name]}" for argument in view.arguments if argument.name in others]
    return f"{view.name}({', '.join(needed + chosen)})"


def stored(query: str, store: Store | Path | None = None, parameters: object = ()) -> list[tuple[Any, ...]]:
    """All rows of a query over what a store holds: a store, a folder, or the one of $BENCH_STORE."""
    with Warehouse.open(store if isinstance(store, Store) else Store.find(store)) as warehouse:
        return warehouse.rows(query, parameters)


def run(run_id: str = "run", config: str | None = None, source: str = "api", **fields: Any) -> events.RunRecord:
    """A run; its config is its id unless given."""
    return events.RunRecord(run_id=run_id, config=config or run_id, source=source, **fields)


def options(command: str, *rows: tuple[str, ...]) -> events.Json:
    """Options of a run: the words of its command, then role, name ("" of an argument) and values of each."""
    each = [("command", "", *command.split()), *rows]
    axes = axes_of(models) if command == "measure models" else []
    return events.as_json(
        [*({"role": role, "option": name or None, "arguments": texts} for role, name, *texts in each), *axes]
    )


def case(name: str = "model", run: str = "run", **axes: Any) -> events.CaseRecord:
    """A case with the ids that its axes give it. `parameters` is a dict; `line` and `source_id` pass through."""
    passed = {key: axes.pop(key) for key in ("recorded_at", "source_id", "line") if key in axes}
    case_id, work_hash = case_ids(name=name, **axes)
    if axes.get("parameters") is not None:
        axes["parameters"] = events.Json(json.dumps(axes["parameters"]))
    return events.CaseRecord(run_id=run, case_id=case_id, work_hash=work_hash, name=name, **axes, **passed)


def outcome(of: events.CaseRecord, status: str = "ok", **fields: Any) -> events.Outcome:
    """How a case ended."""
    return events.Outcome(run_id=of.run_id, case_id=of.case_id, status=status, **fields)


def timing(of: events.CaseRecord, duration_ns: int, **fields: Any) -> events.Timing:
    """One timed sample of a case: steady latency of one loop unless said otherwise."""
    return events.Timing(run_id=of.run_id, case_id=of.case_id, duration_ns=duration_ns, **fields)


def memory(of: events.CaseRecord, size_bytes: int, source: str = "rss", **fields: Any) -> events.MemorySample:
    """One peak of memory of a case."""
    return events.MemorySample(run_id=of.run_id, case_id=of.case_id, source=source, size_bytes=size_bytes, **fields)


def metric(of: events.CaseRecord, name: str, value: float | None, **fields: Any) -> events.Metric:
    """One scalar of a case."""
    return events.Metric(run_id=of.run_id, case_id=of.case_id, metric=name, value=value, **fields)


def source(name: str = "steps_0.jsonl", lines: int = 1, run: str = "run", **fields: Any) -> events.Source:
    """An imported file of so many lines, all loaded unless said otherwise; its id is its name."""
    defaults: dict[str, Any] = {
        "source_id": name, "config": run, "path": f"profiles/{name}", "format": "scheduler", "end_byte": lines * 100,
        "sha256": name, "head_sha256": name, "loaded": lines - fields.get("rejected", 0),
    }  # fmt: skip
    return events.Source(run_id=run, name=name, lines=lines, **{**defaults, **fields})


def chunk(
    line: int | None = None, chunk_sizes: list[int] | None = None, run: str = "run", **fields: Any
) -> events.ScheduleChunk:
    """One scheduler step: one token in one chunk unless given; `source_id` is the name of its file."""
    batch_id = None if line is None else line - 1
    defaults: dict[str, Any] = {"schedule_ms": 0.1, "model_run_ms": 10.0, "batch_id": batch_id}
    sizes = [1] if chunk_sizes is None else chunk_sizes
    return events.ScheduleChunk(run_id=run, line=line, chunk_sizes=sizes, **{**defaults, **fields})


def steps(run: str, sizes: Iterable[float], times_ms: Iterable[float]) -> Iterator[events.ScheduleChunk]:
    """Scheduler steps of one chunk each, from the first line on."""
    for line, (size, ms) in enumerate(zip(sizes, times_ms, strict=True), 1):
        yield chunk(line, [int(size)], run, model_run_ms=float(ms))
