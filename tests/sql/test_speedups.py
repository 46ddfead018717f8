"""speedups and what is summed up from them: failures stay visible, intervals are those the measuring stopped by."""

import math
import random
from typing import Any

import pytest
from bench.measure.engine.estimate import combined, process_estimate, ratio_of
from bench.warehouse.events import CaseRecord, Event

from ..builders import Builder, case, memory, metric, outcome, run, timing
from ..exhaustive import exhaustive, first_of

AXES: dict[str, Any] = {"suite": "s", "mode": "inference", "device": "cpu", "dtype": "float32"}


def pair(name: str = "m", **fields: Any) -> tuple[CaseRecord, CaseRecord]:
    """The same work by eager and by inductor."""
    return case(name, backend="eager", **AXES, **fields), case(name, backend="inductor", **AXES, **fields)


def measured(name: str, eager_ns: int, inductor_ns: int) -> list[Event]:
    """A pair that ended well, one sample each."""
    sides = pair(name)
    return [*sides, *map(outcome, sides), timing(sides[0], eager_ns), timing(sides[1], inductor_ns)]


def test_without_blocks_the_speedup_is_the_ratio_of_medians(warehouse: Builder) -> None:
    """100 ns against 50 ns is 2x, and no interval is claimed."""
    warehouse.add(run(), *measured("m", 100, 50))

    query = "SELECT backend, baseline_ns, candidate_ns, speedup, low, high, n, origin, status, passing FROM speedups"
    assert warehouse.rows(query) == [("inductor", 100.0, 50.0, 2.0, None, None, None, "measured", "ok", True)]


@pytest.mark.parametrize("blocks", first_of(1, [5, 14, 40]))
def test_with_blocks_the_interval_is_the_one_the_measuring_stopped_by(warehouse: Builder, blocks: int) -> None:
    """SQL and `measure.engine.estimate` agree on the estimate, and on its interval within their roundings of Student's t."""
    generator = random.Random(blocks)
    eager, inductor = pair()
    samples, logs = [], []
    for block in range(blocks):
        drift = generator.lognormvariate(0, 0.5)
        a, b = (int(1e9 * drift * generator.lognormvariate(mean, 0.05)) for mean in (0.2, 0))
        samples += [timing(eager, a, block=block, process=0), timing(inductor, b, block=block, process=0)]
        logs.append(math.log(a / b))
    warehouse.add(run(), eager, inductor, outcome(eager), outcome(inductor), *samples)

    ((speedup, low, high, n),) = warehouse.rows("SELECT speedup, low, high, n FROM speedups")
    expected = ratio_of(logs)
    assert (speedup, n) == (pytest.approx(expected.ratio, rel=1e-12), blocks)
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-3)
    assert low < speedup < high


@pytest.mark.parametrize(
    "shares",
    [
        (0.3,) * 5,
        (0.0, 0.9),
        *(pytest.param(s, marks=exhaustive) for s in [(0.0,) * 6, (0.9,) * 5, (0.6,), (0.9, 0.9, 0.2, 0.1, 0.0)]),
    ],
)
def test_the_estimate_of_several_processes_is_that_of_the_measuring(
    warehouse: Builder, shares: tuple[float, ...]
) -> None:
    """In quiet and in disturbed processes, with few blocks and many, whichever interval is the wider."""
    draw = random.Random(7)
    eager, inductor = pair()
    rows: list[Event] = []
    parts = []
    for process, share in enumerate(shares):
        level, logs, disturbed = draw.gauss(0, 0.01 * (len(shares) % 2)), [], []
        for block in range(4 + 9 * process):
            a, b = (round(1e9 * draw.lognormvariate(mean, 0.02)) for mean in (level, 0))
            switches = [int(draw.random() < share) for _ in "ab"]
            for side, ns, switched in zip((eager, inductor), (a, b), switches, strict=True):
                rows.append(timing(side, ns, block=block, process=process, involuntary_switches=switched))
            logs.append(math.log(a / b))
            disturbed.append(any(switches))
        parts.append(process_estimate(logs, disturbed))
    warehouse.add(run(), eager, inductor, outcome(eager), outcome(inductor), *rows)
    expected = combined(parts)

    ((speedup, low, high, n),) = warehouse.rows("SELECT speedup, low, high, n FROM speedups")

    assert (speedup, n) == (pytest.approx(expected.ratio, rel=1e-12), expected.n)
    if expected.low:
        assert (math.log(high / low)) == pytest.approx(math.log(expected.high / expected.low), rel=1e-3)
    else:
        assert (low, high) == (None, None)


