"""The event log and the DuckDB warehouse derived from it.

from bench.warehouse import Store, Warehouse

with Warehouse.open(Store.find()) as warehouse:
    print(warehouse.dicts("FROM speedups"))
"""

from typing import TYPE_CHECKING

from .._exports import lazy

if TYPE_CHECKING:
    from .database import Warehouse
    from .errors import BenchError, UnknownName
    from .store import Store

__all__ = ["BenchError", "Store", "UnknownName", "Warehouse"]

__getattr__ = lazy(
    __name__, {"BenchError": "errors", "Store": "store", "UnknownName": "errors", "Warehouse": "database"}
)
