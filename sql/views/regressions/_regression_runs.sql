-- One row per run under judgement or before one in its config: whether it is judged or part of the baseline.
-- A run is compared with runs of its own host. Where that host has fewer than `least` earlier runs, runs of any host count,
-- provided they come from `least` hosts or more: the differences between hosts are then part of the noise. Only the last
-- 3 · `last` runs before the first judged one are considered.
--
-- arguments: judged, last, least
--
-- axes: run
-- config      VARCHAR    Config it belongs to.
-- place       BIGINT     Its place in time within the config.
-- began_at    TIMESTAMP  When it began. UTC.
-- git_commit  VARCHAR    Commit it measured.
-- is_judged   BOOLEAN    Whether it is under judgement, rather than before.
-- anywhere    BOOLEAN    Whether the runs before are of any host.
WITH
run_places AS (
    SELECT
        run_id, config, began_at, git_commit, coalesce(host, '') AS host, list_contains(judged, run_id) AS is_judged,
        row_number() OVER (PARTITION BY config ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM _run_times
    WHERE config IN (SELECT config FROM _run_times WHERE list_contains(judged, run_id))
),
first_judged AS (
    SELECT config, min(place) AS first_place, arg_min(host, place) AS first_host
    FROM run_places
    WHERE is_judged
    GROUP BY config
),
window_runs AS (
    SELECT run_places.*, host = first_host AS here
    FROM run_places
    JOIN first_judged USING (config)
    WHERE is_judged OR place BETWEEN first_place - 3 * last AND first_place - 1
),
hosts AS (
    SELECT config, count(*) FILTER (here) < least AND count(DISTINCT host) >= least AS anywhere
    FROM window_runs
    WHERE NOT is_judged
    GROUP BY config
)

SELECT run_id, config, place, began_at, git_commit, is_judged, coalesce(anywhere, false) AS anywhere
FROM window_runs
LEFT JOIN hosts USING (config)
WHERE here OR anywhere
