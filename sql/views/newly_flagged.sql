-- One row per flag of a run (see flags, with the same arguments) that the run before it did not have.
-- The run before is the one of the same config that last judged the same suite, mode, dtype, device and backend; a run
-- without one has no rows. A case that the run before did not measure cannot have been fine there: `before` says so.
--
-- arguments: min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9
--
-- run_id            Run that flags it.
-- config            Config of that run.
-- case_id           Case flagged.
-- suite             Suite of the workload.
-- name              Model, function, command or benchmark.
-- mode              inference or training.
-- device            cpu, cuda …
-- dtype             float32, bfloat16, amp …
-- backend           Compiler or implementation.
-- batch_size        Samples in one batch.
-- sequence_length   Tokens in one sequence.
-- parameters        Further axes, as a JSON object.
-- metric            speedup, compile_latency, compression_ratio, accuracy, or status for a case that failed.
-- unit              Unit of the values: ratio or s; NULL where there are none.
-- value             What was measured; NULL where nothing was.
-- low               Lower end of its 95 % interval; NULL where none is known.
-- high              Upper end.
-- threshold         The limit it is beyond.
-- why               The reason in words.
-- previous_run      The run before.
-- before            'fine' if the run before had the case, and this not against it; 'absent' if it did not have (or skipped) it.
-- value_before      What the run before measured; NULL where nothing was.
-- fine_since        When the first of the runs began that had the case since it was last flagged; NULL where none did. UTC.
-- fine_runs         How many they are.
WITH
times AS (
    SELECT run_id, began_at, row_number() OVER (PARTITION BY config ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM _run_times
),
flagged AS (  -- bundled by run, or DuckDB would take them for the larger side of every join
    SELECT run_id, unnest(list(flag)) AS flag
    FROM flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS flag
    GROUP BY run_id
),
fresh AS (
    SELECT
        flagged.run_id, flag, flag.config AS config, flag.case_id AS case_id, flag.metric AS metric, previous_run, place,
        CASE flag.metric
            WHEN 'speedup' THEN side.speedup
            WHEN 'compile_latency' THEN side.compile_ns / 1e9::DOUBLE
            WHEN 'compression_ratio' THEN side.compression_ratio
        END AS value_before
    FROM flagged
    JOIN times ON flagged.run_id = times.run_id
    JOIN _reports AS report
        ON flagged.run_id = report.run_id
        AND flag.suite IS NOT DISTINCT FROM report.suite AND flag.mode IS NOT DISTINCT FROM report.mode
        AND flag.dtype IS NOT DISTINCT FROM report.dtype AND flag.device IS NOT DISTINCT FROM report.device
        AND flag.backend IS NOT DISTINCT FROM report.backend
    ANTI JOIN flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS before
        ON previous_run = before.run_id AND flag.case_id = before.case_id AND flag.metric = before.metric
    LEFT JOIN case_summaries AS side ON previous_run = side.run_id AND flag.case_id = side.case_id
    WHERE previous_run IS NOT NULL
),
seen AS (
    SELECT
        fresh.run_id, fresh.case_id, fresh.metric, any_value(flag) AS flag, any_value(previous_run) AS previous_run,
        any_value(value_before) AS value_before, bool_or(outcome.run_id = previous_run AND status <> 'skipped') AS was_there,
        coalesce(max(times.place) FILTER (earlier.run_id IS NOT NULL AND times.place < fresh.place), 0) AS last_flagged,
        list_distinct(list((times.place, began_at)) FILTER (status <> 'skipped' AND times.place < fresh.place)) AS runs,
        list_filter(runs, lambda run: run[1] > last_flagged) AS fine
    FROM fresh
    JOIN case_outcomes AS outcome ON fresh.case_id = outcome.case_id AND fresh.config = outcome.config
    JOIN times ON outcome.run_id = times.run_id
    LEFT JOIN flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS earlier
        ON outcome.run_id = earlier.run_id AND fresh.case_id = earlier.case_id AND fresh.metric = earlier.metric
    GROUP BY fresh.run_id, fresh.case_id, fresh.metric
)

SELECT
    run_id, flag.config, case_id, flag.suite, flag.name, flag.mode, flag.device, flag.dtype, flag.backend,
    flag.batch_size, flag.sequence_length, flag.parameters, metric, flag.unit, flag.value, flag.low, flag.high,
    flag.threshold, flag.why, previous_run, CASE WHEN was_there THEN 'fine' ELSE 'absent' END AS before, value_before,
    list_min(list_transform(fine, lambda run: run[2])) AS fine_since, coalesce(len(fine), 0) AS fine_runs
FROM seen
