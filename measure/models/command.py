"""`bench measure models`: every backend of every model against eager."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ...warehouse.console.options import LongCommand
from ...warehouse.errors import BenchError, Exit
from ...warehouse.store import Store
from ..engine.workload import AUTO, Workload
from ..log_file import logged
from ..options import talk
from ..pytorch import torchrun
from ..recorded_options import recorded_options
from ..revisions.options import sides_of
from .old_options import TODAY
from .options import axis_options, command_for, selection_options, setting_options
from .planning import plan_request

if TYPE_CHECKING:
    from .resume import KnownOutcomes

CASE_COLUMNS = ("suite", "model", "mode", "device", "dtype", "batch", "length", "parameters", "backend", "left_out")
USUAL = (
    "suites", "models", "backends", "modes", "batch_sizes", "dtypes", "devices", "precision", "budget_s", "repeat", "quick",
    "timeout_s", "threads", "memory", "config", "tags", "revisions", "resume", "print_only", "fmt", "store",
)  # fmt: skip


@click.command("models", cls=LongCommand, usual=USUAL, elsewhere=TODAY)
@click.argument("plan_file", metavar="[PLAN.toml]", required=False, type=click.Path(exists=True, dir_okay=False))
@axis_options
@setting_options
@selection_options
@click.pass_context
def command(ctx: click.Context, /, store: Store, fmt: str, **options: Any) -> int:
    """Measure models: every backend against eager, with intervals.

    Each workload runs in a fresh process with an empty compile cache, so that a first call compiles; its backends are
    interleaved in random blocks, until the speedup is known as precisely as asked. A plan file holds the same options,
    and several products of axes. Ends with 1 if a case failed; what was measured is kept in any case.

    \b
        bench measure models --models mlp attention --backends eager inductor --batch-sizes 1 8 32
        bench measure models nightly.toml --partition 1/4 --resume
    """
    ctx.with_resource(logged(options["log_file"]))
    found = plan_request(ctx, options)
    if not found.plan:
        talk(f"part {options['part']} of this plan is empty")
        return Exit.OK
    if torchrun.following():  # rank 0 prints for all
        if not (options["print_only"] or options["print_commands"]):
            torchrun.follow()
        return Exit.OK
    plan: Sequence[Workload] = found.plan
    known = None
    if options["resume"] or options["retry"]:
        from .resume import known_cases

        fleet = options["fleet"] is not None
        known = known_cases(store, plan, found.settings, retry=options["retry"], fleet=fleet, notify=talk)
        plan = known.plan
        if known.runs:
            talk(str(known))
    if options["print_commands"]:
        given = ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE
        values = {**found.values, "store": store.root if given else None}
        for workload in known.left(plan) if known else plan:
            click.echo(command_for(workload, values, ctx.command.params))
        return Exit.OK
    if options["print_only"]:
        _print(plan, known, fmt)
        return Exit.OK
    from .run import RunRequest, measure, measure_revisions

    wanted = RunRequest(
        store=store, config=found.values["config"], tags={**found.values["tags"], **_scope(options)}, lock=options["lock"],
        fmt=fmt, baseline=options["baseline"], fleet=options["fleet"], statistic=options["statistic"],
        options=recorded_options(found.values),
    )  # fmt: skip
    sides = sides_of(options["revisions"], options["packages"])
    if wanted.fleet and (options["part"] or sides):
        raise BenchError("--fleet shares a plan out by itself: leave out --partition, --revisions and --with.")
    if not sides:
        with torchrun.lead():
            return measure(plan, found.settings, wanted, known)
    if known or wanted.baseline:
        raise BenchError(f"{sides.option} takes neither --resume nor --baseline: it compares them itself.")
    if torchrun.started():
        raise BenchError("sides are measured by ranks of this machine: leave torchrun out, --distributed starts them.")
    if any(workload.batch_size == AUTO for workload in plan):
        raise BenchError(f"sides are measured at the same sizes. Find one first, without {sides.option}, and name it.")
    return measure_revisions(plan, found.settings, wanted, sides, options["rounds"])


def _scope(options: Mapping[str, Any]) -> dict[str, str]:
    """The tags of a run that measures a part of its plan, by which views know what to compare it with."""
    scope = {"partition": str(options["part"] or ""), "only": " ".join(sorted(options["only"]))}
    return {tag: text for tag, text in scope.items() if text}


def _print(plan: Sequence[Workload], known: "KnownOutcomes | None", fmt: str) -> None:
    """Write a row for each case, with the reason if it will not be measured."""
    from ...warehouse.console.tables import write_rows

    rows = []
    auto = any(workload.batch_size == AUTO for workload in plan)  # then sizes are texts
    for workload in plan:
        for backend in workload.backends:
            axes = workload.axes(backend)
            if auto:
                axes["batch_size"] = "auto" if workload.batch_size == AUTO else str(axes["batch_size"] or "")
            values = [axes[name] for name in ("suite", "name", "mode", "device", "dtype", "batch_size",
                                              "sequence_length", "parameters", "backend")]  # fmt: skip
            run_id = known.run_of(workload, backend) if known else None
            rows.append((*values, workload.skips.get(backend) or (run_id and f"known from run {run_id}")))
    write_rows(CASE_COLUMNS, rows, fmt)
