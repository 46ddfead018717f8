"""A sample in `make test`, the whole in `make test-all`."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

exhaustive = pytest.mark.exhaustive


def sampled(values: Sequence[Any], *sample: Any) -> list[Any]:
    """Parameters of a test: all but those of the sample are left to `make test-all`."""
    return [value if value in sample else _left_out(value) for value in values]


def first_of(count: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test: the first few, and the others, which are left to `make test-all`."""
    values = list(values)
    return [*values[:count], *map(_left_out, values[count:])]


def at_most(count: int) -> int:
    """Examples of a property: so many, or the few that `make test` tries."""
    return min(count, settings.default.max_examples) if settings.default else count


def share_of(test: str, shares: int) -> int:
    """Number, from 1, of the share that a test is in: always the same one, whatever other tests there are."""
    return zlib.crc32(test.encode()) % shares + 1


def _left_out(value: Any) -> Any:
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, marks=[*value.marks, exhaustive], id=value.id)
    return pytest.param(*value, marks=exhaustive) if isinstance(value, tuple) else pytest.param(value, marks=exhaustive)


def in_parts(values: Sequence[Any], every: int) -> list[Any]:
    """Two parameters of a test: every nth value, and the rest, which is left to `make test-all`."""
    sample = values[::every]
    rest = [value for index, value in enumerate(values) if index % every]
    return [pytest.param(sample, id="sample"), pytest.param(rest, id="rest", marks=exhaustive)]
