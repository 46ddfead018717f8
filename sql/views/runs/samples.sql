-- One row per timing, scalar and reading of memory: what `cells` are the summaries of, value by value.
--
-- axes: run, case without work_hash
-- metric       VARCHAR    What was measured; of memory the source of the reading.
-- statistic    VARCHAR    Aggregate it is: mean, p99, peak …; NULL for one observation.
-- axes: value without metric
-- unit         VARCHAR    Unit of the value: ns, bytes, ratio, count …
-- value        DOUBLE     Of one call, where several were timed together; NULL where what was measured was no number.
-- loops        BIGINT     Calls timed together; NULL for what was not timed.
-- sample       BIGINT     Number of the sample within its case, from 0; NULL for an aggregate.
-- process      BIGINT     Worker process within the run, from 0.
-- recorded_at  TIMESTAMP  When it was recorded.
WITH
events AS (
    SELECT
        run_id, case_id, metric, NULL::VARCHAR AS statistic, phase, 'ns' AS unit, 'lower' AS better,
        duration_ns / loops AS value, loops, sample, process, recorded_at
    FROM timings
    WHERE loops > 0
    UNION ALL
    SELECT run_id, case_id, metric, statistic, phase, unit, better, value, NULL, sample, NULL, recorded_at
    FROM metrics
    UNION ALL
    SELECT run_id, case_id, source, statistic, phase, 'bytes', 'lower', size_bytes, NULL, NULL, NULL, recorded_at
    FROM memory_samples
),
axes AS (  -- a case may have been announced twice, by the run and by its worker
    SELECT
        run_id, case_id, {axis: min(axis) AS axis}
    FROM cases
    GROUP BY run_id, case_id
)

SELECT
    run_id, run.config, case_id, {axes.axes},
    metric, statistic, phase, unit, better, _finite(value) AS value, loops, sample,
    process, recorded_at
FROM events
LEFT JOIN _run_records AS run USING (run_id)
LEFT JOIN axes USING (run_id, case_id)
