"""`bench measure models`: every backend of every model against eager."""

import importlib.util

import click

from ..warehouse.errors import BenchError, Exit, MissingExtra
from ..warehouse.options import Command, Values, store_option
from ..warehouse.store import Store
from . import backends as known_backends
from .console import config_option, progress, sample_option, share, tags_option, talk
from .plan import BASELINE, DTYPES, MODES, Settings, Workload, product
from .suites import models_of

QUICK_PRECISION, QUICK_BUDGET_S = 0.03, 4.0


def device_name(text: str) -> str:
    """A device as torch names it.

    Raises:
        BenchError: It is none of cpu, cuda and cuda:N.
    """
    kind, colon, index = text.partition(":")
    if kind not in ("cpu", "cuda") or (colon and (kind == "cpu" or not index.isdecimal())):
        raise BenchError(f"no device {text!r}. There are: cpu, cuda, cuda:N.")
    return text


@click.command("models", cls=Command)
@click.option("--suite", default="builtin", show_default=True, help="Set of models.")
@click.option("--models", cls=Values, help="Models of the suite; all if left out.")
@click.option(
    "--backends",
    cls=Values,
    default=[BASELINE, "inductor"],
    help="Backends, beside eager, the baseline. [default: eager inductor]",
)
@click.option(
    "--modes",
    cls=Values,
    value_type=click.Choice(MODES),
    default=["inference"],
    help="inference, training. [default: inference]",
)
@click.option(
    "--batch-sizes", cls=Values, value_type=click.IntRange(min=1), help="Batch sizes; each model's own if left out."
)
@click.option(
    "--sequence-lengths",
    cls=Values,
    value_type=click.IntRange(min=1),
    help="Sequence lengths, for models that have them.",
)
@click.option(
    "--dtypes",
    cls=Values,
    value_type=click.Choice(DTYPES),
    default=["float32"],
    help=f"{', '.join(DTYPES)}. [default: float32]",
)
@click.option(
    "--devices",
    cls=Values,
    value_type=click.types.FuncParamType(device_name),
    default=["cpu"],
    help="cpu, cuda, cuda:N. [default: cpu]",
)
@sample_option()
@config_option
@tags_option
@click.option(
    "--precision",
    metavar="SHARE",
    type=share,
    help="Half-width of a speedup's 95 % interval at which to stop. [default: 1%]",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Most time to sample a workload. [default: 20]",
)
@click.option("--repeat", type=click.IntRange(min=1), help="Take exactly so many samples of each case instead.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=2000.0,
    show_default=True,
    metavar="SECONDS",
    help="Most time for one workload's worker.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads torch computes with; an axis of the case.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of weights, inputs and the order of samples.")
@click.option(
    "--quick", is_flag=True, help=f"Precision {QUICK_PRECISION:.0%} and a budget of {QUICK_BUDGET_S:g} s, unless given."
)
@click.option("--print", "print_only", is_flag=True, help="Print the cases and run nothing.")
@store_option
def command(
    suite: str,
    models: tuple[str, ...],
    backends: tuple[str, ...],
    modes: tuple[str, ...],
    batch_sizes: tuple[int, ...],
    sequence_lengths: tuple[int, ...],
    dtypes: tuple[str, ...],
    devices: tuple[str, ...],
    config: str | None,
    tags: dict[str, str],
    precision: float | None,
    budget: float | None,
    repeat: int | None,
    timeout: float,
    threads: int | None,
    seed: int,
    quick: bool,
    print_only: bool,
    sample: float | None,
    store: Store,
) -> int:
    """Measure models: every backend against eager, with intervals.

    Each workload runs in a fresh process, its backends interleaved in random blocks, until the speedup is known as
    precisely as asked. Ends with 1 if a case failed; what was measured is kept in any case.

    \b
        bench measure models --models mlp attention --backends eager inductor --batch-sizes 1 8 32
    """
    known_backends.check(backends)
    plan = product(
        suite, models_of(suite, models), backends=backends, modes=modes, devices=devices, dtypes=dtypes,
        batch_sizes=batch_sizes, sequence_lengths=sequence_lengths,
        parameters={"threads": threads} if threads else None,
    )  # fmt: skip
    if BASELINE not in backends:
        talk(f"{BASELINE} added: it is what speedups are measured against")
    if print_only:
        for workload in plan:
            for backend in workload.backends:
                click.echo(f"{workload} {backend}")
        return Exit.OK
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("torch", "torch")
    usual = Settings(precision=QUICK_PRECISION, budget_s=QUICK_BUDGET_S) if quick else Settings()
    settings = Settings(
        precision=precision or usual.precision,
        budget_s=budget or usual.budget_s,
        timeout_s=timeout,
        repeat=repeat,
        threads=threads,
        seed=seed,
        sample_hz=sample,
    )
    return _measure(plan, settings, store, config=config, suite=suite, tags=tags)


def _measure(
    plan: list[Workload], settings: Settings, store: Store, *, config: str | None, suite: str, tags: dict[str, str]
) -> int:
    from ..warehouse import recorder
    from ..warehouse.database import Warehouse
    from ..warehouse.output import write_rows
    from .report import COLUMNS, results
    from .runner import Runner

    with recorder.run(config, suite=suite, store=store, source="measure", tags=tags) as run:
        failed = Runner(run, settings, say=progress).measure(plan)
    progress("")
    with Warehouse.open(store) as warehouse:
        found = results(warehouse, run.run_id)
    write_rows(list(COLUMNS), [result.cells() for result in found], "table")
    for note in filter(None, (result.note() for result in found)):
        talk(note)
    talk(f"recorded as run {run.run_id} in {store.root}. Ask again with: bench speedups")
    return Exit.FAILED if failed else Exit.OK
