-- One row per case and kind of memory of a traced program: what the whole program did to it.
--
-- run_id             VARCHAR  Run it was measured in.
-- case_id            VARCHAR  Case traced.
-- source             VARCHAR  rss, cuda_allocated …
-- device_index       BIGINT   GPU; NULL for the host.
-- start_bytes        BIGINT   Memory before the first line.
-- end_bytes          BIGINT   Memory after the last.
-- peak_bytes         BIGINT   Highest in between.
-- peak_place         VARCHAR  Source line at which that was first, as FILE:LINE, or 'elsewhere'.
-- increase_bytes     BIGINT   Sum of the lines' increases, without what they gave back; NULL where no line ran.
-- decrease_bytes     BIGINT   Sum of the lines' decreases.
-- error_bound_bytes  BIGINT   How far below the truth a size may lie; NULL unknown.
WITH
steps AS (
    SELECT
        run_id, case_id, source, device_index, arg_min(size_bytes, step) AS start_bytes,
        arg_max(size_bytes, step) AS end_bytes, max(size_bytes) AS peak_bytes, arg_max(place, (size_bytes, -step::HUGEINT)) AS peak_place,
        max(error_bound_bytes) AS error_bound_bytes
    FROM memory_steps
    GROUP BY run_id, case_id, source, device_index
),
lines AS (
    SELECT
        run_id, case_id, source, device_index, _total(increase_bytes) AS increase_bytes,
        _total(decrease_bytes) AS decrease_bytes
    FROM line_memory
    GROUP BY run_id, case_id, source, device_index
)

SELECT
    steps.run_id, steps.case_id, steps.source, steps.device_index, start_bytes, end_bytes, peak_bytes, peak_place,
    increase_bytes, decrease_bytes, error_bound_bytes
FROM steps
LEFT JOIN lines
    ON steps.run_id = lines.run_id AND steps.case_id = lines.case_id AND steps.source = lines.source
    AND steps.device_index IS NOT DISTINCT FROM lines.device_index
