"""Shared by all commands: options that take several values, the store, the format of rows, sentences to stderr."""

import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from click.core import ParameterSource

from ..errors import BenchError
from ..settings import SETTINGS
from ..store import Store
from .completion import complete
from .error_lines import choose_format_early, errors_option
from .numbers import share, share_text
from .tables import escape

FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet")
ENDINGS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "table",
}  # of a file -> format
OTHER_ENDINGS = (  # of files that no format writes
    ".html", ".htm", ".svg", ".png", ".pdf", ".xlsx", ".xls", ".tsv", ".yaml", ".gz", ".zip", ".db",
)  # fmt: skip


HELP_ALL = f"{__name__}.help_all"
GIVEN = f"{__name__}.given"
TOO_MANY = re.compile(r"Got unexpected extra arguments? \((.*)\)")  # as click says it


class Values(click.Option):
    """An option that takes its values the natural way: `--configs A B`, `--configs A,B`, or repeated.

    Its value is a tuple of strings (or of `value_type`). A comma that belongs to a value is written `\\,`.
    """

    def __init__(self, *args: Any, value_type: "click.ParamType[Any] | type | None" = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"metavar": "VALUE…", "shell_complete": complete, **kwargs, "multiple": True})
        self.value_type = click.types.convert_type(value_type or str)

    def type_cast_value(self, ctx: click.Context, value: Any) -> tuple[Any, ...]:
        """Split at commas, then convert each part."""
        return tuple(self.value_type(part, self, ctx) for part in self.parts(value or ()))

    def parts(self, texts: Iterable[Any]) -> list[str]:
        """The parts of texts with commas."""
        return [part for text in texts for part in _split(str(text))]


def _split(text: str) -> list[str]:
    parts = text.replace("\\,", "\0").split(",")
    return [part.replace("\0", ",").strip() for part in parts if part.strip()]


def spell_option(option: str, values: Iterable[Any]) -> list[str]:
    """A `Values` option and its values as words, so that none is read as an option or as two values; None is none."""
    texts = [str(value).replace(",", "\\,") for value in values if value is not None]
    return option_words(option, texts) if texts else []


def option_words(option: str, texts: Sequence[str]) -> list[str]:
    """An option and its values as words, so that none of them is read as an option."""
    if option != "--" and any(text.startswith("-") for text in texts):
        return [f"{option}={text}" for text in texts]
    return [option, *texts]


def spell_values(option: str, values: Iterable[Any]) -> str:
    """The end of a command line that gives an option these values; empty without any."""
    words = spell_option(option, values)
    return f" {shlex.join(words)}" if words else ""


def options_given(context: click.Context) -> Iterator[tuple[click.Parameter, str | None, list[str]]]:
    """Each option and argument of the command line, with its name, None of an argument, and its values as they were given.

    An option that was repeated comes as often, one of `Values` once with all of them where the command reads that.
    """
    found, _, order = context.command.make_parser(context).parse_args([*context.meta[GIVEN]])
    for parameter in dict.fromkeys(order):
        given = found[str(parameter.name)]
        if isinstance(parameter, click.Argument):
            texts = [given] if isinstance(given, str) else [*(given if isinstance(given, tuple | list) else ())]
            if texts:
                yield parameter, None, texts
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            yield parameter, (parameter.opts if given else parameter.secondary_opts)[-1], []
        else:
            name, values = parameter.opts[-1], [*given] if parameter.multiple else [given]
            if isinstance(parameter, Values):
                values = [part.replace(",", "\\,") for part in parameter.parts(values)]
                if isinstance(context.command, Command):  # which reads them side by side
                    yield parameter, name, values
                    continue
            for value in values:  # what is no text stands for an option without its value
                yield parameter, name, [value] if isinstance(value, str) else []


