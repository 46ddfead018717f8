"""Two servers compared: goodput within limits chosen now, and quantiles of requests, side by side."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, change_of, percent
from ...warehouse.console.parameters import value_text
from ...warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from .compare import BETTER, LIKELY_BETTER, LIKELY_WORSE, WORSE
from .sides import Side

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

LIMITS = ("ttft", "tpot", "e2e")
ORDER = (*WORSE, *LIKELY_WORSE, *BETTER, *LIKELY_BETTER, "UNSURE", "SAME")
NONE_KEPT = (
    "Tools write requests one by one only if asked: vllm bench serve --save-result --save-detailed,"
    " sglang.bench_serving --output-details. Then load them with: bench ingest NAME:PATH"
)
NS = {"ms": ("ns", 1e6)}  # units that are printed as others, which have a scale of their own


def read_limit(value: str | float) -> float:
    """A limit in ms, such as 200, '200' or '200ms'.

    Raises:
        BenchError: It is no time above 0.
    """
    try:
        limit = float(value.removesuffix("ms") if isinstance(value, str) else value)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise BenchError(f"{value!r} is not a limit. Write it in ms, such as 200")
    return limit


def read_limits(texts: Sequence[str]) -> dict[str, float]:
    """Limits in ms, of texts such as ttft=200.

    Raises:
        BenchError: A text is no limit.
        UnknownName: It limits something else.
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if name and name not in LIMITS:
            raise UnknownName("limit", name, LIMITS, cure="Write it as ttft=200, in ms")
        if not equals:
            raise BenchError(f"--slo {text!r} is not METRIC=MS, such as ttft=200; metrics: {', '.join(LIMITS)}")
        if name in limits:
            raise BenchError(f"--slo limits {name} twice. Give one limit of each metric")
        limits[name] = read_limit(value)
    return limits


def compare_served(
    warehouse: "Warehouse", base: Side, candidate: Side, limits: Mapping[str, float], *, floor: float | None, fdr: float,
    metrics: Sequence[str] = (),
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of `serving_comparisons`, what got worse first.

    Raises:
        UnknownName: There is no such metric.
        NothingToShow: The sides have no case of a serving benchmark in common.
    """
    arguments: dict[str, Any] = {
        "base": [*base.runs], "candidate": [*candidate.runs], "floor": floor, "fdr": fdr, "ttft": None, "tpot": None, "e2e": None,
    } | dict(limits)  # fmt: skip
    rows = warehouse.dicts(
        "FROM serving_comparisons($base::VARCHAR[], $candidate::VARCHAR[], ttft := $ttft::DOUBLE, tpot := $tpot::DOUBLE,"
        f" e2e := $e2e::DOUBLE, floor := $floor::DOUBLE, fdr := $fdr::DOUBLE) ORDER BY list_position({[*ORDER]}, verdict),"
        " abs(ln(nullif(ratio, 0))) DESC NULLS FIRST, name, parameters, metric",
        arguments,
    )
    if not rows:
        raise _nothing_in_common(warehouse, base, candidate)
    known = {row["metric"] for row in rows}
    for metric in metrics:
        if metric not in known:
            raise UnknownName("metric", metric, sorted(known), where="serving_comparisons")
    return [row for row in rows if not metrics or row["metric"] in metrics]


def _nothing_in_common(warehouse: "Warehouse", *sides: Side) -> NothingToShow:
    """The error that says which side has no requests, or in what the cases of both differ."""
    found = []
    for side in sides:
        rows = warehouse.rows(
            "SELECT DISTINCT name, backend, parameters FROM requests JOIN case_axes USING (case_id)"
            " WHERE list_contains(?::VARCHAR[], run_id)",
            [[*side.runs]],
        )
        if not rows:
            return NothingToShow(f"{side.name} has no requests of a serving benchmark. {NONE_KEPT}")
        values: dict[str, set[str]] = {}
        for name, backend, parameters in rows:
            for axis, value in {"name": name, "engine": backend, **json.loads(parameters or "{}")}.items():
                values.setdefault(axis, set()).add(str(value))
        found.append(values)
    base, candidate = found
    axes = [
        axis for axis in dict.fromkeys([*base, *candidate]) if not base.get(axis, set()) & candidate.get(axis, set())
    ]
    differ = ", ".join(axes[:5]) or "several parameters together"
    return NothingToShow(
        f"{sides[0].name} and {sides[1].name} have no case of a serving benchmark in common: they differ in {differ}."
        " Draw both with: bench viz pareto"
    )


def render_served(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """The rows as a table for people."""
    columns = ["name", "parameters", "metric", "base", "candidate", "change", "verdict", "intervals by"]
    return columns, [
        [
            row["name"], value_text(row["parameters"]), row["metric"],
            _amount(row["base_value"], row["unit"]),
            _amount(row["candidate_value"], row["unit"]),
            change_of({**row, "unit": NS.get(row["unit"], (row["unit"],))[0]}), row["verdict"], row["evidence"],
        ]
        for row in rows
    ]  # fmt: skip


def _amount(value: float, unit: str) -> str | None:
    if unit == "ratio":
        return percent(value, 1)
    name, factor = NS.get(unit, (unit, 1.0))
    return amount(value * factor, name)


def sentences_of_served(rows: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> Iterator[str]:
    """Sentences on goodput, the verdicts, and their limits."""
    given = ", ".join(f"{name} within {limit:g} ms" for name, limit in limits.items())
    yield (
        f"goodput counts requests with {given}" if given else "no limits given: goodput counts requests that completed"
    )
    counts = Counter(row["verdict"] for row in rows)
    yield ", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER if counts[verdict])
    if any("blocks" in row["evidence"] for row in rows):
        yield "blocks of one run do not say how the next run would differ, which is assumed: measure each side again"


def exit_code_of_served(rows: Sequence[Mapping[str, Any]], *, likely: bool = False) -> Exit:
    """1 if anything got worse, or likely so; 4 if nothing could be judged."""
    verdicts = {row["verdict"] for row in rows}
    is_worse = not verdicts.isdisjoint((*WORSE, *LIKELY_WORSE) if likely else WORSE)
    return Exit.FAILED if is_worse else Exit.OK if verdicts - {"UNSURE"} else Exit.TOO_LITTLE
