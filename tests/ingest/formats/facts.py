"""Questions to a store that holds the real files, and what an independent reader found in them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from bench.ingest.run import IngestReport, ingest
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store

Ask = Callable[..., list[tuple[Any, ...]]]
Facts = dict[str, Any]
FILE = "source_id IN (SELECT source_id FROM sources WHERE ends_with(path, ?))"


def load(factory: pytest.TempPathFactory, paths: Sequence[object]) -> tuple[IngestReport, Ask]:
    """Ingest the files, then ask; `{file}` in a question stands for the rows of a source of that name."""
    store = Store(factory.mktemp("facts") / "store").create()
    report = ingest(store, list(map(str, paths)))
    warehouse = Warehouse.open(store)
    return report, lambda query, *parameters: warehouse.rows(query.replace("{file}", FILE), parameters)


def one(rows: list[tuple[Any, ...]]) -> Any:
    """The value of an answer of one row and column."""
    ((value,),) = rows
    return value


def near(left: Any, right: Any) -> bool:
    """Equal but for the last digits; timings are whole ns."""
    return math.isclose(left, right, rel_tol=1e-7)


def of(facts: Facts, folder: str) -> list[tuple[str, Facts]]:
    """The facts of the files of a folder."""
    return [(path, said) for path, said in facts.items() if path.startswith(f"{folder}/")]
