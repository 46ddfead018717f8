-- One row per case judged for performance, those skipped left out: whether it passes, and what a summary takes of it.
-- A case passes if it is sound and, where speedups were measured or reported for it, has one. The baseline itself passes
-- when it is sound.
--
-- run_id              Run it belongs to.
-- config              Config of that run.
-- case_id             Case.
-- work_hash           What was computed, whoever computed it.
-- suite               Suite of the workload.
-- name                Model, function, command or benchmark.
-- mode                inference or training.
-- device              cpu, cuda …
-- dtype               float32, bfloat16, amp …
-- backend             Compiler or implementation.
-- speedup             Its speedup; NULL for the baseline of a measurement and for what failed.
-- passing             Whether it passes.
-- reason              Why it does not: its status, its accuracy, or what is missing. NULL if it passes.
-- compile_ns          Compile latency.
-- compression_ratio   Peak memory of the baseline / that of the case, measured the same way: as reported, else of the
--                     GPU's allocator, else what the call added to the process, else of the process.
WITH
compiled AS (
    SELECT run_id, case_id, min(median) AS compile_ns
    FROM cells
    WHERE metric = 'compile_latency' AND unit = 'ns'
    GROUP BY run_id, case_id
),
compressed AS (
    SELECT run_id, case_id, min(median) AS ratio
    FROM cells
    WHERE metric = 'compression_ratio' AND median > 0
    GROUP BY run_id, case_id
),
peaks AS (  -- the allocator of the GPU is exact; else what the call added says more than the whole process
    SELECT
        run_id, case_id, work_hash, backend, peak_bytes, source,
        list_position(['cuda_allocated', 'rss_growth', 'rss'], source) AS preference
    FROM peak_memory
    WHERE source IN ('cuda_allocated', 'rss_growth', 'rss') AND peak_bytes > 0
),
ratios AS (  -- only of sides measured the same way
    SELECT side.run_id, side.case_id, arg_min(base.peak_bytes / side.peak_bytes, side.preference) AS ratio
    FROM peaks AS side
    JOIN peaks AS base ON side.run_id = base.run_id AND side.work_hash = base.work_hash AND side.source = base.source
    WHERE base.backend = 'eager' AND side.backend <> 'eager'
    GROUP BY ALL
)

SELECT
    judged.run_id, judged.config, judged.case_id, judged.work_hash, judged.suite, judged.name, judged.mode, judged.device,
    judged.dtype, judged.backend, speedups.speedup,
    coalesce(speedups.passing, judged.sound) AS passing,
    CASE
        WHEN coalesce(speedups.passing, judged.sound) THEN NULL
        WHEN coalesce(speedups.status, judged.status) <> 'ok' THEN coalesce(speedups.status, judged.status)
        WHEN NOT judged.sound THEN coalesce(judged.accuracy, 'no accuracy')
        ELSE 'no speedup'
    END AS reason,
    compiled.compile_ns,
    coalesce(compressed.ratio, ratios.ratio) AS compression_ratio
FROM _judged AS judged
LEFT JOIN speedups ON judged.run_id = speedups.run_id AND judged.case_id = speedups.case_id
LEFT JOIN compiled ON judged.run_id = compiled.run_id AND judged.case_id = compiled.case_id
LEFT JOIN compressed ON judged.run_id = compressed.run_id AND judged.case_id = compressed.case_id
LEFT JOIN ratios ON judged.run_id = ratios.run_id AND judged.case_id = ratios.case_id
WHERE judged.status <> 'skipped'
