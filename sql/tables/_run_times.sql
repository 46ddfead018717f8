-- One row per run: when and where it was measured, and of what code.
--
-- axes: run
-- config          VARCHAR    Config it belongs to.
-- began_at        TIMESTAMP  When it began; for an import that does not say, when its first step was taken, else when it was loaded. UTC.
-- git_commit      VARCHAR    Commit of the measured code.
-- host            VARCHAR    Machine that measured.
-- environment_id  VARCHAR    Environment it ran in.
-- machine_id      VARCHAR    What its class of machine is told by (see _machine_facts); NULL where nothing is known of it.
WITH
imported AS (
    SELECT run_id, min(recorded_at) AS loaded_at
    FROM sources
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
),
stepped AS (
    SELECT run_id, min(recorded_at) AS stepped_at
    FROM schedule_chunks
    WHERE run_id IN (SELECT run_id FROM _touched)
    GROUP BY run_id
)

SELECT
    run_id, run.config, coalesce(started_at, stepped_at, loaded_at) AS began_at, git_commit, run.host, environment_id, machine_id
FROM _run_records AS run
LEFT JOIN imported USING (run_id)
LEFT JOIN stepped USING (run_id)
LEFT JOIN _machine_facts USING (run_id)
WHERE run_id IN (SELECT run_id FROM _touched)
