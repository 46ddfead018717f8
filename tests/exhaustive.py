"""A sample in `make test`, the whole in `make test-all`."""

from collections.abc import Sequence
from typing import Any

import pytest

exhaustive = pytest.mark.exhaustive


def sampled(values: Sequence[Any], *sample: Any) -> list[Any]:
    """Parameters of a test: all but those of the sample are left to `make test-all`."""
    return [value if value in sample else _left_out(value) for value in values]


def _left_out(value: Any) -> Any:
    return pytest.param(*value, marks=exhaustive) if isinstance(value, tuple) else pytest.param(value, marks=exhaustive)


def in_parts(values: Sequence[Any], every: int) -> list[Any]:
    """Two parameters of a test: every nth value, and the rest, which is left to `make test-all`."""
    sample = values[::every]
    rest = [value for index, value in enumerate(values) if index % every]
    return [pytest.param(sample, id="sample"), pytest.param(rest, id="rest", marks=exhaustive)]
