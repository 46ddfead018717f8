"""`make bench`: a figure that grew since the last run on the same machine fails it."""

from pathlib import Path

import pytest

from .benchmarks import figures
from .benchmarks.figures import Figures


def report(value: float, unit: str = "s", reference: float | None = None) -> int:
    """What a run of one figure returns."""
    with Figures() as run:
        run.add("ingest", value, unit, reference=reference)
    return run.report()


@pytest.mark.exhaustive
def test_a_figure_that_grew_since_the_last_run_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By more than 1.3 times; not if the reference grew as much, and not if it is no cost."""
    monkeypatch.setattr(figures, "STORE", tmp_path / "store")

    assert [report(1.0), report(1.2), report(1.7)] == [0, 0, 1]
    assert "ingest: 1.42 x the" in capsys.readouterr().err
    assert [report(1.7, reference=1.0), report(3.4, reference=2.0), report(5.0, reference=2.0)] == [0, 0, 1]
    assert [report(100, "count"), report(200, "count")] == [0, 0]
