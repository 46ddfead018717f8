"""Tables that Python computes when a query names them, so that `bench sql` can select them like any other."""

import importlib
import re
from typing import TYPE_CHECKING

from .. import sql
from ..warehouse.schema import quote

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse


def compute(warehouse: "Warehouse", query: str) -> None:
    """Fill a temporary table for each computed table whose name is in the query.

    The table lasts as long as the connection. The query may be wrong SQL.
    """
    for name, table in sql.computed().items():
        if re.search(rf"\b{name}\b", query):
            module, _, function = table.body.partition(":")
            rows = getattr(importlib.import_module(f"..{module}", __package__), function)(warehouse)
            columns = ", ".join(f"{quote(column)} {of.type}" for column, of in table.columns.items())
            warehouse.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
            if rows:
                places = ", ".join("?" * len(table.columns))
                warehouse.connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
