"""Variants inside runs: two values of a column as the sides of a comparison, with their cases matched by all other axes."""

import contextlib
import json
import shlex
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.schema import literal, quote
from ...warehouse.snapshot import empty
from ...warehouse.store import Notify
from ...warehouse.views import compute_derived
from ..axes import AXES, WORK_AXES
from ..filters import parameter_text
from .sides import Side, runs_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

OF_CASES = ("cases", "outcomes", "timings", "memory_samples", "metrics")  # event tables that are split
HISTORY = 50  # newest runs of a config that tell how its runs vary, as in run_noise
SPLIT = "variants"  # the database that holds the split runs
_AXES = tuple(map(quote, AXES))
_ID = f"substr(sha256(to_json([{', '.join(f'{axis}::VARCHAR' for axis in _AXES)}])), 1, 16)"  # of a case without the column


@contextlib.contextmanager
def variants(
    warehouse: "Warehouse", column: str, values: tuple[str, str], names: Sequence[str] = (), *, all_runs: bool = False,
    notify: Notify = lambda sentence: None,
) -> Iterator[tuple[Side, Side]]:  # fmt: skip
    """A context with two values of a column as sides, in which `warehouse` looks at runs that are split by them.

    Of each run there are two, RUN/VALUE of the config CONFIG/VALUE, with the cases that have the value; the cases lack the
    column, so that those of both sides are the same ones. Where none are, they lack the axes, too, that have one value on each
    side. The newest runs of the same configs are split as well: they tell how runs vary. Values of a run as a whole and
    scheduler steps are left out. All this is derived in a temporary folder.

    Args:
        warehouse: Where to look.
        column: An axis of the cases or a key of their parameters.
        values: The value to compare with, and the one under judgement.
        names: The runs to compare in; none means the newest.
        all_runs: Take every run that a name means, not only the newest and its repeats.
        notify: Called with what else differs between the values.

    Raises:
        UnknownName: No such column, value or run.
        BenchError: Both values are the same.
    """
    if values[0] == values[1]:
        raise BenchError(f"both sides are {values[0]!r}: name two values of {column}")
    texts = names or ("latest",)
    runs = list(dict.fromkeys(run for name in texts for run in runs_of(warehouse, name, all_runs)))
    _check(warehouse, column, values, runs, " ".join(texts))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        database = Path(folder, "variants.duckdb")
        database.write_bytes(empty())
        warehouse.connection.execute(f"ATTACH {literal(str(database))} AS {SPLIT}")
        try:
            if also := _split(warehouse, column, values, runs):
                notify(f"{values[0]} and {values[1]} differ in more than {column}: {'; '.join(also)}")
            measured = f"SELECT DISTINCT run_id FROM {SPLIT}.cases WHERE run_id = ?"
            warehouse.connection.execute(f"USE {SPLIT}")
            sides = [
                Side(value, tuple(split for run in runs if warehouse.rows(measured, [split := f"{run}/{value}"])))
                for value in values
            ]
            yield sides[0], sides[1]
        finally:
            warehouse.connection.execute("USE warehouse")
            warehouse.connection.execute(f"DETACH {SPLIT}")


def share_runs(base: Side, candidate: Side) -> bool:
    """True if every run is on both sides."""
    first, second = ({run.removesuffix(f"/{side.name}") for run in side.runs} for side in (base, candidate))
    return first == second


def said_of(base: Side, candidate: Side) -> str | None:
    """The note that intervals of cases do not use it, where every run is on both sides; else None."""
    if not share_runs(base, candidate):
        return None
    return "both sides come from the same runs; intervals of single cases still include differences between sessions"


def columns_of(warehouse: "Warehouse", values: Sequence[str]) -> list[str]:
    """The columns that have each of these values in the newest run, those that `--by` takes; none without a run."""
    try:
        runs = [*runs_of(warehouse, "latest")]
    except BenchError:
        return []
    keys = _keys(warehouse, runs)
    return [column for column in (*keys, *WORK_AXES) if {*values} <= {*_known(warehouse, column, keys, runs)}]


