"""Tables that `bench export --as csv` and `--as parquet` write: a row a sample, and one for how each case ended."""

import contextlib

from ...warehouse.log import Batch
from ..format import Format, Head, Part, Tally
from ..readers import csv_rows
from ..readers.document import BadRecord
from ..readers.json_format import reject_file
from ..readers.results import Results
from ..readers.tables import PARQUET, open_table
from ..user_formats.mapped import read_table
from ..user_formats.mapping import parse_mapping

COLUMNS = (
    "run", "commit", "branch", "host", "recorded_at", "name", "suite", "mode", "device", "dtype", "backend", "batch_size",
    "sequence_length", "parameters", "metric", "statistic", "phase", "unit", "better", "value", "loops", "status", "reason",
)  # fmt: skip


class BenchTable(Format):
    """Runs of bench as one table."""

    name = "bench-table"
    doc = "what bench export --as csv or parquet writes"
    becomes = "row → sample, or how its case ended"
    lost = "machine, settings and tags of a run"
    unpacks = True
    histories = True

    def recognise(self, head: Head) -> bool:
        """Return whether its columns are these."""
        if head.data.startswith(PARQUET):
            import pyarrow as pa
            import pyarrow.parquet as pq

            with contextlib.suppress(pa.ArrowException, OSError):
                return tuple(pq.read_schema(head.path).names) == COLUMNS
            return False
        first = head.text.partition("\n")[0]
        return tuple(next(csv_rows.rows([(1, first.encode("utf-8", "replace"))])).cells) == COLUMNS

    def read(self, part: Part, batch: Batch) -> Tally:
        """One record a row."""
        results = Results(part, batch)
        try:
            table = open_table(part, None)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        read_table(table, parse_mapping(["time=recorded_at"], COLUMNS), results)
        return results.close()
