-- One row per run × suite × mode × dtype × device × backend: the geometric mean of its speedups, and what it covers.
-- It is taken over cases that pass. With `matched` (the default) only over work that passes on every backend of that
-- run, suite, mode, dtype and device, so that backends compare; a backend on which nothing passes is no hindrance to the
-- others. Slowdowns count as 1 unless `include_slowdowns`.
--
-- arguments: include_slowdowns := false, matched := true
--
-- run_id     Run.
-- config     Config of that run.
-- suite      Suite of the workloads.
-- mode       inference or training.
-- dtype      float32, bfloat16, amp …
-- device     cpu, cuda …
-- backend    Compiler or implementation.
-- speedup    Geometric mean; NULL where nothing is left to take it over.
-- n          Cases it covers.
-- n_total    Cases judged for performance.
-- excluded   The others, as 'name: reason', in order.
WITH
judged AS (
    SELECT *, passing AND coalesce(speedup > 0, false) AS counts
    FROM _passing
    WHERE (run_id, case_id) IN (SELECT (run_id, case_id) FROM speedups)
),
backends AS (
    SELECT run_id, suite, mode, dtype, device, count(DISTINCT backend) AS backends
    FROM judged
    WHERE counts
    GROUP BY ALL
),
shared AS (
    SELECT run_id, work_hash, count(DISTINCT backend) AS backends
    FROM judged
    WHERE counts
    GROUP BY ALL
),
chosen AS (
    SELECT
        judged.*,
        counts AND (NOT matched OR coalesce(shared.backends = backends.backends, false)) AS covered,
        coalesce(reason, 'does not pass on every backend') AS why
    FROM judged
    LEFT JOIN shared ON judged.run_id = shared.run_id AND judged.work_hash = shared.work_hash
    LEFT JOIN backends
        ON judged.run_id = backends.run_id
        AND judged.suite IS NOT DISTINCT FROM backends.suite AND judged.mode IS NOT DISTINCT FROM backends.mode
        AND judged.dtype IS NOT DISTINCT FROM backends.dtype AND judged.device IS NOT DISTINCT FROM backends.device
)

SELECT
    run_id, config, suite, mode, dtype, device, backend,
    exp(avg(ln(CASE WHEN include_slowdowns THEN speedup ELSE greatest(speedup, 1) END)) FILTER (covered)) AS speedup,
    count(*) FILTER (covered) AS n,
    count(*) AS n_total,
    coalesce(list(name || ': ' || why ORDER BY name, why) FILTER (NOT covered), []) AS excluded
FROM chosen
GROUP BY run_id, config, suite, mode, dtype, device, backend
