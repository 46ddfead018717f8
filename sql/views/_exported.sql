-- One row per sample of a case, and one per case that was judged for performance: a table that reads back as it is.
-- Its columns, but `recorded_at`, which is `time`, are the fields of `bench ingest --map`; a case's ending comes after its samples.
--
-- run_id            Run it was measured in.
-- config            Config of that run.
-- run               The same run: rows that differ in it are of different runs.
-- commit            Commit of the measured code.
-- branch            Branch of the measured code.
-- host              Machine that measured.
-- recorded_at       When it was recorded, or else when the run began; NULL where nothing says it.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- metric            What was measured.
-- statistic         Aggregate it is.
-- phase             cold, compile, warmup or steady.
-- unit              Unit of the value.
-- better            'higher' or 'lower'.
-- value             Value of one sample; NULL in the row of an ending.
-- loops             Calls timed together; NULL for what was not timed.
-- status            How the case ended; NULL in the row of a sample.
-- reason            Why, in one line.
-- case_id           Case, by which rows are put in order.
-- ending            Whether the row is the case's ending, which stands after its samples.
-- sample            Number of the sample within its case.
WITH
lines AS (
    SELECT
        run_id, case_id, false AS ending, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
        metric, statistic, phase, unit, better, value, loops, NULL::VARCHAR AS status, NULL::VARCHAR AS reason, recorded_at, sample
    FROM samples
    WHERE case_id IS NOT NULL AND abs(value) < 1e150
    UNION ALL
    SELECT
        run_id, case_id, true, suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, status, reason, NULL, NULL
    FROM case_outcomes
    WHERE kind = 'performance' AND status <> 'unknown'
),
run AS (SELECT DISTINCT ON (run_id) * FROM runs ORDER BY run_id, started_at, config)

SELECT
    run_id, run.config, run_id AS run, run.git_commit AS "commit", run.git_branch AS branch, run.host,
    coalesce(recorded_at, run.started_at) AS recorded_at,
    lines.suite, name, mode, device, dtype, backend, batch_size, sequence_length, parameters, metric, statistic, phase,
    unit, better, value, loops, status, reason, case_id, ending, sample
FROM lines
JOIN run USING (run_id)
