-- One row per case and source of memory readings: the highest it reached, over all phases but that of a trace beside.
--
-- axes: run, case
-- case_id            VARCHAR  Case; NULL where it concerns the run as a whole.
-- source             VARCHAR  rss, cuda_allocated, cuda_reserved, nvml …
-- peak_bytes         BIGINT   Highest peak or reading.
-- error_bound_bytes  BIGINT   How far below the truth it may lie; NULL unknown.
-- n                  BIGINT   Peaks and readings it is the highest of.
WITH
peaks AS (
    SELECT
        run_id, case_id, source, max(size_bytes) AS peak_bytes,
        max(error_bound_bytes) FILTER (size_bytes = highest) AS error_bound_bytes, count(*) AS n
    FROM (
        SELECT *, max(size_bytes) OVER (PARTITION BY run_id, case_id, source) AS highest
        FROM memory_samples
        WHERE phase IS DISTINCT FROM 'traced'
    )
    GROUP BY run_id, case_id, source
)

SELECT
    peaks.run_id, run.config, peaks.case_id, axes.work_hash, {axes.axes},
    source, peak_bytes, error_bound_bytes, n
FROM peaks
LEFT JOIN _run_records AS run ON peaks.run_id = run.run_id
LEFT JOIN case_axes AS axes ON peaks.case_id = axes.case_id
