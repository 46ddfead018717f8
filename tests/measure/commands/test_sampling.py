"""When runs of commands stop, in which order they come, and what is said of them: no process, no clock."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.measure.commands.measurement import CommandMeasurement, CommandResult, CommandSettings, CommandSite
from bench.measure.commands.plan import PlannedCommand, Template
from bench.measure.commands.process import NotStarted, Ran
from bench.measure.commands.report import COMMAND_COLUMNS, cells, notes, together, values
from bench.warehouse import recorder

MS = 1_000_000


def ran(duration_ns: int, **said: Any) -> Ran:
    usual: dict[str, Any] = {
        "timed_out": False, "code": 0, "left_group": None, "user_ns": 0, "system_ns": 0,
        "peak_bytes": 9 << 20, "seen_bytes": 5 << 20, "tree_bytes": None,
        "minor_faults": 1, "major_faults": 0, "voluntary_switches": 1, "involuntary_switches": 0, "stderr": b"",
    }  # fmt: skip
    return Ran(duration_ns=duration_ns, **{**usual, **said})


class FakeLauncher:
    """Answers with what a function of the command and of the number of its run says; its clock is the sum of that."""

    def __init__(self, takes: Callable[[str, int], Ran]) -> None:
        self.takes = takes
        self.order: list[str] = []
        self.seconds = 0.0
        self.floor_bytes = 9 << 20

    def run(self, arguments: Sequence[str], **options: Any) -> Ran:
        name = arguments[0]
        one = self.takes(name, self.order.count(name))
        self.order.append(name)
        self.seconds += one.duration_ns / 1e9
        return one


@pytest.fixture
def measure(tmp_path: Path) -> Iterator[Callable[..., tuple[list[CommandResult], FakeLauncher]]]:
    """Measures commands of one word each."""
    with recorder.run("fake", store=tmp_path / "store") as run:

        def measured(
            takes: Callable[[str, int], Ran], *names: str, **settings: Any
        ) -> tuple[list[CommandResult], FakeLauncher]:
            fake = FakeLauncher(takes)
            site = CommandSite(run, fake)  # type: ignore[arg-type]
            measurement = CommandMeasurement([site], CommandSettings(**settings), now=lambda: fake.seconds)
            (results,) = measurement.measure([[PlannedCommand(name, {}, Template(name)) for name in names]])
            return results, fake

        yield measured


def steady(name: str, number: int) -> Ran:
    """b takes half as long as a; hardly any noise."""
    return ran((100 if name == "a" else 50) * MS + number % 3)


def test_it_stops_when_precise(measure: Any) -> None:
    """At the first look, after fourteen blocks; the ratio is the reference's time to the other's."""
    (a, b), _ = measure(steady, "a", "b", budget_s=1000.0)

    assert (len(a.runs), len(b.runs)) == (14, 14)
    assert b.reason == "precision reached: ±0.00 % after 14 blocks"
    assert b.against(a).ratio == pytest.approx(2.0)


def test_it_stops_at_the_budget(measure: Any) -> None:
    """When the block begun is over; warm-ups are in it."""
    (a,), _ = measure(steady, "a", budget_s=0.75, warmup=3)

    assert (a.count, len(a.runs)) == (8, 5)
    assert a.reason.startswith("budget spent")


def test_the_usual_budget_is_worth_five_runs(measure: Any) -> None:
    """Fewer would give no interval; a budget that was asked for is kept."""
    (usual,), _ = measure(lambda name, number: ran(60_000 * MS), "a")
    (asked,), _ = measure(lambda name, number: ran(60_000 * MS), "b", budget_s=10.0)

    assert (len(usual.runs), len(asked.runs)) == (5, 1)


def test_the_order_is_the_seed_s(measure: Any) -> None:
    """In every so many blocks as there are sides each stands once in each place."""
    orders = [measure(steady, "a", "b", "c", repeat=3, seed=seed)[1].order for seed in (1, 1, 2, 3, 4)]

    assert orders[0] == orders[1]
    assert len(set(map(tuple, orders))) > 1
    for order in orders:
        assert all({order[place], order[place + 3], order[place + 6]} == {"a", "b", "c"} for place in range(3))


def test_three_failures_running_are_enough(measure: Any) -> None:
    """Not three in all; blocks in which one failed are left out of the ratio."""

    def takes(name: str, number: int) -> Ran:
        return ran(MS, code=1 if (name == "b" and number % 2) or (name == "c" and number > 3) else 0)

    (a, b, c), _ = measure(takes, "a", "b", "c", repeat=10)

    assert (a.count, b.count, c.count) == (10, 10, 7)
    assert (b.given_up, c.given_up) == (False, True)
    assert (b.against(a).n, c.against(a).n) == (5, 4)


def test_processes_that_end_before_the_last_run_are_no_matter(measure: Any) -> None:
    """A run may leave some that end soon after it, or that the cleanup ends."""
    (a,), _ = measure(lambda name, number: ran(MS, left_group=2**31 - 1), "a", repeat=3)

    assert (a.left_groups, a.left) == ({2**31 - 1}, 0)


def test_without_a_reference_the_others_become_precise_themselves(measure: Any) -> None:
    """It failed; they stop all the same."""

    def takes(name: str, number: int) -> Ran:
        if name == "a":
            raise NotStarted("no program 'a'")
        return steady(name, number)

    (a, b), _ = measure(takes, "a", "b", budget_s=1000.0)

    assert (a.status, a.reason) == ("fail_to_run", "no program 'a'")
    assert (b.status, len(b.runs)) == ("ok", 14)
    assert values(b, a)[-7:] == (None,) * 7


def result(*milliseconds: float, name: str = "x") -> CommandResult:
    runs = {block: ran(round(value * MS)) for block, value in enumerate(milliseconds)}
    return CommandResult(PlannedCommand(name, {}, Template(name)), None, None, runs, count=len(runs), reason="measured")  # type: ignore[arg-type]


def said(of: CommandResult, reference: CommandResult | None = None, **options: Any) -> str:
    return "\n".join(notes(of, reference or of, **{"warmup": 0, "empty_ns": None, **options}))


def test_a_slow_first_run_is_said() -> None:
    """Unless there were warm-ups."""
    slow = result(300, *[100, 101, 102] * 4)

    assert "the first run took 3 times the median: caches were cold. Leave it out with --warmup 3" in said(slow)
    assert "first run" not in said(slow, warmup=1)
    assert "first run" not in said(result(103, *[100, 101, 102] * 4))


def test_outliers_are_counted() -> None:
    """Far by the spread of the others, and by a tenth of the median."""
    assert "1 of 13 runs is far from the rest, up to 200.0 ms" in said(result(*[100, 101, 102] * 4, 200))
    assert "far from" not in said(result(*[100, 100.01, 100.02] * 4, 105))


def test_the_start_of_a_process_is_said_where_it_matters() -> None:
    """From a tenth of a run on."""
    short = result(*[1.0] * 6)

    assert "a process that does nothing takes 600.0 µs here, this one 1.00 ms" in said(short, empty_ns=0.6e6)
    assert "does nothing" not in said(short, empty_ns=0.09e6)


def test_too_few_runs_and_no_difference_are_said() -> None:
    """The first with how to get more, the second with what could have been seen."""
    a, b = result(*[100, 101, 99] * 4, name="a"), result(*[101, 99, 100] * 4, name="b")

    assert "fewer than five runs give no interval. Take more with --repeat 10" in said(result(1, 1))
    assert "no difference found (smallest detectable: " in said(b, a)


def test_a_row_for_people_and_one_for_programs() -> None:
    """A single unit, the sign of a difference, a peak below what the kernel tells."""
    a, b = result(*[100, 102] * 4, name="a"), result(*[50, 51] * 4, name="b")

    assert cells(a, a, alone=False) == (
        "a", "101.0 ± 1.1 ms", "100.0 … 102.0 ms", "0.00 ms", "0.00 ms", "5.00 … 9.00 MiB", "8", "reference", "",
    )  # fmt: skip
    assert cells(b, a, alone=False)[-2:] == (
        "2.000x faster (95 % 2.000–2.000, n=8)", "-50.5 ms (-50.5 … -50.5 ms)",
    )  # fmt: skip
    assert values(b, a)[4:8] == (8, 0, 50.5 * MS, pytest.approx(0.5345 * MS, rel=1e-3))
    exact = dict(zip(COMMAND_COLUMNS, values(b, a), strict=True))
    assert (exact["peak_bytes"], exact["error_bound_bytes"]) == (5 << 20, 4 << 20)


@pytest.mark.parametrize(
    ("seen", "peak", "together", "shown"),
    [
        (500 << 20, 500 << 20, None, "500 MiB"),
        (5 << 20, 9 << 20, None, "5.00 … 9.00 MiB"),
        (900 << 10, 9 << 20, None, "900 KiB … 9.00 MiB"),
        (0, 9 << 20, None, "≤ 9.00 MiB"),
        (5 << 20, 9 << 20, 7 << 20, "7.00 … 9.00 MiB"),
        (5 << 20, 9 << 20, 12 << 20, "12.0 MiB"),
    ],
)
def test_a_peak_is_known_from_both_sides(seen: int, peak: int, together: int | None, shown: str) -> None:
    """One figure where the kernel tells it, or where several held more than it could be; both ends otherwise."""
    runs = {0: ran(MS, seen_bytes=seen, peak_bytes=peak, tree_bytes=together)}
    of = CommandResult(PlannedCommand("x", {}, Template("x")), None, None, runs, count=1)  # type: ignore[arg-type]

    assert cells(of, of, alone=True)[5] == shown


def test_nothing_known_is_a_dash() -> None:
    """Never a zero."""
    empty = result()

    assert cells(empty, empty, alone=True)[1:] == ("–", "–", "–", "–", "–", "0")
    assert values(empty, empty)[6:] == (None,) * 16
    assert (together(None), together(0.0), together(999.0, 1500.0, by=" … ")) == ("–", "0.00 ms", "1.00 … 1.50 µs")


def test_what_contradicts_the_means_beside_it_says_so() -> None:
    """A ratio of 2 beside equal means; a difference of -1 ms beside means that differ by +3, by one run that was disturbed."""
    base, other = (
        result(*[100, 101, 102, 103] * 6, 100, name="a"),
        result(*[50, 50.5, 51, 51.5] * 5, *[300.0] * 5, name="b"),
    )

    assert cells(other, base, alone=False)[-2].startswith("2.000x faster (95 % ")
    assert "block by block it is 2.000x" in said(other, base)

    faster = result(*[99, 100, 101, 102] * 3, name="c")
    faster.runs[3] = ran(150 * MS)
    assert cells(faster, base, alone=False)[-1].startswith("-999.5 µs (-1.04")
    assert "the means differ by +3.06 ms: slow calls weigh on the means" in said(faster, base)
