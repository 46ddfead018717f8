"""The finding of a chart of two series of scheduler steps, in one sentence: the verdicts of `bench compare` by tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..query.comparison.compare import BETTER, LIKELY_BETTER, LIKELY_WORSE, WORSE
from ..query.pasteable_sql import list_literal
from ..warehouse.console.numbers import counted, percent
from .step_filter import MAX_SCHEDULE_MS, TRIM, StepFilter
from .style.labels import labels

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_NAMED = 32  # columns of a config's name in the title
_LESS, _MORE = (*BETTER, *LIKELY_BETTER), (*WORSE, *LIKELY_WORSE)
_SQL = """SELECT
    split_part(tokens, '–', 1)::BIGINT, split_part(tokens, '–', -1)::BIGINT, span,
    CASE WHEN greatest(base_value, candidate_value) < 1e6 * $limit_ms THEN verdict END, 1 / ratio - 1, shift IS NOT NULL
FROM (
    SELECT *, json_extract_string(parameters, '$.tokens') AS tokens, json_extract_string(parameters, '$.span') AS span
    FROM comparisons({base}, {candidate})
    WHERE suite = 'scheduler' AND metric = 'model_run'
)
ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class _Range:
    """Steps of so many tokens."""

    first: int
    last: int
    verdict: str | None  # None also where one side lacks them, or half of them take longer than what is drawn
    change: float | None  # of the time, as a fraction


def of_two_series(warehouse: "Warehouse", steps: StepFilter) -> str | None:
    """The second of two series against the first, in words. With limits of the user it is unknown: verdicts are on all steps."""
    names = steps.series.names
    if len(names) != 2 or steps.trim != TRIM or steps.max_schedule_ms < MAX_SCHEDULE_MS:
        return None
    base, candidate = names
    found = time_by_tokens(
        warehouse, steps.series.runs_of[base], steps.series.runs_of[candidate], limit_ms=steps.max_model_run_ms
    )
    return found and f"{labels(names, _NAMED)[candidate]}: {found}"


def time_by_tokens(
    warehouse: "Warehouse", base: Sequence[str], candidate: Sequence[str], *, limit_ms: float
) -> str | None:
    """The difference of the candidate's model runs from the base's: `12 % less time up to 255 tokens, 7.1 % more from 512 on`.

    Only ranges of tokens count that `bench compare` calls changed, likely or beyond doubt, with its ratios.

    Args:
        warehouse: Where to look.
        base: The runs of the side to compare with.
        candidate: The runs under judgement.
        limit_ms: Steps from here on are not drawn.

    Returns:
        None where nothing changed, a factor is the machine's, or times span different things.
    """
    rows = warehouse.rows(
        _SQL.format(base=list_literal(base), candidate=list_literal(candidate)), {"limit_ms": limit_ms}
    )
    ranges = [_Range(first, last, verdict, change) for first, last, _, verdict, change, _ in rows]
    if any(of_machine for *_, of_machine in rows) or len({span for _, _, span, *_ in rows}) > 1:
        return None
    parts = sorted(
        (places, word)
        for verdicts, word in ((_LESS, "less"), (_MORE, "more"))
        if (places := [place for place, each in enumerate(ranges) if each.verdict in verdicts])
    )
    likely = [any((ranges[place].verdict or "").startswith("LIKELY") for place in places) for places, _ in parts]
    said = [
        f"{'likely ' if is_likely and not (all(likely) and nth) else ''}{_sizes(ranges, places)} {word}"
        f"{'' if nth else ' time'} {_where(ranges, places, noun=not nth)}"
        for nth, ((places, word), is_likely) in enumerate(zip(parts, likely, strict=True))
    ]
    return ", ".join(said) or None


def _sizes(ranges: Sequence[_Range], places: Sequence[int]) -> str:
    """The smallest and the largest change of some ranges: `12 %`, `13–29 %`."""
    changes = sorted(abs(ranges[place].change or 0.0) for place in places)
    ends = dict.fromkeys(map(percent, (changes[0], changes[-1])))
    return "–".join(ends).replace(" %–", "–")


def _where(ranges: Sequence[_Range], places: Sequence[int], *, noun: bool) -> str:
    """The ranges in words: of all tokens, up to a number, from one on or between two; how many of them, unless all."""
    low, high = places[0], places[-1]
    within = high + 1 - low
    some = f"in {len(places)} of {within} ranges" if len(places) < within else ""
    if low == 0 and high == len(ranges) - 1:
        return f"{some} of tokens" if some else "at any number of tokens"
    first, last = ranges[low].first, ranges[high].last
    if low == 0:
        return f"{some} up to {counted(last, 'token') if noun else f'{last:,}'}".lstrip()
    tokens = " tokens" if noun and last != 1 else ""
    if high == len(ranges) - 1:
        return f"{some} from {first:,}{tokens} on".lstrip()
    span = f"{first:,}–{last:,}" if first < last else f"{first:,}"
    return f"{some or 'at'} {'from ' if some else ''}{span}{tokens}"
