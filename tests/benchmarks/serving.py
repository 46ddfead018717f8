"""Serving: a million forward passes come in, goodput of a million requests, and whether frontiers hold what is true.

A config that is truly on the frontier by a hair is the hardest: its membership must fall below 5 % in 5 % of the sets.
"""

import gzip
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..builders import Builder, case, run
from .figures import BENCH, Figures, python, weigh

PASSES, REQUESTS, SETS = 1_000_000, 1_000_000, 600

REFERENCE = """
import duckdb, sys
work = ('num_prefill_requests BIGINT, sum_prefill_tokens BIGINT, var_prefill_length DOUBLE, num_decode_requests BIGINT,'
        ' sum_decode_kv_tokens BIGINT, var_decode_kv_tokens DOUBLE')
fpm = ('STRUCT(version BIGINT, worker_id VARCHAR, dp_rank BIGINT, counter_id BIGINT, wall_time DOUBLE,'
       f' scheduled_requests STRUCT({work}, sum_prefill_kv_tokens BIGINT), queued_requests STRUCT({work}))')
event = ('STRUCT("schema" VARCHAR, source STRUCT(namespace VARCHAR, component VARCHAR, producer_id VARCHAR),'
         f' capture_mode VARCHAR, observed_at_unix_ms BIGINT, fpm {fpm})')
connection = duckdb.connect(sys.argv[2])
columns = {'timestamp': 'BIGINT', 'event': event}
connection.execute(f"CREATE TABLE passes AS FROM read_json('{sys.argv[1]}', columns={columns}, format='newline_delimited')")
connection.close()
"""


