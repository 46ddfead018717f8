"""github-action-benchmark: the history by commit it publishes (data.js) or keeps as JSON, and the JSON it is given."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...warehouse.events import Instant, as_json
from ..format import FILE, Head
from ..readers.document import BadRecord, Object, decode, instant, show
from ..readers.json_format import JsonFormat, ListFormat, UnlocatedRecords
from ..readers.results import Results, Subject, number
from ..readers.units import unit_of

SCRIPT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=")
STATISTICS = {"cargo": "median", "julia": "estimate"}  # what the number of a tool is; of most it is a mean
CUSTOM = {"customBiggerIsBetter": "higher", "customSmallerIsBetter": "lower"}
PAIR = re.compile(r"(\w[\w ]*): *([-+\d.eE]+) *([^\s\d]*)")  # mean: 77.7 usec
COUNT = re.compile(r"([\d]+) +([a-z]+)")  # 5000000 times
METRICS = {"ns": "latency", "ops/s": "throughput"}


class GithubAction(JsonFormat):
    """Results of github-action-benchmark."""

    name = "github-action-benchmark"
    doc = "github-action-benchmark data.js or its JSON"
    becomes = "latency, throughput or value by the unit; `range` → _stddev or _range; numbers in `extra` → metrics"

    runs = FILE
    histories = True

    def recognise(self, head: Head) -> bool:
        """Return whether entries hold benchmarks, whatever their suite is called."""
        return any(path.startswith("entries.") and path.endswith("[].benches") for path in head.paths)

    def parse(self, text: str) -> Any:
        """Without the assignment around it."""
        match = SCRIPT.match(text)
        return decode(text[match.end() :].strip().removesuffix(";") if match else text)

    def open(self, document: Any, results: Results) -> Iterable[Any]:
        """One run an entry."""
        about = {key: value for key, value in document.items() if key != "entries"}
        return self._benches(document.section("entries"), about, results)

    def _benches(self, entries: Object, about: dict[str, Any], results: Results) -> Iterator[Any]:
        for suite in entries:
            try:
                history = entries.array(suite)
            except BadRecord as error:
                yield UnlocatedRecords(entries[suite], error)
                continue
            for entry in history:
                try:
                    benches = _run(suite, entry, about, results)
                except BadRecord as error:
                    yield UnlocatedRecords(entry, error)
                else:
                    yield from benches

    def load(self, record: Object, results: Results) -> None:
        """One benchmark of one entry."""
        suite, tool = results.context
        _bench(record, results.case(record.name("name"), suite=suite), tool)


class GithubActionCustom(ListFormat):
    """Results that a tool wrote for github-action-benchmark."""

    name = "github-action-custom"
    doc = "JSON for github-action-benchmark (customBiggerIsBetter, customSmallerIsBetter)"
    becomes = "as `github-action-benchmark`; the unit alone says what is better"
    shapes = (frozenset({"[].name", "[].unit", "[].value"}),)

    def load(self, record: Object, results: Results) -> None:
        """One benchmark."""
        unit = record.get("unit")
        _bench(record, results.case(record.name("name")), "custom")
        if isinstance(unit, str) and unit_of(unit).better is None:
            results.note(
                f"a unit such as {show(unit)} does not say which direction is better, nor does the file; say it with: --map "
                "name=name,value=value,unit=unit,better=higher (or lower)"
            )


def _bench(record: Object, case: Subject, tool: str) -> None:
    value, unit = record.take("value"), record.text("unit")
    if number(value) is None:
        raise BadRecord(f"value is {as_json(value)[:60]}, not a number")
    is_custom = tool.startswith("custom")
    better = CUSTOM.get(tool) or unit_of(unit).better
    metric = METRICS.get(unit_of(unit).name or "", "value")
    case.metric(metric, value, unit, statistic=None if is_custom else STATISTICS.get(tool, "mean"), better=better)
    _range(record.take("range"), metric, unit, case)
    for line in (record.text("extra") or "").split("\n"):
        _extra(line.strip(), case)
    case.fields(record.left())


def _run(suite: str, entry: Any, about: dict[str, Any], results: Results) -> list[Any]:
    """Describe the run of an entry, and give its benchmarks."""
    if not isinstance(entry, Object):
        raise BadRecord("not an object")
    benches, tool, commit = entry.array("benches"), entry.text("tool") or "", entry.section("commit")
    revision, began = commit.text("id"), _moment(entry, commit)
    results.context = (suite, tool)
    results.run(
        content=f"{suite}\n{as_json(entry)}", suite=suite, git_commit=revision, started_at=began,
        tags={"tool": tool, **about, **entry.left()},
    )  # fmt: skip
    return benches


def _moment(entry: Object, commit: Object) -> Instant | None:
    """The time of the measurement, else of the commit."""
    return entry.moment("date") or instant(commit.get("timestamp"))


def _range(said: Any, metric: str, unit: str | None, case: Subject) -> None:
    """The spread: `stddev: 0.01` in seconds, `± 4` or a bare number in the unit of the value."""
    if said is None:
        return
    text = said if isinstance(said, str) else as_json(said)
    label, _, spread = text.partition(":" if text.startswith("stddev") else "±")
    if number(text) is not None:
        spread = text
    if number(spread) is None:
        case.text("range", text)
    elif label == "stddev":
        case.metric("latency", spread, "s", statistic="stddev")
    else:
        case.metric(metric, spread, unit, statistic="range")


def _extra(line: str, case: Subject) -> None:
    """One line of what else a tool said: `mean: 77.7 usec`, `5000000 times`."""
    if pair := PAIR.fullmatch(line):
        name, value, unit = pair[1], pair[2], pair[3] or "count"
        if unit_of(unit).name == "ns":
            statistic = None if name == "cpu" else name
            case.metric("cpu_time" if name == "cpu" else "latency", value, unit, statistic=statistic or "mean")
        else:
            case.metric(name, value, unit)
    elif count := COUNT.fullmatch(line):
        case.metric(count[2], count[1], "count")
    elif line:
        case.text("extra", line)
