"""The table at the end of a measurement: its numbers, and its doubts."""

import datetime as dt
import math
from typing import Any, cast

import numpy as np
import pytest
from bench.measure.engine.estimate import ratio_of
from bench.measure.models.report import SHOWN_STATISTICS, compiler_start, noise_floor, results, show
from bench.warehouse.database import Warehouse
from bench.warehouse.events import Event

from ...builders import Builder, case, memory, metric, outcome, run, timing


def measured(baseline: list[int], candidate: list[int]) -> list[Event]:
    """A run of one workload, its sides timed in blocks."""
    sides = [case("mlp", backend=name, mode="inference", dtype="float32", device="cpu", batch_size=8, line=line)
             for line, name in enumerate(("eager", "inductor"))]  # fmt: skip
    rows: list[Event] = [run(), *sides, *(outcome(side, reason="budget spent", line=9) for side in sides)]
    for side, durations in zip(sides, (baseline, candidate), strict=True):
        rows += [timing(side, ns, block=block, process=0) for block, ns in enumerate(durations)]
        rows += [memory(side, 300 << 20), memory(side, 3 << 20, source="rss_growth")]
    return [*rows, metric(sides[1], "compile_latency", 2.5e9, unit="ns")]


def noisy(each_ns: float, seed: int, blocks: int = 30) -> list[int]:
    return [round(each_ns * x) for x in np.random.default_rng(seed).lognormal(0, 0.02, blocks)]


def test_the_table_says_what_the_views_say(warehouse: Builder) -> None:
    """One row per case in the order of the plan; memory is what the call added."""
    warehouse.add(*measured([2_000_000] * 10, [1_000_000] * 10))

    rows = [result.cells() for result in results(cast(Warehouse, warehouse), "run")]

    assert rows == [
        ("mlp", "inference", 8, None, "eager", "2.00 ms ±0.0 % (n=10)", "–", "–", "300 MiB (+3.00 MiB)", "ok"),
        (
            "mlp", "inference", 8, None, "inductor", "1.00 ms ±0.0 % (n=10)", "2.000x (95 % 2.000–2.000, n=10, p<0.001)",
            "2.50 s (n=1)", "300 MiB (+3.00 MiB)", "ok",
        ),
    ]  # fmt: skip


def test_a_model_of_two_suites_is_named_with_its_suite(warehouse: Builder, capsys: pytest.CaptureFixture[str]) -> None:
    """Their rows read alike otherwise; a column that no row has a value in is left out."""
    named = (("timm", "resnet18"), ("torchvision", "resnet18"), ("timm", "vit"))
    axes: dict[str, Any] = {
        "backend": "eager",
        "mode": "inference",
        "dtype": "float32",
        "device": "cpu",
        "batch_size": 8,
    }
    cases = [case(name, suite=suite, **axes) for suite, name in named]
    warehouse.add(run(), *cases, *map(outcome, cases), *(timing(each, 1_000_000) for each in cases))

    show(results(cast(Warehouse, warehouse), "run"), "table")

    written = capsys.readouterr()
    head, _, *rows = written.out.splitlines()
    assert written.err.splitlines()[0] == "all: mode inference, batch 8"
    assert head.split()[:3] == ["model", "backend", "median"]
    assert sorted(row.partition("  ")[0] for row in rows) == ["timm resnet18", "torchvision resnet18", "vit"]


def test_the_views_interval_is_the_one_that_sampling_stopped_by(warehouse: Builder) -> None:
    """There is one estimator: the runner's, and the same in SQL."""
    baseline, candidate = noisy(2e6, 1), noisy(1.5e6, 2)
    warehouse.add(*measured(baseline, candidate))
    expected = ratio_of([math.log(b / c) for b, c in zip(baseline, candidate, strict=True)])

    (row,) = warehouse.rows("SELECT speedup, low, high, n FROM speedups")

    assert row == pytest.approx((expected.ratio, expected.low, expected.high, expected.n), rel=1e-4)


def test_no_difference_comes_with_the_smallest_that_could_be_seen(warehouse: Builder) -> None:
    """A null result without it says nothing."""
    warehouse.add(*measured(noisy(1e6, 1), noisy(1e6, 2)))

    note = results(cast(Warehouse, warehouse), "run")[1].note()

    assert note is not None
    assert note.startswith("mlp inference 8 inductor: budget spent; no difference found (smallest detectable: ")


def test_a_speedup_that_contradicts_the_medians_beside_it_says_so(warehouse: Builder) -> None:
    """A machine at two speeds, whose candidate is slow a little more often: half the blocks say 2x, the medians 0.2x."""
    warehouse.add(*measured([1000, 1010] * 6 + [5000] * 10, [500, 505] * 5 + [5000] * 12))

    result = results(cast(Warehouse, warehouse), "run")[1]

    assert "x (95 % " in str(result.cells()[6])
    assert "slow calls weigh on one of them only" in str(result.note())


def test_a_median_of_one_sample_says_so(warehouse: Builder) -> None:
    """No interval can be given."""
    warehouse.add(*measured([2_000_000], [1_000_000]))

    assert results(cast(Warehouse, warehouse), "run")[1].cells()[5] == "1.00 ms (n=1)"


def test_a_failed_case_has_its_status_and_reason_and_no_number(warehouse: Builder) -> None:
    """Never 0.0."""
    rows = [row for row in measured([10] * 6, [5] * 6) if type(row).__name__ not in ("Outcome", "Metric")]
    bad = case("mlp", backend="inductor", mode="inference", dtype="float32", device="cpu", batch_size=8)
    warehouse.add(*rows, outcome(bad, "killed", reason="worker ended by SIGKILL"))

    result = results(cast(Warehouse, warehouse), "run")[1]

    assert (result.cells()[6], result.cells()[-1]) == ("–", "killed")


