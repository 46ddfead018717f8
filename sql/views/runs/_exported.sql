-- One row per sample of a case, and one per case that was judged for performance: a table that reads back as it is.
-- Its columns, but `recorded_at`, which is `time`, are the fields of `bench ingest --map`; a case's ending comes after its samples.
--
-- axes: run
-- run          VARCHAR    The same run: rows that differ in it are of different runs.
-- commit       VARCHAR    Commit of the measured code.
-- branch       VARCHAR    Branch of the measured code.
-- host         VARCHAR    Machine that measured.
-- recorded_at  TIMESTAMP  When it was recorded, or else when the run began; NULL where nothing says it.
-- axes: case without case_id work_hash
-- metric       VARCHAR    What was measured.
-- statistic    VARCHAR    Aggregate it is.
-- phase        VARCHAR    cold, compile, warmup or steady.
-- unit         VARCHAR    Unit of the value.
-- better       VARCHAR    'higher' or 'lower'.
-- value        DOUBLE     Value of one sample; NULL in the row of an ending.
-- loops        BIGINT     Calls timed together; NULL for what was not timed.
-- status       VARCHAR    How the case ended; NULL in the row of a sample.
-- reason       VARCHAR    Why, in one line.
-- case_id      VARCHAR    Case, by which rows are put in order.
-- ending       BOOLEAN    Whether the row is the case's ending, which stands after its samples.
-- sample       BIGINT     Number of the sample within its case.
WITH
exported_rows AS (
    SELECT
        run_id, case_id, false AS ending, {axes},
        metric, statistic, phase, unit, better, value, loops, NULL::VARCHAR AS status, NULL::VARCHAR AS reason,
        recorded_at, sample
    FROM samples
    WHERE case_id IS NOT NULL AND abs(value) < 1e150
    UNION ALL
    SELECT
        run_id, case_id, true, {axes},
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, status, reason, NULL, NULL
    FROM case_outcomes
    WHERE kind = 'performance' AND status <> 'unknown'
)

SELECT
    run_id, run.config, run_id AS run, run.git_commit AS "commit", run.git_branch AS branch, run.host,
    coalesce(recorded_at, run.started_at) AS recorded_at,
    {exported_rows.axes}, metric, statistic,
    phase, unit, better, value, loops, status, reason, case_id, ending, sample
FROM exported_rows
JOIN _run_records AS run USING (run_id)
