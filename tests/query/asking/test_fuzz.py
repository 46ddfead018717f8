"""Command lines that nobody thought of."""

from pathlib import Path

import pytest

from . import fuzz


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_no_command_line_ends_as_a_bug(tmp_path: Path, seed: int) -> None:
    """Each is answered, or refused in a sentence."""
    fuzz.run(40, seed, tmp_path)
