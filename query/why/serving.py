"""The time of requests by what they waited for: the queue, the prefill, their tokens, and stalls between these."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ...warehouse.console.numbers import percent
from ..comparison.serving import compare_served
from ..comparison.sides import Side
from .parts import Decomposition, DifferencePart, decomposed, ends
from .sources import Row, Sides, whole_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...warehouse.database import Warehouse

QUANTILE = re.compile(r"(ttft|tpot|e2e)_p(50|90|99)")  # metrics of `bench compare --slo`
SPANS = {"latency": "e2e", "ttft": "ttft", "tpot": "tpot", "itl": "itl"}  # by metric, whose median a comparison has
STRETCHES = 10  # of the requests of a run, in order of their arrival
WIDEST = 0.1  # half of the requests that stand for the one at a quantile, as a share of all; fewer near an end
FEWEST = 20  # of these that tell an interval
_NS_IN_MS = 1e6
_TIMES = """
    SELECT
        run_id, ttft_ms AS ttft, e2e_ms AS e2e, tpot_ms AS tpot, tokens_out - 1 AS tokens, queue_ms AS queue,
        prefill_ms AS prefill, gaps::DOUBLE AS gaps, gaps_ms / nullif(gaps, 0) AS itl, stalls_ms AS stalls
    FROM request_times(?)
    WHERE case_id = ?
    ORDER BY run_id, arrival_s, e2e_ms
"""
DECODE, WHOLE, AT, TOKENS = "decode", "whole", "at", "tokens"  # means that are no parts, or become two
Columns = dict[str, "NDArray[np.float64]"]
Means = Mapping[str, float]
Effect = Callable[[Means, Means], float]  # of base and candidate
Term = Callable[[Columns], "NDArray[np.float64]"]

_IN_ENGINE: dict[str, Term] = {
    "queue": lambda of: of["queue"],
    "prefill": lambda of: of["prefill"],
    "outside the engine, until the first token": lambda of: of["ttft"] - of["queue"] - of["prefill"],
}
_FIRST: dict[str, Term] = {"until the first token": lambda of: of["ttft"]}
_ANY_GAP: dict[str, Term] = {DECODE: lambda of: of["e2e"] - of["ttft"]}
_USUAL, _STALLS = "usual gaps between tokens", "stalls between tokens"
_GAPS: dict[str, dict[str, Term]] = {  # of each time that has any
    "e2e": {DECODE: lambda of: of["e2e"] - of["ttft"] - of["stalls"], _STALLS: lambda of: of["stalls"]},
    "tpot": {_USUAL: lambda of: of["tpot"] - of["stalls"] / of[TOKENS], _STALLS: lambda of: of["stalls"] / of[TOKENS]},
    "itl": {_USUAL: lambda of: of["itl"] - of["stalls"] / of["gaps"], _STALLS: lambda of: of["stalls"] / of["gaps"]},
}


def quantile_rows(warehouse: "Warehouse", sides: Sides, metric: str) -> list[Row]:
    """The rows of `serving_comparisons` of such a metric as a comparison has them, in ns."""
    rows = compare_served(warehouse, *sides, {}, floor=None, fdr=0.05, metrics=[metric])
    return [
        {
            **row, "suite": "serving", "unit": "ns", "batch_size": None, "sequence_length": None,
            **{side: row[side] * _NS_IN_MS for side in ("base_value", "candidate_value")},
        }
        for row in rows
    ]  # fmt: skip


def by_request(warehouse: "Warehouse", sides: Sides, row: Row) -> Decomposition | None:
    """The time of requests in parts that add up; None for other cases, and where too little is recorded.

    The request at a quantile is the mean of those around it, whose parts add up to its time. Intervals are those of a jackknife:
    over the runs of a side, else over ten stretches of its only run, for neighbouring requests share queue and batch.
    """
    quantile = QUANTILE.fullmatch(row["metric"])
    span = quantile[1] if quantile else SPANS.get(row["metric"])
    if row["suite"] != "serving" or span is None:
        return None
    place = None if span == "itl" else int(quantile[2]) / 100 if quantile else 0.5
    runs = [_requests(warehouse, side, row["case_id"], span) for side in sides]
    if not all(runs) or not (terms := _terms(span, [run for side in runs for run in side])):
        return None
    base, candidate = (SideMeans.of(side, terms, span, place) for side in runs)
    parts = [*_parts(terms, base, candidate)]
    notes = [_note(span, place, terms)]
    if place is None:
        whole = part_between(f"{row['name']}: mean gap", _of(WHOLE), base, candidate, shown=WHOLE)
        whole = replace(whole, difference=math.fsum(part.difference for part in parts))  # but for rounding it is
        return decomposed("ns", whole, parts, error=0.0, notes=notes)
    whole = replace(whole_of(row), name=f"{row['name']}: {row['metric']}")
    left = part_between("", lambda one, other: other[AT] - other[WHOLE] - one[AT] + one[WHOLE], base, candidate)
    error = math.nan if left.high is None else left.high - left.difference
    return decomposed("ns", whole, parts, error=error, notes=notes)


def _requests(warehouse: "Warehouse", side: Side, case_id: str, span: str) -> list[Columns]:
    """The times of each run's requests that have such a time, in ns and in order of arrival; NaN is not known."""
    import numpy as np

    found = warehouse.connection.execute(_TIMES, [list(side.runs), case_id]).fetchnumpy()
    runs = np.asarray(found.pop("run_id"))
    columns: Columns = {name: np.ma.filled(np.ma.asarray(values, float), np.nan) for name, values in found.items()}
    for name in columns.keys() - {TOKENS, "gaps"}:
        columns[name] *= _NS_IN_MS
    known = np.isfinite(columns[span]) & (np.isfinite(columns["ttft"]) | (span != "e2e"))
    return [
        {name: values[chosen] for name, values in columns.items()}
        for run in dict.fromkeys(runs)
        if (chosen := known & (runs == run)).any()
    ]


