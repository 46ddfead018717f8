-- One row per flag of a run (see flags, with the same limits) that the run before it did not have.
-- Runs before are those of the same config that judged the same suite, mode, dtype, device and backend; a run without any
-- has no rows. A case that the run before did not measure cannot have been fine there: `before` says so. How long a case
-- was fine is followed over the `last` runs before. A model that failed is the same case even where its batch size is
-- unknown then (see _same_cases).
--
-- arguments: min_speedup := 0.95, max_compile_seconds := 120, min_compression := 0.9, last := 10
--
-- axes: run, case without work_hash
-- run_id        VARCHAR    Run that flags it.
-- case_id       VARCHAR    Case flagged.
-- metric        VARCHAR    speedup, compile_latency, compression_ratio, accuracy, or status for a case that failed.
-- unit          VARCHAR    Unit of the values: ratio or s; NULL where there are none.
-- value         DOUBLE     What was measured; NULL where nothing was.
-- low           DOUBLE     Lower end of its 95 % interval; NULL where none is known.
-- high          DOUBLE     Upper end.
-- threshold     DOUBLE     The limit it is beyond.
-- why           VARCHAR    The reason in words.
-- previous_run  VARCHAR    The run before.
-- before        VARCHAR    'fine' if the run before had the case, and this not against it; 'absent' if it did not have (or
--                          skipped) it.
-- value_before  DOUBLE     What the run before measured; NULL where nothing was.
-- fine_since    TIMESTAMP  When the first run began of those before that had the case since it was last flagged; NULL where
--                          none did.
-- fine_runs     BIGINT     How many they are; `last` may stand for more.
WITH
reports AS (
    SELECT
        run_id, suite, mode, dtype, device, backend, previous_run,
        list({'run_id': run_id, 'position': position, 'began_at': began_at}) OVER (
            PARTITION BY config, suite, mode, dtype, device, backend ORDER BY position
            ROWS BETWEEN last PRECEDING AND 1 PRECEDING
        ) AS others
    FROM _reports
),
flagged AS (  -- bundled by run, or DuckDB would take them for the larger side of every join
    SELECT run_id, unnest(list(flag)) AS flag
    FROM flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS flag
    GROUP BY run_id
),
followed AS (
    SELECT
        flagged.run_id, flag, coalesce(same_id, flag.case_id) AS case_id, flag.metric AS metric, previous_run,
        unnest(others) AS other
    FROM flagged
    LEFT JOIN _same_cases AS same ON flagged.run_id = same.run_id AND flag.case_id = same.case_id
    JOIN reports AS report
        ON flagged.run_id = report.run_id
        AND flag.suite IS NOT DISTINCT FROM report.suite AND flag.mode IS NOT DISTINCT FROM report.mode
        AND flag.dtype IS NOT DISTINCT FROM report.dtype AND flag.device IS NOT DISTINCT FROM report.device
        AND flag.backend IS NOT DISTINCT FROM report.backend
),
measured AS (
    SELECT judged.run_id, coalesce(same_id, judged.case_id) AS case_id, speedup, compile_ns, compression_ratio
    FROM (
        SELECT run_id, case_id, speedup, compile_ns, compression_ratio
        FROM case_summaries
        WHERE status <> 'skipped'
        UNION ALL
        SELECT run_id, case_id, NULL, NULL, NULL
        FROM case_outcomes
        WHERE kind = 'accuracy' AND status <> 'skipped'
    ) AS judged
    LEFT JOIN _same_cases AS same ON judged.run_id = same.run_id AND judged.case_id = same.case_id
),
earlier_flags AS (
    SELECT flag.run_id, coalesce(same_id, flag.case_id) AS case_id, metric
    FROM flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS flag
    LEFT JOIN _same_cases AS same ON flag.run_id = same.run_id AND flag.case_id = same.case_id
),
fresh AS (
    SELECT
        followed.run_id, followed.case_id, followed.metric, any_value(flag) AS flag, any_value(previous_run) AS previous_run,
        coalesce(bool_or(measured.run_id = previous_run), false) AS was_there,
        any_value(CASE followed.metric
            WHEN 'speedup' THEN speedup
            WHEN 'compile_latency' THEN compile_ns / 1e9::DOUBLE
            WHEN 'compression_ratio' THEN compression_ratio
        END) FILTER (measured.run_id = previous_run) AS value_before,
        coalesce(max(other.position) FILTER (before.run_id IS NOT NULL), 0) AS last_flagged,
        list_distinct(list(other) FILTER (measured.run_id IS NOT NULL)) AS there,
        list_filter(there, lambda run: run.position > last_flagged) AS fine
    FROM followed
    LEFT JOIN measured ON other.run_id = measured.run_id AND followed.case_id = measured.case_id
    LEFT JOIN earlier_flags AS before
        ON other.run_id = before.run_id AND followed.case_id = before.case_id AND followed.metric = before.metric
    GROUP BY followed.run_id, followed.case_id, followed.metric
    HAVING NOT coalesce(bool_or(before.run_id = previous_run), false)
)

SELECT
    run_id, flag.config, flag.case_id AS case_id, flag.suite, flag.name, flag.mode, flag.device, flag.dtype, flag.backend,
    flag.batch_size, flag.sequence_length, flag.parameters, metric, flag.unit, flag.value, flag.low, flag.high,
    flag.threshold, flag.why, previous_run, CASE WHEN was_there THEN 'fine' ELSE 'absent' END AS before, value_before,
    list_min(list_transform(fine, lambda run: run.began_at)) AS fine_since, coalesce(len(fine), 0) AS fine_runs
FROM fresh
