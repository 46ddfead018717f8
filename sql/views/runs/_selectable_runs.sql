-- One row per run by all that a user may name it by, forgotten ones included.
--
-- axes: run
-- source      VARCHAR    What produced it: api, measure, or the format imported.
-- suite       VARCHAR    Set of workloads it was about.
-- began_at    TIMESTAMP  When it began. UTC.
-- git_commit  VARCHAR    Commit of the measured code.
-- samples     BIGINT     Samples of all metrics, and scheduler steps; NULL of a forgotten run.
-- files       VARCHAR[]  Paths of the files it was imported from; NULL for bench's own measurements.
-- forgotten   BOOLEAN    Whether it was forgotten.
-- dropped     BOOLEAN    Whether it cannot be remembered.
WITH imported AS (SELECT run_id, list_sort(list(DISTINCT path)) AS files FROM sources GROUP BY run_id)

SELECT
    summary.run_id, config, source, suite, began_at, git_commit, samples + steps AS samples, imported.files,
    false AS forgotten, false AS dropped
FROM run_summaries AS summary
LEFT JOIN imported ON imported.run_id = summary.run_id
UNION ALL
SELECT run_id, config, source, suite, began_at, git_commit, NULL, files, true, dropped
FROM forgotten_runs
