-- One row per config × machine × case × metric × phase: how much its value moves from run to run when nothing changed.
-- The run, not the sample, is the unit of evidence. From the last 50 runs of the config on machines of that kind: the natural logs of
-- successive runs' medians differ by the noise of two runs, so the median of these differences, times 1.4826 / √2, is the
-- standard deviation of one; a step moves one difference only, a bad machine two. A few runs say little of one case, so
-- its variance is moderated towards that of all cases of the metric, which counts as 8 differences (after Smyth,
-- Statistical Applications in Genetics and Molecular Biology 3, 2004, with the prior's weight fixed).
--
-- config        VARCHAR  Config.
-- machine_id    VARCHAR  Kind of machine (see _machine_facts); NULL where nothing is known of it.
-- host          VARCHAR  Host of all its runs; NULL where they are of several, or nobody said.
-- case_id       VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value without better
-- n             BIGINT   Runs it was taken over.
-- own_noise     DOUBLE   Standard deviation of ln(median) from run to run, of this case alone; NULL for one run.
-- pooled_noise  DOUBLE   The same over all cases of the metric: the root of the median of their variances.
-- other_steps   BIGINT   Pairs of successive runs of all other cases of the metric, which pooled_noise rests on besides its
--                        own.
-- noise         DOUBLE   Both moderated; 0.01 is one percent. NULL where no case of the metric was measured by two runs.
WITH
last_runs AS (
    SELECT run_id, config, machine_id, host, began_at
    FROM _run_times
    WHERE config IN (SELECT config FROM _touched)
    QUALIFY row_number() OVER (PARTITION BY config, machine_id ORDER BY began_at DESC NULLS LAST, run_id DESC) <= 50
),
hosts AS (
    SELECT config, machine_id, CASE WHEN min(host) = max(host) AND count(host) = count(*) THEN min(host) END AS host
    FROM last_runs
    GROUP BY config, machine_id
),
logs AS (
    SELECT
        last_runs.config, machine_id, case_id, metric, phase, unit, count(*) AS n,
        list(ln(median) ORDER BY began_at NULLS FIRST, run_id) AS x
    FROM _all_cells
    JOIN last_runs USING (run_id)
    WHERE median > 0
    GROUP BY last_runs.config, machine_id, case_id, metric, phase, unit
),
own_noises AS (
    SELECT
        * EXCLUDE x,
        1.4826::DOUBLE / sqrt(2) * list_median(list_transform(range(1, n), lambda i: abs(x[i + 1] - x[i]))) AS own_noise
    FROM logs
),
pooled_noises AS (
    SELECT config, machine_id, metric, phase, unit, sqrt(median(own_noise * own_noise)) AS pooled_noise,
        sum(n - 1) AS steps
    FROM own_noises
    WHERE own_noise IS NOT NULL
    GROUP BY ALL
)

SELECT
    own.config, own.machine_id, host, own.case_id, own.metric, own.phase, own.unit, n, own_noise, pooled_noise,
    (coalesce(pooled.steps, 0) - (n - 1))::BIGINT AS other_steps,
    sqrt((coalesce((n - 1) * own_noise * own_noise, 0) + 8 * pooled_noise * pooled_noise) / (n + 7)) AS noise
FROM own_noises AS own
JOIN hosts ON own.config = hosts.config AND own.machine_id IS NOT DISTINCT FROM hosts.machine_id
LEFT JOIN pooled_noises AS pooled
    ON own.config = pooled.config AND own.machine_id IS NOT DISTINCT FROM pooled.machine_id AND own.metric = pooled.metric
    AND own.phase IS NOT DISTINCT FROM pooled.phase AND own.unit IS NOT DISTINCT FROM pooled.unit
