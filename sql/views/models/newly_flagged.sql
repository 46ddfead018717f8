-- One row per flag of a run (see flags, with the same limits) that the report before did not have.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them. Reports
-- before are those of the same config and `--only` that judged the same suite, mode, dtype, device and backend; where there is
-- none, there are no rows. A case that the report before did not measure cannot have been fine there: `before` says so. How
-- long a case was fine is followed over the `last` reports before. A model that failed is the same case even where its batch size is
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
-- previous_run  VARCHAR    The report before, by its last run.
-- before        VARCHAR    'fine' if the report before had the case, and this not against it; 'absent' if it did not have (or
--                          skipped) it.
-- value_before  DOUBLE     What the report before measured; NULL where nothing was.
-- fine_since    TIMESTAMP  When the first report began of those before that had the case since it was last flagged; NULL where
--                          none did.
-- fine_runs     BIGINT     How many they are; `last` may stand for more.
WITH
report_cases AS (  -- those that count
    SELECT
        report.config, report.selection, report.run_id AS report_id, position, report.began_at,
        coalesce(same_id, judged.case_id) AS same_id, speedup, compile_ns, compression_ratio
    FROM (
        SELECT run_id, case_id, suite, mode, dtype, device, backend, speedup, compile_ns, compression_ratio
        FROM case_summaries
        WHERE status <> 'skipped'
        UNION ALL
        SELECT accuracy.run_id, accuracy.case_id, suite, mode, dtype, device, backend, NULL, NULL, NULL
        FROM case_outcomes AS accuracy
        ANTI JOIN (SELECT run_id, case_id FROM case_summaries WHERE status <> 'skipped') AS summary
            ON accuracy.run_id = summary.run_id AND accuracy.case_id = summary.case_id
        WHERE kind = 'accuracy' AND status <> 'skipped'
    ) AS judged
    JOIN _report_runs AS run ON judged.run_id = run.run_id
    JOIN _reports AS report
        ON run.report_id = report.run_id
        AND judged.suite IS NOT DISTINCT FROM report.suite AND judged.mode IS NOT DISTINCT FROM report.mode
        AND judged.dtype IS NOT DISTINCT FROM report.dtype AND judged.device IS NOT DISTINCT FROM report.device
        AND judged.backend IS NOT DISTINCT FROM report.backend
    ANTI JOIN _superseded_cases AS again ON judged.run_id = again.run_id AND judged.case_id = again.case_id
    LEFT JOIN _same_cases AS same ON judged.run_id = same.run_id AND judged.case_id = same.case_id
),
report_flags AS (
    SELECT
        report.config, report.selection, report.run_id AS report_id, position, previous_run, flag.run_id, flag.case_id,
        coalesce(same_id, flag.case_id) AS same_id, metric
    FROM flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS flag
    JOIN _report_runs AS run ON flag.run_id = run.run_id
    JOIN _reports AS report
        ON run.report_id = report.run_id
        AND flag.suite IS NOT DISTINCT FROM report.suite AND flag.mode IS NOT DISTINCT FROM report.mode
        AND flag.dtype IS NOT DISTINCT FROM report.dtype AND flag.device IS NOT DISTINCT FROM report.device
        AND flag.backend IS NOT DISTINCT FROM report.backend
    ANTI JOIN _superseded_cases AS again ON flag.run_id = again.run_id AND flag.case_id = again.case_id
    LEFT JOIN _same_cases AS same ON flag.run_id = same.run_id AND flag.case_id = same.case_id
),
new_flags AS (
    SELECT now.*
    FROM report_flags AS now
    ANTI JOIN report_flags AS earlier
        ON now.previous_run = earlier.report_id AND now.same_id = earlier.same_id AND now.metric = earlier.metric
    WHERE now.previous_run IS NOT NULL
),
case_places AS (
    SELECT config, selection, same_id, list({'position': position, 'began_at': began_at}) AS places
    FROM report_cases
    WHERE same_id IN (SELECT same_id FROM new_flags)
    GROUP BY config, selection, same_id
),
flag_places AS (
    SELECT config, selection, same_id, metric, list(position) AS flagged_at
    FROM report_flags
    WHERE same_id IN (SELECT same_id FROM new_flags)
    GROUP BY config, selection, same_id, metric
),
followed AS (
    SELECT
        new_flags.*,
        coalesce(list_max(list_filter(flagged_at, lambda place: place < position)), 0) AS last_flagged,
        list_filter(
            places, lambda place: place.position < new_flags.position AND place.position >= new_flags.position - last
        ) AS earlier
    FROM new_flags
    LEFT JOIN case_places AS of_case
        ON new_flags.config = of_case.config AND new_flags.selection IS NOT DISTINCT FROM of_case.selection
        AND new_flags.same_id = of_case.same_id
    LEFT JOIN flag_places AS of_flag
        ON new_flags.config = of_flag.config AND new_flags.selection IS NOT DISTINCT FROM of_flag.selection
        AND new_flags.same_id = of_flag.same_id AND new_flags.metric = of_flag.metric
),
fine_places AS (
    SELECT *, list_filter(earlier, lambda place: place.position > last_flagged) AS fine
    FROM followed
)

SELECT
    flag.run_id, flag.config, flag.case_id, flag.suite, flag.name, flag.mode, flag.device, flag.dtype, flag.backend,
    flag.batch_size, flag.sequence_length, flag.parameters, flag.metric, flag.unit, flag.value, flag.low, flag.high,
    flag.threshold, flag.why, previous_run, CASE WHEN before.same_id IS NULL THEN 'absent' ELSE 'fine' END AS before,
    CASE flag.metric
        WHEN 'speedup' THEN before.speedup
        WHEN 'compile_latency' THEN before.compile_ns / 1e9::DOUBLE
        WHEN 'compression_ratio' THEN before.compression_ratio
    END AS value_before,
    list_min(list_transform(fine, lambda place: place.began_at)) AS fine_since, coalesce(len(fine), 0) AS fine_runs
FROM fine_places AS new
JOIN flags(min_speedup := min_speedup, max_compile_seconds := max_compile_seconds, min_compression := min_compression) AS flag
    ON new.run_id = flag.run_id AND new.case_id = flag.case_id AND new.metric = flag.metric
LEFT JOIN report_cases AS before ON new.previous_run = before.report_id AND new.same_id = before.same_id
