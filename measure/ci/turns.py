"""Turns of a gate: each side of a comparison is measured in its own worktree, in either order, round after round.

Whatever machine a job was given, both sides ran on it, and what drifts meets both.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ...warehouse.errors import BenchError, Exit
from ...warehouse.store import Store
from ..engine.messages import clean
from ..result_files import NoResult, ResultFiles
from ..revisions.worktree import Worktree

Measure = Callable[[Sequence[str]], tuple[int, str]]  # words after `bench` → exit code, end of stderr
MEASURED = (Exit.OK, Exit.FAILED)  # cases that failed are rows, and for the comparison to find


def is_pytest(words: Sequence[str]) -> bool:
    """Return whether a command runs pytest, by its name or as a module of Python."""
    return PurePath(words[0]).stem == "pytest" or list(words[1:3]) == ["-m", "pytest"]


def measures(words: Sequence[str]) -> bool:
    """Return whether pytest is asked to measure what tests give to the fixture `bench`."""
    return any(word.split("=")[0] in ("--bench", "--bench-only", "--bench-against") for word in words)


@dataclass(frozen=True, slots=True)
class GateSide:
    """One side: what messages call it, its config, and its revision checked out and built."""

    title: str
    config: str
    tree: Worktree


@dataclass(slots=True)
class Turns:
    """The command of each turn: a `bench measure` command, pytest, or any other whose results are then ingested."""

    words: Sequence[str]
    results: ResultFiles  # that the command writes; none for `measure`
    store: Store
    measure: Measure
    notify: Callable[[str], None]

    def run(self, base: GateSide, head: GateSide, rounds: range) -> None:
        """Measure both sides in these rounds.

        Raises:
            BenchError: A side cannot be measured.
        """
        for number in rounds:
            for side in (base, head) if number % 2 == 0 else (head, base):
                self.notify(f"round {number + 1} of {rounds.stop}: {side.title}")
                self._turn(side)

    def _turn(self, side: GateSide) -> None:
        with side.tree.entered():
            if self.words[0] == "measure":
                words = [*self.words[:2], "--store", str(self.store), "--config", side.config, *self.words[2:]]
                code, stderr = self.measure(words)
                if code not in MEASURED:
                    raise BenchError(f"{side.title} cannot be measured: {_last_line(stderr, code)}")
            elif is_pytest(self.words) and not self.results.patterns:
                self._test(side)
            else:
                self._call(side)

    def _test(self, side: GateSide) -> None:
        """Tests that fail are rows; pytest that could not run any is an error."""
        # with =, since pytest takes a word after an option of a plugin for a path when it looks for its root
        code, text = self._output(side, [*self.words, f"--bench-config={side.config}", f"--bench-store={self.store}"])
        if code not in MEASURED:
            errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
            raise BenchError(f"{side.title} cannot be measured: {(errors or [_last_line(text, code)])[-1]}")

    def _output(self, side: GateSide, words: Sequence[str]) -> tuple[int, str]:
        try:
            called = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            raise BenchError(f"{side.title}: {words[0]} cannot be started: {error.strerror}") from None
        return called.returncode, called.stdout.decode("utf-8", "replace")

    def _call(self, side: GateSide) -> None:
        self.results.clear()
        code, text = self._output(side, self.words)
        try:
            written = self.results.written()
        except NoResult as error:
            ended = f"ended with {code} and " if code else ""
            cure = "" if code else ". Say with --results which files it writes, from the folder that bench is called in"
            raise BenchError(f"{side.title}: the command {ended}{error}: {_last_line(text, code)}{cure}") from None
        if code:
            self.notify(f"{side.title}: the command ended with {code}; what it wrote counts")
        self.results.load(written, side.config)


def _last_line(text: str, code: int) -> str:
    lines = [line for line in clean(text).splitlines() if line.strip()]
    return lines[-1].removeprefix("Error: ") if lines else f"it ended with {code}"
