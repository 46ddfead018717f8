"""Folded stacks: each line a call path, its frames parted by `;`, and how many samples it was seen in."""

import functools
import re
from pathlib import PurePath

from ...warehouse.log import Batch
from ..format import FILE, MAX_TEXT, Format, Head, Part, Tally, split_lines
from ..readers.document import BadRecord, lines_of
from ..readers.json_format import reject_file
from ..readers.results import Results
from ..readers.text_pieces import line_blocks
from ..readers.unrecognised import PROFILE

METRIC = "samples"
SEPARATOR = ";"
STACK = re.compile(r"(?P<stack>\S.*) (?P<count>\d{1,15})")
SPEEDSCOPE = "speedscope.app/file-format-schema"
OF_PERF = re.compile(
    r"^\S.* \d+\.\d+: .*\n[ \t]+[0-9a-f]+ \S", re.MULTILINE
)  # an event, and the innermost frame of its stack
ENDINGS = (".folded", ".collapsed")  # names of files in which a stack may be of one frame


class FoldedStacks(Format):
    """Samples of a profiler, counted by call path."""

    name = "folded-stacks"
    doc = "folded stacks: py-spy record -f raw, perf script through stackcollapse, austin"
    becomes = "call path → case; its count → samples; for [viz flame](charts.md#flame)"
    unpacks = True
    runs = FILE

    def recognise(self, head: Head) -> bool:
        """Return whether its first lines are stacks with counts."""
        lines = [line for line in lines_of(head.text)[:20] if line.strip()]
        found = [stack for line in lines if (stack := STACK.fullmatch(line))]
        if len(found) < max(1, len(lines) - 2):  # one may be damaged, one cut
            return False
        deep = any(_frames(stack["stack"])[1:] for stack in found)
        return deep or any(ending in PurePath(head.path).suffixes for ending in ENDINGS)

    def near_miss(self, head: Head) -> str | None:
        """The way to have the stacks of a profile folded."""
        if SPEEDSCOPE in head.text:
            return f"{PROFILE} for speedscope: record folded stacks instead, as py-spy does with --format raw"
        if OF_PERF.search(head.text):
            return f"{PROFILE} of perf script: fold its stacks first, with stackcollapse-perf.pl > a.folded"
        return None

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a line, a block of lines at a time."""
        results = Results(part, batch)
        results.run()
        number = part.first_line - 1
        try:
            for block in line_blocks(part, blank_end=False):
                for line in split_lines(block):
                    number += 1
                    if line.strip():
                        text = line.decode("utf-8", "backslashreplace").strip("\r\ufeff")
                        results.record(functools.partial(_read, results, text), text[:MAX_TEXT], number)
        except BadRecord as error:
            reject_file(results, error)
        return results.close()


def _read(results: Results, line: str) -> None:
    found = STACK.fullmatch(line)
    if found is None:
        raise BadRecord("no call path that ends in a space and a count")
    frames = _frames(found["stack"])
    if not frames:
        raise BadRecord("no frame before the count")
    results.case(SEPARATOR.join(frames)).metric(METRIC, int(found["count"]), "count")


def _frames(stack: str) -> list[str]:
    return [frame for each in stack.split(SEPARATOR) if (frame := each.strip())]
