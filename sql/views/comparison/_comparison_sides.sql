-- One row per run of a comparison: which side it is on, and where it ran.
--
-- arguments: base, candidate
--
-- side    VARCHAR  'base' or 'candidate'.
-- run_id  VARCHAR  Run; one named twice counts once.
-- config  VARCHAR  Config it belongs to.
-- host    VARCHAR  Machine it ran on.
-- shared  BOOLEAN  Whether the other side has runs of that config and host, too.
SELECT side, run_id, config, host, min(side) OVER place <> max(side) OVER place AS shared
FROM (
    SELECT DISTINCT 'base' AS side, unnest(base::VARCHAR[]) AS run_id
    UNION ALL
    SELECT DISTINCT 'candidate', unnest(candidate::VARCHAR[])
)
JOIN run_summaries USING (run_id)
WINDOW place AS (PARTITION BY config, host)
