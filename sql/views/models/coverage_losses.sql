-- One row per case of a run that passed in the run before and does not now: absent, failed, wrong, without its speedup.
-- The run before is the last one of the same config that had any case of the same suite, mode, device and dtype, so that
-- runs which take turns at suites or dtypes miss nothing of one another, and a backend that is gone is missed. A suite, mode,
-- device or dtype of which nothing is left is missed if the two runs before had it, and share something else with this one.
-- A model that failed is the same case even where its batch size is unknown then (see _same_cases).
-- Runs made to confirm another neither lose nor count (see _whole_runs).
--
-- axes: run, case without work_hash
-- run_id         VARCHAR  Run that lacks it.
-- status         VARCHAR  What became of it: absent, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted …
-- reason         VARCHAR  Why, in one line.
-- before_run_id  VARCHAR  The run before, in which it passed.
WITH
parts AS (
    SELECT DISTINCT run_id, config, suite, mode, device, dtype
    FROM case_summaries
),
turns AS (
    SELECT
        parts.*,
        lag(run_id) OVER (PARTITION BY config, suite, mode, device, dtype ORDER BY began_at NULLS FIRST, run_id) AS before_run_id
    FROM parts
    JOIN (SELECT run_id, began_at FROM _whole_runs) USING (run_id)
),
whole AS (
    SELECT
        run_id, config, had, lag(run_id) OVER successive AS before_run_id, lag(had) OVER successive AS had_before,
        lag(had, 2) OVER successive AS had_earlier
    FROM (
        SELECT run_id, config, any_value(began_at) AS began_at,
            list({'suite': suite, 'mode': mode, 'device': device, 'dtype': dtype}) AS had
        FROM parts
        JOIN (SELECT run_id, began_at FROM _whole_runs) USING (run_id)
        GROUP BY run_id, config
    )
    WINDOW successive AS (PARTITION BY config ORDER BY began_at NULLS FIRST, run_id)
),
usually AS (
    SELECT *, list_filter(had_before, lambda part: list_contains(had_earlier, part)) AS usual
    FROM whole
),
missing AS (
    FROM turns
    UNION ALL
    SELECT run_id, config, part.suite, part.mode, part.device, part.dtype, before_run_id
    FROM (SELECT *, unnest(usual) AS part FROM usually WHERE list_has_any(had, usual))
    WHERE NOT list_contains(had, part)
),
endings AS (
    SELECT summary.run_id, summary.case_id, coalesce(same_id, summary.case_id) AS same_id, status, passing, reason
    FROM case_summaries AS summary
    LEFT JOIN _same_cases AS same ON summary.run_id = same.run_id AND summary.case_id = same.case_id
)

SELECT
    turn.run_id, turn.config, was.case_id, was.suite, was.name, was.mode, was.device, was.dtype, was.backend,
    was.batch_size, was.sequence_length, was.parameters,
    CASE WHEN now.case_id IS NULL THEN 'absent' WHEN now.status = 'ok' THEN now.reason ELSE now.status END AS status,
    CASE WHEN now.case_id IS NULL THEN 'the run did not announce it' ELSE outcome.reason END AS reason,
    turn.before_run_id
FROM missing AS turn
JOIN case_summaries AS was
    ON turn.before_run_id = was.run_id AND turn.suite IS NOT DISTINCT FROM was.suite
    AND turn.mode IS NOT DISTINCT FROM was.mode AND turn.device IS NOT DISTINCT FROM was.device
    AND turn.dtype IS NOT DISTINCT FROM was.dtype
LEFT JOIN endings AS now ON turn.run_id = now.run_id AND was.case_id = now.same_id
LEFT JOIN case_outcomes AS outcome
    ON turn.run_id = outcome.run_id AND now.case_id = outcome.case_id
    AND outcome.kind = CASE WHEN now.status = 'ok' THEN 'accuracy' ELSE 'performance' END
WHERE was.passing AND NOT coalesce(now.passing, false)
