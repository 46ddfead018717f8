"""Speedups of one model over the sizes it was measured at."""

import pytest

from ..builders import Builder, case, metric, outcome, run


@pytest.fixture
def warehouse() -> Builder:
    """A model at three sizes, one of which failed, and with another parameter at one."""
    built = Builder().add(run())
    for batch, length, speedup, status, parameters in (
        (1, 16, 1.0, "ok", None), (8, 16, 3.0, "ok", None), (8, 32, 2.0, "ok", None),
        (64, 32, 9.0, "OOM", None), (1, 16, 5.0, "ok", {"dynamic": True}),
    ):  # fmt: skip
        it = case(
            "m", backend="inductor", batch_size=batch, sequence_length=length, parameters=parameters, source_id="file"
        )
        built.add(it, outcome(it, status), metric(it, "speedup", speedup, unit="ratio"))
    return built


def test_mean_median_and_variance_are_over_the_sizes_that_pass(warehouse: Builder) -> None:
    """With the worst and the best size by name; other parameters are another row, one size has no variance."""
    query = (
        "SELECT n, mean, median, variance, slowest, slowest_at, fastest, fastest_at FROM shape_speedups ORDER BY n DESC"
    )

    assert warehouse.rows(query) == [
        (3, 2.0, 2.0, 1.0, "1 x 16", 1.0, "8 x 16", 3.0),
        (1, 5.0, 5.0, None, "1 x 16", 5.0, "1 x 16", 5.0),
    ]
