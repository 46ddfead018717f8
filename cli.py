"""The command line: names and one-line helps here, everything else imported when it runs."""

import contextlib
import errno
import gc
import importlib
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ._version import __version__
from .query.higher_rooms import HigherRooms
from .warehouse import interruption
from .warehouse.console.error_lines import choose_format_early, errors_option, forget_format, write_error
from .warehouse.errors import BenchError, Exit, UnknownName

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from .warehouse.store import Store

# name -> (module, attribute, short help). Static, so that `bench --help` imports none of them.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "measure": (".measure.command", "measure", "Measure models, programs and running processes."),
    "ingest": (".ingest.command", "ingest", "Load results of bench and of other tools into the store."),
    "sql": (".query.command", "sql", "Ask the warehouse anything, read-only."),
    "views": (".query.command", "views", "List the views and tables with their columns and meanings."),
    "speedups": (".query.command", "speedups", "Every backend against its baseline, with intervals."),
    "compare": (".query.comparison.command", "compare", "Compare two sides case by case, with verdicts."),
    "regressions": (".query.regression.command", "regressions", "What got worse since the runs before, beyond noise."),
    "history": (".query.change.command", "history", "What changed over many runs: steps, drifts and excursions."),
    "bisect": (".measure.bisect.command", "command", "Find the commit that made it slower, larger or fail."),
    "report": (".viz.report", "report", "Report a run as Markdown or as one offline page."),
    "export": (".query.export.command", "export", "Write runs as the files of other tools."),
    "runs": (".query.command", "runs", "List runs, newest first."),
    "configs": (".query.command", "configs", "List configs and what is known of each."),
    "cases": (".query.command", "cases", "List cases and how each ended."),
    "sources": (".query.command", "sources", "List imported files with their accounting."),
    "rejects": (".query.command", "rejects", "List records that could not be read, and why."),
    "show": (".query.contents.command", "show", "What is in a run: each case with its value and interval."),
    "explain": (".query.explain.command", "explain", "Trace a figure to its SQL, samples and files."),
    "env-diff": (".query.explain.command", "env_diff", "What differs between the environments of two sides."),
    "plan": (".query.explain.command", "plan", "How many runs it takes to see a change of a given size."),
    "cost-model": (".query.cost.command", "cost_model", "Fit what a scheduler step costs by its tokens."),
    "viz": (".viz.command", "viz", "Draw charts of queries."),
    "forget": (".query.edits.command", "forget", "Take runs out of every view; `remember` brings them back."),
    "remember": (".query.edits.command", "remember", "Bring forgotten runs back."),
    "rename": (".query.edits.command", "rename", "Rename a config, or give runs another one."),
    "tag": (".query.edits.command", "tag", "Label runs afterwards."),
    "untag": (".query.edits.command", "untag", "Take labels from runs."),
    "settings": (".warehouse.command", "settings", "What the project's settings say, and why."),
    "doctor": (".measure.doctor.command", "command", "What would disturb measurements here, and the noise floor."),
    "recover": (".warehouse.upkeep.command", "recover", "Seal the journals of processes that died."),
    "rebuild": (".warehouse.upkeep.command", "rebuild", "Build the warehouse anew from the event log."),
    "verify": (".warehouse.upkeep.command", "verify", "Check every file's checksum and accounting."),
    "sync": (".warehouse.remote.command", "sync", "Copy what one store has and another lacks, disk or bucket."),
    "compact": (".warehouse.upkeep.command", "compact", "Merge small event files without changing any result."),
    "archive": (".warehouse.upkeep.command", "archive", "Move old runs into another store."),
    "schemas": (".programs.command", "schemas", "The JSON Schemas of what commands answer."),
    "mcp": (".programs.command", "mcp", "Answer agents by the Model Context Protocol."),
    "completion": (".shell_completion", "completion", "Print a script for a shell that completes bench's commands."),
}

