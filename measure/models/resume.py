"""Resuming: find the cases of a plan whose outcome this store already has.

A case is known if it ended, other than by interruption, in a run with the same settings, the same clean commit (or outside
git) and the same environment, and by the same code where its model is in a file of one's own, so that measuring it again would
be a repeat. The remaining cases go into a new run, see docs/decisions/2026-11-22-resuming-is-a-new-run.md.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...warehouse import environment
from ...warehouse.console.numbers import counted
from ...warehouse.recorder import case_ids
from ...warehouse.store import Notify, Store
from ..engine.workload import AUTO, NOT_FAILURES, Settings, Workload
from ..suites.source_digest import DIGEST, source_digest
from .batch_sizes import FOUND, sizes
from .product import merged

IMMATERIAL = ("timeout_s", "sample_hz")  # settings that change no figure

# How cases ended in some runs, the newest last; a wrong output is a failure, too.
_ENDED = (
    "SELECT case_id, run_id, kind, status FROM case_outcomes WHERE list_contains(?::VARCHAR[], run_id) ORDER BY run_id"
)

# What cases say in some runs, the newest last: what came of looking for a batch size that fits, and the digest of their code.
_TEXTS = (
    "SELECT case_id, run_id, original_value FROM metrics WHERE metric = ? AND list_contains(?::VARCHAR[], run_id)"
    " ORDER BY run_id"
)


@dataclass(frozen=True, slots=True)
class KnownOutcomes:
    """Cases of a plan whose outcome is known, case_id -> run_id; with none of a workload's whose baseline is not.

    The plan is that which was asked for, with the batch sizes that were found before.
    """

    plan: Sequence[Workload]
    runs: Mapping[str, str]

    def run_of(self, workload: Workload, backend: str) -> str | None:
        """The run that has the outcome of a case."""
        return self.runs.get(_case_id(workload, backend))

    def left(self, plan: Sequence[Workload]) -> list[Workload]:
        """The workloads still to measure; with the baseline again, because a speedup needs both in one process."""
        found = []
        for workload in plan:
            unknown = [name for name in workload.backends if self.run_of(workload, name) is None]
            if unknown:
                found.append(replace(workload, backends=tuple(dict.fromkeys((workload.baseline, *unknown)))))
        return found

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the new run."""
        return {"resumes": " ".join(sorted(set(self.runs.values())))} if self.runs else {}

    def __str__(self) -> str:
        counts = Counter(self.runs.values())
        return "; ".join(
            f"{counted(count, 'case', 'is', 'are')} known from run {run_id}" for run_id, count in sorted(counts.items())
        )


def known_cases(
    store: Store,
    plan: Sequence[Workload],
    settings: Settings,
    *,
    retry: str | None = None,
    fleet: bool = False,
    notify: Notify,
) -> KnownOutcomes:
    """Find the cases of a plan whose outcome is known.

    Args:
        store: Where to look.
        plan: What is to be measured.
        settings: How it is to be measured; the timeout and the sampler do not matter.
        retry: What of it to forget: failed (wrong outputs and timeouts, too), timeout or skipped.
        fleet: Whether others measure it, too, who know the plan as it was asked for: no batch size is known then.
        notify: Called with the reason if no outcome can be known, and with known batch sizes.
    """
    commit, _, dirty = environment.git()
    if dirty:
        notify(
            f"nothing is known of this plan: the code differs from {f'commit {commit[:9]}' if commit else 'any commit'}"
        )
        return KnownOutcomes(plan, {})
    if not store.may_hold():
        return KnownOutcomes(plan, {})
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        runs = warehouse.rows(
            "SELECT run_id, settings FROM runs WHERE source = 'measure' AND git_commit IS NOT DISTINCT FROM ?"
            " AND NOT coalesce(git_dirty, false)"
            " AND environment_id = ? AND settings IS NOT NULL",
            [commit, environment.capture().environment_id],
        )
        alike = [run_id for run_id, recorded in runs if material(json.loads(recorded)) == material(settings.to_dict())]
        digests = {(case_id, run_id): digest for case_id, run_id, digest in warehouse.rows(_TEXTS, [DIGEST, alike])}
        outcomes = warehouse.rows(_ENDED, [alike])
        fits = [] if fleet else warehouse.rows(_TEXTS, [FOUND, alike])
    code = {
        _case_id(sized, backend): source_digest(workload.target)
        for workload in plan
        for sized in (sizes(workload) if workload.batch_size == AUTO else (workload,))
        for backend in workload.backends
    }
    outcomes = [row for row in outcomes if digests.get((row[0], row[1])) == code.get(row[0])]
    found: dict[str, str] = {}  # the newest first
    for case_id, run_id, status in reversed(fits):
        if digests.get((case_id, run_id)) == code.get(case_id):
            found.setdefault(case_id, status)
    accuracies = {(case_id, run_id): status for case_id, run_id, kind, status in outcomes if kind == "accuracy"}
    ended = {
        case_id: (run_id, status, accuracies.get((case_id, run_id), "pass"))
        for case_id, run_id, kind, status in outcomes
        if kind == "performance" and status != "interrupted"
    }
    known = {
        case_id: run_id for case_id, (run_id, status, accuracy) in ended.items() if not _again(status, accuracy, retry)
    }
    # a size that failed otherwise is found again where that failure is to be measured again
    found = {case_id: status for case_id, status in found.items() if status == "ok" or case_id in known}
    plan = merged(_sized(workload, found, notify) if workload.batch_size == AUTO else workload for workload in plan)
    return KnownOutcomes(
        plan,
        {
            case_id: known[case_id]
            for workload in plan
            if _case_id(workload, workload.baseline) in known
            for case_id in (_case_id(workload, name) for name in workload.backends)
            if case_id in known
        },
    )


def _sized(workload: Workload, found: Iterable[str], notify: Notify) -> Workload:
    """The workload at the first batch size that was found, if any."""
    tried = {_case_id(sized, workload.baseline): sized for sized in sizes(workload)}
    for case_id in found:
        if case_id in tried:
            notify(f"{tried[case_id]}: this size was found before")
            return tried[case_id]
    return workload


def _again(status: str, accuracy: str, retry: str | None) -> bool:
    if retry == "failed":
        return status not in NOT_FAILURES or accuracy not in NOT_FAILURES
    return status == retry


def material(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings on which results depend."""
    return {name: value for name, value in settings.items() if name not in IMMATERIAL and value is not None}


def _case_id(workload: Workload, backend: str) -> str:
    return case_ids(**workload.axes(backend))[0]
