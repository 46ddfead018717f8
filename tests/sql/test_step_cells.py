"""step_cells: scheduler steps summed up by how many tokens they scheduled, stretch by stretch."""

import random

import numpy as np
import pytest
from bench.warehouse.events import ScheduleChunk

from ..builders import Builder, chunk, run, source
from ..exhaustive import first_of


def steps(warehouse: Builder, count: int, run_id: str = "run", seed: int = 1, slower: float = 1.0) -> None:
    """One file of steps of 512 or 600 tokens, which take about 20 ms."""
    rng = random.Random(seed)
    name = f"{run_id}_0.jsonl"
    warehouse.add(run(run_id), source(name, count, run=run_id))
    warehouse.add(
        *(
            chunk(line, [rng.choice((512, 600))], run=run_id, source_id=name, model_run_ms=slower * rng.uniform(19, 21))
            for line in range(1, count + 1)
        )
    )


def test_bins_are_powers_of_two(warehouse: Builder) -> None:
    """0, 1, 2–3, 4–7 …; the sum of the chunks counts, else what the writer says; steps without tokens are in no bin."""
    warehouse.add(
        run(), *(chunk(i + 1, sizes) for i, sizes in enumerate([[0], [1], [1, 1], [3], [4], [500, 12], [1023]]))
    )
    warehouse.add(ScheduleChunk(run_id="run", line=8, total_tokens=64, model_run_ms=1.0))
    warehouse.add(ScheduleChunk(run_id="run", line=9, model_run_ms=1.0))

    query = "SELECT parameters ->> 'tokens', sum(n)::BIGINT FROM step_cells WHERE metric = 'model_run' GROUP BY 1 ORDER BY 1"
    assert warehouse.rows(query) == [
        ("0", 1), ("1", 1), ("2–3", 2), ("4–7", 1), ("512–1023", 2), ("64–127", 1)
    ]  # fmt: skip


def test_a_stretch_of_steps_is_one_sample(warehouse: Builder) -> None:
    """6,400 steps are 32 samples, each the median of 200 neighbours; the interval is that of 32 samples."""
    steps(warehouse, 6400)
    times = [ms * 1e6 for (ms,) in warehouse.rows("SELECT model_run_ms FROM schedule_chunks ORDER BY line")]
    medians = [np.median(times[i : i + 200]) for i in range(0, 6400, 200)]

    query = """
        SELECT suite, name, unit, better, n, minimum, q1, median, q3, maximum, mean, stdev, median_low, median_high
        FROM step_cells WHERE metric = 'model_run'
    """
    ((*names, n, minimum, q1, median, q3, maximum, mean, stdev, low, high),) = warehouse.rows(query)
    assert names == ["scheduler", "step", "ns", "lower"]
    assert (n, minimum, maximum) == (32, pytest.approx(min(medians), abs=1), pytest.approx(max(medians), abs=1))
    assert (q1, median, q3) == pytest.approx(np.percentile(medians, [25, 50, 75]), rel=1e-9, abs=1)
    assert (mean, stdev) == pytest.approx((np.mean(medians), np.std(medians, ddof=1)), rel=1e-5)
    assert (low, high) == pytest.approx((sorted(medians)[9], sorted(medians)[22]), abs=1)


def test_over_all_steps_means_are_taken(warehouse: Builder) -> None:
    """A hiccup in a stretch counts there, for it costs throughput; tokens per second are tokens / time."""
    warehouse.add(
        run(), *(chunk(i + 1, [100 if i % 2 else 300], model_run_ms=30.0, schedule_ms=10.0) for i in range(64))
    )

    query = (
        "SELECT metric, unit, better, n, median FROM step_cells WHERE parameters ->> 'tokens' = 'all' ORDER BY metric"
    )
    assert warehouse.rows(query) == [
        ("model_run_mean", "ns", "lower", 32, 30e6), ("schedule_mean", "ns", "lower", 32, 10e6),
        ("step_mean", "ns", "lower", 32, 40e6), ("tokens_per_second", "tokens/s", "higher", 32, 5000.0),
    ]  # fmt: skip


def test_a_mean_is_that_of_all_steps(warehouse: Builder) -> None:
    """One long prefill of 64 steps counts with its time: the value is total / steps, tokens / time; its stretch is in doubt."""
    warehouse.add(
        run(),
        *(
            chunk(i + 1, [1000 if i == 40 else 1], model_run_ms=650.0 if i == 40 else 10.0, schedule_ms=0.0)
            for i in range(64)
        ),
    )

    query = "SELECT median, median_low, median_high FROM step_cells WHERE metric = $metric"
    ((mean, low, high),) = warehouse.rows(query, {"metric": "model_run_mean"})
    ((rate, slowest, fastest),) = warehouse.rows(query, {"metric": "tokens_per_second"})
    assert mean == pytest.approx(1e6 * (63 * 10 + 650) / 64) and rate == pytest.approx(1063 / 1.28)
    # the totals of the stretches around the mean, of which one differs by 620 ms: Student's t of 31 degrees
    rest, apart = 20.0 - 40.0, 660.0 - 40.0
    error = np.sqrt(32 / 31 * (31 * rest**2 + apart**2)) / 64
    factor = np.exp(2.0395134 * error / 20.0)
    assert (low, high) == pytest.approx((mean / factor, mean * factor), rel=1e-4)
    assert slowest < rate < fastest