# Names that other tools have for a command -> what it is called here.
OTHER_NAMES = {
    "delete": "forget", "remove": "forget", "rm": "forget", "undo": "forget", "restore": "remember", "undelete": "remember",
    "mv": "rename", "label": "tag", "plot": "viz", "chart": "viz", "draw": "viz", "graph": "viz", "import": "ingest",
    "load": "ingest", "add": "ingest", "query": "sql", "select": "sql", "ask": "sql", "ls": "runs", "list": "runs",
    "log": "runs", "diff": "compare", "cmp": "compare", "run": "measure", "bench": "measure", "time": "measure",
    "check": "verify", "fsck": "verify", "gc": "compact", "vacuum": "compact", "copy": "sync", "push": "sync", "pull": "sync",
    "tables": "views", "schema": "views", "trend": "history", "why": "explain", "env": "settings", "config": "settings",
}  # fmt: skip


KEPT = "everything recorded so far is kept"
INTERRUPTED = f"interrupted; {KEPT}"  # __main__ says the same
TERMINATED = f"ended by SIGTERM; {KEPT}"
CHECK_S = 0.2  # between two looks at a measurement in a process of its own
GRACE_S = 30  # that an interrupted measurement gets to record what it has
_running: "set[subprocess.Popen[str]]" = set()  # measurements in processes of their own
GARBAGE = 50_000  # objects between collections, not 700: imports make many objects and hardly any garbage


class _ReaderLeft(Exception):
    """The reader of a command's output has closed the pipe."""


class Lazy(click.Group):
    """A group that lists its commands statically and imports one when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `--errors` into account even where the rest is wrong."""
        choose_format_early(args, interspersed=False)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module, __package__), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or its help; for an unknown name, the error suggests the nearest, or what it is called here."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
        if args and args[0] not in COMMANDS:
            choose_format_early(args[1:], interspersed=True)
        if args and args[0] in OTHER_NAMES:
            name = OTHER_NAMES[args[0]]
            raise BenchError(f"no command {args[0]!r}. It is called {name} here: bench {name} --help")
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS, cure="List them with: bench --help")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; handle a closed pipe here, because click would exit with 1, which means that something got worse."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderLeft from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The commands that begin so, with their help; importing all of them would take seconds."""
        from click.shell_completion import CompletionItem

        names = (name for name in COMMANDS if name.startswith(incomplete))
        own = [CompletionItem(name, help=COMMANDS[name][2]) for name in names]
        return own or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the static one-line helps; importing the commands would cost seconds."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in COMMANDS.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bench")
@click.option("--store", metavar="STORE", help="Store to use; each command takes it, too.")
@click.pass_context
def cli(context: click.Context, store: str | None) -> None:
    """Measure, keep, question and draw the performance of ML systems.

    \b
        bench measure models --backends eager inductor
        bench ingest A:profiles/a B:profiles/b
        bench speedups
        bench viz runtime-vs-tokens --configs A B -o chart.png
        bench sql "SELECT config, count(*) FROM schedule_chunks JOIN runs USING (run_id) GROUP BY 1"
    """
    context.obj = HigherRooms(_ingest_path, _measure_again, _run_bench, _leave)
    if store is not None:
        _use(context, store)


cli.params.append(errors_option())


def _use(context: click.Context, store: str) -> None:
    """Have the command use this store unless it is given one itself, and the processes that it starts as well."""
    from .warehouse.store import Store

    Store.find(store)  # an error of this option is said before any other
    before = os.environ.get("BENCH_STORE")
    os.environ["BENCH_STORE"] = store

    @context.call_on_close
    def restore() -> None:
        os.environ.pop("BENCH_STORE")
        if before is not None:
            os.environ["BENCH_STORE"] = before


def _ingest_path(store: "Store", path: str) -> None:
    """`bench compare FOLDER …` ingests the folder."""
    from .ingest.command import ingest_path

    ingest_path(store, path)


