"""Steps whose writer gives totals, not chunks: every view that needs only totals has them; captures and spans are told."""

import json
from typing import Any

import pytest
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import Side
from bench.viz.charts import throughput, timeline
from bench.viz.step_series import choose_series
from bench.warehouse.events import Metric, ScheduleChunk

from ..builders import Builder, run, source
from ..exhaustive import exhaustive


def totals(line: int, run_id: str = "run", **fields: Any) -> ScheduleChunk:
    """A step of 512 prefill tokens and three decoding requests."""
    given: dict[str, Any] = {
        "total_tokens": 515, "prefill_tokens": 512, "decode_tokens": 3, "prefill": 1, "decode": 3, "model_run_ms": 20.0,
        "source_id": f"{run_id}_0.jsonl", "worker_id": "w", "dp_rank": 0, "counter_id": line, "time_span": "cuda",
    }  # fmt: skip
    return ScheduleChunk(run_id=run_id, line=line, **given | fields)


def steps(warehouse: Builder, *found: ScheduleChunk, run_id: str = "run") -> None:
    warehouse.add(run(run_id, run_id), source(f"{run_id}_0.jsonl", len(found), run=run_id, config=run_id), *found)


@pytest.mark.parametrize(
    ("chunks", "prefill", "decode", "wanted"),
    [("[1, 2]", "NULL", "NULL", 2), ("[1]", "5", "5", 1), ("NULL", "1", "3", 4), ("NULL", "1", "NULL", None)],
)
def test_requests_are_chunks_or_those_of_both_phases(
    warehouse: Builder, chunks: str, prefill: str, decode: str, wanted: int | None
) -> None:
    """_step_requests: where one phase is unknown, so is the sum."""
    assert warehouse.rows(f"SELECT _step_requests({chunks}::BIGINT[], {prefill}, {decode})") == [(wanted,)]


def test_totals_are_drawn_and_summed_as_chunks_are(warehouse: Builder) -> None:
    """runtime_vs_tokens and step_breakdown."""
    steps(warehouse, *(totals(line) for line in range(1, 31)))

    assert warehouse.rows("SELECT DISTINCT tokens, batch_size, model_run_ms, time_span FROM runtime_vs_tokens()") == [
        (515, 4, 20.0, "cuda")
    ]
    columns = "tokens, tokens_per_second, mean_batch_size, prefill_tokens, decode_tokens, capture_mode, time_span"
    query = f"SELECT {columns} FROM step_breakdown()"
    assert warehouse.rows(query) == [(30 * 515, 515 / 0.02, 4.0, 30 * 512, 90, "full", "cuda")]


def test_a_sampled_capture_has_no_totals(warehouse: Builder) -> None:
    """Means and medians of its steps are known, sums and rates are not."""
    steps(warehouse, *(totals(line, capture_mode="sampled") for line in range(1, 31)))

    columns = "steps, mean_tokens, tokens, prefill_tokens, decode_tokens, tokens_per_second, capture_mode"
    query = f"SELECT {columns} FROM step_breakdown()"
    assert warehouse.rows(query) == [(30, 515.0, None, None, None, None, "sampled")]
    assert warehouse.rows("SELECT count(*) FROM step_cells WHERE metric = 'tokens_per_second'") == [(0,)]
    assert warehouse.rows("SELECT capture_mode, lost FROM step_captures") == [("sampled", None)]


def test_times_of_different_spans_are_different_cases(warehouse: Builder) -> None:
    """A comparison never sets the time of a scheduler's interval against that of the GPU."""
    steps(warehouse, *(totals(line) for line in range(1, 9)))
    steps(warehouse, *(totals(line, "other", time_span=None) for line in range(1, 9)), run_id="other")

    query = "SELECT run_id, parameters ->> 'span', count(DISTINCT case_id) FROM step_cells WHERE parameters ->> 'tokens' = 'all'"
    assert warehouse.rows(f"{query} GROUP BY ALL ORDER BY ALL") == [("other", None, 1), ("run", "cuda", 1)]
    assert warehouse.rows("SELECT count(DISTINCT case_id) FROM step_cells WHERE parameters ->> 'tokens' = 'all'") == [
        (2,)
    ]


def test_lost_passes_are_gaps_of_the_counter(warehouse: Builder) -> None:
    """Heartbeats have counters and are no steps; one before the first step belongs to the range."""
    steps(warehouse, *(totals(line, counter_id=counter) for line, counter in enumerate((2, 3, 7, 7), 1)))
    about = '{"worker_id": "w", "dp_rank": 0, "first": 1, "last": 8}'
    warehouse.add(Metric(run_id="run", metric="heartbeats", value=2.0, unit="count", original_value=about))

    assert warehouse.rows(
        "SELECT steps, heartbeats, first_counter, last_counter, lost, repeated FROM step_captures"
    ) == [(4, 2, 1, 8, 3, 1)]


def test_charts_say_what_a_capture_left_out(warehouse: Builder) -> None:
    """Which capture was sampled, what was lost or is there twice, and that times span different things."""
    steps(warehouse, *(totals(line, counter_id=2 * line) for line in range(1, 4)), totals(4, counter_id=2))
    steps(warehouse, *(totals(line, "B", time_span=None, capture_mode="sampled") for line in range(1, 4)), run_id="B")

    assert choose_series(warehouse).notes() == [
        "B: a sampled capture, so totals are not known. Capture every step with DYN_FPM_MODE=full",
        "run: 2 steps were lost: FROM step_captures says of which worker",
        "run: 1 step has the counter of another, as in a second copy or after a restart: FROM step_captures says of which worker",
        "times span different things (model of B, cuda of run): compare the shapes, not the heights",
    ]


@exhaustive
def test_a_comparison_says_why_a_side_lacks_steps(warehouse: Builder) -> None:
    """A sampled capture has no tokens_per_second, and times of another span are other cases."""
    sides: dict[str, Any] = {
        "A": {},
        "S": {"capture_mode": "sampled"},
        "W": {"time_span": "wall_time"},
        "M": {"time_span": None},
    }
    for name, fields in sides.items():
        steps(warehouse, *(totals(line, name, **fields) for line in range(1, 40)), run_id=name)

    def said(base: str, candidate: str) -> list[str]:
        return compare(warehouse, Side(base, (base,)), Side(candidate, (candidate,))).captures

    assert said("A", "S") == [
        "S is a sampled capture, which left steps out: it has no tokens_per_second. Capture every step with DYN_FPM_MODE=full"
    ]
    assert said("A", "W") == [
        "times of steps span different things (cuda of A, wall_time of W), so they are different cases. Where the engine is the"
        " same, record or load both with --engine"
    ]
    assert said("A", "M") == [
        "times of steps span different things (cuda of A, model of M), so they are different cases"
    ]


def test_charts_have_no_tokens_per_second_of_a_sampled_capture(warehouse: Builder) -> None:
    """They would be those of the few steps that were recorded."""
    steps(warehouse, *(totals(line, capture_mode="sampled", clock_s=float(line), waiting=2) for line in range(1, 31)))
    drawn = warehouse

    assert "tokens/s overall unknown: a sampled capture" in " ".join(
        throughput.draw(drawn).spec(False)["title"]["subtitle"]
    )
    assert "tokens/s" not in json.dumps(timeline.draw(drawn).spec(False))
