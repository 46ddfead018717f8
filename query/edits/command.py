"""Commands that change runs afterwards: forget, remember, rename, tag."""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click

from ...warehouse.console.completion import complete
from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command, notify, store_option, store_words
from ...warehouse.console.tables import write_rows
from ...warehouse.errors import BenchError
from ...warehouse.store import Store
from ..lists import without_empty
from .edits import check_config, preview
from .edits import forget as forget_runs
from .edits import remember as remember_runs
from .edits import rename as rename_runs
from .edits import tag as tag_runs
from .edits import untag as untag_runs
from .selection import SelectedRun

yes_option: Callable[[Any], Any] = click.option(
    "--yes", is_flag=True, help="Do it. Without --yes, the runs that would change are only listed."
)
names_argument: Callable[[Any], Any] = click.argument(
    "names", metavar="RUN…", nargs=-1, required=True, shell_complete=complete
)


@click.command(cls=Command)
@names_argument
@click.option("--reason", metavar="TEXT", help="Why, for: bench list runs --forgotten")
@yes_option
@store_option
def forget(names: tuple[str, ...], reason: str | None, yes: bool, store: Store) -> None:
    """Forget runs: a wrong import, a disturbed night. They are in no view, comparison or chart afterwards.

    RUN is the beginning of a run id or of a commit, a config (all its runs), a day (YYYY-MM-DD, UTC), an imported
    file or a folder of imported files, or latest; latest~1 is the one before. Without --yes nothing changes. `bench
    remember` brings runs back until `bench store compact` removes their events. A file of a forgotten run is not loaded
    again, except with `bench ingest --again`.

    \b
        bench forget results/day3.json
        bench forget main~1 2026-11-20 --reason "fans were off" --yes
    """
    if not yes:
        runs = preview(store, names)
        _show(runs)
        notify(f"{counted(len(runs), 'run')} would be forgotten; nothing has changed. {_again('forget', names, store)}")
        return
    runs = forget_runs(store, names, reason=reason, notify=notify)
    _show(runs)
    back = f"bench remember {' '.join(run.run_id for run in runs)}" if len(runs) < 4 else "bench remember RUN…"
    notify(f"{counted(len(runs), 'run', 'is', 'are')} forgotten. Until `bench store compact`, this brings back: {back}")


@click.command(cls=Command)
@names_argument
@store_option
def remember(names: tuple[str, ...], store: Store) -> None:
    """Bring forgotten runs back, as long as `bench store compact` has not removed their events.

    RUN is what `bench forget` takes, among the runs that `bench list runs --forgotten` lists.

    \b
        bench remember 0199a3
    """
    runs = remember_runs(store, names, notify=notify)
    _show(runs)
    notify(f"{counted(len(runs), 'run', 'is', 'are')} back.")


@click.command(cls=Command)
@click.argument("run", metavar="OLD", shell_complete=complete)
@click.argument("config", metavar="NEW")
@yes_option
@store_option
def rename(run: str, config: str, yes: bool, store: Store) -> None:
    """Rename a config, or give single runs another one.

    OLD is what `bench forget` takes. Runs that are recorded as OLD later keep that name. Without --yes nothing changes.

    \b
        bench rename mian main
        bench rename 0199a3 baseline --yes
    """
    check_config(config)
    runs = rename_runs(store, [run], config, notify=notify) if yes else preview(store, [run])
    _show(runs)
    if yes:
        notify(f"{counted(len(runs), 'run', 'belongs', 'belong')} to config {config} now.")
    else:
        notify(
            f"{counted(len(runs), 'run')} would be of {config}, beside any that are already; nothing has changed. "
            f"{_again('rename', [run, config], store)}"
        )


@click.command(cls=Command)
@click.argument("run", metavar="RUN", shell_complete=complete)
@click.argument("tags", metavar="KEY=VALUE…", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take labels away: give their KEYs.")
@store_option
def tag(run: str, tags: tuple[str, ...], remove: bool, store: Store) -> None:
    """Label runs, as `--tag` does when they are measured or loaded. RUN is what `bench forget` takes.

    \b
        bench tag latest machine=lab-3 driver=570
        bench tag --remove latest machine
    """
    details = f"bench show {shlex.quote(run)} --details{store_words(store)}"
    if remove:
        _show(untag_runs(store, [run], tags, notify=notify))
        notify(f"labels removed; see what is left with: {details}")
        return
    pairs = [text.partition("=") for text in tags]
    for text, (key, equals, _) in zip(tags, pairs, strict=True):
        if not (key and equals):
            raise BenchError(f"{text!r} is not KEY=VALUE, such as gpu=h200")
    _show(tag_runs(store, [run], {key: value for key, _, value in pairs}, notify=notify))
    notify(f"tagged; see all tags with: {details}")


def _show(runs: Sequence[SelectedRun]) -> None:
    rows = [
        (
            run.run_id[:13], run.config, run.source, run.began_at and run.began_at.replace(microsecond=0), run.samples,
            _files(run.files or []),
        )
        for run in runs
    ]  # fmt: skip
    write_rows(*without_empty(["run", "config", "source", "began_at", "samples", "files"], rows), "table")


def _files(paths: Sequence[str]) -> str | None:
    """The files of a run: the first of them, and how many more."""
    return (paths[0] + (f" and {len(paths) - 1} more" if paths[1:] else "")) if paths else None


def _again(command: str, words: Sequence[str], store: Store) -> str:
    return f"Do it with: bench {command} {shlex.join(words)} --yes{store_words(store)}"
