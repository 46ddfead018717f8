"""Random command lines over a store of every format: `python -m tests.query.asking.fuzz --lines 2000 --seed 1`.

Whatever the words are, a command answers or says in a sentence why it does not; none ends as a bug of bench.
"""

import argparse
import os
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
from bench.cli import cli
from bench.ingest.run import ingest
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, Exit
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...ingest.formats.reading import lay
from ...ingest.formats.samples import BINARY, SAMPLES
from ...ingest.records import lines, step
from ...test_package import commands

RUN_PROGRAMS = ("measure ", "doctor", "bisect", "ci", "programs ", "publish")  # or take as long as many others
NO_OPTIONS = {"store", "help", "help_all", "follow", "live", "engine"}  # which wait, or start a Spark
ODD = (
    "", "*", "latest", "x", "a=b", "a=", "=b", "name=x", "-1", "0", "1", "3", "1e9", "nan", "inf", "1e400", "5%", "2026-11-15",
    "2026-13-45", "yesterday", "now", "json", "markdown", "svg", "ü中文", "'; DROP TABLE runs; --", "a'b\"c", "\u202e", "x" * 300,
    "..", "/dev/null", "/nonexistent/x.json", ".", "SLOWER", "metric='latency'", "{", "[1,2]", "NULL", "ms", "%", "1,2", "A B",
    "9" * 21, "50ms", "tokens", "log", "case_id", "1=1", "FROM cells", "SELECT list(range) FROM range(10)", "SELECT", "geomean",
)  # fmt: skip
NAMES = (
    "SELECT DISTINCT config FROM runs ORDER BY 1", "SELECT run_id FROM runs ORDER BY 1 LIMIT 20",
    "SELECT DISTINCT metric FROM metrics ORDER BY 1 LIMIT 40", "SELECT DISTINCT name FROM cases ORDER BY 1 LIMIT 40",
    "SELECT DISTINCT backend FROM cases WHERE backend IS NOT NULL ORDER BY 1",
)  # fmt: skip


def make_store(folder: Path) -> list[str]:
    """Make a store of the samples of all formats and of two profiles of scheduler steps; returns names that it knows."""
    for name, files in (SAMPLES | BINARY).items():
        lay(folder / "in" / name, files)
    for name, first in (("steps-a", 0), ("steps-b", 200)):
        lay(folder / "in" / name, {"prof": lines(*map(step, range(first, first + 300)))})
    store = Store(folder / "store").create()
    ingest(store, [str(path) for path in sorted((folder / "in").iterdir())])
    with Warehouse.open(store) as warehouse:
        return [str(name) for query in NAMES for (name,) in warehouse.rows(query)] + ["steps-a", "steps-b"] * 20


def command_line(rng: random.Random, names: Sequence[str]) -> list[str]:
    """A command with some of its options and arguments, most of them of the type that they take."""
    path, command = rng.choice([each for each in commands() if not each[0].startswith(RUN_PROGRAMS)])
    words = path.split()
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in NO_OPTIONS]
    for option in rng.sample(options, min(len(options), rng.choice((0, 0, 1, 1, 2, 3)))):
        if option.is_flag:
            words.append(rng.choice([*option.opts, *option.secondary_opts]))
        else:
            words += [rng.choice(option.opts), *(_value(option, rng, names) for _ in range(max(option.nargs, 1)))]
    for argument in command.params:
        if isinstance(argument, click.Argument) and (argument.required or rng.random() < 0.7):
            count = argument.nargs if argument.nargs > 0 else rng.choice((0, 1, 1, 2, 3))
            words += [_value(argument, rng, names) for _ in range(count)]
    return words


def _value(param: click.Parameter, rng: random.Random, names: Sequence[str]) -> str:
    kind = param.type
    if isinstance(kind, click.Choice) and rng.random() < 0.85:
        return str(rng.choice(list(kind.choices)))
    if isinstance(kind, click.types.IntParamType) and rng.random() < 0.8:
        return str(rng.choice((-5, 0, 1, 2, 7, 100, 10**6, 10**30)))
    if isinstance(kind, click.types.FloatParamType) and rng.random() < 0.8:
        return rng.choice(("0", "1", "0.05", "-1", "nan", "inf", "1e308", "1e-308", "5"))
    return rng.choice(names if rng.random() < 0.6 else ODD)


def check(words: Sequence[str], store: Store) -> None:
    """Run a command line; anything but an answer, a sentence or a refusal is raised."""
    found = CliRunner().invoke(cli, [*words], prog_name="bench", env={"BENCH_STORE": str(store.root)})
    error = found.exception
    said = isinstance(error, SystemExit | click.ClickException | BenchError | OSError)
    if error is not None and (not said or (isinstance(error, BenchError) and error.exit_code == Exit.INTERNAL)):
        error.add_note(f"bench {shlex.join(words)}")
        raise error


def run(count: int, seed: int, folder: Path) -> None:
    """Run so many command lines below a folder, where a store is made for them."""
    names = make_store(folder)
    before = Path.cwd()
    (folder / "here").mkdir()
    os.chdir(folder / "here")
    try:
        for index in range(count):
            check(command_line(random.Random(f"{seed} {index}"), names), Store(folder / "store"))
    finally:
        os.chdir(before)


def main() -> None:
    """Run it, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run(arguments.lines, arguments.seed, Path(folder))
    sys.stdout.write(f"{arguments.lines} command lines in {time.monotonic() - began:.0f} s: none ended as a bug\n")


if __name__ == "__main__":
    main()
