"""A batch whose steps say what their times span, where the user names the engine and their records do not."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..warehouse.events import Event, ScheduleChunk
from ..warehouse.forward_pass import TIME_SPANS, UNKNOWN_SPAN
from ..warehouse.log import Batch
from ..warehouse.schema import literal

if TYPE_CHECKING:
    import duckdb


class SpannedBatch(Batch):
    """Puts the time span of an engine into steps of unknown span on their way into a batch."""

    def __init__(self, batch: Batch, engine: str) -> None:
        """Fill `batch`; both are one."""
        self.__dict__ = batch.__dict__
        self.span = TIME_SPANS[engine]

    def add(self, event: Event) -> None:
        """Add one event."""
        if isinstance(event, ScheduleChunk) and event.time_span == UNKNOWN_SPAN:
            event = replace(event, time_span=self.span)
        super().add(event)

    def copy(self, connection: "duckdb.DuckDBPyConnection", event: type[Event], select: str) -> Path:
        """Add the rows of a query."""
        named = [column for column, *_ in connection.execute(f"DESCRIBE {select}").fetchall()]
        if event is ScheduleChunk and "time_span" in named:
            span = f"CASE time_span WHEN {literal(UNKNOWN_SPAN)} THEN {literal(self.span)} ELSE time_span END"
            select = f"SELECT * REPLACE ({span} AS time_span) FROM ({select})"
        return super().copy(connection, event, select)
