"""Sentences of `bench show` about the training steps of a script, below their row."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...warehouse.console.numbers import amount, percent

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

_QUERY = (
    "FROM training_steps WHERE list_contains(?::VARCHAR[], run_id) ORDER BY run_id, natural_order(name), parameters"
)
_ANY = (
    "SELECT 1 FROM cells WHERE suite = 'script' AND mode = 'training' AND list_contains(?::VARCHAR[], run_id) LIMIT 1"
)
_PHASES = ("data", "forward", "backward", "optimizer", "other")


def training_sentences(warehouse: "Warehouse", runs: Sequence[str]) -> Iterator[str]:
    """One sentence for each case: where a step spends its time, tokens a second, use of the device, failed steps."""
    if not warehouse.rows(_ANY, [[*runs]]):  # the view takes a tenth of the command
        return
    from ..why.sources import label

    for row in warehouse.dicts(_QUERY, [[*runs]]):
        if facts := [*_facts(row)]:
            yield f"{label(row)}: {'; '.join(facts)}"


def _facts(row: dict[str, Any]) -> Iterator[str]:
    times = {phase: row[f"{phase}_ms"] for phase in _PHASES if row[f"{phase}_ms"]}
    if len(times) > 1:
        total = sum(times.values())
        shares = ", ".join(f"{phase} {percent(time / total)}" for phase, time in times.items())
        yield f"{shares} of {amount(row['mean_ms'] * 1e6, 'ns')} a step in the mean"
    median = [amount(row["tokens_per_second"], "tokens/s")] if row["tokens_per_second"] else []
    median += [f"MFU {percent(row['mfu'])}"] if row["mfu"] is not None else []
    if median:
        yield f"{', '.join(median)} in the median step, of {amount(row['step_ms'] * 1e6, 'ns')}"
    if row["failed_steps"]:
        yield f"{row['failed_steps']:.0f} failed: bench sql \"SELECT original_value FROM metrics WHERE metric = 'failed_step'\""
