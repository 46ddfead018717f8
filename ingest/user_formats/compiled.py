# pyright: reportAttributeAccessIssue=false
# pyarrow.compute makes its functions when it is imported
"""Tables read by a mapping in the engine: a block of rows at a time becomes events by SQL, and odd rows by the exact reader.

Both give the same events: a row that SQL cannot read with certainty (`row_sql.py`) is odd. The samples of both are numbered
together, and a case is announced by whichever row comes first.

This file is long because a block goes through all of its steps here, in one order.
"""

import bisect
import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...warehouse.events import CaseRecord, Event, Instant, Metric, Outcome, Timing, as_json
from ...warehouse.schema import literal
from ...warehouse.secrets import hints_of_secrets, masked
from ..format import MAX_TEXT
from ..readers.bulk import LONGEST_NAME, LONGEST_NS, ROUNDING
from ..readers.document import BadRecord
from ..readers.records import Record
from ..readers.results import Chosen, case_of
from ..readers.text_rows import RowBlock, with_last
from ..readers.units import SPREADS, unit_of
from .mapping import METRICS, OF_RUN, OF_VALUE, SUFFIXES, Value, measured_value
from .row_runs import PAUSE_S, RowGroup, spans_to_starts
from .row_sql import (
    ABSENT,
    APART,
    CONTEXT_AXES,
    COUNTS,
    NO_TEXT,
    TextColumns,
    alternatives,
    both,
    case_key,
    case_names,
    cases,
    fields_json,
    moment,
    not_whole,
    row_json,
    run_facts,
    value_steps,
    whole,
)
from .sample_numbers import PLACE, SampleNumbers, in_order

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa

    from .mapped import RowReader

TOKEN_BITS = 32  # of the number of a sample within its cell of an odd row; above them stands which cell that is
TAKEN = ("line", "ord", *PLACE, "n")  # what is said of the samples of a cell of an odd row
MOST_NAMES = 400  # columns of JSON lines; with more, rows are read one by one
CONTROL = r"[\x00-\x1f]"
TRAILING_COMMA = r",\s*[\]}]"


EMPTY = """
    SELECT 0::BIGINT AS i, 0::BIGINT AS line, 0 AS ord, '' AS run_id, false AS is_known, 0::BIGINT AS case_no, '' AS case_id,
        0::BIGINT AS moment, '' AS number, 0::DOUBLE AS x, 0::DOUBLE AS value, '' AS original, '' AS unit, false AS is_converted,
        '' AS better, '' AS metric, '' AS statistic, '' AS phase, false AS is_total, 1 AS loops, false AS odd
    WHERE false
"""  # the numbers of a mapping that names none


