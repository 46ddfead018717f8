-- One row per run × suite × model × mode × dtype × device × backend × further parameters: its speedups over all sizes
-- it was measured at, batch sizes and sequence lengths. With the parameter `dynamic` it is what code compiled for any
-- shape gains at each. Only cases that pass count.
--
-- run_id         Run.
-- config         Config of that run.
-- suite          Suite of the workload.
-- name           Model.
-- mode           inference or training.
-- dtype          float32, bfloat16, amp …
-- device         cpu, cuda …
-- backend        Compiler or implementation measured.
-- parameters     Further axes, as a JSON object.
-- n              Sizes.
-- mean           Mean of the speedups.
-- median         Their median.
-- variance       Their variance; NULL for one size.
-- slowest        Size of the smallest speedup, as batch × length.
-- slowest_at     That speedup.
-- fastest        Size of the largest.
-- fastest_at     That speedup.
SELECT
    run_id, config, suite, name, mode, dtype, device, backend, parameters,
    count(*) AS n, avg(speedup) AS mean, median(speedup) AS median, var_samp(speedup) AS variance,
    arg_min(size, (speedup, size)) AS slowest, min(speedup) AS slowest_at,
    arg_max(size, (speedup, size)) AS fastest, max(speedup) AS fastest_at
FROM (
    SELECT *, coalesce(concat_ws(' x ', batch_size::VARCHAR, sequence_length::VARCHAR), '') AS size
    FROM speedups
    WHERE passing
)
GROUP BY ALL
