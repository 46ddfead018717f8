"""The numbers of samples: each counts on within its run, case, metric and phase, over all blocks of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, np.dtype[np.int64]]

PLACE = ("run_id", "case_id", "metric", "phase")
CREATE = f"CREATE TEMP TABLE counts ({', '.join(f'{name} VARCHAR' for name in PLACE)}, n BIGINT)"
ALL = "FROM counts UNION ALL BY NAME SELECT * EXCLUDE (place) FROM places"
ADD = f"CREATE OR REPLACE TEMP TABLE counts AS SELECT {', '.join(PLACE)}, sum(n)::BIGINT AS n FROM ({ALL}) GROUP BY ALL"
SAME = " AND ".join(f"c.{name} IS NOT DISTINCT FROM p.{name}" for name in PLACE)
BEFORE = f"SELECT coalesce(c.n, 0) AS n FROM places p LEFT JOIN counts c ON {SAME} ORDER BY place"


class SampleNumbers:
    """Numbers of samples of each place in the blocks so far."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Keep the counts in the database, which may be many."""
        self._connection = connection
        connection.execute(CREATE)
        self._is_first = True

    def take(self, samples: "pa.Table", sizes: Sequence[int] | None, *, is_last: bool) -> "Numbers":
        """The numbers of some samples of the next block, in order; with `sizes` each stands for so many."""
        import numpy as np

        codes = _codes([samples[name].combine_chunks() for name in PLACE])
        many = np.ones(len(codes), dtype=np.int64) if sizes is None else np.array(sizes, dtype=np.int64)
        numbers = _count_up(codes, many)
        if not (self._is_first and is_last):
            numbers += self._before(samples, codes, many)[codes]
        self._is_first = False
        return numbers

    def _before(self, samples: "pa.Table", codes: "Numbers", many: "Numbers") -> "Numbers":
        """The counts of each place before this block, which is counted now."""
        import numpy as np
        import pyarrow as pa

        count = int(codes.max(initial=-1)) + 1
        firsts = np.empty(count, dtype=np.int64)
        firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        places = samples.select(PLACE).take(pa.array(firsts)).append_column("place", pa.array(np.arange(count)))
        totals = np.bincount(codes, weights=many, minlength=count).astype(np.int64)
        self._connection.register("places", places.append_column("n", pa.array(totals)))
        before = self._connection.execute(BEFORE).fetchnumpy()["n"]
        self._connection.execute(ADD)
        self._connection.unregister("places")
        return before.astype(np.int64)


def in_order(table: "pa.Table", *columns: str) -> "pa.Table":
    """The rows of a table in the order of some columns of whole numbers; mostly they are."""
    import numpy as np
    import pyarrow as pa

    keys = [table[name].to_numpy() for name in columns]
    if (keys[0][1:] > keys[0][:-1]).all():
        return table
    return table.take(pa.array(np.lexsort(keys[::-1])))


def _codes(columns: "Sequence[pa.Array]") -> "Numbers":
    """A number for each row, from 0 on, that two rows share only if all columns are equal in them."""
    import numpy as np
    import pyarrow as pa

    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        if len(encoded.dictionary) > 1:
            both = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
            codes = pa.array(both).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def _count_up(codes: "Numbers", sizes: "Numbers") -> "Numbers":
    """The number of samples of the same code before each row."""
    import numpy as np

    few = int(codes.max(initial=0)) < 1 << 16  # which numpy sorts in linear time
    order = np.argsort(codes.astype(np.uint16) if few else codes, kind="stable")
    of_row, many = codes[order], sizes[order]
    before = np.cumsum(many) - many
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = of_row[1:] != of_row[:-1]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = before - before[is_first][np.cumsum(is_first) - 1]
    return numbers
