"""Forward pass metrics: one record of Dynamo or SGLang becomes a step, or says why not."""

import json
from typing import Any

import pytest
from bench.warehouse.events import ScheduleChunk
from bench.warehouse.forward_pass import BadPass, PassCounters, read_pass
from hypothesis import given
from hypothesis import strategies as st


def a_pass(counter: int = 7, *, worker: str = "w", wall_time: float = 0.02, **scheduled: Any) -> dict[str, Any]:
    """A record as it stands on the socket."""
    return {
        "version": 1, "worker_id": worker, "dp_rank": 1, "counter_id": counter, "wall_time": wall_time,
        "scheduled_requests": scheduled,
        "queued_requests": {"num_prefill_requests": 3, "sum_prefill_tokens": 900, "num_decode_requests": 1},
    }  # fmt: skip


STEP: dict[str, Any] = {
    "num_prefill_requests": 2, "sum_prefill_tokens": 500, "sum_prefill_kv_tokens": 64,
    "num_decode_requests": 30, "sum_decode_kv_tokens": 9000,
}  # fmt: skip


def test_a_pass_is_a_step_with_totals() -> None:
    """Tokens are those of the prefill and one for each decoding request; seconds become milliseconds."""
    columns = read_pass(a_pass(**STEP), time_span="cuda").columns

    assert columns == {
        "prefill": 2, "prefill_tokens": 500, "prefill_kv_tokens": 64, "decode": 30, "decode_tokens": 30,
        "decode_kv_tokens": 9000, "total_tokens": 530, "running": 32, "waiting": 4, "worker_id": "w", "dp_rank": 1,
        "counter_id": 7, "model_run_ms": 20.0, "time_span": "cuda", "queued_prefill_tokens": 900,
    }  # fmt: skip


def test_what_has_no_column_is_kept_as_it_came() -> None:
    """Unknown fields, a variance that is no number, and who captured; what is 0 says nothing."""
    record = a_pass(**STEP, var_prefill_length=float("inf"), var_decode_kv_tokens=2, spare=0) | {"speed": "high"}
    event = {"schema": "dynamo.fpm.trace.v1", "source": {"namespace": "n", "rank": 3}, "fpm": record}
    columns = read_pass({"event": event}).columns

    assert columns["decode_kv_variance"] == 2.0 and "prefill_length_variance" not in columns
    assert json.loads(columns["extra"]) == {
        "speed": "high", "scheduled_requests": {"var_prefill_length": "Infinity"}, "namespace": "n",
    }  # fmt: skip


def test_a_trace_names_its_capture_mode_and_when() -> None:
    """The envelope of a trace file."""
    event = {
        "schema": "dynamo.fpm.trace.v1",
        "capture_mode": "sampled",
        "observed_at_unix_ms": 12,
        "fpm": a_pass(**STEP),
    }
    found = read_pass({"timestamp": 5, "event": event})

    assert (found.sampled, found.columns["capture_mode"], found.columns["recorded_at"]) == (True, "sampled", 12_000)


def test_a_recorder_names_when_it_received() -> None:
    """The other form of a file."""
    assert read_pass({"received_at_ns": 5_000, "metrics": a_pass(**STEP)}).columns["recorded_at"] == 5


def test_a_pass_of_nothing_is_a_heartbeat() -> None:
    """An idle engine says that it lives; that is no step."""
    assert read_pass(a_pass(wall_time=0.0)).heartbeat
    assert not read_pass(a_pass(**STEP)).heartbeat


def test_a_time_of_zero_is_none() -> None:
    """An engine that did not measure the pass writes 0, which would be a step of no time."""
    assert "model_run_ms" not in read_pass(a_pass(wall_time=0.0, **STEP)).columns


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version 2"),
        ({"wall_time": float("nan")}, "wall_time is nan"),
        ({"wall_time": -1}, "wall_time is -1"),
        ({"wall_time": 1e308}, "wall_time is 1e\\+308"),
        ({"counter_id": True}, "counter_id is True"),
        ({"counter_id": 1 << 63}, "counter_id is"),
        ({"worker_id": "x" * 300}, "worker_id is 'xxx"),
        ({"worker_id": b"x"}, "worker_id is"),
        ({"scheduled_requests": [1]}, "scheduled_requests is not an object"),
        ({"scheduled_requests": {"num_decode_requests": 1.5}}, "num_decode_requests is 1.5"),
        ({"scheduled_requests": {"num_decode_requests": (1 << 63) - 1, "sum_prefill_tokens": 1}}, "beyond 64 bits"),
        ({"queued_requests": 3}, "queued_requests is not an object"),
    ],
)
def test_what_is_no_pass_says_why(change: dict[str, Any], reason: str) -> None:
    """In a short sentence, whatever the value is."""
    with pytest.raises(BadPass, match=reason) as raised:
        read_pass(a_pass(**STEP) | change)
    assert len(str(raised.value)) < 200


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*a_pass(), "event", "metrics", "x"]), values) | values)
def test_any_document_is_a_pass_or_bad(document: Any) -> None:
    """Nothing else is raised, and what is read fits the table."""
    try:
        columns = read_pass({**a_pass(**STEP), **document} if isinstance(document, dict) else document).columns
    except BadPass:
        return
    ScheduleChunk(run_id="r", **columns)
    json.loads(columns.get("extra", "{}"))


def test_gaps_of_a_counter_are_missing_passes() -> None:
    """For each worker and rank; a counter that goes back is a restart; a sampled capture has gaps on purpose."""
    counters = PassCounters()
    for counter, worker in ((1, "a"), (5, "b"), (2, "a"), (5, "a"), (6, "b"), (0, "b"), (1, "b")):
        counters.see(read_pass(a_pass(counter, worker=worker, **STEP)))
    event = {"schema": "dynamo.fpm.trace.v1", "capture_mode": "sampled", "fpm": a_pass(90, worker="a", **STEP)}
    counters.see(read_pass({"event": event}))

    assert (counters.missing, counters.restarts) == (2, 1)
