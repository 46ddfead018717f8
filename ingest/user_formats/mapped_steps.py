"""Scheduler steps of any writer, by what its fields are called: `model_run_ms=latency_us,decode_tokens=n,batch_id=iter`."""

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.events import ScheduleChunk
from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..formats.scheduler import LIST, NUMBER, STEP_FIELDS, WHOLE, SchedulerSteps, StepNames
from ..readers.document import BadRecord
from ..readers.tables import check_columns, open_table
from ..readers.units import unit_of
from .columns import measure_of
from .mapped import MappedFormat
from .mapping import Pair, Term, pairs_of, parse_mapping

_KINDS = {int: WHOLE, float: NUMBER, list[int]: LIST}
_FIELDS = {field.name: field for field in ScheduleChunk.fields() if field.type in _KINDS and field.name != "line"}
DURATIONS = ("model_run_ms", "step_ms")  # one of them a step has to have: the first that is named


def mapped_format(texts: Iterable[str]) -> Format:
    """The format that the arguments of `--map` are: of steps if they name a column of these, else of cases.

    Raises:
        BenchError: They say nothing that can be understood, or not enough.
    """
    texts = list(texts)
    pairs = list(pairs_of(texts))
    is_of_steps = any(name in _FIELDS for name, _, _ in pairs)
    return MappedSteps(pairs) if is_of_steps else MappedFormat(parse_mapping(texts))


def step_columns() -> str:
    """The columns of steps that can be mapped, for people."""
    return " ".join(_FIELDS)


class MappedSteps(SchedulerSteps):
    """Scheduler steps in JSON lines, by a mapping of the user's."""

    doc = "scheduler steps by a mapping"

    def __init__(self, pairs: Sequence[Pair]) -> None:
        """Take the fields that are named for columns of `schedule_chunks`; others have their usual names.

        Raises:
            BenchError: A pair names no such column, or one twice, or nothing says how long a step took.
        """
        named: dict[str, str] = {}
        units: dict[str, str] = {}
        for name, fixed, text in pairs:
            if name == "unit" and named:
                units[[*named][-1]] = text
                continue
            if name not in _FIELDS:
                raise UnknownName("column", name, _FIELDS, where="schedule_chunks", cure=f"Columns: {step_columns()}")
            if fixed:
                raise BenchError(f"{name} is a field of each step, not a text: {name}={text}")
            if name in named:
                raise BenchError(f"the mapping says {name} twice")
            named[name] = text
        required = next((name for name in DURATIONS if name in named), None)
        if required is None:
            raise BenchError(
                f"nothing says how long a step took. Map {' or '.join(f'{name}=FIELD' for name in DURATIONS)}"
            )
        self._named = named
        self._text = ",".join(
            f"{name}{Term(text)}" + (f",unit={units[name]}" if name in units else "")
            for name, text in sorted(named.items())
        )
        self.name = f"steps-{hashlib.sha256(self._text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
        usual = {key: meant for key, meant in STEP_FIELDS.items() if meant[0] not in named}
        own = {text: (name, _KINDS[_FIELDS[name].type]) for name, text in named.items()}
        factors = {name: _factor(name, text, units.get(name)) for name, text in named.items()}
        self.names = StepNames(usual | own, {name: factor for name, factor in factors.items() if factor != 1}, required)

    def recognise(self, head: Head) -> bool:
        """Never: the user chooses this format."""
        return False

    def unfit(self, path: Path) -> str | None:
        """The reason for which the mapping is not of this file: it is not JSON lines, or lacks a field."""
        try:
            table = open_table(Part.alone(path), None)
        except BadRecord as error:
            return str(error)
        if table.kind != "json lines":
            return f"is {table.kind}, and steps are read from JSON lines, an object a line"
        missing = check_columns(table, {text: name for name, text in self._named.items()})
        if missing is None:
            return None
        cure = f"The fields are: {', '.join(map(repr, table.columns))}."
        return "has " + str(UnknownName("field", missing, table.columns, cure=cure))

    def read(self, part: Part, batch: Batch) -> Tally:
        """One step a line."""
        tally = super().read(part, batch)
        tally.notes.append(f"{part.name}: read with --map {shlex.quote(self._text)}")
        return tally


def _factor(name: str, text: str, unit: str | None) -> float:
    """The factor from a field to its column's unit: as the user says, else as its own name does.

    Raises:
        BenchError: A unit is no time, or of a column that is none.
    """
    ours = unit_of(_FIELDS[name].unit)
    said = unit_of(unit or (measure_of(text) or {}).get("unit"))
    if ours.name == said.name == "ns":
        return said.factor / ours.factor
    if unit is not None:
        raise BenchError(
            f"unit={unit} is no unit of {name}" + (", which is a time: ns, us, ms, s" if ours.name == "ns" else "")
        )
    return 1.0
