"""Runs as other tools represent them: named cases, their samples, and a count of everything a format cannot hold."""

import json
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...warehouse.events import LARGEST
from ..ask import ask
from ..axes import WORK_AXES

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

LABELS = tuple(axis for axis in WORK_AXES if axis != "name")
WORD = re.compile(r"[\w.]+")
SHOWN = 5  # metrics that are named
OTHER_METRICS = "values of other metrics"
Key = tuple[str, str | None, str | None]  # metric, statistic, phase


class Omitted:
    """Counts what a format cannot hold, with names of examples."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._names: dict[str, dict[str, None]] = {}

    def add(self, what: str, count: int = 1, name: str | None = None) -> None:
        """Count so many more."""
        self._counts[what] += count
        if name is not None:
            self._names.setdefault(what, {})[name] = None

    def sentences(self) -> list[str]:
        """A sentence for each kind of data that was left out."""
        return [f"{count:,} {what}{self._named(what)}" for what, count in self._counts.items() if count]

    def _named(self, what: str) -> str:
        names = list(self._names.get(what, ()))
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return f" ({', '.join(names[:SHOWN])}{more})" if names else ""


@dataclass(slots=True)
class ExportedSeries:
    """The samples of one metric of a case, or one aggregate."""

    unit: str | None
    better: str | None
    values: list[float] = field(default_factory=list)
    loops: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.values)


@dataclass(slots=True)
class ExportedCase:
    """One case of a run and all its series; a format takes out the series that it exports."""

    name: str
    axes: dict[str, Any]  # those that are set
    parameters: dict[str, Any]
    status: str | None
    failed: bool | None
    reason: str | None
    exit_code: int | None
    series: dict[Key, ExportedSeries] = field(default_factory=dict)  # those that no format has taken out yet
    label: str = ""  # what tools that know a benchmark by its name alone are to call it

    def samples(self, metric: str) -> ExportedSeries | None:
        """Take the steady samples of a metric."""
        phases = ("steady", None)
        return next((found for phase in phases if (found := self.series.pop((metric, None, phase), None))), None)

    def aggregates(self, metric: str, names: Iterable[str]) -> dict[str, float]:
        """Take the aggregates of a metric that have these names."""
        keys = [key for name in names for key in self.series if key[:2] == (metric, name)]
        return {str(key[1]): self.series.pop(key).values[0] for key in keys}


@dataclass(slots=True)
class ExportedRun:
    """One run, with what is known of it: the columns of `run_details`."""

    facts: dict[str, Any]
    cases: list[ExportedCase]

    @property
    def began(self) -> datetime:
        """The time when it began."""
        moment: datetime = self.facts["began_at"]
        return moment.replace(tzinfo=UTC)


def read_run(warehouse: "Warehouse", run_id: str, left: Omitted, *, places: Collection[str] = ()) -> ExportedRun:
    """One run with everything that was measured in it.

    `left` counts what no format has a place for; `places` are axes that the format keeps beside the name.
    """
    facts = _rows(warehouse, "run_details", run_id)[0]
    cases: dict[str, ExportedCase] = {}
    order = "name, natural_order(parameters::VARCHAR), case_id, kind"
    for row in _rows(warehouse, "case_outcomes", run_id, order=order):
        judged = row["kind"] == "performance"
        left.add("judgements of accuracy", not judged)
        if judged or row["case_id"] not in cases:
            cases[row["case_id"]] = _case(row if judged else row | NOT_JUDGED)
    order = "case_id, metric, statistic, phase, unit = 'ns' DESC NULLS LAST, unit, process, sample, value"
    for row in _rows(warehouse, "samples", run_id, order=order):
        case = cases.get(row["case_id"])
        if case is None or row["value"] is None or not abs(row["value"]) < LARGEST:
            left.add("values of no case" if case is None else "texts and values that are no number", name=row["metric"])
            continue
        key = (row["metric"], row["statistic"], row["phase"])
        if key in case.series and case.series[key].unit != row["unit"]:  # no series holds values of two units
            key = (f"{row['metric']} ({row['unit']})", *key[1:])
        series = case.series.setdefault(key, ExportedSeries(row["unit"], row["better"]))
        series.values.append(row["value"])
        series.loops.append(row["loops"] or 1)
    left.add("scheduler steps", facts["steps"] or 0)
    _name(list(cases.values()), places)
    return ExportedRun(facts, list(cases.values()))


NOT_JUDGED = dict.fromkeys(("status", "failed", "reason", "message", "exit_code"))


def _rows(warehouse: "Warehouse", view: str, run_id: str, order: str = "ALL") -> list[dict[str, Any]]:
    found = ask(warehouse, f"SELECT * FROM {view} WHERE run_id = ? ORDER BY {order}", [run_id])
    assert found is not None, "a SELECT gives rows"
    return list(found.dicts())


def _case(row: dict[str, Any]) -> ExportedCase:
    return ExportedCase(
        name=row["name"], axes={axis: row[axis] for axis in LABELS if row[axis] is not None},
        parameters=json.loads(row["parameters"] or "{}"), status=row["status"], failed=row["failed"],
        reason=row["reason"] or row["message"], exit_code=row["exit_code"],
    )  # fmt: skip


def _name(cases: Sequence[ExportedCase], places: Collection[str]) -> None:
    """Give each case its label; where two would share one, both say all their axes."""
    for case in cases:
        case.label = label(case, places, WORD.findall(case.name))
    shared = Counter(case.label for case in cases)
    for case in cases:
        if shared[case.label] > 1:
            case.label = label(case, (), ())


def label(case: ExportedCase, places: Collection[str], shared: Collection[str]) -> str:
    """A case's name, with axes in brackets that are neither part of the name nor stored elsewhere by the format.

    It depends on the case alone, so that it is the same in every run: resnet50[backend=inductor,batch_size=8].
    """
    axes = {axis: value for axis, value in case.axes.items() if axis not in places} | case.parameters
    axes_text = [f"{axis}={text}" for axis, value in axes.items() if (text := text_of(value)) not in shared]
    return f"{case.name}[{','.join(axes_text)}]" if axes_text else case.name


def text_of(value: Any) -> str:
    """The value of an axis as a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def passed(cases: Sequence[ExportedCase], left: Omitted) -> list[ExportedCase]:
    """The cases that neither failed nor were skipped, for a format that cannot hold those."""
    for case in cases:
        if case.failed or case.status == "skipped":
            left.add("failed cases" if case.failed else "skipped cases")
    return [case for case in cases if not case.failed and case.status != "skipped"]


def count_rest(case: ExportedCase, left: Omitted) -> None:
    """Count the series of a case that were not exported."""
    for key, series in case.series.items():
        left.add(OTHER_METRICS, len(series.values), name=name_of(key))


def name_of(key: Key) -> str:
    """A metric with its statistic, and its phase unless that is steady."""
    metric, statistic, phase = key
    return " ".join(filter(None, (metric, statistic, None if phase == "steady" else phase)))
