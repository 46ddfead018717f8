"""Commands that keep a store in order: recover, rebuild, verify, compact, archive."""

import sys
from datetime import datetime

import click

from ..console.numbers import counted, file_size
from ..console.options import Command, Moment, notify, store_option
from ..errors import Exit
from ..store import Store

no_wait_option = click.option(
    "--no-wait", is_flag=True, help="Give up with exit code 75 if another process is loading."
)


@click.command(cls=Command)
@store_option
@no_wait_option
@click.option(
    "--force", is_flag=True, help="Seal journals of other machines, too, even if they were written to just now."
)
def recover(store: Store, no_wait: bool, force: bool) -> None:
    """Seal the journals of processes that died, and load them.

    No event whose call returned is lost. `bench ingest` does the same before it loads files. A journal of another
    machine or container is left alone for 10 minutes after its last event. Exits with 1 if a journal is damaged: what
    can be read of it is loaded, and the whole file is kept in `damaged/`.

    \b
        bench store recover
    """
    from ..load import load
    from ..log import EventLog, is_foreign

    loaded = load(store, wait=not no_wait, notify=notify, force=force)
    log = EventLog(store)
    alive = log.being_written()
    click.echo(f"{counted(len(loaded.recovered), 'journal')} recovered, {len(alive)} still being written")
    for sentence in loaded.recovery_notes:
        notify(sentence)
    if foreign := [path.name for path in alive if is_foreign(path)]:
        notify(
            f"{counted(len(foreign), 'journal')} of other machines, written to within 10 minutes; seal them with: --force"
        )
    kept = {path.name: f"{path} is damaged, and kept until you delete it" for path in log.damaged()}
    complain({**kept, **loaded.problems})


@click.command(cls=Command)
@store_option
@no_wait_option
def rebuild(store: Store, no_wait: bool) -> None:
    """Build the warehouse anew from the event log; every answer stays the same.

    \b
        bench store rebuild
    """
    from ..load import rebuild as build

    loaded = build(store, wait=not no_wait, notify=notify)
    for table, rows in loaded.rows.items():
        click.echo(f"{table:16} {rows:>12,}")
    complain(loaded.problems)


@click.command(cls=Command)
@store_option
@no_wait_option
def verify(store: Store, no_wait: bool) -> None:
    """Check every file's checksum, and that every line and event is accounted for.

    Exits with 1 if anything is wrong, after naming it.

    \b
        bench store verify
    """
    from .verify import verify as check

    checked = check(store, wait=not no_wait, notify=notify)
    click.echo(
        f"{checked.files} files, {checked.events:,} events, {checked.sources} sources, {checked.lines:,} lines checked"
    )
    for note in checked.notes:
        notify(f"note: {note}")
    complain(checked.problems)
    click.echo("all is well" if checked.is_complete else "what was checked is well")


@click.command(cls=Command)
@store_option
@no_wait_option
@click.option(
    "--below", type=click.IntRange(0), default=16, show_default=True, metavar="MB", help="Merge files below this size."
)
@click.option(
    "--target",
    type=click.IntRange(1),
    default=128,
    show_default=True,
    metavar="MB",
    help="Size of the merged files, about.",
)
def compact(store: Store, no_wait: bool, below: int, target: int) -> None:
    """Merge small event files into large ones, sorted and packed, by month; every answer stays the same.

    \b
        bench store compact
    """
    from ..load import load
    from ..log import EventLog
    from .compaction import compact as merge

    before = len(EventLog(store).files())
    merge(store, below_bytes=below << 20, target_bytes=target << 20, wait=not no_wait, notify=notify)
    click.echo(f"{counted(before, 'file')} became {len(EventLog(store).files())}")
    complain(load(store, notify=notify).problems)


@click.command(cls=Command)
@store_option
@no_wait_option
@click.argument("destination", metavar="STORE")
@click.option(
    "--before",
    required=True,
    metavar="DATE",
    type=Moment(),
    help="Move the runs that began before it, UTC: 2026-11-01, or 2026-11-01T12:30.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be moved, and move nothing.")
def archive(store: Store, no_wait: bool, destination: str, before: datetime, dry_run: bool) -> None:
    """Move the runs that began before a date into another store, a folder or s3://….

    Each copy is read back and checked before the file is removed here. A command that names an archived run says
    where it is.

    \b
        bench store archive /mnt/archive --before 2026-01-01
    """  # fmt: skip
    from .archive import archive as move

    target = Store.find(destination)
    done = move(store, target, before, dry_run=dry_run, wait=not no_wait, notify=notify)
    what = f"{counted(done.runs, 'run')} in {counted(done.files, 'file')} ({file_size(done.size_bytes)})"
    shared = f"; they have {done.split} of the files in common: each of those is split" if done.split else ""
    click.echo(
        f"{what} {'would be ' if dry_run else ''}moved to {target}; {counted(done.left, 'run', 'stays', 'stay')}{shared}"
    )


def complain(problems: dict[str, str]) -> None:
    """Tell what is wrong, and end with the exit code of failure if something is."""
    for problem in problems.values():
        notify(f"Error: {problem}")
    if problems:
        sys.exit(Exit.FAILED)
