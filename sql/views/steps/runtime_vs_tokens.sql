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
--                        lines that trimming left of the files before, and more where these numbers would meet.
-- tokens        BIGINT   Tokens scheduled: the sum of the chunk sizes, else the total that its writer says.
-- batch_size    BIGINT   Requests: number of chunks, else of those in prefill and decode.
-- schedule_ms   DOUBLE   Time the scheduler took.
-- model_run_ms  DOUBLE   Time the model took.
-- time_span     VARCHAR  What that time spans, such as scheduler_interval or cuda; NULL for the model run.
SELECT
    config, run_id, source_id, path, line, batch_id,
    _step_tokens(chunk_sizes, total_tokens) AS tokens, _step_requests(chunk_sizes, prefill, decode) AS batch_size,
    schedule_ms, model_run_ms, time_span
FROM _steps(configs, "trim", max_schedule_ms, max_model_run_ms, runs)
WHERE NOT trimmed AND NOT filtered
