-- One row per run that is in another store only, with the last store that it was moved to: it may have been back in between.
--
-- axes: run
-- git_commit   VARCHAR    Commit it measured.
-- archive      VARCHAR    The other store.
-- archived_at  TIMESTAMP  When it was moved. UTC.
SELECT
    run_id, min(config) AS config, min(git_commit) AS git_commit, arg_max(archive, archived_at) AS archive,
    max(archived_at) AS archived_at
FROM archived_runs
WHERE run_id NOT IN (SELECT run_id FROM runs)
GROUP BY run_id
