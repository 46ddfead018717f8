-- One row per case, kind of memory and source line of a traced program: what the line had added to memory when that was highest;
-- of a snapshot of torch's allocator one per call path: what it had asked for that lived then.
-- The rows of a kind of memory add up to its peak, the first such moment. What a line gave back counts for the line that gave it
-- back, as in `line_memory`; a call path has what it took, whoever gave it back.
--
-- axes: run
-- case_id            VARCHAR  Case traced.
-- source             VARCHAR  rss, cuda_allocated …
-- device_index       BIGINT   GPU; NULL for the host.
-- file               VARCHAR  Source file; empty for memory before the first line and beside all lines.
-- line               BIGINT   Line in the source file, from 1; 0 where there is none.
-- function           VARCHAR  Function the line belongs to; where it is not known the place: 'before the first line', 'elsewhere'.
-- text               VARCHAR  Source text of the line; of a call path its callers; empty where they are not known.
-- size_bytes         BIGINT   Sum of its changes up to the peak.
-- readings           BIGINT   Readings of memory at the line up to the peak; 0 of a call path, whose bytes are exact.
-- error_bound_bytes  BIGINT   How far below the truth a reading may lie; NULL unknown.
WITH
peaks AS (
    SELECT run_id, case_id, source, device_index, arg_max(step, (size_bytes, -step::HUGEINT)) AS peak_step
    FROM memory_steps
    GROUP BY run_id, case_id, source, device_index
),
changes AS (
    SELECT
        step.run_id, step.case_id, step.source, step.device_index, step.error_bound_bytes,
        CASE WHEN change_bytes IS NULL THEN 'before the first line' ELSE place END AS place, coalesce(change_bytes, size_bytes) AS bytes
    FROM memory_steps AS step
    JOIN peaks
        ON step.run_id = peaks.run_id AND step.case_id = peaks.case_id AND step.source IS NOT DISTINCT FROM peaks.source
        AND step.device_index IS NOT DISTINCT FROM peaks.device_index
    WHERE step <= peak_step
),
sums AS (
    SELECT
        run_id, case_id, source, device_index, place, _total(bytes) AS size_bytes, count(*) AS readings,
        max(error_bound_bytes) AS error_bound_bytes
    FROM changes
    GROUP BY run_id, case_id, source, device_index, place
),
texts AS (
    SELECT run_id, case_id, file || ':' || line AS place, any_value(function) AS function, any_value(text) AS text
    FROM memory_lines
    GROUP BY run_id, case_id, file, line
),
traced AS (
    SELECT
        sums.run_id, sums.case_id, sums.source, sums.device_index, regexp_extract(sums.place, '^(.*):\d{1,9}$', 1) AS file,
        coalesce(TRY_CAST(nullif(regexp_extract(sums.place, ':(\d{1,9})$', 1), '') AS BIGINT), 0) AS line,
        coalesce(function, sums.place) AS function, coalesce(text, '') AS text, size_bytes, readings, error_bound_bytes
    FROM sums
    LEFT JOIN texts ON sums.run_id = texts.run_id AND sums.case_id = texts.case_id AND sums.place = texts.place
),
gpus AS (
    SELECT run_id, case_id, any_value(device_index) AS device_index
    FROM memory_samples
    WHERE source = 'cuda_allocated' AND statistic = 'peak'
    GROUP BY run_id, case_id
),
live AS (
    SELECT
        live.run_id, live.case_id, 'cuda_allocated' AS source, device_index, coalesce(json_extract_string(original_value, '$.file'), '') AS file,
        coalesce(TRY_CAST(json_extract_string(original_value, '$.line') AS BIGINT), 0) AS line,
        coalesce(json_extract_string(original_value, '$.function'), '') AS function,
        coalesce(json_extract_string(original_value, '$.text'), '') AS text,
        _total(value::BIGINT) AS size_bytes, 0::BIGINT AS readings, 0::BIGINT AS error_bound_bytes
    FROM metrics AS live
    LEFT JOIN gpus ON live.run_id = gpus.run_id AND live.case_id = gpus.case_id
    WHERE metric = 'live_at_peak' AND json_valid(original_value) AND value BETWEEN 0 AND 1e18
    GROUP BY ALL
)

SELECT
    part.run_id, run.config, case_id, part.source, device_index, file, line, function, text, size_bytes, readings, error_bound_bytes
FROM (FROM traced UNION ALL FROM live) AS part
LEFT JOIN _run_records AS run ON part.run_id = run.run_id
