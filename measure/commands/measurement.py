"""Compare commands: runs are interleaved in random blocks and recorded one by one, until the ratio is precise enough.

Failed runs are recorded separately: the time is `latency_errored`, and the run has its own outcome before the outcome of its
case. A command that fails three times in a row is abandoned, and the others continue.
"""

import contextlib
import itertools
import random
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import counted
from ...warehouse.events import Metric
from ...warehouse.recorder import Case, Run
from ..engine.estimate import Estimate, level_of, paired
from ..engine.sampling import StoppingRule, Verdict, balanced_orders
from ..system.instructions import CannotCount
from .plan import PlannedCommand, Template
from .process import COUNTERS, Launcher, NotStarted, Ran, running_groups

if TYPE_CHECKING:
    from ..revisions.options import MeasuredSide
    from .results import CallResults

BUDGET_S = 10.0
LEAST_BLOCKS = 5  # fewer say nothing; taken even beyond the usual budget, not beyond one that was asked for
FAILURES_RUNNING = 3
SHORT_NS = 10e6  # below this the start of a process may matter
EMPTY_RUNS = 5
COUNTED_RUNS = 3  # whose instructions are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """Settings of a measurement. `budget_s` None is the usual one; `fine` the exit codes of success, None for all."""

    warmup: int = 0
    precision: float = 0.01
    budget_s: float | None = None
    repeat: int | None = None
    timeout_s: float | None = None
    fine: frozenset[int] | None = frozenset([0])
    seed: int = 0
    sample_hz: float | None = None
    instructions: str | None = None  # how to count them, after the times


@dataclass(frozen=True, slots=True)
class CommandSite:
    """The folder in which commands run, the present one or that of a revision, and the run they are recorded into."""

    run: Run
    launcher: Launcher  # started there
    revision: str = ""
    tree: "MeasuredSide | None" = None

    def entered(self) -> contextlib.AbstractContextManager[None]:
        """Be there, for a `with` block."""
        return self.tree.entered() if self.tree else contextlib.nullcontext()


@dataclass(slots=True)
class CommandResult:
    """The results of a side so far."""

    side: PlannedCommand
    site: CommandSite
    case: Case
    runs: dict[int, Ran] = field(default_factory=dict)  # that succeeded, without warm-ups, by block
    count: int = 0  # runs, warm-ups and failed ones included
    failures: int = 0
    running: int = 0  # failures since the last success
    left_groups: set[int] = field(default_factory=set)  # in which runs left processes behind
    left: int = 0  # of these groups, at the end
    instructions: list[float] = field(default_factory=list)  # of some more runs
    begun: bool = False  # whether its setup ran, so that its cleanup must run
    given_up: bool = False
    status: str = "ok"
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The command, and its revision if there are several."""
        return f"{self.side} @{self.site.revision}" if self.site.revision else str(self.side)

    @property
    def level(self) -> Estimate:
        """The precision of its own time, as a ratio to itself."""
        return level_of(ran.duration_ns for ran in self.runs.values())

    def against(self, reference: "CommandResult") -> Estimate:
        """The ratio of the reference's time to its time, over the blocks in which both succeeded."""
        both = ((reference.runs[block], ran) for block, ran in self.runs.items() if block in reference.runs)
        return paired((base.duration_ns, ran.duration_ns) for base, ran in both)


