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
    avg(compile_ns) / 1e9::DOUBLE AS mean_seconds, max(compile_ns) / 1e9::DOUBLE AS max_seconds,
    arg_max(name, (compile_ns, name)) AS slowest, count(*) AS n
FROM _passing
WHERE passing AND compile_ns IS NOT NULL
GROUP BY run_id, config, suite, mode, dtype, device, backend
