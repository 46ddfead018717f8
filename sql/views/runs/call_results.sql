-- One row per case of a measurement whose calls are runs of their own (`bench measure command --results`): its calls together.
--
-- axes: run, case, value
-- calls              VARCHAR  Measurement: the tag that its runs share; the run is the newest of them.
-- value              DOUBLE   Median of the values of its calls (see case_results).
-- low                DOUBLE   Lower end of the 95 % interval of the value: value / exp(t · s / √n), with s the standard deviation of
--                             ln(value) from call to call and Student's t of n - 1 degrees of freedom; NULL of one call.
-- high               DOUBLE   Upper end, of the same factor.
-- mean               DOUBLE   Arithmetic mean of the calls' means.
-- minimum            DOUBLE   Smallest sample of all.
-- n                  BIGINT   Calls.
-- spread             DOUBLE   Standard deviation of the calls' values, as a fraction of their mean.
-- peak_memory_bytes  DOUBLE   Highest of all calls.
-- failures           DOUBLE   Failed calls or requests of all of them; NULL where none was counted.
-- status             VARCHAR  How the case ended; a case that ended otherwise in some calls has a row for those.
-- reason             VARCHAR  Why, in one line.
WITH
calls AS (
    SELECT result.*, json_extract_string(tags, '$.calls') AS calls, began_at
    FROM case_results AS result
    JOIN _run_records AS run ON result.run_id = run.run_id
    JOIN _run_times AS time ON result.run_id = time.run_id
    WHERE json_extract_string(tags, '$.calls') IS NOT NULL
),
newest_runs AS (
    SELECT config, calls, max_by(run_id, (began_at, run_id)) AS run_id
    FROM calls
    GROUP BY config, calls
),
pooled AS (
    SELECT
        config, calls, case_id, metric, phase, unit, better, status, median(value) AS value,
        list_avg(list_sort(list(mean))) AS mean, min(minimum) AS minimum, count(*) AS n,
        list_stddev_samp(list_sort(list(value))) AS stdev, list_avg(list_sort(list(value))) AS mean_value,
        list_stddev_samp(list_sort(list(ln(value)) FILTER (value > 0))) AS log_stdev,
        max(peak_memory_bytes) AS peak_memory_bytes, sum(failures) AS failures, min(reason) AS reason
    FROM calls
    GROUP BY config, calls, case_id, metric, phase, unit, better, status
),
widths AS (
    SELECT *, exp(_t975(n - 1) * log_stdev / sqrt(n)) AS factor
    FROM pooled
)

SELECT
    run_id, own.config, own.case_id, axes.work_hash, {axes.axes},
    metric, phase, unit, better, own.calls, value, value / factor AS low, _finite(value * factor) AS high, mean, minimum, n,
    CASE WHEN mean_value <> 0 THEN stdev / abs(mean_value) END AS spread, peak_memory_bytes, failures, status, reason
FROM widths AS own
JOIN newest_runs AS newest ON own.config = newest.config AND own.calls = newest.calls
LEFT JOIN case_axes AS axes ON own.case_id = axes.case_id
