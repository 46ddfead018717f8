"""`bench ci`: whether the change that is checked out made anything worse, judged on the machine of this job."""

import itertools
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...query.command_services import command_services
from ...query.comparison.command import compare
from ...sql.rules import FDR
from ...warehouse.console.numbers import counted, is_time_or_rate
from ...warehouse.console.options import Values, floor_option, store_option
from ...warehouse.errors import BenchError, Exit, UnknownName
from ...warehouse.store import Store
from ..options import CommandOfWords, talk, words_after_dashes
from ..result_files import ResultFiles
from ..revisions.worktree import commit_of, git
from ..system.machine_lock import alone, lock_option
from .turns import GateSide, Turns, is_pytest, measures

if TYPE_CHECKING:
    from ...query.comparison.compare import Comparison

MERGE_BASE = "merge-base"
MORE_ROUNDS = 4  # times the rounds asked for, where these settle no time
QUICK_ROUNDS = 16  # the same while all of them take no longer than PATIENCE
PATIENCE = 300.0  # seconds
NOISY_FLOORS = 3  # times the floor: a slowdown that a machine too noisy for the floor has to exclude
TARGETS = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CHANGE_TARGET", "BITBUCKET_PR_DESTINATION_BRANCH")
BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@click.command("ci", cls=CommandOfWords)
@click.argument(
    "words", required=False, metavar="-- measure models|function|command … | -- pytest --bench … | -- CMD …"
)
@click.option("--against", default=MERGE_BASE, show_default=True, metavar="REV",
              help="Revision to compare with; merge-base: where HEAD left the branch that it is to be merged into.")  # fmt: skip
@click.option(
    "--target", metavar="BRANCH", help="That branch. [default: the CI job's target branch, else the main branch]"
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True,
              help="Runs of each side; twice as many while a case is LIKELY worse or no time is settled.")  # fmt: skip
@click.option(
    "--most-rounds",
    type=click.IntRange(1),
    metavar="INT",
    help=f"Runs of each side at most. [default: {MORE_ROUNDS} times --rounds; "
    f"{QUICK_ROUNDS} times if that takes {PATIENCE / 60:g} minutes]",
)
@click.option("--prepare", metavar="CMD", help="Command that builds a revision, in its folder; once for each side.")
@click.option(
    "--results", cls=Values, metavar="FILE…", help="Files that CMD writes, to be ingested after each call; * and ? fit."
)
@click.option("--config", default="ci", show_default=True, help="Beginning of both sides' names.")
@click.option("--comment", type=click.Path(path_type=Path, dir_okay=False), help="File for the verdict as Markdown.")
@floor_option
@click.option("--fail-on", default="slower", show_default=True, help="What fails the job, as in bench compare.")
@lock_option
@store_option
def command(
    words: str | None, against: str, target: str | None, rounds: int, most_rounds: int | None, prepare: str | None,
    results: Sequence[str], config: str, comment: Path | None, floor: float | None, fail_on: str, lock: str, store: Store,
) -> int:  # fmt: skip
    """Judge the commit that is checked out on whatever machine this job was given.

    HEAD and the revision that it is compared with are checked out and built side by side, measured in turns, and compared:
    the machine is the same for both. What follows -- is a bench command that measures, pytest --bench, or any other command
    that writes --results, which are ingested after each call. It runs in the same folder of each checkout. On a busy machine
    it measures longer.

    Ends with 1 if anything got worse, 3 if something is only gone, 4 if no time is settled: none is SAME or changed, and one
    at least may be slower by three times the floor.

    \b
        bench ci --against merge-base -- measure function work:parse --arg n=1000
        bench ci --prepare 'make -s' --results out.json --comment verdict.md -- ./bench --benchmark_out=out.json
        bench ci -- pytest --bench benchmarks
    """
    from ..revisions.builds import checked_out

    chosen = _checked(words_after_dashes(), results)
    looks = Looks(rounds, most_rounds)
    head, base = git("rev-parse", "HEAD"), base_commit(against, target)
    if head == base:
        raise BenchError("HEAD would be compared with itself. Name another revision: bench ci --against HEAD~1")
    if git("status", "--porcelain", "--untracked-files=no"):
        talk("what is not committed is not measured")
    files = ResultFiles(results, partial(command_services().ingest_result, store), talk)
    turns = Turns(chosen, files, store, _measure, talk)
    with alone(lock):  # a job that this one waited for has taken its names by now
        names = _names(store, [f"{config}@{commit[:9]}" for commit in (base, head)])
        commits = {f"base {names[0]}": base, f"head {names[1]}": head}
        try:
            with checked_out(commits, prepare, talk) as trees:
                sides = [GateSide(title, name, trees[title]) for title, name in zip(commits, names, strict=True)]
                found, done = _measured(turns, sides, looks, floor, store)
        except BenchError as error:
            if comment is not None:  # that of an earlier job would stay, and be published as this one's
                _write_failure(names, error, comment)
            raise
    return _judge(names, found, done, looks.fdr(done), floor, fail_on, comment, store)


