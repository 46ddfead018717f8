-- One row per run of the same config before a run that it can be compared with: the best to compare with has place 1.
-- That is the newest of those that measured every suite, mode, dtype and device of its cases; else the newest that measured any.
-- To a run without cases all are alike. Other parts of its own report (see _report_runs) are none of them.
--
-- arguments: own_run
--
-- run_id  VARCHAR  Run before.
-- place   BIGINT   Its place, from 1.
WITH
run_settings AS (SELECT DISTINCT run_id, _setting(panel) AS setting FROM _summaries WHERE total + skipped > 0),
own_settings AS (SELECT setting FROM run_settings WHERE run_id = own_run),
shared_settings AS (
    SELECT run_id, count(*) AS shared
    FROM run_settings
    WHERE setting IN (SELECT setting FROM own_settings)
    GROUP BY run_id
),
own_report AS (
    SELECT part.run_id
    FROM _report_runs AS part
    JOIN _report_runs AS own ON part.report_id = own.report_id
    WHERE own.run_id = own_run
),
runs_before AS (
    SELECT other.run_id, other.began_at, coalesce(shared, 0) AS shared, (SELECT count(*) FROM own_settings) AS settings
    FROM _run_times AS own
    JOIN _run_times AS other ON own.config = other.config
    LEFT JOIN shared_settings ON other.run_id = shared_settings.run_id
    ANTI JOIN own_report ON other.run_id = own_report.run_id
    WHERE own.run_id = own_run AND (other.began_at, other.run_id) < (own.began_at, own.run_id)
)

SELECT
    run_id, row_number() OVER (ORDER BY shared = settings DESC, began_at DESC NULLS LAST, run_id DESC) AS place
FROM runs_before
WHERE shared > 0 OR settings = 0
