"""p-values of speedups: the t-test of the interval that is shown, and Welch's, both held to scipy's."""

import itertools
import random

import pytest
from bench.warehouse.events import Event
from scipy import stats

from ..builders import Builder, case, outcome, run, timing


def events(name: str, eager_ns: list[int], other_ns: list[int]) -> list[Event]:
    """Two sides of one work, timed in blocks."""
    found: list[Event] = []
    for backend, times in (("eager", eager_ns), ("inductor", other_ns)):
        side = case(name, backend=backend)
        found += [side, outcome(side), *(timing(side, ns, block=i, process=0) for i, ns in enumerate(times))]
    return found


def p_values(warehouse: Builder, eager_ns: list[int], other_ns: list[int]) -> tuple[float | None, float | None]:
    """That of the interval, and the unpaired one."""
    warehouse.add(run(), *events("m", eager_ns, other_ns))
    ((p, unpaired),) = warehouse.rows("SELECT p, p_unpaired FROM speedups")
    return p, unpaired


def test_p_values_are_those_of_the_t_tests(warehouse: Builder) -> None:
    """That of Student's t with the interval's error and degrees: below 0.05 the interval excludes 1. And scipy's Welch."""
    expected = {}
    for blocks, gain in itertools.product((8, 9, 14, 40), (1.0, 1.02, 1.5)):
        draw = random.Random(blocks)
        drift = [draw.lognormvariate(0, 0.3) for _ in range(blocks)]
        times = [[round(1e9 * x * level * draw.lognormvariate(0, 0.03)) for x in drift] for level in (gain, 1.0)]
        name = f"{blocks} {gain}"
        warehouse.add(*events(name, *times))
        expected[name] = stats.ttest_ind(*times, equal_var=False).pvalue
    warehouse.add(run())

    rows = warehouse.rows(
        "SELECT name, s.p, p_unpaired, low, high, log_ratio / error, degrees FROM speedups AS s"
        " JOIN (SELECT case_id, log_ratio, error, degrees FROM block_ratios) USING (case_id)"
    )
    assert len(rows) == 12
    for name, p, unpaired, low, high, t, degrees in rows:
        assert p == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-5)
        assert (p < 0.05) == (not low <= 1 <= high)
        assert unpaired == pytest.approx(expected[name], rel=0.01)


def test_drift_that_both_sides_share_hides_a_gain_from_the_unpaired_test_only(warehouse: Builder) -> None:
    """Blocks that slow down threefold by the end: 5 % are plain in every block."""
    draw = random.Random(1)
    levels = [1e6 * (1 + 2 * i / 29) for i in range(30)]
    p, unpaired = p_values(
        warehouse, *([round(x * gain * draw.lognormvariate(0, 0.005)) for x in levels] for gain in (1.05, 1))
    )

    assert p is not None
    assert unpaired is not None
    assert p < 1e-6
    assert unpaired > 0.4


@pytest.mark.parametrize(("other", "expected"), [([100] * 6, (1, 1)), ([50] * 6, (0, 0)), ([50] * 4, (None, None))])
def test_sides_that_do_not_vary_are_equal_or_not(
    warehouse: Builder, other: list[int], expected: tuple[float | None, float | None]
) -> None:
    """And fewer than five blocks tell nothing."""
    assert p_values(warehouse, [100] * 6, other) == expected


def test_what_is_wrong_or_failed_is_a_row_with_its_reason(warehouse: Builder) -> None:
    """Left out of every mean, not out of the table; what failed has no p, as it has no speedup."""
    names = ("eager", "right", "wrong", "dead")
    found = {name: case("m", backend=name) for name in names}
    warehouse.add(run(), *found.values(), outcome(found["dead"], "OOM"), *(outcome(found[x]) for x in names[:3]))
    warehouse.add(*(outcome(found[x], "pass", kind="accuracy") for x in ("eager", "right")))
    warehouse.add(outcome(found["wrong"], "fail_accuracy", kind="accuracy"))
    for side in found.values():
        warehouse.add(*(timing(side, 100 + i * i % 7, block=i, process=0) for i in range(6)))

    rows = warehouse.rows("SELECT backend, passing, reason, speedup, p FROM speedups ORDER BY backend")

    assert rows == [
        ("dead", False, "OOM", None, None),
        ("right", True, None, 1.0, 1.0),
        ("wrong", False, "fail_accuracy", 1.0, 1.0),
    ]
    assert warehouse.rows("SELECT backend, excluded FROM geomean_speedups() ORDER BY 1") == [
        ("dead", ["m: OOM"]), ("right", []), ("wrong", ["m: fail_accuracy"]),
    ]  # fmt: skip
