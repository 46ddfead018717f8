-- One row per run that is a report or a part of one: which report it belongs to.
-- Most reports are one run. Parts of one night are one report, known by their last run: runs of one fleet, or of one
-- `--partition`, that measured the same commit and began within half a day of one another, and what `--resume` measured of
-- them later. A run that `bench regressions --confirm` made, tagged with what it confirms, is no part of any.
--
-- config      VARCHAR    Config: a report is of one.
-- run_id      VARCHAR    Run.
-- report_id   VARCHAR    Report: the id of its last run.
-- began_at    TIMESTAMP  When the first run of the report began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit  VARCHAR    Commit it measured.
-- part        BIGINT     Place of the run among those of the report, from 1, the oldest.
-- parts       BIGINT     Runs of the report.
-- wanted      BIGINT     Runs that make it complete: those of a `--partition`, else 1; NULL of a fleet.
-- selection   VARCHAR    Models that `--only` chose; NULL for a whole plan. Reports compare with those of the same selection.
-- is_typical  BOOLEAN    Whether it has no selection, or no report of the config is without one.
WITH
tagged_runs AS (
    SELECT
        time.run_id, time.config, time.began_at, time.git_commit, json_extract_string(tags, '$.only') AS selection,
        split_part(json_extract_string(tags, '$.resumes'), ' ', 1) AS resumed_run,
        coalesce(
            'fleet ' || json_extract_string(tags, '$.fleet'),
            'partition ' || split_part(json_extract_string(tags, '$.partition'), '/', 2),
            CASE WHEN own.run_id IN (SELECT run_id FROM runs WHERE source NOT IN ('measure', 'api')) THEN 'round ' || round_id END
        ) AS plan,
        TRY_CAST(split_part(json_extract_string(tags, '$.partition'), '/', 2) AS BIGINT) AS pieces
    FROM _run_times AS time
    JOIN _run_records AS own ON time.run_id = own.run_id
    JOIN _rounds AS round ON time.run_id = round.run_id
    WHERE time.config IN (SELECT config FROM _touched) AND json_extract_string(tags, '$.confirms') IS NULL
),
planned_runs AS (  -- one file of a round may name the commit, and another may not
    SELECT *, CASE WHEN plan LIKE 'round %' THEN NULL ELSE git_commit END AS commit FROM tagged_runs
),
first_parts AS (
    SELECT
        *, plan IS NULL OR coalesce(_difference(epoch_us(began_at), epoch_us(lag(began_at) OVER same_plan)) > 43200000000, true) AS is_first
    FROM planned_runs
    WINDOW same_plan AS (PARTITION BY config, plan, selection, commit ORDER BY began_at NULLS FIRST, run_id)
),
nights AS (
    SELECT *, sum(CASE WHEN is_first THEN 1 ELSE 0 END) OVER same_plan AS night
    FROM first_parts
    WINDOW same_plan AS (PARTITION BY config, plan, selection, commit ORDER BY began_at NULLS FIRST, run_id)
),
own_reports AS (
    SELECT *, min(run_id) OVER (PARTITION BY config, plan, selection, commit, night) AS first_run
    FROM nights
),
joined_reports AS (
    SELECT own.*, coalesce(resumed.first_run, own.first_run) AS report
    FROM own_reports AS own
    LEFT JOIN own_reports AS resumed ON own.resumed_run = resumed.run_id AND own.config = resumed.config
),
reports AS (  -- what completes a whole plan makes its report whole
    SELECT
        run_id, config,
        first_value(run_id) OVER (PARTITION BY report ORDER BY began_at DESC NULLS LAST, run_id DESC) AS report_id,
        min(began_at) OVER same_report AS began_at, git_commit,
        row_number() OVER (PARTITION BY report ORDER BY began_at NULLS FIRST, run_id) AS part,
        count(*) OVER same_report AS parts, max(CASE WHEN plan IS NULL OR plan LIKE 'round %' THEN 1 ELSE pieces END) OVER same_report AS wanted,
        CASE WHEN count(*) OVER same_report = count(selection) OVER same_report THEN max(selection) OVER same_report END AS selection
    FROM joined_reports
    WINDOW same_report AS (PARTITION BY report)
)

SELECT
    config, run_id, report_id, began_at, git_commit, part, parts, wanted, selection,
    selection IS NULL OR count(*) OVER same_config = count(selection) OVER same_config AS is_typical
FROM reports
WINDOW same_config AS (PARTITION BY config)
