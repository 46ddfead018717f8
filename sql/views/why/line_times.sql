-- One row per case × source line at which a call spends time, as `bench measure function --lines` samples it.
-- Shares of a case add up to 1. Time in a library belongs to the line of the user's code that called it.
--
-- axes: run, case without work_hash
-- file      VARCHAR  Source file, from the folder where it was measured; empty for what no line of a file does.
-- function  VARCHAR  Function that the line belongs to.
-- line      BIGINT   Line in the file, from 1; 0 for what no line of a file does.
-- text      VARCHAR  Source text of the line.
-- share     DOUBLE   Share of the time of a call, 0 to 1: mean over processes.
-- error     DOUBLE   Half-width of its 95 % interval, from how processes differ (Student's t); NULL of one process.
-- n         BIGINT   Processes that were sampled.
WITH
shares AS (
    SELECT
        run_id, case_id, original_value AS place, avg(value) AS share,
        _t975(count(value) - 1) * stddev_samp(value) / sqrt(count(value)) AS error, count(value) AS n
    FROM (SELECT run_id, case_id, metric, original_value, CASE WHEN value BETWEEN 0 AND 1 THEN value END AS value FROM metrics)
    WHERE metric = 'line_time' AND json_valid(original_value)
    GROUP BY run_id, case_id, original_value
)

SELECT
    shares.run_id, config, shares.case_id, {axes},
    json_extract_string(place, '$.file') AS file, json_extract_string(place, '$.function') AS function,
    TRY_CAST(json_extract_string(place, '$.line') AS BIGINT) AS line, json_extract_string(place, '$.text') AS text,
    share, error, n
FROM shares
JOIN case_axes ON shares.case_id = case_axes.case_id
LEFT JOIN _run_records AS run ON shares.run_id = run.run_id
