-- One row per case of a report that passed in the report before and does not now: absent, failed, wrong, without its speedup.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them; while
-- parts are to come, nothing is absent. The report before is the last one of the same config and `--only` that had any case of
-- the same suite, mode, device and dtype, so that reports which take turns at suites or dtypes miss nothing of one another, and
-- a backend that is gone is missed. A suite, mode, device or dtype of which nothing is left is missed if the two reports before
-- had it, and share something else with this one. A model that failed is the same case even where its batch size is unknown
-- then (see _same_cases). Runs made to confirm another neither lose nor count.
--
-- axes: run, case without work_hash
-- run_id         VARCHAR  Report that lacks it, by its last run.
-- status         VARCHAR  What became of it: absent, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted …
-- reason         VARCHAR  Why, in one line.
-- before_run_id  VARCHAR  The report before, in which it passed, by its last run.
WITH
parts AS (
    SELECT DISTINCT report_id, run.config, selection, began_at, wanted, parts, suite, mode, device, dtype
    FROM case_summaries AS summary
    JOIN _report_runs AS run ON summary.run_id = run.run_id
),
turns AS (
    SELECT
        report_id, config, suite, mode, device, dtype, lag(report_id) OVER same_part AS before_id,
        parts >= coalesce(wanted, lag(parts) OVER same_part) AS is_complete
    FROM parts
    WINDOW same_part AS (
        PARTITION BY config, selection, suite, mode, device, dtype ORDER BY began_at NULLS FIRST, report_id
    )
),
whole AS (
    SELECT
        report_id, config, had, lag(report_id) OVER successive AS before_id, lag(had) OVER successive AS had_before,
        lag(had, 2) OVER successive AS had_earlier, parts >= coalesce(wanted, lag(parts) OVER successive) AS is_complete
    FROM (
        SELECT report_id, config, selection, any_value(began_at) AS began_at, any_value(parts) AS parts, any_value(wanted) AS wanted,
            list({'suite': suite, 'mode': mode, 'device': device, 'dtype': dtype}) AS had
        FROM parts
        GROUP BY report_id, config, selection
    )
    WINDOW successive AS (PARTITION BY config, selection ORDER BY began_at NULLS FIRST, report_id)
),
usually AS (
    SELECT *, list_filter(had_before, lambda part: list_contains(had_earlier, part)) AS usual
    FROM whole
),
missing AS (
    FROM turns
    UNION ALL
    SELECT report_id, config, part.suite, part.mode, part.device, part.dtype, before_id, is_complete
    FROM (SELECT *, unnest(usual) AS part FROM usually WHERE list_has_any(had, usual))
    WHERE NOT list_contains(had, part)
)

SELECT
    turn.report_id AS run_id, turn.config, was.case_id, was.suite, was.name, was.mode, was.device, was.dtype, was.backend,
    was.batch_size, was.sequence_length, was.parameters,
    CASE WHEN now.case_id IS NULL THEN 'absent' WHEN now.status = 'ok' THEN now.reason ELSE now.status END AS status,
    CASE WHEN now.case_id IS NULL THEN 'the run did not announce it' ELSE outcome.reason END AS reason,
    turn.before_id AS before_run_id
FROM missing AS turn
JOIN _report_cases AS was
    ON turn.before_id = was.report_id AND turn.suite IS NOT DISTINCT FROM was.suite
    AND turn.mode IS NOT DISTINCT FROM was.mode AND turn.device IS NOT DISTINCT FROM was.device
    AND turn.dtype IS NOT DISTINCT FROM was.dtype
LEFT JOIN _report_cases AS now ON turn.report_id = now.report_id AND was.same_id = now.same_id
LEFT JOIN case_outcomes AS outcome
    ON now.run_id = outcome.run_id AND now.case_id = outcome.case_id
    AND outcome.kind = CASE WHEN now.status = 'ok' THEN 'accuracy' ELSE 'performance' END
WHERE was.passing AND NOT coalesce(now.passing, false) AND (now.case_id IS NOT NULL OR is_complete)
