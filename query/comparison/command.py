"""`bench compare`: two sides, case by case."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...sql.rules import FDR
from ...warehouse.console.completion import complete
from ...warehouse.console.fitting import wide_option, write_fitted
from ...warehouse.console.options import (
    Command,
    Values,
    command_line,
    floor_option,
    format_option,
    notify,
    share_option,
    store_option,
)
from ...warehouse.console.tables import write_dicts, write_rows, write_text
from ...warehouse.errors import BenchError, Exit, NothingToShow
from ...warehouse.store import Store
from ..command import backends_option, models_option, output_option, suites_option, where_option
from ..filters import asked_metrics, where_pairs

if TYPE_CHECKING:
    from .compare import Comparison


@click.command(cls=Command)
@click.argument("base", shell_complete=complete)
@click.argument("candidate", shell_complete=complete)
@click.option("--metrics", cls=Values, help="Only these; else all that have a direction.")
@suites_option
@backends_option
@models_option
@where_option
@floor_option
@share_option("--fdr", default=f"{FDR:.0%}", help="False alarms to accept, of all alarms.")
@click.option(
    "--slo",
    cls=Values,
    metavar="METRIC=MS…",
    help="Compare what was served: goodput within these limits (ttft, tpot, e2e), and quantiles of requests.",
)
@click.option("--all", "everything", is_flag=True, help="Show every row: what is the same, and all that is UNSURE.")
@click.option("--across-machines", "across", is_flag=True, help="Compare sides of different machines as they stand.")
@click.option("--by", metavar="COLUMN", help="Compare two values of this axis or parameter, within a run or several.")
@click.option("--runs", cls=Values, help="With --by: compare in these runs, else in the newest.")
@click.option("--all-runs", is_flag=True, help="Every run a name means, rather than its newest with its repeats.")
@click.option(
    "--fail-on",
    type=click.Choice(["slower", "likely"]),
    help="End with 1 if anything is slower or worse, or likely so; 3 if anything is gone.",
)
@wide_option
@format_option
@output_option
@store_option
def compare(
    base: str, candidate: str, metrics: Sequence[str], suites: Sequence[str], backends: Sequence[str],
    models: Sequence[str], pairs: Sequence[str], floor: float, fdr: float, slo: Sequence[str],
    everything: bool, across: bool, by: str | None, runs: Sequence[str], all_runs: bool, fail_on: str | None,
    fmt: str, output: Path | None, store: Store,
) -> int:  # fmt: skip
    """Compare two sides case by case: ratio with its interval, difference, verdict, and why.

    A side is a config, the beginning of a run id or of a commit, a day, tag:NAME, latest or latest~1: its newest run
    with its repeats, which are the other runs of the same config and clean commit. Names joined by + are pooled. A
    side may also be a file or folder of results, another store or a bucket, PATH or NAME:PATH; of a store NAME is a
    run there, else latest. These are read in place: nothing is stored.

    FASTER, SLOWER (BETTER, WORSE for what is no time and no rate) changed by the floor or more, beyond noise; of all
    such verdicts a share of --fdr is false. LIKELY says that the interval excludes the floor, but that how runs of
    different times differ was assumed, not seen. SAME did not change, UNSURE may have. A count that differs is CHANGED
    where neither way is better. ADDED and REMOVED were measured on one side only, BROKEN and FIXED worked on one side only.

    With --by the sides are two values of a column of the cases: an axis (backend, dtype, name …) or a parameter. Cases
    are matched by all other axes.

    With --fail-on slower the exit code is 1 if anything is slower or worse, 3 if the candidate lacks what the base has,
    4 if every case is UNSURE. With --fail-on likely what is likely slower or worse ends with 1, too.

    With --slo it compares what two serving benchmarks served: goodput within the limits, throughput, and p50, p90 and
    p99 of their requests, with intervals by blocks of time, or by runs where a side has several.

    \b
        bench compare main my-branch
        bench compare A B --slo ttft=200 tpot=50
        bench compare latest~1 latest --metrics latency --format markdown
        bench compare A:profiles/a B:profiles/b --where 'parameters={"tokens":"all"}'
        bench compare main:s3://team/bench .bench
        bench compare 'grep foo' 'rg foo' --by name
    """
    from ...warehouse.database import Warehouse
    from ..higher_rooms import higher_rooms
    from .compare import compare as compared
    from .compare import exit_code
    from .serving import compare_served, exit_code_of_served, read_limits, render_served, sentences_of_served
    from .sides import find_sides, sides_in_place
    from .variants import said_of, variants

    limits = read_limits(slo)
    if slo and (suites or backends or models or pairs):
        raise BenchError("--slo goes with --metrics only: all cases that both sides served are compared")
    if slo and by:
        raise BenchError("--slo compares runs, not values of a column: leave out --by")
    if runs and not by:
        raise BenchError("--runs goes with --by COLUMN: without it the sides are the runs")
    where = {"suite": [*suites], "backend": [*backends], "name": [*models], **where_pairs(pairs)}
    ingest_path = higher_rooms().ingest_path
    texts = (runs or ("latest",)) if by else (base, candidate)
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(sides_in_place(store, texts, notify, ingest_path, all_runs=all_runs))
        warehouse = stack.enter_context(Warehouse.open(held))
        if by:
            sides = stack.enter_context(variants(warehouse, by, (base, candidate), texts, all_runs=all_runs))
            if both := said_of(*sides):
                notify(both)
        else:
            sides = find_sides(warehouse, base, candidate, all_runs=all_runs, notify=notify)
        if slo:
            served = compare_served(warehouse, *sides, limits, floor=floor, fdr=fdr, metrics=metrics)
            if fmt in ("table", "markdown"):
                write_rows(*render_served(served), fmt, output)
            else:
                write_dicts(served, fmt, output)
            for sentence in sentences_of_served(served, limits):
                notify(sentence)
            return exit_code_of_served(served) if fail_on else Exit.OK
        where["metric"] = asked_metrics(warehouse, metrics)
        found = compared(warehouse, *sides, floor=floor, fdr=fdr, where=where, across=across)
    if not found.rows + found.unusual:
        nothing = NothingToShow(
            f"neither {base} nor {candidate} measured any of this. See what they did with: bench list cases --runs latest"
        )
        nothing.exit_code = Exit.TOO_LITTLE if fail_on else Exit.NOTHING
        raise nothing
    presented = ("everything", "fail_on", "fmt", "output", "store")
    command = command_line(click.get_current_context(), without=presented)
    write_comparison(found, command, fmt, output, everything=everything)
    return exit_code(found, likely=fail_on == "likely") if fail_on else Exit.OK


def write_comparison(
    found: "Comparison", command: str, fmt: str, output: Path | None = None, *, everything: bool = False
) -> None:
    """Write what changed, with what there is to say of it; `command` is the one that asks for it again."""
    from .render import SPARE, document, machines, render, sentences, shown, statistics, verdict

    if fmt == "markdown":
        write_text(document(found, command=command).markdown(), output)
    elif fmt == "table":
        for sentence in (*machines(found), verdict(found)):
            notify(sentence)
        shown_rows = shown(found, everything=everything) + (statistics(found) if everything else [])
        write_fitted(*render(found, shown_rows), fmt, output, spare=SPARE, reason="why")
        for sentence in sentences(found, everything=everything):
            notify(sentence)
    else:
        write_dicts(found.rows + found.unusual, fmt, output)