def describe_lone_cases(rows: Sequence[Mapping[str, Any]], base: str, candidate: str) -> list[str]:
    """A sentence with the command that compares the only case of one side with the only one of the other.

    Args:
        rows: Of a comparison.
        base: One side, as it was given.
        candidate: The other.
    """
    sides = [{row["case_id"]: row for row in rows if row["verdict"] == verdict} for verdict in ("REMOVED", "ADDED")]
    if any(len(side) != 1 for side in sides) or any(row["verdict"] not in ("REMOVED", "ADDED") for row in rows):
        return []
    (first,), (second,) = (side.values() for side in sides)
    apart = [axis for axis in WORK_AXES if None not in (first[axis], second[axis]) and first[axis] != second[axis]]
    if not apart:
        return []
    axis = "name" if "name" in apart else apart[0]
    words = ["bench", "compare", str(first[axis]), str(second[axis]), "--by", axis, "--runs", base, candidate]
    return [f"each side has a case of its own; to compare the two: {shlex.join(words)}"]


def _check(warehouse: "Warehouse", column: str, values: Sequence[str], runs: list[str], place: str) -> None:
    """Raise UnknownName unless cases of the runs have the column, and each value."""
    keys = _keys(warehouse, runs)
    if column not in (*WORK_AXES, *keys):
        raise UnknownName("column", column, [*keys, *WORK_AXES], where=f"the cases of {place}")
    known = _known(warehouse, column, keys, runs)
    for value in values:
        if value not in known:
            raise UnknownName(column, value, known, where=f"the cases of {place}")


def _known(warehouse: "Warehouse", column: str, keys: Sequence[str], runs: Sequence[str]) -> list[str]:
    """The values of a column in the cases of these runs."""
    expression = _value(column, column not in keys)
    found = warehouse.rows(
        f"SELECT DISTINCT {expression} AS value FROM cases"
        " WHERE list_contains($runs::VARCHAR[], run_id) AND value IS NOT NULL ORDER BY ALL",
        {"runs": [*runs]},
    )
    return [value for (value,) in found]


def _keys(warehouse: "Warehouse", runs: Sequence[str]) -> list[str]:
    """The keys of the parameters of the cases; one that is called as an axis hides that."""
    query = (
        "SELECT DISTINCT unnest(json_keys(parameters)) FROM cases WHERE list_contains(?::VARCHAR[], run_id) ORDER BY 1"
    )
    return [key for (key,) in warehouse.rows(query, [[*runs]])]


def _value(column: str, is_axis: bool) -> str:
    """A column of `cases` as SQL, a text."""
    return f"{quote(column)}::VARCHAR" if is_axis else parameter_text(column)


def _split(warehouse: "Warehouse", column: str, values: tuple[str, str], runs: list[str]) -> list[str]:
    """Fill the database of the split runs; return what else tells the values apart, where that was left out."""
    execute = warehouse.connection.execute
    execute(
        "CREATE OR REPLACE TEMP TABLE _split_runs AS SELECT run_id, config, value FROM run_summaries,"
        " (SELECT unnest($values::VARCHAR[]) AS value)"
        " WHERE config IN (SELECT config FROM run_summaries WHERE list_contains($runs::VARCHAR[], run_id))"
        " QUALIFY list_contains($runs::VARCHAR[], run_id) OR dense_rank() OVER"
        f" (PARTITION BY config ORDER BY began_at DESC NULLS LAST, run_id DESC) <= {HISTORY}",
        {"values": [*values], "runs": runs},
    )
    is_axis = column not in _keys(warehouse, runs)
    expression = _value(column, is_axis)
    parameters: dict[str, str] = {}
    if column == "name" and is_axis:  # each case has one
        without, parameters = "$both::VARCHAR AS name", {"both": " → ".join(values)}
    elif is_axis:
        without = f"NULL AS {quote(column)}"
    else:  # a name that stands for one of the values only, such as `make -j 4`, holds it
        without = (
            "nullif(json_merge_patch(parameters, $patch::JSON), '{}') AS parameters,"
            " CASE WHEN name NOT IN (SELECT name FROM cases WHERE list_contains($values::VARCHAR[],"
            f" {expression}) GROUP BY name HAVING count(DISTINCT {expression}) > 1)"
            rf" THEN regexp_replace(name, '(^|\W)' || regexp_escape({expression}) || '(\W|$)', $mark, 'g') ELSE name END AS name"
        )
        mark = column.replace("\\", "\\\\")
        parameters |= {"patch": json.dumps({column: None}), "mark": rf"\1{{{mark}}}\2"}
    execute(
        f"CREATE OR REPLACE TEMP TABLE _split_cases AS SELECT run_id, case_id, value, {', '.join(_AXES)}"
        f" FROM (SELECT * REPLACE ({without}), {expression} AS value FROM cases"
        "   WHERE run_id IN (SELECT run_id FROM _split_runs))"
        " WHERE list_contains($values::VARCHAR[], value)",
        {**parameters, "values": [*values]},
    )
    also = _leave_out(warehouse, values, runs)
    for table in OF_CASES:
        changed = "event.run_id || '/' || split.value AS run_id, split_id AS case_id"
        if table == "cases":
            changed += "".join(f", split.{axis} AS {axis}" for axis in _AXES) + ", split_id AS work_hash"
        execute(
            f"INSERT INTO {SPLIT}.{table} BY NAME SELECT event.* REPLACE ({changed}) FROM {table} AS event"
            f" JOIN (SELECT DISTINCT *, {_ID} AS split_id FROM _split_cases) AS split"
            " ON event.run_id = split.run_id AND event.case_id = split.case_id"
        )
    execute(f"INSERT INTO {SPLIT}.environments FROM environments")
    for table in ("runs", "sources"):
        execute(
            f"INSERT INTO {SPLIT}.{table} BY NAME SELECT event.* REPLACE"
            " (event.run_id || '/' || split.value AS run_id, split.config || '/' || split.value AS config)"
            f" FROM {table} AS event JOIN _split_runs AS split ON event.run_id = split.run_id"
        )
    execute(f"USE {SPLIT}")
    compute_derived(warehouse.connection, [run for (run,) in warehouse.rows("SELECT DISTINCT run_id FROM runs")])
    return also


