-- One row per span of traces: what began when, and how long it took.
--
-- arguments: runs
--
-- run_id   VARCHAR  Run of the trace.
-- line     BIGINT   Number of its record in the file.
-- kind     VARCHAR  Its category: kernel, gpu_memcpy, cpu_op, python_function …
-- name     VARCHAR  Operator, kernel or call, without the hash and number of generated code.
-- case_id  VARCHAR  Case of its timings.
-- ns       BIGINT   How long it took.
-- start    BIGINT   When it began, ns on the clock of its trace; NULL where it is not said.
-- device   BOOLEAN  Whether it is time of a GPU.
-- lane     VARCHAR  Thread of the host; of a GPU the device.
WITH
fields AS (
    SELECT
        run_id, source_id, line, case_id,
        json_extract_string(
            CASE WHEN json_valid(original_value) THEN original_value END,
            ['$.ts', '$.start', '$.pid', '$.tid', '$.globalTid', '$.args.device', '$.deviceId']
        ) AS field
    FROM metrics
    WHERE metric = 'fields' AND list_contains(runs::VARCHAR[], run_id)
),
named AS (SELECT run_id, case_id, suite, _part_name(name) AS name FROM cases)

SELECT
    timed.run_id, timed.line, suite AS kind, name, timed.case_id, duration_ns::BIGINT AS ns,
    coalesce(TRY_CAST(TRY_CAST(field[1] AS DECIMAL(24, 3)) * 1000 AS BIGINT), TRY_CAST(field[2] AS BIGINT)) AS start,
    suite IN ('kernel', 'gpu_memcpy', 'gpu_memset') AS device,
    CASE
        WHEN suite IN ('kernel', 'gpu_memcpy', 'gpu_memset') THEN coalesce(field[6], field[7], '')
        ELSE concat_ws('/', field[3], field[4], field[5])
    END AS lane
FROM timings AS timed
JOIN fields ON timed.run_id = fields.run_id AND timed.source_id IS NOT DISTINCT FROM fields.source_id AND timed.line = fields.line
JOIN named ON timed.run_id = named.run_id AND timed.case_id = named.case_id
WHERE list_contains(runs::VARCHAR[], timed.run_id) AND duration_ns >= 0 AND duration_ns < 2::BIGINT ** 60
