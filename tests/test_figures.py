"""`make bench` ends with 1 where a cost has grown since the last run on the machine."""

from pathlib import Path

import pytest

from .benchmarks import figures


def report(seconds: float, reference: float) -> int:
    """The exit code of a run of one figure."""
    with figures.Figures() as found:
        found.add("ingest", seconds, "s", reference=reference)
    return found.report()


def test_a_cost_that_has_grown_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By more than 1.3 times the last value, unless its reference took as much longer."""
    monkeypatch.setattr(figures, "STORE", tmp_path / "figures")

    assert report(1.25, 2.0) == 0  # nothing came before
    assert report(1.7, 2.0) == 1
    assert "ingest: 1.36 x the 1.25 s of the last run on this machine" in capsys.readouterr().err
    assert report(3.4, 4.0) == 0
