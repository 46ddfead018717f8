"""Options of `bench measure models`: what to measure, how, which part of it; each is a key of plan files, too.

A name in PRODUCT_AXES may stand in every product of a plan file; one in HERE only on the command line.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from ...warehouse.console.numbers import share_text
from ...warehouse.console.options import Values, option_words, share_option, spell_option
from ...warehouse.errors import BenchError
from ..engine.workload import AUTO, BASELINE, DTYPES, FOR_ACCURACY, MODES, Workload
from ..line_memory.options import scope_options
from ..options import SECONDS, AxisOption, run_options
from ..pytorch.settings import knob_options
from ..recorded_options import spelled
from ..revisions.options import revisions_option, rounds_option, with_option
from ..system.machine_lock import lock_option
from .report import SHOWN_STATISTICS
from .selection import fleet_name, part_of, pattern

PRODUCT_AXES = (
    "suites", "models", "backends", "modes", "batch_sizes", "batch_size_file", "sequence_lengths", "dtypes",
    "devices",
)  # fmt: skip
HERE = ("plan_file", "model_configs", "only", "keep", "leave", "leave_exactly", "part", "fleet", "resume", "retry", "baseline",
        "revisions", "packages", "rounds", "statistic", "log_file", "print_only", "print_commands", "lock", "fmt",
        "store")  # fmt: skip
RETRIES = ("failed", "timeout", "skipped")
QUICK_PRECISION, QUICK_BUDGET_S = 0.03, 4.0

WORDS = {"auto": AUTO, "accuracy": FOR_ACCURACY}  # batch sizes that are no number
_CLASS = re.compile(r"(?<=[^\\]),(?=class:)")

Decorator = Callable[[Any], Any]


class Suites(AxisOption):
    """Values separated by commas, except the comma in `path:FILE,class:NAME`."""

    def parts(self, texts: Iterable[Any]) -> list[str]:
        """Split at commas, except those."""
        return super().parts(_CLASS.sub(r"\\,", text) for text in texts)


def device_name(text: str) -> str:
    """A device as torch names it.

    Raises:
        BenchError: It is none of cpu, cuda and cuda:N.
    """
    kind, colon, index = text.partition(":")
    if kind not in ("cpu", "cuda") or (colon and (kind == "cpu" or not index.isdecimal())):
        raise BenchError(f"no device {text!r}. There are: cpu, cuda, cuda:N.")
    return text


def batch_size(text: str) -> int:
    """A batch size; `auto` means that one is searched for, `accuracy` the one that the model has for that.

    Raises:
        BenchError: It is neither.
    """
    if text in WORDS:
        return WORDS[text]
    if not text.isdecimal() or int(text) < 1:
        raise BenchError(f"{text!r} is not a batch size. Write a number of 1 or more, auto or accuracy.")
    return int(text)


def _stack(*options: Decorator) -> Decorator:
    def apply(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


_COUNT = click.IntRange(min=1)

axis_options = _stack(
    click.option("--suites", cls=Suites, column="suite", default=["builtin"],
                 help="Sets of models, or path:FILE,class:NAME. [default: builtin]"),
    click.option("--models", cls=AxisOption, column="name", help="Models of the suites; all if left out."),
    click.option("--model-config", "model_configs", cls=AxisOption, column="suite", metavar="FILE.json…",
                 help="Configurations of transformers: a model of random weights each; as --suites path:FILE.json."),
    click.option("--backends", cls=AxisOption, column="backend", default=[BASELINE, "inductor"],
                 help="Backends; eager, the baseline, is always included. [default: eager inductor]"),
    click.option("--modes", cls=AxisOption, column="mode", value_type=click.Choice(MODES), default=["inference"],
                 help="inference, training. [default: inference]"),
    click.option("--batch-sizes", cls=AxisOption, column="batch_size", value_type=click.types.FuncParamType(batch_size),
                 help="Batch sizes; auto is the largest of 1024, 512 … that fits; accuracy is the size at which PyTorch's"
                      " benchmarks check accuracy. Each model's own if left out."),
    click.option("--batch-size-file", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                 help="Batch sizes by model: lines of NAME,SIZE; other models keep theirs."),
    click.option("--sequence-lengths", cls=AxisOption, column="sequence_length", value_type=_COUNT,
                 help="Sequence lengths, for models that have them."),
    click.option("--dtypes", cls=AxisOption, column="dtype", value_type=click.Choice(DTYPES), default=["float32"],
                 help=f"{', '.join(DTYPES)}. [default: float32]"),
    click.option("--devices", cls=AxisOption, column="device", value_type=click.types.FuncParamType(device_name), default=["cpu"],
                 help="cpu, cuda, cuda:N. [default: cpu]"),
)  # fmt: skip

setting_options = _stack(
    share_option("--precision", default=None,
                 help="Half-width of a speedup's 95 % interval at which to stop. [default: 1%]"),
    click.option("--budget", "budget_s", type=SECONDS, metavar="SECONDS",
                 help="Most time to sample a workload. [default: 20]"),
    click.option("--repeat", type=_COUNT, help="Take exactly this many samples of each case instead."),
    click.option("--quick", is_flag=True,
                 help=f"Precision {share_text(QUICK_PRECISION)} and a budget of {QUICK_BUDGET_S:g} s, unless given."),
    click.option("--fast", is_flag=True, help="Leave out models that are known to take long."),
    click.option("--no-skip", is_flag=True, help="Run what a suite skips, too, unless something is not installed."),
    click.option("--timeout", "timeout_s", type=SECONDS, default=2000.0, show_default=True, metavar="SECONDS",
                 help="Most time for one workload's worker."),
    click.option("--threads", type=_COUNT, help="Threads torch computes with; an axis of the case."),
    click.option("--launcher", metavar="COMMAND",
                 help="Start every worker with this, such as 'numactl -C 0-3 -m 0'; 'xeon …' is PyTorch's torch.backends.xeon"
                      ".run_cpu. An axis of the case."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed for weights, inputs and the order of samples."),
    lock_option,
    click.option("--warm-start", is_flag=True,
                 help="Make the first calls again in a second process, with the compile caches the first one left."),
    click.option("--profile", is_flag=True,
                 help="Keep a profiler trace of one call of each backend; in five more processes its operators' times, for"
                 " bench why."),
    click.option("--lines", is_flag=True,
                 help="Sample at which lines a step spends its time, in five more processes: bench why compares them."),
    click.option("--memory-snapshot", is_flag=True, help="Keep a snapshot of a GPU's memory over one call of each."),
    click.option("--inspect", is_flag=True, help="Keep the operators a model runs, with inputs, and its captured graphs."),
    click.option("--memory/--no-memory", default=True, show_default=True,
                 help="Measure peak memory, of every backend in one more process that runs it alone."),
    click.option("--energy", is_flag=True, help="Measure the energy of a call on a GPU, in one more second for each backend."),
    click.option("--trace-lines", is_flag=True,
                 help="Trace the memory of eager line by line, over two steps in a process of their own."),
    scope_options("trace-"),
    click.option("--minify", is_flag=True,
                 help="Keep the smallest script that shows a wrong output, found by torch's minifier within 5 minutes."),
    run_options(),
    knob_options,
)  # fmt: skip

_PATTERN = click.types.FuncParamType(pattern)
selection_options = _stack(
    click.option("--only", cls=Values, metavar="NAME…", help="Measure only these models of the plan."),
    click.option("--filter", "keep", multiple=True, type=_PATTERN, metavar="REGEX",
                 help="Measure only models whose name matches, in upper or lower case; with several, any of them."),
    click.option("--exclude", "leave", multiple=True, type=_PATTERN, metavar="REGEX",
                 help="Leave out models whose name matches."),
    click.option("--exclude-exact", "leave_exactly", cls=Values, metavar="NAME…", help="Leave out these models."),
    click.option("--partition", "part", type=part_of, metavar="I/N",
                 help="Measure the I-th of N parts, of about equal work; together they are the plan."),
    click.option("--fleet", type=click.types.FuncParamType(fleet_name), metavar="NAME",
                 help="Share the plan with other machines that measure it under this name into this store: each workload"
                      " is measured by one of them."),
    click.option("--resume", is_flag=True,
                 help="Leave out cases whose outcome this store has, for the same settings, commit and machine."),
    click.option("--retry", type=click.Choice(RETRIES),
                 help="Resume, but measure again what failed, took too long, or was skipped."),
    click.option("--baseline", metavar="RUN", help="Compare with this run at the end: an id, config, commit or latest."),
    revisions_option,
    with_option,
    rounds_option,
    click.option("--log-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="Append what is printed to this file, too."),
    click.option("--statistic", type=click.Choice(SHOWN_STATISTICS), default=SHOWN_STATISTICS[0], show_default=True,
                 help="What the table shows of a case's samples; speedups are estimated over blocks in any case."),
    click.option("--print", "print_only", is_flag=True, help="Print the cases and run nothing."),
    click.option("--print-commands", is_flag=True, help="Print a command for each workload and run nothing."),
)  # fmt: skip


def command_for(workload: Workload, settings: Mapping[str, Any], parameters: Iterable[click.Parameter]) -> str:
    """The shell command that measures one workload."""
    file = f"path:{workload.target.rpartition(':')[0]}" if workload.target.startswith("/") else None
    size = "auto" if workload.batch_size == AUTO else workload.batch_size or None
    axes = {
        "suites": [file or workload.suite], "models": [workload.name], "backends": workload.backends, "modes": [workload.mode],
        "batch_sizes": [size], "batch_size_file": [], "sequence_lengths": [workload.sequence_length],
        "dtypes": [workload.dtype], "devices": [workload.device],
    }  # fmt: skip
    words = ["bench", "measure", "models"]
    for parameter in parameters:
        if parameter.name in PRODUCT_AXES:
            words += spell_option(parameter.opts[-1], axes[parameter.name])
        else:
            each = spelled(parameter, settings.get(parameter.name or ""))
            words += [word for option in each for word in option_words(*option)]
    return shlex.join(words)
