-- One row per announced case of a run × kind of judgement: how it ended.
-- A case of our own without an outcome of its performance was interrupted, unless its run ended well (then it is ok).
-- An imported case without any outcome is unknown: nobody said. Of several outcomes of one kind the last recorded counts.
--
-- axes: run, case
-- case_id      VARCHAR  Case that was announced.
-- kind         VARCHAR  What was judged: performance or accuracy.
-- status       VARCHAR  ok, pass, fail_to_run, fail_accuracy, OOM, timeout, skipped, interrupted, unknown …
-- failed       BOOLEAN  Whether that is anything but ok, or for accuracy pass or pass_due_to_skip; NULL for skipped and
--                       unknown.
-- reason       VARCHAR  Why, in one line; of a case that was cut off, that its run ended before it did.
-- phase        VARCHAR  Phase reached.
-- exit_code    BIGINT   Exit code of the worker process.
-- signal       BIGINT   Signal that ended the worker process.
-- exception    VARCHAR  Exception type.
-- message      VARCHAR  Exception text.
-- stderr_tail  VARCHAR  Last lines the worker wrote to stderr.
WITH
announced AS (  -- once or twice, by the run and by its worker
    SELECT run_id, case_id, bool_or(source_id IS NOT NULL) AS imported
    FROM cases
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id, case_id
),
ended AS (
    SELECT *
    FROM outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND case_id IS NOT NULL
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id, case_id, kind ORDER BY recorded_at DESC NULLS LAST, line DESC NULLS LAST, status, reason
    )
),
judged AS (  -- every case of our own is judged for performance, whatever else it was judged for
    SELECT run_id, case_id, kind FROM ended
    UNION
    SELECT run_id, case_id, 'performance' FROM announced LEFT JOIN ended USING (run_id, case_id)
    WHERE NOT imported OR ended.kind IS NULL
),
ended_well AS (
    SELECT DISTINCT run_id
    FROM outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND case_id IS NULL AND status = 'ok'
)

SELECT
    run_id, _touched.config, case_id, axes.work_hash, axes.suite, axes.name, axes.mode, axes.device, axes.dtype,
    axes.backend, axes.batch_size, axes.sequence_length, axes.parameters,
    kind,
    coalesce(
        ended.status,
        CASE WHEN imported THEN 'unknown' WHEN ended_well.run_id IS NOT NULL THEN 'ok' ELSE 'interrupted' END
    ) AS status,
    CASE
        WHEN ended.status IS NULL THEN CASE WHEN NOT imported THEN ended_well.run_id IS NULL END
        WHEN ended.status IN ('skipped', 'unknown') THEN NULL
        WHEN kind = 'accuracy' THEN ended.status NOT IN ('pass', 'pass_due_to_skip')
        ELSE ended.status <> 'ok'
    END AS failed,
    coalesce(
        ended.reason,
        CASE WHEN ended.status IS NULL AND NOT imported AND ended_well.run_id IS NULL THEN 'its run ended before it did' END
    ) AS reason,
    ended.phase, ended.exit_code, ended.signal, ended.exception, ended.message, ended.stderr_tail
FROM announced
JOIN case_axes AS axes USING (case_id)
JOIN judged USING (run_id, case_id)
JOIN _touched USING (run_id)
LEFT JOIN ended USING (run_id, case_id, kind)
LEFT JOIN ended_well USING (run_id)
