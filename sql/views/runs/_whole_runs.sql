-- One row per run that may be the run before another: one that `bench regressions --confirm` made, tagged with what it confirms,
-- measures a part on purpose and is none.
--
-- axes: run
-- began_at    TIMESTAMP  When it began; for an import that does not say, when it was loaded. UTC.
-- git_commit  VARCHAR    Commit it measured.
SELECT run_id, config, began_at, git_commit
FROM _run_times
WHERE run_id NOT IN (SELECT run_id FROM runs WHERE json_extract_string(tags, '$.confirms') IS NOT NULL)
