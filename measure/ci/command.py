"""`bench ci`: whether the change that is checked out made anything worse, judged on the machine of this job."""

import itertools
import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from ...query.command_services import command_services
from ...query.comparison.command import compare
from ...sql.rules import FDR
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Values, floor_option, store_option
from ...warehouse.errors import BenchError, Exit, UnknownName
from ...warehouse.store import Store
from ..options import CommandOfWords, talk, words_after_dashes
from ..result_files import ResultFiles
from ..revisions.worktree import commit_of, git
from ..system.machine_lock import alone, lock_option
from .turns import GateSide, Turns, is_pytest, measures

MERGE_BASE = "merge-base"
MORE_ROUNDS = 4  # times the rounds asked for, where these settle no time
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
              help="Runs of each side; as many more, up to --most-rounds, while they settle no time.")  # fmt: skip
@click.option(
    "--most-rounds",
    type=click.IntRange(1),
    metavar="INT",
    help="Runs of each side at most. [default: 4 times --rounds]",
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

    Ends with 1 if anything got worse, 3 if something is only gone, 4 if no time is settled.

    \b
        bench ci --against merge-base -- measure function work:parse --arg n=1000
        bench ci --prepare 'make -s' --results out.json --comment verdict.md -- ./bench --benchmark_out=out.json
        bench ci -- pytest --bench benchmarks
    """
    from ..revisions.builds import checked_out

    chosen = _checked(words_after_dashes(), results)
    most = MORE_ROUNDS * rounds if most_rounds is None else max(rounds, most_rounds)
    head, base = git("rev-parse", "HEAD"), base_commit(against, target)
    if head == base:
        raise BenchError("HEAD would be compared with itself. Name another revision: bench ci --against HEAD~1")
    if git("status", "--porcelain", "--untracked-files=no"):
        talk("what is not committed is not measured")
    names = _names(store, [f"{config}@{commit[:9]}" for commit in (base, head)])
    files = ResultFiles(results, partial(command_services().ingest_result, store), talk)
    turns = Turns(chosen, files, store, _measure, talk)
    commits = {f"base {names[0]}": base, f"head {names[1]}": head}
    with alone(lock), checked_out(commits, prepare, talk) as trees:
        sides = [GateSide(title, name, trees[title]) for title, name in zip(commits, names, strict=True)]
        done = 0
        while not done or (done < most and _is_open(names, floor, look_fdr(done, rounds, most), store)):
            if done:
                talk(f"{counted(done, 'round')} settle no time; up to {most} are measured")
            more = range(done, min(done + rounds, most))
            turns.run(sides[0], sides[1], more)
            done = more.stop
    return _judge(names, done, floor, look_fdr(done, rounds, most), fail_on, comment, store)


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


def look_fdr(done: int, rounds: int, most: int) -> float:
    """The share of false alarms that a look after so many rounds accepts.

    Noise has a chance at each look: after the first one all the others together have the chance of one more, so that equal sides
    are called worse by no more than FDR of the jobs.
    """
    return FDR if done <= rounds else FDR / math.ceil(most / rounds)


def _is_open(sides: Sequence[str], floor: float | None, fdr: float, store: Store) -> bool:
    """Return whether what was measured so far settles no time."""
    from ...query.comparison.compare import compare as compare_sides
    from ...query.comparison.compare import exit_code, leaves_times_open
    from ...query.comparison.sides import find_sides
    from ...query.filters import asked_metrics
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        base, head = find_sides(warehouse, *sides, all_runs=True, notify=lambda sentence: None)  # the verdict says it
        where = {"metric": asked_metrics(warehouse, ())}
        found = compare_sides(warehouse, base, head, floor=floor, fdr=fdr, where=where)
        return exit_code(found) == Exit.TOO_LITTLE and leaves_times_open(found)


def _judge(
    sides: Sequence[str], rounds: int, floor: float | None, fdr: float, fail_on: str, comment: Path | None, store: Store,
) -> int:  # fmt: skip
    """Compare, on stdout and in the file for the comment."""
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
    if code == Exit.TOO_LITTLE:
        talk(f"{counted(rounds, 'round')} settle no time. More may: bench ci --most-rounds {MORE_ROUNDS * rounds}")
    return int(code or Exit.OK)
