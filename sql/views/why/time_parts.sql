-- One row per case × part of the time of a call: a source line, as `bench measure lines` and `--lines` sample it, or an operator
-- of torch or a kernel of a GPU, as `bench measure models --profile` records them.
-- Shares of a case and kind add up to 1. Time in a library belongs to the line of the user's code that called it.
--
-- axes: run, case without work_hash
-- kind      VARCHAR  line, operator or kernel.
-- file      VARCHAR  Source file, from the folder where it was measured; empty for what no line of a file does.
-- function  VARCHAR  Function that the line belongs to, operator or kernel; empty for what is none of them.
-- line      BIGINT   Line in the file, from 1; 0 for what no line of a file does.
-- text      VARCHAR  Source text of the line.
-- calls     DOUBLE   How often a call runs the operator or kernel; NULL of a line.
-- share     DOUBLE   Share of the time of a call, 0 to 1: mean over processes that the profiler ran in.
-- error     DOUBLE   Half-width of its 95 % interval, from how processes differ (Student's t); NULL of a single one.
-- n         BIGINT   Processes.
-- slowdown  DOUBLE   Time of a call while it was profiled / without the profiler; of a line processor time; NULL where that is not known.
WITH
shares AS (
    SELECT
        run_id, case_id, metric, original_value AS place, avg(value) AS share,
        _t975(count(value) - 1) * stddev_samp(value) / sqrt(count(value)) AS error, count(value) AS n
    FROM (SELECT run_id, case_id, metric, original_value, CASE WHEN value BETWEEN -1000 AND 1000 THEN value END AS value FROM metrics)
    WHERE metric IN ('line_time', 'operator_part', 'kernel_part') AND json_valid(original_value)
    GROUP BY run_id, case_id, metric, original_value
),
slowed AS (
    SELECT
        run_id, case_id, median(value) FILTER (original_value IS NULL) AS slowdown,
        median(value) FILTER (original_value = 'line') AS slowdown_of_lines  -- of a case that torch's profiler slows, too
    FROM metrics
    WHERE metric = 'profiler_slowdown' AND value BETWEEN 1e-3 AND 1e3
    GROUP BY run_id, case_id
)

SELECT
    shares.run_id, config, shares.case_id, {axes}, regexp_replace(metric, '_.*', '') AS kind,
    coalesce(json_extract_string(place, '$.file'), '') AS file, json_extract_string(place, '$.function') AS function,
    coalesce(TRY_CAST(json_extract_string(place, '$.line') AS BIGINT), 0) AS line,
    coalesce(json_extract_string(place, '$.text'), '') AS text, TRY_CAST(json_extract_string(place, '$.calls') AS DOUBLE) AS calls,
    share, error, n, CASE metric WHEN 'line_time' THEN coalesce(slowdown_of_lines, slowdown) ELSE slowdown END AS slowdown
FROM shares
JOIN case_axes ON shares.case_id = case_axes.case_id
LEFT JOIN slowed ON shares.run_id = slowed.run_id AND shares.case_id = slowed.case_id
LEFT JOIN _run_records AS run ON shares.run_id = run.run_id
