"""The lines of source of kernels: what logs of torch.compile beside traces tell of them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from ..comparison.sides import Side
from .parts import DifferencePart

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Line = tuple[str, str, int]  # its text, file and number
Lines = dict[str, list[Line]]  # by kernel
_LINES = (
    "SELECT kernel, text, file, line FROM kernel_sources WHERE list_contains(?::VARCHAR[], run_id)"
    " ORDER BY number, file, line"
)
GENERATED = ("triton_", "cpp_fused")  # how names of kernels begin that Inductor makes
FROM_LOGS = "where: the line that a kernel computes, by the log of torch.compile; of several the first that the other side lacks"
COMPILED = "## Call CompiledFxGraph"  # how the name of the call of compiled code begins
HIDDEN = (
    "the call of compiled code has its kernels within it: with TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1 torch's profiler shows"
    " those of a CPU one by one"
)
HOW = (
    "no kernel has a line of source: record each side with INDUCTOR_PROVENANCE=1 TORCH_TRACE=FOLDER"
    " TORCHINDUCTOR_FORCE_DISABLE_CACHES=1, a folder beside its trace"
)


def with_lines(
    warehouse: "Warehouse", sides: tuple[Side, Side], parts: Sequence[DifferencePart]
) -> tuple[list[DifferencePart], list[str]]:
    """The parts, those of known kernels with their lines, and a sentence on where these are from.

    A part that the base alone has stands where that has it. Of several lines those come first whose text is in no kernel of the
    other side.
    """
    base, candidate = (_lines(warehouse, side) for side in sides)
    told_by_base, told_by_candidate = ({text for text, *_ in chain(*lines.values())} for lines in (base, candidate))
    placed = [
        _placed(part, candidate, told_by_base) if part.candidate else _placed(part, base, told_by_candidate)
        for part in parts
    ]
    if any(part.file for part in placed):
        return placed, [FROM_LOGS]
    return placed, [HOW] if _differ(parts, GENERATED) else hidden_kernels(parts)


def hidden_kernels(parts: Sequence[DifferencePart]) -> list[str]:
    """A sentence on how to see the kernels of compiled code, where the call of it differs and none is a part."""
    generated = any(part.name.startswith(GENERATED) for part in parts)
    return [HIDDEN] if _differ(parts, (COMPILED,)) and not generated else []


def _differ(parts: Sequence[DifferencePart], names: tuple[str, ...]) -> bool:
    """True if a part differs whose name begins so."""
    return any(part.difference and part.name.startswith(names) for part in parts)


def _lines(warehouse: "Warehouse", side: Side) -> Lines:
    found: Lines = defaultdict(list)
    for kernel, *line in warehouse.rows(_LINES, [list(side.runs)]):
        found[kernel].append(tuple(line))
    return dict(found)


def _placed(part: DifferencePart, own: Lines, known: Collection[str]) -> DifferencePart:
    """A part with its lines, those first whose text the other side does not know."""
    ordered = sorted(own.get(part.name, ()), key=lambda line: line[0] in known)
    places = [*dict.fromkeys((file, line) for _, file, line in ordered)]
    if not places:
        return part
    (file, line), *also = places
    return replace(part, file=file, line=line, also=tuple(f"{file}:{line}" for file, line in also))
