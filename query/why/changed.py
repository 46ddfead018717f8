"""The parts of a difference whose source changed between the commits of both sides, as the repository here says."""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..comparison.sides import Side
from .parts import Decomposition, DifferencePart

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

PATIENCE_S = 10.0
_COMMITS = "SELECT DISTINCT git_commit, coalesce(git_dirty, false) FROM runs WHERE list_contains(?::VARCHAR[], run_id)"
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = (
    "git", "--literal-pathspecs", "-c", "core.quotePath=false", "diff", "--unified=0", "--no-prefix", "--no-color",
    "--no-ext-diff", "--no-textconv", "--no-renames", "--text", "--relative",
)  # fmt: skip
Lines = Mapping[tuple[str, bool], set[int]]  # by file, and whether it is the candidate's


def marked(warehouse: "Warehouse", sides: tuple[Side, Side], found: Decomposition) -> Decomposition:
    """The same with `changed` of each part that has a line, where each side is of one commit and the repository is at hand."""
    files = sorted({part.file for part in found.parts if part.file})
    known = [warehouse.rows(_COMMITS, [list(side.runs)]) for side in sides]
    if not files or any(len(each) != 1 for each in known):
        return found
    (base, base_dirty), (candidate, candidate_dirty) = (each[0] for each in known)
    if base == candidate or not all(_COMMIT.fullmatch(commit or "") for commit in (base, candidate)):
        return found
    changes = _changes(base, candidate, files)
    if changes is None:
        return found
    parts = [_marked(part, changes) for part in found.parts]
    notes = [f"changed: the line differs between {base[:9]} and {candidate[:9]}"]
    if base_dirty or candidate_dirty:
        notes.append("a working tree had changes that were not committed: lines may have changed that are not marked")
    return replace(found, parts=parts, notes=[*found.notes, *notes])


def _marked(part: DifferencePart, changes: Lines) -> DifferencePart:
    """A part that the base alone has stands at a line of the base; one that was edited is marked already."""
    place = _place(part.file)
    if place is None or part.changed:
        return part
    return replace(part, changed=part.line in changes.get((place, bool(part.candidate)), ()))


def _changes(base: str, candidate: str, files: Sequence[str]) -> Lines | None:
    """The lines that differ; None where git or one of the commits is not at hand."""
    inside = [place for file in files if (place := _place(file)) is not None]
    if not inside:
        return None
    try:
        done = subprocess.run(
            [*_DIFF, base, candidate, "--", *inside], capture_output=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = defaultdict[tuple[str, bool], set[int]](set)
    for key, lines in _hunks(done.stdout.decode("utf-8", "replace")):
        found[key].update(lines)
    return found


def _place(file: str) -> str | None:
    """A file from the present folder; None where it lies outside that."""
    place = os.path.relpath(file) if file else os.pardir
    return None if place.startswith(os.pardir) else place


def _hunks(diff: str) -> Iterator[tuple[tuple[str, bool], range]]:
    """The ranges of lines on each side of a diff without context."""
    names, left = ["", ""], 0
    for line in diff.split("\n"):
        if left:  # a line of source, whatever it looks like
            left -= not line.startswith("\\")
        elif line.startswith(("--- ", "+++ ")):
            names[line[0] == "+"] = line[4:].removesuffix("\t")
        elif hunk := _HUNK.match(line):
            counts = [int(hunk[group] or "1") for group in (2, 4)]
            left = sum(counts)
            for side, group in enumerate((1, 3)):
                start = int(hunk[group])
                yield (names[side], bool(side)), range(start, start + counts[side])
