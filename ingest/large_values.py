"""Values that are too large for statistics: they are kept, and a note says that no statistic counts them."""

from collections.abc import Iterable
from pathlib import Path

from ..warehouse.events import LARGEST

TOO_LARGE = (
    'values of 1e150 or more are in `metrics`, but in no statistic: bench sql "FROM metrics WHERE abs(value) >= 1e150"'
)


def has_too_large(metrics: Iterable[Path]) -> bool:
    """True if Parquet files of metrics have a value that no cell counts, by the statistics of their columns."""
    import pyarrow.parquet as pq

    for path in metrics:
        about = pq.read_metadata(path)
        place = about.schema.names.index("value")
        for group in range(about.num_row_groups):
            found = about.row_group(group).column(place).statistics
            if found is not None and found.has_min_max and max(abs(found.min), abs(found.max)) >= LARGEST:
                return True
    return False