def test_files_follow_each_other_by_number(warehouse: Builder) -> None:
    """profile_2 before profile_10: 32 files of one step each are 32 stretches in that order."""
    warehouse.add(run(), *(source(f"profile_{i}.jsonl", 2) for i in range(16)))
    warehouse.add(
        *(chunk(j, [512], source_id=f"profile_{i}.jsonl", model_run_ms=float(1 + i)) for i in range(16) for j in (1, 2))
    )

    assert warehouse.rows("SELECT n, minimum, median, maximum FROM step_cells WHERE metric = 'model_run'") == [
        (32, 1e6, 8.5e6, 16e6)
    ]


def test_missing_and_absurd_times_make_no_sample(warehouse: Builder) -> None:
    """NULL, NaN and infinity are left out; a run without any time has no row."""
    values = [None, float("nan"), float("inf"), 5.0]
    warehouse.add(run(), *(chunk(i + 1, [8], model_run_ms=ms, schedule_ms=None) for i, ms in enumerate(values)))

    assert warehouse.rows("SELECT metric, n, median FROM step_cells WHERE metric LIKE 'model_run%' ORDER BY 1") == [
        ("model_run", 1, 5e6), ("model_run_mean", 1, 5e6)
    ]  # fmt: skip


def test_a_step_of_which_only_the_model_run_is_known_is_one_measurement(warehouse: Builder) -> None:
    """Its time as a whole would say the same once more; its throughput is known, of steps without a schedule time, too."""
    times = {"a": None, "b": 1.0}
    for config, schedule_ms in times.items():
        chunks = (chunk(i, [8], config, model_run_ms=3.0, schedule_ms=schedule_ms) for i in range(1, 33))
        warehouse.add(run(config), *chunks)

    query = "SELECT metric, median FROM step_cells WHERE config = '{}' AND (parameters ->> 'tokens') = 'all' ORDER BY metric"
    assert warehouse.rows(query.format("a")) == [("model_run_mean", 3e6), ("tokens_per_second", 8 / 3e-3)]
    assert warehouse.rows(query.format("b")) == [
        ("model_run_mean", 3e6), ("schedule_mean", 1e6), ("step_mean", 4e6), ("tokens_per_second", 2000.0)
    ]  # fmt: skip


def test_step_cells_do_not_depend_on_threads_or_order() -> None:
    """The same bits, whatever the order of the rows."""
    one, other = Builder(), Builder()
    chunks = [chunk(line, [line % 700], model_run_ms=random.Random(line).random()) for line in range(1, 2000)]
    one.add(run(), *chunks)
    other.add(run(), *random.Random(1).sample(chunks, len(chunks)))
    other.connection.execute("SET threads = 1")

    assert one.rows("FROM step_cells ORDER BY ALL") == other.rows("FROM step_cells ORDER BY ALL")


def test_two_profiles_compare_bin_by_bin(warehouse: Builder) -> None:
    """10 % slower steps of as many tokens are SLOWER; series and noise read them like any other cell."""
    for day in range(3):
        steps(warehouse, 640, f"a{day}", seed=day)
        steps(warehouse, 640, f"b{day}", seed=day + 3, slower=1.1)

    compared = "comparisons(['a0', 'a1', 'a2'], ['b0', 'b1', 'b2']) WHERE metric NOT LIKE 'schedule%'"
    assert warehouse.rows(f"SELECT metric, verdict FROM {compared} ORDER BY ALL") == [
        ("model_run", "SLOWER"), ("model_run_mean", "SLOWER"), ("step", "SLOWER"), ("step_mean", "SLOWER"),
        ("tokens_per_second", "SLOWER"),
    ]  # fmt: skip
    assert warehouse.rows("SELECT count(*) FROM series WHERE suite = 'scheduler' AND metric = 'model_run'") == [(6,)]
    assert warehouse.rows("SELECT count(*) FROM run_noise WHERE metric = 'model_run'") == [(6,)]


@pytest.mark.parametrize(("tokens", "us", "verdict"), first_of(4, [
    (1024, 20, "SAME"), (1040, 21, "SLOWER"), (1536, 20, "UNSURE"), (1536, 40, "SLOWER"), (1536, 10, "FASTER"),
    (1536, 13, "UNSURE"),
]))  # fmt: skip
def test_steps_with_other_tokens_are_no_slower_for_that_alone(
    warehouse: Builder, tokens: int, us: int, verdict: str
) -> None:
    """At 20 µs a token, 1.5 times the tokens take 1.5 times as long; three times as long is slower in any case."""
    for side, size, cost in (("a", 1024, 20), ("b", tokens, us)):
        for number in range(3):
            run_id = f"{side}{number}"
            times = [size * (cost + 0.01 * number) / 1000 for _ in range(5)]
            warehouse.add(run(run_id, side))
            warehouse.add(*(chunk(line, [size], run=run_id, model_run_ms=ms) for line, ms in enumerate(times, 1)))

    sides = "['a0', 'a1', 'a2'], ['b0', 'b1', 'b2']"
    query = "SELECT verdict, reason FROM comparisons({}) WHERE parameters ->> 'tokens' = '1024–2047' AND metric = 'model_run'"
    ((found, reason),) = warehouse.rows(query.format(sides))
    assert found == verdict
    assert (f"its steps have {tokens / 1024:.2f} times the tokens" in reason) == (tokens == 1536)
