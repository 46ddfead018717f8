-- One row per report × suite × mode × dtype × device × backend in which a case was judged: its place among those of its config.
-- A report is a run, or all parts of one night (see _report_runs).
--
-- axes: run
-- run_id        VARCHAR    Report: the id of its last run.
-- axes: panel
-- panel         VARCHAR    These five in one (see case_axes).
-- selection     VARCHAR    Models that `--only` chose; NULL for a whole plan.
-- began_at      TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- position      BIGINT     Place among the reports of its config and selection that ran the same, from 1, the oldest.
-- age           BIGINT     The same from the newest, 1.
-- previous_run  VARCHAR    The report before; NULL for the first.
WITH
panel_reports AS (
    SELECT DISTINCT report_id, run.config, suite, mode, dtype, device, backend, panel, selection, began_at
    FROM _summaries AS summary
    JOIN _report_runs AS run ON summary.run_id = run.run_id
)

SELECT
    report_id AS run_id, config, suite, mode, dtype, device, backend, panel, selection, began_at,
    row_number() OVER in_time AS position, count(*) OVER (PARTITION BY config, selection, panel) - position + 1 AS age,
    lag(report_id) OVER in_time AS previous_run
FROM panel_reports
WINDOW in_time AS (PARTITION BY config, selection, panel ORDER BY began_at NULLS FIRST, report_id)
