"""`bench measure function`: how long functions take, and which is faster."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ...warehouse.console.options import Command, share_option
from ...warehouse.console.tables import escape
from ...warehouse.errors import BenchError, Exit, UnknownName
from ...warehouse.store import Store
from ..commands.plan import by_name, parameter_of
from ..engine.rounds import LEAST_ROUNDS, MOST_ROUNDS
from ..engine.workload import Settings, Workload
from ..options import progress, recorded, run_options, talk, write
from ..recorded_options import begin_run
from ..revisions.options import RevisionsRequest, revisions_option, rounds_option, sides_of, with_option
from ..system.instructions import KINDS, CannotCount, counts_in_words
from ..system.machine_lock import alone, lock_option
from .discovery import Group, find
from .here import measure_here
from .line_times import record_lines
from .options import arguments_option, budget_option, processes_option, setup_option, targets_of, timeout_option
from .revisions import measure_revisions
from .targets import check_spelling

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner

PROGRAMS = f"{__package__}.program"


def _parameters(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    return by_name(list(map(parameter_of, texts)))


@click.command("function", cls=Command)
@click.argument("functions", nargs=-1, required=True, metavar="MODULE:FUNCTION… | MODULE…", callback=targets_of)
@arguments_option
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUES",
              callback=_parameters,
              help="Keyword argument with several values: 1,10,100 or a scan, 1..10 or 1..10..3; may be repeated.")  # fmt: skip
@setup_option
@click.option("--check", is_flag=True, help="Check that all return what the first returns.")
@click.option("--name", help="What to call what they compute. [default: the first function]")
@click.option(
    "--filter", "text", default="", metavar="TEXT", help="Of a module, only benchmarks whose name contains this."
)
@processes_option
@share_option("--precision", default="1%",
              help="Half-width of the 95 % interval of the ratio (or of a lone function's time) at which to stop.")  # fmt: skip
@budget_option
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    help="Take exactly this many samples of each function in each process instead.",
)
@timeout_option
@click.option("--instructions", "counting", type=click.Choice(KINDS), is_flag=False, flag_value=KINDS[0],
              help="Count the instructions of a call, too, in one more process: by the kernel, or by callgrind.")  # fmt: skip
@revisions_option
@with_option
@rounds_option
@click.option("--prepare", metavar="CMD", help="Command that builds a revision, in its folder; once for each.")
@click.option("--lines", is_flag=True,
              help="Sample at which lines a call spends its time, in more processes: bench why tells what changed.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for the order of samples.")
@lock_option
@run_options()
def command(
    functions: tuple[str, ...], arguments: dict[str, Any], parameters: dict[str, list[Any]], setup: str, check: bool,
    name: str | None, text: str, processes: int | None, precision: float, budget_s: float, repeat: int | None,
    timeout_s: float, counting: str | None, lines: bool, revisions: tuple[str, ...], packages: tuple[str, ...],
    rounds: int, prepare: str | None, seed: int, lock: str, sample: float | None, config: str | None,
    tags: dict[str, str], fmt: str, store: Store,
) -> int:  # fmt: skip
    """Measure functions: time and memory of a call; several against the first.

    Modules are found from the current folder; of a module, all that it marks with @bench.benchmark is measured.
    Several functions of the same arguments take turns in random order, in several fresh processes, until their ratio
    is known as precisely as asked; async ones are awaited, generators run to their end. Ends with 1 if one failed.

    \b
        bench measure function json:dumps --arg obj='{"a": [1, 2, 3]}'
        bench measure function work:old work:new --parameter n=10,100,1000 --check
        bench measure function benchmarks
        bench measure function work:parse --arg n=1000 --revisions main faster
    """
    if any(":" in target for target in functions):
        if text:
            raise BenchError("--filter chooses among the benchmarks of modules: leave it out, or name the module alone")
        if twice := sorted(arguments.keys() & parameters.keys()):
            raise BenchError(f"{', '.join(twice)} has both an --arg and a --parameter: give one of them")
        values = {key: [value] for key, value in arguments.items()} | parameters
        groups = [Group(name or functions[0], functions, values, setup)]
    else:
        if arguments or parameters or setup or name:
            raise BenchError(
                "--arg, --parameter, --setup and --name go with module:function: benchmarks say that themselves"
            )
        groups = _chosen(find(functions), text)
    plan = [workload for group in groups for workload in group.workloads()]
    sides = sides_of(revisions, packages)
    each = processes or (LEAST_ROUNDS if sides else MOST_ROUNDS)
    settings = Settings(
        precision=precision, budget_s=budget_s / each, timeout_s=timeout_s, repeat=repeat, seed=seed,
        sample_hz=sample,
    )  # fmt: skip
    program = f"{PROGRAMS}:{'CheckedProgram' if check else 'FunctionProgram'}"
    if sides:
        if counting:
            raise BenchError(f"--instructions looks at the present folder: leave out {sides.option}")
        if prepare and packages:
            raise BenchError("--prepare builds a revision: packages of --with are installed as they are")
        wanted = RevisionsRequest("function", sides, rounds, prepare, store, config, tags, lock, fmt)
        return measure_revisions(plan, each, settings, program, wanted, lines=lines)
    if len(functions) == 1:  # of several the others are measured
        check_spelling(functions[0])

    def look(runner: "Runner") -> Iterator[str]:
        if counting:
            yield from _counts(run, runner, plan, counting, timeout_s)
        if lines:
            yield from record_lines(run, runner, plan, timeout_s)

    with alone(lock), begin_run(config, suite="function", store=store, tags=tags) as run:
        failed, said = measure_here(run, plan, settings, program, processes=processes, budget_s=budget_s, after=look)
    _show(store, run.run_id, fmt, precision, "--repeat" if repeat else "--budget")
    for sentence in said:
        talk(sentence)
    recorded(run)
    return Exit.FAILED if failed else Exit.OK


def _counts(run: "Run", runner: "Runner", plan: list[Workload], kind: str, timeout_s: float) -> Iterator[str]:
    """Record the instructions of a call of each function that did not fail, or why they cannot be counted; and say so."""
    from .instructions import instructions_of

    reasons = set()
    for workload in plan:
        first: list[float] = []
        arguments = [f"{key}={value}" for key, value in workload.parameters.items()]
        for function in workload.backends:
            if runner.has_failed(workload, function):
                continue
            progress(f"{escape(function)}: counting instructions")
            case = run.case(**workload.axes(function), announce=False)
            try:
                counts = instructions_of(workload, function, kind, timeout_s)
            except CannotCount as error:
                reasons.add(str(error))
                case.metric("instructions_skipped", None, text=str(error))
                continue
            for found in counts:
                case.metric("instructions", found, unit="count", better="lower", phase="steady")
            yield f"{escape(' '.join([function, *arguments]))}: a call takes {counts_in_words(counts, first)}"
            first = first or counts
    for reason in sorted(reasons):
        yield f"instructions were not counted: {escape(reason)}"


def _chosen(groups: list[Group], text: str) -> list[Group]:
    """The benchmarks with this text in their name or in one of their functions'."""
    found = [group for group in groups if any(text in name for name in (group.name, *group.functions))]
    if not found:
        raise UnknownName("benchmark", text, [group.name for group in groups], where="these modules")
    return found


def _show(store: Store, run_id: str, fmt: str, precision: float, limit: str) -> None:
    from ...warehouse.database import Warehouse
    from .report import FUNCTION_COLUMNS, FUNCTION_HEADINGS, FUNCTION_SPARE, busy_machine, results

    with Warehouse.open(store) as warehouse:
        found = results(warehouse, run_id)
    write(
        fmt,
        shown=(FUNCTION_HEADINGS, (one.cells() for one in found)),
        exact=(FUNCTION_COLUMNS, (one.values() for one in found)),
        spare=FUNCTION_SPARE,
    )
    for note in (note for result in found for note in result.notes(precision, limit)):
        talk(note)
    if busy := busy_machine(found):
        talk(busy)
