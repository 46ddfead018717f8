"""`bench bisect`: which commit made it slower, larger or fail."""

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ...query.bisect.search import SEARCH_FLOOR
from ...query.command_services import command_services
from ...query.why.turns import PROFILES
from ...warehouse.console.numbers import share_text
from ...warehouse.console.options import Values, format_option, share_option, store_option
from ...warehouse.console.tables import escape, write_rows
from ...warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from ...warehouse.store import Store
from ..models.selection import fleet_name
from ..options import CommandOfWords, talk, words_after_dashes
from ..system.machine_lock import alone, lock_option

if TYPE_CHECKING:
    from ...query.bisect.findings import BisectFindings, BisectQuestion

MOST = 64
EXITS = {"found": Exit.OK, "nothing": Exit.NOTHING, "open": Exit.TOO_LITTLE}


@click.command("bisect", cls=CommandOfWords)
@click.argument("commits", required=False, metavar="[GOOD..BAD] -- measure models|function|command …")
@click.option("--metric", default="latency", show_default=True, help="What changed.")
@click.option("--phase", default="steady", show_default=True, help="Its phase: cold, compile, warmup or steady.")
@click.option("--models", cls=Values, help="Only these models, functions or commands of what is measured.")
@click.option("--backends", cls=Values, help="Only these backends.")
@click.option("--find", "finds", type=click.Choice(("change", "failure")), default="change", show_default=True,
              help="Find what changed the metric, or since when the measurement fails.")  # fmt: skip
@share_option("--confidence", default="95%", help="Probability at which to stop.")
@share_option("--floor", default=None, most=100,
              help="Smallest change that counts.  "
                   f"[default: the project's for the metric, else {share_text(SEARCH_FLOOR)}]")  # fmt: skip
@click.option("--most", type=click.IntRange(1), default=MOST, show_default=True, help="Runs to stop at, sure or not.")
@click.option("--prepare", metavar="CMD", help="Command that builds a revision, in its folder; once for each tree.")
@click.option("--bench-from", metavar="REV[:PATH]",
              help="Measure all with the benchmark of one revision: PATH, or the files that the command names.")  # fmt: skip
@click.option("--from-regression", metavar="[RUN]", is_flag=False, flag_value="latest",
              help="Take commits, metric and command from the worst of what `bench regressions` finds.")  # fmt: skip
@click.option("--fleet", metavar="NAME", type=click.types.FuncParamType(fleet_name),
              help="Share the search with other machines that give the same name, through the store.")  # fmt: skip
@click.option(
    "--show",
    metavar="[SEARCH]",
    is_flag=False,
    flag_value="",
    help="Show what is known of SEARCH, or of the newest search.",
)
@click.option("--why", "taken_apart", is_flag=True,
              help="Also record where time goes, and end with the first rows of `bench why` for the commit.")  # fmt: skip
@click.option("--keep-builds", is_flag=True, help="Keep the revisions that were built.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed for the order of revisions that are measured together."
)
@lock_option
@format_option
@store_option
def command(
    commits: str | None, metric: str, phase: str, models: Sequence[str], backends: Sequence[str], finds: str, confidence: float,
    floor: float | None, most: int, prepare: str | None, bench_from: str | None, from_regression: str | None, fleet: str | None,
    show: str | None, taken_apart: bool, keep_builds: bool, seed: int, lock: str, fmt: str, store: Store,
) -> int:  # fmt: skip
    """Find the commit that made it slower, larger or fail, however noisy the runs are.

    Keeps a probability for every commit between GOOD and BAD, measures the revision that is expected to tell most, and
    stops when it is sure. What follows -- is a bench command that measures; it runs in a worktree of each revision.
    Commits that cannot be built or measured are bracketed. The same command goes on where a killed one stopped.

    Ends with 0 if the commit is found, 3 if nothing changed, 4 if that is not sure yet.

    \b
        bench bisect v1.2..HEAD -- measure function work:parse --arg n=1000
        bench bisect main~64..main --prepare 'make -s' --metric rss_peak -- measure command ./build/tool big.txt
        bench bisect --from-regression
    """
    from .driver import shell_words

    if show is not None:
        return _show_known(store, show or None, fmt, taken_apart)
    words = words_after_dashes()
    words = words[1:] if words[:1] == ["bench"] else words
    chosen: dict[str, Any] = {"metric": metric, "phase": phase, "models": models, "backends": backends}
    wider = None
    if from_regression is not None:
        if commits or words:
            raise BenchError("--from-regression takes the commits and the command from the runs: leave them out.")
        commits, words, chosen, wider = _from_regression(store, from_regression, chosen)
    if commits is None:
        raise BenchError("which commits? Write: bench bisect GOOD..BAD -- measure function MODULE:FUNCTION")
    _check(words)
    words = _profiled(words) if taken_apart else words
    talk(f"measuring revisions with: {shell_words(words)}") if from_regression is not None else None
    plan = _plan(commits, words, prepare, bench_from)
    search, between, benchmark = plan
    from ...query.bisect.findings import BisectQuestion
    from ...warehouse.settings import floor_of

    case = chosen["models"][0] if len(chosen["models"]) == 1 else ""
    floor = floor_of(chosen["metric"], case, SEARCH_FLOOR) if floor is None else floor
    question = BisectQuestion(
        search=search, good=between.commits[0], bad=between.commits[-1], commits=between.commits, unchanged=between.unchanged,
        measure=shell_words(words), finds=finds, confidence=confidence, floor=floor, **chosen,
    )  # fmt: skip
    code = _search(question, words, between, benchmark, prepare, store, most, fleet, lock, seed, fmt, keep_builds)
    if taken_apart:
        _say_parts(store, question.search)
    if code == Exit.NOTHING and wider is not None:
        talk(f"the run that it began with may have been disturbed; search up to the newest run with: {wider}")
    return code


