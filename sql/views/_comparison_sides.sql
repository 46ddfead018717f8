-- One row per run of a comparison: which side it is on, and where it ran.
--
-- arguments: base, candidate
--
-- side     'base' or 'candidate'.
-- run_id   Run; one named twice counts once.
-- config   Config it belongs to.
-- host     Machine it ran on.
-- shared   Whether the other side has runs of that config and host, too.
SELECT side, run_id, config, host, min(side) OVER place <> max(side) OVER place AS shared
FROM (
    SELECT DISTINCT 'base' AS side, unnest(base::VARCHAR[]) AS run_id
    UNION ALL
    SELECT DISTINCT 'candidate', unnest(candidate::VARCHAR[])
)
JOIN run_summaries USING (run_id)
WINDOW place AS (PARTITION BY config, host)
