-- One row per case of a run: the number that stands for it with its doubt, its peak of memory, and how it ended.
-- That number is its warm latency, else the metric nearest to it that has a direction (see _headline_rank).
--
-- axes: run, case, value
-- value              DOUBLE   Median of the samples; NULL for a case without any number.
-- low                DOUBLE   Lower end of the 95 % interval of the value; NULL where nothing tells it.
-- high               DOUBLE   Upper end.
-- mean               DOUBLE   Arithmetic mean of the samples.
-- minimum            DOUBLE   Smallest of them.
-- n                  BIGINT   Samples.
-- spread             DOUBLE   Their standard deviation, as a fraction of the mean; NULL for one sample.
-- peak_memory_bytes  DOUBLE   Highest peak of memory: of the GPU's allocator, else what the call added to the process, else of
--                             the process, else as reported.
-- failures           DOUBLE   Calls or requests of it that failed; NULL where none was counted.
-- status             VARCHAR  How the case ended, of its accuracy if only that failed.
-- reason             VARCHAR  Why, in one line.
WITH
headlines AS (
    SELECT *
    FROM _all_cells
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id, case_id ORDER BY _headline_rank(metric, phase, unit, better), n DESC, metric, phase, unit
    )
),
tallies AS (
    SELECT
        run_id, case_id,
        coalesce(
            max(maximum) FILTER (metric = 'cuda_allocated_peak'), max(maximum) FILTER (metric = 'rss_growth_peak'),
            max(maximum) FILTER (metric = 'rss_peak'), max(maximum) FILTER (metric LIKE '%peak%' AND better = 'lower' AND unit = 'bytes')
        ) AS peak_memory_bytes,
        max(maximum) FILTER (_is_failures(metric)) AS failures
    FROM cells
    WHERE unit = 'bytes' AND phase IS DISTINCT FROM 'traced' OR _is_failures(metric)
    GROUP BY run_id, case_id
),
endings AS (
    SELECT
        run_id, case_id, min_by(status, (failed IS DISTINCT FROM true, kind <> 'performance')) AS status,
        min_by(reason, (failed IS DISTINCT FROM true, kind <> 'performance')) FILTER (kind = 'performance' OR failed) AS reason
    FROM case_outcomes
    GROUP BY run_id, case_id
)

SELECT
    coalesce(number.run_id, ending.run_id) AS run_id, run.config, coalesce(number.case_id, ending.case_id) AS case_id,
    axes.work_hash, {axes.axes},
    metric, phase, unit, better, median AS value, median_low AS low, median_high AS high, mean, minimum, n,
    CASE WHEN mean <> 0 THEN stdev / abs(mean) END AS spread, peak_memory_bytes, failures, ending.status, ending.reason
FROM headlines AS number
FULL JOIN endings AS ending ON number.run_id = ending.run_id AND number.case_id = ending.case_id
LEFT JOIN tallies ON tallies.run_id = coalesce(number.run_id, ending.run_id) AND tallies.case_id = coalesce(number.case_id, ending.case_id)
LEFT JOIN _run_records AS run ON run.run_id = coalesce(number.run_id, ending.run_id)
LEFT JOIN case_axes AS axes ON axes.case_id = coalesce(number.case_id, ending.case_id)