def _leave_out(warehouse: "Warehouse", values: tuple[str, str], runs: list[str]) -> list[str]:
    """Take what has one value on each side out of `_split_cases`, where no case has both values; return what that was.

    Where no case would have both then, nothing is taken out.
    """
    query = f"SELECT DISTINCT value, {', '.join(_AXES)} FROM _split_cases WHERE list_contains(?::VARCHAR[], run_id)"
    sides: dict[str, list[dict[str, Any]]] = {value: [] for value in values}
    for value, *axes in warehouse.rows(query, [runs]):
        of_case = dict(zip(AXES, axes, strict=True))
        sides[value].append({**json.loads(of_case.pop("parameters") or "{}"), **of_case})
    base, candidate = sides.values()
    keys = dict.fromkeys(key for case in (*base, *candidate) for key in case)
    each = {key: [{json.dumps(case.get(key)) for case in side} for side in (base, candidate)] for key in keys}
    apart = {key: (*one, *other) for key, (one, other) in each.items() if len(one) == len(other) == 1 and one != other}
    if _meet(base, candidate, ()) or not _meet(base, candidate, apart):
        return []
    new = {"parameters": "nullif(json_merge_patch(parameters, $patch::JSON), '{}')"}
    new |= {axis: "NULL" for axis in WORK_AXES if axis in apart}
    told = {key: [str(json.loads(text)) for text in texts] for key, texts in apart.items()}
    given: dict[str, Any] = {"patch": json.dumps(dict.fromkeys(apart.keys() - {*WORK_AXES})), "runs": runs}
    if "name" in apart:  # each case has one
        new["name"], given["both"] = "$both::VARCHAR", " → ".join(told["name"])
    sets = ", ".join(f"{quote(axis)} = {value}" for axis, value in new.items())
    compared = f"SELECT {_ID} FROM _split_cases WHERE list_contains($runs::VARCHAR[], run_id)"
    warehouse.connection.execute(f"UPDATE _split_cases SET {sets} WHERE {_ID} IN ({compared})", given)
    return [f"{key} ({', '.join(texts)})" for key, texts in told.items()]


def _meet(base: Sequence[dict[str, Any]], candidate: Sequence[dict[str, Any]], without: Container[str]) -> bool:
    """True if a case of one side is one of the other, but for these axes."""
    found = [
        {json.dumps({key: value for key, value in case.items() if key not in without}, sort_keys=True) for case in side}
        for side in (base, candidate)
    ]
    return not found[0].isdisjoint(found[1])
