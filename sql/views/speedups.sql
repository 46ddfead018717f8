-- One row per case measured against the eager baseline in one run, or whose speedup an import reports.
-- Measured cases are paired block by block where their samples carry blocks (see block_ratios); elsewhere the speedup is
-- the ratio of the medians, without an interval. A case that failed, or whose baseline did, has a status and no speedup.
--
-- run_id            Run it was measured in.
-- config            Config of that run.
-- case_id           Case measured.
-- work_hash         What was computed; the baseline has the same.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation measured.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- baseline_ns       Median steady latency of the baseline; NULL where only the speedup is reported.
-- candidate_ns      Median steady latency of the case.
-- speedup           Baseline / case; above 1 is faster, NULL where either failed.
-- low               Lower end of its 95 % interval; NULL where nothing was paired, or fewer than 5 blocks.
-- high              Upper end.
-- n                 Pairs of blocks the speedup rests on; NULL where nothing was paired.
-- origin            measured or reported.
-- status            ok, or how the case ended, or 'baseline …' with how the baseline did.
-- accuracy          How the accuracy was judged; NULL where it was not.
-- passing           Whether the case is ok, its accuracy a pass where that was judged, and there is a speedup.
WITH
latencies AS (
    SELECT run_id, case_id, median AS ns
    FROM cells
    WHERE metric = 'latency' AND phase = 'steady' AND unit = 'ns'
),
reports AS (
    SELECT
        run_id, case_id, min(value) FILTER (metric = 'speedup') AS speedup,
        min(value) FILTER (metric = 'absolute_latency') AS candidate_ns
    FROM (SELECT run_id, case_id, metric, median AS value FROM cells)
    WHERE metric IN ('speedup', 'absolute_latency') AND value > 0
    GROUP BY run_id, case_id
),
reporting AS (SELECT DISTINCT run_id, suite, backend FROM cells WHERE metric = 'speedup'),
pairs AS (
    SELECT
        side.*, base.status AS baseline_status, base_latency.ns AS baseline_ns, side_latency.ns AS candidate_ns,
        side.status = 'ok' AND base.status = 'ok' AS both_ok
    FROM _judged AS side
    JOIN _judged AS base ON side.run_id = base.run_id AND side.work_hash = base.work_hash
    LEFT JOIN latencies AS side_latency ON side.run_id = side_latency.run_id AND side.case_id = side_latency.case_id
    LEFT JOIN latencies AS base_latency ON base.run_id = base_latency.run_id AND base.case_id = base_latency.case_id
    LEFT JOIN reporting
        ON side.run_id = reporting.run_id AND side.suite IS NOT DISTINCT FROM reporting.suite
        AND side.backend IS NOT DISTINCT FROM reporting.backend
    WHERE base.backend = 'eager' AND side.backend <> 'eager'
        AND (reporting.run_id IS NULL OR side_latency.ns > 0 AND base_latency.ns > 0)
),
measured AS (
    SELECT
        pairs.*, 'measured' AS origin, ratio.n,
        CASE
            WHEN NOT both_ok THEN NULL
            WHEN ratio.n > 0 THEN exp(log_ratio)
            WHEN baseline_ns > 0 AND candidate_ns > 0 THEN baseline_ns / candidate_ns
        END AS speedup,
        CASE WHEN both_ok THEN exp(log_ratio - _t975(degrees) * error) END AS low,
        CASE WHEN both_ok THEN exp(log_ratio + _t975(degrees) * error) END AS high
    FROM pairs
    LEFT JOIN block_ratios AS ratio ON pairs.run_id = ratio.run_id AND pairs.case_id = ratio.case_id
),
reported AS (
    SELECT
        side.*, 'ok' AS baseline_status, NULL AS baseline_ns, reports.candidate_ns, 'reported' AS origin, NULL AS n,
        CASE WHEN status = 'ok' THEN reports.speedup END AS speedup, NULL AS low, NULL AS high
    FROM _judged AS side
    JOIN reporting
        ON side.run_id = reporting.run_id AND side.suite IS NOT DISTINCT FROM reporting.suite
        AND side.backend IS NOT DISTINCT FROM reporting.backend
    LEFT JOIN reports ON side.run_id = reports.run_id AND side.case_id = reports.case_id
    WHERE (side.run_id, side.case_id) NOT IN (SELECT (run_id, case_id) FROM measured)
)

SELECT
    run_id, config, case_id, work_hash, suite, name, mode, device, dtype, backend, batch_size, sequence_length,
    parameters, baseline_ns, candidate_ns, speedup, low, high, n, origin,
    CASE WHEN status = 'ok' AND baseline_status <> 'ok' THEN 'baseline ' || baseline_status ELSE status END AS status,
    accuracy,
    sound AND coalesce(speedup > 0, false) AS passing
FROM (SELECT * EXCLUDE both_ok FROM measured UNION ALL BY NAME SELECT * FROM reported)
