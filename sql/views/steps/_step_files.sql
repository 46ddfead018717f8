-- One row per file of scheduler steps: an imported file, or a process that recorded its own steps.
--
-- config     VARCHAR  Config it belongs to.
-- run_id     VARCHAR  Run it belongs to; of a file that grew, the first.
-- source_id  VARCHAR  Imported file; NULL for own recordings.
-- writer     VARCHAR  Process that recorded; NULL for imported files.
-- path       VARCHAR  Path as given when it was loaded; NULL for own recordings.
-- lines      BIGINT   Physical lines of the file, rejected ones too; for own recordings steps emitted.
-- file       BIGINT   Place among the files of the config, from 1: by the integer after the last `_` of the file's stem;
--                     where any file of the config has none, all by name. Equal keys go by name.
WITH
imported AS (
    SELECT
        min(config) AS config, min(run_id) AS run_id, source_id, NULL AS writer, min(path) AS path, min(name) AS name,
        greatest(TRY_CAST(max(first_line::HUGEINT + lines - 1) AS BIGINT), 0) AS lines
    FROM sources
    WHERE run_id IN (SELECT run_id FROM _step_ranges WHERE source_id IS NOT NULL)
    GROUP BY source_id
),
recorded AS (
    SELECT run_id, writer, greatest(max(last_line), _total(steps)) AS lines
    FROM _step_ranges
    WHERE source_id IS NULL
    GROUP BY run_id, writer
),
files AS (
    SELECT * FROM imported
    UNION ALL
    SELECT config, run_id, NULL, writer, NULL, concat_ws('/', run_id, writer), lines
    FROM recorded
    JOIN _run_records USING (run_id)
),
numbered AS (
    SELECT *, TRY_CAST(regexp_extract(regexp_replace(name, '\.[^.]*$', ''), '_([+-]?[0-9]+)$', 1) AS HUGEINT) AS number
    FROM files
)

SELECT
    config, run_id, source_id, writer, path, lines,
    row_number() OVER (
        PARTITION BY config ORDER BY CASE WHEN all_numbered THEN number END, name, path, run_id, source_id
    ) AS file
FROM (SELECT *, bool_and(number IS NOT NULL) OVER (PARTITION BY config) AS all_numbered FROM numbered)
