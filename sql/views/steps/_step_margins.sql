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
-- before     BIGINT   Lines that trimming leaves of the files before it; NULL for the first.
SELECT
    config, run_id, source_id, writer, path, lines,
    TRY_CAST(sum(greatest(lines - 2 * margin, 0)) OVER (
        PARTITION BY config ORDER BY file ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS BIGINT) AS before
FROM _step_files
WHERE (configs IS NULL OR list_contains(configs::VARCHAR[], config))
    AND (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
