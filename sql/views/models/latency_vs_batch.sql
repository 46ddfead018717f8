-- One row per config × target number of tokens × batch size: how long steps of about so many tokens took.
-- A step belongs to every target its tokens lie within `tolerance` of; groups of fewer than `least` steps are left out.
--
-- arguments: configs := NULL, targets := [128, 256, 512, 1024, 2048, 4096], tolerance := 0.15, least := 3,
-- trim := 10, max_schedule_ms := 300, max_model_run_ms := 200, runs := NULL
--
-- config         VARCHAR  Config of the steps.
-- target_tokens  BIGINT   Number of tokens the steps lie about.
-- batch_size     BIGINT   Requests in each step.
-- n              BIGINT   Steps.
-- mean_ms        DOUBLE   Mean time the model ran.
-- sd_ms          DOUBLE   Standard deviation of that, n - 1 below the line.
-- median_ms      DOUBLE   Median of that time.
-- low_ms         DOUBLE   5 % of the steps are faster.
-- high_ms        DOUBLE   5 % of them are slower.
-- mean_tokens    DOUBLE   Mean number of tokens, to see how far from the target they are.
SELECT
    steps.config, target.tokens::BIGINT AS target_tokens, steps.batch_size, count(*) AS n, avg(_fixed_point(steps.model_run_ms, 1e6)) / 1e6 AS mean_ms,
    stddev_samp(_fixed_point(steps.model_run_ms, 1e6)) / 1e6 AS sd_ms, median(steps.model_run_ms) AS median_ms,
    list_aggregate(list(steps.model_run_ms), 'quantile_cont', 0.05) AS low_ms,
    list_aggregate(list(steps.model_run_ms), 'quantile_cont', 0.95) AS high_ms, avg(steps.tokens) AS mean_tokens
FROM runtime_vs_tokens(
    configs := configs, "trim" := "trim", max_schedule_ms := max_schedule_ms, max_model_run_ms := max_model_run_ms,
    runs := runs
) AS steps
JOIN (SELECT DISTINCT tokens FROM (SELECT unnest(targets) AS tokens)) AS target ON abs(steps.tokens::DOUBLE - target.tokens) <= tolerance * target.tokens
WHERE steps.model_run_ms IS NOT NULL
GROUP BY steps.config, target.tokens, steps.batch_size
HAVING count(*) >= least
