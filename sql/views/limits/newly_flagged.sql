-- One row per flag of a run (see flags, with the same limits) that the report before did not have.
-- A report is a run, or all parts of one night: runs of a fleet, of `--partition`, and what `--resume` added to them. Reports
-- before are those of the same config and `--only` that judged the same suite, mode, dtype, device and backend; where there is
-- none, there are no rows. A case that the report before did not measure cannot have been fine there: `before` says so. How
-- long a case was fine is followed over the `last` reports before. `runs` keeps the flags of these runs only. A model that failed is the same case even where its batch size is
-- unknown then (see _same_cases).
--
-- arguments: min_speedup := {min_speedup}, max_compile_seconds := {max_compile_seconds}, min_compression := {min_compression}, last := 10, runs := NULL
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
placed_panels AS (
    SELECT
        run.run_id, report.panel, report.run_id AS report_id, position, previous_run, report.began_at,
        dense_rank() OVER (ORDER BY report.config, report.selection, report.panel) AS track
    FROM _reports AS report
    JOIN _report_runs AS run ON report.run_id = run.report_id
),
wanted_places AS (
    SELECT track, min(position) - greatest(last, 1) AS first_place, max(position) AS last_place
    FROM placed_panels
    WHERE runs IS NULL OR list_contains(runs::VARCHAR[], run_id)
    GROUP BY track
),
report_panels AS MATERIALIZED (  -- of a run and panel: the track of reports that it is part of, and its place there
    SELECT placed.run_id, panel, report_id, position, previous_run, began_at, placed.track
    FROM placed_panels AS placed
    JOIN wanted_places AS wanted ON placed.track = wanted.track AND position BETWEEN first_place AND last_place
),
same_cases AS MATERIALIZED (SELECT * FROM _same_cases),
superseded_cases AS MATERIALIZED (SELECT * FROM _superseded_cases),
report_flags AS MATERIALIZED (
    SELECT
        track, position, previous_run, flag.run_id, flag.config, flag.case_id, coalesce(same_id, flag.case_id) AS same_id, metric, unit,
        value, low, high, n, threshold, cause
    FROM _flagged_numbers(min_speedup, max_compile_seconds, min_compression) AS flag
    JOIN report_panels AS report ON flag.run_id = report.run_id AND flag.panel = report.panel
    ANTI JOIN superseded_cases AS again ON flag.run_id = again.run_id AND flag.case_id = again.case_id
    LEFT JOIN same_cases AS same ON flag.run_id = same.run_id AND flag.case_id = same.case_id
),
flag_places AS (
    SELECT track, same_id, metric, list(position) AS flagged_places
    FROM report_flags
    GROUP BY track, same_id, metric
),
new_flags AS (  -- and the place before each that was flagged last
    SELECT flag.*, coalesce(list_max(list_filter(flagged_places, lambda place: place < position)), 0) AS flagged_before
    FROM report_flags AS flag
    JOIN flag_places AS of_flag
        ON flag.track = of_flag.track AND flag.same_id = of_flag.same_id AND flag.metric = of_flag.metric
    WHERE previous_run IS NOT NULL AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
        AND NOT list_contains(flagged_places, position - 1)
),
report_summaries AS MATERIALIZED (
    SELECT track, position, summary.run_id, case_id, speedup, compile_ns, compression_ratio
    FROM case_summaries AS summary
    JOIN report_panels AS report ON summary.run_id = report.run_id AND summary.panel = report.panel
    WHERE status <> 'skipped'
),
judged_cases AS (  -- for performance, or for accuracy alone
    SELECT * FROM report_summaries
    UNION ALL
    SELECT track, position, accuracy.run_id, accuracy.case_id, NULL, NULL, NULL
    FROM case_outcomes AS accuracy
    JOIN report_panels AS report ON accuracy.run_id = report.run_id AND accuracy.panel = report.panel
    ANTI JOIN (SELECT run_id, case_id FROM report_summaries UNION ALL SELECT run_id, same_id FROM same_cases) AS summary
        ON accuracy.run_id = summary.run_id AND accuracy.case_id = summary.case_id
    WHERE kind = 'accuracy' AND status <> 'skipped'
),
report_cases AS (
    SELECT track, position, coalesce(same_id, own.case_id) AS same_id, speedup, compile_ns, compression_ratio
    FROM judged_cases AS own
    ANTI JOIN superseded_cases AS again ON own.run_id = again.run_id AND own.case_id = again.case_id
    LEFT JOIN same_cases AS same ON own.run_id = same.run_id AND own.case_id = same.case_id
),
case_places AS (SELECT track, same_id, list(position) AS places FROM report_cases GROUP BY track, same_id),
followed_flags AS (
    SELECT
        new.*, list_filter(
            places, lambda place: place < position AND place >= position - last AND place > flagged_before
        ) AS fine_places
    FROM new_flags AS new
    LEFT JOIN case_places AS of_case ON new.track = of_case.track AND new.same_id = of_case.same_id
),
report_times AS (SELECT DISTINCT track, position, began_at FROM report_panels)

SELECT
    new.run_id, new.config, new.case_id, {axes},
    new.metric, new.unit, new.value, new.low, new.high,
    new.threshold, _flag_reason(new.metric, new.value, new.low, new.high, new.n, new.threshold, new.cause) AS why,
    previous_run, CASE WHEN before.same_id IS NULL THEN 'absent' ELSE 'fine' END AS before,
    CASE new.metric
        WHEN 'speedup' THEN before.speedup
        WHEN 'compile_latency' THEN before.compile_ns / 1e9::DOUBLE
        WHEN 'compression_ratio' THEN before.compression_ratio
    END AS value_before,
    since.began_at AS fine_since, coalesce(len(fine_places), 0) AS fine_runs
FROM followed_flags AS new
LEFT JOIN case_axes AS axes ON new.case_id = axes.case_id
LEFT JOIN report_cases AS before
    ON new.track = before.track AND new.position - 1 = before.position AND new.same_id = before.same_id
LEFT JOIN report_times AS since ON new.track = since.track AND list_min(fine_places) = since.position
