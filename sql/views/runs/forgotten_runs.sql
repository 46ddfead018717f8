-- One row per run that a user had forgotten: it is in no other view, and `bench remember` brings it back unless it was dropped.
--
-- axes: run
-- source        VARCHAR    What produced it: api, measure, or the format imported.
-- suite         VARCHAR    Set of workloads it was about.
-- began_at      TIMESTAMP  When it began. UTC.
-- git_commit    VARCHAR    Commit of the measured code.
-- forgotten_at  TIMESTAMP  When it was forgotten. UTC.
-- reason        VARCHAR    Why, as the user said.
-- dropped       BOOLEAN    Whether compaction has removed its events for good.
-- files         VARCHAR[]  Paths of the files it was imported from; NULL for bench's own measurements.
-- imported      JSON       What is known of these, so that none is loaded again: a JSON list of lists.
WITH
last_changes AS (
    SELECT *
    FROM run_changes
    WHERE action IN ('forget', 'remember')
    QUALIFY 1 = row_number() OVER (PARTITION BY run_id, action ORDER BY changed_at DESC, change_id DESC)
)

SELECT
    forgotten.run_id, forgotten.config, forgotten.source, forgotten.suite, forgotten.began_at, forgotten.git_commit,
    forgotten.changed_at AS forgotten_at, forgotten.reason, coalesce(dropped, false) AS dropped,
    forgotten.files, forgotten.imported
FROM last_changes AS forgotten
LEFT JOIN last_changes AS remembered ON remembered.run_id = forgotten.run_id AND remembered.action = 'remember'
LEFT JOIN (SELECT run_id, true AS dropped FROM run_changes WHERE action = 'drop' GROUP BY run_id) AS gone
    ON gone.run_id = forgotten.run_id
WHERE forgotten.action = 'forget'
    AND (
        coalesce(dropped, false) OR remembered.run_id IS NULL OR forgotten.changed_at > remembered.changed_at
        OR (forgotten.changed_at = remembered.changed_at AND forgotten.change_id > remembered.change_id)
    )