def test_a_wrong_output_is_no_success(warehouse: Builder, capsys: pytest.CaptureFixture[str]) -> None:
    """However fast it was: the table compares it with nothing, and its row says what it is; programs get the numbers."""
    rows = measured([10] * 6, [5] * 6)
    bad = case("mlp", backend="inductor", mode="inference", dtype="float32", device="cpu", batch_size=8)
    warehouse.add(*rows, outcome(bad, "fail_accuracy", kind="accuracy", reason="output: cosine 0.5"))

    result = results(cast(Warehouse, warehouse), "run")[1]
    show([result], "table")

    assert (result.cells()[6], result.cells()[-1], result.speedup) == ("–", "fail_accuracy", 2.0)
    assert capsys.readouterr().out.splitlines()[-1].endswith("fail_accuracy  cold   output: cosine 0.5")


def test_a_baseline_that_does_not_agree_with_itself_failed(warehouse: Builder) -> None:
    """As its outcome says, and with no other backend beside it, too."""
    it = case("mlp", backend="eager", mode="inference", dtype="float32", device="cpu", batch_size=8)
    warehouse.add(run(), it, outcome(it, "ok"), outcome(it, "eager_two_runs_differ", kind="accuracy"))

    (result,) = results(cast(Warehouse, warehouse), "run")

    assert (result.judged, result.failed) == ("eager_two_runs_differ", True)


def test_the_start_of_compilers_is_told_once(warehouse: Builder) -> None:
    """All of the run together, since no time of the table has it; a run without a compiler says nothing."""
    assert compiler_start(cast(Warehouse, warehouse), "r1") is None

    for one in (case("a", "r1", backend="inductor"), case("b", "r1", backend="inductor")):
        warehouse.add(one, metric(one, "compiler_start", 1.5e9, unit="ns"))

    assert (
        compiler_start(cast(Warehouse, warehouse), "r1")
        == "compilers took 3.00 s to start, 2 times: no time above has it"
    )


@pytest.mark.parametrize(
    ("device", "sentence"), [("cpu", "this machine was 1.00 %"), ("cuda:0", "this GPU was 0.30 %")]
)
def test_results_are_cited_with_the_noise_of_what_ran_them(warehouse: Builder, device: str, sentence: str) -> None:
    """A checksum on the CPU says nothing of a kernel on a GPU."""
    doctor = run("d", source="doctor", host="h", environment_id="e", started_at=dt.datetime(2026, 1, 1))
    side = case("m", backend="eager", device=device)
    floors = [
        metric(case("x", "d"), name, value, unit="ratio")
        for name, value in (("noise_floor", 0.01), ("gpu_noise_floor", 0.003))
    ]
    warehouse.add(run(host="h", environment_id="e"), doctor, side, *floors)

    assert sentence in str(noise_floor(cast(Warehouse, warehouse), "run"))


def test_the_table_shows_the_statistic_that_was_asked_for(
    warehouse: Builder, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mean has Student's interval, the minimum none; the heading says which it is."""
    warehouse.add(*measured([1_000_000, 2_000_000, 3_000_000] * 3, [1_000_000] * 9))
    found = results(cast(Warehouse, warehouse), "run")

    shown = {statistic: found[0].cells(statistic)[5] for statistic in SHOWN_STATISTICS}
    show(found, "table", "min")

    assert shown == {
        "median": "2.00 ms ±73.2 % (n=9)", "min": "1.00 ms (n=9)", "mean": "2.00 ms ±41.3 % (n=9)",
    }  # fmt: skip
    headings = capsys.readouterr().out.split("\n")[0].split()
    assert "min" in headings
    assert "median" not in headings


def test_a_time_of_a_busy_machine_says_so(warehouse: Builder) -> None:
    """The share of its samples that lost their processor, which do not count; a small one is not worth a word."""
    one, other = (
        case("m", backend=name, mode="inference", device="cpu", dtype="float32", line=line)
        for line, name in enumerate(("eager", "inductor"))
    )
    warehouse.add(run(), one, other, outcome(one), outcome(other))
    for side, disturbed in ((one, 4), (other, 1)):
        warehouse.add(*(timing(side, 1000, block=k, involuntary_switches=int(k < disturbed)) for k in range(10)))

    shown = [result.cells()[5] for result in results(cast(Warehouse, warehouse), "run")]

    assert shown == ["1.00 µs ±0.0 % (n=6, disturbed 40 %)", "1.00 µs ±0.0 % (n=10)"]


def test_parts_of_memory_are_a_row_of_a_view(warehouse: Builder) -> None:
    """They add up to the peak of the process."""
    one = case("m", backend="eager", mode="training")
    parts = {"framework": 300, "weights": 20, "gradients": 20, "optimizer": 0, "step": 60, "first_call": 90}
    warehouse.add(run(), one, memory(one, 400), memory(one, 30, source="rss_growth", phase="steady"))
    warehouse.add(*(metric(one, f"memory_{name}", size, unit="bytes") for name, size in parts.items()))

    columns = "process_bytes, framework_bytes, weights_bytes, gradients_bytes, optimizer_bytes, step_bytes"
    assert warehouse.rows(f"SELECT {columns}, first_call_bytes, steady_call_bytes FROM memory_parts") == [
        (400, 300, 20, 20, 0, 60, 90, 30)
    ]
