"""What the intervals over several processes promise, in simulated worlds: a few hundred pairs of each."""

import math
from collections.abc import Iterator, Sequence

import pytest
from bench.measure.engine.estimate import Estimate, combined, process_estimate, ratio_of
from bench.measure.engine.rounds import LEAST_ROUNDS, MOST_ROUNDS, further
from bench.measure.engine.runner import WorkloadFindings
from bench.measure.engine.workload import Workload

from ...benchmarks.simulations.processes import CLAIMED, MISSED, WORLDS, measured, simulate
from ...exhaustive import exhaustive


@exhaustive
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_over_processes_keep_their_promise(name: str) -> None:
    """At most 7 % of them miss, give or take what 300 pairs leave to chance, and identical sides are hardly told apart."""
    world, blocks = WORLDS[name]

    found = simulate(measured, world, blocks, 300)

    assert found.missed <= MISSED + 3
    assert found.claimed <= CLAIMED


def processes(*centres: float, spread: float = 0.001, blocks: int = 14) -> Estimate:
    """Processes at these log ratios, whose blocks lie as far above as below."""
    return combined([process_estimate([centre + spread * (-1) ** i for i in range(blocks)]) for centre in centres])


def test_more_blocks_do_not_hide_that_processes_differ() -> None:
    """The interval is that of five values, however well each of them is known."""
    few, many = (processes(-0.01, -0.005, 0, 0.005, 0.01, blocks=blocks) for blocks in (14, 1000))

    assert few.scattered
    assert many.precision == pytest.approx(few.precision, rel=0.01)
    assert many.precision == pytest.approx(2.776 * math.sqrt(0.0000625 / 5), rel=0.01)


def test_processes_that_agree_by_chance_are_no_more_precise_than_their_blocks() -> None:
    """Five equal centres do not make an interval of width 0."""
    found = processes(0, 0, 0, 0, 0, spread=0.01)

    assert not found.scattered
    assert found.precision == pytest.approx(2.0 * math.sqrt(14e-4 / 90 / 5), rel=0.02)


def test_a_process_that_was_disturbed_does_not_count_beside_three_that_were_not() -> None:
    """It knows little and would make the interval wide; beside two it counts, since two say too little."""
    quiet, disturbed = process_estimate([0.0, 0.001] * 10), process_estimate([0.5, -0.1] * 10, [True] * 20)

    assert combined([quiet, quiet, quiet, disturbed]).high < 1.01
    assert combined([quiet, quiet, quiet, disturbed]).processes == 3
    assert combined([quiet, quiet, disturbed]).processes == 3


def test_disturbed_blocks_are_left_out_while_a_quarter_is_undisturbed() -> None:
    """Beyond that all count, and the middle ones decide."""
    logs = [0.0, 0.001, -0.001, 0.5, -0.001, 0.001, 0.7] * 4

    assert ratio_of(logs, [abs(log) > 0.1 for log in logs]).high < 1.001
    assert ratio_of(logs, [abs(log) > 0.1 for log in logs]).n == 20
    assert ratio_of(logs, [True] * 28).n == 28
    assert ratio_of(logs, [True] * 28).ratio == pytest.approx(1, abs=0.001)
    assert ratio_of([*logs[:6], 0.0], [False, False, *[True] * 5]).n == 7, "two alone would have no interval"


def work(name: str, backends: tuple[str, ...] = ("m:one", "m:other")) -> Workload:
    return Workload(
        suite="function", name=name, target="", mode="", device="", dtype="", batch_size=0, sequence_length=None,
        backends=backends, baseline="m:one",
    )  # fmt: skip


class FoundSoFar:
    """A runner that has measured LEAST processes of each workload: how far they scatter, and how long sampling took."""

    def __init__(self, scatter: dict[str, float], seconds: float) -> None:
        self._scatter, self._seconds = scatter, seconds

    def found(self, workload: Workload) -> WorkloadFindings:
        centres: Sequence[float] = [self._scatter[workload.name] * (i - 2) for i in range(LEAST_ROUNDS)]
        parts = [process_estimate([centre + x for x in (-0.001, 0.001) * 7]) for centre in centres]
        return WorkloadFindings({"case": parts}, self._seconds)


def chosen(seconds: float) -> Iterator[str]:
    plan = [work("same"), work("scattered")]
    runner = FoundSoFar({"same": 0.0, "scattered": 0.02}, seconds)
    return (workload.name for workload in further(plan, runner, precision=0.01, budget_s=10.0))  # type: ignore[arg-type]


def test_further_processes_measure_what_is_not_precise_yet() -> None:
    """Up to MOST in all, while the budget lasts."""
    assert list(chosen(5.0)) == ["scattered"] * (MOST_ROUNDS - LEAST_ROUNDS)
    assert list(chosen(10.0)) == []


def test_what_stands_alone_is_measured_in_all_processes() -> None:
    """Five that agree are of one memory layout by chance: in 3 of 10 pairs a second run was beyond the interval."""
    runner = FoundSoFar({"alone": 0.0}, 5.0)
    going = further([work("alone", ("m:one",))], runner, precision=0.01, budget_s=10.0)  # type: ignore[arg-type]
    assert len(list(going)) == MOST_ROUNDS - LEAST_ROUNDS
