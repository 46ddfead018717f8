"""Turns of a gate: each side of a comparison is measured in its own worktree, in either order, round after round.

Whatever machine a job was given, both sides ran on it, and what drifts meets both.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...warehouse.errors import BenchError, Exit
from ...warehouse.store import Store
from ..engine.messages import clean
from ..result_files import NoResult, ResultFiles
from ..revisions.worktree import Worktree

Measure = Callable[[Sequence[str]], tuple[int, str]]  # words after `bench` → exit code, end of stderr
MEASURED = (Exit.OK, Exit.FAILED)  # cases that failed are rows, and for the comparison to find


@dataclass(frozen=True, slots=True)
class GateSide:
    """One side: its config, and its revision checked out and built."""

    config: str
    tree: Worktree


@dataclass(slots=True)
class Turns:
    """The command of each turn: a `bench measure` command, or any other whose results are then ingested."""

    words: Sequence[str]
    results: ResultFiles  # that the command writes; none for `measure`
    store: Store
    measure: Measure
    notify: Callable[[str], None]

    def run(self, base: GateSide, head: GateSide, rounds: int) -> None:
        """Measure both sides so many times.

        Raises:
            BenchError: A side cannot be measured.
        """
        for number in range(rounds):
            for side in (base, head) if number % 2 == 0 else (head, base):
                self.notify(f"round {number + 1} of {rounds}: {side.config}")
                self._turn(side)

    def _turn(self, side: GateSide) -> None:
        with side.tree.entered():
            if self.words[0] == "measure":
                words = [*self.words[:2], "--store", str(self.store), "--config", side.config, *self.words[2:]]
                code, stderr = self.measure(words)
                if code not in MEASURED:
                    raise BenchError(f"{side.config} cannot be measured: {_last_line(stderr, code)}")
            else:
                self._call(side)

    def _call(self, side: GateSide) -> None:
        self.results.clear()
        try:
            called = subprocess.run(
                self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise BenchError(f"{side.config}: {self.words[0]} cannot be started: {error.strerror}") from None
        text = called.stdout.decode("utf-8", "replace")
        try:
            written = self.results.written()
        except NoResult as error:
            raise BenchError(
                f"{side.config}: the command {error}: {_last_line(text, called.returncode)}. "
                "Say with --results which files it writes, from the folder that bench is called in."
            ) from None
        if called.returncode:
            self.notify(f"{side.config}: the command ended with {called.returncode}; what it wrote counts")
        self.results.load(written, side.config)


def _last_line(text: str, code: int) -> str:
    lines = [line for line in clean(text).splitlines() if line.strip()]
    return lines[-1].removeprefix("Error: ") if lines else f"it ended with {code}"
