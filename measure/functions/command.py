"""`bench measure function`: how long functions take, and which is faster."""

import ast
import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ...warehouse.console.options import Command, share_option
from ...warehouse.console.tables import escape
from ...warehouse.errors import BenchError, Exit, UnknownName
from ...warehouse.store import Store
from ..commands.plan import by_name, parameter_of
from ..engine.rounds import LEAST_ROUNDS, MOST_ROUNDS, further
from ..engine.workload import Settings, Workload
from ..options import SECONDS, as_module, progress, recorded, run_options, talk, write
from ..recorded_options import begin_run
from ..revisions.options import RevisionsRequest, revisions_option, rounds_option, sides_of, with_option
from ..system.instructions import KINDS, CannotCount, counts_in_words
from ..system.machine_lock import alone, lock_option
from .discovery import Group, find
from .line_times import record_lines
from .revisions import measure_revisions
from .targets import check_spelling

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from ..engine.runner import Runner

PROGRAMS = f"{__package__}.program"


def argument_of(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE`: JSON, a Python literal, or else text.

    Raises:
        BenchError: It is no such thing.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise BenchError(f"argument {text!r} has no name or no value. Write it as NAME=VALUE.")
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value)
            return name, json.loads(json.dumps(found))
        except (ValueError, TypeError, SyntaxError):
            continue
    return name, value


def _targets(ctx: click.Context, param: click.Parameter, targets: tuple[str, ...]) -> tuple[str, ...]:
    targets = tuple(map(as_module, targets))
    for target in targets:
        module, colon, name = target.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *(name.split(".") if colon else ())]):
            raise BenchError(f"{target!r} names no function and no module. Write it as module:function, or module.")
    if len({":" in target for target in targets}) > 1:
        raise BenchError(
            "functions are measured as module:function, or modules with all their benchmarks: not both at once"
        )
    if len(set(targets)) != len(targets):
        raise BenchError("a function was given twice; to compare it with itself, give it a second name")
    return targets


def _setup(ctx: click.Context, param: click.Parameter, target: str | None) -> str:
    if target and ":" not in target:
        raise BenchError(f"{target!r} names no function. Write it as module:function.")
    return "".join(_targets(ctx, param, (target,) if target else ()))


def _arguments(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    return by_name(list(map(argument_of, texts)))


def _parameters(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    return by_name(list(map(parameter_of, texts)))


@click.command("function", cls=Command)
@click.argument("functions", nargs=-1, required=True, metavar="MODULE:FUNCTION… | MODULE…", callback=_targets)
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", callback=_arguments,
              help="Keyword argument, as JSON, a Python literal or text; may be repeated.")  # fmt: skip
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUES",
              callback=_parameters,
              help="Keyword argument with several values: 1,10,100 or a scan, 1..10 or 1..10..3; may be repeated.")  # fmt: skip
@click.option("--setup", metavar="MODULE:FUNCTION", callback=_setup,
              help="Function that makes the arguments, outside the timing, once for each function and process.")  # fmt: skip
@click.option("--check", is_flag=True, help="Check that all return what the first returns.")
@click.option("--name", help="What to call what they compute. [default: the first function]")
@click.option(
    "--filter", "text", default="", metavar="TEXT", help="Of a module, only benchmarks whose name contains this."
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Measure in exactly N fresh processes. [default: {LEAST_ROUNDS}, up to {MOST_ROUNDS} while the interval is too wide]",
)
@share_option("--precision", default="1%",
              help="Half-width of the 95 % interval of the ratio (or of a lone function's time) at which to stop.")  # fmt: skip
@click.option("--budget", "budget_s", type=SECONDS, default=10.0, show_default=True,
              metavar="SECONDS", help="Most time to sample a comparison, all processes together.")  # fmt: skip
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    help="Take exactly this many samples of each function in each process instead.",
)
@click.option("--timeout", "timeout_s", type=SECONDS, default=600.0, show_default=True,
              metavar="SECONDS", help="Most time for one process.")  # fmt: skip
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
    from ..engine.progress import ProgressLines
    from ..engine.runner import Runner

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
    plan = [
        Workload(
            suite="function", name=group.name, target=group.setup, mode="", device="", dtype="", batch_size=0,
            sequence_length=None, backends=group.functions, baseline=group.functions[0],
            parameters=dict(zip(group.parameters, values, strict=True)),
        )
        for group in groups
        for values in itertools.product(*group.parameters.values())
    ]  # fmt: skip
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
    with alone(lock), begin_run(config, suite="function", store=store, tags=tags) as run:
        failed, watch, said = 0, ProgressLines(), list[str]()
        try:
            runner = Runner(run, settings, program=program, watch=watch)
            more = () if processes or repeat else further(plan, runner, precision=precision, budget_s=budget_s)
            failed = runner.measure(plan * (processes or LEAST_ROUNDS), more)
            said = list(_counts(run, runner, plan, counting, timeout_s)) if counting else []
            said += record_lines(run, runner, plan, timeout_s) if lines else []
        except KeyboardInterrupt:
            run.close("interrupted", "Ctrl-C")
    watch.close()
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
    if busy := busy_machine(result.disturbed for result in found):
        talk(busy)