def _check(words: Sequence[str]) -> None:
    from ..command import MEASURING

    measuring = [name for name in MEASURING if name != "attach"]
    if words[:1] != ["measure"] or len(words) < 3:
        raise BenchError(
            f"what follows -- is not a measuring command: {shlex.join(words) or 'nothing'}. "
            "Write it as: -- measure function MODULE:FUNCTION, or measure models …, or measure command -- CMD …"
        )
    if words[1] not in measuring:
        raise UnknownName("measure command", words[1], measuring, where="bisect")


def _plan(commits: str, words: Sequence[str], prepare: str | None, bench_from: str | None) -> Any:
    """The name of the search, its commits, and the benchmark's files if they are pinned."""
    from ..revisions.builds import benchmark_of
    from .commits import commits_between
    from .driver import search_name

    between = commits_between(commits)
    benchmark = benchmark_of(bench_from, words[2:]) if bench_from else None
    here = os.path.relpath(os.getcwd(), _top())
    pinned = f"{benchmark.commit}:{' '.join(benchmark.paths)}" if benchmark else None
    search = search_name(between.commits, words, prepare, pinned, here)
    return search, between, benchmark


def _measure(words: Sequence[str]) -> tuple[int, str]:
    done = command_services().run_bench(words, None)
    return done.returncode, done.stderr


def _top() -> str:
    from ..revisions.worktree import git

    return git("rev-parse", "--show-toplevel")


def _search(
    question: "BisectQuestion", words: Sequence[str], between: Any, benchmark: Any, prepare: str | None, store: Store, most: int,
    fleet: str | None, lock: str, seed: int, fmt: str, keep_builds: bool,
) -> int:  # fmt: skip
    from ...query.bisect.render import answer
    from ...query.bisect.results import to_settings
    from ...warehouse import recorder
    from ...warehouse.remote.places import place
    from ..engine.claims import ClaimFolder
    from ..revisions.builds import Builds
    from .commits import merged_range, subject_of
    from .driver import BisectSearch

    trees = dict(zip(between.commits, between.trees, strict=True))
    builds = Builds(trees, prepare, benchmark, talk)
    settings = to_settings(question)
    run_id = recorder.uuid7()
    claims = ClaimFolder(place(store), f"claims/{fleet}/bisect-{question.search}", run_id) if fleet else None
    search = BisectSearch(question, words, store, builds, _measure, most, talk, claims=claims, seed=seed)
    with alone(lock):
        with recorder.run("bisect", store=store, source="bisect", settings=settings) as run:
            run.close("ok", "begun")  # so that the question is known from now on
        known = search.look()
        if known.runs:
            talk(f"going on with search {question.search}: {len(known.runs)} runs are known")
        findings = search.run()
        said = _units(store, question)
        with recorder.run("bisect", store=store, source="bisect", settings=settings, run_id=run_id) as run:
            run.close("ok", answer(findings, lambda commit: "", **said))
        if not keep_builds:  # before the next search begins, which may build the same
            builds.remove()
    _write(findings, fmt, subject_of, said)
    change = findings.change
    if change and change.bracket.first == change.bracket.last:
        merged = merged_range(question.commits[change.bracket.first])
        if merged:
            talk(f"it is a merge; search what it brought in with: bench bisect {merged} -- …")
    if question.metric == "instructions":
        talk("instructions are a witness of work done, not of time: look at that with --metric latency")
    if findings.status == "open":
        talk(f"go on with the same command and --most {2 * most}, or ask for less with --confidence or --floor")
    talk(f"search {question.search}; draw it with: bench viz bisect --search {question.search}")
    return EXITS[findings.status]