def measure(figures: Figures) -> None:
    """All of it on generated files in a temporary folder."""
    _goodput(figures)
    _frontiers(figures)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _trace(folder / "trace")
        reference = python(REFERENCE, str(path), str(folder / "reference.duckdb"))
        ours = weigh([*BENCH, "ingest", f"A:{path.parent}", "--store", str(folder / "store")])
        against = "DuckDB read_json(columns=…) of the same gzip into a file"
        figures.add("ingest 1M passes", ours.seconds, "s", reference=reference.seconds, ratio_most=3,
                    against=against)  # fmt: skip
        figures.add("ingest 1M passes, peak memory", ours.peak_bytes / 1e6, "MB", reference=reference.peak_bytes / 1e6,
                    most=1000, against=against)  # fmt: skip
        query = "SELECT sum(loaded)::BIGINT, (SELECT count(*) FROM schedule_chunks) FROM sources"
        said = weigh([*BENCH, "sql", query, "--format", "jsonl", "--store", str(folder / "store")]).stdout
        if list(json.loads(said).values()) != [PASSES, PASSES - PASSES // 100]:
            sys.exit(f"accounting is off: {said.strip()}")


def _goodput(figures: Figures) -> None:
    """Goodput of a million requests in 8 cases, beside counting them in the table that it reads."""
    builder = Builder().add(run("run"))
    for number in range(8):
        builder.add(case("llama", "run", suite="serving", parameters={"request_rate": number}))
    builder.rows("SELECT 1")
    builder.connection.execute(
        f"""INSERT INTO requests BY NAME
        SELECT 'run' AS run_id, 'run' AS config, case_id, r AS sample, r / 100 AS arrival_s, 50 + 300 * random() AS ttft_ms,
            10 + 20 * random() AS tpot_ms, 500 + 3000 * random() AS e2e_ms, 512.0 AS tokens_in, 100.0 AS tokens_out, 'ok' AS outcome
        FROM (SELECT DISTINCT case_id FROM cases), range({REQUESTS // 8}) t(r)"""
    )
    builder.connection.execute("SET threads = 2")
    counting = "SELECT case_id, count(*) FILTER (ttft_ms <= 200 AND tpot_ms <= 25) FROM requests GROUP BY case_id"
    asking = "SELECT case_id, good, goodput_low FROM goodput(ttft := 200, tpot := 25)"
    assert sorted(builder.rows(counting)) == sorted(row[:2] for row in builder.rows(asking))
    seconds: dict[str, list[float]] = {counting: [], asking: []}
    for _ in range(5):  # in turns
        for query, found in seconds.items():
            began = time.perf_counter()
            builder.rows(query)
            found.append(time.perf_counter() - began)
    figures.add("goodput over 1M requests", min(seconds[asking]), "s", most=2, reference=min(seconds[counting]),
                against="counting those within the limits, without blocks")  # fmt: skip


def _frontiers(figures: Figures) -> None:
    """Sets of two configs alike in time to the first token, of which one is far slower to the last: it is on the edge of the frontier.

    Requests of a twentieth of the time share a disturbance, as neighbours in a queue do. As if requests were independent, the same
    draws would hold the truth less often.
    """
    rng = np.random.default_rng(1)
    builder = Builder().add(
        *(run(f"{side}{number}") for number in range(SETS) for side in "ab"), llama := case("llama", suite="serving")
    )
    builder.rows("SELECT 1")
    shape = (SETS, 2, 20, 10)
    ttft = 100 * np.exp(0.2 * rng.normal(size=(*shape[:3], 1)) + 0.3 * rng.normal(size=shape))
    names = [f"{side}{number}" for number in range(SETS) for side in "ab" for _ in range(200)]
    table = pa.table({
        "run_id": names, "config": names, "case_id": [llama.case_id] * len(names), "sample": np.tile(np.arange(200), 2 * SETS),
        "arrival_s": np.tile(np.arange(200.0), 2 * SETS), "ttft_ms": ttft.ravel(),
        "e2e_ms": np.tile(np.repeat([900.0, 500.0], 200), SETS) + rng.normal(size=len(names)), "outcome": ["ok"] * len(names),
    })  # fmt: skip
    builder.connection.register("made", table)
    builder.connection.execute("INSERT INTO requests BY NAME SELECT * FROM made")
    held = independent = 0
    for number in range(SETS):
        ((membership,),) = builder.rows(
            "SELECT membership FROM serving_frontier(x := 'ttft_p50', y := 'e2e_p50', configs := ?) WHERE config = ?",
            [[f"a{number}", f"b{number}"], f"a{number}"],
        )
        held += membership >= 0.05
        medians, errors = np.median(ttft[number], axis=(1, 2)), np.std(ttft[number], axis=(1, 2)) * 1.2533 / 200**0.5
        independent += (medians[0] - medians[1]) / np.hypot(*errors) < 1.645
    off, off_independent = abs(100 * held / SETS - 95), abs(100 * independent / SETS - 95)
    figures.add("frontier holds the truth: away from 95 %", off, "points", most=2, reference=float(off_independent),
                against="with requests taken as independent")  # fmt: skip


def _trace(folder: Path) -> Path:
    """One segment of a full capture: every hundredth pass is a heartbeat."""
    folder.mkdir()
    rng = random.Random(1)
    path = folder / "fpm.p1.0.jsonl.gz"
    with gzip.open(path, "wt", compresslevel=6) as out:
        for number in range(PASSES):
            out.write(_pass(number, rng))
    os.utime(path, (0, 0))  # one that changed a minute ago may still be written, which ingest looks at first
    return path


def _pass(number: int, rng: random.Random) -> str:
    idle = number % 100 == 0
    prefill, decode = (0, 0) if idle else (rng.choice((0, 0, 512, 1900)), rng.randint(1, 200))
    return json.dumps({"timestamp": number * 20, "event": {
        "schema": "dynamo.fpm.trace.v1", "source": {"namespace": "dynamo", "component": "backend", "producer_id": "p1"},
        "capture_mode": "full", "observed_at_unix_ms": 1_760_000_000_000 + number * 20, "fpm": {
            "version": 1, "worker_id": "7587891281", "dp_rank": 0, "counter_id": number, "wall_time": 0.0 if idle else rng.random() / 30,
            "scheduled_requests": {
                "num_prefill_requests": int(prefill > 0), "sum_prefill_tokens": prefill, "var_prefill_length": 0.0,
                "sum_prefill_kv_tokens": 0, "num_decode_requests": decode, "sum_decode_kv_tokens": decode * 800,
                "var_decode_kv_tokens": round(rng.random() * 1e4, 3),
            },
            "queued_requests": {
                "num_prefill_requests": 0, "sum_prefill_tokens": 0, "var_prefill_length": 0.0, "num_decode_requests": 0,
                "sum_decode_kv_tokens": 0, "var_decode_kv_tokens": 0.0,
            },
        },
    }}) + "\n"  # fmt: skip