def test_blocks_of_two_processes_are_not_mixed(warehouse: Builder) -> None:
    """Block 0 of process 0 pairs with block 0 of process 0 only."""
    eager, inductor = pair()
    samples = [timing(side, ns, block=0, process=p) for p, ns in ((0, 100), (1, 400)) for side in (eager, inductor)]
    warehouse.add(run(), eager, inductor, outcome(eager), outcome(inductor), *samples)

    assert warehouse.rows("SELECT speedup, low, n FROM speedups") == [(1.0, None, 2)]


def test_a_case_that_failed_has_a_status_and_no_speedup(warehouse: Builder) -> None:
    """Its samples so far do not make a number; a failed baseline is said to be the baseline's."""
    a, b = pair("a"), pair("b")
    warehouse.add(run(), *a, *b, outcome(a[0]), outcome(a[1], "OOM"), outcome(b[0], "timeout"), outcome(b[1]))
    warehouse.add(timing(a[0], 10), timing(a[1], 5), timing(b[1], 5))

    query = "SELECT name, speedup, status, passing FROM speedups ORDER BY name"
    assert warehouse.rows(query) == [("a", None, "OOM", False), ("b", None, "baseline timeout", False)]


def test_a_case_without_a_baseline_is_left_out(warehouse: Builder) -> None:
    """A case eager never ran is no infinite speedup: it is absent."""
    _, inductor = pair()
    warehouse.add(run(), inductor, outcome(inductor), timing(inductor, 5))

    assert warehouse.rows("SELECT * FROM speedups") == []


def test_a_fast_wrong_answer_does_not_pass(warehouse: Builder) -> None:
    """A judged accuracy must pass, and a model without a judgement does not."""
    warehouse.add(run(), *measured("right", 100, 50), *measured("wrong", 100, 50), *measured("unjudged", 100, 50))
    warehouse.add(outcome(pair("right")[1], "pass", kind="accuracy"))
    warehouse.add(outcome(pair("wrong")[1], "fail_accuracy", kind="accuracy"))

    assert warehouse.rows("SELECT name, accuracy, passing FROM speedups ORDER BY name") == [
        ("right", "pass", True), ("unjudged", None, False), ("wrong", "fail_accuracy", False),
    ]  # fmt: skip
    assert warehouse.rows("SELECT rate FROM pass_rates WHERE backend = 'inductor'") == [("33%, 1/3",)]


def test_accuracy_may_be_judged_at_another_batch_size(warehouse: Builder) -> None:
    """Accuracy files of torch.compile use batch sizes of their own."""
    it, judged = (
        case("m", backend="inductor", batch_size=64, source_id="file", **AXES),
        case("m", backend="inductor", batch_size=4, source_id="file", **AXES),
    )
    warehouse.add(run(), it, judged, outcome(it), metric(it, "speedup", 1.5), outcome(judged, "pass", kind="accuracy"))

    query = "SELECT batch_size, speedup, origin, accuracy, passing FROM speedups"
    assert warehouse.rows(query) == [(64, 1.5, "reported", "pass", True)]


def test_a_reported_failure_has_no_speedup(warehouse: Builder) -> None:
    """A speedup of 0 in a report is a failure, not a number."""
    good, bad = pair("good")[1], pair("bad")[1]
    warehouse.add(run(source="torch-compile"), good, bad, outcome(good), outcome(bad, "fail_to_run"))
    warehouse.add(metric(good, "speedup", 1.5), metric(bad, "speedup", 0.0))

    query = "SELECT name, speedup, status FROM speedups ORDER BY name"
    assert warehouse.rows(query) == [("bad", None, "fail_to_run"), ("good", 1.5, "ok")]


def test_geomeans_count_slowdowns_as_they_are_and_as_one(warehouse: Builder) -> None:
    """4x and 0.25x: 1x with the slowdown, 2x with the slowdown clipped, as on PyTorch's dashboard."""
    warehouse.add(run(), *measured("fast", 400, 100), *measured("slow", 100, 400))

    query = "SELECT speedup, dashboard_speedup, n, n_total FROM geomean_speedups()"
    assert warehouse.rows(query) == [(pytest.approx(1.0), pytest.approx(2.0), 2, 2)]


def test_matched_geomeans_leave_out_what_fails_on_another_backend(warehouse: Builder) -> None:
    """A model that one backend cannot run counts for neither; why is said. Unmatched, each has its own set."""
    other = [case(name, backend="other", **AXES) for name in "ab"]
    warehouse.add(run(), *measured("a", 400, 100), *measured("b", 100, 100), *other)
    warehouse.add(outcome(other[0], "OOM"), outcome(other[1]), timing(other[1], 50))

    query = "SELECT backend, speedup, n, n_total, excluded FROM geomean_speedups({}) ORDER BY backend"
    assert warehouse.rows(query.format("matched := true")) == [
        ("inductor", pytest.approx(1.0), 1, 2, ["a: does not pass on every backend"]),
        ("other", pytest.approx(2.0), 1, 2, ["a: OOM"]),
    ]
    assert warehouse.rows(query.format(""))[0] == ("inductor", pytest.approx(2.0), 2, 2, [])


