"""The command line: names and one-line helps here, everything else imported when it runs."""

import atexit
import contextlib
import errno
import gc
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
from .command_names import COMMANDS, EARLIER, OTHER_NAMES, WANTS
from .lazy_group import LazyGroup
from .query.command_services import CommandServices
from .warehouse import interruption
from .warehouse.console.error_lines import choose_format_early, errors_option, forget_format, write_error
from .warehouse.errors import BenchError, Exit

if TYPE_CHECKING:
    from .warehouse.store import Store

KEPT = "everything recorded so far is kept"
INTERRUPTED = f"interrupted; {KEPT}"  # __main__ says the same
TERMINATED = f"ended by SIGTERM; {KEPT}"
CHECK_S = 0.2  # between two looks at a measurement in a process of its own
GRACE_S = 30  # that an interrupted measurement gets to record what it has
_running: "set[subprocess.Popen[str]]" = set()  # measurements in processes of their own
GARBAGE = 50_000  # objects between collections, not 700: imports make many objects and hardly any garbage


class _ReaderLeft(Exception):
    """The reader of a command's output has closed the pipe."""


def _chart(name: str) -> str | None:
    """The command that draws a chart of this name; None if there is none."""
    from .viz.command import CHARTS

    return f"viz {name}" if name in CHARTS else None


class Commands(LazyGroup):
    """All commands, grouped by what one wants; names of earlier versions go on working, unlisted."""

    entries, earlier = COMMANDS, EARLIER

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or its help; for an unknown name, the error suggests the nearest, or what it is called here."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
        if args and args[0] in EARLIER:
            args = [*EARLIER[args[0]], *args[1:]]
        if args and args[0] not in self.entries and (name := OTHER_NAMES.get(args[0]) or _chart(args[0])):
            choose_format_early(args[1:], interspersed=True)
            raise BenchError(f"no command {args[0]!r}. It is called {name} here: bench {name} --help")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; handle a closed pipe here, because click would exit with 1, which means that something got worse."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderLeft from error

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command or few, by what one wants."""
        formatter.write(
            "Usage: bench [--store STORE] COMMAND …; each COMMAND has --help. New here: docs/tutorial.md\n\n"
        )
        for want, lines in WANTS.items():
            for place, (names, help_) in enumerate(lines):
                shown = help_ or COMMANDS[names[0]][2]
                formatter.write(f"  {'' if place else want:8}{', '.join(names):21}{shown}\n")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bench")
@click.option("--store", metavar="STORE", help="Store to use; each command takes it, too.")
@click.pass_context
def cli(context: click.Context, store: str | None) -> None:
    """Measure, keep, question and draw the performance of ML systems."""
    context.obj = CommandServices(_ingest_in_place, _ingest_result, _measure_again, _run_bench, _leave)
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


def _ingest_in_place(store: "Store", paths: Sequence[str]) -> None:
    """`bench compare FOLDER …` ingests the folder."""
    from .ingest.command import ingest_in_place

    ingest_in_place(store, paths)


def _ingest_result(*arguments: Any, **options: Any) -> tuple[list[str], list[str]]:
    """`bench measure command --results` and `bench ci --results` ingest what a call wrote."""
    from .ingest.command import ingest_result

    return ingest_result(*arguments, **options)


def _measure_again(command: Sequence[str], tag: str) -> int:
    """`bench regressions --confirm` and `bench why --measure` measure in a process of their own.

    It imports what the first measurement imported. Its standard output goes to stderr; -P keeps modules of the working
    directory out. A run of pytest is tagged by its environment.
    """
    if command[0] == "pytest":
        tags = ",".join(filter(None, (os.environ.get("BENCH_TAGS"), tag)))
        words = [sys.executable, "-m", *command]
        return subprocess.run(words, stdout=2, env={**os.environ, "BENCH_TAGS": tags}).returncode
    words = [sys.executable, "-P", "-m", "bench", *command[1:3], "--tag", tag, *command[3:]]
    return subprocess.run(words, stdout=2).returncode


def _run_bench(
    words: Sequence[str], limit_s: float | None = None, check: Callable[[], None] = lambda: None
) -> "subprocess.CompletedProcess[str]":
    """`bench programs mcp` and `bench bisect` measure in a process of their own in the working directory.

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
    """Its output, if it ends soon."""
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
    """End `bench programs mcp` at Ctrl-C or SIGTERM, or with its client (0), and what it measures, whatever threads wait for."""
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
        atexit.register(gc.freeze)  # the end of a process searches all objects for garbage: 30 ms
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
            _stop(
                f"{error}. Free some space and do it again; everything recorded so far is kept.", Exit.FULL, "DiskFull"
            )
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
