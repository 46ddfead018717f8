"""`bench cost-model` against the store of a test module."""

import csv
import io
from collections.abc import Callable

import pytest
from bench.cli import cli
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

Bench = Callable[..., Result]


@pytest.fixture
def bench(store: Store) -> Bench:
    """Run the command against that store."""
    options = ["--store", str(store.root)]
    return lambda *arguments: CliRunner().invoke(cli, ["cost-model", *arguments, *options], standalone_mode=False)


def rows(text: str) -> list[dict[str, str]]:
    """CSV as one dict a row."""
    return list(csv.DictReader(io.StringIO(text)))