def _terms(span: str, runs: Sequence[Columns]) -> dict[str, Term]:
    """The parts of a time that all requests have; none where it has no parts."""
    import numpy as np

    has = {name: all(np.isfinite(run[name]).all() for run in runs) for name in ("queue", "prefill", "stalls")}
    first = (_IN_ENGINE if has["queue"] and has["prefill"] else _FIRST) if span in ("e2e", "ttft") else {}
    then = _GAPS[span] if has["stalls"] and span != "ttft" else _ANY_GAP if span == "e2e" else {}
    terms = {**first, **then}
    return terms if len(terms) > 1 else {}


@dataclass(frozen=True, slots=True)
class SideMeans:
    """The mean parts of the requests of a side that count, and the same without each run or stretch of its time."""

    means: Means
    without: Sequence[Means]  # none where that tells nothing

    @classmethod
    def of(cls, runs: Sequence[Columns], terms: Mapping[str, Term], span: str, place: float | None) -> "SideMeans":
        """Those of some runs."""
        import numpy as np

        each = [_means(run, terms, span, place) for run in runs]
        if len(runs) > 1:
            left = [_together([*each[:at], *each[at + 1 :]]) for at in range(len(each))]
            return cls(_together(each), left)
        size = len(runs[0][span])
        if size * 2 * _width(place) < FEWEST:
            return cls(each[0], [])
        stretches = np.arange(size) * STRETCHES // size
        left = [
            _means({name: values[stretches != at] for name, values in runs[0].items()}, terms, span, place)
            for at in range(STRETCHES)
        ]
        return cls(each[0], left)

    def error(self, effect: Callable[[Means], float]) -> float:
        """Half of the 95 % interval of what an effect makes of the means; NaN where it is not known."""
        from scipy.special import stdtrit

        count = len(self.without)
        if count < 2:
            return math.nan
        values = [effect(means) for means in self.without]
        mean = math.fsum(values) / count
        spread = math.sqrt((count - 1) / count * math.fsum((value - mean) ** 2 for value in values))
        return float(stdtrit(count - 1, 0.975)) * spread


