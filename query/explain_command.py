"""Commands that give reasons: explain, env-diff, plan."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..warehouse.errors import BenchError
from ..warehouse.options import Command, Values, format_option, store_option
from ..warehouse.output import write_rows
from ..warehouse.store import Store
from .commands import backends_option, configs_option, models_option, output_option, say, suites_option
from .names import resolve_run


def _share_option(*names: str, default: str, most: float = 1, help: str) -> Callable[[Any], Any]:
    """An option for a share above 0 and below `most`, written as 3% or 0.03."""

    def share(text: str) -> float:
        try:
            value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
        except ValueError:
            value = 0.0
        if not 0 < value < most:
            raise BenchError(f"{text!r} is no share between 0 and {most:g}. Write it as 3% or 0.03.")
        return value

    return click.option(*names, type=share, metavar="SHARE", default=default, show_default=True, help=help)


@click.command(cls=Command)
@_share_option("--detect", "effect", default="3%", most=100, help="Change to see, either way.")
@click.option(
    "--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs on each side, to say what they see."
)
@_share_option("--power", default="80%", help="How often to see it where it is.")
@_share_option("--alpha", default="5%", help="How often to see one in a case where none is.")
@click.option(
    "--correct",
    "correction",
    type=click.Choice(("none", "bonferroni", "bh")),
    default="none",
    show_default=True,
    help="Make alpha hold for all cases together: bonferroni for any false alarm, bh for their share among alarms.",
)
@_share_option("--changed", default="10%", help="Cases that change, of all; only bh asks.")
@configs_option
@click.option("--hosts", cls=Values, help="Only these machines.")
@suites_option
@backends_option
@models_option
@click.option("--metrics", cls=Values, help="These metrics; latency, or all where there is none, if left out.")
@format_option
@output_option
@store_option
def plan(
    effect: float, runs: int, power: float, alpha: float, correction: str, changed: float, configs: Sequence[str],
    hosts: Sequence[str], suites: Sequence[str], backends: Sequence[str], models: Sequence[str], metrics: Sequence[str],
    fmt: str, output: Path | None, store: Store,
) -> None:  # fmt: skip
    """How many runs it takes to see a change on this machine, and what change so many runs show.

    The noise is what the store has seen from run to run: each config, case and metric has its own. The summary comes
    last, on stderr. Ends with 4 where no case was measured twice.

    \b
        bench plan --detect 3%
        bench plan --runs 5 --power 90% --correct bonferroni --configs main
    """
    from ..warehouse.database import Warehouse
    from .power import Plan, effects, render, sentences

    wanted = Plan(effect=effect, runs=runs, power=power, alpha=alpha, correction=correction, changed=changed)
    where = {
        "config": configs, "host": hosts, "suite": suites, "backend": backends, "name": models, "metric": metrics,
    }  # fmt: skip
    with Warehouse.open(store) as warehouse:
        found = effects(warehouse, wanted, where)
        if fmt not in ("table", "markdown"):
            write_rows(list(found[0]), [list(row.values()) for row in found], fmt, output)
            return
        write_rows(*render(found, wanted), fmt, output)
        strict = effects(warehouse, replace(wanted, correction="bonferroni"), where)
        for sentence in sentences(found, strict, wanted):
            say(sentence)


@click.command("env-diff", cls=Command)
@click.argument("base")
@click.argument("candidate")
@format_option
@output_option
@store_option
def env_diff(base: str, candidate: str, fmt: str, output: Path | None, store: Store) -> None:
    """Field by field, what differs between the environments of two sides.

    Each side is a run, or a config or commit with its repeats: machine, software, flags, environment variables, code
    and command line. How much is the same is said on stderr; csv and the like carry those fields, too.

    \b
        bench env-diff main my-branch
        bench env-diff latest~1 latest --format json
    """
    from ..warehouse.database import Warehouse
    from .environments import COLUMNS, facts, render, sentence

    with Warehouse.open(store) as warehouse:
        found = facts(warehouse, [resolve_run(warehouse, base)], [resolve_run(warehouse, candidate)])
        if fmt not in ("table", "markdown"):
            rows = [[fact.kind, fact.field, fact.base, fact.candidate, fact.same] for fact in found]
            write_rows(COLUMNS, rows, fmt, output)
            return
        write_rows(*render(found, base, candidate), fmt, output)
        say(sentence(found))
