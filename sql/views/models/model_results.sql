-- One row per case that a run announced: the numbers that `bench measure models` prints.
--
-- axes: run, case
-- status           VARCHAR  How it ended; NULL while it runs, or where it was killed.
-- reason           VARCHAR  Why, in one line.
-- phase            VARCHAR  Phase reached.
-- accuracy         VARCHAR  How the accuracy was judged; NULL where it was not.
-- accuracy_reason  VARCHAR  Why, in one line.
-- median_ns        DOUBLE   Median steady latency.
-- median_low_ns    DOUBLE   Lower end of its 95 % interval; NULL for fewer than 6 samples.
-- median_high_ns   DOUBLE   Upper end.
-- minimum_ns       DOUBLE   Shortest steady latency.
-- mean_ns          DOUBLE   Mean steady latency.
-- mean_low_ns      DOUBLE   Lower end of its 95 % interval, of Student's t; NULL for one sample.
-- mean_high_ns     DOUBLE   Upper end.
-- samples          BIGINT   Samples behind them.
-- disturbed        DOUBLE   Share of them during which the case lost its processor; NULL where nobody counted.
-- speedup          DOUBLE   Baseline / case; above 1 is faster, NULL where either failed.
-- low              DOUBLE   Lower end of its 95 % interval.
-- high             DOUBLE   Upper end.
-- blocks           BIGINT   Pairs of blocks the speedup rests on.
-- p                DOUBLE   Probability of a speedup so far from 1 if there were none.
-- p_unpaired       DOUBLE   The same by Welch's t-test of unpaired blocks.
-- compile_ns       DOUBLE   Median compile latency.
-- compiles         BIGINT   Compile latencies behind it: one a process.
-- peak_bytes       BIGINT   What a steady call adds to the process at most; on a GPU what the allocator had given out.
-- process_bytes    BIGINT   Peak of the process that ran this case alone; NULL of a case on a GPU.
-- revision         VARCHAR  Git revision the run was made for; NULL without --revisions.
-- announced_at     TIMESTAMP  When the case was announced. UTC.
-- line             BIGINT   Its place among the cases of the run.
WITH
peaks AS (  -- of one phase is the peak of a process that holds other backends, too
    SELECT
        run_id, case_id,
        coalesce(
            max(size_bytes) FILTER (source = 'cuda_allocated'), max(size_bytes) FILTER (source = 'rss_growth'),
            max(size_bytes) FILTER (source = 'rss_growth_sampled')
        ) AS peak_bytes,
        max(size_bytes) FILTER (source = 'rss' AND statistic = 'peak' AND phase IS NULL) AS process_bytes
    FROM memory_samples
    GROUP BY run_id, case_id
)

SELECT
    announced.run_id, run.config, announced.case_id, announced.work_hash, {announced.axes},
    outcome.status, outcome.reason, outcome.phase, accuracy.status AS accuracy,
    accuracy.reason AS accuracy_reason, latency.median AS median_ns,
    latency.median_low AS median_low_ns, latency.median_high AS median_high_ns, latency.minimum AS minimum_ns,
    latency.mean AS mean_ns, latency.mean - _t975(latency.n - 1) * latency.stdev / sqrt(latency.n) AS mean_low_ns,
    latency.mean + _t975(latency.n - 1) * latency.stdev / sqrt(latency.n) AS mean_high_ns,
    coalesce(latency.n, 0) AS samples, disturbed, speedup, low, high,
    comparison.n AS blocks, p, p_unpaired, comparison.compile_ns, coalesce(compiling.n, 0) AS compiles, memory.peak_bytes,
    CASE WHEN starts_with(announced.device, 'cpu') THEN process_bytes END AS process_bytes,
    json_extract_string(tags, '$.revision') AS revision,
    announced.recorded_at AS announced_at, announced.line
FROM cases AS announced
LEFT JOIN _run_records AS run ON announced.run_id = run.run_id
LEFT JOIN case_outcomes AS outcome
    ON announced.run_id = outcome.run_id AND announced.case_id = outcome.case_id AND outcome.kind = 'performance'
LEFT JOIN case_outcomes AS accuracy
    ON announced.run_id = accuracy.run_id AND announced.case_id = accuracy.case_id AND accuracy.kind = 'accuracy'
LEFT JOIN cells AS latency
    ON announced.run_id = latency.run_id AND announced.case_id = latency.case_id
    AND latency.metric = 'latency' AND latency.phase = 'steady' AND latency.unit = 'ns'
LEFT JOIN cells AS compiling
    ON announced.run_id = compiling.run_id AND announced.case_id = compiling.case_id
    AND compiling.metric = 'compile_latency' AND compiling.phase IS NULL AND compiling.unit = 'ns'
LEFT JOIN peaks AS memory ON announced.run_id = memory.run_id AND announced.case_id = memory.case_id
LEFT JOIN case_summaries AS comparison ON announced.run_id = comparison.run_id AND announced.case_id = comparison.case_id
