-- One row per run × case × metric × phase: the summary of its samples.
-- Timings count per call (duration / loops) in ns, metrics as they stand, memory as '<source>_<statistic>' in bytes; a
-- metric that is an aggregate already is named '<metric>_<statistic>'. Values that are missing, infinite or beyond 1e150
-- are left out. Of several GPUs the one with the highest reading counts. All statistics are taken over the sorted samples, so they do not depend on threads or on file order.
-- A machine is busy where a quarter or more of the steady timings lost their processor (involuntary_switches): these tell of its other
-- processes, and are left out. Where none kept it, and some are short enough to have kept it, the shortest alone counts, which lost
-- least. Other processes also slow some of ours down as a whole: of 8 or more, one beyond 2.5 times the usual distance from their median
-- counts as that far (Huber's Proposal 2, as in _case_noises).
--
-- axes: run, case, value
-- n            BIGINT  Samples.
-- minimum      DOUBLE  Smallest.
-- q1           DOUBLE  First quartile, interpolated (type 7 of Hyndman and Fan, Am. Stat. 50, 1996).
-- median       DOUBLE  Median.
-- q3           DOUBLE  Third quartile.
-- maximum      DOUBLE  Largest.
-- mean         DOUBLE  Arithmetic mean.
-- stdev        DOUBLE  Standard deviation of the sample (n - 1); NULL for one sample.
-- median_low   DOUBLE  Lower end of the 95 % interval of the median. Within one process it is the k-th smallest sample, k =
--                      floor((n + 1 - 1.96 √n) / 2), which covers at least 95 % for every n ≥ 6 (Conover, Practical
--                      Nonparametric Statistics, 3.2). Where several processes measured, it is no higher than the median, nor
--                      than the geometric mean of the processes' medians, / exp(t · process_spread / √processes), with
--                      Student's t of one degree of freedom less than there are processes, since processes differ however
--                      many samples each has, and where they are of two kinds the median is of one. NULL where neither is known.
-- median_high  DOUBLE  Upper end: the k-th largest sample, and no lower than the same of the processes. Where a meter of memory reads up to
--                      so much too low (error_bound_bytes), it is higher by that, by 1 MiB at most: the bound is what all CPUs together can
--                      hold back, and one process is on few of them.
-- processes    BIGINT  Processes, forks, invocations or repetitions that measured it; NULL where nobody said.
-- process_spread  DOUBLE  Standard deviation of ln(median) from process to process; NULL of fewer than two.
WITH
busy_timings AS (
    SELECT
        run_id, case_id, metric, phase, coalesce(bool_or(involuntary_switches = 0), false) AS has_calm, min(duration_ns / loops) AS shortest
    FROM timings
    WHERE run_id IN (SELECT run_id FROM _touched) AND loops > 0 AND phase = 'steady'
    GROUP BY ALL
    HAVING count(*) FILTER (involuntary_switches > 0) >= 0.25::DOUBLE * count(*) AND (has_calm OR min(duration_ns) <= {slice_ns})
),
samples AS (
    SELECT
        timing.run_id, timing.case_id, timing.metric, timing.phase, 'ns' AS unit, 'lower' AS better, duration_ns / loops AS value,
        coalesce(process, block) AS process, NULL::BIGINT AS error_bound
    FROM timings AS timing
    LEFT JOIN busy_timings AS busy
        ON involuntary_switches > 0 AND timing.run_id = busy.run_id AND timing.case_id = busy.case_id
        AND timing.metric = busy.metric AND timing.phase = busy.phase
    WHERE loops > 0 AND (busy.run_id IS NULL OR NOT has_calm AND duration_ns / loops <= shortest)
    UNION ALL
    SELECT run_id, case_id, concat_ws('_', metric, statistic), phase, unit, better, value, block,
        CASE WHEN metric = 'first_call_rss_growth' THEN 1048576 END  -- of the same meter
    FROM metrics
    UNION ALL
    SELECT run_id, case_id, source || '_' || statistic, phase, 'bytes', 'lower', size_bytes, NULL,
        CASE WHEN error_bound_bytes > 0 THEN least(error_bound_bytes, 1048576) END
    FROM (
        SELECT
            *, first_value(device_index) OVER (
                PARTITION BY run_id, case_id, source, statistic, phase ORDER BY size_bytes DESC, device_index NULLS LAST
            ) AS fullest_device
        FROM memory_samples
        WHERE run_id IN (SELECT run_id FROM _touched)
    )
    WHERE device_index IS NOT DISTINCT FROM fullest_device
),
sorted_samples AS (
    SELECT run_id, case_id, metric, phase, unit, min(better) AS better, list_sort(list(value)) AS x, max(error_bound) AS error_bound
    FROM samples
    WHERE run_id IN (SELECT run_id FROM _touched) AND abs(value) < 1e150
    GROUP BY ALL
),
process_medians AS (
    SELECT run_id, case_id, metric, phase, process, median(value) AS value
    FROM samples
    WHERE process IS NOT NULL AND run_id IN (SELECT run_id FROM _touched) AND abs(value) < 1e150
    GROUP BY ALL
),
process_logs AS (
    SELECT
        run_id, case_id, metric, phase, count(*) AS processes,
        list_sort(list(CASE WHEN value > 0 THEN ln(value) END) FILTER (value > 0)) AS logs, list_median(logs) AS level,
        2.5::DOUBLE * 1.4826::DOUBLE * list_median(list_transform(logs, lambda x: abs(x - level))) AS usual_reach
    FROM process_medians
    GROUP BY ALL
),
process_spreads AS (
    SELECT
        own.* EXCLUDE (logs, level, usual_reach), busy.run_id IS NOT NULL AND len(logs) >= 8 AND usual_reach > 0 AS is_bounded,
        CASE WHEN is_bounded
            THEN list_transform(logs, lambda x: least(greatest(x, level - usual_reach), level + usual_reach)) ELSE logs
        END AS logs
    FROM process_logs AS own
    LEFT JOIN busy_timings AS busy
        ON own.run_id = busy.run_id AND own.case_id = busy.case_id AND own.metric = busy.metric AND own.phase = busy.phase
),
rank_positions AS (
    SELECT
        sorted_samples.*, processes, list_stddev_samp(logs) / CASE WHEN is_bounded THEN sqrt(0.9776::DOUBLE) ELSE 1 END AS process_spread,
        exp(list_avg(logs)) AS process_mean, len(x) AS n,
        (len(x) - 1) * 0.25::DOUBLE AS r1, (len(x) - 1) * 0.5::DOUBLE AS r2, (len(x) - 1) * 0.75::DOUBLE AS r3,
        CASE WHEN len(x) >= 6 THEN floor((len(x) + 1 - 1.959963984540054 * sqrt(len(x))) / 2)::BIGINT END AS k
    FROM sorted_samples
    LEFT JOIN process_spreads AS spread
        ON sorted_samples.run_id = spread.run_id AND sorted_samples.case_id = spread.case_id
        AND sorted_samples.metric = spread.metric AND sorted_samples.phase IS NOT DISTINCT FROM spread.phase
),
summaries AS (
    SELECT
        *, x[floor(r2)::BIGINT + 1] + (r2 - floor(r2)) * (x[ceil(r2)::BIGINT + 1] - x[floor(r2)::BIGINT + 1]) AS median,
        exp(_t975(processes - 1) * process_spread / sqrt(processes)) AS process_factor
    FROM rank_positions
)

SELECT
    run_id, run.config, case_id, axes.work_hash, {axes.axes},
    metric, phase, unit, better,
    n,
    x[1] AS minimum,
    x[floor(r1)::BIGINT + 1] + (r1 - floor(r1)) * (x[ceil(r1)::BIGINT + 1] - x[floor(r1)::BIGINT + 1]) AS q1,
    median,
    x[floor(r3)::BIGINT + 1] + (r3 - floor(r3)) * (x[ceil(r3)::BIGINT + 1] - x[floor(r3)::BIGINT + 1]) AS q3,
    x[n] AS maximum,
    list_avg(x) AS mean,
    list_stddev_samp(x) AS stdev,
    coalesce(least(x[k], median / process_factor, process_mean / process_factor), CASE WHEN error_bound > 0 THEN median END) AS median_low,
    _finite(CASE WHEN error_bound > 0 THEN coalesce(x[n + 1 - k], median) + error_bound
        ELSE greatest(x[n + 1 - k], median * process_factor, process_mean * process_factor) END) AS median_high,
    processes,
    process_spread
FROM summaries
LEFT JOIN _run_records AS run USING (run_id)
LEFT JOIN case_axes AS axes USING (case_id)
