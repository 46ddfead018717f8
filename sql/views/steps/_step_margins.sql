-- One row per file of scheduler steps of the chosen configs and runs: what is trimmed of it, and how its steps are numbered.
-- A view of its own, not a step of `_steps`: DuckDB guesses the size of a CTE that is read twice, too high, and would
-- build the large side of the joins with it (10M steps: 3.3 s against 0.8 s).
--
-- arguments: configs, margin, runs
--
-- config     VARCHAR  Config of its run.
-- run_id     VARCHAR  Run it belongs to.
-- source_id  VARCHAR  Imported file; NULL for own recordings.
-- writer     VARCHAR  Process that recorded; NULL for imported files.
-- path       VARCHAR  That file's path; NULL for own recordings.
-- lines      BIGINT   Lines in it.
-- before     BIGINT   Lines that trimming leaves of the files before it, and more where their writers' numbers go further
--                     (up to 2^53); NULL for the first.
-- is_only    BOOLEAN  Of an own recording, whether its run has no other.
WITH
files AS (
    SELECT *
    FROM _step_files
    WHERE (configs IS NULL OR list_contains(configs::VARCHAR[], config))
        AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
),
ranges AS (
    SELECT
        source_id, CASE WHEN source_id IS NULL THEN run_id END AS own_run, writer AS own_writer, min(lowest) AS lowest,
        max(highest) AS highest, min(lowest_shift) AS shift, min(lowest_shift) = max(highest_shift) AS is_counted
    FROM _step_ranges
    GROUP BY ALL
),
kept_ranges AS (  -- where lines are counted in another way than by one, what is trimmed is not known, and nothing is
    SELECT
        files.*, CASE WHEN is_counted THEN shift + margin + 1 ELSE lowest END AS first_number,
        CASE WHEN is_counted THEN shift + lines - margin ELSE highest END AS last_number
    FROM files
    LEFT JOIN ranges
        ON coalesce(files.source_id, files.run_id || '/' || coalesce(files.writer, ''))
            = coalesce(ranges.source_id, own_run || '/' || coalesce(own_writer, ''))
),
room AS (  -- what is left of a file, and more where the numbers of the next one would be taken
    SELECT
        *, greatest(
            lines - 2 * margin, 0, last_number + 1 - lead(first_number IGNORE NULLS) OVER (PARTITION BY config ORDER BY file)
        ) AS numbers
    FROM kept_ranges
)

SELECT
    config, run_id, source_id, writer, path, lines,
    TRY_CAST(sum(numbers) OVER (
        PARTITION BY config ORDER BY file ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS BIGINT) AS before,
    source_id IS NULL AND count(*) FILTER (source_id IS NULL) OVER (PARTITION BY run_id) = 1 AS is_only
FROM room
