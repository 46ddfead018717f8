-- One row per run and label that was changed afterwards, as it was changed last.
--
-- run_id  VARCHAR  Run.
-- action  VARCHAR  rename, tag or untag.
-- key     VARCHAR  Name of the tag; NULL where the run was renamed.
-- value   VARCHAR  Its new config, or the tag's value; NULL where the tag was removed.
SELECT run_id, action, key, value
FROM run_changes
WHERE action IN ('rename', 'tag', 'untag')
QUALIFY 1 = row_number() OVER (PARTITION BY run_id, key ORDER BY changed_at DESC, change_id DESC)
