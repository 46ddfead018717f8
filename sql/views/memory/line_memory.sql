-- One row per case, kind of memory and source line of a traced program: what the line did to memory.
-- A line's own increases and decreases add up to those of the program: a rise is counted once, at the innermost traced
-- line at work. Start, peak, end and transient include what the line called, so they do not add up.
--
-- axes: run
-- case_id            VARCHAR  Case traced.
-- name               VARCHAR  Script, module or callable traced.
-- source             VARCHAR  rss, cuda_allocated …
-- device_index       BIGINT   GPU; NULL for the host.
-- file               VARCHAR  Source file.
-- line               BIGINT   Line in the source file, from 1.
-- function           VARCHAR  Function the line belongs to.
-- text               VARCHAR  Source text of the line.
-- hits               BIGINT   Times the line ran.
-- start_bytes        BIGINT   Memory before the line, at its largest peak.
-- peak_bytes         BIGINT   Highest memory while the line ran, and what it called.
-- end_bytes          BIGINT   Memory after the line, at its largest peak.
-- transient_bytes    BIGINT   Most that a run of it took and gave back.
-- increase_bytes     BIGINT   Sum of what memory rose by at the line itself.
-- decrease_bytes     BIGINT   Sum of what it fell by there.
-- growth_bytes       BIGINT   increase - decrease; where a writer gave neither, end - start.
-- error_bound_bytes  BIGINT   How far below the truth a size may lie; NULL unknown.
-- growth_rank        BIGINT   1 for the line that grew memory most.
-- shrink_rank        BIGINT   1 for the line that grew it least, or gave back most.
-- transient_rank     BIGINT   1 for the line with the largest transient; NULL where there is none.
WITH
case_names AS (SELECT run_id, case_id, min(name) AS name FROM cases GROUP BY run_id, case_id),
lines AS (
    SELECT
        * REPLACE (coalesce(source, 'rss') AS source),
        coalesce(_difference(increase_bytes, decrease_bytes), _difference(end_bytes, start_bytes)) AS growth_bytes
    FROM memory_lines
)

SELECT
    lines.run_id, run.config, lines.case_id, case_names.name, source, device_index, file, line, function, text, hits,
    start_bytes, peak_bytes, end_bytes, transient_bytes, increase_bytes, decrease_bytes, growth_bytes, error_bound_bytes,
    row_number() OVER (
        PARTITION BY lines.run_id, lines.case_id, source, device_index
        ORDER BY growth_bytes DESC, peak_bytes DESC, file, line
    ) AS growth_rank,
    row_number() OVER (
        PARTITION BY lines.run_id, lines.case_id, source, device_index
        ORDER BY growth_bytes, peak_bytes, file, line
    ) AS shrink_rank,
    CASE WHEN transient_bytes > 0 THEN row_number() OVER (
        PARTITION BY lines.run_id, lines.case_id, source, device_index
        ORDER BY transient_bytes DESC NULLS LAST, peak_bytes DESC, file, line
    ) END AS transient_rank
FROM lines
LEFT JOIN _run_records AS run ON lines.run_id = run.run_id
LEFT JOIN case_names ON lines.run_id = case_names.run_id AND lines.case_id = case_names.case_id