@dataclass(frozen=True, slots=True)
class Looks:
    """Times at which a job looks at what it measured: after the rounds asked for, and each time that they have doubled.

    Noise has a chance at each look. All looks after the first one together have the chance of one more, so that equal sides are
    called worse by no more than twice FDR of the jobs.
    """

    rounds: int
    most_rounds: int | None = None

    @property
    def most(self) -> int:
        """The rounds of each side that no job exceeds."""
        return QUICK_ROUNDS * self.rounds if self.most_rounds is None else max(self.rounds, self.most_rounds)

    def after(self, done: int, seconds: float) -> range:
        """Return the rounds before the next look; none after the last one.

        Args:
            done: Rounds so far.
            seconds: How long they took.
        """
        is_long = self.most_rounds is None and done >= MORE_ROUNDS * self.rounds and 2 * seconds > PATIENCE
        return range(done, done if is_long else min(2 * done or self.rounds, self.most))

    def fdr(self, done: int) -> float:
        """The share of false alarms that the look after so many rounds accepts."""
        return FDR if done <= self.rounds else FDR / math.ceil(math.log2(self.most / self.rounds))


def _checked(words: Sequence[str], results: Sequence[str]) -> Sequence[str]:
    from ..command import MEASURING

    words = words[1:] if words[:1] == ["bench"] else words
    if not words:
        raise BenchError(
            "what is to be measured? Write: bench ci -- measure function MODULE:FUNCTION, or -- CMD … with --results"
        )
    if words[0] == "measure":
        measuring = [name for name in MEASURING if name != "attach"]
        if len(words) < 2 or words[1] not in measuring:
            raise UnknownName("measure command", words[1] if len(words) > 1 else "", measuring, where="bench ci")
        if results:
            raise BenchError("--results works only with another tool's command: bench measure records its own results")
    elif is_pytest(words) and not results:
        if not measures(words):
            raise BenchError(
                "pytest measures nothing without --bench (tests with the fixture `bench` or `benchmark`): "
                "bench ci -- pytest --bench …; or say which files it writes: --results FILE"
            )
    elif not results:
        raise BenchError(f"{words[0]} is not a bench command that measures. Say which files it writes: --results FILE")
    return words


def base_commit(against: str, target: str | None) -> str:
    """The commit to compare HEAD with.

    Raises:
        UnknownName: There is no such revision.
        BenchError: HEAD and the branch share no commit in this clone, or no branch is known.
    """
    if against != MERGE_BASE:
        return commit_of(against)
    named = target or next((os.environ[name] for name in TARGETS if os.environ.get(name)), None)
    candidates = [f"origin/{named}", named] if named else BRANCHES
    found = next((name for name in candidates if _is_commit(name)), None)
    if found is None:
        raise BenchError(
            f"there is no branch {named or 'main'} in this clone. Name it with --target BRANCH; "
            "in CI, clone with history (actions/checkout: fetch-depth: 0)"
        )
    try:
        return git("merge-base", found, "HEAD")
    except BenchError:
        raise BenchError(
            f"HEAD and {found} share no commit in this clone. Clone with history (actions/checkout: fetch-depth: 0)"
        ) from None


