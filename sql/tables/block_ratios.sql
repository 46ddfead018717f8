-- One row per case measured in blocks together with its baseline × clock: the ratio of the two, without its interval's width.
-- The baseline is the case of the same run and the same work whose backend is eager; where none is, the one announced first,
-- such as the first of several functions. A block times every side once, so drift of the machine cancels in the log of the
-- ratio baseline / case; a block counts with the medians of its steady latencies. The estimate is that of measure/engine/estimate.py, by which the measuring decides when to stop:
-- Within a process it is the 20 % trimmed mean of these logs with its winsorised standard error (Yuen, Biometrika 61, 1974),
-- of the blocks in which neither side lost its processor, or was slowed by its GPU's limits of power and heat; where these are
-- less than a quarter or than five, the 40 % trimmed mean of all, so that there is always an estimate.
-- Over several processes it is their mean, without those too disturbed where three others were not, and its error the one
-- that makes the wider interval: that of the scatter of the processes, or that of the errors within them. For a single
-- process, whose differences to others nothing tells, the
-- error is widened where neighbouring blocks resemble each other (effective sample size of a first-order autoregression,
-- its correlation at the upper end of its one-sided 95 % interval, after its bias: Kendall, Biometrika 41, 1954).
--
-- run_id       VARCHAR  Run it was measured in.
-- case_id      VARCHAR  Case measured.
-- baseline_id  VARCHAR  Case it is measured against.
-- clock        VARCHAR  Whose clock timed both: host, or device, where samples have device_ns.
-- n            BIGINT   Blocks that the estimate rests on.
-- processes    BIGINT   Processes that measured them.
-- disturbed    DOUBLE   Share of all blocks in which a side lost its processor, or was throttled.
-- log_ratio    DOUBLE   Estimate of ln(baseline / case); above 0 is faster. Of a process with fewer than 5 blocks their mean,
--                       or, where most are disturbed, their median.
-- error        DOUBLE   Standard error of log_ratio; NULL for fewer than 5 blocks in all.
-- degrees      DOUBLE   Degrees of freedom of that error; of the scatter one less than there are processes.
-- scattered    BOOLEAN  Whether it is the error that the scatter of the processes makes.
-- p            DOUBLE   Probability of a log_ratio so far from 0, either way, if there were no difference: the t-test that
--                       the error and its degrees of freedom make, so that below 0.05 the 95 % interval excludes 1. NULL as
--                       error; 1 where neither side varies and they are equal, 0 where they are not.
-- p_unpaired   DOUBLE   The same by Welch's t-test (Biometrika 34, 1947) of the blocks' times themselves, unpaired: what
--                       drift both sides share counts as noise, and blocks as independent. NULL for fewer than 5 blocks.
WITH
samples AS (
    SELECT run_id, case_id, process, block, loops, involuntary_switches, throttled, 'host' AS clock, duration_ns AS ns
    FROM timings
    WHERE run_id IN (SELECT run_id FROM _touched) AND metric = 'latency' AND phase = 'steady'
    UNION ALL
    SELECT run_id, case_id, process, block, loops, involuntary_switches, throttled, 'device', device_ns
    FROM timings
    WHERE run_id IN (SELECT run_id FROM _touched) AND metric = 'latency' AND phase = 'steady' AND device_ns IS NOT NULL
),
blocks AS MATERIALIZED (
    SELECT
        run_id, case_id, work_hash, clock, process, block, median(ns / loops) AS each_ns,
        coalesce(max(involuntary_switches), 0) > 0 OR coalesce(max(throttled), 0) > 0 AS disturbed
    FROM samples
    JOIN case_axes USING (case_id)
    WHERE block IS NOT NULL AND loops > 0 AND ns > 0
    GROUP BY ALL
),
baselines AS (  -- one that failed before its first block is a baseline all the same
    SELECT run_id, axes.work_hash, arg_min(case_id, (backend <> 'eager', recorded_at, line, case_id)) AS baseline_id
    FROM (
        SELECT run_id, case_id, recorded_at, line FROM cases WHERE run_id IN (SELECT run_id FROM _touched)
        UNION ALL
        SELECT run_id, case_id, NULL, NULL FROM blocks
    )
    JOIN case_axes AS axes USING (case_id)
    WHERE backend IS NOT NULL
    GROUP BY run_id, axes.work_hash
),
compared AS MATERIALIZED (  -- first: all blocks of one number joined before would be the square of the cases
    SELECT own.*, baseline_id
    FROM blocks AS own
    JOIN baselines ON own.run_id = baselines.run_id AND own.work_hash = baselines.work_hash
    WHERE own.case_id <> baseline_id
),
pairs AS (
    SELECT
        own.run_id, own.case_id, baseline_id, own.clock, own.process, own.block, base.each_ns AS base_ns,
        own.each_ns AS own_ns, ln(nullif(base.each_ns / own.each_ns, 0)) AS x, base.disturbed OR own.disturbed AS disturbed
    FROM compared AS own
    JOIN blocks AS base
        ON own.run_id = base.run_id AND baseline_id = base.case_id AND own.block = base.block
        AND own.clock = base.clock AND own.process IS NOT DISTINCT FROM base.process
),
logs AS (
    SELECT
        run_id, case_id, baseline_id, clock, process, count(*) FILTER (NOT disturbed) AS quiet,
        quiet * 4 >= count(*) AND (quiet >= 5 OR count(*) < 5 AND quiet > 0) AS calm,
        CASE WHEN calm THEN list(x ORDER BY block) FILTER (NOT disturbed) ELSE list(x ORDER BY block) END AS x
    FROM pairs
    GROUP BY run_id, case_id, baseline_id, clock, process
),
trim_counts AS (
    SELECT
        *, list_sort(x) AS sorted, len(x) AS n,
        CASE
            WHEN len(x) < 5 THEN 0
            WHEN calm THEN floor(0.2::DOUBLE * len(x))::BIGINT
            ELSE floor(0.4::DOUBLE * (len(x) - 1))::BIGINT
        END AS cut
    FROM logs
),
winsorised_logs AS (
    SELECT
        * EXCLUDE x,
        CASE WHEN calm OR n >= 5 THEN list_avg(sorted[cut + 1:n - cut]) ELSE list_median(x) END AS centre,
        list_transform(x, lambda y: least(greatest(y, sorted[cut + 1]), sorted[n - cut])) AS w
    FROM trim_counts
),
centred_logs AS (
    SELECT *, list_transform(w, lambda y: y - mean) AS c, list_var_samp(w) AS variance
    FROM (SELECT *, list_avg(w) AS mean FROM winsorised_logs)
),
process_estimates AS (  -- error and degrees as if blocks were independent; r is how neighbours resemble each other
    SELECT
        run_id, case_id, baseline_id, clock, process, n, calm, centre, n - 2 * cut - 1 AS degrees,
        CASE WHEN n >= 5 THEN sqrt(variance * (n - 1) / ((n - 2 * cut) * (n - 2 * cut - 1))) END AS error,
        CASE
            WHEN lagged IS NOT NULL
                THEN least(greatest(lagged + (1 + 3 * greatest(lagged, 0)) / n + 1.6449::DOUBLE / sqrt(n), 0), 0.97::DOUBLE)
            ELSE 0
        END AS r
    FROM (
        SELECT
            *, CASE WHEN variance > 0 THEN list_avg(list_transform(range(1, n), lambda i: c[i] * c[i + 1])) / variance END
                AS lagged
        FROM centred_logs
    )
),
combined AS (
    SELECT
        run_id, case_id, baseline_id, clock, sum(n)::BIGINT AS n, count(*) AS processes, any_value(r) AS r,
        list(centre ORDER BY process) AS centres,
        list(error * error ORDER BY process) FILTER (error > 0) AS variances,
        list(pow(error, 4) / degrees ORDER BY process) FILTER (error > 0) AS weights,
        any_value(error) AS own_error, any_value(degrees) AS own_degrees
    FROM (
        SELECT *, count(*) FILTER (calm) OVER (PARTITION BY run_id, case_id, baseline_id, clock) AS calm_processes
        FROM process_estimates
    )
    WHERE calm OR calm_processes < 3
    GROUP BY run_id, case_id, baseline_id, clock
),
errors AS (
    SELECT
        run_id, case_id, baseline_id, clock, n, processes, list_avg(centres) AS log_ratio,
        CASE WHEN processes > 1 AND n >= 5 THEN list_stddev_samp(centres) / sqrt(processes) END AS between_error,
        (processes - 1)::DOUBLE AS between_degrees,
        CASE
            WHEN n < 5 THEN NULL
            WHEN processes = 1 THEN own_error * sqrt((1 + r) / (1 - r))
            ELSE sqrt(list_avg(variances) / processes)
        END AS within_error,
        CASE
            WHEN processes = 1 THEN greatest(2, (own_degrees + 1) * (1 - r) / (1 + r) - 1)::DOUBLE
            ELSE greatest(2, pow(list_avg(variances), 2) / list_avg(weights) * len(variances))::DOUBLE
        END AS within_degrees
    FROM combined
),
estimates AS (
    SELECT
        *,
        between_error IS NOT NULL AND (
            within_error IS NULL OR _t975(between_degrees) * between_error > _t975(within_degrees) * within_error
        ) AS scattered,
        CASE WHEN scattered THEN between_error ELSE within_error END AS error,
        CASE WHEN error IS NOT NULL THEN CASE WHEN scattered THEN between_degrees ELSE within_degrees END END AS degrees
    FROM errors
),
unpaired AS (
    SELECT
        run_id, case_id, baseline_id, clock, len(own) AS blocks, disturbed, list_avg(base) - list_avg(own) AS gap,
        list_var_samp(base) AS v1, list_var_samp(own) AS v2
    FROM (
        SELECT
            run_id, case_id, baseline_id, clock, avg(disturbed::INTEGER) AS disturbed,
            list(base_ns ORDER BY process, block) AS base, list(own_ns ORDER BY process, block) AS own
        FROM pairs
        GROUP BY run_id, case_id, baseline_id, clock
    )
)

SELECT
    run_id, case_id, baseline_id, clock, n, processes, disturbed, log_ratio, error, degrees, scattered,
    CASE
        WHEN error > 0 THEN 2 * _t_tail(abs(log_ratio) / error, degrees)
        WHEN error = 0 THEN (log_ratio = 0)::DOUBLE
    END AS p,
    CASE
        WHEN blocks < 5 THEN NULL
        WHEN v1 + v2 > 0
            THEN 2 * _t_tail(abs(gap) / sqrt((v1 + v2) / blocks), (blocks - 1) * pow(v1 + v2, 2) / (v1 * v1 + v2 * v2))
        ELSE (gap = 0)::DOUBLE
    END AS p_unpaired
FROM estimates
JOIN unpaired USING (run_id, case_id, baseline_id, clock)
