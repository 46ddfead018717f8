"""The sampled lines of two sides as parts: what was edited is one line, and what is hardly seen is none."""

import difflib
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ..students_t import summed_error
from .parts import LEAST_LINE_SHARE, OTHER_LINES

Row = dict[str, Any]  # of `time_part_sides`; `is_edited` where the base has another text there
EDITED = "a line that was edited in its place is one part"
# A line of less may be missing on the other side because it was not sampled there: in 66 pairs of equal sessions of a function no
# line that only one side had took more than 0.94 %.
LEAST_EDITED_SHARE = 0.01


def sampled_lines(found: Sequence[Row]) -> list[Row]:
    """The lines of a profile, each once; those too short for it are taken together."""
    return _with_edited(_folded([*found]))


def share_error(row: Row, side: str) -> tuple[float, float]:
    """Half of the 95 % interval of a share, and its degrees of freedom; NaN where it is not known."""
    error, degrees = row[f"{side}_error"], row[f"{side}_degrees"]
    return math.nan if error is None else error, math.inf if degrees is None else degrees


def _folded(lines: list[Row]) -> list[Row]:
    """The lines; those that only one side has, and that are hardly longer than the shortest a profile names, are taken together.

    The other side has them among its OTHER_LINES, not at 0.
    """

    def is_short(line: Row) -> bool:
        less, more = sorted((line["base"], line["candidate"]))
        return line["function"] == OTHER_LINES or bool(line["function"] and less == 0 < more < 2 * LEAST_LINE_SHARE)

    short = [line for line in lines if is_short(line)]
    if len(short) < 2:
        return lines
    together = {**short[0], "file": "", "function": OTHER_LINES, "line": 0, "text": ""}
    for side in ("base", "candidate"):
        together[side] = math.fsum(line[side] for line in short)
        together[f"{side}_error"], together[f"{side}_degrees"] = summed_error(share_error(line, side) for line in short)
    return [*(line for line in lines if line not in short), together]


def _with_edited(lines: list[Row]) -> list[Row]:
    """The lines; where one stands in the place of a similar one, between the same neighbours, both are one."""
    functions = defaultdict[tuple[str, str], list[Row]](list)
    for line in lines:
        if line["line"]:
            functions[line["file"], line["function"]].append(line)
    gone, edited = set[int](), dict[int, Row]()
    for of_function in functions.values():
        for before, after in _replaced(of_function):
            gone.add(id(before))
            of_base = ("base", "base_error", "base_degrees", "base_line")
            edited[id(after)] = {**after, **{name: before[name] for name in of_base}, "is_edited": True}
    return [edited.get(id(line), line) for line in lines if id(line) not in gone]


def _replaced(lines: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Lines of a function that only the base has, each with the similar one that stands in its place in the candidate."""
    base = sorted((line for line in lines if line["base"]), key=lambda line: int(line["base_line"]))
    candidate = sorted((line for line in lines if line["candidate"]), key=lambda line: int(line["line"]))
    texts, others = ([str(line["text"]) for line in side] for side in (base, candidate))
    for what, start, end, first, last in difflib.SequenceMatcher(None, texts, others, autojunk=False).get_opcodes():
        if what != "replace":
            continue
        after = [line for line in candidate[first:last] if _may_be_edited(line, "candidate", "base")]
        for before in filter(lambda line: _may_be_edited(line, "base", "candidate"), base[start:end]):
            if near := difflib.get_close_matches(before["text"], [line["text"] for line in after], n=1):
                at = next(index for index, line in enumerate(after) if line["text"] == near[0])
                yield before, after[at]
                after = after[at + 1 :]


def _may_be_edited(line: Row, own: str, other: str) -> bool:
    """True for a line that is seen enough on its own side, and that the other does not have: else it moved."""
    return bool(line[other] == 0 and line[own] >= LEAST_EDITED_SHARE)
