-- One row per run that a search of `bench bisect` made, × case × metric × phase that it measured; one row without a case where
-- it measured nothing.
--
-- search       VARCHAR    Name of the search.
-- place        BIGINT     Place of the revision in it; 0 is the good one.
-- revision     VARCHAR    Commit that was measured.
-- run_id       VARCHAR    Run.
-- began_at     TIMESTAMP  When it began. UTC.
-- host         VARCHAR    Machine that measured.
-- status       VARCHAR    ok; not prepared, where the command that prepares it failed; failed, where the measurement did;
--                         interrupted.
-- reason       VARCHAR    Why it failed, in one line.
-- case_id      VARCHAR    Case; NULL where the run measured nothing.
-- name         VARCHAR    Model, function, command or benchmark.
-- backend      VARCHAR    Compiler or implementation.
-- metric       VARCHAR    What was measured.
-- phase        VARCHAR    cold, compile, warmup or steady; NULL where that has no meaning.
-- unit         VARCHAR    Unit of the value.
-- better       VARCHAR    'higher' or 'lower'; NULL where neither is.
-- value        DOUBLE     Median of the run.
WITH
searched AS (
    SELECT
        record.run_id, json_extract_string(tags, '$.bisect') AS search, json_extract_string(tags, '$.revision') AS revision,
        CAST(json_extract_string(tags, '$.place') AS BIGINT) AS place, json_extract_string(tags, '$.stage') AS stage,
        began_at, summary.host, summary.status, summary.reason, failed
    FROM _run_records AS record
    JOIN run_summaries AS summary ON record.run_id = summary.run_id
    WHERE json_extract_string(tags, '$.bisect') IS NOT NULL
),
failures AS (
    SELECT run_id, min(reason) AS reason
    FROM case_outcomes
    WHERE failed
    GROUP BY run_id
)

SELECT
    search, place, revision, own.run_id, own.began_at, own.host,
    CASE
        WHEN stage = 'prepare' THEN 'not prepared'
        WHEN own.failed > 0 OR stage = 'measure' THEN 'failed'
        ELSE own.status
    END AS status,
    coalesce(own.reason, failures.reason) AS reason, cell.case_id, cell.name, cell.backend, cell.metric, cell.phase, cell.unit,
    cell.better, cell.median AS value
FROM searched AS own
LEFT JOIN failures ON own.run_id = failures.run_id
LEFT JOIN cells AS cell ON own.run_id = cell.run_id
