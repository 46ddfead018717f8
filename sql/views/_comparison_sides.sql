-- One row per run of a comparison: which side it is on, and where it ran.
--
-- arguments: base, candidate
--
-- side     'base' or 'candidate'.
-- run_id   Run; one named twice counts once.
-- config   Config it belongs to.
-- host     Machine it ran on.
-- shared   Whether the other side has runs of that config and host, too.
SELECT side, run_id, config, host, count(DISTINCT side) OVER (PARTITION BY config, host) > 1 AS shared
FROM (
    SELECT DISTINCT ON (side, run_id) side, run_id, config, host
    FROM (
        SELECT 'base' AS side, unnest(base::VARCHAR[]) AS run_id
        UNION ALL
        SELECT 'candidate', unnest(candidate::VARCHAR[])
    )
    JOIN runs USING (run_id)
    ORDER BY side, run_id, started_at, config
)
