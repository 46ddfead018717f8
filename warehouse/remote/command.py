"""`bench store sync`: copy what one store has and another lacks."""

import sys

import click

from ..console.numbers import counted, file_size
from ..console.options import Command, format_option, notify
from ..store import Store
from ..upkeep.command import complain, no_wait_option
from .places import Entry


@click.command(cls=Command)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--dry-run", is_flag=True, help="Only list what would be copied.")
@no_wait_option
@format_option
def sync(source: str, target: str, dry_run: bool, no_wait: bool, fmt: str) -> None:
    """Copy the event files and artefacts of one store that another lacks.

    Each is a folder or the address of a store in a bucket. Every file is checked against the checksum in its name;
    what is damaged is named, and the rest copied. Repeat the command to continue an interrupted copy. Both stores may
    have been compacted: nothing counts twice. Exits with 1 if something could not be copied.

    \b
        bench store sync .bench s3://bucket/team
        bench store sync s3://bucket/team /mnt/backup/bench --dry-run
    """
    from ..console.tables import obeys, write_rows
    from .sync import sync as copy

    bar = _Bar() if obeys(sys.stderr) else None
    copied = copy(
        Store.find(source),
        Store.find(target),
        dry_run=dry_run,
        wait=not no_wait,
        notify=notify,
        progress=bar.step if bar else None,
    )
    if bar:
        bar.end()
    for note in copied.notes:
        notify(f"note: {note}")
    if dry_run:
        write_rows(["file", "size_bytes"], [(entry.name, entry.size_bytes) for entry in copied.entries], fmt)
        notify(f"{counted(len(copied.entries), 'file')} of {file_size(copied.size_bytes)} would be copied")
    else:
        click.echo(f"{counted(len(copied.entries), 'file')} of {file_size(copied.size_bytes)} copied")
    complain(copied.problems)


class _Bar:
    """One line on the terminal that says how far it is."""

    def __init__(self) -> None:
        self.files = self.size_bytes = 0

    def step(self, entry: Entry) -> None:
        """One more file was copied."""
        self.files += 1
        self.size_bytes += entry.size_bytes
        click.echo(f"\rcopied: {counted(self.files, 'file')}, {file_size(self.size_bytes)}", nl=False, err=True)

    def end(self) -> None:
        """Leave an empty line for what follows."""
        click.echo("\r\x1b[K", nl=False, err=True)
