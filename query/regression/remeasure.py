"""Measuring again: build the command, check whether this machine can repeat the run, and run it."""

import itertools
import json
import shlex
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse import environment
from ...warehouse.errors import BenchError, Exit
from ..command_words import without_options

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

# How a run was measured, which its cases do not say: setting -> option. Of runs that do not say it in a column of their own,
# as older ones, the options of the command line that are taken over, with the number of their values.
SETTINGS = {
    "precision": "--precision", "budget_s": "--budget", "repeat": "--repeat", "timeout_s": "--timeout", "seed": "--seed",
}  # fmt: skip
SAID = {**dict.fromkeys(SETTINGS.values(), 1), "--quick": 0}
# Column of a case -> option that gives it; parameters are options by their own names.
OPTIONS = {
    "suite": "--suites", "name": "--models", "backend": "--backends", "mode": "--modes", "batch_size": "--batch-sizes",
    "sequence_length": "--sequence-lengths", "dtype": "--dtypes", "device": "--devices",
}  # fmt: skip
PARAMETERS = (
    "threads", "launcher", "optimizer", "eval_mode", "checkpointing", "channels_last", "randomize_inputs", "deterministic",
    "tolerance", "cosine", "distributed", "ranks", "optimize_ddp", "compiled_autograd", "tf32", "fullgraph", "dynamic",
    "translation_validation", "dynamic_batch", "dynamo_config", "inductor_config", "flush_l2", "memory_fraction",
)  # fmt: skip


def command_for(warehouse: "Warehouse", run_id: str, case_ids: Iterable[str]) -> list[str] | str:
    """The command that measures cases of a run again, as that run did.

    It may measure more, as it takes every combination of their axes.

    Returns:
        The command, word by word, beginning with `bench`; or, as a sentence, why there is none.
    """
    ((source, config, command, settings),) = warehouse.rows(
        "SELECT source, config, coalesce(command, ''), settings FROM runs WHERE run_id = ? ORDER BY ALL LIMIT 1",
        [run_id],
    )
    words = shlex.split(command)
    if source != "measure" or not words:
        return f"run {run_id[:13]} was measured by {source}, not by bench: measure it again there and ingest the result"
    if "models" not in words:
        return _same_words(words, config, str(warehouse.store.root)) or f"bench cannot repeat its command: {command}"
    rows = warehouse.rows(
        f"SELECT DISTINCT {', '.join(OPTIONS)}, parameters FROM cases WHERE run_id = ? AND list_contains(?::VARCHAR[], case_id)",
        [run_id, list(case_ids)],
    )
    if not rows:
        return f"run {run_id[:13]} announced no such case"
    if files := {suite for suite, *_ in rows if str(suite).endswith(".py")}:
        return f"the models are in a file, {min(files)}: only the command that measured them says where: {command}"
    command = ["bench", "measure", "models"]
    for index, option in enumerate(OPTIONS.values()):
        command += _option(option, [row[index] for row in rows])
    parameters = {row[-1] for row in rows}
    if len(parameters) > 1:
        return "cases with different parameters take a command each"
    for key, value in json.loads(parameters.pop() or "{}").items():
        if key not in PARAMETERS:
            return f"bench measure models has no option for the parameter {key!r} of the case"
        option = f"--{key.replace('_', '-')}"
        command += [option] if value is True else _option(option, value if isinstance(value, list) else [value])
    return [*command, *_settings(words, settings), *_option("--config", [config]), "--store", str(warehouse.store.root)]


def _same_words(words: Sequence[str], config: str, store: str) -> list[str] | None:
    """The recorded command of `bench measure command|function` or of pytest, with its config and store; None of any other."""
    for place, (word, following) in enumerate(itertools.pairwise(words)):
        if word == "measure" and following in ("command", "function"):
            own = list(itertools.takewhile(lambda word: word != "--", words))
            named = [] if "--config" in own else ["--config", config]
            rest = without_options(words[place + 2 :], {"--store": 1})
            return ["bench", "measure", following, *named, "--store", store, *rest]
    for place, word in enumerate(words):
        if word.rpartition("/")[2] in ("pytest", "py.test"):
            return ["pytest", "--bench-config", config, "--bench-store", store, *words[place + 1 :]]
    return None


def commands_for(warehouse: "Warehouse", run_id: str, case_ids: Iterable[str]) -> list[list[str]] | str:
    """Like `command_for`, but several commands, so that only combinations of sizes that cases have are measured."""
    case_ids = list(case_ids)
    whole = command_for(warehouse, run_id, case_ids)
    if isinstance(whole, list) and whole[:3] != ["bench", "measure", "models"]:
        return [whole]
    groups = warehouse.rows(
        f"""
        SELECT list(DISTINCT case_id ORDER BY case_id) FROM cases
        WHERE run_id = ? AND list_contains(?::VARCHAR[], case_id)
        GROUP BY {", ".join(column for column in OPTIONS if column not in ("name", "backend"))}, parameters ORDER BY 1
        """,
        [run_id, case_ids],
    )
    found: list[list[str]] = []
    for (group,) in groups:
        command = command_for(warehouse, run_id, group)
        if isinstance(command, str):
            return command
        found.append(command)
    return found or f"run {run_id[:13]} announced no such case"


def _option(name: str, values: Sequence[Any]) -> list[str]:
    """An option and its distinct values, quoted so that none is read as an option or as two values."""
    texts = sorted({str(value).replace(",", "\\,") for value in values if value is not None})
    if any(text.startswith("-") for text in texts):
        return [f"{name}={text}" for text in texts]
    return [name, *texts] if texts else []


def _settings(words: Sequence[str], settings: str | None) -> list[str]:
    kept: list[str] = []
    if settings is not None:
        for name, value in json.loads(settings).items():
            kept += _option(SETTINGS[name], [value]) if name in SETTINGS else []
        return kept
    for index, word in enumerate(words):
        name = word.partition("=")[0]
        if name in SAID:
            kept += [word] if "=" in word else words[index : index + 1 + SAID[name]]
    return kept


def obstacle(warehouse: "Warehouse", run_id: str) -> str | None:
    """Why a run cannot be repeated on this machine, in a sentence; None if machine, software and code are the same."""
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
