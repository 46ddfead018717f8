-- One row per scheduler step of the chosen configs and runs: where it stands, and whether the analysis keeps it.
--
-- arguments: configs, margin, max_schedule_ms, max_model_run_ms, runs
--
-- config        VARCHAR   Config of its run.
-- run_id        VARCHAR   Run it belongs to.
-- source_id     VARCHAR   Imported file it stands in; NULL for own recordings.
-- path          VARCHAR   That file's path; NULL for own recordings.
-- line          BIGINT    Line in that file; for own recordings the order of emission.
-- batch_id      BIGINT    Its number, made unique over the files of a config; its writer's, else its place in its file from
--                         0.
-- chunk_sizes   BIGINT[]  Tokens scheduled for each request.
-- total_tokens  BIGINT    Tokens scheduled, as the writer says.
-- prefill       BIGINT    Requests in prefill.
-- decode        BIGINT    Requests in decode.
-- schedule_ms   DOUBLE    Time the scheduler took.
-- model_run_ms  DOUBLE    Time the model took.
-- time_span     VARCHAR   What that time spans; NULL for the model run.
-- capture_mode  VARCHAR   'sampled' if its capture left steps out; NULL for full.
-- prefill_tokens   BIGINT  Prompt tokens it computed: its prefill chunks, else what its writer says, else those that are not
--                          decoded.
-- decode_requests  BIGINT  Requests in decode.
-- kv_tokens        BIGINT  KV-cache tokens that its requests hold before it.
-- trimmed       BOOLEAN   Whether it stands among the first or last `margin` lines of its file.
-- slow          BOOLEAN   Whether its model run took max_model_run_ms or longer.
-- filtered      BOOLEAN   Whether that or its scheduling is as slow as a threshold, or slower.
WITH
steps AS (
    SELECT config, step.run_id, files.source_id, path, lines, before, batch_id, line, chunk_sizes, total_tokens, prefill,
        decode, schedule_ms, model_run_ms, time_span, capture_mode, prefill_chunk_sizes, prefill_tokens, decode_chunk_sizes,
        decode_tokens, computed_tokens, prefill_kv_tokens, decode_kv_tokens
    FROM schedule_chunks AS step
    JOIN _step_margins(configs, margin, runs) AS files ON step.source_id = files.source_id
    UNION ALL
    SELECT config, step.run_id, files.source_id, path, lines, before, batch_id, line, chunk_sizes, total_tokens, prefill,
        decode, schedule_ms, model_run_ms, time_span, capture_mode, prefill_chunk_sizes, prefill_tokens, decode_chunk_sizes,
        decode_tokens, computed_tokens, prefill_kv_tokens, decode_kv_tokens
    FROM schedule_chunks AS step
    JOIN _step_margins(configs, margin, runs) AS files ON step.run_id = files.run_id
    WHERE step.source_id IS NULL AND files.source_id IS NULL AND files.is_only  -- to compare writers takes half of a scan's time
    UNION ALL
    SELECT config, step.run_id, files.source_id, path, lines, before, batch_id, line, chunk_sizes, total_tokens, prefill,
        decode, schedule_ms, model_run_ms, time_span, capture_mode, prefill_chunk_sizes, prefill_tokens, decode_chunk_sizes,
        decode_tokens, computed_tokens, prefill_kv_tokens, decode_kv_tokens
    FROM schedule_chunks AS step
    JOIN _step_margins(configs, margin, runs) AS files ON step.run_id = files.run_id AND step.writer IS NOT DISTINCT FROM files.writer
    WHERE step.source_id IS NULL AND files.source_id IS NULL AND NOT files.is_only
)

SELECT
    config, run_id, source_id, path, line, TRY_CAST(coalesce(batch_id, line::HUGEINT - 1) + coalesce(before, 0) AS BIGINT) AS batch_id,
    chunk_sizes, total_tokens, prefill, decode, _finite(schedule_ms) AS schedule_ms, _finite(model_run_ms) AS model_run_ms, time_span, capture_mode,
    coalesce(
        _step_tokens(prefill_chunk_sizes, prefill_tokens),
        TRY_CAST(_step_tokens(chunk_sizes, total_tokens)::HUGEINT - _step_tokens(decode_chunk_sizes, decode_tokens) AS BIGINT)
    ) AS prefill_tokens,
    coalesce(len(decode_chunk_sizes), decode) AS decode_requests,
    coalesce(
        TRY_CAST(prefill_kv_tokens::HUGEINT + decode_kv_tokens AS BIGINT), TRY_CAST(list_sum(computed_tokens) AS BIGINT)
    ) AS kv_tokens,
    coalesce(line <= margin OR line > lines - margin, false) AS trimmed,
    NOT coalesce(steps.model_run_ms, 0) < max_model_run_ms AS slow,
    NOT (coalesce(steps.schedule_ms, 0) < max_schedule_ms AND coalesce(steps.model_run_ms, 0) < max_model_run_ms) AS filtered
FROM steps
