"""What tests of sites share."""

import pytest
from bench.viz.publish import pairs


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds are judged rather than ten, for each takes half a second."""
    monkeypatch.setattr(pairs, "ROUNDS", 1)
    monkeypatch.setattr(pairs, "INCIDENTS", 1)