def _measure_again(command: Sequence[str], run_id: str) -> int:
    """`bench regressions --confirm` measures in a process of its own, which imports what the first measurement imported.

    Its standard output goes to stderr; -P keeps modules of the working directory out.
    """
    words = [sys.executable, "-P", "-m", "bench", *command[1:], "--tag", f"confirms={run_id}"]
    return subprocess.run(words, stdout=2).returncode


def _run_bench(
    words: Sequence[str], limit_s: float | None = None, check: Callable[[], None] = lambda: None
) -> "subprocess.CompletedProcess[str]":
    """`bench mcp` and `bench bisect` measure in a process of their own in the working directory.

    It is interrupted past its time, and when `check`, which is called now and then, raises.

    Raises:
        subprocess.TimeoutExpired: It took longer.
    """
    command = [sys.executable, "-P", "-m", "bench", *words]
    end = time.monotonic() + (limit_s or math.inf)
    with subprocess.Popen(
        command,
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        _running.add(process)
        try:
            while (out_err := _output(process)) is None:
                check()
                if time.monotonic() > end:
                    raise subprocess.TimeoutExpired(command, limit_s or 0)
        except BaseException:
            _interrupt(process, process.communicate)
            raise
        finally:
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, *out_err)


def _output(process: "subprocess.Popen[str]") -> tuple[str, str] | None:
    """What it wrote, if it ends soon."""
    try:
        return process.communicate(timeout=CHECK_S)
    except subprocess.TimeoutExpired:
        return None


def _interrupt(process: "subprocess.Popen[str]", wait: Callable[..., object]) -> None:
    for sign in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, sign)
            wait(timeout=GRACE_S)


def _leave(number: int) -> NoReturn:
    """End `bench mcp` at Ctrl-C or SIGTERM, or with its client (0), and what it measures, whatever its threads wait for."""
    for process in [*_running]:
        _interrupt(process, process.wait)
    if number:
        write_error(*_ended_by(number))
    os._exit(128 + number if number else Exit.OK)


def _ended_by(number: int) -> tuple[str, int, str]:
    """The sentence, exit code and kind of a command that a signal has ended."""
    return TERMINATED if number == signal.SIGTERM else INTERRUPTED, 128 + number, "Interrupted"


def main() -> Any:
    """Run the command line; errors become sentences and exit codes, never tracebacks."""
    try:
        interruption.watch()
        gc.set_threshold(GARBAGE)
        forget_format()
        try:
            code = cli.main(prog_name="bench", standalone_mode=False)
        finally:
            interruption.raise_put_off()
        sys.stdout.flush()
    except BenchError as error:
        write_error(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        write_error(error)
        sys.exit(Exit.USAGE)
    except (KeyboardInterrupt, click.Abort):
        _stop(*_ended_by(interruption.last_signal()))
    except (_ReaderLeft, BrokenPipeError):  # before the command had come to its end: neither fine nor a finding
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of a Ctrl-C
            _stop(*_ended_by(interruption.last_signal()))
        if os.environ.get("BENCH_DEBUG"):
            raise
        if os.strerror(errno.ENOSPC) in str(error):  # whoever says so: Python, Arrow or DuckDB
            _stop(f"{error}. Free some space and do it again; everything recorded so far is kept.", Exit.INTERNAL)
        if isinstance(error, OSError) and error.filename:  # a folder in the place of a file, or another user's
            from .warehouse.files import exit_code

            reason = error.strerror or ""
            _stop(
                f"cannot use {error.filename}: {reason}. Look at what is there, and who may use it.", exit_code(reason)
            )
        _stop(
            f"internal error, a bug in bench: {type(error).__name__}: {error}. Set BENCH_DEBUG=1 to see where.",
            Exit.INTERNAL,
        )
    else:
        sys.exit(code or Exit.OK)
    finally:
        if "duckdb" not in sys.modules:  # its bindings take for leaks what is not collected
            gc.freeze()  # what is left goes with the process: to look through it takes as long as many a command


def _stop(message: str, code: int, kind: str = "InternalError") -> None:
    write_error(message, code, kind)
    sys.exit(code)
