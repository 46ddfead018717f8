-- One row per run: what it was, how it ended, and how much it recorded.
--
-- axes: run
-- config      VARCHAR    Config it belongs to.
-- source      VARCHAR    What produced it: api, measure, or the format imported.
-- suite       VARCHAR    Set of workloads it was about.
-- began_at    TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit  VARCHAR    Commit of the measured code.
-- git_branch  VARCHAR    Branch of the measured code.
-- host        VARCHAR    Machine that measured.
-- status      VARCHAR    How it ended: ok, failed, interrupted; imported for results of other tools.
-- reason      VARCHAR    Why, in one line.
-- cases       BIGINT     Cases announced, and bins of tokens that have scheduler steps (`step_cells`).
-- failed      BIGINT     Cases whose performance or accuracy failed.
-- samples     BIGINT     Samples of all metrics.
-- steps       BIGINT     Scheduler steps.
-- files       BIGINT     Files imported.
-- rejected    BIGINT     Lines of them that could not be read.
WITH
run AS (
    SELECT DISTINCT ON (run_id) *
    FROM runs
    WHERE run_id IN (SELECT run_id FROM _touched)
    ORDER BY run_id, started_at, config
),
ended AS (
    SELECT run_id, status, reason
    FROM outcomes
    WHERE run_id IN (SELECT run_id FROM _touched) AND case_id IS NULL
    QUALIFY 1 = row_number() OVER (
        PARTITION BY run_id ORDER BY recorded_at DESC NULLS LAST, line DESC NULLS LAST, status DESC, reason
    )
),
judged AS (
    SELECT
        run_id, count(DISTINCT case_id) AS cases, count(DISTINCT case_id) FILTER (failed) AS failed
    FROM case_outcomes
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
),
sampled AS (
    SELECT run_id, _total(n) AS samples FROM cells WHERE run_id IN (SELECT run_id FROM _touched) GROUP BY run_id
),
binned AS (
    SELECT run_id, count(DISTINCT case_id) AS bins
    FROM step_cells
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
),
stepped AS (
    SELECT run_id, count(*) AS steps
    FROM schedule_chunks
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
),
imported AS (
    SELECT run_id, count(DISTINCT source_id) AS files, _total(rejected) AS rejected
    FROM sources
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
)

SELECT
    run_id, run.config, source, suite, began_at, run.git_commit, git_branch, run.host,
    CASE WHEN ended.status IS NOT NULL THEN ended.status WHEN files > 0 THEN 'imported' ELSE 'interrupted' END AS status,
    ended.reason, coalesce(cases, 0) + coalesce(bins, 0) AS cases, coalesce(failed, 0) AS failed,
    coalesce(samples, 0) AS samples, coalesce(steps, 0) AS steps, coalesce(files, 0) AS files, coalesce(rejected, 0) AS rejected
FROM run
LEFT JOIN _run_times AS time USING (run_id)
LEFT JOIN ended USING (run_id)
LEFT JOIN judged USING (run_id)
LEFT JOIN sampled USING (run_id)
LEFT JOIN binned USING (run_id)
LEFT JOIN stepped USING (run_id)
LEFT JOIN imported USING (run_id)
