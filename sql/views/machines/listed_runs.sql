-- One row per round (see `rounds`), and below one of several runs a row per run: what `bench runs` shows.
--
-- run         VARCHAR    First 13 letters of the run's id, after a dot below a round; of a round of several how many runs it has.
-- config      VARCHAR    Config.
-- source      VARCHAR    What produced it: api, measure, or the format imported; NULL of a round of several sources.
-- suite       VARCHAR    Set of workloads it was about; NULL of a round of several.
-- began_at    TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit  VARCHAR    Commit of the measured code.
-- machine     VARCHAR    Class of machine (see `machines`); NULL unknown.
-- status      VARCHAR    How it ended: ok, failed, interrupted, imported; of a round the last of these in order of the alphabet
--                        but for failed and interrupted, which come first.
-- cases       BIGINT     Cases announced, and bins of tokens that have scheduler steps (`step_cells`).
-- failed      BIGINT     Cases whose performance or accuracy failed.
-- samples     BIGINT     Samples of all metrics.
-- steps       BIGINT     Scheduler steps.
-- files       BIGINT     Files imported.
-- rejected    BIGINT     Lines of them that could not be read.
-- round_id    VARCHAR    Round.
-- round_at    TIMESTAMP  When its first run began.
-- run_id      VARCHAR    Run; NULL of a round of several.
WITH
round_runs AS (
    SELECT summary.*, round_id, coalesce(class_id, machine_id, '') AS machine_key, class.machine
    FROM run_summaries AS summary
    JOIN _rounds AS round ON summary.run_id = round.run_id
    LEFT JOIN _machine_classes AS class ON machine_id = facts_id
),
sized_runs AS (
    SELECT *, count(*) OVER same_round AS runs, min(began_at) OVER same_round AS round_at
    FROM round_runs
    WINDOW same_round AS (PARTITION BY config, round_id, machine_key)
)

SELECT
    CASE WHEN runs > 1 THEN '· ' || left(run_id, 13) ELSE left(run_id, 13) END AS run, config, source, suite, began_at, git_commit, machine,
    status, cases, failed, samples, steps, files, rejected, round_id, round_at, run_id
FROM sized_runs
UNION ALL
SELECT
    'round of ' || min(runs), sized.config, CASE WHEN min(source) = max(source) THEN min(source) END,
    CASE WHEN min(suite) = max(suite) THEN min(suite) END, min(round_at),
    CASE WHEN min(git_commit) = max(git_commit) THEN min(git_commit) END, min(machine),
    CASE WHEN bool_or(status = 'failed') THEN 'failed' WHEN bool_or(status = 'interrupted') THEN 'interrupted' ELSE max(status) END,
    _total(cases), _total(failed), _total(samples), _total(steps), _total(files), _total(rejected), round_id, min(round_at), NULL
FROM sized_runs AS sized
WHERE runs > 1
GROUP BY sized.config, round_id, machine_key
