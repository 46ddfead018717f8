"""Options of commands that measure git revisions, and what they ask of them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ...warehouse.console.options import Values
from ...warehouse.environment import COMMIT
from ...warehouse.errors import BenchError
from ...warehouse.store import Store

if TYPE_CHECKING:
    from ...warehouse.recorder import Run

revisions_option: Callable[[Any], Any] = click.option(
    "--revisions", cls=Values, metavar="REV…",
    help="Measure these git revisions in turn, each in a worktree, and compare them with the first.",
)  # fmt: skip
rounds_option: Callable[[Any], Any] = click.option(
    "--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each revision."
)


def check_revisions(revisions: Sequence[str]) -> None:
    """Check that there is something to compare.

    Raises:
        BenchError: Fewer than two revisions, or a commit that all of them would be taken for.
    """
    if len(set(revisions)) < 2:
        raise BenchError("--revisions takes two or more: it compares them with the first.")
    if os.environ.get(COMMIT):
        raise BenchError("--revisions names the commits of its runs itself: leave out --commit.")


def config_of(config: str | None, revision: str) -> str:
    """The config of a revision's runs: the revision, after the config that was given, if one was."""
    return f"{config}@{revision}" if config else revision


@dataclass(frozen=True, slots=True)
class RevisionsRequest:
    """Which revisions, how often, how each is built, and how its runs are called and written."""

    suite: str
    revisions: Sequence[str]
    rounds: int
    prepare: str | None
    store: Store
    config: str | None
    tags: Mapping[str, str]
    lock: str
    fmt: str
    runs: dict[str, list[str]] = field(default_factory=dict)  # begun so far, by config

    def begin(self, revision: str) -> "Run":
        """Begin a run of a revision."""
        from ...warehouse import recorder

        config = config_of(self.config, revision)
        run = recorder.run(
            config, suite=self.suite, store=self.store, source="measure", tags={**self.tags, "revision": revision}
        )
        self.runs.setdefault(config, []).append(run.run_id)
        return run
