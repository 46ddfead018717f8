"""Measure a plan into a new run, and print the table of its cases and of those known before."""

import contextlib
import importlib.util
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...warehouse.errors import Exit, MissingExtra
from ...warehouse.store import Store
from ..engine.workload import Settings, Workload
from ..options import recorded, talk
from ..recorded_options import OptionRows
from ..revisions.options import Sides, config_of
from ..system.machine_lock import alone
from . import baseline, line_traces

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from .fleet import Claims
    from .resume import KnownOutcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The names of the run, and where and how its rows are written."""

    store: Store
    config: str | None
    tags: Mapping[str, str]
    lock: str
    fmt: str
    baseline: str | None = None  # run to compare with
    fleet: str | None = None  # what machines call it that share the plan
    statistic: str = "median"  # of a case's samples, in the table
    options: OptionRows = ()  # that measure it again


def measure(
    plan: Sequence[Workload], settings: Settings, wanted: RunRequest, known: "KnownOutcomes | None" = None
) -> int:
    """Measure the remaining cases of a plan, and write a row for each case of the plan.

    Returns:
        The exit code: 1 if a case failed, now or in a run that is known.

    Raises:
        KeyboardInterrupt: Ctrl-C; every case has an outcome then, too, and a row.
    """
    from ...warehouse.database import Warehouse
    from .report import compiler_start, noise_floor, results, show

    base = baseline.resolve(wanted.store, wanted.baseline) if wanted.baseline else None
    left = known.left(plan) if known else list(plan)
    claims = _claims(plan, settings, wanted) if wanted.fleet else None
    tags = known.tags if known else {}
    run = _measure(left, settings, wanted, tags, claims) if left else None
    with Warehouse.open(wanted.store) as warehouse:
        found = results(warehouse, run.run_id if run else "", known=known.runs if known else None)
        floor = noise_floor(warehouse, found[0].run_id) if found else None
        start = compiler_start(warehouse, run.run_id) if run else None
    show(found, wanted.fmt, wanted.statistic)
    if run and settings.trace_lines is not None:
        line_traces.show(wanted.store, run.run_id, wanted.fmt)
    for note in filter(None, (start, floor)):
        talk(note)
    if run and base:
        baseline.show(wanted.store, base, run.run_id, names(plan), wanted.fmt)
    if claims:
        claims.report(talk)
    if run:
        recorded(run, "Ask again with: bench speedups")
    else:
        talk(f"the whole plan is {'claimed' if claims and left else 'known'}: nothing was measured")
    return Exit.FAILED if any(result.failed for result in found) else Exit.OK


def measure_revisions(
    plan: Sequence[Workload], settings: Settings, wanted: RunRequest, sides: Sides, rounds: int
) -> int:
    """Measure a plan with several git revisions or versions of packages in turn, and compare each with the first.

    A run's config is its side, after the config if there is one.

    Returns:
        The exit code: 1 if a case failed.

    Raises:
        BenchError: There is no such revision or package.
        KeyboardInterrupt: Ctrl-C; the last whole round has been shown then, or what there is of the first.
    """
    from ...warehouse.database import Warehouse
    from ..engine import live_table
    from ..engine.runner import Runner
    from ..revisions import rounds as turns_of_revisions
    from .report import results, show

    runs: dict[str, list[Run]] = {side: [] for side in sides.names}

    def begin(side: str) -> "Run":
        runs[side].append(_begin(plan, settings, wanted, config_of(wanted.config, side), {sides.tag: side}))
        return runs[side][-1]

    _need_torch()
    watch = live_table.watch()
    with alone(wanted.lock), sides.opened() as trees:
        try:
            turns_of_revisions.measure(
                plan, trees, rounds, seed=settings.seed, begin=begin, watch=watch,
                runner=lambda run: Runner(run, settings, watch=watch),
            )  # fmt: skip
        except KeyboardInterrupt:
            pass
        finally:
            watch.close()
    begun = [*zip(*runs.values(), strict=False)]
    whole = [turns for turns in begun if all(run.status == "ok" for run in turns)]
    if not begun:
        raise KeyboardInterrupt
    last = dict(zip(runs, (whole or begun)[-1], strict=True))
    with Warehouse.open(wanted.store) as warehouse:
        rows = [
            [replace(result, revision=side) for result in results(warehouse, run.run_id)] for side, run in last.items()
        ]
    found = [*itertools.chain(*zip(*rows, strict=True))]  # the same cases of all sides, one below the other
    show(found, wanted.fmt, wanted.statistic, sides.tag)
    talk(f"of each side the run of round {len(whole) or 1} of {rounds}")
    first, *others = runs
    for other in others:
        talk(f"{other} against {first}:")
        baseline.show(
            wanted.store, last[first].run_id, last[other].run_id, names(plan), wanted.fmt, sides=(first, other)
        )
    if len(whole) < rounds:
        raise KeyboardInterrupt
    return Exit.FAILED if any(result.failed for result in found) else Exit.OK


def names(plan: Sequence[Workload]) -> list[str]:
    """The models of a plan."""
    return list(dict.fromkeys(workload.name for workload in plan))


def _claims(plan: Sequence[Workload], settings: Settings, wanted: RunRequest) -> "Claims":
    from ...warehouse.recorder import uuid7
    from ...warehouse.remote.places import place
    from .fleet import Claims

    assert wanted.fleet is not None
    return Claims(place(wanted.store), wanted.fleet, plan, settings, uuid7())


def _measure(
    plan: Sequence[Workload], settings: Settings, wanted: RunRequest, tags: Mapping[str, str], claims: "Claims | None"
) -> "Run | None":
    """The run, closed as interrupted after Ctrl-C; None if there was nothing to claim."""
    from ..engine import live_table
    from ..engine.runner import Runner
    from .batch_sizes import fitted

    _need_torch()
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone(wanted.lock))
        work: Iterable[Workload] = plan
        if claims:
            stack.callback(claims.give_back)
            mine = claims.of(plan)
            if (first := next(mine, None)) is None:
                return None
            work, tags = itertools.chain([first], mine), {**tags, "fleet": claims.name}
        run_id = claims.run_id if claims else None
        run = stack.enter_context(_begin(plan, settings, wanted, wanted.config, tags, run_id))
        watch = live_table.watch()
        runner = Runner(run, settings, watch=watch)
        try:
            if claims:
                runner.measure(fit for each in work for fit in fitted([each], run, runner, talk))
            else:
                runner.measure(fitted(plan, run, runner, talk))
        except KeyboardInterrupt:
            run.close("interrupted", "Ctrl-C")
        watch.close()
    return run


def _begin(
    plan: Sequence[Workload],
    settings: Settings,
    wanted: RunRequest,
    config: str | None,
    tags: Mapping[str, str],
    run_id: str | None = None,
) -> "Run":
    from ...warehouse import recorder

    suites = {workload.suite for workload in plan}
    return recorder.run(
        config, suite=suites.pop() if len(suites) == 1 else None, store=wanted.store, source="measure",
        tags={**wanted.tags, **tags}, settings=settings.to_dict(), options=wanted.options,
        run_id=run_id,
    )  # fmt: skip


def _need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("torch", "torch")
