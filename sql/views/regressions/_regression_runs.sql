-- One row per run under judgement, or before one in its config: the part it plays.
-- A run is compared with runs of its own host. Where fewer than `least` came before on it, machines that differ may stand
-- in if there are `least` of them, for then their differences are part of the noise. Looked at are the last 3 · `last`.
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
placed AS (
    SELECT
        run_id, config, began_at, git_commit, coalesce(host, '') AS host, list_contains(judged, run_id) AS is_judged,
        row_number() OVER (PARTITION BY config ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM _run_times
    WHERE config IN (SELECT config FROM _run_times WHERE list_contains(judged, run_id))
),
firsts AS (
    SELECT config, min(place) AS first_place, arg_min(host, place) AS first_host
    FROM placed
    WHERE is_judged
    GROUP BY config
),
near AS (
    SELECT placed.*, host = first_host AS here
    FROM placed
    JOIN firsts USING (config)
    WHERE is_judged OR place BETWEEN first_place - 3 * last AND first_place - 1
),
hosts AS (
    SELECT config, count(*) FILTER (here) < least AND count(DISTINCT host) >= least AS anywhere
    FROM near
    WHERE NOT is_judged
    GROUP BY config
)

SELECT run_id, config, place, began_at, git_commit, is_judged, coalesce(anywhere, false) AS anywhere
FROM near
LEFT JOIN hosts USING (config)
WHERE here OR anywhere
