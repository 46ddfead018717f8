"""Measuring again: build the command, check whether this machine can repeat the run, and run it."""

import shlex
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ...warehouse import environment
from ...warehouse.console.options import option_words, spell_option
from ...warehouse.errors import BenchError, Exit
from ..recorded_options import RecordedOptions, options_of

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_OF_CASES = "FROM cases WHERE run_id = ? AND list_contains(?::VARCHAR[], case_id)"


def command_for(warehouse: "Warehouse", run_id: str, case_ids: Iterable[str]) -> list[str] | str:
    """The command that measures cases of a run again, as that run did.

    It may measure more: every combination of their axes, and all that a command, a function or a test measured.

    Returns:
        The command, word by word, beginning with `bench` or `pytest`; or, as a sentence, why there is none.
    """
    options = options_of(warehouse, run_id)
    if isinstance(options, str):
        return options
    store = str(warehouse.store.root)
    if options.command == ("pytest",):
        others = _without(("--bench-config", "--bench-store"), options.words("what"))
        return ["pytest", "--bench-config", options.config, "--bench-store", store, *others]
    if options.axes():
        words = case_options(warehouse, run_id, case_ids, options)
        named = option_words("--config", [options.config])
        return words if isinstance(words, str) else ["bench", *options.command, *words, *named, "--store", store]
    turns = options.words("sides")  # which begin the runs of both sides, under the config that was given
    named = options.words("where", only=["--config"]) if turns else option_words("--config", [options.config])
    return ["bench", *options.command, *named, *turns, "--store", store, *options.words("what", "how")]


def _without(options: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words but for these options and their values, which stand after = or in the next word."""
    preceding = ["", *words]
    return [
        word
        for before, word in zip(preceding, words, strict=False)
        if before not in options and word.split("=")[0] not in options
    ]


def case_options(
    warehouse: "Warehouse", run_id: str, case_ids: Iterable[str], options: RecordedOptions
) -> list[str] | str:  # fmt: skip
    """The options that measure cases of a run as it did, and no others if they choose cases; or why there are none."""
    axes = options.axes()
    if not axes:
        return options.words("what", "how")
    rows = warehouse.rows(f"SELECT DISTINCT {', '.join(axes)} {_OF_CASES}", [run_id, [*case_ids]])
    if not rows:
        return f"run {run_id[:13]} announced no such case"
    words = []
    for index, (column, (option, *_)) in enumerate(axes.items()):
        values = sorted({str(row[index]) for row in rows if row[index] is not None})
        if column == "suite" and (
            files := [value for value in values if "." in value]
        ):  # of which a case has the name alone
            if not (named := options.words("what", only=axes["suite"])):
                return f"the models are in a file, {files[0]}, which only the plan file names: {options.line}"
            words += named
        else:
            words += spell_option(option, values)
    return [*words, *options.words("how")]


def commands_for(warehouse: "Warehouse", run_id: str, case_ids: Iterable[str]) -> list[list[str]] | str:
    """Like `command_for`, but several commands, so that only combinations of sizes that cases have are measured."""
    case_ids = list(case_ids)
    whole = command_for(warehouse, run_id, case_ids)
    if isinstance(whole, str):
        return whole
    options = options_of(warehouse, run_id)
    if isinstance(options, str) or not options.axes():
        return [whole]
    sizes = [column for column in options.axes() if column not in ("name", "backend")]
    of_sizes = f"SELECT list(DISTINCT case_id ORDER BY case_id) {_OF_CASES} GROUP BY {', '.join(sizes)} ORDER BY 1"
    groups = [command_for(warehouse, run_id, group) for (group,) in warehouse.rows(of_sizes, [run_id, case_ids])]
    refused = [command for command in groups if isinstance(command, str)]
    return refused[0] if refused else [command for command in groups if not isinstance(command, str)]


def obstacle(warehouse: "Warehouse", run_id: str) -> str | None:
    """The reason for which a run cannot be repeated here, in a sentence; None if machine, software and code are the same."""
    ((host, machine, commit, dirty),) = warehouse.rows(
        "SELECT host, environment_id, git_commit, git_dirty FROM runs WHERE run_id = ? ORDER BY ALL LIMIT 1", [run_id]
    )
    if host != socket.gethostname():
        return f"it was measured on {host or 'an unknown machine'}, and this is {socket.gethostname()}"
    if commit is None:
        return "its commit was not recorded: run bench measure within a git repository"
    here, _, changed = environment.git()
    if here != commit:
        return f"it measured commit {commit[:9]}, and {here[:9] if here else 'none'} is checked out"
    if dirty or changed:
        return f"the code differed from commit {commit[:9]} {'then' if dirty else 'now'}: commit it first"
    if machine != environment.capture().environment_id:
        return "machine, software or environment variables are not what they were: see bench env-diff"
    return None


def measure_again(command: Sequence[str], tag: str, measure: Callable[[Sequence[str], str], int]) -> None:
    """Measure with a command of `command_for`; what it records has a tag, such as `confirms=RUN`.

    `measure` carries the command out and returns its exit code.

    Raises:
        BenchError: It could not measure. A case that failed is no error: it is recorded.
    """
    code = measure(command, tag)
    if code not in (Exit.OK, Exit.FAILED):
        raise BenchError(f"measuring again ended with exit code {code}: {shlex.join(command)}")
