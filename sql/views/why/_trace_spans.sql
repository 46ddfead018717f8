-- One row per span of traces: what began when, and how long it took.
--
-- arguments: runs
--
-- run_id   VARCHAR  Run of the trace.
-- line     BIGINT   Number of its record in the file.
-- kind     VARCHAR  Its category: kernel, gpu_memcpy, cpu_op, python_function …; span where it has none.
-- name     VARCHAR  Operator, kernel or call, without the hash and number of generated code.
-- case_id  VARCHAR  Case of its timings.
-- ns       BIGINT   How long it took.
-- start    BIGINT   When it began, ns on the clock of its trace; NULL where it is not said.
-- device   BOOLEAN  Whether it is time of a GPU.
-- lane     VARCHAR  Thread of the host; of a GPU the device.
WITH
named AS (
    SELECT
        run_id, case_id, coalesce(suite, 'span') AS kind, _part_name(name) AS name,
        coalesce(suite IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'graph_trace'), false) AS device
    FROM cases
),
timed AS (
    SELECT run_id, source_id, line, case_id, duration_ns::BIGINT AS ns, began_ns AS start, lane
    FROM timings
    WHERE list_contains(runs::VARCHAR[], run_id) AND duration_ns >= 0 AND duration_ns < 2::BIGINT ** 60
),
placeless AS (FROM timed WHERE lane IS NULL),  -- of a bench that kept its place among the other fields alone
texts AS (
    SELECT placeless.*, CASE WHEN json_valid(original_value) THEN original_value END AS fields
    FROM placeless
    JOIN metrics AS kept
        ON placeless.run_id = kept.run_id AND placeless.source_id IS NOT DISTINCT FROM kept.source_id AND placeless.line = kept.line
    WHERE metric = 'fields'
),
found AS (
    SELECT
        *, json_extract_string(fields, ['$.ts', '$.start', '$.pid', '$.tid', '$.globalTid', '$.args.device', '$.deviceId']) AS field
    FROM texts
)

SELECT timed.run_id, line, kind, name, timed.case_id, ns, start, device, lane
FROM timed
JOIN named ON timed.run_id = named.run_id AND timed.case_id = named.case_id
WHERE lane IS NOT NULL
UNION ALL
SELECT
    found.run_id, line, kind, name, found.case_id, ns,
    coalesce(TRY_CAST(TRY_CAST(field[1] AS DECIMAL(24, 3)) * 1000 AS BIGINT), TRY_CAST(field[2] AS BIGINT)), device,
    CASE WHEN device THEN coalesce(field[6], field[7], '') ELSE concat_ws('/', field[3], field[4], field[5]) END
FROM found
JOIN named ON found.run_id = named.run_id AND found.case_id = named.case_id
