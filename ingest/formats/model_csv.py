"""Time or memory of models over batch size and sequence length, as the benchmarks of Hugging Face's transformers write them:
`model,batch_size,sequence_length,result`, and beside them what they ran on, lines of `key,value` without a header.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...warehouse.console.numbers import counted
from ...warehouse.environment import identified
from ...warehouse.errors import BenchError
from ...warehouse.events import CaseRecord, Environment, Metric, Outcome, RunRecord
from ...warehouse.log import Batch
from ...warehouse.recorder import case_ids
from ..format import Format, Head, Part, Tally, split_lines
from ..readers.csv_rows import BadRow, CsvRow, number, read_rows, reject, rows, whole
from ..readers.document import instant, labels

HEADER = ["model", "batch_size", "sequence_length", "result"]
VALUE = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ]*)")
TIME, MEMORY = "time", "memory"
NO_RESULT = {"n/a", "na", "none", "null", "nan"}  # what stands where a model failed, for lack of memory most often
UNITS = {  # unit -> what it measures, and how many ns or bytes it is; MB means 2^20 here, as in the scripts that write it
    "s": (TIME, 1e9), "ms": (TIME, 1e6), "us": (TIME, 1e3), "µs": (TIME, 1e3), "ns": (TIME, 1.0),
    "B": (MEMORY, 1.0), "KB": (MEMORY, 2.0**10), "MB": (MEMORY, 2.0**20), "GB": (MEMORY, 2.0**30),
    "KIB": (MEMORY, 2.0**10), "MIB": (MEMORY, 2.0**20), "GIB": (MEMORY, 2.0**30),
}  # fmt: skip
ENVIRONMENT = {"framework", "framework_version", "python_version", "system", "cpu"}  # keys that such a file has
PLAIN = {TIME: "s", MEMORY: "MB"}  # unit of a number that has none


class ModelCsv(Format):
    """Results of models by batch size and sequence length."""

    name = "model-csv"
    doc = "CSV of model,batch_size,sequence_length,result, and about its machine"
    becomes = "see [ingest](ingest.md#model-csv)"
    unpacks = True

    def recognise(self, head: Head) -> bool:
        """Return whether the first line is that header, or the lines say what transformers say of a machine."""
        lines = split_lines(head.text[:4096].encode("utf-8", "replace"))
        records = [row for row in rows(enumerate(lines, 1)) if not row.is_blank()]
        return bool(records) and (_is_header(records[0]) or _is_environment(records))

    def order(self, names: Iterable[str]) -> list[str]:
        """First what looks as if it were about the machine: the run is described by its first file."""
        return sorted(names, key=lambda name: (not _words(name) & {"env", "environment"}, name))

    def identity(self, name: str) -> str:
        """Return whether the name says inference or training, time or memory."""
        return f"{_mode(name)} {_metric_named(name)}"

    def read(self, part: Part, batch: Batch) -> Tally:
        """One metric a line.

        Raises:
            BenchError: Nothing says whether the results are times or sizes.
        """
        tally = Tally()
        records = read_rows(part, batch, tally)
        if records is None:
            return tally
        if not any(map(_is_header, records)) and _is_environment(records):
            _describe(records, part, batch, tally)
            return tally
        head = next((index for index, row in enumerate(records) if _is_header(row)), -1)
        records = records[head + 1 :]
        metric = part.options.metric or _metric_named(part.path.name) or _metric_of_units(records)
        if metric is None:
            raise BenchError(
                f"{part.path} does not say whether its results are times or sizes. Say it with --metric time or --metric memory"
            )
        mode = _mode(part.path.name)
        ended: dict[str, str] = {}  # cases that were announced, and how they ended last
        values: Counter[str] = Counter()  # of each case
        for row in records:
            tally.lines += 1
            try:
                case, outcome, measured = _events(row, metric, mode, part)
            except BadRow as error:
                reject(part, batch, tally, row, str(error))
                continue
            if case.case_id not in ended:
                batch.add(case)
            if measured is None or ended.get(case.case_id) != outcome.status:
                batch.add(outcome)
            ended[case.case_id] = outcome.status
            if measured is not None:
                batch.add(measured)
                values[case.case_id] += 1
            tally.loaded += 1
        if several := sum(count > 1 for count in values.values()):
            whose = "model and size has" if several == 1 else "models and sizes have"
            tally.notes.append(
                f"{part.name}: {several:,} {whose} several rows: its samples, of which views give the median"
            )
        return tally


def _is_header(row: CsvRow) -> bool:
    return [cell.lower() for cell in row.cells] == HEADER


def _is_environment(records: list[CsvRow]) -> bool:
    return {row.cells[0] for row in records if len(row.cells) == 2} >= ENVIRONMENT


def _describe(records: list[CsvRow], part: Part, batch: Batch, tally: Tally) -> None:
    """The run and its machine; each line is a record."""
    facts: dict[str, str] = {}
    for row in records:
        tally.lines += 1
        key = row.cells[0] if row.cells else ""
        if row.problem is not None or len(row.cells) != 2 or not key or key in facts:
            problem = row.problem or (
                "blank line" if row.is_blank() else f"repeats the key {key!r}" if key in facts else "no key,value"
            )
            reject(part, batch, tally, row, problem)
            continue
        facts[key] = row.cells[1]
        tally.loaded += 1
        tally.without_rows += 1
    began = instant(f"{facts.pop('date', '')} {facts.pop('time', '')}")
    gpu, gpus = facts.pop("gpu", ""), facts.get("num_gpus", "1")
    torch = facts.pop("framework_version") if facts.get("framework") == "PyTorch" else None
    ram = facts.pop("cpu_ram_mb") if re.fullmatch(r"[0-9]{1,12}", facts.get("cpu_ram_mb", "")) else None
    environment = identified(Environment(
        environment_id="", cpu=facts.pop("cpu", None), architecture=facts.pop("architecture", None), os=facts.pop("system", None),
        python=facts.pop("python_version", None), torch=torch, ram_bytes=int(ram) << 20 if ram else None,
        gpus=[gpu] * (int(gpus) if re.fullmatch(r"[1-9][0-9]?", gpus) else 1) if gpu else None, extra=labels(facts),
    ))  # fmt: skip
    batch.add(environment)
    run = RunRecord(
        run_id=part.run_id,
        config=part.config,
        source=part.format,
        started_at=began,
        environment_id=environment.environment_id,
    )
    tally.runs.append(run)
    tally.shares[part.run_id] = tally


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.lower()))


def _mode(name: str) -> str | None:
    words = _words(name)
    training, inference = bool(words & {"train", "training"}), bool(words & {"infer", "inference"})
    return None if training == inference else "training" if training else "inference"


def _metric_named(name: str) -> str | None:
    words = _words(name)
    time, memory = bool(words & {"time", "times", "speed", "latency"}), bool(words & {"memory", "mem"})
    return None if time == memory else TIME if time else MEMORY


def _metric_of_units(records: list[CsvRow]) -> str | None:
    for row in records:
        match = VALUE.fullmatch(row.cells[3]) if len(row.cells) == 4 else None
        if match and (unit := _unit(match[2])):
            return UNITS[unit][0]
    return None


def _unit(text: str) -> str | None:
    return next((unit for unit in (text, text.upper(), text.lower()) if unit in UNITS), None)


def _events(row: CsvRow, metric: str, mode: str | None, part: Part) -> tuple[CaseRecord, Outcome, Metric | None]:
    """The case of a row, how it ended, and what was measured if anything was."""
    if row.problem is not None:
        raise BadRow(row.problem)
    if row.is_blank():
        raise BadRow("blank line")
    if len(row.cells) != 4:
        raise BadRow(f"{counted(len(row.cells), 'column')}, not {len(HEADER)}")
    name, batch_size, sequence_length, result = row.cells
    if not name:
        raise BadRow("no model")
    axes: dict[str, Any] = {
        "name": name, "mode": mode, "batch_size": whole("batch_size", batch_size),
        "sequence_length": whole("sequence_length", sequence_length),
    }  # fmt: skip
    case_id, work_hash = case_ids(**axes)
    place: dict[str, Any] = {"run_id": part.run_id, "case_id": case_id, "source_id": part.source_id, "line": row.line}
    case = CaseRecord(work_hash=work_hash, **axes, **place)
    if result.lower() in NO_RESULT:
        reason = f"the file has {result!r} for its {metric}"
        return case, Outcome(status="fail_to_run", reason=reason, **place), None
    value, original_unit = _value(result, metric)
    measured = Metric(
        metric="latency" if metric == TIME else "memory", value=value, unit="ns" if metric == TIME else "bytes",
        better="lower", original_value=result, original_unit=original_unit, **place,
    )  # fmt: skip
    return case, Outcome(status="ok", **place), measured


def _value(text: str, metric: str) -> tuple[float, str]:
    """A result in ns or bytes, and the unit it was in."""
    match = VALUE.fullmatch(text)
    if match is None:
        raise BadRow(f"result is {text!r}, not a number")
    unit = _unit(match[2]) if match[2] else PLAIN[metric]
    if unit is None:
        raise BadRow(f"result is {text!r}, whose unit {match[2]!r} is unknown")
    kind, factor = UNITS[unit]
    if kind != metric:
        raise BadRow(f"result is {text!r}, which is not a {metric}")
    value = number("result", match[1])
    if value < 0:
        raise BadRow(f"result is {text!r}, below 0")
    return value * factor, match[2] or unit
