-- One row per announced case of a run × kind of judgement: how it ended.
-- A case of our own without an outcome of its performance was interrupted, unless its run ended well (then it is ok).
-- An imported case without any outcome is unknown: nobody said. Of several outcomes of one kind the last recorded counts.
--
-- axes: run, case
-- case_id      VARCHAR  Case that was announced.
-- panel        VARCHAR  Its suite, mode, dtype, device and backend (see case_axes).
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
announced_cases AS (  -- once or twice, by the run and by its worker
    SELECT run_id, case_id, bool_or(source_id IS NOT NULL) AS imported
    FROM cases
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id, case_id
),
newest AS (  -- which leaves few rows for the window below: an import has one for each sample
    SELECT run_id, case_id, kind, max(recorded_at) AS last_time, max(line) AS last_line
    FROM outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND case_id IS NOT NULL
    GROUP BY run_id, case_id, kind
),
endings AS (
    SELECT outcomes.*
    FROM outcomes
    JOIN newest USING (run_id, case_id, kind)
    WHERE recorded_at = last_time OR (last_time IS NULL AND (line = last_line OR last_line IS NULL))
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id, case_id, kind ORDER BY recorded_at DESC NULLS LAST, line DESC NULLS LAST, status, reason
    )
),
judgements AS (  -- every case of our own is judged for performance, whatever else it was judged for
    SELECT run_id, case_id, kind FROM endings
    UNION
    SELECT run_id, case_id, 'performance' FROM announced_cases LEFT JOIN endings USING (run_id, case_id)
    WHERE NOT imported OR endings.kind IS NULL
),
good_runs AS (
    SELECT DISTINCT run_id
    FROM outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND case_id IS NULL AND status = 'ok'
)

SELECT
    run_id, _touched.config, case_id, axes.work_hash, {axes.axes},
    axes.panel,
    kind,
    coalesce(
        endings.status,
        CASE WHEN imported THEN 'unknown' WHEN good_runs.run_id IS NOT NULL THEN 'ok' ELSE 'interrupted' END
    ) AS status,
    CASE
        WHEN endings.status IS NULL THEN CASE WHEN NOT imported THEN good_runs.run_id IS NULL END
        WHEN endings.status IN ('skipped', 'unknown') THEN NULL
        WHEN kind = 'accuracy' THEN NOT _is_accurate(endings.status)
        ELSE endings.status <> 'ok'
    END AS failed,
    coalesce(
        endings.reason,
        CASE WHEN endings.status IS NULL AND NOT imported AND good_runs.run_id IS NULL THEN 'its run ended before it did' END
    ) AS reason,
    endings.phase, endings.exit_code, endings.signal, endings.exception, endings.message, endings.stderr_tail
FROM announced_cases
JOIN case_axes AS axes USING (case_id)
JOIN judgements USING (run_id, case_id)
JOIN _touched USING (run_id)
LEFT JOIN endings USING (run_id, case_id, kind)
LEFT JOIN good_runs USING (run_id)
