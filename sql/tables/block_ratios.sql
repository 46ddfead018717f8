-- One row per case measured in blocks together with its baseline: the ratio of the two, without its interval's width.
-- The baseline is the case of the same run and the same work whose backend is eager. A block times every side once, so
-- drift of the machine cancels in the log of the ratio baseline / case; a block counts with the medians of its steady
-- latencies. As the measuring does when it decides to stop, the estimate is the 20 % trimmed mean of these logs with its
-- winsorised standard error (Yuen, Biometrika 61, 1974), widened where neighbouring blocks resemble each other (effective
-- sample size of a first-order autoregression, its correlation taken one standard error high).
--
-- run_id       VARCHAR  Run it was measured in.
-- case_id      VARCHAR  Case measured.
-- baseline_id  VARCHAR  Case it is measured against.
-- n            BIGINT   Blocks that timed both.
-- log_ratio    DOUBLE   Estimate of ln(baseline / case); above 0 is faster. With fewer than 5 blocks their plain mean.
-- error        DOUBLE   Standard error of log_ratio; NULL for fewer than 5 blocks.
-- degrees      DOUBLE   Degrees of freedom of that error.
-- p            DOUBLE   Probability of a log_ratio so far from 0, either way, if there were no difference: the t-test that
--                       the error and its degrees of freedom make (Yuen's), so that below 0.05 the 95 % interval excludes
--                       1. NULL for fewer than 5 blocks; 1 where neither side varies and they are equal, 0 where they are
--                       not.
-- p_unpaired   DOUBLE   The same by Welch's t-test (Biometrika 34, 1947) of the blocks' times themselves, unpaired: what
--                       drift both sides share counts as noise, and blocks as independent. NULL for fewer than 5 blocks.
WITH
blocks AS (
    SELECT run_id, case_id, work_hash, backend, process, block, median(duration_ns / loops) AS each_ns
    FROM timings
    JOIN case_axes USING (case_id)
    WHERE run_id IN (SELECT run_id FROM _touched)
        AND metric = 'latency' AND phase = 'steady' AND block IS NOT NULL AND loops > 0 AND duration_ns > 0
    GROUP BY ALL
),
logs AS (
    SELECT
        side.run_id, side.case_id, base.case_id AS baseline_id,
        list(ln(base.each_ns / side.each_ns) ORDER BY side.process, side.block) AS x,
        list(base.each_ns ORDER BY side.process, side.block) AS theirs,
        list(side.each_ns ORDER BY side.process, side.block) AS own
    FROM blocks AS side
    JOIN blocks AS base
        ON side.run_id = base.run_id AND side.work_hash = base.work_hash AND side.block = base.block
        AND side.process IS NOT DISTINCT FROM base.process
    WHERE base.backend = 'eager' AND side.backend <> 'eager'
    GROUP BY ALL
),
trim_counts AS (
    SELECT
        *, list_sort(x) AS sorted, len(x) AS n,
        CASE WHEN len(x) < 5 THEN 0 ELSE floor(0.2::DOUBLE * len(x))::BIGINT END AS cut
    FROM logs
),
winsorised_logs AS (
    SELECT
        * EXCLUDE x, list_avg(sorted[cut + 1:n - cut]) AS log_ratio,
        list_transform(x, lambda y: least(greatest(y, sorted[cut + 1]), sorted[n - cut])) AS w
    FROM trim_counts
),
centred_logs AS (
    SELECT *, list_transform(w, lambda y: y - mean) AS c, list_var_samp(w) AS variance
    FROM (SELECT *, list_avg(w) AS mean FROM winsorised_logs)
),
autocorrelations AS (
    SELECT
        *,
        CASE WHEN variance > 0 THEN least(greatest(
            list_avg(list_transform(range(1, n), lambda i: c[i] * c[i + 1])) / variance + 1 / n + 1 / sqrt(n),
        0), 0.9) ELSE 0 END AS r
    FROM centred_logs
),
estimates AS (
    SELECT
        *, list_avg(theirs) - list_avg(own) AS gap, list_var_samp(theirs) AS v1, list_var_samp(own) AS v2,
        CASE WHEN n >= 5 THEN sqrt(variance * (1 + r) / (1 - r) / n) / 0.6 END AS error,
        CASE WHEN n >= 5 THEN greatest(2, (n - 2 * cut) * (1 - r) / (1 + r) - 1)::DOUBLE END AS degrees
    FROM autocorrelations
)

SELECT
    run_id, case_id, baseline_id, n, log_ratio, error, degrees,
    CASE
        WHEN error > 0 THEN 2 * _t_tail(abs(log_ratio) / error, degrees)
        WHEN error = 0 THEN (log_ratio = 0)::DOUBLE
    END AS p,
    CASE
        WHEN n < 5 THEN NULL
        WHEN v1 + v2 > 0 THEN 2 * _t_tail(abs(gap) / sqrt((v1 + v2) / n), (n - 1) * pow(v1 + v2, 2) / (v1 * v1 + v2 * v2))
        ELSE (gap = 0)::DOUBLE
    END AS p_unpaired
FROM estimates