def pointer(path: Iterable[str]) -> str:
    """A JSON pointer."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in path)


class CompiledMapping:
    """A mapping at work on the blocks of one table."""

    def __init__(self, reader: "RowReader", blocks: Callable[[], Iterator[RowBlock]], objects: Iterable[str]) -> None:
        """Read `blocks`, whose nested objects have these paths, with the exact reader for odd rows."""
        self._reader, self._results, self._mapping = reader, reader.results, reader.mapping
        self._blocks, self._objects = blocks, set(objects)
        self._groups: dict[str, RowGroup] = {}
        self._chosen: dict[str, Chosen] = {}
        self._values = [(value, True) for value in self._mapping.values]
        self._values += [(measured_value(column), False) for column in reader.no_axes.measured]
        self._is_last = False  # block
        self._has_odd = False
        self._plain_runs: tuple[list[int], list[Chosen]] | None = None  # of the block: lines and runs of its plain rows
        self._last_odd: tuple[int, Chosen | None] = (0, None)  # line and run of the odd row read last

    def read(self, *, by_time: bool) -> None:
        """Add all rows. With `by_time` rows more than PAUSE_S apart belong to different runs."""
        with contextlib.closing(self._results.part.cursor()) as connection:
            self._connection = connection
            self._numbers_so_far = SampleNumbers(connection)
            self._execute("CREATE TEMP TABLE announced (run_id VARCHAR, case_id VARCHAR)")
            self._execute("CREATE TEMP TABLE passed (run_id VARCHAR, case_id VARCHAR)")
            if by_time:
                self._reader.runs.starts = self._find_starts()
            self._parts_runs = self._mapping.parts_runs or len(self._reader.runs.starts) > 1
            if self._parts_runs:
                self._find_groups()
            elif (began := self._first_moment()) is not None:
                self._results.run(started_at=began)
            for rows, is_last in with_last(self._blocks()):
                self._is_last = is_last
                self._load(rows)

    # The runs of rows

    def _find_starts(self) -> list[Instant]:
        """The times at which the runs began that pauses part."""
        spans: dict[int, tuple[Instant, Instant]] = {}
        for rows in self._blocks():
            columns = self._open(rows)
            self._moments(columns)
            found = self._execute(
                f"SELECT moment // {PAUSE_S * 1_000_000}, min(moment), max(moment) FROM moments "
                "WHERE NOT odd AND moment IS NOT NULL GROUP BY 1"
            ).fetchall()
            for record in self._odd_records(rows, "SELECT i FROM moments WHERE odd"):
                with contextlib.suppress(BadRecord):
                    if (when := self._reader.runs.moment(record)) is not None:
                        found.append((when // (PAUSE_S * 1_000_000), when, when))
            for span, first, last in found:
                before = spans.get(span, (first, last))
                spans[span] = Instant(min(first, before[0])), Instant(max(last, before[1]))
        return spans_to_starts(spans)

    def _first_moment(self) -> Instant | None:
        """The time of the first row that says when it was measured."""
        if "time" not in self._mapping.fields:
            return None
        for rows in self._blocks():
            columns = self._open(rows)
            self._moments(columns)
            found = self._execute(
                "SELECT line, moment FROM moments WHERE NOT odd AND moment IS NOT NULL ORDER BY line LIMIT 1"
            ).fetchall()
            for record in self._odd_records(rows, "SELECT i FROM moments WHERE odd"):
                with contextlib.suppress(BadRecord):
                    if (when := self._reader.runs.moment(record)) is not None:
                        found.append((record.line, when))
                        break
            if found:
                return Instant(min(found)[1])
        return None

    def _moments(self, columns: TextColumns) -> None:
        """The time of each row, and what the row says of its run."""
        when, odd = moment(columns, self._mapping)
        self._table(
            "moments",
            f"""
            SELECT i, line, {when} AS moment, is_odd OR {both([odd], "OR")} AS odd, {run_facts(columns, self._mapping)}
            FROM cells ORDER BY i
        """,
        )
        starts = ", ".join(map(str, self._reader.runs.starts))
        source, start = "moments", "NULL"
        if starts:
            self._table("starts", f"SELECT unnest([{starts}]::BIGINT[]) AS start")
            source, start = "moments ASOF LEFT JOIN starts ON moments.moment >= starts.start", "start"
        parts = [*(f"run_{name}" for name in OF_RUN), f"({start})::VARCHAR"]
        key = f"concat_ws({APART}, {', '.join(f'coalesce({part}, {ABSENT})' for part in parts)})"
        self._table("moments", f"SELECT i, line, moment, odd, {key} AS run_key FROM {source}")

    def _find_groups(self) -> None:
        """The runs, in the order of their first rows, each identified by its rows; all of them are announced."""
        reader = self._reader
        for rows in self._blocks():
            columns = self._open(rows)
            self._moments(columns)
            text, odd = row_json(columns)
            nested = "true" if self._objects else "false"
            self._execute(
                f"CREATE OR REPLACE TEMP TABLE texts AS SELECT m.i, m.line, m.moment, m.run_key, "
                f"m.odd OR {nested} OR coalesce({odd}, false) AS odd, {text} AS text FROM moments m JOIN cells USING (i)"
            )
            found: list[tuple[int, int, str, int | None, str]] = []  # line, order, key, moment, text
            for order, record in enumerate(self._odd_records(rows, "SELECT i FROM texts WHERE odd")):
                with contextlib.suppress(BadRecord):
                    found.append(
                        (record.line, order, self._key_of(record), reader.runs.moment(record), as_json(record.cells))
                    )
            query = "SELECT line, 0, run_key, moment, text FROM texts WHERE NOT odd ORDER BY line"
            for _, _, key, when, said in _merged(self._execute(query).fetchall(), found):
                group = self._groups.get(key)
                if group is None:
                    group = self._groups[key] = RowGroup.empty(self._facts_of(key))
                group.digest.update(said.encode() + b"\n")
                if when is not None and (group.began is None or when < group.began):
                    group.began = Instant(when)
        self._chosen = {key: group.choose(self._results) for key, group in self._groups.items()}
        if self._chosen:  # what comes before any row of a run belongs to the first one
            self._last_odd = 0, next(iter(self._chosen.values()))

    def _facts_of(self, key: str) -> dict[str, str]:
        *facts, _ = key.split(chr(31))
        return {name: text for name, text in zip(OF_RUN, facts, strict=True) if text != chr(30)}

    def _key_of(self, record: Record) -> str:
        """The same key of a row that the exact reader reads.

        Raises:
            BadRecord: It cannot be read.
        """
        facts = json.loads(self._reader.runs.of(record))
        return chr(31).join(facts.get(name, chr(30)) for name in (*OF_RUN, "time"))

    # A block

    def _execute(self, query: str, parameters: Any = None) -> "duckdb.DuckDBPyConnection":
        return self._connection.execute(query, parameters)

    def _open(self, rows: RowBlock) -> TextColumns:
        """Make a block the table `cells`: the number `i` of each row within it, its line, whether it is odd, and its columns."""
        import pyarrow as pa

        table = rows.table.append_column("i", pa.array(range(rows.table.num_rows), pa.int64()))
        self._connection.register("block", table)
        if rows.names is not None:
            self._view("cells", "SELECT *, false AS is_odd FROM block")
            return TextColumns(rows.names, is_json=False)
        names, is_odd = self._names_of_json()
        paths = ", ".join(literal(pointer(name.split(".") if name in self._dotted else [name])) for name in names)
        texts = ", ".join(f"CAST(found[{index + 1}] AS VARCHAR) AS r{index}" for index in range(len(names)))
        parts, odd = [], [f"CASE WHEN is_valid THEN {is_odd} ELSE true END"]
        for index, name in enumerate(names):
            is_object = name in self._objects
            kinds = "'['" if is_object else "'{', '['"
            odd.append(f"r{index}[1] IN ({kinds})" + (f" OR r{index} = '{{}}'" if is_object else ""))
            if name in self._dotted:
                odd.append(f"r{index} = 'null'")
            if is_object and name in self._reader.used:
                odd.append(f"r{index}[1] = '{{'")
            unquoted = f"CASE WHEN contains(r{index}, '\\') THEN r{index}::JSON ->> '$' ELSE r{index}[2:-2] END"
            parts.append(
                f"CASE WHEN r{index}[1] = '\"' THEN {unquoted} WHEN r{index} = 'null' OR r{index}[1] = '{{' THEN NULL "
                f"ELSE r{index} END AS c{index}, r{index}[1] <> '\"' AS n{index}"
            )
        if not names:
            self._execute("CREATE OR REPLACE TEMP TABLE cells AS SELECT i, line, true AS is_odd FROM block")
            return TextColumns([], is_json=True)
        controls = both([f"regexp_matches(c{index}, '{CONTROL}')" for index in range(len(names))], "OR")
        self._execute(f"""
            CREATE OR REPLACE TEMP TABLE cells AS
            WITH judged AS (
                SELECT i, line, text, json_valid(text) AND NOT regexp_matches(text, '{TRAILING_COMMA}') AS is_valid FROM block
            ),
            parsed AS (SELECT *, CASE WHEN is_valid THEN json_extract(text, [{paths}]) END AS found FROM judged),
            texts AS (SELECT * EXCLUDE (found), {texts} FROM parsed),
            unquoted AS (SELECT i, line, {both(odd, "OR")} AS odd, contains(text, '\\') AS escapes, {", ".join(parts)} FROM texts)
            SELECT * EXCLUDE (odd, escapes), odd OR CASE WHEN escapes THEN {controls} ELSE false END AS is_odd FROM unquoted
        """)
        return TextColumns(names, is_json=True)

    def _names_of_json(self) -> tuple[list[str], str]:
        """The columns of a block of JSON lines, and the condition of lines whose keys repeat, or are not among them."""
        shapes = "SELECT json_keys(text{at}) AS keys, min(i) FROM block WHERE json_valid(text) GROUP BY 1 ORDER BY 2"
        names: dict[str, None] = {}
        self._dotted: set[str] = set()
        odd: list[str] = ["ltrim(text)[1] <> '{'"]
        for prefix in ("", *sorted(self._objects)):
            at = f", {literal(pointer(prefix.split('.')))}" if prefix else ""
            repeated = []
            for keys, _ in self._execute(shapes.format(at=at)).fetchall():
                if keys is None:
                    continue
                if len(set(keys)) < len(keys) or any("." in key for key in keys if prefix or key in self._objects):
                    repeated.append(keys)
                    continue
                found = [f"{prefix}.{key}" if prefix else key for key in keys]
                self._dotted.update(found if prefix else ())
                names |= dict.fromkeys(found)
            if repeated:
                lists = ", ".join(f"[{', '.join(map(literal, keys))}]" for keys in repeated)
                odd.append(f"json_keys(text{at}) IN ({lists})")
        if len(names) > MOST_NAMES or not names or any("\0" in name for name in names):
            return [], "true"
        return list(names), both(odd, "OR")

    def _odd_records(self, rows: RowBlock, query: str) -> list[Record]:
        """The rows that the exact reader reads, in order: those that are in no column, and those of a query."""
        found = [record for (i,) in self._execute(f"{query} ORDER BY 1").fetchall() for record in rows.records(i)]
        return sorted([*rows.odd, *found], key=lambda record: record.line)

    def _load(self, rows: RowBlock) -> None:
        """Add the events of a block."""
        columns = self._open(rows)
        spare = self._spare(columns)
        parameters = [*(() if self._mapping.rest == "out" else spare), *self._mapping.parameters]
        self._make_cases(columns, parameters)
        self._make_rows(columns, parameters)
        odd = self._odd_records(rows, "SELECT i FROM odd")
        self._account(columns, spare)
        collected = self._read_odd(odd)
        self._announce(collected)
        self._count_without_rows(collected)
        self._add_events(collected)
        self._connection.unregister("block")

    def _spare(self, columns: TextColumns) -> list[str]:
        """The columns that the mapping does not name."""
        used = self._reader.used
        return [
            name
            for name in columns.names
            if name and not any(prefix in used for prefix in _prefixes(name, dotted=columns.is_json and name in self._dotted))
        ]  # fmt: skip

    def _make_cases(self, columns: TextColumns, parameters: list[str]) -> None:
        """The cases of the block by their keys, with their hashes."""
        import pyarrow as pa

        hints = hints_of_secrets()
        self._execute(f"CREATE OR REPLACE TEMP TABLE cases AS {cases(self._mapping, columns, parameters, hints)}")
        others = self._execute(
            "SELECT key, work || ', ' || backend_json || ']' FROM cases WHERE NOT is_plain AND NOT odd"
        ).fetchall()
        if not others:
            return
        found = []
        for key, said in others:
            suite, name, mode, device, dtype, batch_size, sequence_length, axes, backend = json.loads(
                said, strict=False
            )
            case_id, work_hash, name, axes = case_of(
                name, axes or {}, suite=suite, mode=mode, device=device, dtype=dtype, backend=backend, batch_size=batch_size,
                sequence_length=sequence_length,
            )  # fmt: skip
            found.append((key, case_id, work_hash, name, as_json(axes) if axes else None))
        names = ("key", "case_id", "work_hash", "name", "parameters")
        self._connection.register(
            "hashed",
            pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, zip(*found, strict=True), strict=True)}),
        )
        self._execute("CREATE OR REPLACE TEMP TABLE cases AS SELECT c.* REPLACE ("
                      + ", ".join(f"CASE WHEN h.key IS NULL THEN c.{name} ELSE h.{name} END AS {name}" for name in names[1:])
                      + ") FROM cases c LEFT JOIN hashed h USING (key)")  # fmt: skip
        self._connection.unregister("hashed")

    def _make_rows(self, columns: TextColumns, parameters: list[str]) -> None:
        """The table `rows`: what each row says, its case and run; `measured`, the numbers; and `odd`, the rows left to others."""
        steps = [value_steps(columns, index, value, asked=asked) for index, (value, asked) in enumerate(self._values)]
        fields, fields_odd = fields_json(columns, self._reader.no_axes.labels)
        when, bad_when = moment(columns, self._mapping)
        of_row = {
            "key": case_key(columns, case_names(self._mapping, parameters)), "fields": fields, "moment": when,
            **{name: columns.text(self._mapping.fields.get(name)) for name in ("status", "reason")},
        }  # fmt: skip
        self._view(
            "said",
            f"""
            WITH numbers AS (SELECT {", ".join(["*", *(step.number for step in steps)])} FROM cells),
            units AS (SELECT {", ".join(["*", *(step.own_unit for step in steps)])} FROM numbers)
            SELECT i, line, {", ".join(f"{text} AS {name}" for name, text in of_row.items())},
                {"".join(f"{part}, " for step in steps for part in step.found)}
                is_odd OR {both([fields_odd, bad_when, *(step.odd for step in steps)], "OR")} AS odd
            FROM units
        """,
        )
        status, statuses = self._translated("status", lambda text: self._reader.status_of(text) or text)
        reason, reasons = self._translated("reason", masked)
        hints = hints_of_secrets()
        odd = ["s.odd", "c.odd", "c.key IS NULL", f"length(s.fields) > {MAX_TEXT}", f"length(s.reason) > {MAX_TEXT}"]
        odd += [f"regexp_matches(lower(s.fields), {literal(alternatives(hints))})"] * bool(
            hints and self._reader.no_axes.labels
        )
        run, runs = "", ""
        of_all = f", {literal(self._results.part.run_id)} AS run_id, false AS is_known, false AS has_bad_moment"
        if self._parts_runs:
            self._moments(columns)
            known = ", ".join(literal(run_id) for run_id, is_known in self._chosen.values() if is_known) or "NULL"
            self._register(
                "runs_of_rows", {"run_key": list(self._chosen), "run_id": [run for run, _ in self._chosen.values()]}
            )
            of_all, run = "", f", r.run_id, coalesce(r.run_id IN ({known}), false) AS is_known, m.odd AS has_bad_moment"
            runs = "JOIN moments m USING (i) LEFT JOIN runs_of_rows r ON r.run_key = m.run_key"
            odd += ["m.odd", "r.run_id IS NULL"]
        self._table(
            "own_rows",
            f"""
            SELECT s.* EXCLUDE (key) REPLACE ({both(odd, "OR")} AS odd, {status} AS status, {reason} AS reason),
                s.status AS said_status, c.rowid AS case_no, c.case_id{run}
            FROM said s LEFT JOIN cases c ON c.key = s.key {statuses} {reasons} {runs}
        """,
        )
        self._view("rows", f"SELECT *{of_all} FROM own_rows")  # what is the same in all rows is not kept for each
        numbers = [self._numbers(index, value) for index, (value, _) in enumerate(self._values)]
        self._view("measured", " UNION ALL ".join(numbers) or EMPTY)
        self._table("odd", "SELECT i FROM rows WHERE odd UNION SELECT i FROM measured WHERE odd")
        ((self._has_odd,),) = self._execute("SELECT count(*) > 0 FROM odd").fetchall()

    @property
    def _plain(self) -> str:
        """The condition of a row that is neither odd nor of a run that is in the store already."""
        parts = ["i NOT IN (FROM odd)"] * self._has_odd + ["NOT is_known"] * self._parts_runs
        return " AND ".join(parts) or "true"

    def _table(self, name: str, query: str) -> None:
        self._execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def _view(self, name: str, query: str) -> None:
        self._execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def _translated(self, column: str, translate: Callable[[str], str]) -> tuple[str, str]:
        """The expression of a column's texts in other words, and the join that it needs."""
        texts = self._execute(f"SELECT DISTINCT {column} FROM said WHERE {column} IS NOT NULL").fetchall()
        other = {text: meaning for (text,) in texts if (meaning := translate(text)) != text}
        if not other:
            return f"s.{column}", ""
        self._register(f"{column}_texts", {"said": list(other), "meaning": list(other.values())})
        return (
            f"coalesce({column}_texts.meaning, s.{column})",
            f"LEFT JOIN {column}_texts ON {column}_texts.said = s.{column}",
        )

    def _register(self, name: str, columns: dict[str, list[Any]]) -> None:
        """Make a table of texts."""
        import pyarrow as pa

        table = pa.table({key: pa.array(values, pa.string()) for key, values in columns.items()})
        self._connection.register(f"{name}_arrow", table)
        self._table(name, f"FROM {name}_arrow")
        self._connection.unregister(f"{name}_arrow")

    def _units(self, index: int, value: Value) -> tuple[dict[str, str], str]:
        """Expressions of what the unit of a value means, its own behind the number or that of the mapping; and their join."""
        said = f"unit{index}" if "unit" in value.about else NO_TEXT
        found = self._execute(f"SELECT DISTINCT {said}, own{index} FROM rows WHERE x{index} IS NOT NULL").fetchall()
        rows = []
        for unit, own in found or [(None, None)]:
            name, original = unit_of(own).name, unit if own is None else own
            is_bad = own is not None and (name not in SUFFIXES or unit_of(unit or own).name != name)
            kind = unit_of(original)
            rows.append((unit, own, {
                "is_bad": "true" if is_bad else "false", "original": original and original[:LONGEST_NAME], "name": kind.name,
                "factor": repr(kind.factor), "better": kind.better,
                "metric": value.metric or METRICS.get(kind.name or "", value.default_metric),
                "is_converted": "true" if kind.factor != 1 or kind.name != original else "false",
            }))  # fmt: skip
        types = {"is_bad": "BOOLEAN", "is_converted": "BOOLEAN", "factor": "DOUBLE"}
        names = ("is_bad", "original", "name", "factor", "better", "metric", "is_converted")
        if len(rows) == 1:
            texts = {name: "NULL" if rows[0][2][name] is None else literal(str(rows[0][2][name])) for name in names}
            return {name: f"CAST({text} AS {types.get(name, 'VARCHAR')})" for name, text in texts.items()}, ""
        table = f"units{index}"
        self._register(table, {"unit": [row[0] for row in rows], "own": [row[1] for row in rows],
                               **{name: [row[2][name] for row in rows] for name in names}})  # fmt: skip
        pairs = (("unit", f"j.unit{index}" if "unit" in value.about else NO_TEXT), ("own", f"j.own{index}"))
        same = " AND ".join(f"u{index}.{name} IS NOT DISTINCT FROM {text}" for name, text in pairs)
        join = f"JOIN {table} u{index} ON {same}"
        return {name: f"CAST(u{index}.{name} AS {types.get(name, 'VARCHAR')})" for name in names}, join

    def _numbers(self, index: int, value: Value) -> str:
        """The query of the numbers of one value."""
        unit, join = self._units(index, value)
        about = {name: f"j.{name}{index}" if name in value.about else NO_TEXT for name in OF_VALUE}
        spreads = ", ".join(map(literal, sorted(SPREADS)))
        better = f"CASE WHEN {about['statistic']} IN ({spreads}) THEN NULL ELSE {unit['better']} END"
        total = f"{about['statistic']} IS NOT NULL" + (
            f" OR {about['phase']} IS NULL" if "phase" in value.about else ""
        )
        number = f"j.x{index} * {unit['factor']}"
        odd = [unit["is_bad"], f"NOT isfinite({number})", f"{unit['name']} = 'ns' AND j.x{index} < 0 AND NOT ({total})"]
        loops = "1"
        if "better" in value.about:
            better = about["better"]
            odd.append(f"{better} NOT IN ('lower', 'higher')")
        if "loops" in value.about:
            loops = f"coalesce(nullif({whole(about['loops'])}, 0), 1)"
            odd.append(not_whole(about["loops"]))
        zero = (
            f" AND NOT (j.x{index} = 0 AND coalesce(j.status <> 'ok', false))"
            if "status" in self._mapping.fields
            else ""
        )
        return f"""
            SELECT j.i, j.line, {index} AS ord, j.run_id, j.is_known, j.case_no, j.case_id, j.moment, j.t{index} AS number,
                j.x{index} AS x, {number} AS value, {unit["original"]} AS original, {unit["name"]} AS unit,
                {unit["is_converted"]} AS is_converted, {better} AS better,
                coalesce({about["metric"]}, {unit["metric"]}) AS metric,
                {about["statistic"]} AS statistic, {about["phase"]} AS phase, coalesce({total}, false) AS is_total,
                {loops} AS loops, {both(odd, "OR")} AS odd
            FROM rows j {join} WHERE NOT j.odd AND j.x{index} IS NOT NULL{zero}
        """

    def _account(self, columns: TextColumns, spare: list[str]) -> None:
        """Count the rows that are not odd, and remember what the notes say of them."""
        not_odd = "i NOT IN (FROM odd)" if self._has_odd else "true"
        counted = self._execute(f"SELECT run_id, is_known, count(*) FROM rows WHERE {not_odd} GROUP BY ALL").fetchall()
        for run_id, is_known, count in counted:
            self._results.count(count, run_id=run_id, is_known=is_known)
        reader = self._reader
        statuses = f"SELECT said_status, min(line) FROM rows WHERE said_status IS NOT NULL AND {self._plain} GROUP BY 1"
        for status, line in self._execute(statuses).fetchall():
            reader.has_status = True
            if reader.status_of(status) is None:
                reader.odd.note(status[:60], (line, 0))
        if spare:
            firsts = ", ".join(f"min(line) FILTER ({columns.cell(name)} IS NOT NULL)" for name in spare)
            plain = "true" if self._plain == "true" else f"i IN (SELECT i FROM rows WHERE {self._plain})"
            found = self._execute(f"SELECT {firsts} FROM cells WHERE {plain}").fetchall()
            for place, (name, line) in enumerate(zip(spare, found[0], strict=True)):
                if line is not None:
                    reader.others.note(name, (line, place if reader.is_ordered else 0))

    def _read_odd(self, odd: list[Record]) -> "OddEvents":
        """Rows of the exact reader for odd rows."""
        collected = OddEvents(self._reader)
        with self._results.collecting(collected), collected.counting():
            for record in odd:
                if self._parts_runs:
                    try:
                        chosen = self._groups[self._key_of(record)].choose(self._results)
                    except BadRecord as error:
                        if (before := self._run_before(record.line)) is not None:
                            self._results.resume(before)
                        self._results.reject(error, record.text(), record.line)
                        continue
                    self._last_odd = record.line, chosen
                collected.line = record.line
                self._results.record(functools.partial(self._reader.load, record), record.text, record.line)
        if self._parts_runs and (last := self._run_before(None)) is not None:
            self._last_odd = 0, last
        self._plain_runs = None
        return collected

    def _run_before(self, line: int | None) -> Chosen | None:
        """The run of the last row before a line that says its run; of the whole block for None."""
        if self._plain_runs is None:
            known = dict(self._chosen.values())
            found = self._execute(
                "SELECT line, run_id FROM rows WHERE run_id IS NOT NULL AND NOT has_bad_moment ORDER BY line"
            ).fetchall()
            self._plain_runs = [line for line, _ in found], [(run_id, known[run_id]) for _, run_id in found]
        lines, runs = self._plain_runs
        place = len(lines) if line is None else bisect.bisect_left(lines, line)
        at, last = self._last_odd
        if place and lines[place - 1] >= at:
            return runs[place - 1]
        return last

    def _announce(self, collected: "OddEvents") -> None:
        """Add the cases that are new, by the first of their rows."""
        select = (
            "SELECT run_id, case_id, min(line) AS line, arg_min(case_no, line) AS case_no"  # 8 and 8.0 are one case
        )
        self._table("first_rows", f"{select} FROM rows WHERE {self._plain} GROUP BY run_id, case_id")
        self._execute("DELETE FROM first_rows f USING announced a WHERE a.run_id = f.run_id AND a.case_id = f.case_id")
        self._first_odd = {}
        if collected.cases:
            keys = {"run_id": [run for run, _ in collected.cases], "case_id": [case for _, case in collected.cases]}
            self._register("odd_cases", keys)
            there = set(
                self._execute(
                    "SELECT run_id, case_id FROM odd_cases SEMI JOIN announced USING (run_id, case_id)"
                ).fetchall()
            )
            query = "SELECT f.run_id, f.case_id, f.line FROM first_rows f SEMI JOIN odd_cases USING (run_id, case_id)"
            lines = {(run, case): line for run, case, line in self._execute(query).fetchall()}
            first = self._first_odd = {key: case for key, case in collected.cases.items()
                     if key not in there and (case.line or 0) <= lines.get(key, case.line or 0)}  # fmt: skip
            for case in first.values():
                self._results.batch.add(case)
            self._register("odd_cases", {"run_id": [run for run, _ in first], "case_id": [case for _, case in first]})
            self._execute(
                "DELETE FROM first_rows f USING odd_cases a WHERE a.run_id = f.run_id AND a.case_id = f.case_id"
            )
            self._execute("INSERT INTO announced FROM odd_cases")
        axes = ", ".join(f"c.{name}" for name in ("name", *CONTEXT_AXES, "backend", *COUNTS, "parameters", "work_hash"))
        found = f"SELECT f.run_id, f.case_id, {axes}, f.line FROM first_rows f JOIN cases c ON c.rowid = f.case_no"
        self._add(CaseRecord, in_order(self._connection.sql(found).to_arrow_table(), "line"))
        self._execute("INSERT INTO announced SELECT run_id, case_id FROM first_rows")

    def _count_without_rows(self, collected: "OddEvents") -> None:
        """Count the rows that say nothing, beside that there is a case which an earlier row said, too."""
        silent = f"status IS NULL AND fields IS NULL AND NOT {self._is_measured} AND {self._plain}"
        new = "(run_id, line) NOT IN (SELECT (run_id, line) FROM first_rows)"
        query = f"SELECT run_id, count(*) FROM rows WHERE {silent} AND {new} GROUP BY ALL"
        for run_id, count in self._execute(query).fetchall():
            self._results.count_without_rows(count, run_id)
        said = collected.lines()
        for key, case in collected.cases.items():
            if key not in self._first_odd and case.line not in said:
                self._results.count_without_rows(1, case.run_id)

    @property
    def _is_measured(self) -> str:
        """The condition of a row that has a number."""
        if "status" in self._mapping.fields:  # beside a failure, a 0 is none
            return "i IN (SELECT i FROM measured)"
        return both([f"x{index} IS NOT NULL" for index in range(len(self._values))], "OR")

    def _add(self, event: type[Event], table: "pa.Table") -> None:
        """Add the rows of a table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not table.num_rows:
            return
        table = table.select([field.name for field in event.fields() if field.name in table.column_names])
        if "metric" in table.column_names:
            metric = pc.utf8_slice_codeunits(table["metric"], 0, LONGEST_NAME)
            table = table.set_column(table.schema.get_field_index("metric"), "metric", metric)
        source = pa.repeat(self._results.part.source_id, table.num_rows)
        self._results.batch.add_table(event, table.append_column("source_id", source))

    def _add_rows(self, event: type[Event], query: str) -> None:
        """Add what a query says of the rows that are plain."""
        found = self._connection.sql(f"{query} AND {self._plain}").to_arrow_table()
        self._add(event, in_order(found, "line"))

    def _samples(self) -> "pa.Table":
        """The numbers of the rows, in order: what each is, and whether it is a sample in whole ns."""
        total = "value * loops"
        is_timing = (f"coalesce(NOT is_total AND unit = 'ns' AND {total} >= 0 AND {total} < {LONGEST_NS!r} AND "
                     f"abs(round_even({total}, 0) - {total}) <= {ROUNDING!r} * {total}, false)")  # fmt: skip
        other = {
            "value": "value", "unit": "unit", "better": "better",
            "original_value": "CASE WHEN is_converted THEN number END",
            "original_unit": "CASE WHEN is_converted THEN original END",
            "unwritten": "CASE WHEN is_converted AND number IS NULL THEN x END",
        }  # fmt: skip
        found = self._connection.sql(f"""
            SELECT line, ord, run_id, case_id, metric, phase, statistic, is_total, is_timing,
                make_timestamp(moment) AS recorded_at, loops,
                CASE WHEN is_timing THEN CAST(round_even({total}, 0) AS BIGINT) END AS duration_ns,
                {", ".join(f"CASE WHEN NOT is_timing THEN {text} END AS {name}" for name, text in other.items())}
            FROM (SELECT *, {is_timing} AS is_timing FROM measured WHERE {self._plain})
        """)
        return in_order(found.to_arrow_table(), "line", "ord")

    def _add_events(self, collected: "OddEvents") -> None:
        """Add what the rows say; the samples of odd rows are numbered with the others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = self._samples()
        samples, totals = _parted(found, pc.invert(found["is_total"]))
        samples = samples.append_column("sample", pa.array(self._number(samples, collected)))
        phase = pc.fill_null(samples["phase"], "steady")
        samples = samples.set_column(samples.schema.get_field_index("phase"), "phase", phase)
        timings, metrics = _parted(samples, samples["is_timing"])
        self._add(Timing, timings)
        self._add_metrics(metrics)
        self._add_metrics(totals.drop_columns(["recorded_at"]))
        fields = "FROM rows WHERE fields IS NOT NULL"
        self._add_rows(Metric, f"SELECT run_id, case_id, line, 'fields' AS metric, fields AS original_value {fields}")
        if self._results.no_failures:
            self._add_passed(collected)
        else:
            self._add_rows(
                Outcome,
                f"""
                SELECT run_id, case_id, line, coalesce(status, 'ok') AS status,
                    CASE WHEN status IS NOT NULL THEN reason END AS reason
                FROM rows WHERE (status IS NOT NULL OR {self._is_measured})
            """,
            )

    def _add_passed(self, collected: "OddEvents") -> None:
        """Say of the cases that are new among the measured ones that they are ok, by the first of their rows."""
        odd = [(*case, str(line)) for case, line in collected.passed.items()]
        columns = zip(*odd, strict=True) if odd else ((), (), ())
        self._register(
            "odd_passed",
            {name: list(texts) for name, texts in zip(("run_id", "case_id", "first"), columns, strict=True)},
        )
        self._table("new_passed", f"""
            SELECT run_id, case_id, min(line) AS line
            FROM (SELECT run_id, case_id, line FROM rows WHERE {self._is_measured} AND {self._plain}
                  UNION ALL SELECT run_id, case_id, CAST(first AS BIGINT) FROM odd_passed)
            ANTI JOIN passed USING (run_id, case_id)
            GROUP BY ALL
        """)  # fmt: skip
        found = self._connection.sql("SELECT *, 'ok' AS status FROM new_passed ORDER BY line").to_arrow_table()
        self._add(Outcome, found)
        self._execute("INSERT INTO passed SELECT run_id, case_id FROM new_passed")

    def _number(self, samples: "pa.Table", collected: "OddEvents") -> "np.ndarray[Any, Any]":
        """The numbers of samples within run, case, metric and phase; those of odd rows are added, numbered with them."""
        import pyarrow as pa

        if not collected.taken:
            collected.add_to(self._results.batch, {})
            return self._numbers_so_far.take(samples, None, is_last=self._is_last)
        plain = samples.select(TAKEN[:-1])
        odd = pa.Table.from_pylist(collected.taken, schema=plain.schema.append(pa.field("n", pa.int64())))
        both = in_order(pa.concat_tables([plain, odd], promote_options="default"), "line", "ord")
        sizes = both["n"].fill_null(1).to_pylist()
        numbers = self._numbers_so_far.take(both, sizes, is_last=self._is_last)
        is_odd = both["n"].is_valid().to_numpy()
        collected.add_to(self._results.batch, dict(zip(both["ord"].to_numpy()[is_odd], numbers[is_odd], strict=True)))
        of_plain: np.ndarray[Any, Any] = numbers[~is_odd]
        return of_plain

    def _add_metrics(self, table: "pa.Table") -> None:
        """Add numbers; the text of one that DuckDB writes otherwise than Python is made here."""
        import pyarrow as pa

        unwritten = table["unwritten"]
        if unwritten.null_count < len(unwritten):
            texts = table["original_value"].to_pylist()
            for row, number in enumerate(unwritten.to_pylist()):
                texts[row] = texts[row] if number is None else repr(number)
            table = table.set_column(
                table.schema.get_field_index("original_value"), "original_value", pa.array(texts, pa.string())
            )
        self._add(Metric, table)