class CommandMeasurement:
    """Measures comparisons into a run, one after the other."""

    def __init__(
        self, sites: Sequence[CommandSite], settings: CommandSettings, *, written: "CallResults | None" = None,
        notify: Callable[[str], None] = lambda text: None, now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """Prepare to measure at each site. The caller closes the runs.

        `written` loads what commands write, call by call. `notify` takes a line of progress for a person.
        """
        self._sites = sites
        self._settings = settings
        self._written = written
        self._notify = notify
        self._now = now
        self.interrupted = False
        self.uncounted = ""  # why instructions could not be counted
        for site in sites:
            self._metric(site, "seed", settings.seed)

    def measure(self, comparisons: Sequence[Sequence[PlannedCommand]]) -> list[list[CommandResult]]:
        """Measure all of them; at several sites each command is compared with itself at the first.

        After Ctrl-C `interrupted` is set; every case has an outcome either way.
        """
        (first, *others), planned = self._sites, comparisons
        if others:
            planned = [[side] for sides in comparisons for side in sides]
        plan = [[self._result(side, site) for side in sides for site in (first, *others)] for sides in planned]
        for site in self._sites:  # the kernel tells no peak below it
            self._metric(site, "launcher_peak", site.launcher.floor_bytes, "bytes")
        for results in plan:
            if self.interrupted:
                for result in results:
                    self._end(result, "interrupted", "Ctrl-C before its turn")
            else:
                self._compare(results)
        return plan

    def _result(self, side: PlannedCommand, site: CommandSite) -> CommandResult:
        case = site.run.case(side.name, suite="command", parameters=side.parameters or None)
        return CommandResult(side, site, case)

    def empty_ns(self, measured: Sequence[Sequence[CommandResult]]) -> float | None:
        """The time to start a process that does nothing (a shell, if one runs the commands).

        None if no command is so short that it matters, or if there is no such program.
        """
        sides = [result for results in measured for result in results if result.runs]
        if not any(min(ran.duration_ns for ran in result.runs.values()) < SHORT_NS for result in sides):
            return None
        shell, site = sides[0].side.shell, sides[0].site
        words = Template(":" if shell else "true").fill({}, shell=shell)
        try:
            found = statistics.median(site.launcher.run(words).duration_ns for _ in range(EMPTY_RUNS))
        except NotStarted:
            return None
        self._metric(site, "empty_process", found, "ns")
        return found

    def _compare(self, results: Sequence[CommandResult]) -> None:
        stopped = "interrupted"
        try:
            for result in results:
                result.begun = True
                with result.site.entered():
                    self._hook(result, "setup")
            stopped = self._sample(results)
            if self._settings.instructions:
                for result in results:
                    with result.site.entered():
                        self._count_instructions(result, self._settings.instructions)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            for result in results:
                if result.begun:
                    with result.site.entered():
                        self._hook(result, "cleanup")
        for result in results:
            self._conclude(result, results[0], stopped)

    def _sample(self, results: Sequence[CommandResult]) -> str:
        """Run blocks until a stopping rule applies; returns the name of the rule."""
        settings = self._settings
        budget_s, least = (BUDGET_S, LEAST_BLOCKS) if settings.budget_s is None else (settings.budget_s, 1)
        rule = StoppingRule(
            precision=settings.precision, budget_s=budget_s, repeat=settings.repeat, least=least, now=self._now
        )
        orders = balanced_orders(len(results), random.Random(settings.seed))
        for block in range(settings.warmup):
            self._block(results, "warmup", block, next(orders))
        stopped: str | None = None
        for taken in itertools.count(1):
            self._block(results, "steady", settings.warmup + taken - 1, next(orders))
            left = [result for result in results if not result.given_up]
            others = [result for result in left if result is not results[0]] or left
            stopped = rule.stopped(taken, lambda: [_estimate(result, results[0]) for result in others])  # noqa: B023
            if stopped or not left:
                break
        return stopped or "failed"

    def _block(self, results: Sequence[CommandResult], phase: str, block: int, order: Sequence[int]) -> None:
        """Run every remaining side once."""
        for position, result in enumerate(results[index] for index in order if not results[index].given_up):
            with result.site.entered():
                if self._hook(result, "prepare"):
                    self._once(result, phase, block, position)
                    self._hook(result, "conclude")

    def _once(self, result: CommandResult, phase: str, block: int, position: int) -> None:
        """Run a side once, and record its time or its failure."""
        settings, case, number = self._settings, result.case, result.count
        result.count += 1
        self._notify(f"{result}: run {number + 1}")
        loads = self._written if phase == "steady" else None
        if self._written:
            self._written.clear(result.side.parameters)
        try:
            ran = result.site.launcher.run(
                result.side.words, timeout_s=settings.timeout_s, beside=self._sampled(result)
            )
        except NotStarted as error:
            self._failed(result, phase, "fail_to_run", str(error))
            result.given_up = True  # it would not start the next time either
            return
        if ran.left_group:
            result.left_groups.add(ran.left_group)
        is_ended_badly = ran.failed(settings.fine)
        files, problem = loads.written() if loads and not is_ended_badly else ([], "")
        failed = is_ended_badly or bool(problem)

        def timing(metric: str, duration_ns: int, **details: int) -> None:
            name = f"{metric}_errored" if failed else metric
            case.timing(duration_ns, metric=name, phase=phase, sample=number, details={"block": block, **details})

        timing("latency", ran.duration_ns, position=position, **{name: getattr(ran, name) for name in COUNTERS})
        timing("user_time", ran.user_ns)
        timing("system_time", ran.system_ns)
        if is_ended_badly:
            status, reason, details = ran.ending(settings.timeout_s)
            self._failed(result, phase, status, reason, **details)
            return
        if loads and not problem:
            problem = loads.load(files, result.side, result.site.revision)
        if problem:
            tail = ran.stderr_tail
            last = next((line for line in reversed(tail.splitlines()) if line.strip()), "")
            reason = f"{problem}: {last}" if last else problem
            self._failed(result, phase, "fail_to_run", reason, stderr_tail=tail or None)
            return
        result.running = 0
        case.memory(ran.seen_bytes, phase=phase, error_bound_bytes=ran.peak_bytes - ran.seen_bytes or None)
        if ran.tree_bytes is not None:
            case.memory(ran.tree_bytes, source="rss_tree_sampled", phase=phase)
        if ran.code:
            case.metric("exit_code", ran.code, phase=phase)
        if phase == "steady":
            result.runs[block] = ran

    def _count_instructions(self, result: CommandResult, kind: str) -> None:
        """Record the instructions of some more runs, whose times do not count; or why they cannot be counted."""
        if result.given_up or result.status != "ok":
            return
        try:
            with result.site.launcher.counting(kind) as count:
                for _ in range(COUNTED_RUNS):
                    if self._hook(result, "prepare"):
                        self._notify(f"{result}: counting instructions")
                        counted_now = count(result.side.words, self._settings.timeout_s)
                        result.instructions.append(counted_now)
                        result.case.metric("instructions", counted_now, unit="count", better="lower", phase="steady")
                        self._hook(result, "conclude")
        except CannotCount as error:
            self.uncounted = str(error)
            result.case.metric("instructions_skipped", None, text=str(error))

    def _failed(self, result: CommandResult, phase: str, status: str, reason: str, **details: Any) -> None:
        result.failures += 1
        result.running += 1
        result.given_up = result.running == FAILURES_RUNNING
        result.status, result.reason, result.details = status, reason, {**details, "phase": phase}
        result.case.outcome(status, reason=f"run {result.count}: {reason}", **result.details)

    def _hook(self, result: CommandResult, name: str) -> bool:
        """Let a shell run what prepares a side or cleans up after it; returns whether it succeeded."""
        template = getattr(result.side.hooks, name)
        if template is None or (result.given_up and name in ("setup", "prepare")):
            return not result.given_up
        words = template.fill(result.side.parameters, shell=True)
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=2, check=False)
            problem = f"ended with {done.returncode}" if done.returncode else None
        except OSError as error:
            problem = f"could not be run: {words[0]}: {error.strerror}"
        if problem is None:
            return True
        result.status, result.reason, result.details = "fail_to_run", f"the {name} command {problem}", {"phase": "load"}
        result.given_up = True  # further runs would not measure what was asked for
        return False

    def _conclude(self, result: CommandResult, reference: CommandResult, stopped: str) -> None:
        """Record the final outcome of the case: ok, or its last failure."""
        runs = result.count
        if result.left_groups and (left := len(result.left_groups & running_groups())):
            result.left = left
            result.case.metric("left_running", left, unit="count")
        if result.status != "ok":
            of_a_run = runs > 1 and result.details["phase"] != "load"
            times = f"{result.failures} of {runs} runs failed, the last: " if of_a_run else ""
            self._end(result, result.status, times + result.reason, **result.details)
        elif stopped == "interrupted":
            self._end(result, stopped, f"Ctrl-C after {counted(runs, 'run')}")
        else:
            verdict = Verdict(stopped, True, len(result.runs), (_estimate(result, reference),))
            self._end(result, "ok", str(verdict), phase="steady")

    def _end(self, result: CommandResult, status: str, reason: str, **details: Any) -> None:
        result.status, result.reason = status, reason
        result.case.outcome(status, reason=reason, **details)

    def _sampled(self, result: CommandResult) -> Callable[[int], contextlib.AbstractContextManager[None]] | None:
        if self._settings.sample_hz is None:
            return None
        from ..system.process_sampler import sampled

        return lambda pid: sampled(result.site.run, pid, self._settings.sample_hz, result.case)

    def _metric(self, site: CommandSite, name: str, value: float, unit: str | None = None) -> None:
        site.run.emit(Metric(run_id=site.run.run_id, metric=name, value=float(value), unit=unit))


def _estimate(result: CommandResult, reference: CommandResult) -> Estimate:
    """The estimate that must become precise: the ratio to the reference or, without a reference, the time itself."""
    return result.level if result is reference or reference.given_up else result.against(reference)
