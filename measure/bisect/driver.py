"""The search itself: measure the revision that tells most, read what is known from the store, and so on until it is sure."""

import hashlib
import json
import os
import random
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...query.bisect.findings import BisectFindings, BisectQuestion, conclude
from ...query.bisect.results import read_runs
from ...warehouse import recorder
from ...warehouse.console.numbers import probability
from ...warehouse.database import Warehouse
from ...warehouse.errors import BenchError, Exit
from ...warehouse.store import Store
from ..engine.claims import ClaimFolder
from ..engine.messages import clean, first_line
from ..revisions.builds import Builds, NotPrepared

Measure = Callable[[Sequence[str]], tuple[int, str]]  # words after `bench` → exit code, end of stderr
INTERRUPTED = (130, 143, -2, -15)  # by Ctrl-C or SIGTERM


def search_name(commits: Sequence[str], words: Sequence[str], *how: str | None) -> str:
    """The name of a search: the same for the same commits, measuring command and preparation, so that it is resumed."""
    text = json.dumps([commits[0], commits[-1], len(commits), list(words), how])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(slots=True)
class BisectSearch:
    """A search on this machine."""

    question: BisectQuestion
    words: Sequence[str]  # measure, the thing to measure, and what follows
    store: Store
    builds: Builds
    measure: Measure
    most: int  # runs
    notify: Callable[[str], None]
    claims: ClaimFolder | None = None
    seed: int = 0

    def run(self) -> BisectFindings:
        """Measure until it is sure, or the runs are spent.

        Raises:
            BenchError: An end cannot be measured.
            KeyboardInterrupt: Ctrl-C; the same command goes on from there.
        """
        order = random.Random(self.seed)
        findings = self.look()
        while findings.following and findings.measured < self.most:
            self._check_ends(findings)
            places = list(findings.following)
            order.shuffle(places)
            claimed = False
            for place in places:
                claimed |= self._turn(place, findings)
            if not claimed and self.claims:
                findings = self.look(taken=self._taken())
                if not any(self._turn(place, findings) for place in findings.following):
                    break  # others measure what is left to measure
            findings = self.look(taken=self._taken())
            self.notify(progress_line(findings))
        self._check_ends(findings)
        return findings

    def look(self, taken: Sequence[int] = ()) -> BisectFindings:
        """The findings so far, from the store."""
        with Warehouse.open(self.store.create()) as warehouse:
            runs = read_runs(warehouse, self.question)
        return conclude(self.question, runs, count=2 if not runs else 1, host=os.uname().nodename, taken=taken)

    def _taken(self) -> list[int]:
        return [int(key.partition("-")[0]) for key in self.claims.held()] if self.claims else []

    def _turn(self, place: int, findings: BisectFindings) -> bool:
        """Measure a place once; False where another machine does it just now."""
        if self.claims is None:
            self._measure(place)
            return True
        number = sum(run.place == place for run in findings.runs)
        if not self.claims.take(f"{place:06d}-{number:04d}"):
            return False
        try:
            self._measure(place)
        except BaseException:
            self.claims.give_back()
            raise
        self.claims.done()
        return True

    def _measure(self, place: int) -> None:
        commit = self.question.commits[place]
        tags = {"bisect": self.question.search, "revision": commit, "place": str(place)}
        try:
            tree = self.builds.worktree(commit)
        except NotPrepared as error:
            self._record(tags, "prepare", str(error))
            return
        given = [word for name, value in tags.items() for word in ("--tag", f"{name}={value}")]
        config = f"bisect-{self.question.search[:6]}@{commit[:9]}"
        words = [*self.words[:2], "--store", str(self.store), "--config", config, *given, *self.words[2:]]
        with tree.entered():
            code, stderr = self.measure(words)
        if code in (Exit.OK, Exit.FAILED):
            return
        tail = clean(stderr)
        if code in INTERRUPTED:
            raise KeyboardInterrupt
        if code == Exit.BUSY:
            raise BenchError(first_line(tail) or "the machine is busy")
        last = next((line for line in reversed(tail.splitlines()) if line.strip()), f"it ended with {code}")
        self._record(tags, "measure", last.removeprefix("Error: "))

    def _record(self, tags: dict[str, str], stage: str, reason: str) -> None:
        """Record that a revision could not be measured: a run that measured nothing."""
        config = f"bisect-{self.question.search[:6]}@{tags['revision'][:9]}"
        run = recorder.run(config, store=self.store, source="measure", tags={**tags, "stage": stage})
        run.close("failed", reason)
        self.notify(f"{tags['revision'][:9]} cannot be {'prepared' if stage == 'prepare' else 'measured'}: {reason}")

    def _check_ends(self, findings: BisectFindings) -> None:
        question = self.question
        for place, end in ((0, "good"), (question.last, "bad")):
            if place in findings.unusable:
                reason = next(run.reason for run in findings.runs if run.place == place and run.status != "ok")
                cure = "To find the commit from which it fails, add --find failure." if place else "Choose another."
                raise BenchError(
                    f"the {end} revision {question.commits[place][:9]} cannot be measured "
                    f"({findings.unusable[place]}: {reason}). {cure}"
                )


def progress_line(findings: BisectFindings) -> str:
    """The state of the search, in one line."""
    import numpy as np

    question = findings.question
    best = int(np.argmax(findings.probability[1:])) + 1
    share = float(findings.probability[best])
    return (
        f"{findings.measured} runs of {findings.revisions} revisions: {question.commits[best][:9]} with {probability(share, 0)}, "
        f"nothing changed with {probability(float(findings.probability[0]), 0)}"
    )


def shell_words(words: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(["bench", *words])