def _width(place: float | None) -> float:
    """Half of the requests that stand for the one at a place, as a share of all."""
    return 0.5 if place is None else min(WIDEST, (1 - place) / 2)


def _means(run: Columns, terms: Mapping[str, Term], span: str, place: float | None) -> Means:
    """The mean of each term over the requests around a place in the order of their time; of all gaps without a place."""
    import numpy as np

    times, weights = run[span], run["gaps"] if place is None else None
    if place is not None:
        ranks = (np.argsort(np.argsort(times, kind="stable"), kind="stable") + 0.5) / len(times)
        distance = np.abs(ranks - place)
        chosen = distance <= max(_width(place), float(distance.min()))
        run = {name: values[chosen] for name, values in run.items()}
    values = {name: term(run) for name, term in terms.items()} | {WHOLE: run[span]}
    found = {name: float(np.average(column, weights=weights)) for name, column in values.items()}
    return found | {
        TOKENS: float(np.mean(run[TOKENS])), AT: found[WHOLE] if place is None else float(np.quantile(times, place)),
    }  # fmt: skip


def _together(each: Sequence[Means]) -> Means:
    return {name: math.fsum(means[name] for means in each) / len(each) for name in each[0]}


def _parts(terms: Mapping[str, Term], base: SideMeans, candidate: SideMeans) -> Iterator[DifferencePart]:
    for name in terms:
        if name == DECODE and base.means[TOKENS] > 0 and candidate.means[TOKENS] > 0:
            tokens = (base.means[TOKENS] + candidate.means[TOKENS]) / 2
            one, other = (side.means[name] / side.means[TOKENS] * tokens for side in (base, candidate))
            yield replace(part_between("decode: time per token", _cost, base, candidate), base=one, candidate=other)
            yield part_between("decode: number of tokens", _count, base, candidate)
        else:
            yield part_between(name, _of(name), base, candidate, shown=name)


def _of(name: str) -> Effect:
    return lambda one, other: other[name] - one[name]


def _cost(one: Means, other: Means) -> float:
    """The time that a token takes more, for the mean number of tokens of both sides."""
    paces = one[DECODE] / one[TOKENS], other[DECODE] / other[TOKENS]
    return (paces[1] - paces[0]) * (one[TOKENS] + other[TOKENS]) / 2


def _count(one: Means, other: Means) -> float:
    """The time of further tokens, at the mean time of one."""
    paces = one[DECODE] / one[TOKENS], other[DECODE] / other[TOKENS]
    return (other[TOKENS] - one[TOKENS]) * sum(paces) / 2


def part_between(
    name: str, effect: Effect, base: SideMeans, candidate: SideMeans, *, shown: str = ""
) -> DifferencePart:
    """A part with its interval: what either side's runs or stretches tell, independent of the other's."""
    errors = base.error(lambda one: effect(one, candidate.means)), candidate.error(partial(effect, base.means))
    difference = effect(base.means, candidate.means)
    one, other = (side.means[shown] if shown else None for side in (base, candidate))
    return DifferencePart(name, one, other, difference, *ends(difference, math.hypot(*errors)))


def _note(span: str, place: float | None, terms: Mapping[str, Term]) -> str:
    if place is None:
        how = "the mean of all gaps, for their median is a single gap"
    else:
        how = f"the parts are means over the {percent(2 * _width(place), 0)} of requests around that one"
    if _STALLS in terms:
        how += "; a stall is what a gap takes beyond twice the median gap of its side"
    return how if span != "e2e" or "queue" in terms else f"{how}; how long the engine queued them is not recorded"
