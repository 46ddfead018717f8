-- One row per config: its runs, and how much they recorded.
--
-- config      Config.
-- runs        Runs of it.
-- first_at    When the first began. UTC.
-- last_at     When the last began. UTC.
-- last_run    The last run.
-- sources     What produced them, in order.
-- cases       Cases announced, of all runs.
-- failed      Cases that failed.
-- samples     Samples of all metrics.
-- steps       Scheduler steps.
-- files       Files imported.
-- rejected    Lines of them that could not be read.
SELECT
    config, count(*) AS runs, min(began_at) AS first_at, max(began_at) AS last_at, arg_max(run_id, (began_at, run_id)) AS last_run,
    list_sort(list(DISTINCT source)) AS sources, sum(cases)::BIGINT AS cases, sum(failed)::BIGINT AS failed,
    sum(samples)::BIGINT AS samples, sum(steps)::BIGINT AS steps, sum(files)::BIGINT AS files,
    sum(rejected)::BIGINT AS rejected
FROM run_summaries
GROUP BY config
