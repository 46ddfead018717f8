"""Limits on what a request may take: options of charts of serving benchmarks, and what these charts have in common."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import click

from ..query.comparison.serving import NONE_KEPT, read_limit
from ..query.pasteable_sql import list_literal, number_literal
from ..query.resolve import check_values, resolve_run
from ..warehouse.console.declared import Option
from ..warehouse.console.numbers import counted
from ..warehouse.errors import NothingToShow

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

Limits = Mapping[str, float | None]
_MS = click.types.FuncParamType(read_limit)
Ttft = Annotated[float | None, Option("Most time to the first token of a good request.", type=_MS, metavar="MS")]
Tpot = Annotated[float | None, Option("Most time per output token after the first.", type=_MS, metavar="MS")]
E2e = Annotated[float | None, Option("Most time to the last token.", type=_MS, metavar="MS")]
NAMES = {"ttft": "first token", "tpot": "each further token", "e2e": "last token"}


def arguments(warehouse: "Warehouse", configs: Sequence[str], runs: Sequence[str], limits: Limits) -> str:
    """The arguments of the macros over requests.

    Raises:
        UnknownName: There is no such config or run.
        NothingToShow: The store holds no requests.
        BenchError: A limit is no number.
    """
    if not warehouse.rows("SELECT 1 FROM requests LIMIT 1"):
        raise NothingToShow(f"there are no requests of serving benchmarks. {NONE_KEPT}")
    given = [f"{name} := {number_literal(read_limit(limit))}" for name, limit in limits.items() if limit is not None]
    check_values(warehouse, "requests", "config", configs)
    named = [resolve_run(warehouse, run) for run in runs]
    given += [f"configs := {list_literal(configs)}"] if configs else []
    given += [f"runs := {list_literal(named)}"] if named else []
    return ", ".join(given)


def sentence(limits: Limits) -> str | None:
    """The limits for a subtitle; None without any."""
    texts = [f"{NAMES[name]} within {limit:g} ms" for name, limit in limits.items() if limit is not None]
    return ", ".join(texts) or None


def left_out(warehouse: "Warehouse", arguments: str, drawn: int, what: str) -> str | None:
    """Say how many cases a chart leaves out for want of a value; None if it has all."""
    ((cases,),) = warehouse.rows(f"SELECT count(*) FROM serving_metrics({arguments}) WHERE metric = 'share_met'")
    return f"{counted(cases - drawn, 'case')} left out, without {what}" if cases > drawn else None
