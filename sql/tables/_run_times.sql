-- One row per run: when and where it was measured, and of what code.
--
-- axes: run
-- config          VARCHAR    Config it belongs to.
-- began_at        TIMESTAMP  When it began; for an import that does not say, when it was loaded. UTC.
-- git_commit      VARCHAR    Commit of the measured code.
-- host            VARCHAR    Machine that measured.
-- environment_id  VARCHAR    Environment it ran in.
WITH
imported AS (
    SELECT run_id, min(recorded_at) AS loaded_at
    FROM sources
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
)

SELECT
    run_id, config, coalesce(started_at, loaded_at) AS began_at, git_commit, host, environment_id
FROM _run_records
LEFT JOIN imported USING (run_id)
WHERE run_id IN (SELECT run_id FROM _touched)
