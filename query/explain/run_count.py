"""Power: how many runs it takes to see a change, and what change so many runs show, from the noise seen so far."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ...sql.rules import ALPHA, FLOOR
from ...warehouse.console.numbers import counted, exact_percent, percent, span
from ...warehouse.console.parameters import value_text
from ...warehouse.errors import BenchError, Exit
from ..axes import BACKEND_LAST, HEADINGS
from ..filters import build_filter

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

GROUP = ("config", "host", "metric", "phase", "unit")  # what one comparison judges together
LABELS = ("config", "host", *BACKEND_LAST, "metric")
USUAL = "latency"  # what is planned for where it is measured
FIRST = "bench measure models --quick"

Row = Mapping[str, Any]  # of `detectable_effects`, by column


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionGoal:
    """The effect to be detected, and the power: the arguments of `detectable_effects`."""

    effect: float = FLOOR  # share: a factor of 1.03 either way
    runs: int = 3  # on each side
    power: float = 0.8
    alpha: float = ALPHA
    correction: str = "none"  # none, bonferroni or bh
    changed: float = 0.1  # share of the cases that change; only bh asks

    @property
    def sql(self) -> str:
        """The macro with these arguments."""
        return f"detectable_effects({', '.join(f'{f.name} := {getattr(self, f.name)!r}' for f in fields(self))})"


def effects(warehouse: "Warehouse", plan: DetectionGoal, where: Mapping[str, Sequence[str]] | None = None) -> list[Row]:
    """The plan that follows from the noise of each case.

    Args:
        warehouse: Where to look.
        plan: Which effect is to be detected, and with what power.
        where: column -> values to keep; an empty list keeps all. Without `metric`, of each config: latency; without any
            latency, all metrics with a direction; without those, all.

    Returns:
        Rows of `detectable_effects`, of steady samples and of values without a phase.

    Raises:
        UnknownName: No such column, or a value that no case has; the nearest is named.
        BenchError: The noise of none of these cases is known; the message says what to run. Its exit code is 4.
    """
    where = {column: values for column, values in (where or {}).items() if values}
    hosts = build_filter(warehouse, "runs", {"host": where.get("host", ())})
    cases = build_filter(
        warehouse,
        "_all_cells",
        {column: values for column, values in where.items() if column != "host"},
        place="the store",
    )
    order = ", ".join((*GROUP, *LABELS, "case_id"))
    found: list[Row] = list(
        warehouse.dicts(
            f"FROM {plan.sql} WHERE coalesce(phase, 'steady') = 'steady' AND {hosts.condition} AND {cases.condition}"
            f" ORDER BY {order}",
            [*hosts.parameters, *cases.parameters],
        )
    )
    if "metric" not in where:
        found = [
            row for _, rows in itertools.groupby(found, key=lambda row: row["config"]) for row in _usual(list(rows))
        ]
    if all(row["noise"] is None for row in found):
        raise _unknown(warehouse, found)
    return found


def render(found: Sequence[Row], plan: DetectionGoal) -> tuple[list[str], list[list[Any]]]:
    """The cases whose noise is known as a table for people; axes nobody set are left out."""
    known = [row for row in found if row["noise"] is not None]
    axes = [axis for axis in LABELS if any(row[axis] is not None for row in known)]
    runs = f"runs for {exact_percent(plan.effect)}"
    columns = [
        *(HEADINGS.get(axis, axis) for axis in axes),
        "seen",
        "noise",
        "within run",
        runs,
        f"{_runs(plan.runs)} see",
    ]
    return columns, [
        [
            *(value_text(row[axis]) if axis == "parameters" else row[axis] for axis in axes), row["runs_seen"],
            percent(row["noise"]), _percent(row["sampling_noise"]), row["runs_needed"], _percent(row["detectable"]),
        ]
        for row in known
    ]  # fmt: skip


def _percent(share: float | None) -> str | None:
    return None if share is None else percent(share)


def sentences(found: Sequence[Row], strict: Sequence[Row], plan: DetectionGoal) -> Iterator[str]:
    """The plan in words, for each config, host and metric; what is left out comes last.

    `strict` has the same rows with the correction 'bonferroni'.
    """
    doubt = f"power {percent(plan.power)}, alpha {percent(plan.alpha)}"
    doubt += f", {plan.correction}" if plan.correction != "none" else ""
    for rows, stricter in zip(_groups(found), _groups(strict), strict=True):
        first = rows[0]
        where = f"{first['config']}{' on ' + first['host'] if first['host'] else ''}, {first['metric']}"
        half, most = _quantiles(rows, "runs_needed")
        several = len(rows) > 1
        share = f" for half of {counted(len(rows), 'case')}, {_runs(most)} for nine of ten" if several else ""
        yield f"{where}: to see {exact_percent(plan.effect)} ({doubt}) takes {_runs(half)} on each side{share}"
        each = _seconds(rows)
        if each is not None and each >= 0.5 and half < math.inf:
            longest = f", or {span(2 * most * each)}" if half < most < math.inf else ""
            yield f"  a run takes {span(each)}, so both sides take {span(2 * half * each)}{longest}"
        thin = sum(1 for row in rows if row["fewest_runs"] > plan.runs)
        low, high = _quantiles(rows, "detectable")
        if low < math.inf:
            many = f", {percent(high)} in nine of ten" if high < math.inf else ""
            share = f" in half of them{many}" if several else ""
            yield f"  {_runs(plan.runs)} on each side show {percent(low)}{share}"
        elif thin < len(rows):
            verb = "are" if plan.runs > 1 else "is"
            yield f"  {_runs(plan.runs)} on each side {verb} too few as long as so little is known of the noise"
        if thin:
            verb = "have" if thin > 1 else "has"
            yield (
                f"  {counted(thin, 'case')} {verb} fewer than 6 samples in {_runs(plan.runs)}: bench compare leaves"
                f" {'them' if thin > 1 else 'it'} UNSURE"
            )
        noisy = sum(1 for row in rows if row["noise"] or row["sampling_noise"])  # exact numbers give no false alarm
        if plan.correction == "none" and noisy > 1:
            half, most = _quantiles(stricter, "runs_needed")
            yield (
                f"  of {counted(noisy, 'case')}{' with noise' if noisy < len(rows) else ''} that did not change,"
                f" {plan.alpha * noisy:.2g} will look"
                f" changed; --correct bonferroni rules that out with {_runs(half)}{f', or {_runs(most)}' if half < most else ''}"
            )
    unknown = Counter(row["config"] for row in found if row["noise"] is None)
    for config, count in unknown.items():
        yield f"left out: {counted(count, 'case')} of {config}, measured by one run only; another run tells their noise"


def _usual(rows: list[Row]) -> list[Row]:
    """The metrics planned for in a config if none are named."""
    return [row for row in rows if row["metric"] == USUAL] or [row for row in rows if row["better"] is not None] or rows


def _runs(count: float) -> str:
    return counted(int(count), "run") if count < math.inf else "over 100,000 runs"


def _groups(found: Sequence[Row]) -> list[list[Row]]:
    """The rows whose noise is known, grouped by what is judged together."""
    known = [row for row in found if row["noise"] is not None]
    return [list(rows) for _, rows in itertools.groupby(known, key=lambda row: [row[column] for column in GROUP])]


def _quantiles(rows: Sequence[Row], column: str) -> tuple[Any, Any]:
    """The value that is enough for half of the rows, and for nine of ten; infinite if none is."""
    values = sorted(math.inf if row[column] is None else row[column] for row in rows)
    return values[math.ceil(0.5 * len(values)) - 1], values[math.ceil(0.9 * len(values)) - 1]


def _seconds(rows: Sequence[Row]) -> float | None:
    """The duration of a run of these cases; None if one is unknown."""
    work = {row["work_hash"]: row["workload_seconds"] for row in rows}
    return None if None in work.values() else sum(work.values())


def _unknown(warehouse: "Warehouse", found: Sequence[Row]) -> BenchError:
    """The command to run before anything can be planned."""
    config = found[0]["config"] if found else None
    ((command,),) = warehouse.rows("SELECT arg_max(command, started_at) FROM runs WHERE config = ?", [config])
    measured = f"{counted(len(found), 'case')} of one run each" if found else "nothing"
    command = re.sub(r"^\S+ \S*bench (?=measure )", "bench ", command or "")  # not by which interpreter
    again = f"Measure again with: {command}" if command else f"Measure or ingest at least two runs, such as: {FIRST}"
    error = BenchError(f"the store holds {measured}, so the noise from run to run is not known. {again}")
    error.exit_code = Exit.TOO_LITTLE
    return error
