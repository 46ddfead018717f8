-- One row per run of the same config before a run that it can be compared with: the best to compare with has place 1.
-- That is the newest of those that measured every suite, mode, dtype and device of its cases; else the newest that measured any.
-- To a run without cases all are alike. Other parts of its own report (see _report_runs) are none of them.
--
-- arguments: own_run
--
-- run_id  VARCHAR  Run before.
-- place   BIGINT   Its place, from 1.
WITH
panels AS (
    SELECT DISTINCT run_id, suite, mode, dtype, device
    FROM case_summaries
),
own_panels AS (
    SELECT suite, mode, dtype, device
    FROM panels
    WHERE run_id = own_run
),
shared AS (
    SELECT panels.run_id, count(*) AS shared_panels
    FROM panels
    JOIN own_panels AS own
        ON panels.suite IS NOT DISTINCT FROM own.suite AND panels.mode IS NOT DISTINCT FROM own.mode
        AND panels.dtype IS NOT DISTINCT FROM own.dtype AND panels.device IS NOT DISTINCT FROM own.device
    GROUP BY panels.run_id
),
own_report AS (
    SELECT part.run_id
    FROM _report_runs AS part
    JOIN _report_runs AS own ON part.report_id = own.report_id
    WHERE own.run_id = own_run
),
runs_before AS (
    SELECT other.run_id, other.began_at, coalesce(shared_panels, 0) AS shared_panels, (SELECT count(*) FROM own_panels) AS all_panels
    FROM _run_times AS own
    JOIN _run_times AS other ON own.config = other.config
    LEFT JOIN shared ON other.run_id = shared.run_id
    ANTI JOIN own_report ON other.run_id = own_report.run_id
    WHERE own.run_id = own_run AND (other.began_at, other.run_id) < (own.began_at, own.run_id)
)

SELECT
    run_id, row_number() OVER (ORDER BY shared_panels = all_panels DESC, began_at DESC NULLS LAST, run_id DESC) AS place
FROM runs_before
WHERE shared_panels > 0 OR all_panels = 0
