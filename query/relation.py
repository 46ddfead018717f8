"""The answer to a query, for Python and notebooks: asked when its rows are wanted, in the form that is wanted."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..warehouse.console.tables import html_table, text_table
from ..warehouse.errors import BenchError
from .ask import Answer, ask, friendly, is_silent, last_statement, lock_settings, shut_in
from .computed import compute
from .limited import QuestionLimits, ask_limited

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from ..warehouse.database import Warehouse
    from ..warehouse.store import Store

SHOWN = 20  # rows that a prompt or a notebook shows


@dataclass(frozen=True, slots=True, repr=False)
class Relation:
    """The rows of a query over a store. Each method asks anew, and so sees what was recorded since.

    A prompt and a notebook show the first rows as a table.
    """

    store: "Store"
    query: str
    parameters: object = None  # values for `?` or `$name`
    sandbox: bool = False  # neither files nor network nor settings
    limits: QuestionLimits | None = None  # of the sandbox, and that it is asked in a process of its own

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        with self._asked(0) as answer:
            return answer.columns

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, as tuples.

        Raises:
            BenchError: The query is wrong, returns no rows at all, or would write.
        """
        with self._asked() as answer:
            return list(answer.rows)

    def dicts(self) -> list[dict[str, Any]]:
        """All rows, each by the names of its columns. Raises as `rows`."""
        with self._asked() as answer:
            return list(answer.dicts())

    def arrow(self) -> "pa.Table":
        """All rows as an Arrow table. Raises as `rows`."""
        import duckdb

        with self._opened() as warehouse:
            last = last_statement(warehouse, self.query)
            if is_silent(last):
                raise _no_rows()
            try:
                return warehouse.connection.sql(last.query, params=self.parameters).to_arrow_table()
            except duckdb.Error as error:
                raise friendly(warehouse, error) from error

    def df(self) -> "pandas.DataFrame":
        """All rows as a pandas data frame. Raises as `rows`, and BenchError without pandas."""
        table = self.arrow()
        with _needs("pandas"):
            return table.to_pandas()

    def pl(self) -> "polars.DataFrame":
        """All rows as a Polars data frame. Raises as `rows`, and BenchError without Polars."""
        table = self.arrow()
        with _needs("polars"):
            import polars

            return polars.from_arrow(table)

    def first(self, count: int) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        """The columns, at most so many rows, and whether there are more. Raises as `rows`."""
        with self._asked(count + 1) as answer:
            rows = list(itertools.islice(answer.rows, count + 1))
        return answer.columns, rows[:count], len(rows) > count

    def __repr__(self) -> str:
        columns, rows, more = self.first(SHOWN)
        return text_table(columns, rows) + (
            f"\n… the first {len(rows)} rows; all with .rows(), .arrow(), .df()" if more else ""
        )

    def _repr_html_(self) -> str:
        columns, rows, more = self.first(SHOWN)
        note = f"<p>the first {len(rows)} rows; all with <code>.rows()</code>, <code>.df()</code></p>" if more else ""
        return html_table(columns, rows) + note

    @contextmanager
    def _opened(self) -> Iterator["Warehouse"]:
        from ..warehouse.database import Warehouse

        with Warehouse.open(self.store) as warehouse:
            (shut_in if self.sandbox else lock_settings)(warehouse)
            compute(warehouse, self.query)
            yield warehouse

    @contextmanager
    def _asked(self, count: int | None = None) -> Iterator[Answer]:
        if self.limits:
            limits = self.limits if count is None else replace(self.limits, rows=count)
            if (within := ask_limited(self.store, self.query, limits, self.parameters)) is None:
                raise _no_rows()
            yield within
            return
        with self._opened() as warehouse:
            answer = ask(warehouse, self.query, self.parameters)
            if answer is None:
                raise _no_rows()
            yield answer


def _no_rows() -> BenchError:
    return BenchError("the last statement of the query returns no rows. End with a SELECT.")


@contextmanager
def _needs(package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise BenchError(
            f"this needs {package}, which is not installed. Install it with: pip install {package}"
        ) from error
