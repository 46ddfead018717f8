-- One row per case that a run announced, for a case that several processes measured: how it ended in all of them.
-- The status is that of the first process that did not end well, else ok.
--
-- axes: run, case of case_id work_hash name backend parameters
-- status        VARCHAR    How it ended; NULL while it runs, or where it was killed.
-- reason        VARCHAR    Why, in one line.
-- failed        BIGINT     Processes in which it failed.
-- processes     BIGINT     Processes in which it ended; NULL where none did.
-- peak_bytes    BIGINT     What calls add to the process at most.
-- announced_at  TIMESTAMP  When the case was announced. UTC.
-- line          BIGINT     Its place among the cases of the run.
WITH
endings AS (
    SELECT
        run_id, case_id, status, reason,
        count(*) FILTER (kind = 'performance' AND status NOT IN ('ok', 'skipped')) OVER same_case AS failed,
        count(*) FILTER (kind = 'performance') OVER same_case AS processes
    FROM outcomes
    WINDOW same_case AS (PARTITION BY run_id, case_id)
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id, case_id
        ORDER BY status IN ('ok', 'pass', 'skipped'), kind = 'accuracy', recorded_at NULLS LAST, status, reason
    )
),
peaks AS (
    SELECT run_id, case_id, max(size_bytes) AS peak_bytes
    FROM memory_samples
    WHERE starts_with(source, 'rss_growth')
    GROUP BY run_id, case_id
)

SELECT
    announced.run_id, config, announced.case_id, work_hash, name, backend, parameters, endings.status, endings.reason,
    failed, processes, peak_bytes, announced.recorded_at AS announced_at, announced.line
FROM cases AS announced
LEFT JOIN _run_records AS run ON announced.run_id = run.run_id
LEFT JOIN endings ON announced.run_id = endings.run_id AND announced.case_id = endings.case_id
LEFT JOIN peaks ON announced.run_id = peaks.run_id AND announced.case_id = peaks.case_id
