-- One row per case of a model judged for performance: its time and its memory, in the units of transformers' old benchmarks.
-- `bench export --as model-csv` writes these rows.
--
-- axes: run, case without work_hash
-- status     VARCHAR  How it ended.
-- time_s     DOUBLE   Median steady latency, in s; NULL where it was not measured.
-- memory_mb  DOUBLE   Peak memory in MB of 2^20 bytes: of the GPU's allocator, else of the process, else as reported; NULL where
--                     it was not measured.
WITH
peaks AS (
    SELECT
        run_id, case_id, max(peak_bytes) FILTER (source = 'cuda_allocated') AS allocated,
        max(peak_bytes) FILTER (source = 'rss') AS resident
    FROM peak_memory
    GROUP BY run_id, case_id
),
numbers AS (
    SELECT
        run_id, case_id, min(median) FILTER (metric = 'latency' AND unit = 'ns') AS latency_ns,
        max(median) FILTER (metric = 'memory' AND unit = 'bytes') AS reported_bytes
    FROM cells
    WHERE metric IN ('latency', 'memory') AND coalesce(phase, 'steady') = 'steady'
    GROUP BY run_id, case_id
)

SELECT
    outcome.run_id, outcome.config, outcome.case_id, {outcome.axes},
    outcome.status,
    latency_ns / 1e9::DOUBLE AS time_s,
    coalesce(allocated, resident, reported_bytes) / (1024 * 1024)::DOUBLE AS memory_mb
FROM case_outcomes AS outcome
LEFT JOIN numbers ON outcome.run_id = numbers.run_id AND outcome.case_id = numbers.case_id
LEFT JOIN peaks ON outcome.run_id = peaks.run_id AND outcome.case_id = peaks.case_id
WHERE outcome.kind = 'performance'
