-- One row per run that a run is judged with: itself and its repeats, oldest first by `place`.
-- Repeats are the other runs of its round (see `rounds`), the other parts of its night (see _report_runs), and runs that were made
-- to confirm it (`bench regressions --confirm`).
--
-- arguments: judged_run
--
-- run_id         VARCHAR  The run or a repeat of it.
-- place          BIGINT   Its place in time within the config, from 1.
-- is_confirming  BOOLEAN  Whether it is the run, confirms it, is confirmed by it, or confirms the same run.
WITH
run_places AS (
    SELECT
        time.run_id, time.config, round_id, report_id, json_extract_string(tags, '$.confirms') AS confirms,
        row_number() OVER (PARTITION BY time.config ORDER BY time.began_at NULLS FIRST, time.run_id) AS place
    FROM _run_times AS time
    JOIN _run_records AS own ON time.run_id = own.run_id
    JOIN _rounds AS round ON time.run_id = round.run_id
    LEFT JOIN _report_runs AS report ON time.run_id = report.run_id
),
run_pairs AS (
    SELECT
        other.run_id, other.place,
        coalesce(run.confirms, run.run_id) = coalesce(other.confirms, other.run_id) AS is_confirming,
        run.round_id = other.round_id OR coalesce(run.report_id = other.report_id, false) AS is_repeat
    FROM run_places AS run
    JOIN run_places AS other ON run.config = other.config
    WHERE run.run_id = judged_run
)

SELECT run_id, place, is_confirming
FROM run_pairs
WHERE is_confirming OR is_repeat
