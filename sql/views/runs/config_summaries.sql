-- One row per config: its runs, and how much they recorded.
--
-- config    VARCHAR    Config.
-- runs      BIGINT     Runs of it.
-- first_at  TIMESTAMP  When the first began. UTC.
-- last_at   TIMESTAMP  When the last began. UTC.
-- last_run  VARCHAR    The last run whose time is known; where none is, the last by its id.
-- sources   VARCHAR[]  What produced them, in order.
-- cases     BIGINT     Cases of all its runs.
-- failed    BIGINT     Cases that failed.
-- samples   BIGINT     Samples of all metrics.
-- steps     BIGINT     Scheduler steps.
-- files     BIGINT     Files imported.
-- rejected  BIGINT     Lines of them that could not be read.
SELECT
    config, count(*) AS runs, min(began_at) AS first_at, max(began_at) AS last_at, 
    coalesce(arg_max(run_id, (began_at, run_id)) FILTER (began_at IS NOT NULL), max(run_id)) AS last_run,
    list_sort(list(DISTINCT source)) AS sources, _total(cases) AS cases, _total(failed) AS failed,
    _total(samples) AS samples, _total(steps) AS steps, _total(files) AS files,
    _total(rejected) AS rejected
FROM run_summaries
GROUP BY config
