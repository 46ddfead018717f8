"""The findings of a search's runs: which commit, how sure, how large, what cannot be told apart, and what to measure next."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .next_revision import next_places
from .search import SEARCH_FLOOR, BisectRun, Bracket, ChangePosterior, brackets, failing_posterior, posterior

if TYPE_CHECKING:
    import numpy as np

TRIES = 2  # measurements of a revision that fail before it counts as one that cannot be measured
LIKELY = 0.8  # probability from which another change is worth a word
OTHERS_NOTHING = 0.75  # prior that nothing else changed on either side of a change
SURE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectQuestion:
    """The recorded goal of a search."""

    search: str
    good: str
    bad: str
    commits: Sequence[str]  # in order, the good one first
    unchanged: Collection[int] = ()  # places whose tree is that of the place before
    measure: str = ""  # the command, as a shell takes it
    finds: str = "change"  # or failure
    metric: str | None = "latency"
    phase: str | None = "steady"
    models: Sequence[str] = ()
    backends: Sequence[str] = ()
    floor: float = SEARCH_FLOOR
    confidence: float = SURE

    @property
    def last(self) -> int:
        """Place of the bad commit."""
        return len(self.commits) - 1


@dataclass(frozen=True, slots=True)
class RevisionRun:
    """One run of a revision: its value, or why it has none."""

    place: int
    host: str
    status: str  # ok, failed, not prepared, interrupted
    value: float | None = None  # geometric mean over the cases
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change, and the commits it is among."""

    bracket: Bracket
    effect: float  # ln(after / before), NaN of failures
    low: float
    high: float
    named: bool  # as sure as was asked for


@dataclass(frozen=True, slots=True)
class BisectFindings:
    """The findings of a search."""

    question: BisectQuestion
    runs: Sequence[RevisionRun]
    unusable: Mapping[int, str]  # place → not prepared or failed
    probability: "np.typing.NDArray[np.float64]"  # by commit, 0: that nothing changed
    noise: float
    status: str  # found, nothing, open
    change: FoundChange | None  # the largest
    others: Sequence[FoundChange] = ()
    doubt: FoundChange | None = None  # of an open search: the commits that hold it, as sure as was asked for
    following: Sequence[int] = field(default=())  # places to measure next

    @property
    def measured(self) -> int:
        """Runs that tell something."""
        return sum(_tells(self.question, run) for run in self.runs)

    @property
    def revisions(self) -> int:
        """Revisions among them."""
        return len({run.place for run in self.runs if _tells(self.question, run)})


def _tells(question: BisectQuestion, run: RevisionRun) -> bool:
    return (run.status == "ok" and run.value is not None) or (question.finds == "failure" and run.status == "failed")


def unusable_places(question: BisectQuestion, runs: Sequence[RevisionRun]) -> dict[int, str]:
    """Places that cannot be measured, and why: the build failed, or TRIES measurements did and none succeeded."""
    known = {run.place for run in runs if _tells(question, run)}
    counts = Counter((run.place, run.status) for run in runs if run.place not in known)
    return {
        place: status
        for (place, status), count in sorted(counts.items())
        if status == "not prepared" or (status == "failed" and count >= TRIES)
    }


def conclude(
    question: BisectQuestion, runs: Sequence[RevisionRun], *, count: int = 1, host: str = "", taken: Sequence[int] = ()
) -> BisectFindings:  # fmt: skip
    """Judge the runs of a search.

    After a change is found, both sides of it are judged by themselves. Where one holds a larger change, the search goes on
    there, so that the largest is named. `count` revisions are to be measured next, on `host`; places in `taken` are measured by
    other machines.
    """
    unusable = unusable_places(question, runs)
    if not any(_tells(question, run) for run in runs):
        return _unmeasured(question, runs, unusable, count)
    # Each machine has a level of its own: it must know its ends itself.
    counts = Counter(run.place for run in runs if run.place not in unusable and run.host == host)
    counts.update(taken)
    asks: dict[str, Any] = {"count": count, "counts": counts, "unusable": unusable, "taken": taken}
    whole = _judge(question, runs, 0, question.last, host)
    change = _largest(question, whole, 0, unusable)
    status = _status(question, whole, change)
    following: Sequence[int] = () if status != "open" else next_places(whole, **asks)
    if status != "found" or change is None:
        doubt = _range(question, whole, unusable) if status == "open" else None
        return BisectFindings(
            question, runs, unusable, whole.probability, whole.noise, status, None, (), doubt, following
        )
    others = []
    for first, last in ((0, change.bracket.first - 1), (change.bracket.last, question.last)):
        inside = [run for run in runs if first <= run.place <= last and _tells(question, run)]
        if question.finds == "failure" or len({run.place for run in inside}) < 2:
            continue
        part = _judge(question, inside, first, last, host, nothing=OTHERS_NOTHING)
        if 1 - part.nothing < LIKELY:
            continue
        other = _largest(question, part, first, unusable)
        if other is None:
            continue
        larger = abs(other.effect) > abs(change.effect)
        if not other.named:
            if larger and not following:
                near = {place - first: n for place, n in counts.items() if first <= place <= last}
                near |= {0: 99, last - first: 99}  # its ends are known
                held = {place - first for place in unusable if first <= place <= last}
                following = [first + place for place in next_places(part, near, count=count, unusable=held)]
            other = _range(question, part, unusable, first)
        others.append(other)
    if following:
        status = "open"
    everything = sorted([change, *others], key=lambda one: -abs(one.effect) if one.named else 0.0)
    return BisectFindings(
        question, runs, unusable, whole.probability, whole.noise, status, everything[0], tuple(everything[1:]), None, following
    )  # fmt: skip


