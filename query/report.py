"""Reports: the results of a run, what got worse, and what is missing, as one document for a comment or a page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..warehouse.errors import NothingToShow
from . import report_sections as sections
from .comparison.compare import compare
from .comparison.pull_request import document as document_of_comparison
from .comparison.render import CALLED
from .comparison.sides import Side, find_sides
from .document import Document, Section
from .regression import regressions
from .regression.regressions import Limits, RegressionRule
from .report_sections import ReportScope
from .resolve import check_values, resolve_run

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class Report:
    """A document, and what it is about."""

    parts: tuple[str, ...]  # runs that it sums up: the one that was asked for, or all parts of its night
    configs: tuple[str, ...]  # of the base, where there is one, and of the run
    runs: tuple[str, ...]  # likewise: those of the base, and those that are judged
    document: Document
    sides: tuple[Side, Side] | None = None  # where two were asked for
    before: str | None = None  # the run that it is set beside
    findings: Sequence[Mapping[str, Any]] = ()  # rows of `regression_findings`, worst first; of two sides none
    suites: Sequence[str] = ()  # that were asked for; () is all, as for backends
    backends: Sequence[str] = ()
    all_runs: bool = False


def report(
    warehouse: "Warehouse",
    name: str = "latest",
    against: str | None = None,
    *,
    rule: RegressionRule | None = None,
    limits: Limits | None = None,
    suites: Sequence[str] = (),
    backends: Sequence[str] = (),
    all_runs: bool = False,
) -> Report:
    """Report a run, and what changed since another.

    Args:
        warehouse: Where to look.
        name: The run: id prefix, config, commit, day, tag:NAME, latest, latest~1, path. Its repeats are judged with it.
        against: The side to compare it with, as `bench compare` takes both: the report then opens with that comparison. By
            default the newest run of the same config before it that measured the same suites, modes, dtypes and devices, and
            the regressions since.
        rule: When a difference counts as a regression.
        limits: What no case may fall below or exceed.
        suites: Suites to report; all unless given.
        backends: Backends to report; all unless given, though warnings leave out those for debugging.
        all_runs: Of two sides, compare every run that a name means, not only the newest and its repeats.

    Returns:
        The report without empty sections, except the one on regressions.

    Raises:
        UnknownName: No run answers to a name, or there is no such suite or backend.
        NothingToShow: The run recorded nothing to report.
    """
    limits = limits or Limits()
    run_id = resolve_run(warehouse, name)
    (details,) = warehouse.dicts("SELECT * FROM run_details WHERE run_id = ?", [run_id])
    configs, scope = [str(details["config"])], ReportScope(suites, backends)
    for column, values in (("suite", suites), ("backend", backends)):
        check_values(warehouse, "case_summaries", column, values)
    sides = find_sides(warehouse, against, name, all_runs=all_runs) if against is not None else None
    before = sides[0].runs[0] if sides is not None else _run_before(warehouse, run_id)
    parts = _parts(warehouse, run_id)
    parts_before = _parts(warehouse, before) if before is not None else []
    found: list[regressions.Row] = []
    judged: list[Section | None]
    if sides is not None:
        runs = list(sides[1].runs)
        configs[:0] = warehouse.rows("SELECT config FROM run_details WHERE run_id = ?", [before])[0]
        every = " --all-runs" if all_runs else ""
        command = f"bench compare {quote(sides[0].name)} {quote(sides[1].name)}{scope.options}{every}"
        compared = document_of_comparison(
            compare(warehouse, *sides, where={"suite": suites, "backend": backends}), command=command
        )
        title, verdict, good = compared.title, compared.verdict, compared.good
        judged = [part for part in compared.sections if part.key != "environment"]  # one stands below
    else:
        runs = regressions.judged_runs(warehouse, name)
        found = list(filter(scope.keeps, regressions.judge(warehouse, runs, rule or RegressionRule(), limits)))
        title, (verdict, good) = f"{configs[0]}: run {run_id[:13]}", _verdict(found)
        judged = [sections.findings(found, run_id, scope)]
        judged += [sections.changes(warehouse, parts_before, runs, scope)] if parts_before else []
    cases = [sections.summary(warehouse, parts, parts_before, limits, scope), *sections.suites(warehouse, parts, scope)]
    written = (
        *judged,
        *cases,
        sections.flags(warehouse, parts, limits, scope),
        sections.scheduler(warehouse, {side.name: side.runs for side in sides or ()} or {configs[0]: runs}),
        sections.memory(warehouse, parts, scope),
        sections.history(warehouse, run_id, scope),
        sections.left_out(warehouse, parts, scope),
        sections.environment(warehouse, details, parts_before, runs),
    )
    there = [section for section in written if section is not None]
    if len(there) < 3 and not details["steps"] and not details["samples"]:
        raise NothingToShow(f"run {run_id} recorded nothing to report. See it with: bench show {run_id[:13]}")
    document = Document(
        title=title,
        verdict=verdict,
        good=good,
        facts=[(key, value) for key, value in _facts(details, before, parts) if value],
        sections=there,
    )
    return Report(
        tuple(parts),
        tuple(configs),
        (*(sides[0].runs if sides is not None else ()), *runs),
        document,
        sides,
        before,
        found,
        suites,
        backends,
        all_runs,
    )


def _run_before(warehouse: "Warehouse", run_id: str) -> str | None:
    """The newest run of the same config before this one that measured all it did, else part of it."""
    found = warehouse.rows("SELECT run_id FROM _runs_before(?) WHERE place = 1", [run_id])
    return str(found[0][0]) if found else None


def _parts(warehouse: "Warehouse", run_id: str) -> list[str]:
    """The runs of its report, oldest first: itself, or all parts of its night."""
    own = "SELECT report_id FROM _report_runs WHERE run_id = ?"
    parts = warehouse.rows(f"SELECT run_id FROM _report_runs WHERE report_id IN ({own}) ORDER BY part", [run_id])
    return [part for (part,) in parts] or [run_id]


def _facts(details: Mapping[str, Any], before: str | None, parts: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    def text(key: str) -> str | None:
        value = details[key]
        return str(value) if value is not None else None

    began = details["began_at"]
    yield "date", began.strftime("%Y-%m-%d %H:%M") if began is not None else None
    yield "commit", (text("git_commit") or "")[:12] + ("+changes" if details["git_dirty"] else "")
    yield "branch", text("git_branch")
    yield "compared with", before[:13] if before else None
    yield "host", text("host")
    yield "GPU", ", ".join(details["gpus"] or ())
    yield "torch", text("torch")
    yield "status", f"{details['status']}{': ' + details['reason'] if details['reason'] else ''}"
    yield "parts", ", ".join(part[:13] for part in parts) if len(parts) > 1 else None


def _verdict(found: Sequence[Mapping[str, Any]]) -> tuple[str, bool | None]:
    """One sentence, and whether it is good news; None if nothing could be judged."""
    count = Counter(row["verdict"] for row in found if row["finding"] != "shift")
    doubtful = regressions.doubtful_shifts(found)
    moved = [row for row in found if row["finding"] == "shift" and row["verdict"] not in ("SAME", "UNSURE")]
    together = [regressions.shift_text(row) for row in [*moved, *doubtful]]
    statistics = [row for row in found if row["finding"] == "statistics"]
    judged = sum(map(regressions.is_judged, statistics))
    changed = [*together, *(f"{count[verdict]:,} {text}" for verdict, text in CALLED.items() if count[verdict])]
    if any(row["verdict"] in ("SLOWER", "WORSE", "BROKEN", "REMOVED") for row in found):
        return f"{', '.join(changed)}; {judged:,} series judged.", False
    if not judged:
        return "Too little data to judge: a case needs earlier runs to be compared with.", None
    rest = f" {len(statistics) - judged:,} could not be judged." if judged < len(statistics) else ""
    opening = f"No {'other ' if doubtful else ''}regression in {judged:,} series"
    return f"{'; '.join([opening, ', '.join(changed)]) if changed else opening}.{rest}", None if doubtful else True
