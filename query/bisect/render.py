"""The findings of a search for people: a table of the commits that matter, and sentences that carry their doubt."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from ...warehouse.console.numbers import counted, exact_percent, percent, percent_change, probability
from .findings import BisectFindings, BisectQuestion, FoundChange
from .results import COMMIT_COLUMNS, commit_rows

DIGITS = 9  # of a commit
SHOWN = 0.005  # probability from which a commit is listed
MOST_NAMED = 6  # commits that a sentence names
WORDS = {("ns", True): "slower", ("ns", False): "faster", ("bytes", True): "larger", ("bytes", False): "smaller"}

Subject = Callable[[str], str]


def table(findings: BisectFindings, subject: Subject) -> tuple[list[str], list[list[Any]]]:
    """The commits that were measured, could not be, or may have made the change."""
    rows = [dict(zip(COMMIT_COLUMNS, row, strict=True)) for row in commit_rows(findings)]
    told = [row for row in rows if row["status"] or row["probability"] >= SHOWN]
    columns = ["commit", "subject", "runs", "change", "probability", "why not"]
    shown = [
        [
            row["revision"][:DIGITS], _short(subject(row["revision"])), row["runs"] or row["failures"],
            percent_change(row["change"]),
            probability(row["probability"]) if row["place"] else "good",
            ": ".join(filter(None, (row["status"], row["reason"]))) if row["status"] not in ("measured", None) else None,
        ]
        for row in told
    ]  # fmt: skip
    kept = [i for i in range(len(columns)) if any(row[i] not in (None, "") for row in shown)]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in shown]


def sentences(
    findings: BisectFindings, subject: Subject, *, unit: str | None = None, better: str | None = None
) -> Iterator[str]:
    """The answer first, then its doubt, what else there is, and how much it took."""
    question = findings.question
    effort = (
        f"{counted(findings.measured, 'run')} of {counted(findings.revisions, 'revision')}, of "
        f"{counted(question.last, 'commit')}"
    )
    if findings.change and findings.status == "found":
        yield _answer(question, findings.change, subject, unit, better) + f"; {effort}"
        yield from _why(question, findings.change)
        for other in findings.others:
            yield f"there is another change: {_other(question, other, unit, better)}"
    elif findings.status == "nothing":
        what = (
            "fails"
            if question.finds == "failure"
            else f"changed {question.metric} by {exact_percent(question.floor)} or more"
        )
        yield f"no commit {what}: {probability(float(findings.probability[0]))} sure; {effort}"
    else:
        yield f"not sure yet after {effort}"
        if findings.change:  # but whether it is the largest
            yield _answer(question, findings.change, subject, unit, better)
        for other in findings.others:
            yield f"there may be a larger change: {_other(question, other, unit, better)}"
        if findings.doubt:
            doubt = findings.doubt
            size, among = _size(question, doubt, unit, better), _commits(question, doubt)
            nothing = probability(float(findings.probability[0]))
            yield f"if anything changed, then{f' {size},' if size else ''} at {among}; nothing with {nothing}"
    if not math.isnan(findings.noise):
        yield f"noise from run to run: {percent(findings.noise)}"


def _why(question: BisectQuestion, change: FoundChange) -> Iterator[str]:
    """The command that takes the change of a single commit apart."""
    bracket = change.bracket
    if question.finds != "failure" and bracket.first == bracket.last and bracket.first > 0:
        sides = (question.commits[bracket.first - 1], question.commits[bracket.first])
        yield f"why: bench why {' '.join(commit[:DIGITS] for commit in sides)}"


def answer(findings: BisectFindings, subject: Subject, **units: str | None) -> str:
    """The first sentence."""
    return next(sentences(findings, subject, **units))


def _answer(
    question: BisectQuestion, change: FoundChange, subject: Subject, unit: str | None, better: str | None
) -> str:
    bracket = change.bracket
    size = _size(question, change, unit, better)
    sure = f"{probability(bracket.probability)} sure"
    if bracket.first == bracket.last:
        commit = question.commits[bracket.first]
        title = _short(subject(commit))
        return f"{commit[:DIGITS]}{f' ({title})' if title else ''} made {size}; {sure}"
    count = bracket.last - bracket.first + 1
    return f"one of these {count} made {size}, and no run can tell which: {_commits(question, change)}; {sure}"


def _size(question: BisectQuestion, change: FoundChange, unit: str | None, better: str | None) -> str:
    if question.finds == "failure":
        return "it fail"
    if math.isnan(change.effect):
        return ""
    up = change.effect > 0
    word = WORDS.get((unit or "", up)) or ("higher" if up else "lower")
    if better == "higher" and (unit or "") in ("ns", "bytes"):
        word = "higher" if up else "lower"
    size, *bounds = (abs(math.expm1(value)) for value in (change.effect, change.low, change.high))
    between = " to ".join(percent(bound, 1).removesuffix(" %") for bound in sorted(bounds))
    return f"{question.metric} {percent(size, 1)} {word} (95 % {between})"


def _other(question: BisectQuestion, change: FoundChange, unit: str | None, better: str | None) -> str:
    size = _size(question, change, unit, better)
    return f"{size}, at {_commits(question, change)}; {probability(change.bracket.probability)} sure"


def _commits(question: BisectQuestion, change: FoundChange) -> str:
    first, last = change.bracket.first, change.bracket.last
    names = [commit[:DIGITS] for commit in question.commits[first : last + 1]]
    if len(names) == 1:
        return names[0]
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"one of {len(names)} commits, {question.commits[first - 1][:DIGITS]}..{names[-1]}"


def _short(text: str) -> str:
    return text if len(text) <= 50 else f"{text[:49]}…"