def test_a_backend_on_which_nothing_passes_hinders_no_other(warehouse: Builder) -> None:
    """Otherwise one missing compiler would empty the whole table; its own row says so with NULL."""
    broken = case("a", backend="broken", **AXES)
    warehouse.add(run(), *measured("a", 400, 100), broken, outcome(broken, "fail_to_run"))

    query = "SELECT backend, speedup, n FROM geomean_speedups(matched := true) ORDER BY backend"
    assert warehouse.rows(query) == [("broken", None, 0), ("inductor", pytest.approx(4.0), 1)]


def test_skipped_cases_are_not_in_the_pass_rate(warehouse: Builder) -> None:
    """A backend that is not installed has no pass rate rather than 0 %."""
    skipped = case("a", backend="tensorrt", **AXES)
    warehouse.add(run(), *measured("a", 4, 1), skipped, outcome(skipped, "skipped"))

    query = "SELECT backend, passing, total, rate FROM pass_rates ORDER BY backend"
    assert warehouse.rows(query) == [("eager", 1, 1, "100%, 1/1"), ("inductor", 1, 1, "100%, 1/1")]


def test_compile_time_and_memory_are_means_over_what_passes(warehouse: Builder) -> None:
    """2 s for the model that passes; its memory is eager's peak over its own, by the GPU's allocator where known."""
    eager, inductor = pair("good")
    failed = pair("bad")[1]
    warehouse.add(run(), *measured("good", 2, 1), failed, outcome(failed, "OOM"))
    warehouse.add(
        metric(inductor, "compile_latency", 2e9, unit="ns"), metric(failed, "compile_latency", 9e9, unit="ns")
    )
    warehouse.add(*(memory(side, size, source="rss") for side, size in ((eager, 100), (inductor, 100))))
    warehouse.add(
        *(memory(side, size, source="cuda_allocated") for side, size in ((eager, 30), (inductor, 20), (failed, 1)))
    )

    assert warehouse.rows("SELECT backend, mean_seconds, slowest, n FROM compile_times") == [
        ("inductor", 2.0, "good", 1)
    ]
    assert warehouse.rows("SELECT backend, mean_ratio, n FROM memory_compression") == [("inductor", 1.5, 1)]
    query = "SELECT source, peak_bytes FROM peak_memory WHERE backend = 'eager' ORDER BY 1"
    assert warehouse.rows(query) == [("cuda_allocated", 30), ("rss", 100)]


@pytest.fixture
def sizes() -> Builder:
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


def test_mean_median_and_variance_are_over_the_sizes_that_pass(sizes: Builder) -> None:
    """With the worst and the best size by name; other parameters are another row, one size has no variance."""
    query = (
        "SELECT n, mean, median, variance, slowest, slowest_at, fastest, fastest_at FROM shape_speedups ORDER BY n DESC"
    )

    assert sizes.rows(query) == [
        (3, 2.0, 2.0, 1.0, "1 x 16", 1.0, "8 x 16", 3.0),
        (1, 5.0, 5.0, None, "1 x 16", 5.0, "1 x 16", 5.0),
    ]


def test_a_metric_of_the_user_called_speedup_changes_nobodys_passing(warehouse: Builder) -> None:
    """A program records it of one case: neither that case nor another of its backend needs a speedup to pass."""
    recorded, plain = (case(name, backend="inductor") for name in ("recorded", "plain"))
    warehouse.add(run(), recorded, plain, outcome(recorded), outcome(plain), metric(recorded, "speedup", 0.5))

    query = "SELECT name, passing, speedup, origin FROM case_summaries ORDER BY name"
    assert warehouse.rows(query) == [("plain", True, None, None), ("recorded", True, None, None)]
    assert warehouse.rows("SELECT * FROM flags()") == []


def test_an_import_reports_a_speedup_of_the_cases_that_have_one(warehouse: Builder) -> None:
    """Of results of torch.compile a case without one does not pass; of any other file it does."""
    for run_id, source in (("a", "csv"), ("b", "torch-compile")):
        fast, plain = (case(name, run_id, backend="inductor", source_id="f") for name in ("fast", "plain"))
        warehouse.add(run(run_id, source=source), fast, plain, outcome(fast), outcome(plain))
        warehouse.add(metric(fast, "speedup", 1.5, unit="ratio"), metric(plain, "speedup", 150.0, unit="%"))

    query = "SELECT run_id, name, passing, speedup FROM case_summaries ORDER BY ALL"
    assert warehouse.rows(query) == [
        ("a", "fast", True, 1.5), ("a", "plain", True, None), ("b", "fast", True, 1.5), ("b", "plain", False, None),
    ]  # fmt: skip
