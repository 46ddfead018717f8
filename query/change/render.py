"""Histories for people: sparklines, a chart of one series, and tables in which every change carries its doubt."""

import math
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ...warehouse.console.numbers import amount, counted, duration, percent_change, probability, ratio, share_of, times
from ...warehouse.console.parameters import ParametersText, parameters_of, plain, value_text, without_shared_parameters
from ...warehouse.console.tables import escape, shorten
from ..axes import HEADINGS
from ..comparison.render import metric
from ..tables import filled
from .changepoints import LEAST_RUNS
from .history import History
from .levels import ChangePoint
from .series import SERIES, Row, Series

BLOCKS = "▁▂▃▄▅▆▇█"
NARROW = 24  # characters of a sparkline in a table
CHART_ROWS = 5
CHART_WIDTH = 100  # characters, at most, on a terminal or off it
MARKS = {"step": ("▲", "▼"), "drift": ("╱", "╲"), "excursion": ("!", "!"), "two levels": ("~", "~")}  # up, down
NOUNS = {"two levels": "alternation"}
SPIKE = 2  # runs: an excursion no longer does not set the scale
DIGITS = 9  # of a commit
FindCommit = Callable[[str, str, Row], Sequence[str] | None]
MOST_ROWS = 40  # incidents that a person reads
WHERE = 18  # characters of the suite or the model of an incident
# Columns of a table that may go where there is no room, the first ones first.
SERIES_SPARE = ("besides", "confidence", "commits", "history", "kind", "before", "after")
SPARE_OF_INCIDENTS = ("from", "to", "commits")
SHARED_BY_VALUES = (
    "config",
    *HEADINGS.values(),
    "metric",
)  # columns of the values that are said once if all are equal
PANEL = ("config", "suite", "mode", "dtype", "device", "backend")


