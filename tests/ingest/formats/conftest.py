import json
from pathlib import Path

import pytest

from .facts import Facts


@pytest.fixture(scope="module")
def facts(shared_data: Path) -> Facts:
    """What the independent reader found."""
    found: Facts = json.loads((shared_data / "facts.json").read_text())
    return found
