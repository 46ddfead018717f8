-- One row per scheduler step kept whose tokens of either phase are known: the time of its model run against what it computed.
-- Steps are kept as `runtime_vs_tokens` keeps them, with the same arguments.
--
-- arguments: configs := NULL, trim := 10, max_schedule_ms := 300, max_model_run_ms := 200, runs := NULL
--
-- config           VARCHAR  Config of the run.
-- run_id           VARCHAR  Run the step belongs to.
-- line             BIGINT   Line in its file, from 1; for own recordings the order of emission.
-- batch_id         BIGINT   Number of the step, made unique over the files of the config.
-- prefill_tokens   BIGINT   Prompt tokens computed: the prefill chunks, else the total that its writer says.
-- decode_requests  BIGINT   Requests in decode.
-- kv_tokens        BIGINT   KV-cache tokens that all its requests hold before the step; NULL where nobody says.
-- model_run_ms     DOUBLE   Time the model took.
-- time_span        VARCHAR  What that time spans, such as scheduler_interval or cuda; NULL for the model run.
-- capture_mode     VARCHAR  'sampled' if its capture left steps out, else 'full'.
SELECT
    config, run_id, line, batch_id, prefill_tokens, decode_requests, kv_tokens, model_run_ms, time_span,
    coalesce(capture_mode, 'full') AS capture_mode
FROM _steps(configs, "trim", max_schedule_ms, max_model_run_ms, runs)
WHERE NOT trimmed AND NOT filtered AND prefill_tokens >= 0 AND decode_requests >= 0
