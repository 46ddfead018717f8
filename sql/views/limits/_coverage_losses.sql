-- One row per case of a report that passed in the report before and does not now: the rows of `coverage_losses`, of the reports `runs`;
-- NULL for all.
--
-- arguments: runs
--
-- axes: run, case without work_hash
-- run_id         VARCHAR  Report that lacks it, by its last run.
-- status         VARCHAR  What became of it: absent, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted …
-- reason         VARCHAR  Why, in one line.
-- before_run_id  VARCHAR  The report before, in which it passed, by its last run.
WITH
report_panels AS (
    SELECT DISTINCT report_id, run.config, selection, began_at, wanted, parts, panel, _setting(panel) AS setting
    FROM _summaries AS summary
    JOIN _report_runs AS run ON summary.run_id = run.run_id
    WHERE total + skipped > 0
),
report_settings AS (SELECT DISTINCT report_id, config, selection, began_at, wanted, parts, setting FROM report_panels),
turns AS (
    SELECT
        report_id, config, setting, lag(report_id) OVER same_setting AS before_id,
        parts >= coalesce(wanted, lag(parts) OVER same_setting) AS is_complete
    FROM report_settings
    WINDOW same_setting AS (PARTITION BY config, selection, setting ORDER BY began_at NULLS FIRST, report_id)
),
successive_reports AS (
    SELECT
        report_id, config, settings, lag(report_id) OVER successive AS before_id, lag(settings) OVER successive AS settings_before,
        lag(settings, 2) OVER successive AS earlier_settings,
        parts >= coalesce(wanted, lag(parts) OVER successive) AS is_complete
    FROM (
        SELECT report_id, config, selection, began_at, wanted, parts, list(setting) AS settings
        FROM report_settings
        GROUP BY report_id, config, selection, began_at, wanted, parts
    )
    WINDOW successive AS (PARTITION BY config, selection ORDER BY began_at NULLS FIRST, report_id)
),
usual_settings AS (
    SELECT *, list_filter(settings_before, lambda setting: list_contains(earlier_settings, setting)) AS usual
    FROM successive_reports
),
wanted_turns AS (  -- a gap is a usual setting of which nothing is left
    SELECT report_id, config, setting, before_id, is_complete
    FROM turns
    WHERE runs IS NULL OR list_contains(runs::VARCHAR[], report_id)
    UNION ALL
    SELECT report_id, config, setting, before_id, is_complete
    FROM (SELECT *, unnest(usual) AS setting FROM usual_settings WHERE list_has_any(settings, usual))
    WHERE NOT list_contains(settings, setting) AND (runs IS NULL OR list_contains(runs::VARCHAR[], report_id))
),
wanted_cases AS (SELECT * FROM _report_cases WHERE runs IS NULL OR list_contains(runs::VARCHAR[], report_id)),
wanted_outcomes AS (
    SELECT *
    FROM case_outcomes
    WHERE run_id IN (SELECT run_id FROM _report_runs WHERE runs IS NULL OR list_contains(runs::VARCHAR[], report_id))
)

SELECT
    turn.report_id AS run_id, turn.config, was.case_id, {was.axes},
    CASE WHEN now.case_id IS NULL THEN 'absent' WHEN now.status = 'ok' THEN now.reason ELSE now.status END AS status,
    CASE WHEN now.case_id IS NULL THEN 'the run did not announce it' ELSE outcome.reason END AS reason,
    turn.before_id AS before_run_id
FROM wanted_turns AS turn
JOIN report_panels AS before ON turn.before_id = before.report_id AND turn.setting = before.setting
JOIN _report_cases AS was ON before.report_id = was.report_id AND before.panel = was.panel
LEFT JOIN wanted_cases AS now ON turn.report_id = now.report_id AND was.same_id = now.same_id
LEFT JOIN wanted_outcomes AS outcome
    ON now.run_id = outcome.run_id AND now.case_id = outcome.case_id
    AND outcome.kind = CASE WHEN now.status = 'ok' THEN 'accuracy' ELSE 'performance' END
WHERE was.passing AND NOT coalesce(now.passing, false) AND (now.case_id IS NOT NULL OR is_complete)
