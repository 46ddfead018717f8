-- One row per config that recorded scheduler steps: where the time of a step goes, and what it does with it.
-- Taken over all steps of these runs, of all runs unless given; `runtime_vs_tokens` trims and filters, this does not. The time of a step is what its writer says,
-- else scheduling plus model run. Times count in whole nanoseconds, shares in billionths. A step of no tokens counts.
--
-- arguments: runs := NULL
--
-- config               VARCHAR  Config.
-- steps                BIGINT   Scheduler steps.
-- mean_schedule_ms     DOUBLE   Mean time the scheduler took.
-- mean_model_run_ms    DOUBLE   Mean time the model took.
-- mean_step_ms         DOUBLE   Mean time of a step.
-- schedule_share       DOUBLE   Time spent scheduling / time of all steps, 0 to 1.
-- tokens               BIGINT   Tokens scheduled; NULL, as other totals, where a capture left steps out.
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
-- capture_mode         VARCHAR  'sampled' if a capture of any of its runs left steps out, else 'full'.
-- time_span            VARCHAR  What the time of the model run spans; NULL for the model run, 'several' if it differs.
WITH
steps AS (
    SELECT
        config, _fixed_point(schedule_ms, 1e6) AS schedule_ns, _fixed_point(model_run_ms, 1e6) AS model_run_ns,
        _fixed_point(coalesce(step_ms, coalesce(schedule_ms, 0) + model_run_ms), 1e6) AS step_ns, capture_mode, time_span,
        _step_tokens(chunk_sizes, total_tokens)::HUGEINT AS tokens, _step_requests(chunk_sizes, prefill, decode) AS batch_size,
        _step_tokens(prefill_chunk_sizes, prefill_tokens)::HUGEINT AS prefill, _step_tokens(decode_chunk_sizes, decode_tokens)::HUGEINT AS decode,
        waiting, running, _fixed_point(kv_cache_usage, 1e9) AS kv_cache_parts,
        _fixed_point(_step_tokens(chunk_sizes, total_tokens) / nullif(token_budget, 0), 1e9) AS budget_parts
    FROM schedule_chunks
    JOIN _run_records USING (run_id)
    WHERE runs IS NULL OR list_contains(runs::VARCHAR[], run_id)
),
totals AS (
    SELECT
        config, count(*) AS steps, bool_or(coalesce(capture_mode = 'sampled', false)) AS is_sampled,
        CASE WHEN count(DISTINCT coalesce(time_span, 'model')) > 1 THEN 'several' ELSE min(time_span) END AS time_span,
        avg(schedule_ns) / 1e6 AS mean_schedule_ms, avg(model_run_ns) / 1e6 AS mean_model_run_ms,
        avg(step_ns) / 1e6 AS mean_step_ms,
        sum(schedule_ns::HUGEINT) FILTER (step_ns > 0)::DOUBLE AS scheduling_ns,
        sum(step_ns::HUGEINT) FILTER (step_ns > 0 AND schedule_ns IS NOT NULL)::DOUBLE AS scheduled_ns,
        sum(tokens) AS tokens, sum(tokens) FILTER (step_ns > 0)::DOUBLE AS timed_tokens,
        sum(step_ns::HUGEINT) FILTER (step_ns > 0 AND tokens IS NOT NULL)::DOUBLE AS token_ns,
        avg(tokens::DOUBLE) AS mean_tokens, avg(batch_size) AS mean_batch_size, sum(prefill) AS prefill, sum(decode) AS decode,
        avg(waiting) AS mean_waiting, max(waiting) AS max_waiting, avg(running) AS mean_running,
        avg(kv_cache_parts) / 1e9 AS mean_kv_cache_usage, max(kv_cache_parts) / 1e9 AS max_kv_cache_usage,
        avg(budget_parts) / 1e9 AS mean_budget_use
    FROM steps
    GROUP BY config
)

SELECT
    config, steps, mean_schedule_ms, mean_model_run_ms, mean_step_ms, scheduling_ns / nullif(scheduled_ns, 0) AS schedule_share,
    CASE WHEN NOT is_sampled THEN TRY_CAST(tokens AS BIGINT) END AS tokens,
    CASE WHEN NOT is_sampled THEN timed_tokens * 1e9 / nullif(token_ns, 0) END AS tokens_per_second, mean_tokens,
    mean_batch_size, CASE WHEN NOT is_sampled THEN TRY_CAST(prefill AS BIGINT) END AS prefill_tokens,
    CASE WHEN NOT is_sampled THEN TRY_CAST(decode AS BIGINT) END AS decode_tokens,
    prefill::DOUBLE / nullif(prefill::DOUBLE + decode::DOUBLE, 0) AS prefill_share, mean_waiting, max_waiting, mean_running,
    mean_kv_cache_usage, max_kv_cache_usage, mean_budget_use, CASE WHEN is_sampled THEN 'sampled' ELSE 'full' END AS capture_mode,
    time_span
FROM totals