def _units(store: Store, question: "BisectQuestion") -> dict[str, str | None]:
    from ...query.bisect.results import direction
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        unit, better = direction(warehouse, question)
    return {"unit": unit, "better": better}


def _write(findings: "BisectFindings", fmt: str, subject: Any, said: dict[str, str | None]) -> None:
    """The commits on stdout, the sentences on stderr."""
    from ...query.bisect.render import sentences, table
    from ...query.bisect.results import COMMIT_COLUMNS, commit_rows

    if fmt in ("table", "markdown"):
        write_rows(*table(findings, subject), fmt)
    else:
        write_rows(COMMIT_COLUMNS, commit_rows(findings), fmt)
    for sentence in sentences(findings, subject, **said):
        talk(escape(sentence))


def _profiled(words: list[str]) -> list[str]:
    """The measuring command, which also records where time goes."""
    flag = PROFILES.get(words[1])
    return words if flag is None or flag in words else [*words[:2], flag, *words[2:]]


def _say_parts(store: Store, name: str) -> None:
    """Say the first rows of `bench why` for the commit that a search found."""
    from ...query.bisect.findings import conclude
    from ...query.bisect.results import find_search, read_runs
    from ...query.comparison.sides import find_sides
    from ...query.why.next_question import CaseQuestion, first_rows
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        question = find_search(warehouse, name)
        findings = conclude(question, read_runs(warehouse, question))
        if findings.status != "found" or findings.change is None or question.finds == "failure":
            return
        bracket = findings.change.bracket
        try:
            sides = find_sides(
                warehouse, question.commits[bracket.first - 1], question.commits[bracket.last], all_runs=True
            )
        except BenchError as error:
            talk(f"no parts: {error}")
            return
        asked = CaseQuestion(
            question.models[0] if len(question.models) == 1 else None,
            None if question.metric == "latency" else question.metric,
            question.backends[0] if len(question.backends) == 1 else None,
        )
        talk("parts of the difference, the largest first:")
        for row in first_rows(warehouse, sides, asked):
            talk(row)


def _show_known(store: Store, name: str | None, fmt: str, taken_apart: bool) -> int:
    """The state of a search in the store, without measuring."""
    from ...query.bisect.findings import conclude
    from ...query.bisect.results import find_search, read_runs
    from ...warehouse.database import Warehouse
    from .commits import subject_of

    with Warehouse.open(store) as warehouse:
        question = find_search(warehouse, name)
        findings = conclude(question, read_runs(warehouse, question))
    talk(f"search {question.search}: {question.good[:9]}..{question.bad[:9]} -- {escape(question.measure)}")
    _write(findings, fmt, subject_of, _units(store, question))
    if taken_apart:
        _say_parts(store, question.search)
    return EXITS[findings.status]


def _from_regression(
    store: Store, name: str, chosen: dict[str, Any]
) -> tuple[str, list[str], dict[str, Any], str | None]:
    """Commits, measuring command and metric of the worst finding that names two commits.

    The last value is the command that searches up to the commit of the judged run; None where the range ends there already.

    Raises:
        NothingToShow: No finding does, or none was measured by a command that can be repeated.
    """
    from ...query.bisect.suggest import bisect_command
    from ...query.comparison.render import metric
    from ...query.regression.regressions import Limits, RegressionRule, judge, judged_runs, most_telling, worse_cases
    from ...warehouse.database import Warehouse
    from .driver import shell_words

    with Warehouse.open(store) as warehouse:
        rows = judge(warehouse, judged_runs(warehouse, name), RegressionRule(), Limits())
        between = [row for row in worse_cases(rows) if row["good_commit"] and row["since_commit"]]
        for place in range(len(between)):
            row = most_telling(between[place:])
            words = bisect_command(warehouse, row["run_id"], f"{row['good_commit']}..{row['since_commit']}", row)
            if words:
                measuring = words[words.index("--") + 1 :]
                found = {
                    "metric": row["metric"], "phase": row["phase"] or chosen["phase"], "models": [row["name"]],
                    "backends": [row["backend"]] if row["backend"] else [],
                }  # fmt: skip
                talk(f"{row['verdict']}: {escape(str(row['name']))} {metric(row)}, since {row['since_commit'][:9]}")
                ((newest,),) = warehouse.rows("SELECT git_commit FROM runs WHERE run_id = ?", [row["run_id"]])
                if newest in (None, row["since_commit"]):
                    return words[2], measuring, found, None
                wider = shell_words([words[1], f"{row['good_commit'][:9]}..{newest[:9]}", *words[3:]])
                return words[2], measuring, found, wider
    raise NothingToShow(
        "nothing got worse between two commits that bench measure measured. Look with: bench regressions"
    )
