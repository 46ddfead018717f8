"""`bench measure command`: how long commands take, what they need, and which is faster."""

import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ...query.command_services import command_services
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import share_option
from ...warehouse.errors import BenchError, Exit
from ...warehouse.store import Store
from ..options import (
    SECONDS,
    CommandOfWords,
    maps_option,
    progress,
    recorded,
    run_options,
    talk,
    words_after_dashes,
    write,
)
from ..recorded_options import begin_run
from ..revisions.options import RevisionsRequest, revisions_option, rounds_option, sides_of, with_option
from ..system.instructions import KINDS
from ..system.machine_lock import alone, lock_option
from .plan import Hooks, PlannedCommand, Template, parameter_of, plan, program_is_there, template_of

if TYPE_CHECKING:
    from .measurement import CommandResult
    from .results import CallResults

CALLS_OF_RESULTS = (
    5  # of each command, unless it is said how many or how long: their times say nothing of what they write
)


NO_SHELL = "leave it out, no shell is used; --shell uses one"
EXPORTED = "bench export latest --as {}, afterwards"


def _exit_codes(ctx: click.Context, param: click.Parameter, text: str | None) -> frozenset[int] | None:
    """The exit codes that do not count as failures; None for all."""
    if text == "all":
        return None
    codes = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(code.isdecimal() for code in codes):
        raise BenchError(f"{text!r} are not exit codes. Write them as 1,2 or all.")
    return frozenset([0, *map(int, codes)])


