"""Both ways to trace."""

import sys

import pytest

from .tracing import monitoring


@pytest.fixture(params=["settrace", "monitoring"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this Python has; where it has no sys.monitoring, by one made of settrace."""
    if request.param == "settrace":
        monkeypatch.delattr(sys, "monitoring", raising=False)
    else:
        monkeypatch.setattr(sys, "monitoring", monitoring(), raising=False)
