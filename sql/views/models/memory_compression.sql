-- One row per run × suite × mode × dtype × device × backend: peak memory against the baseline's, over passing cases.
--
-- axes: run, panel
-- mean_ratio  DOUBLE   Mean of baseline peak / case peak; above 1 needs less memory.
-- min_ratio   DOUBLE   Smallest.
-- worst       VARCHAR  Name of the case with the smallest.
-- n           BIGINT   Cases it is the mean of.
SELECT
    run_id, config, suite, mode, dtype, device, backend,
    mean_compression AS mean_ratio, min_compression AS min_ratio, worst, n_compressed AS n
FROM _summaries
WHERE n_compressed > 0
