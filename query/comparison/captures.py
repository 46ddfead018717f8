"""The reasons for which scheduler steps lack something on one side: sampled captures, and times of different spans."""

from typing import TYPE_CHECKING

from ...warehouse.forward_pass import UNKNOWN_SPAN
from .sides import Side

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


def describe_captures(warehouse: "Warehouse", base: Side, candidate: Side) -> list[str]:
    """A sentence where only one side is a sampled capture, and one where the times of their steps span different things."""
    sides = (base, candidate)
    sampled: list[bool] = []
    spans: list[list[str]] = []
    for side in sides:
        rows = warehouse.rows(
            "SELECT DISTINCT coalesce(time_span, 'model') AS span, is_sampled FROM _step_ranges"
            " WHERE list_contains(?::VARCHAR[], run_id) ORDER BY span",
            [[*side.runs]],
        )
        sampled.append(any(is_sampled for _, is_sampled in rows))
        spans.append(list(dict.fromkeys(span for span, _ in rows)))
    if not all(spans):
        return []
    said = []
    if sampled[0] != sampled[1]:
        name = sides[sampled.index(True)].name
        said.append(
            f"{name} is a sampled capture, which left steps out: it has no tokens_per_second. Capture every step with"
            " DYN_FPM_MODE=full"
        )
    if spans[0] != spans[1]:
        each = ", ".join(f"{' and '.join(span)} of {side.name}" for span, side in zip(spans, sides, strict=True))
        unknown = UNKNOWN_SPAN in (*spans[0], *spans[1])
        cure = ". Where the engine is the same, record or load both with --engine" if unknown else ""
        said.append(f"times of steps span different things ({each}), so they are different cases{cure}")
    return said
