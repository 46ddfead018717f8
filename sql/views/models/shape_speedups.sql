-- One row per run × suite × model × mode × dtype × device × backend × further parameters: its speedups over all sizes
-- it was measured at, batch sizes and sequence lengths. With the parameter `dynamic` it is what code compiled for any
-- shape gains at each. Only cases that pass count.
--
-- axes: run
-- suite       VARCHAR  Suite of the workload.
-- name        VARCHAR  Model.
-- axes: panel without suite
-- parameters  JSON     Further axes, as a JSON object.
-- n           BIGINT   Sizes.
-- mean        DOUBLE   Mean of the speedups.
-- median      DOUBLE   Their median.
-- variance    DOUBLE   Their variance; NULL for one size.
-- slowest     VARCHAR  Size of the smallest speedup, as batch × length.
-- slowest_at  DOUBLE   That speedup.
-- fastest     VARCHAR  Size of the largest.
-- fastest_at  DOUBLE   That speedup.
SELECT
    run_id, config, suite, name, mode, dtype, device, backend, parameters,
    count(*) AS n, _ordered_mean(list(speedup)) AS mean, median(speedup) AS median, list_var_samp(list_sort(list(speedup))) AS variance,
    arg_min(size, (speedup, size)) AS slowest, min(speedup) AS slowest_at,
    arg_max(size, (speedup, size)) AS fastest, max(speedup) AS fastest_at
FROM (
    SELECT *, coalesce(concat_ws(' x ', batch_size::VARCHAR, sequence_length::VARCHAR), '') AS size
    FROM speedups
    WHERE passing
)
GROUP BY ALL
