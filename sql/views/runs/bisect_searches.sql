-- One row per search of `bench bisect`, as it was asked for last.
--
-- search      VARCHAR    Name of the search: a checksum of the commits, the command and how revisions are prepared.
-- run_id      VARCHAR    Run that recorded the question; it measured nothing itself.
-- began_at    TIMESTAMP  When it was asked. UTC.
-- status      VARCHAR    How that call ended: ok, failed, interrupted.
-- reason      VARCHAR    What it found, in a sentence.
-- good        VARCHAR    Commit before the change.
-- bad         VARCHAR    Commit after it.
-- commits     BIGINT     Commits that may have made it.
-- command     VARCHAR    What measures a revision.
-- finds       VARCHAR    change, of a metric; or failure.
-- metric      VARCHAR    Metric that changed; NULL where failures are looked for.
-- confidence  DOUBLE     Probability at which the search ends.
-- settings    JSON       All of the question, with the commits in order.
WITH
asked AS (
    SELECT
        json_extract_string(settings, '$.search') AS search, runs.run_id, began_at, status, reason,
        json_extract_string(settings, '$.good') AS good, json_extract_string(settings, '$.bad') AS bad,
        CAST(json_extract_string(settings, '$.candidates') AS BIGINT) AS commits,
        json_extract_string(settings, '$.measure') AS command, json_extract_string(settings, '$.finds') AS finds,
        json_extract_string(settings, '$.metric') AS metric,
        CAST(json_extract_string(settings, '$.confidence') AS DOUBLE) AS confidence, settings
    FROM runs
    JOIN run_summaries AS summary ON runs.run_id = summary.run_id
    WHERE runs.source = 'bisect'
)

SELECT search, run_id, began_at, status, reason, good, bad, commits, command, finds, metric, confidence, settings
FROM asked
WHERE search IS NOT NULL
QUALIFY 1 = row_number() OVER (PARTITION BY search ORDER BY began_at DESC NULLS LAST, run_id DESC)
