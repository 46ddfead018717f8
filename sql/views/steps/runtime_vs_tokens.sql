-- One row per scheduler step kept: the time of its model run against the tokens it scheduled.
-- Files of a config are ordered by the integer after the last `_` of their stem (by name where any has none). The first
-- and last `trim` lines of each file are left out, and so are steps that took max_schedule_ms or max_model_run_ms or
-- longer; a missing time counts as 0. `runs` keeps these runs only. On DuckDB before 2.0 write "trim" with its quotes.
--
-- arguments: configs := NULL, trim := 10, max_schedule_ms := 300, max_model_run_ms := 200, runs := NULL
--
-- config        VARCHAR  Config of the run.
-- run_id        VARCHAR  Run the step belongs to.
-- source_id     VARCHAR  Imported file it stands in; NULL for own recordings.
-- path          VARCHAR  Path of that file.
-- line          BIGINT   Line in that file, from 1; for own recordings the order of emission.
-- batch_id      BIGINT   Number of the step, made unique over the files of the config: the writer's own number plus the
--                        lines that trimming left of the files before.
-- tokens        BIGINT   Tokens scheduled: the sum of the chunk sizes.
-- batch_size    BIGINT   Number of chunks.
-- schedule_ms   DOUBLE   Time the scheduler took.
-- model_run_ms  DOUBLE   Time the model took.
SELECT
    config, run_id, source_id, path, line, batch_id,
    _step_tokens(chunk_sizes, total_tokens) AS tokens, len(chunk_sizes) AS batch_size, schedule_ms, model_run_ms
FROM _steps(configs, "trim", max_schedule_ms, max_model_run_ms, runs)
WHERE NOT trimmed AND NOT filtered