def _unmeasured(
    question: BisectQuestion, runs: Sequence[RevisionRun], unusable: Mapping[int, str], count: int
) -> BisectFindings:
    """Before any run tells something: both ends come first, as far as they can be measured."""
    from .search import commit_prior

    ends = [place for place in dict.fromkeys((0, question.last)) if place not in unusable]
    prior = commit_prior(question.last, question.unchanged)
    return BisectFindings(question, runs, unusable, prior, math.nan, "open", None, (), None, ends[: max(count, 1)])


def _judge(
    question: BisectQuestion, runs: Sequence[RevisionRun], first: int, last: int, host: str, **prior: Any
) -> ChangePosterior:
    """The posterior over the commits after `first` up to `last`."""
    unchanged = {place - first for place in question.unchanged if first < place <= last}
    telling = [run for run in runs if _tells(question, run) and first <= run.place <= last]
    if question.finds == "failure":
        failed = [BisectRun(run.place - first, float(run.status == "failed")) for run in telling]
        return failing_posterior(failed, last - first, unchanged=unchanged, **prior)
    values = [BisectRun(run.place - first, math.log(run.value or 1.0), run.host) for run in telling]
    return posterior(values, last - first, unchanged=unchanged, floor=question.floor, host=host, **prior)


def _status(question: BisectQuestion, found: ChangePosterior, change: FoundChange | None) -> str:
    if change is not None and change.named:
        return "found"
    return "nothing" if found.nothing >= question.confidence else "open"


def _largest(
    question: BisectQuestion, found: ChangePosterior, first: int, unusable: Collection[int]
) -> FoundChange | None:
    """The commits that the change is most likely among."""
    held = {place - first for place in unusable}
    best = max(brackets(found.probability, held), key=lambda one: one.probability, default=None)
    if best is None:
        return None
    return FoundChange(
        _moved(_trimmed(best, found), first),
        found.effect,
        found.low,
        found.high,
        best.probability >= question.confidence,
    )


def _range(question: BisectQuestion, found: ChangePosterior, unusable: Collection[int], first: int = 0) -> FoundChange:
    """The shortest stretch of commits that holds the change as surely as was asked for, if anything changed."""
    held = {place - first for place in unusable}
    parts = brackets(found.probability, held)
    whole = math.fsum(one.probability for one in parts) or 1.0
    best = (parts[0].first, parts[-1].last, whole)
    for start in range(len(parts)):
        total = 0.0
        for stop in range(start, len(parts)):
            total += parts[stop].probability
            if total >= question.confidence * whole:
                candidate = (parts[start].first, parts[stop].last, total)
                best = min(best, candidate, key=lambda one: (one[1] - one[0], -one[2]))
                break
        if total < question.confidence * whole:
            break
    return FoundChange(_moved(Bracket(*best), first), found.effect, found.low, found.high, False)


def _trimmed(bracket: Bracket, found: ChangePosterior) -> Bracket:
    """Without commits at its ends that cannot have changed anything."""
    inside = [place for place in range(bracket.first, bracket.last + 1) if found.probability[place] > 0]
    return Bracket(inside[0], inside[-1], bracket.probability) if inside else bracket


def _moved(bracket: Bracket, first: int) -> Bracket:
    return Bracket(bracket.first + first, bracket.last + first, bracket.probability)


def levels(findings: BisectFindings) -> dict[int, tuple[int, float]]:
    """Runs of each place, and their median in relation to the good revision's, where every machine is seen by itself."""
    import statistics

    by_host: dict[str, list[RevisionRun]] = defaultdict(list)
    for run in findings.runs:
        if run.status == "ok" and run.value is not None and run.value > 0:
            by_host[run.host].append(run)
    values: dict[int, list[float]] = defaultdict(list)
    change = findings.change or findings.doubt
    edge = change.bracket.first if change else findings.question.last + 1
    for runs in by_host.values():
        before = [math.log(run.value or 1.0) for run in runs if run.place < edge] or [
            math.log(run.value or 1.0) for run in runs
        ]
        base = statistics.median(before)
        for run in runs:
            values[run.place].append(math.log(run.value or 1.0) - base)
    return {place: (len(own), statistics.median(own)) for place, own in sorted(values.items())}
