-- One row per config that recorded scheduler steps: where the time of a step goes, and what it does with it.
-- Taken over all steps; `runtime_vs_tokens` trims and filters, this does not. The time of a step is what its writer says,
-- else scheduling plus model run.
--
-- config               VARCHAR  Config.
-- steps                BIGINT   Scheduler steps.
-- mean_schedule_ms     DOUBLE   Mean time the scheduler took.
-- mean_model_run_ms    DOUBLE   Mean time the model took.
-- mean_step_ms         DOUBLE   Mean time of a step.
-- schedule_share       DOUBLE   Time spent scheduling / time of all steps, 0 to 1.
-- tokens               BIGINT   Tokens scheduled.
-- tokens_per_second    DOUBLE   Tokens / time of all steps.
-- mean_tokens          DOUBLE   Mean tokens of a step.
-- mean_batch_size      DOUBLE   Mean requests in a step.
-- prefill_tokens       BIGINT   Tokens in prefill chunks; NULL where no writer tells them apart.
-- decode_tokens        BIGINT   Tokens in decode chunks; NULL where no writer tells them apart.
-- prefill_share        DOUBLE   Prefill tokens / both, 0 to 1.
-- mean_waiting         DOUBLE   Mean requests in the waiting queue.
-- max_waiting          BIGINT   Most requests in the waiting queue.
-- mean_running         DOUBLE   Mean requests being served.
-- mean_kv_cache_usage  DOUBLE   Mean share of the KV cache in use, 0 to 1.
-- max_kv_cache_usage   DOUBLE   Highest share.
-- mean_budget_use      DOUBLE   Mean tokens / token budget, 0 to 1; NULL where no budget is known.
WITH
run AS (SELECT run_id, min(config) AS config FROM runs GROUP BY run_id),
steps AS (
    SELECT
        run_id, schedule_ms, model_run_ms, coalesce(step_ms, coalesce(schedule_ms, 0) + model_run_ms) AS step_ms,
        coalesce(list_sum(chunk_sizes)::DOUBLE, total_tokens) AS tokens, len(chunk_sizes) AS batch_size,
        list_sum(prefill_chunk_sizes)::DOUBLE AS prefill, list_sum(decode_chunk_sizes)::DOUBLE AS decode,
        waiting, running, kv_cache_usage, token_budget
    FROM schedule_chunks
)

SELECT
    config,
    count(*) AS steps,
    avg(schedule_ms) AS mean_schedule_ms,
    avg(model_run_ms) AS mean_model_run_ms,
    avg(step_ms) AS mean_step_ms,
    sum(schedule_ms) FILTER (step_ms > 0)
        / nullif(sum(step_ms) FILTER (schedule_ms IS NOT NULL AND step_ms > 0), 0) AS schedule_share,
    TRY_CAST(sum(tokens) AS BIGINT) AS tokens,
    sum(tokens) FILTER (step_ms > 0) * 1000
        / nullif(sum(step_ms) FILTER (tokens IS NOT NULL AND step_ms > 0), 0) AS tokens_per_second,
    avg(tokens) AS mean_tokens,
    avg(batch_size) AS mean_batch_size,
    TRY_CAST(sum(prefill) AS BIGINT) AS prefill_tokens,
    TRY_CAST(sum(decode) AS BIGINT) AS decode_tokens,
    sum(prefill) / nullif(sum(prefill) + sum(decode), 0) AS prefill_share,
    avg(waiting) AS mean_waiting,
    max(waiting) AS max_waiting,
    avg(running) AS mean_running,
    avg(kv_cache_usage) AS mean_kv_cache_usage,
    max(kv_cache_usage) AS max_kv_cache_usage,
    avg(tokens / nullif(token_budget, 0)) AS mean_budget_use
FROM steps
JOIN run USING (run_id)
GROUP BY config
