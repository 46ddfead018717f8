-- One row per run and imported file that anything of it came from.
--
-- axes: run
-- source_id  VARCHAR    The file, by its content.
-- began_at   TIMESTAMP  When the run began; for an import that does not say, when it was loaded. UTC.
-- loaded_at  TIMESTAMP  When the last file of the run was loaded; NULL for files of other runs. UTC.
WITH
origins AS (
    SELECT run_id, source_id FROM sources
    UNION
    SELECT run_id, source_id FROM cases WHERE source_id IS NOT NULL
),
loads AS (SELECT run_id, max(recorded_at) AS loaded_at FROM sources GROUP BY run_id)

SELECT origins.run_id, config, source_id, began_at, loaded_at
FROM origins
JOIN run_summaries AS summary ON origins.run_id = summary.run_id
LEFT JOIN loads ON origins.run_id = loads.run_id
