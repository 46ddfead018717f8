-- One row per run × suite × mode × dtype × device × backend in which a case was judged: its place among those of its config.
-- Runs made to confirm another are no reports (see _whole_runs).
--
-- axes: run, panel
-- began_at      TIMESTAMP  When the run began; for an import that does not say, when it was loaded. UTC.
-- position      BIGINT     Place among the runs of its config that ran the same, from 1, the oldest.
-- age           BIGINT     The same from the newest, 1.
-- previous_run  VARCHAR    The one before; NULL for the first.
SELECT
    run_id, config, suite, mode, dtype, device, backend, began_at,
    row_number() OVER in_time AS position,
    count(*) OVER (PARTITION BY config, suite, mode, dtype, device, backend) - position + 1 AS age,
    lag(run_id) OVER in_time AS previous_run
FROM (SELECT run_id, config, suite, mode, dtype, device, backend FROM _summaries)
JOIN (SELECT run_id, began_at FROM _whole_runs) USING (run_id)
WINDOW in_time AS (PARTITION BY config, suite, mode, dtype, device, backend ORDER BY began_at NULLS FIRST, run_id)
