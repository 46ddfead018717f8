"""When to sample and when to stop, with sides that are arithmetic."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from bench.measure.engine.estimate import doubt, ratio_of, smallest_detectable
from bench.measure.engine.sampling import (  # fmt: skip
    MIN_SAMPLE_NS,
    Clock,
    Reading,
    Sample,
    Sampler,
    SideFailed,
    balanced_orders,
    check_counts,
    is_warm,
    lead_for,
    loops_for,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


def noisy(each_ns: float, rng: random.Random, sigma: float = 0.005) -> Clock:
    """A side whose calls take `each_ns`, give or take."""
    return lambda loops, lead: Reading(round(each_ns * loops * rng.lognormvariate(0, sigma)), loops)


@given(sides=st.integers(1, 5), seed=st.integers(0, 1000))
def test_every_side_stands_equally_often_in_every_place(sides: int, seed: int) -> None:
    """In every `sides` blocks, each side is once in each position."""
    orders = list(itertools.islice(balanced_orders(sides, random.Random(seed)), 3 * sides))

    for start in range(0, len(orders), sides):
        places = Counter((place, side) for order in orders[start : start + sides] for place, side in enumerate(order))
        assert places == Counter(itertools.product(range(sides), repeat=2))


def test_the_order_is_random_and_repeats_with_its_seed() -> None:
    """The same seed gives the same order; and it is no fixed alternation."""
    first, again, other = (list(itertools.islice(balanced_orders(2, random.Random(s)), 40)) for s in (1, 1, 2))

    assert first == again
    assert first != other
    assert len({tuple(first[i : i + 2]) for i in range(0, 40, 2)}) == 2


@given(each_ns=st.floats(0.1, 1e10))
def test_the_clock_is_a_ten_thousandth_of_a_sample(each_ns: float) -> None:
    """Enough loops for that, and no more loops than needed."""
    loops = loops_for(each_ns)

    assert loops * each_ns >= MIN_SAMPLE_NS or loops == 1_000_000
    assert loops == 1 or (loops - 1) * max(each_ns, 1.0) < MIN_SAMPLE_NS


def test_warm_is_when_it_no_longer_changes() -> None:
    """A side that still gets faster is not warm, however slowly; one that is level is; ten samples are needed to tell."""
    falling = [100 * 0.95**i for i in range(20)]

    assert not is_warm([1.0] * 9)
    assert is_warm([1.0] * 10)
    assert not is_warm(falling)
    assert not is_warm([100 * 0.995**i for i in range(40)])
    assert is_warm([*falling, *[30.0, 30.1, 29.9, 30.0, 30.2] * 4])


def test_looks_are_geometric() -> None:
    """Looking at every block would stop at lucky ones."""
    assert list(itertools.islice(check_counts(), 5)) == [14, 21, 31, 46, 69]


def test_sampling_stops_when_precise_enough() -> None:
    """A quiet pair needs half of the usual thirty blocks."""
    rng = random.Random(1)
    samples: list[Sample] = []
    sampler = Sampler([noisy(2e6, rng, 0.002), noisy(1e6, rng, 0.002)], samples.append, seed=0)

    verdict = sampler.run(precision=0.01, budget_s=60)

    assert (verdict.stopped, verdict.blocks, verdict.warm) == ("precision", 14, True)
    assert verdict.estimates[0].low <= 2.0 <= verdict.estimates[0].high
    assert [s.phase for s in samples] == sorted((s.phase for s in samples), reverse=True), "warm-up first, and kept"
    assert {s.block for s in samples} == set(range(len(samples) // 2)), "blocks count on from warm-up to steady"


def test_sampling_stops_when_the_budget_is_spent() -> None:
    """And says so, with the precision it reached."""
    rng = random.Random(1)
    seconds = itertools.count(0.0, 0.1)
    sampler = Sampler([noisy(2e6, rng, 0.5), noisy(1e6, rng, 0.5)], lambda s: None, seed=0, now=lambda: next(seconds))

    verdict = sampler.run(precision=0.001, budget_s=5)

    assert verdict.stopped == "budget"
    assert verdict.precision > 0.001
    assert str(verdict).startswith("budget spent: ±")


@pytest.mark.parametrize(
    ("call_ns", "calm_each", "precision", "blocks"),
    [(4_000_000, 4, 0.0, 24), (4_000_000, 10**6, 0.0, 40), (40_000_000, 4, 0.0, 10), (4_000_000, 10**6, 1.0, 40)],
    ids=["until six are calm", "at most four budgets", "too long to be calm", "however alike"],
)
def test_a_busy_machine_is_given_more_time(call_ns: int, calm_each: int, precision: float, blocks: int) -> None:
    """The processor is kept in one sample of `calm_each`; the budget of a second pays for ten."""
    clock = itertools.count(1)

    def disturbed(loops: int, lead: int) -> Reading:
        lost = next(clock) % calm_each != 0
        return Reading(call_ns * (1 + lost) * loops, loops, disturbance={"involuntary_switches": int(lost)})

    steady: list[Sample] = []

    def emit(sample: Sample) -> None:
        if sample.phase == "steady":
            steady.append(sample)

    Sampler([disturbed], emit, seed=0, now=lambda: len(steady) / 10).run(
        precision=precision, budget_s=1.0, patience=4.0
    )

    assert len(steady) == pytest.approx(blocks, abs=3)


def test_repeat_is_an_exact_count() -> None:
    """Of steady blocks, whatever the precision."""
    rng = random.Random(1)
    samples: list[Sample] = []

    verdict = Sampler([noisy(2e6, rng)] * 3, samples.append, seed=0).run(precision=1.0, budget_s=60, repeat=30)

    assert verdict.stopped == "repeat"
    assert Counter(s.side for s in samples if s.phase == "steady") == {0: 30, 1: 30, 2: 30}


def test_the_machine_and_the_gpu_are_blamed_each_for_its_own() -> None:
    """A sample that both disturbed counts for both."""
    numbers = itertools.count()

    def clock(loops: int, lead: int) -> Reading:
        return Reading(2_000_000 * loops, loops, None, {"throttled": 4, "involuntary_switches": next(numbers) % 2})

    verdict = Sampler([clock], lambda s: None, seed=0).run(precision=0.01, budget_s=60, repeat=20)

    assert (verdict.throttled, verdict.preempted) == (1.0, 0.5)
    assert str(verdict).endswith("power or heat slowed the GPU in 100 % of samples")


def test_a_side_alone_is_sampled_until_its_own_level_is_known() -> None:
    """There is no ratio, but there is an interval."""
    verdict = Sampler([noisy(2e6, random.Random(1))], lambda s: None, seed=0).run(precision=0.01, budget_s=60)

    assert verdict.stopped == "precision"


@pytest.mark.parametrize(("each_ns", "sides", "cold"), [(2e6, 2, 0.0), (300.0, 3, 0.0), (2e8, 2, 0.25), (2e6, 1, 0.0)])
def test_a_sample_does_not_pay_for_caches_that_another_side_filled(each_ns: float, sides: int, cold: float) -> None:
    """Three calls after those of another side take a quarter more; only calls of 100 ms and more are timed as they come."""
    before: list[int] = []
    leads: list[int] = []
    samples: list[Sample] = []

    def clock(side: int) -> Clock:
        def timed(loops: int, lead: int) -> Reading:
            foreign = 3 if before and before[-1] != side else 0
            before.append(side)
            leads.append(lead)
            slow = min(loops, max(foreign - lead, 0))
            return Reading(round(each_ns * (loops + 0.25 * slow)), loops)

        return timed

    Sampler([clock(side) for side in range(sides)], samples.append, seed=0).run(precision=0.01, budget_s=9, repeat=6)

    steady = [sample.reading for sample in samples if sample.phase == "steady"]
    assert len(steady) == 6 * sides
    assert max(reading.each_ns for reading in steady) == pytest.approx(each_ns * (1 + cold))
    assert sides > 1 or not any(leads), "a side alone meets its own caches"


@pytest.mark.parametrize(("each_ns", "calls"), [(1e2, 3), (3e6, 3), (6e6, 2), (5e7, 1), (1e8, 0)])
def test_the_lead_into_a_sample_is_short(each_ns: float, calls: int) -> None:
    """Three calls, but no longer than 10 ms or one call."""
    assert lead_for(each_ns) == calls


def test_a_side_that_raises_is_named() -> None:
    """So that the others can go on."""

    def broken(loops: int, lead: int) -> Reading:
        raise RuntimeError("no")

    with pytest.raises(SideFailed) as failure:
        Sampler([noisy(1e6, random.Random(1)), broken], lambda s: None, seed=0).run(precision=0.01, budget_s=1)
    assert failure.value.side == 1


def test_the_interval_holds_the_trimmed_mean_of_scipy() -> None:
    """The ratio is the 20 % trimmed mean of the logs."""
    logs = list(np.random.default_rng(1).standard_t(2, 37) * 0.01)

    assert math.log(ratio_of(logs).ratio) == pytest.approx(stats.trim_mean(logs, 0.2))


def test_too_few_blocks_say_nothing() -> None:
    """Fewer than five have an endless interval, and no samples no ratio."""
    assert ratio_of([0.1] * 4).precision == math.inf
    assert not ratio_of([0.1] * 4).differs
    assert math.isnan(ratio_of([]).ratio)


def test_a_difference_is_claimed_beyond_doubt_only() -> None:
    """One in twenty 95 % intervals misses the truth: what lies just outside is likely, not certain."""
    found = [doubt(ratio, ratio / 1.02, ratio * 1.02) for ratio in (1.01, 1.025, 1.04, 1 / 1.04)]

    assert found[0] is not None
    assert found[0].startswith("no difference found (smallest detectable: 4.1 %)")
    assert found[1] == "a difference is likely, not beyond doubt (smallest detectable: 4.1 %)"
    assert doubt(1.0, 0.1, 10.0) == "no difference found (smallest detectable: over 10x)"
    assert found[2:] == [None, None]


def test_the_smallest_detectable_effect_shrinks_with_the_interval() -> None:
    """An interval of ±1 % shows an effect of 2.1 % four times in five."""
    assert smallest_detectable(0.99, 1 / 0.99) == pytest.approx(0.0206, abs=1e-3)
    assert smallest_detectable(1.0, 1.0) == 0
