-- One row per case of `bench measure models` whose memory was measured: the peak of the process that ran it alone, and its parts.
-- On a CPU framework, weights, gradients, optimizer and step add up to the process, or, where that is more, framework, weights
-- and loading. On a GPU weights, gradients, optimizer and step add up to the peak of its allocator.
--
-- axes: run, case
-- case_id            VARCHAR  Case.
-- process_bytes      BIGINT   Peak of the process, from its start; NULL where the kernel keeps none.
-- gpu_bytes          BIGINT   Peak of the GPU's allocator in a steady call; NULL on a CPU.
-- framework_bytes    BIGINT   What the process held before its first call, on a CPU less the weights: interpreter, imports,
--                             inputs.
-- weights_bytes      BIGINT   Parameters and buffers.
-- gradients_bytes    BIGINT   Gradients; NULL in inference.
-- optimizer_bytes    BIGINT   State of the optimizer; NULL in inference.
-- step_bytes         BIGINT   The rest of the steps' peak: activations, workspace, what a compiler and an allocator keep.
-- loading_bytes      BIGINT   What loading held at most beyond framework and weights.
-- first_call_bytes   BIGINT   What the first call added at most, with filled compile caches.
-- steady_call_bytes  BIGINT   What a steady call added at most.
WITH
parts AS (
    SELECT
        run_id, case_id,
        max(value) FILTER (metric = 'memory_framework')::BIGINT AS framework_bytes,
        max(value) FILTER (metric = 'memory_weights')::BIGINT AS weights_bytes,
        max(value) FILTER (metric = 'memory_gradients')::BIGINT AS gradients_bytes,
        max(value) FILTER (metric = 'memory_optimizer')::BIGINT AS optimizer_bytes,
        max(value) FILTER (metric = 'memory_step')::BIGINT AS step_bytes,
        max(value) FILTER (metric = 'memory_loading')::BIGINT AS loading_bytes,
        max(value) FILTER (metric = 'memory_first_call')::BIGINT AS first_call_bytes
    FROM metrics
    WHERE metric IN (
        'memory_framework', 'memory_weights', 'memory_gradients', 'memory_optimizer', 'memory_step', 'memory_loading',
        'memory_first_call'
    ) AND unit = 'bytes' AND abs(value) < 1e15
    GROUP BY run_id, case_id
),
peaks AS (
    SELECT
        run_id, case_id,
        max(size_bytes) FILTER (source = 'rss' AND phase IS NULL) AS process_bytes,
        max(size_bytes) FILTER (source = 'cuda_allocated') AS gpu_bytes,
        max(size_bytes) FILTER (source = 'rss_growth') AS steady_call_bytes
    FROM memory_samples
    WHERE statistic = 'peak'
    GROUP BY run_id, case_id
)

SELECT
    parts.run_id, run.config, parts.case_id, axes.work_hash, {axes.axes},
    process_bytes, gpu_bytes, framework_bytes,
    weights_bytes, gradients_bytes, optimizer_bytes, step_bytes, loading_bytes, first_call_bytes, steady_call_bytes
FROM parts
LEFT JOIN peaks ON parts.run_id = peaks.run_id AND parts.case_id = peaks.case_id
LEFT JOIN _run_records AS run ON parts.run_id = run.run_id
LEFT JOIN case_axes AS axes ON parts.case_id = axes.case_id
