-- One row per case that a run announced, for a case that several processes measured: the numbers that `bench measure
-- function` prints. The status is that of the first process that did not end well, else ok.
--
-- axes: run, case of case_id work_hash name backend parameters
-- status           VARCHAR    How it ended; NULL while it runs, or where it was killed.
-- reason           VARCHAR    Why, in one line.
-- failed           BIGINT     Processes in which it failed.
-- processes        BIGINT     Processes in which it ended; NULL where none did.
-- median_ns        DOUBLE     Median of its steady latencies.
-- min_ns           DOUBLE     Shortest.
-- max_ns           DOUBLE     Longest.
-- samples          BIGINT     How many they are; NULL for none.
-- disturbed        DOUBLE     Share of them during which the case lost its processor.
-- peak_bytes       BIGINT     What calls add to the process at most.
-- time_ns          DOUBLE     Median in `cells`, where a busy machine's disturbed samples do not count.
-- time_low_ns      DOUBLE     Lower end of its 95 % interval; NULL where that is not known.
-- time_high_ns     DOUBLE     Upper end.
-- time_n           BIGINT     Samples it rests on.
-- time_processes   BIGINT     Processes that measured them; NULL where nobody said.
-- baseline_id      VARCHAR    Case it is measured against, as in block_ratios; NULL for a baseline, and where either failed.
-- ratio            DOUBLE     Baseline / case, block by block; above 1 is faster.
-- low              DOUBLE     Lower end of its 95 % interval; NULL for fewer than 5 blocks.
-- high             DOUBLE     Upper end.
-- blocks           BIGINT     Pairs of blocks it rests on.
-- ratio_processes  BIGINT     Processes that measured these.
-- scattered        BOOLEAN    Whether the scatter of these processes makes its interval.
-- announced_at     TIMESTAMP  When the case was announced. UTC.
-- line             BIGINT     Its place among the cases of the run.
WITH
endings AS (
    SELECT
        run_id, case_id, status, reason,
        count(*) FILTER (kind = 'performance' AND status NOT IN ('ok', 'skipped')) OVER same_case AS failed,
        count(*) FILTER (kind = 'performance') OVER same_case AS processes
    FROM outcomes
    WINDOW same_case AS (PARTITION BY run_id, case_id)
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id, case_id
        ORDER BY status IN ('ok', 'pass', 'skipped'), kind = 'accuracy', recorded_at NULLS LAST, status, reason
    )
),
times AS (
    SELECT
        run_id, case_id, median(duration_ns / loops) AS median_ns, min(duration_ns / loops) AS min_ns,
        max(duration_ns / loops) AS max_ns, count(*) AS samples,
        avg(coalesce(involuntary_switches > 0, false)::INTEGER) AS disturbed
    FROM timings
    WHERE metric = 'latency' AND phase = 'steady' AND loops > 0
    GROUP BY run_id, case_id
),
peaks AS (
    SELECT run_id, case_id, max(size_bytes) AS peak_bytes
    FROM memory_samples
    WHERE starts_with(source, 'rss_growth')
    GROUP BY run_id, case_id
),
sound_pairs AS (
    SELECT ratio.*
    FROM block_ratios AS ratio
    JOIN endings AS ending ON ratio.run_id = ending.run_id AND ratio.case_id = ending.case_id
    JOIN endings AS base ON ratio.run_id = base.run_id AND baseline_id = base.case_id
    WHERE clock = 'host' AND ending.status = 'ok' AND base.status = 'ok'
)

SELECT
    announced.run_id, run.config, announced.case_id, announced.work_hash, announced.name, announced.backend, announced.parameters,
    ending.status, ending.reason, ending.failed, ending.processes, median_ns, min_ns, max_ns, samples, own.disturbed, peak_bytes,
    level.median AS time_ns, level.median_low AS time_low_ns, level.median_high AS time_high_ns, level.n AS time_n,
    level.processes AS time_processes, pairs.baseline_id, exp(log_ratio) AS ratio, ratio * exp(-_t975(degrees) * error) AS low,
    _finite(ratio * exp(_t975(degrees) * error)) AS high, pairs.n AS blocks, pairs.processes AS ratio_processes, scattered,
    announced.recorded_at AS announced_at, announced.line
FROM cases AS announced
LEFT JOIN _run_records AS run ON announced.run_id = run.run_id
LEFT JOIN endings AS ending ON announced.run_id = ending.run_id AND announced.case_id = ending.case_id
LEFT JOIN times AS own ON announced.run_id = own.run_id AND announced.case_id = own.case_id
LEFT JOIN peaks ON announced.run_id = peaks.run_id AND announced.case_id = peaks.case_id
LEFT JOIN cells AS level
    ON announced.run_id = level.run_id AND announced.case_id = level.case_id
    AND level.metric = 'latency' AND level.phase = 'steady' AND level.unit = 'ns'
LEFT JOIN sound_pairs AS pairs ON announced.run_id = pairs.run_id AND announced.case_id = pairs.case_id
