-- One row per training case of a script, as `bench.steps` and `bench.step` record it: its steps by phase, rate, use of the device.
-- Phases are means over the steady steps (see training_phases), which add up; a phase that no step has is NULL.
--
-- axes: run, case without work_hash
-- steps              BIGINT  Steady steps.
-- step_ms            DOUBLE  Median time of one.
-- mean_ms            DOUBLE  Mean time of one: more than the median where some steps also evaluate or save.
-- first_ms           DOUBLE  Time of the first step, in which compilers compile.
-- data_ms            DOUBLE  Waiting for a batch.
-- forward_ms         DOUBLE  From the batch to the backward pass, loss and copies included.
-- backward_ms        DOUBLE  Backward pass.
-- optimizer_ms       DOUBLE  Optimizer.
-- other_ms           DOUBLE  All else.
-- tokens_per_second  DOUBLE  Median rate; NULL where the script says no tokens.
-- mfu                DOUBLE  Median share of the device's peak: operations of a step / its time / peak; NULL where one is unknown.
-- flops              DOUBLE  Operations counted in a step.
-- peak_flops         DOUBLE  Peak of the device in operations a second, as its data sheet says.
-- peak_memory_bytes  DOUBLE  Highest memory: of the GPU's allocator, else of the process.
-- failed_steps       BIGINT  Steps in which a phase raised an exception.
WITH
numbers AS (
    SELECT
        run_id, case_id,
        max(n) FILTER (metric = 'latency' AND phase = 'steady') AS steps,
        max(median) FILTER (metric = 'latency' AND phase = 'steady') / 1e6 AS step_ms,
        max(mean) FILTER (metric = 'latency' AND phase = 'steady') / 1e6 AS mean_ms,
        max(median) FILTER (metric = 'latency' AND phase = 'cold') / 1e6 AS first_ms,
        max(median) FILTER (metric = 'throughput' AND phase = 'steady') AS tokens_per_second,
        max(median) FILTER (metric = 'mfu' AND phase = 'steady') AS mfu,
        max(median) FILTER (metric = 'flops') AS flops, max(median) FILTER (metric = 'peak_flops') AS peak_flops,
        coalesce(max(maximum) FILTER (metric = 'cuda_allocated_peak'), max(maximum) FILTER (metric = 'rss_peak')) AS peak_memory_bytes,
        coalesce(max(n) FILTER (metric = 'failed_step'), 0) AS failed_steps
    FROM cells
    WHERE suite = 'script' AND mode = 'training'
    GROUP BY run_id, case_id
),
phases AS (
    SELECT
        run_id, case_id, max(ms) FILTER (phase = 'data') AS data_ms, max(ms) FILTER (phase = 'forward') AS forward_ms,
        max(ms) FILTER (phase = 'backward') AS backward_ms, max(ms) FILTER (phase = 'optimizer') AS optimizer_ms,
        max(ms) FILTER (phase = 'other') AS other_ms
    FROM training_phases
    GROUP BY run_id, case_id
)

SELECT
    numbers.run_id, run.config, numbers.case_id, {axes},
    steps, step_ms, mean_ms, first_ms, data_ms, forward_ms, backward_ms, optimizer_ms, other_ms,
    tokens_per_second, mfu, flops, peak_flops, peak_memory_bytes, failed_steps
FROM numbers
JOIN case_axes ON numbers.case_id = case_axes.case_id
LEFT JOIN phases ON numbers.run_id = phases.run_id AND numbers.case_id = phases.case_id
LEFT JOIN _run_records AS run ON numbers.run_id = run.run_id
