-- One row per run × suite × mode × dtype × device × backend: peak memory against the baseline's, over passing cases.
--
-- run_id       Run.
-- config       Config of that run.
-- suite        Suite of the workloads.
-- mode         inference or training.
-- dtype        float32, bfloat16, amp …
-- device       cpu, cuda …
-- backend      Compiler or implementation.
-- mean_ratio   Mean of baseline peak / case peak; above 1 needs less memory.
-- min_ratio    Smallest.
-- worst        Name of the case with the smallest.
-- n            Cases it is the mean of.
SELECT
    run_id, config, suite, mode, dtype, device, backend,
    mean_compression AS mean_ratio, min_compression AS min_ratio, worst, n_compressed AS n
FROM _summaries
WHERE n_compressed > 0
