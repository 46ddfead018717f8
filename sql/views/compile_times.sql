-- One row per run × suite × mode × dtype × device × backend: how long compiling took, over the cases that pass.
--
-- run_id         Run.
-- config         Config of that run.
-- suite          Suite of the workloads.
-- mode           inference or training.
-- dtype          float32, bfloat16, amp …
-- device         cpu, cuda …
-- backend        Compiler or implementation.
-- mean_seconds   Mean compile latency.
-- max_seconds    Longest.
-- slowest        Name of the case that took longest.
-- n              Cases it is the mean of.
SELECT
    run_id, config, suite, mode, dtype, device, backend,
    mean_compile_ns / 1e9::DOUBLE AS mean_seconds, max_compile_ns / 1e9::DOUBLE AS max_seconds, slowest, n_compiled AS n
FROM _summaries
WHERE n_compiled > 0
