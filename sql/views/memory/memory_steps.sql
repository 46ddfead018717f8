-- One row per reading of a traced program at which memory was not what it had been: the program's memory in sequence.
--
-- run_id             VARCHAR    Run it was measured in.
-- case_id            VARCHAR    Case traced.
-- source             VARCHAR    rss, cuda_allocated …
-- device_index       BIGINT     GPU; NULL for the host.
-- step               BIGINT     Number of the reading, from 1.
-- place              VARCHAR    Source line that had run, as FILE:LINE, or 'elsewhere'.
-- recorded_at        TIMESTAMP  When it was read.
-- size_bytes         BIGINT     Memory then; a peak within a line is a reading of its own, just before the line's end.
-- error_bound_bytes  BIGINT     How far below the truth it may lie; NULL unknown.
-- change_bytes       BIGINT     Difference from the reading before it; NULL for the first.
SELECT
    run_id, case_id, source, device_index, line AS step, place, recorded_at, size_bytes, error_bound_bytes,
    _difference(size_bytes, lag(size_bytes) OVER (PARTITION BY run_id, case_id, source, device_index ORDER BY line)) AS change_bytes
FROM memory_samples
WHERE place IS NOT NULL AND statistic = 'reading'