def _parameters(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[Any]:
    return [parameter_of(text) for text in texts]


# Options of hyperfine, and what asks for the same here.
HYPERFINE = {
    "L": "--parameter NAME=1,10,100",
    "N": NO_SHELL,
    "P": "--parameter NAME=1..10",
    "S": NO_SHELL,
    "command-name": "--name",
    "export-csv": EXPORTED.format("csv -o FILE.csv"),
    "export-json": EXPORTED.format("hyperfine -o FILE.json"),
    "export-markdown": "--format markdown",
    "i": "--ignore-exit-codes all",
    "ignore-failure": "--ignore-exit-codes all",
    "m": "--precision and --budget, or --repeat",
    "M": "--precision and --budget, or --repeat",
    "max-runs": "--precision and --budget, or --repeat",
    "min-runs": "--precision and --budget, or --repeat",
    "n": "--name",
    "p": "--prepare",
    "parameter-list": "--parameter NAME=1,10,100",
    "parameter-scan": "--parameter NAME=1..10",
    "parameter-step-size": "--parameter NAME=1..10..3",
    "r": "--repeat",
    "reference": "the first command, with which the others are compared",
    "runs": "--repeat",
    "s": "--setup",
    "w": "--warmup",
}


@click.command("command", cls=CommandOfWords, elsewhere=HYPERFINE)
@click.argument("commands", nargs=-1, metavar="'CMD…' … | -- CMD ARG…")
@click.option("--name", "names", multiple=True, help="What to call the command; once for each, in their order.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUES", callback=_parameters,
              help="Values for {NAME} in a command: 1,10,100 or a scan, 1..10 or 1..10..3; may be repeated.")  # fmt: skip
@click.option("--warmup", type=click.IntRange(min=0), default=0, show_default=True,
              help="Runs of each command before those that count.")  # fmt: skip
@share_option("--precision", default="1%",
              help="Half-width of the 95 % interval of the ratio (or of a lone command's time) at which to stop.")  # fmt: skip
@click.option("--budget", "budget_s", type=SECONDS, metavar="SECONDS",
              help="Most time for one comparison. [default: 10, or what five runs of each take]")  # fmt: skip
@click.option("--repeat", type=click.IntRange(min=1), help="Take exactly this many runs of each command instead.")
@click.option("--timeout", "timeout_s", type=SECONDS, metavar="SECONDS",
              help="Most time for one run; then it is killed, and counts as failed.")  # fmt: skip
@click.option("--setup", "setups", multiple=True, metavar="CMD",
              help="Shell command to run once before each command's first run; once for all, or once for each. With --revisions "
              "it builds each, in its folder.")  # fmt: skip
@click.option("--prepare", "prepares", multiple=True, metavar="CMD",
              help="Shell command to run before every run; once for all, or once for each.")  # fmt: skip
@click.option("--conclude", "concludes", multiple=True, metavar="CMD",
              help="Shell command to run after every run, failed ones too; once for all, or once for each.")  # fmt: skip
@click.option("--cleanup", "cleanups", multiple=True, metavar="CMD",
              help="Shell command to run once after each command's last run; once for all, or once for each.")  # fmt: skip
@click.option("--shell", is_flag=True, help="Let /bin/sh run the measured commands, too, for pipes and the like.")
@click.option("--input", "stdin", type=click.Path(exists=True, dir_okay=False), default=os.devnull,
              help="File that commands read from stdin. [default: nothing]")  # fmt: skip
@click.option("--show-output", is_flag=True, help="Let commands write to the terminal; their stdout goes to stderr.")
@click.option("--ignore-exit-codes", "fine", metavar="CODES", callback=_exit_codes,
              help="Exit codes other than 0 that do not count as failures: 1,2 or all.")  # fmt: skip
@click.option("--instructions", type=click.Choice(KINDS), is_flag=False, flag_value=KINDS[0],
              help="Count instructions in three more runs of each: by the kernel, or slowly by callgrind.")  # fmt: skip
@revisions_option
@with_option
@rounds_option
@click.option("--results", multiple=True, metavar="FILE",
              help="File that a command writes, ingested after each run; * and ? fit, may be repeated.")  # fmt: skip
@maps_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for the order of runs.")
@lock_option
@run_options()
def command(
    commands: tuple[str, ...], names: tuple[str, ...], parameters: list[Any], setups: tuple[str, ...],
    prepares: tuple[str, ...], concludes: tuple[str, ...], cleanups: tuple[str, ...], shell: bool, stdin: str,
    show_output: bool, revisions: tuple[str, ...], packages: tuple[str, ...], rounds: int, results: tuple[str, ...],
    maps: tuple[str, ...], lock: str, sample: float | None,
    config: str | None, tags: dict[str, str], fmt: str, store: Store, **settings: Any,
) -> int:  # fmt: skip
    """Measure commands: time, processor time, memory; several against the first.

    A command of several words is quoted, or follows --. Several take turns in random order, until their ratio is known
    as precisely as asked. Ends with 1 if a run failed; failed runs are kept, apart from the others.

    With --results the numbers are those of the files that the commands write: five runs of each unless --repeat or
    --budget says otherwise. Of several commands each has a --name, which is the config of its results.

    \b
        bench measure command --warmup 1 'sort big.txt' 'sort --parallel=1 big.txt'
        bench measure command --results out.json -- vllm bench serve … --save-result --result-filename out.json
        bench measure command --parameter n=1,10,100 -- python work.py {n}
        bench measure command --revisions main faster --setup 'make -s' -- ./build/tool big.txt
    """
    templates = [Template(text) for text in commands]
    templates += [template_of(words)] if (words := words_after_dashes()) else []
    if not templates:
        raise BenchError("no command given. Write it as: bench measure command -- CMD ARG…")
    given = {"--setup": setups, "--prepare": prepares, "--conclude": concludes, "--cleanup": cleanups}
    around = (_each(option, texts, len(templates)) for option, texts in given.items())
    hooks = [Hooks(*each) for each in zip(*around, strict=True)]
    sides = sides_of(revisions, packages)
    if revisions:
        if len(setups) > 1:
            raise BenchError("with --revisions one --setup builds each of them: put the commands into one, with &&")
        hooks = [replace(each, setup=None) for each in hooks]
    comparisons = plan(templates, names=names, parameters=parameters, hooks=hooks, shell=shell)
    if not (setups or prepares or shell or sides):
        _check_programs(comparisons)

    written = None
    if results:
        written = _call_results(results, maps, comparisons, by_name=len(templates) > 1, named=bool(names),
                                config=config, tags=tags, store=store)  # fmt: skip
        if settings["budget_s"] is None:
            settings["repeat"] = settings["repeat"] or CALLS_OF_RESULTS
    elif maps:
        raise BenchError("--map reads the files of --results: name those, too")
    if sides:
        from .measurement import CommandSettings
        from .revisions import measure_revisions

        build = setups[0] if setups and revisions else None
        return measure_revisions(
            comparisons, CommandSettings(sample_hz=sample, **settings),
            RevisionsRequest("command", sides, rounds, build, store, config, tags, lock, fmt),
            stdin=stdin, shown=show_output, written=written, notify=_notify,
        )  # fmt: skip
    from .process import launcher

    with launcher(stdin=stdin, shown=show_output) as starter:
        from .measurement import CommandMeasurement, CommandSettings, CommandSite  # while the launcher starts

        with alone(lock), begin_run(config, suite="command", store=store, tags=tags) as run:
            wanted = CommandSettings(sample_hz=sample, **settings)
            measurement = CommandMeasurement([CommandSite(run, starter)], wanted, written=written, notify=_notify)
            measured = measurement.measure(comparisons)
            empty_ns = None if measurement.interrupted else measurement.empty_ns(measured)
            if measurement.interrupted:
                run.close("interrupted", "Ctrl-C", seal=False)
            # the next command that opens the store seals it; that takes longer than many commands
            run.close(seal=False)
        progress("")
        _show(measured, fmt, settings["warmup"], empty_ns, timed=not results)
        if measurement.uncounted:
            talk(f"instructions were not counted: {measurement.uncounted}")
    if written:
        from .results import show_results

        show_results(written, [result for results in measured for result in results], store, fmt)
    recorded(run)
    failed = any(result.status != "ok" for results in measured for result in results)
    return Exit.FAILED if failed else Exit.OK


def _call_results(
    patterns: Sequence[str], maps: Sequence[str], comparisons: list[list[PlannedCommand]], *,
    by_name: bool, named: bool, config: str | None, tags: Mapping[str, str], store: Store,
) -> "CallResults":  # fmt: skip
    """Decide what happens to the files that commands write."""
    from ...warehouse import environment, recorder
    from ..result_files import ResultFiles
    from .results import CallResults

    if by_name and not named:
        raise BenchError("the results of several commands are told apart by their names: give --name once for each")
    files = ResultFiles(patterns, partial(command_services().ingest_result, store, maps=maps), talk)
    by_parameters = len({tuple(side.parameters.items()) for sides in comparisons for side in sides}) > 1
    default = recorder.default_config(environment.git()[1])
    return CallResults(files, config, default, by_name, by_parameters, tags)


def _each(option: str, texts: tuple[str, ...], commands: int) -> list[Template | None]:
    """One for each command."""
    if len(texts) not in (0, 1, commands):
        raise BenchError(
            f"{option} was given {len(texts)} times for {counted(commands, 'command')}: {', '.join(texts)}. "
            "Give one for all, or one each."
        )
    return [Template(text) for text in (texts if len(texts) == commands else texts * commands)] or [None] * commands


def _check_programs(comparisons: list[list[PlannedCommand]]) -> None:
    for side in (side for sides in comparisons for side in sides):
        if not program_is_there(side.words):
            hint = " A command of several words is quoted, or follows --." if len(side.words) == 1 else ""
            raise BenchError(f"there is no program {side.words[0]!r}.{hint} Builtins of the shell need --shell.")


def _notify(text: str) -> None:
    """Print progress, on terminals only: there may be thousands of runs."""
    from ...warehouse.console.tables import obeys

    if obeys(sys.stderr):
        progress(text)


def _show(
    comparisons: "Sequence[Sequence[CommandResult]]", fmt: str, warmup: int, empty_ns: float | None, *, timed: bool
) -> None:
    """Write a row for each case to stdout, and notes to stderr: of calls that are not `timed` only how they failed."""
    from .report import COMMAND_COLUMNS, COMMAND_HEADINGS, COMMAND_SPARE, cells, notes, values

    rows = [(result, results[0]) for results in comparisons for result in results]
    alone = all(len(results) == 1 for results in comparisons)
    shown = (cells(*row, alone=alone) for row in rows)
    exact = (values(*row) for row in rows)
    write(
        fmt,
        shown=(COMMAND_HEADINGS[:-2] if alone else COMMAND_HEADINGS, shown),
        exact=(COMMAND_COLUMNS, exact),
        spare=COMMAND_SPARE,
    )
    for row in rows:
        found = notes(*row, warmup=warmup, empty_ns=empty_ns)
        for note in found if timed else itertools.islice(found, int(row[0].status != "ok")):
            talk(note)