def sparkline(values: Sequence[float | None], columns: int, rows: int = 1, apart: Collection[int] = ()) -> list[str]:
    """Draw values in blocks.

    Args:
        values: Oldest first; None is a gap, shown as a dot where there is one line.
        columns: Characters at most. Where there are more values, a character is the median of some.
        rows: Lines of text.
        apart: Places of values that do not set the scale.

    Returns:
        The lines, top first.
    """
    low, high = _scale(values, apart)
    heights = []
    for start, stop in _buckets(len(values), columns):
        here = sorted(value for value in values[start:stop] if value is not None)
        part = 0.5 if high == low else (here[(len(here) - 1) // 2] - low) / (high - low) if here else 0.0
        heights.append(1 + min(rows * len(BLOCKS) - 1, max(0, int(part * rows * len(BLOCKS)))) if here else 0)
    blank = "·" if rows == 1 else " "
    return [
        "".join(
            BLOCKS[min(over, len(BLOCKS)) - 1] if (over := height - row * len(BLOCKS)) > 0 else blank
            for height in heights
        )
        for row in range(rows - 1, -1, -1)
    ]


def _scale(values: Sequence[float | None], apart: Collection[int]) -> tuple[float, float]:
    """The smallest and largest value, without those apart unless there are no others."""
    present = {place: value for place, value in enumerate(values) if value is not None}
    scale = [value for place, value in present.items() if place not in apart] or list(present.values())
    return min(scale), max(scale)


def _apart(changes: Sequence[ChangePoint]) -> set[int]:
    """Places of short excursions."""
    short = [change for change in changes if change.kind == "excursion" and change.end - change.index < SPIKE]
    return {place for change in short for place in range(change.index, change.end + 1)}


def _buckets(count: int, columns: int) -> list[tuple[int, int]]:
    """The values that each character stands for: [start, stop)."""
    columns = min(count, columns)
    return [(count * i // columns, count * (i + 1) // columns) for i in range(columns)]


def chart(series: Series, changes: Sequence[ChangePoint]) -> list[str]:
    """One series over its runs, with a line of marks under it."""
    runs, apart = series.runs, _apart(changes)
    low, high = (amount(value, series.labels["unit"]) for value in _scale(series.values, apart))
    gutter = max(len(low), len(high))
    room = min(CHART_WIDTH, shutil.get_terminal_size((CHART_WIDTH, 0)).columns) - gutter - 2
    lines = sparkline(series.values, max(10, room), CHART_ROWS, apart)
    drawn = _buckets(len(series.values), len(lines[0]))
    marks = "".join(_mark(changes, start, stop) for start, stop in drawn)
    ends = [f"{run.began_at:%Y-%m-%d}" if run.began_at else run.run_id[:13] for run in (runs[0], runs[-1])]
    between = max(2, len(drawn) - sum(map(len, ends)))
    margin = " " * gutter
    return [
        f"{_title(series)}: {counted(series.n, 'run')}",
        "",
        *(
            f"{label:>{gutter}} │{line}".rstrip()
            for label, line in zip((high, *[""] * (CHART_ROWS - 2), low), lines, strict=True)
        ),
        f"{margin} └{'─' * len(drawn)}",
        *([f"{margin}  {marks}".rstrip()] if marks.strip() else []),
        f"{margin}  {ends[0]}{' ' * between}{ends[1]}",
        *_legend(marks),
        "",
    ]


def _mark(changes: Sequence[ChangePoint], start: int, stop: int) -> str:
    """The mark for runs [start, stop): a step before a drift before the rest."""
    for kind, (up, down) in MARKS.items():
        for change in changes:
            if change.kind == kind and change.index < stop and change.end >= start:
                return up if change.after > change.before else down
    return " "


def _legend(marks: str) -> list[str]:
    words = {"▲▼": "step", "╱╲": "drift", "!": "excursion", "~": "alternates between two levels"}
    told = [
        f"{''.join(sorted(set(mark) & set(marks)))} {word}" for mark, word in words.items() if set(mark) & set(marks)
    ]
    return ["   ".join(told)] if told else []


def _title(series: Series) -> str:
    labels = series.labels
    axes = [
        f"{HEADINGS[axis]} {labels[axis]}" for axis in ("batch_size", "sequence_length") if labels[axis] is not None
    ]
    words = [value_text(labels[axis]) for axis in ("name", "mode", "backend", "parameters")]
    return escape(f"{metric(labels)} of {' '.join(str(word) for word in (*words, *axes) if word)} ({labels['config']})")


def render_incidents(history: History) -> tuple[list[str], list[list[Any]]]:
    """The incidents as a table, MOST_ROWS at most."""
    columns = ["verdict", "since", "what", "change", "cases", "where", "commits", "from", "to", "also"]
    rows = [
        [
            row["verdict"], _stretch(row), row["metric"], percent_change(row["change"]), row["members"],
            shorten(_where(row), WHERE), commits(row),
            percent_change(row["least_change"]), percent_change(row["most_change"]), row["also"],
        ]
        for row in history.incidents[:MOST_ROWS]
    ]  # fmt: skip
    return filled(columns, rows)


def _stretch(row: Row) -> str:
    """The day when it began, and the last day of what is over."""
    if not row["since_at"]:
        return str(row["since_run_id"][:13])
    if row["lasts"] is not False or row["until_at"] is None or row["until_run_id"] == row["since_run_id"]:
        return f"{row['since_at']:%Y-%m-%d}"
    return f"{row['since_at']:%Y-%m-%d}..{row['until_at']:%m-%d}"


def _where(row: Row) -> str:
    """The model that moved alone, its suite, or how many suites; where there are none, how many models."""
    if len(row["names"]) == 1:
        return str(row["names"][0])
    if not row["suites"]:
        return f"{len(row['names'])} models" if row["names"] else ""
    return row["suites"][0] if len(row["suites"]) == 1 else f"{len(row['suites'])} suites"


def render(history: History) -> tuple[list[str], list[list[Any]]]:
    """The changes as a table, by incident, of one the largest first. Axes in which they do not differ are for `sentences`."""
    axes = _varying(history)
    told = sorted(history.rows, key=lambda row: (row["incident"], -abs(row["change"] or math.inf)))
    shared = _shared_parameters(history)
    lines = {
        _key(one.labels): sparkline(one.values, NARROW, apart=_apart(changes))[0]
        for one, changes in zip(history.series, history.changes, strict=True)
    }
    columns = [
        "incident", "verdict", *(HEADINGS.get(axis, axis) for axis in axes), "metric", "kind", "since", "commits",
        "before", "after",
        "change", "confidence", "besides", "history",
    ]  # fmt: skip
    rows = [
        [
            row["incident"] if len(history.series) > 1 else None, row["verdict"],
            *(_axis(row, axis, shared) for axis in axes), metric(row), row["kind"], _when(row), commits(row),
            _level(row, "before"), _level(row, "after"), _change(row), confidence(row["p"]), row["note"], lines[_key(row)],
        ]
        for row in told
    ]  # fmt: skip
    return filled(columns, rows)


def _axis(row: Row, axis: str, shared: Collection[str]) -> Any:
    """The value of an axis, without the parameters that are shared; in place of a suite's model, that it is a suite."""
    if axis == "parameters":
        given = parameters_of(row[axis])
        return ParametersText.of({key: value for key, value in given.items() if key not in shared})
    return "(suite)" if axis == "name" and row["name"] is None and row["case_id"] is not None else row[axis]


def _level(row: Row, which: str) -> str:
    """A level and the number of runs it is taken from."""
    return f"{amount(row[which], row['unit'])} (n={row[f'n_{which}']})"


def render_values(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """The rows of `history.values` as a table."""
    columns = [
        "config",
        *HEADINGS.values(),
        "metric",
        "began",
        "run",
        "commit",
        "value",
        "low",
        "high",
        "n",
        "status",
    ]
    shown = [
        [
            row["config"], *(value_text(row[axis]) for axis in HEADINGS), metric(row),
            row["began_at"] and row["began_at"].replace(microsecond=0), row["run_id"][:13],
            row["git_commit"] and row["git_commit"][:DIGITS],
            *(None if row[key] is None else amount(row[key], row["unit"]) for key in ("value", "low", "high")),
            row["n"], row["status"],
        ]
        for row in rows
    ]  # fmt: skip
    return filled(columns, shown)


def _labels(history: History) -> Sequence[Row]:
    """The rows whose axes the table shows: its changes, or the series where these are fewer than two."""
    return history.rows if len(history.rows) > 1 else [one.labels for one in history.series]


def _varying(history: History) -> list[str]:
    """The axes in which the rows of the table differ, and the model."""
    rows = _labels(history)
    return [axis for axis in ("config", "machine", *HEADINGS) if axis == "name" or len({row[axis] for row in rows}) > 1]


def _shared_parameters(history: History) -> dict[str, Any]:
    return without_shared_parameters([parameters_of(row["parameters"]) for row in _labels(history)])[0]


def _key(labels: Row) -> tuple[Any, ...]:
    return tuple(labels[label] for label in SERIES)


def _when(row: Row) -> str:
    since, until = (f"{at:%Y-%m-%d}" if at else run[:13] for at, run in (
        (row["since_at"], row["since_run_id"]), (row["until_at"], row["until_run_id"])
    ))  # fmt: skip
    return since if row["since_run_id"] == row["until_run_id"] else f"{since} to {until}"


def commits(row: Row) -> str | None:
    """The range of commits that contains the cause, as git writes it."""
    good, bad = row["good_commit"], row[f"{_arrival(row)}_commit"]
    return f"{good[:DIGITS]}..{bad[:DIGITS]}" if good and bad and good != bad else None


def _arrival(row: Row) -> str:
    """The first run at the new level; of an excursion, that since which it lasts."""
    return "since" if row["kind"] == "excursion" else "until"


def _change(row: Row) -> str | None:
    return percent_change(row["change"], row["low"], row["high"])


def confidence(p: float) -> str:
    """1 - p in percent, never rounded up to certainty."""
    return probability(1 - p, 2)


def sentences(
    history: History, unusual: Sequence[str], find: FindCommit | None = None, *, members: bool = False
) -> Iterator[str]:
    """Sentences below the table: what was judged and how, what was left out, what to do next.

    `unusual` was left out because no metric was named; `find` gives the command that finds the commit of a change; with
    `members` the table has the changes, not the incidents.
    """
    varying, first = _varying(history), _labels(history)[0]
    axes = [axis for axis in ("config", *HEADINGS) if axis not in (*varying, "parameters")]
    shared = {HEADINGS.get(axis, axis): first[axis] for axis in axes} | _shared_parameters(history)
    if said := [f"{axis} {plain(value)}" for axis, value in shared.items() if value is not None]:
        yield f"all: {escape(', '.join(said))}"
    kinds = Counter(row["kind"] for row in history.rows)
    *others, last = [counted(count, NOUNS.get(str(kind), str(kind))) for kind, count in kinds.items()] or [""]
    found = f"{', '.join(others)} and {last}" if others else last
    changed = len({_key(row) for row in history.rows})
    if changed:
        yield f"{found} in {changed} of {history.judged} series judged; a change counts up to p = {history.threshold:.2g}"
    else:
        yield f"no change found in {history.judged} series judged"
    if history.incidents and not members:
        shown = f", of which the first {MOST_ROWS} are shown" if len(history.incidents) > MOST_ROWS else ""
        found = f"{counted(len(history.rows), 'change')} in {counted(len(history.incidents), 'incident')}{shown}"
        yield f"{found}; list the changes with: --members"
    if short := [one.labels["machine"] for one in history.series if one.n < LEAST_RUNS]:
        machines = sorted({machine for machine in short if machine is not None})
        where = f" on {escape(' and on '.join(machines))}" if machines and None not in short else ""
        judged = "; their newest runs are judged by: bench regressions" if where else ""
        yield f"{len(short)} series not judged: fewer than the {LEAST_RUNS} runs it takes{where}{judged}"
    if new := sum(map(_ends_apart, history.series, history.changes)):
        yield f"series that end in an excursion, too new to tell from a step: {new}"
    if unusual:
        yield f"only if named with --metrics: {escape(', '.join(unusual))}"
    if history.rows:
        metric_of_first = history.incidents[0]["metric"]
        lead = [row for row in history.rows if row["incident"] == 1 and row["metric"] == metric_of_first]
        largest = max(lead or history.rows, key=lambda row: abs(row["change"] or 0))
        if largest["good_run_id"]:
            good, bad = (shlex.quote(largest[f"{run}_run_id"][:13]) for run in ("good", _arrival(largest)))
            yield f"see the largest with: bench compare {good} {bad}"
        if among := commits(largest):
            yield f"its cause is among: git log {escape(shlex.quote(among))}"
            if find and (words := find(largest[f"{_arrival(largest)}_run_id"], among, largest)):
                yield f"find the commit with: {escape(shlex.join(words))}"


def _ends_apart(series: Series, changes: Sequence[ChangePoint]) -> bool:
    return bool(changes) and changes[-1].kind == "excursion" and changes[-1].end == len(series.values) - 1


MEASURES: dict[str, tuple[str, Callable[[Row], str | None]]] = {  # of the macro `history`, and `rate`
    "speedup": ("geomean", lambda row: ratio(row["speedup"], row["low"], row["high"], row["n"])),
    "rate": ("pass rate", lambda row: f"{share_of(row['passing'], row['total'])}, {row['passing']}/{row['total']}"),
    "mean_seconds": ("compile time", lambda row: duration(row["mean_seconds"] * 1e9)),
    "mean_ratio": ("memory compression", lambda row: times(row["mean_ratio"])),
}


def summary(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Rows of the macro `history` as a table: of each panel and backend a line for each measure, oldest run left."""
    panels: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        rate = row["passing"] / row["total"] if row["total"] else None
        panels.setdefault(tuple(row[axis] for axis in PANEL), []).append({**row, "rate": rate})
    varying = [i for i, axis in enumerate(PANEL) if axis == "backend" or len({panel[i] for panel in panels}) > 1]
    table = []
    for panel, history in panels.items():
        for key, (name, shown) in MEASURES.items():
            present = [row for row in history if row[key] is not None]
            if present:
                line = sparkline([row[key] for row in history], len(history))[0]
                last = shown(history[-1]) if history[-1][key] is not None else "–"
                table.append([*(panel[i] for i in varying), name, shown(present[0]), line, last])
    return [*(PANEL[i] for i in varying), "measure", "oldest", "history", "latest"], table
