-- One row per case that a backend was judged for: the columns and units of PyTorch's torch.compile benchmarks.
-- `bench export --as torch-compile-csv` writes these rows. A case has a performance, an accuracy, or both. The times of a baseline
-- have no row, for there they are part of the speedup of the others.
--
-- axes: run, case without work_hash
-- status               VARCHAR  How its performance ended; NULL where only its accuracy was judged.
-- accuracy             VARCHAR  How its own accuracy was judged; NULL where it was not.
-- speedup              DOUBLE   Eager / backend; NULL where either failed.
-- abs_latency          DOUBLE   Median steady latency of the backend, in ms.
-- compilation_latency  DOUBLE   Compile latency, in s.
-- compression_ratio    DOUBLE   Peak memory of eager / that of the backend.
-- eager_peak_mem       DOUBLE   Peak memory of eager in GB: as reported, else of the kind of memory that compression_ratio is of.
-- dynamo_peak_mem      DOUBLE   The same of the backend.
-- calls_captured       DOUBLE   Calls in the captured graphs.
-- unique_graphs        DOUBLE   Graphs captured.
-- graph_breaks         DOUBLE   Graph breaks.
-- unique_graph_breaks  DOUBLE   Their different reasons.
-- autograd_captures    DOUBLE   Graphs that compiled autograd captured.
-- autograd_compiles    DOUBLE   Those that it compiled.
-- cudagraph_skips      DOUBLE   Graphs that could not become CUDA graphs.
WITH
numbers AS (
    SELECT
        run_id, case_id,
        max(median) FILTER (metric = 'eager_peak_memory') AS eager_peak,
        max(median) FILTER (metric = 'compiled_peak_memory') AS compiled_peak,
        max(median) FILTER (metric = 'calls_captured') AS calls_captured,
        max(median) FILTER (metric = 'unique_graphs') AS unique_graphs,
        max(median) FILTER (metric = 'graph_breaks') AS graph_breaks,
        max(median) FILTER (metric = 'unique_graph_breaks') AS unique_graph_breaks,
        max(median) FILTER (metric = 'autograd_captures') AS autograd_captures,
        max(median) FILTER (metric = 'autograd_compiles') AS autograd_compiles,
        max(median) FILTER (metric = 'cudagraph_skips') AS cudagraph_skips
    FROM cells
    WHERE phase IS NULL AND metric IN ('eager_peak_memory', 'compiled_peak_memory', 'calls_captured', 'unique_graphs',
        'graph_breaks', 'unique_graph_breaks', 'autograd_captures', 'autograd_compiles', 'cudagraph_skips')
    GROUP BY run_id, case_id
),
peaks AS (
    SELECT
        run_id, case_id, work_hash, backend, max(peak_bytes) FILTER (source = 'cuda_allocated') AS allocated,
        max(peak_bytes) FILTER (source = 'rss_growth') AS growth, max(peak_bytes) FILTER (source = 'rss') AS resident
    FROM peak_memory
    WHERE peak_bytes > 0
    GROUP BY run_id, case_id, work_hash, backend
),
peak_pairs AS (
    SELECT
        own.run_id, own.case_id,
        CASE WHEN own.allocated > 0 THEN base.allocated WHEN own.growth > 0 THEN base.growth ELSE base.resident END AS eager_peak,
        coalesce(own.allocated, own.growth, own.resident) AS compiled_peak
    FROM peaks AS own
    JOIN peaks AS base ON own.run_id = base.run_id AND own.work_hash = base.work_hash AND base.backend = 'eager'
),
judged AS (
    SELECT
        run_id, config, case_id, {axes}, status,
        speedup, candidate_ns, compile_ns, compression_ratio
    FROM case_summaries
    WHERE origin IS NOT NULL OR backend IS NOT NULL AND backend <> 'eager'
),
accuracies AS (
    SELECT
        run_id, config, case_id, {axes}, status
    FROM case_outcomes
    WHERE kind = 'accuracy'
)

SELECT
    coalesce(judged.run_id, accuracies.run_id) AS run_id, coalesce(judged.config, accuracies.config) AS config,
    coalesce(judged.case_id, accuracies.case_id) AS case_id, {axis: coalesce(judged.axis, accuracies.axis) AS axis}, judged.status, accuracies.status AS accuracy, speedup,
    candidate_ns / 1e6::DOUBLE AS abs_latency, compile_ns / 1e9::DOUBLE AS compilation_latency, compression_ratio,
    coalesce(numbers.eager_peak, peak_pairs.eager_peak) / 1e9::DOUBLE AS eager_peak_mem,
    coalesce(numbers.compiled_peak, peak_pairs.compiled_peak) / 1e9::DOUBLE AS dynamo_peak_mem,
    calls_captured, unique_graphs, graph_breaks, unique_graph_breaks, autograd_captures, autograd_compiles, cudagraph_skips
FROM judged
FULL JOIN accuracies ON judged.run_id = accuracies.run_id AND judged.case_id = accuracies.case_id
LEFT JOIN numbers ON judged.run_id = numbers.run_id AND judged.case_id = numbers.case_id
LEFT JOIN peak_pairs ON judged.run_id = peak_pairs.run_id AND judged.case_id = peak_pairs.case_id
