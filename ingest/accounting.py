"""The accounting of an ingest: every line that was read is in exactly one of the counts, or it is an error."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..warehouse.console.numbers import counted
from .format import Tally
from .plan import Item, NewPart

if TYPE_CHECKING:
    from ..warehouse.events import Source


@dataclass(slots=True)
class Line:
    """The counts of one file's lines."""

    path: Path
    config: str
    format: str
    loaded: int = 0
    rejected: int = 0
    known: int = 0
    left_out: int = 0

    @property
    def lines(self) -> int:
        """Lines (or records) of the file: every one of them is in exactly one of the counts, see `check_counts`."""
        return self.loaded + self.rejected + self.known + self.left_out


def line_of(item: Item, tallies: Mapping[tuple[str, int], Tally] | None = None) -> Line:
    """The counts of a file of the plan; without the counts of readers, of what was known before."""
    line = Line(item.path, item.config, item.format, known=item.known_lines)
    if tallies and item.new is not None:
        tally = tallies[item.new.key]
        line.loaded, line.rejected, line.left_out = tally.loaded, tally.rejected, tally.left_out
        line.known += tally.known
    elif tallies and item.twin is not None:
        line.known = item.twin.first_line - 1 + tallies[item.twin.key].lines
    return line


def all_rejected(lines: Iterable[Line]) -> int:
    """The number of records of some files, if every one of them is rejected; else 0."""
    lines = [*lines]
    return 0 if any(line.loaded or line.known for line in lines) else sum(line.rejected for line in lines)


def check_counts(part: NewPart, tally: Tally) -> None:
    """Raise BenchError (exit code 70) unless every line that was read is in one of the counts, and in one only."""
    whole = tally.lines == tally.rejected == 1  # the file as one reject
    there = tally.lines if part.lines is None or whole else part.lines
    shared = sum(share.lines for share in tally.shares.values()) if tally.shares else tally.lines
    if tally.unaccounted or not tally.lines == there == shared:
        from ..warehouse.snapshot import internal_error

        raise internal_error(
            f"{part.path}: {counted(max(there, tally.lines), 'line')} read, but accounted for are {tally.loaded:,} loaded,"
            f" {tally.rejected:,} rejected, {tally.known:,} known and {tally.left_out:,} left out by {part.format.name}"
        )


def notes_of(parts: Iterable[NewPart], tallies: Mapping[tuple[str, int], Tally]) -> Iterator[str]:
    """The notes of the readers, each sentence once with the files it is about."""
    about: dict[str, dict[str, None]] = {}
    for part in parts:
        for note in tallies[part.key].notes:
            sentence = note.removeprefix(f"{part.name}: ")
            about.setdefault(sentence, {}).update({part.name: None} if sentence != note else {})
    for sentence, named in about.items():
        names = [*named]
        more = f" and {len(names) - 3} more" if names[3:] else ""
        yield f"{', '.join(names[:3])}{more}: {sentence}" if names else sentence


def sources_of(part: NewPart, tally: Tally, loaded_at: int) -> "Iterator[Source]":
    """The accounting of a part: one row, or one for each run that it describes."""
    from ..warehouse.events import Instant, Source, as_json

    first_line = part.first_line
    day, commit = part.measured
    dated = any(run.started_at is not None for run in tally.runs)
    of_commit = any(run.git_commit is not None for run in tally.runs)
    for index, (run_id, share) in enumerate(tally.shares.items() or [(part.run_id, tally)]):
        yield Source(
            source_id=part.source_id,
            part=part.part + index,
            run_id=run_id,
            config=part.config,
            path=os.fspath(part.path),
            name=part.name,
            format=part.format.name,
            start_byte=part.start_byte,
            end_byte=part.end_byte,
            sha256=part.sha256,
            head_sha256=part.head_sha256,
            first_line=first_line,
            lines=share.lines,
            loaded=share.loaded,
            rejected=share.rejected,
            known=share.known,
            left_out=share.left_out,
            without_rows=share.without_rows,
            notes=as_json(tally.notes) if tally.notes else None,
            said_day=None if dated else day or None,
            said_commit=None if of_commit else commit or None,
            recorded_at=Instant(loaded_at),
        )
        first_line += share.lines