def command_line(context: click.Context, *, without: Collection[str]) -> str:
    """The command as it was given, in the order of its parameters, but for the options `without`."""
    words = ["bench", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            words += value if isinstance(value, tuple) else [str(value)]
        elif parameter.name in without or context.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT:
            continue
        elif value is True:
            words.append(parameter.opts[-1])
        elif value is not None:
            words += spell_option(parameter.opts[-1], value if isinstance(value, tuple) else [value])
    return shlex.join(words)


class Choice(click.Choice[str]):
    """One of many values: of a mistyped one the error names the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value, if it is one of them."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            import difflib

            near = difflib.get_close_matches(str(value), self.choices, n=3, cutoff=0.5)
            if not near:
                raise
            nearer = click.BadParameter(f"{error.message} Nearest: {', '.join(map(repr, near))}.", ctx, param)
            nearer.possibilities = near  # type: ignore[attr-defined]  # as NoSuchOption has
            raise nearer from None


class Moment(click.DateTime):
    """A day, or a time of it, in UTC: 2026-11-01 or 2026-11-01T12:30."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Without an offset it is UTC, as what the views hold."""
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date. Write it as 2026-11-01 or 2026-11-01T12:30.", param, ctx)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


class PlainCommand(click.Command):
    """A command that takes `--errors`, as all do, and knows what `elsewhere` calls its options: each with what it is here."""

    def __init__(self, *args: Any, elsewhere: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(errors_option())
        self.elsewhere = elsewhere or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `--errors` into account even where the rest is wrong; `--config` and `--configs` are one."""
        choose_format_early(args, interspersed=ctx.allow_interspersed_args)
        ctx.meta[GIVEN] = args = as_known(args, _names(self.params))
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            if here := self.elsewhere.get(error.option_name.lstrip("-").replace("_", "-")):
                raise click.UsageError(f"No such option: {error.option_name}. Here it is: {here}", ctx) from None
            if error.option_name.rstrip("s") not in ("--config", "--run") or not _takes_runs(self.params):
                raise
            words = " ".join([ctx.command_path, *self.collect_usage_pieces(ctx)[1:]])
            cure = f"No such option '{error.option_name}'. Runs and configs are named without one: {words}"
            raise click.NoSuchOption(error.option_name, cure, ctx=ctx) from None
        except click.UsageError as error:
            found = TOO_MANY.fullmatch(error.message)
            if found is None or "--configs" not in _names(self.params):
                raise
            cure = f"Configs are named with --configs: {ctx.command_path} --configs {found[1]}"
            raise click.UsageError(f"{error.message}. {cure}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; the ending of `-o FILE` chooses the format unless `--format` does."""
        output, source = ctx.params.get("output"), ctx.get_parameter_source("fmt")
        if (
            isinstance(output, str | os.PathLike)
            and ctx.params.get("fmt") == "table"
            and source is ParameterSource.DEFAULT
        ):
            ending = os.path.splitext(output)[1].lower()
            if ending in OTHER_ENDINGS:
                raise BenchError(
                    f"cannot tell the format of {os.fspath(output)!r}. Name it {', '.join(ENDINGS)}, or say --format. "
                    "Pages are written by `bench report`, pictures by `bench viz`."
                )
            ctx.params["fmt"] = ENDINGS.get(ending, "table")
        return super().invoke(ctx)


class Command(PlainCommand):
    """A command whose `Values` options swallow every argument up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option's name before each of its values, which is what click understands."""
        names = _names(p for p in self.params if isinstance(p, Values))
        repeated = _repeat_names(as_known(args, _names(self.params)), names)
        try:
            return super().parse_args(ctx, repeated)
        except click.MissingParameter as error:
            if not isinstance(error.param, click.Argument):
                raise
            cure = _swallowed(repeated, names) or _example(self.help or "")
            raise click.MissingParameter(cure, error.ctx, error.param) from None


class LongCommand(Command):
    """A command of many options: `--help` shows the usual ones (names of parameters), `--help-all` every one."""

    def __init__(self, *args: Any, usual: Collection[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.usual = usual

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `--help-all` as `--help`."""
        if "--help-all" in args[: args.index("--") if "--" in args else None]:
            ctx.meta[HELP_ALL], args = True, ["--help"]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options to show, and how to see the others."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        shown = [option for option in options if HELP_ALL in ctx.meta or option.name in self.usual]
        with formatter.section("Options"):
            formatter.write_dl([record for option in shown if (record := option.get_help_record(ctx))])
        if len(shown) < len(options):
            formatter.write(f"\n{len(options) - len(shown)} more options: {ctx.command_path} --help-all\n")


def _takes_runs(parameters: Iterable[click.Parameter]) -> bool:
    arguments = [each for each in parameters if isinstance(each, click.Argument)]
    words = [each.metavar or str(each.name).upper() for each in arguments]
    return any(name in word for word in words for name in ("RUN", "BASE", "SIDES"))


def _example(help: str) -> str:
    """The first command of a help text, as a cure."""
    commands = (line.strip() for line in help.splitlines() if line.lstrip().startswith("bench "))
    return f"For example: {first}" if (first := next(commands, "")) else ""


def _swallowed(args: Sequence[str], names: Collection[str]) -> str:
    """The sentence on a `Values` option whose values may hold a missing argument; empty without one of several values."""
    found = [name for name in args if name in names]
    if not found or found.count(found[-1]) < 2:
        return ""
    taken = [value for name, value in itertools.pairwise(args) if name == found[-1]]
    return f"{found[-1]} took {', '.join(map(repr, taken))}: write -- after its values"


def _names(parameters: Iterable[click.Parameter]) -> set[str]:
    return {name for each in parameters for name in (*each.opts, *each.secondary_opts)}


def as_known(args: Sequence[str], known: Collection[str]) -> list[str]:
    """The arguments, an unknown option in the number that is known: `--config` for `--configs`, and the other way round."""
    end = args.index("--") if "--" in args else len(args)
    return [*(_in_number(arg, known) for arg in args[:end]), *args[end:]]


def _in_number(arg: str, known: Collection[str]) -> str:
    name, equals, value = arg.partition("=")
    other = name.removesuffix("s") if name.endswith("s") else f"{name}s"
    is_known = other in known and name not in known and other != "--sample"  # times a second: --samples is a count
    return f"{other}{equals}{value}" if name.startswith("--") and is_known else arg


def _repeat_names(args: Sequence[str], names: set[str]) -> list[str]:
    out: list[str] = []
    current: str | None = None
    fresh = False  # the name was just written and still wants its first value
    for index, arg in enumerate(args):
        if arg == "--":
            return [*out, *args[index:]]
        if arg.startswith("-") and len(arg) > 1 and not _is_number(arg):
            if fresh:  # click would take this option for the value
                raise click.BadOptionUsage(str(current), f"Option {current!r} requires an argument.")
            current, fresh = (arg, True) if arg in names else (None, False)
            out.append(arg)
        elif current is not None and not fresh:
            out += [current, arg]
        else:
            fresh = False
            out.append(arg)
    return out


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _open_store(ctx: click.Context, param: click.Parameter, value: str | None) -> Store:
    return Store.find(value)


def store_words(store: Store) -> str:
    """The option that a proposed command needs to ask this store, after a space; nothing where it would without one."""
    context = click.get_current_context(silent=True)
    named = context is not None and isinstance(context.find_root().params.get("store"), str)  # bench --store S COMMAND
    try:
        needed = named or Store.find() != store
    except BenchError:  # the environment names none, and need not
        needed = True
    return f" --store {shlex.quote(str(store))}" if needed else ""


def notify(sentence: str) -> None:
    """Write a sentence to stderr with its control characters escaped; stdout is for data."""
    sys.stdout.flush()
    click.echo(escape(sentence), err=True)


def share_option(*names: str, default: str | None, most: float = 1, help: str) -> Callable[[Any], Any]:
    """An option for a `share`."""
    return click.option(
        *names, type=lambda text: share(text, most), metavar="SHARE", default=default, show_default=True, help=help
    )


store_option: Callable[[Any], Any] = click.option(
    "--store",
    metavar="STORE",
    callback=_open_store,
    help="Store to use, a folder or s3://bucket/prefix; else $BENCH_STORE, that of the project's settings, the nearest "
    ".bench upward, or .bench here.",
)
floor_option: Callable[[Any], Any] = click.option(
    "--floor",
    type=lambda text: share(text, 100),
    metavar="SHARE",
    show_default=f"the project's for metric and case, else {share_text(SETTINGS['floor'].default)}",
    help="Smallest change that counts.",
)
format_option: Callable[[Any], Any] = click.option(
    "--format", "fmt", type=Choice(FORMATS), default="table", show_default=True, help="How to write rows."
)
