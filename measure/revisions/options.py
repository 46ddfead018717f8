"""Options of commands that measure git revisions or versions of packages in turns, and what they ask of them."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ...warehouse.console.options import Values
from ...warehouse.environment import COMMIT
from ...warehouse.errors import BenchError
from ...warehouse.store import Store
from ..options import talk
from ..recorded_options import begin_run

if TYPE_CHECKING:
    from ...warehouse.recorder import Run
    from .packages import InstalledPackages
    from .worktree import Worktree

    MeasuredSide = Worktree | InstalledPackages

revisions_option: Callable[[Any], Any] = click.option(
    "--revisions", cls=Values, metavar="REV…",
    help="Measure these git revisions in turn, each in a worktree, and compare them with the first.",
)  # fmt: skip
rounds_option: Callable[[Any], Any] = click.option(
    "--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each revision."
)


with_option: Callable[[Any], Any] = click.option(
    "--with", "packages", multiple=True, metavar="REQUIREMENT",
    help="Measure with this version of a package, such as torch==2.12, installed for it alone; repeat it to compare "
         "several in turn with the first.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides that are measured in turns: git revisions, or versions of packages."""

    names: Sequence[str]
    option: str  # that names them

    @property
    def tag(self) -> str:
        """The name of its side in runs."""
        return self.option.removeprefix("--").removesuffix("s")

    def opened(self, prepare: str | None = None) -> "contextlib.AbstractContextManager[Mapping[str, MeasuredSide]]":
        """The sides, checked out and built by a command or installed, for a `with` block.

        Raises:
            BenchError: There is no such revision or package, or one cannot be built or installed.
        """
        from .builds import checked_out
        from .packages import installed

        return (
            installed(self.names, talk)
            if self.option == "--with"
            else checked_out({name: name for name in self.names}, prepare, talk)
        )


def sides_of(revisions: Sequence[str], packages: Sequence[str]) -> Sides | None:
    """The sides to measure in turns; None if there are none.

    Raises:
        BenchError: Both are given, fewer than two, or a commit that all revisions would be taken for.
    """
    if revisions and packages:
        raise BenchError("--revisions and --with are two comparisons: give one of them.")
    if not (revisions or packages):
        return None
    sides = Sides(tuple(dict.fromkeys(revisions or packages)), "--revisions" if revisions else "--with")
    if len(sides.names) < 2:
        raise BenchError(f"{sides.option} takes two or more: it compares them with the first.")
    if revisions and os.environ.get(COMMIT):
        raise BenchError("--revisions names the commits of its runs itself: leave out --commit.")
    return sides


def config_of(config: str | None, revision: str) -> str:
    """The config of a revision's runs: the revision, after the config that was given, if one was."""
    return f"{config}@{revision}" if config else revision


@dataclass(frozen=True, slots=True)
class RevisionsRequest:
    """The sides to measure, how often, how each is built, and how its runs are called and written."""

    suite: str
    sides: Sides
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
        config = config_of(self.config, revision)
        run = begin_run(config, suite=self.suite, store=self.store, tags={**self.tags, self.sides.tag: revision})
        self.runs.setdefault(config, []).append(run.run_id)
        return run