class OddEvents:
    """The events of odd rows, until it is known which numbers their samples have."""

    def __init__(self, reader: "RowReader") -> None:
        self.line = 0  # of the row that is being read
        self.cases: dict[tuple[str, str], CaseRecord] = {}
        self.passed: dict[tuple[str, str], int] = {}  # cases that are ok, and the line that says it first
        self.taken: list[dict[str, Any]] = []  # cells of TAKEN
        self._reader = reader
        self._events: list[Event] = []
        self._rows: list[tuple[type[Event], Mapping[str, Any], int]] = []

    def add(self, event: Event) -> None:
        """Keep an event."""
        if isinstance(event, CaseRecord):
            self.cases.setdefault((event.run_id, event.case_id), event)
        elif isinstance(event, Outcome) and event.case_id is not None and self._reader.results.no_failures:
            self.passed.setdefault((event.run_id, event.case_id), self.line)
        else:
            self._events.append(event)

    def add_rows(self, event: type[Event], columns: Mapping[str, Any], count: int) -> None:
        """Keep many at once."""
        self._rows.append((event, columns, count))

    def lines(self) -> set[int | None]:
        """The lines that have events, beside those of cases."""
        lines = {getattr(event, "line", None) for event in self._events}
        return lines | {columns.get("line") for _, columns, _ in self._rows}

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Number the samples of a cell from a number that tells which cell it is."""
        usual, self._reader.number = self._reader.number, self._take
        try:
            yield
        finally:
            self._reader.number = usual

    def _take(self, place: tuple[str | None, ...], count: int) -> int:
        cells = (self.line, len(self.taken), *place, count)
        self.taken.append(dict(zip(TAKEN, cells, strict=True)))
        return len(self.taken) - 1 << TOKEN_BITS

    def add_to(self, batch: Any, firsts: Mapping[int, int]) -> None:
        """Add the events, their samples counted from the numbers that their cells have."""
        mask = (1 << TOKEN_BITS) - 1
        for event in self._events:
            if isinstance(event, Timing | Metric) and event.sample is not None:
                event = replace(event, sample=int(firsts[event.sample >> TOKEN_BITS]) + (event.sample & mask))
            batch.add(event)
        for kind, columns, count in self._rows:
            first = int(columns["sample"][0])
            moved = columns["sample"] - first + int(firsts[first >> TOKEN_BITS])
            batch.add_rows(kind, {**columns, "sample": moved}, count)


def _parted(table: "pa.Table", chosen: "pa.ChunkedArray") -> "tuple[pa.Table, pa.Table]":
    """The rows that are chosen, and the others; mostly one of them is all."""
    import pyarrow.compute as pc

    count = pc.sum(chosen).as_py() or 0
    if count == table.num_rows:
        return table, table.slice(0, 0)
    return table.filter(chosen), table.filter(pc.invert(chosen))


def _prefixes(name: str, *, dotted: bool) -> list[str]:
    """A column, and the objects that it is in."""
    parts = name.split(".") if dotted else [name]
    return [".".join(parts[: index + 1]) for index in range(len(parts))]


def _merged(plain: list[tuple[Any, ...]], odd: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """RowBlock in order of their lines."""
    return sorted([*plain, *odd], key=lambda row: row[:2]) if odd else plain
