-- One row per run × suite × mode × dtype × device × backend: how long compiling took, over the cases that pass.
--
-- axes: run, panel
-- mean_seconds  DOUBLE   Mean compile latency.
-- max_seconds   DOUBLE   Longest.
-- slowest       VARCHAR  Name of the case that took longest.
-- n             BIGINT   Cases it is the mean of.
SELECT
    run_id, config, suite, mode, dtype, device, backend,
    mean_compile_ns / 1e9::DOUBLE AS mean_seconds, max_compile_ns / 1e9::DOUBLE AS max_seconds, slowest, n_compiled AS n
FROM _summaries
WHERE n_compiled > 0