def _is_commit(name: str) -> bool:
    try:
        git("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except BenchError:
        return False
    return True


def _measure(words: Sequence[str]) -> tuple[int, str]:
    done = command_services().run_bench(words, None)
    return done.returncode, done.stderr


def _names(store: Store, names: Sequence[str]) -> Sequence[str]:
    """Names of the sides that no earlier job has in this store: what it measured, maybe elsewhere, is no part of this one."""
    from ...warehouse.database import Warehouse

    if not store.may_hold():
        return names
    with Warehouse.open(store) as warehouse:
        known = {config for (config,) in warehouse.rows("SELECT DISTINCT config FROM run_summaries")}
    jobs = itertools.chain([names], ([f"{name}.{job}" for name in names] for job in itertools.count(2)))
    return next(each for each in jobs if known.isdisjoint(each))


def _measured(
    turns: Turns, sides: Sequence[GateSide], looks: "Looks", floor: float | None, store: Store
) -> "tuple[Comparison, int]":
    """Measure until nothing is in doubt or no look is left; return the last comparison and the number of rounds."""
    more, began = looks.after(0, 0.0), time.monotonic()
    while True:
        turns.run(sides[0], sides[1], more)
        done = more.stop
        found = _compared([side.config for side in sides], floor, looks.fdr(done), store)
        more, reason = looks.after(done, time.monotonic() - began), doubt(found)
        if not more or not reason:
            return found, done
        talk(f"{counted(done, 'round')} {reason}; {more.stop:,} are measured")


def _compared(sides: Sequence[str], floor: float | None, fdr: float, store: Store) -> "Comparison":
    """The results measured so far."""
    from ...query.comparison.compare import compare as compare_sides
    from ...query.comparison.sides import find_sides
    from ...query.filters import asked_metrics
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        base, head = find_sides(warehouse, *sides, all_runs=True, notify=lambda sentence: None)  # the verdict says it
        where = {"metric": asked_metrics(warehouse, ())}
        return compare_sides(warehouse, base, head, floor=floor, fdr=fdr, where=where)


def doubt(found: "Comparison") -> str:
    """Return why more rounds are worth their time, as the end of a sentence about those so far; empty if they are not."""
    from ...query.comparison.compare import LIKELY_WORSE, exit_code, leaves_times_open

    code = exit_code(found)
    if code == Exit.FAILED:
        return ""
    if any(row["verdict"] in LIKELY_WORSE for row in found.rows):
        return "leave a case likely worse"
    return "settle no time" if code == Exit.TOO_LITTLE and leaves_times_open(found) else ""


def excludes_large(found: "Comparison") -> bool:
    """Return whether no time or rate of both sides may be worse by NOISY_FLOORS times its floor."""
    times = [row for row in found.rows if is_time_or_rate(row["unit"]) and row["ratio"] is not None and row["better"]]
    known = [row for row in times if row["low"] is not None]
    return len(known) == len(times) > 0 and all(row["low"] >= 1 / (1 + NOISY_FLOORS * row["floor"]) for row in known)


def _write_failure(sides: Sequence[str], error: BenchError, comment: Path) -> None:
    from ...query.document import Document
    from ...warehouse.console.tables import write_text

    write_text(Document(title=" → ".join(sides), verdict=f"not judged: {error}", good=False).markdown(), comment)


def _judge(
    sides: Sequence[str], found: "Comparison", rounds: int, fdr: float, floor: float | None, fail_on: str,
    comment: Path | None, store: Store,
) -> int:  # fmt: skip
    """Write the comparison to stdout and the file for the comment; return the exit code."""
    context = click.get_current_context()
    asked = {
        "base": sides[0],
        "candidate": sides[1],
        "all_runs": True,
        "floor": floor,
        "fdr": fdr,
        "fail_on": fail_on,
        "store": store,
    }
    code = context.invoke(compare, **asked, fmt="table")
    if comment is not None:
        context.invoke(compare, **asked, fmt="markdown", output=comment)
    if code == Exit.TOO_LITTLE and excludes_large(found):
        talk(
            f"{counted(rounds, 'round')} settle no time within the floor, but exclude that one is worse by "
            f"{NOISY_FLOORS} times the floor: the job passes"
        )
        return Exit.OK
    if code == Exit.TOO_LITTLE:
        talk(f"{counted(rounds, 'round')} settle no time. More may: bench ci --most-rounds {MORE_ROUNDS * rounds}")
    return int(code or Exit.OK)
